# SPDX-License-Identifier: GPL-2.0-only
"""The specification of links: rates, queues, loss and jitter of each direction."""

from __future__ import annotations

from tunnelcc.config import LinkDirection, Tcp, derived
from tunnelcc.config.path import DuplexLink
from tunnelcc.config.queue import DropTail, Red
from tunnelcc.simulation.spec_parts import Spec, nanoseconds, same


def link(tcp: Tcp, link: DuplexLink) -> Spec:
    """Both directions of a link."""
    forward_delay, reverse_delay = delays(link)
    return {
        "forward": _direction(tcp, link, link) | {"delay": forward_delay},
        "reverse": _direction(tcp, link, link.backward) | {"delay": reverse_delay},
    }


def delays(link: DuplexLink) -> tuple[int, int]:
    """The delay (ns) of each direction."""
    rtt = nanoseconds(link.rtt)
    return rtt // 2, rtt - rtt // 2


def _direction(tcp: Tcp, link: DuplexLink, direction: LinkDirection) -> Spec:
    return (
        same(direction, "LinkSpec")
        | _room(link, direction)
        | _rates(direction)
        | {
            "queue": _queue(tcp, link, direction),
            "gilbert_elliott": direction.gilbert_elliott
            and same(direction.gilbert_elliott, "GilbertElliottSpec"),
            "policer": direction.policer and same(direction.policer, "PolicerSpec"),
        }
    )


def _rates(path: LinkDirection) -> Spec:
    """The rate of the link, and its steps."""
    if path.rate is None:
        return {}
    steps, period, rate = path.rate_steps, 0.0, path.rate
    if path.rate_trace is not None:
        (_, rate), *later = path.rate_trace.steps
        period = path.rate_trace.period
        steps = (*later, (period, rate)) if period else tuple(later)
    return {
        "rate": rate,
        "rate_steps": [{"time": nanoseconds(moment), "rate": it} for moment, it in steps],
        "rate_period": nanoseconds(period),
    }


def _queue(tcp: Tcp, link: DuplexLink, direction: LinkDirection) -> Spec:
    queue, rate, threshold = direction.queue, direction.rate or 0.0, direction.ecn_threshold
    spec: Spec = {"kind": queue.name}
    if isinstance(queue, DropTail):
        marks = derived.queue_bytes(threshold, tcp, link, rate) if threshold else 0
        return spec | {"ecn_threshold": marks}
    spec |= same(queue, f"{type(queue).__name__}Spec")
    if isinstance(queue, Red):
        for name in ("min_threshold", "max_threshold"):
            spec[name] = derived.queue_bytes(getattr(queue, name), tcp, link, rate)
        packet = tcp.mss + tcp.header_bytes
        spec["mean_packet_time"] = nanoseconds(packet * 8 / rate) or 1
    return spec


def _room(link: DuplexLink, direction: LinkDirection) -> Spec:
    """The queue of a direction; it has none if its rate is not limited."""
    if direction.rate is None:
        return {"framing": 0}
    return {
        "buffer_bytes": derived.buffer_bytes(direction.buffer, direction.rate, link.rtt),
        "buffer_packets": direction.buffer.packets or 0,
        "framing": link.framing_bytes,
    }
