# SPDX-License-Identifier: GPL-2.0-only
"""The specification of links: rates, queues, loss and jitter of each direction."""

from __future__ import annotations

from tunnelcc.catalog.values import IP_HEADERS
from tunnelcc.config import LinkDirection
from tunnelcc.config.path import DuplexLink
from tunnelcc.config.queue import Cake, DropTail, Red
from tunnelcc.network.topology import ResolvedLink, half_of
from tunnelcc.specification.parts import Spec, nanoseconds, same

# After every run, s.
_NEVER = 1e6


def link(packet: int, link: ResolvedLink, ip: int) -> Spec:
    """Both directions of a link, with the RTT that is stated.

    ``packet``: IP bytes of a full segment there; ``ip``: the version of IP.
    """
    return {
        "forward": _direction(packet, link, ip, is_reverse=False),
        "reverse": _direction(packet, link, ip, is_reverse=True),
    }


def with_phase(spec: Spec, link: ResolvedLink, phase: int) -> Spec:
    """Return link() with an RTT that is longer by ``phase`` (ns)."""
    if not phase:
        return spec
    return {
        "forward": spec["forward"] | _delays(link, phase, is_reverse=False),
        "reverse": spec["reverse"] | _delays(link, phase, is_reverse=True),
    }


def _direction(packet: int, link: ResolvedLink, ip: int, is_reverse: bool) -> Spec:
    direction = link.direction(is_reverse)
    return (
        same(direction, "LinkSpec")
        | _room(link, is_reverse)
        | _rates(direction)
        | _losses(direction)
        | {
            "queue": _queue(packet, link, direction),
            "gilbert_elliott": direction.gilbert_elliott
            and same(direction.gilbert_elliott, "GilbertElliottSpec"),
            "policer": direction.policer and same(direction.policer, "PolicerSpec"),
            "jitter_deviation": nanoseconds(direction.deviation),
            "delay": 0,  # in its place
            "outages": [
                {"begin": nanoseconds(begin), "end": nanoseconds(min(end, _NEVER))}
                for begin, end in link.path.outages
            ],
            "mtu": _mtu(link.path, ip),
        }
        | _delays(link, 0, is_reverse)
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
    (_, rate), *later = path.over_time("rate")
    period = path.trace.period if path.trace is not None else 0.0
    steps = (*later, (period, rate)) if period else tuple(later)
    return {
        "rate": rate,
        "rate_steps": [{"time": nanoseconds(moment), "rate": it} for moment, it in steps],
        "rate_period": nanoseconds(period),
    }


def _losses(path: LinkDirection) -> Spec:
    """The random loss, and its steps."""
    (_, loss), *later = path.over_time("loss")
    steps = [{"time": nanoseconds(moment), "loss": it} for moment, it in later]
    return {"loss": loss, "loss_steps": steps}


def _delays(link: ResolvedLink, phase: int, is_reverse: bool) -> Spec:
    """The delay, and its steps if there are any. ``phase``: ns, see with_phase()."""
    (_, first), *later = link.path.over_time("rtt")
    if first == link.path.rtt and not later:
        return {"delay": half_of(first, is_reverse, phase)}
    steps = [
        {"time": nanoseconds(moment), "delay": half_of(rtt, is_reverse, phase)}
        for moment, rtt in later
    ]
    return {
        "delay": half_of(first, is_reverse, phase),
        "delay_steps": steps,
        "handover": link.path.handover,
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
    if isinstance(queue, Cake):
        spec["overhead"], spec["least_size"], spec["cells"] = queue.counted
        spec |= {
            "target": nanoseconds(queue.rtt / 20) or 1,  # tc-cake(8)
            "interval": nanoseconds(queue.rtt),
            "mtu": link.path.mtu,
        }
    return spec


def _room(link: ResolvedLink, is_reverse: bool) -> Spec:
    """The queue of a direction; it has none if its rate is not limited."""
    direction = link.direction(is_reverse)
    if direction.rate is None:
        return {"framing": 0}
    rate, rtt = direction.rate, link.path.rtt
    (_, first), *later = direction.over_time("buffer")
    return {
        "buffer_bytes": first.at(rate, rtt),
        "buffer_packets": first.packets or 0,
        "buffer_steps": [
            {"time": nanoseconds(at), "bytes": it.at(rate, rtt), "packets": it.packets or 0}
            for at, it in later
        ],
        "framing": link.path.framing_bytes,
    }
