# SPDX-License-Identifier: GPL-2.0-only
"""Kinds of traffic over UDP, as data: what an application sends, and how often."""

from pathlib import Path
from typing import Annotated

from tunnelcc.catalog.cited import Cited, Prose
from tunnelcc.schema import choice, size, time, whole
from tunnelcc.schema import rate as rate_of
from tunnelcc.schema.library import Library

Payload = Annotated[int, size(1, 65507)]
Interval = Annotated[float, time(1e-6, 60)]
Gaps = Annotated[str, choice("equal", "exponential")]


class Traffic(Cited):
    """A kind of traffic. Sizes are payload of UDP.

    ``interval``: s between what is sent at once, None: the user gives a rate; ``bytes`` or ``rate``
    (bit/s): how much that is, without the ``header`` of each datagram; ``most``: bytes of a
    datagram without header; ``talk``, ``pause``: s, means of exponential periods; ``answer``:
    payload; ``timeout`` (s), ``attempts``: of requests; ``codec_delay``: s, of coding and decoding.
    """

    name: Prose
    summary: Prose
    interval: Interval | None = None
    bytes: Payload | None = None
    rate: Annotated[float, rate_of(1e3, 1e9)] | None = None
    header: Annotated[int, whole(0, 1000)] = 0
    most: Payload | None = None
    gaps: Gaps = "equal"
    talk: Interval | None = None
    pause: Interval | None = None
    answer: Payload | None = None
    timeout: Interval | None = None
    attempts: Annotated[int, whole(1, 100)] = 1
    playout: Interval | None = None
    codec_delay: Annotated[float, time(0, 1)] = 0.0


_LIBRARY: Library[Traffic] = Library(Path(__file__).parent, Traffic.parse)

#: The kinds, that of a constant rate first.
NAMES = ("constant", *(name for name in _LIBRARY.names() if name != "constant"))


def load(name: str) -> Traffic:
    """Return a kind of traffic."""
    return _LIBRARY.load(name)
