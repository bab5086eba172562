# SPDX-License-Identifier: GPL-2.0-only
"""The specification of links: rates, queues, loss and jitter of each direction."""

from __future__ import annotations

from tunnelcc.catalog.values import IP_HEADERS
from tunnelcc.config import LinkDirection
from tunnelcc.config.path import DuplexLink
from tunnelcc.config.queue import DropTail, Red
from tunnelcc.config.topology import ResolvedLink
from tunnelcc.simulation.spec_parts import Spec, nanoseconds, same


def link(packet: int, link: ResolvedLink, ip: int) -> Spec:
    """Both directions of a link.

    ``packet``: IP bytes of a full segment there; ``ip``: the version of IP.
    """
    return {
        "forward": _direction(packet, link, ip, is_reverse=False),
        "reverse": _direction(packet, link, ip, is_reverse=True),
    }


def _direction(packet: int, link: ResolvedLink, ip: int, is_reverse: bool) -> Spec:
    direction = link.direction(is_reverse)
    return (
        same(direction, "LinkSpec")
        | _room(link, is_reverse)
        | _rates(direction)
        | {
            "queue": _queue(packet, link, direction),
            "gilbert_elliott": direction.gilbert_elliott
            and same(direction.gilbert_elliott, "GilbertElliottSpec"),
            "policer": direction.policer and same(direction.policer, "PolicerSpec"),
            "delay": link.delay(is_reverse),
            "mtu": _mtu(link.path, ip),
        }
    )


def _mtu(path: DuplexLink, ip: int) -> Spec:
    """The link's MTU, unless all senders know it."""
    mtu: Spec = {}
    if path.too_big != "known":
        mtu = {"mtu": path.mtu, "too_big": path.too_big}
    return mtu | {
        "ip_header": IP_HEADERS[ip],
        "drops_fragments": path.fragments == "drop",
        "reassembly_delay": nanoseconds(path.reassembly_delay),
    }


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


def _queue(packet: int, link: ResolvedLink, direction: LinkDirection) -> Spec:
    queue, rate, threshold = direction.queue, direction.rate or 0.0, direction.ecn_threshold
    queue_bytes = link.path.queue_bytes
    spec: Spec = {"kind": queue.name}
    if isinstance(queue, DropTail):
        marks = queue_bytes(threshold, rate, packet) if threshold else 0
        return spec | {"ecn_threshold": marks}
    spec |= same(queue, f"{type(queue).__name__}Spec")
    if isinstance(queue, Red):
        for name in ("min_threshold", "max_threshold"):
            spec[name] = queue_bytes(getattr(queue, name), rate, packet)
        spec["mean_packet_time"] = nanoseconds(packet * 8 / rate) or 1
    return spec


def _room(link: ResolvedLink, is_reverse: bool) -> Spec:
    """The queue of a direction; it has none if its rate is not limited."""
    direction = link.direction(is_reverse)
    if direction.rate is None:
        return {"framing": 0}
    return {
        "buffer_bytes": link.buffer_bytes(is_reverse) or 0,
        "buffer_packets": direction.buffer.packets or 0,
        "framing": link.path.framing_bytes,
    }
