# SPDX-License-Identifier: GPL-2.0-only
"""Packets of a capture at the client: its connections, and the turns of both ends."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Packet:
    """A packet that crossed the path. ``time``: s; ``payload``: bytes; ``port``: the client's."""

    time: float
    is_up: bool
    protocol: int
    port: int
    is_syn: bool
    payload: int


@dataclass
class Turn:
    """What the client wrote, and then the server, in packets' payload (bytes)."""

    client: list[int] = field(default_factory=list)
    server: list[int] = field(default_factory=list)


def packets(rows: Iterable[Sequence[Any]]) -> list[Packet]:
    """Return the packets of rows as ``tc.ask_program`` has them."""
    return [Packet(*row) for row in rows]


def dialled(of: Iterable[Packet], since: float, until: float) -> list[int]:
    """Return the client's ports of carriers that began in a time, in order.

    A connection of TCP begins with a SYN, one over UDP with its first packet.
    """
    found: dict[int, None] = {}
    before: set[int] = set()
    for it in of:
        if it.time < since and it.protocol == socket.IPPROTO_UDP:
            before.add(it.port)
        begins = it.is_syn or (it.protocol == socket.IPPROTO_UDP and it.port not in before)
        if since <= it.time < until and it.is_up and begins:
            found.setdefault(it.port)
    return list(found)


def turns(of: Iterable[Packet], since: float, until: float) -> list[Turn]:
    """Return the turns of both ends in a time, the client's first."""
    found = [Turn()]
    for it in of:
        if not since <= it.time <= until or it.payload <= 0:
            continue
        if it.is_up and found[-1].server:
            found.append(Turn())
        (found[-1].client if it.is_up else found[-1].server).append(it.payload)
    return found
