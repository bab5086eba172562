# SPDX-License-Identifier: GPL-2.0-only
"""What is asked of a program, and what its answers say."""

from __future__ import annotations

import socket
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import tunnelcc as tc
from tunnelcc.apps.identify import framing, wire
from tunnelcc.errors import TunnelccError

_RTTS = ("20ms", "100ms", "300ms")
_RATE = "1Gbps"
#: Simulated seconds, at most: programs that ping each second make them cost something.
_START_TIME, _SIZES_TIME, _HOLD_TIME = 60, 1200, 160
#: Of what a byte takes across the path beside its round trips, such as a program's timers; s.
_SLACK = 2e-3


@dataclass
class Found:
    """What was found of a program. Round trips are those before the first answer.

    ``notes``: what does not fit a relay's entry; with one of them nothing counts as identified.
    """

    protocol: str = "tcp"
    carriers: str = "flow"
    is_early: bool = False
    first_trips: float = 0.0
    later_trips: float = 0.0
    extra: float = 0.0
    handshake: list[wire.Turn] = field(default_factory=list)
    request: int = 0
    response: int = 0
    laws: dict[str, framing.Law] = field(default_factory=dict)
    sizes: dict[str, dict[int, int]] = field(default_factory=dict)
    replies: list[tuple[float, float, float]] = field(default_factory=list)
    held: list[dict[str, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    indications: list[str] = field(default_factory=list)
    what: str = ""


def ask(server: str, client: str, tell: Callable[[str], object]) -> Found:
    """Ask a program, and return what was found. Raises TunnelccError."""
    found = Found()
    tell("connections and round trips")
    starts = {rtt: _ask(server, client, rtt, ["start"], _START_TIME) for rtt in _RTTS}
    found.what = starts[_RTTS[0]].what
    _connections(found, starts[_RTTS[0]])
    _round_trips(found, starts)
    if found.protocol != "tcp" or found.carriers == "other":
        return found
    tell("frames")
    sizes = _ask(server, client, "20ms", ["sizes"], _SIZES_TIME).found["sizes"]
    for way, added in sizes.items():
        found.sizes[way] = {int(size): it for size, it in added.items()}
        law = found.laws[way] = framing.fit(found.sizes[way])
        if not law.is_exact:
            found.notes.append(
                f"{way}: no law of frames tells {law.misses} of {law.seen} sizes of writes"
            )
    _greeting(found, starts[_RTTS[0]])
    if found.carriers == "all":
        tell("what it holds when nobody reads")
        found.held = _ask(server, client, "20ms", ["hold"], _HOLD_TIME).found["hold"]
    return found


def _ask(server: str, client: str, rtt: str, ask: list[str], seconds: int) -> Any:
    path = tc.Path(rate=_RATE, rtt=rtt, buffer="2bdp")
    return tc.ask_program(path, server, client, ask, seconds=seconds)


def _connections(found: Found, asked: Any) -> None:
    """Find out over what data go, and which flows share a carrier."""
    packets = wire.packets(asked.packets)
    start = asked.found["start"]
    flows = [at for at, *_ in start["flows"]]
    data = [it for it in packets if it.time >= flows[0] and it.payload > 0]
    if not data:
        raise TunnelccError("nothing crossed the path: do both command lines use SERVER?")
    if data[0].protocol == socket.IPPROTO_UDP:
        found.protocol = "udp"
        found.notes.append("it goes over UDP, and this command identifies carriers over TCP alone")
    early = wire.dialled(packets, 0, start["idle"])
    ends = [*flows[1:], flows[-1] + 2.9]
    new = [len(wire.dialled(packets, *it)) for it in zip(flows, ends, strict=True)]
    if all(it == 1 for it in new):
        found.carriers = "flow"
        if early:
            found.notes.append(f"{len(early)} connections begin before any flow, beside one a flow")
    elif (new == [0, 0, 0, 0] and early) or new == [1, 0, 0, 0]:
        found.carriers, found.is_early = "all", not new[0]
    else:
        found.carriers = "other"
        found.notes.append(
            f"connections before any flow: {len(early)}, and with each of four: {new}; an entry "
            "has one a flow, or one for all"
        )


def _round_trips(found: Found, starts: dict[str, Any]) -> None:
    """Fit the time of the first answer over the RTT: of a first flow, and of later ones."""
    for rtt, asked in starts.items():
        flows = asked.found["start"]["flows"]
        seconds = float(rtt.removesuffix("ms")) / 1e3
        later = statistics.median(last - at for at, _, _, last in flows[1:])
        found.replies.append((seconds, flows[0][3] - flows[0][0], later))
    rtts, first, later = zip(*found.replies, strict=True)
    found.first_trips, extra = _line(rtts, first)
    found.later_trips, found.extra = _line(rtts, later)
    for name, trips in (("first", found.first_trips), ("later", found.later_trips)):
        if abs(trips - round(trips)) > 0.02:
            found.notes.append(f"the answer of a {name} flow takes {trips:.3f} round trips")
    if max(extra, found.extra) > _SLACK:
        found.notes.append(
            f"an answer takes {1e3 * max(extra, found.extra):.1f} ms that hang on no round trip"
        )


def _line(x: tuple[float, ...], y: tuple[float, ...]) -> tuple[float, float]:
    line = statistics.linear_regression(x, y)
    return line.slope, line.intercept


def _greeting(found: Found, asked: Any) -> None:
    """Find the handshake, what goes in front of the first data, and in front of their answer."""
    packets, start = wire.packets(asked.packets), asked.found["start"]
    at, _, _, last = start["flows"][-1]
    own = {way: 1 + law.added(1) for way, law in found.laws.items()}
    if found.carriers == "flow":
        *found.handshake, data = wire.turns(packets, at, last)
        expected = 1 + len(found.handshake) + 1
        found.request = sum(data.client) - own["to_server"]
        if found.handshake and found.request > 0:
            # What ends a handshake leaves with the first data, as these do.
            found.handshake.append(wire.Turn([found.request]))
            found.request = 0
    else:
        begin = 0.0 if found.is_early else start["flows"][0][0]
        until = start["idle"] if found.is_early else start["flows"][0][3]
        found.handshake = wire.turns(packets, begin, until)
        if not found.is_early:
            found.handshake = found.handshake[:-1]
        *opening, data = wire.turns(packets, at, last)
        expected = len(opening) + 1
        # Of a flow on a carrier that is there: what opens a stream, and what answers.
        found.request = sum(sum(it.client) for it in (*opening, data)) - own["to_server"]
        if opening:
            found.response = sum(sum(it.server) for it in opening)
    if round(found.later_trips) != expected:
        found.notes.append(
            f"a later flow's answer takes {found.later_trips:.2f} round trips, and its turns on "
            f"the wire would take {expected}"
        )
    found.response += sum(data.server) - own["to_client"]
    if min(found.request, found.response) < 0:
        found.notes.append("the first byte of a flow takes less than later ones")
        found.request, found.response = max(found.request, 0), max(found.response, 0)
