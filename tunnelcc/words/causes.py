# SPDX-License-Identifier: GPL-2.0-only
"""What limited a flow, in words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from tunnelcc.analysis.values import Cause, Key
from tunnelcc.metrics.limits import LIMITS
from tunnelcc.words import say
from tunnelcc.words.quantities import as_given, percents

_MUCH = ", which drops much of what KCP's windows let go"

#: Thing → its name. ``held``: what the sender waited for; ``whose``: whose congestion control;
#: ``of_hop``: the same of a chain, each of whose hops may have one.
THINGS = {
    "limit": "the {held}",
    "application": "the application",
    "cpu": "the CPU of {host}, {program}",
    "quic_buffer": "QUIC's send buffer",
    "asked": "{program}'s {held}{capped}",
    "memory": "the memory of {host}'s sockets",
    "host_buffer": "the {held} of {host}",
    "unscaled": "the receive window of {host}, which is not scaled",
    "kcp_send_window": "KCP's send window",
    "kcp_receive_window": "KCP's receive window",
    "rudp_window": "RUDP's window",
    "stream_window": "{program}'s stream window",
    "connection_window": "{program}'s connection window",
    "equal_windows": "{program}'s windows of a stream and of the connection",
    "first_window": "{program}'s stream window at first",
    "link": "the link",
    "shaper": "CAKE's shaper",
    "overflowed_link": f"the link{_MUCH}",
    "overflowed_shaper": f"CAKE's shaper{_MUCH}",
    "overflowed_queue": f"the bottleneck's queue{_MUCH}",
    "set_rate": "the rate that is set",
    "policer": "the policer",
    "burst": "the policer's burst",
    "device_queue": "the queue of the tunnel's device",
    "socket_queue": "the buffer of the tunnel's far socket",
    "udp_socket": "the UDP socket of {host}, whose program reads more slowly than datagrams arrive",
    "random_loss": "the {held}{of_hop}, which random loss keeps small",
    "queue": "the {held}{of_hop}, which {link} queue keeps small",
    "kcp_congestion": "KCP's congestion window",
    "congestion": "the {held}{whose}",
}
_PLACES = {
    "entry": "{key} in the tunnel's file",
    "model": "{key}, which no key changes",
}


def thing(cause: Cause) -> str:
    """Return the thing that limits: ``smux's stream window``."""
    where = cause.where
    of_hop = f" of {where.hop}, {where.cc}" if where.hop else ""
    inside = " inside the tunnel" if where.is_inside else ""
    return say(
        THINGS[cause.thing],
        held=LIMITS[cause.evidence.held],
        host=where.host,
        program=where.program or "the application",
        capped=f", of which kernel {where.kernel} gives no more" if where.kernel else "",
        of_hop=of_hop,
        whose=of_hop or f"{inside} of {where.cc}",
        link="its link's" if where.hop else "the bottleneck's",
    )


def keys(cause: Cause | None) -> str:
    """Return the keys that change it: ``tunnel.stream_window``; "": there is none."""
    return " and ".join(map(_key, cause.keys)) if cause else ""


def _key(key: Key) -> str:
    return say(_PLACES[key.place], key=key.path) if key.place in _PLACES else key.path


def text(cause: Cause | None) -> str:
    """Return the thing and its value: ``smux's stream window (16KiB)``."""
    if cause is None:
        return ""
    value = as_given(cause.value)
    return f"{thing(cause)} ({value})" if value else thing(cause)


def record(cause: Cause | None) -> dict[str, Any]:
    """Return what the JSON of a run has of a flow's limit. "": the flow was never active."""
    if cause is None:
        return {"limit": "", "what": "", "value": "", "key": "", "share": 0.0, "leg": ""}
    return {
        "limit": cause.limit, "what": thing(cause), "value": as_given(cause.value),
        "key": keys(cause), "share": cause.evidence.share, "leg": cause.where.leg,
    }  # fmt: skip


def most(causes: Sequence[Cause | None]) -> tuple[Cause | None, float]:
    """Return what limited most of the flows that were active, and its mean share of their time."""
    active = [it for it in causes if it is not None]
    if not active:
        return None, 0.0
    names = [(it.limit, thing(it), keys(it)) for it in active]
    name = max(names, key=names.count)
    alike = [it for it, other in zip(active, names, strict=True) if other == name]
    return alike[0], fmean(it.evidence.share for it in alike)


def cell(cause: Cause | None) -> str:
    """Return the thing as a cell of a table has it, without an article."""
    return "" if cause is None else _bare(thing(cause))


def _bare(text: str) -> str:
    return text.removeprefix("the ")


def sentence(subject: str, count: int, shares: Collection[float], cause: Cause) -> str:
    """Return for example ``Flows 0 to 7 were limited for 90 to 92 % of the time by the link.``.

    ``count``: the flows of the ``subject``.
    """
    value, by = as_given(cause.value), keys(cause)
    return say(
        "{subject} {were} limited for {share} of the time by {thing}{value}{keys}.",
        subject=subject,
        were="were" if count > 1 else "was",
        share=percents(shares),
        thing=thing(cause),
        value=f", {value}" if value else "",
        keys=f" ({by} changes it)" if by else "",
    )


def at_point(texts: Any, shares: Any) -> tuple[str, float]:
    """Return what limited most flows of the runs at a point, and its mean share of the time.

    ``texts``, ``shares``: ``flow_limited_by`` and ``flow_limited_share``, shape (seed, flow). "":
    no flow was active.
    """
    known = [text for text in texts.flat if text]
    if not known:
        return "", 0.0
    common = max(dict.fromkeys(known), key=known.count)
    return _bare(common), float(np.nanmean(shares[texts == common]))
