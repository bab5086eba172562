# SPDX-License-Identifier: GPL-2.0-only
"""Measurements: what other programs told of connections, and of pings beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Series = NDArray[np.float64]

#: Payload of a segment (bytes) where a file tells of none: Ethernet, with TCP timestamps.
MSS = 1448
# Linux's TCP_MIN_SND_MSS, and the largest packet of IP.
_SMALLEST, LARGEST = 48, 65535
#: Longer measurements (s) are none: files of strangers may tell anything.
LONGEST = 86400.0
# Our own files may name one of ns-3's: ns3::TcpHtcp.
_WORD = re.compile(r"[\w-]+(?:::\w+)?")


def segment_size(told: float, most: int = LARGEST) -> float:
    """Return the MSS that a file tells (bytes), or the usual one if no connection can have it."""
    return told if _SMALLEST <= told <= most else MSS


def algorithm(told: object) -> str:
    """Return the congestion control that a stranger's file tells, "" if it is no plain name.

    Linux's names are words. The path of a file with an algorithm is none, and never runs.
    """
    return told if isinstance(told, str) and _WORD.fullmatch(told) else ""


class ClockError(ValueError):
    """Times of a file that no clock tells which is left alone."""


def check_clock(where: str, before: float, time: float, *, early: float = 0.0) -> None:
    """Raise ClockError if a time (s) is not one after ``before``, by at most a day.

    ``where``: its place in the file. ``early``: by how much it may be before it.
    """
    step = time - before
    if not -early <= step <= LONGEST:
        way = "forward" if step > 0 else "back"
        raise ClockError(f"{where}: the clock was set {way} by {abs(step):.6g} s")


@dataclass(frozen=True)
class Stream:
    """One connection over time in SI units; arrays are as long as ``time``, NaN if unknown.

    ``goodput``: mean since the previous sample, bit/s. ``rtt``: smoothed. ``cwnd``: segments.
    ``retransmits``: so far. ``window``: that the receiver offers, bytes. ``min_rtt``: the least of
    all RTTs, not smoothed. ``waits``: ``receive_window``, ``send_buffer``: the share of its busy
    time for which the sender waited for them, if it is known. ``congestion``: the congestion
    control, "" if unknown. ``mss``: bytes. ``ahead``: the part of the RTT (s) between the
    sender and the place of a capture, which then tells no RTT and window. ``start``: when the span
    of the first sample begins, s. ``counted``: what the goodput counts: ``acked``, ``received``, or
    ``written`` by the application into the sender's buffer. ``arrived``: bytes that the receiver
    had at the end, NaN if unknown. ``resent``: all retransmissions, where there are none by time.
    ``delivery``: ss's delivery_rate, bit/s. ``offered``, ``lost``: of a flow of datagrams, what it
    sent (bit/s) and the part that was lost; NaN if it is none, or not known. ``grain``: bytes that
    are counted at once.
    """

    name: str
    time: Series
    goodput: Series
    rtt: Series
    cwnd: Series
    retransmits: Series
    window: Series = field(default_factory=lambda: np.empty(0))
    min_rtt: float = float("nan")
    waits: Mapping[str, float] = field(default_factory=dict)
    congestion: str = ""
    mss: float = MSS
    ahead: float = 0.0
    start: float = 0.0
    is_down: bool = False
    counted: str = "acked"
    arrived: float = float("nan")
    resent: float = float("nan")
    delivery: Series = field(default_factory=lambda: np.empty(0))
    is_datagrams: bool = False
    offered: float = float("nan")
    lost: float = float("nan")
    grain: float = 0.0

    def bytes_by(self, moments: Series) -> Series:
        """Return the bytes that were counted until each of the moments (s)."""
        ends = np.concatenate([[self.start], self.time])
        spans = np.diff(ends)
        sums = np.concatenate([[0.0], np.cumsum(np.nan_to_num(self.goodput) * spans / 8)])
        found: Series = np.interp(moments, ends, sums)
        return found

    @property
    def resent_in_all(self) -> float:
        """All retransmissions; NaN if nothing counts them."""
        last = float(self.retransmits[-1]) if len(self.retransmits) else float("nan")
        return last if np.isfinite(last) else self.resent


@dataclass(frozen=True)
class Pings:
    """RTTs of pings (s), and how many were sent and lost.

    ``times``: when each was answered, s since 1970; empty if unknown. ``is_summary``: the RTTs are
    only the least, the mean and the most. ``is_loaded``: whether traffic was beside them, None: not
    known.
    """

    rtts: Series
    sent: int
    times: Series = field(default_factory=lambda: np.empty(0))
    is_summary: bool = False
    is_loaded: bool | None = None

    @property
    def lost(self) -> int:
        """Pings without an answer."""
        if self.is_summary:
            return 0
        return max(self.sent - len(self.rtts), 0)


@dataclass(frozen=True)
class Measurement:
    """All connections of a measurement. Time starts with the first. ``is_down``: the server sent.

    ``epoch``: when that is, s since 1970, known to within ``blur``; NaN: unknown. ``knows_way``:
    whether the file tells the direction. ``series``: all groups of pings. ``others``: further
    measurements of the same path. ``counters``: what nstat counted.
    """

    source: str
    streams: list[Stream] = field(default_factory=list)
    pings: Pings | None = None
    is_down: bool = False
    epoch: float = float("nan")
    blur: float = 0.0
    knows_way: bool = False
    series: list[Pings] = field(default_factory=list)
    others: list[Measurement] = field(default_factory=list)
    counters: Mapping[str, float] = field(default_factory=dict)
    reverse: list[Stream] = field(default_factory=list)

    @property
    def time(self) -> Series:
        """The times of all samples."""
        return np.unique(np.concatenate([it.time for it in self.streams]))

    @property
    def goodput(self) -> Series:
        """Goodput of all streams together over ``time``, bit/s; an absent stream counts as 0."""
        time = self.time
        begin = min(it.start for it in self.streams)
        moments = np.concatenate([[begin], time])
        total = np.sum([it.bytes_by(moments) for it in self.streams], axis=0)
        found: Series = 8 * np.diff(total) / np.maximum(np.diff(moments), 1e-9)
        return found

    def mean_goodput(self, since: float = 0.0) -> float:
        """Return the mean goodput of all streams together after ``since`` (s), bit/s.

        A sample whose span began before counts with the part behind it.
        """
        end = float(self.time[-1])
        ends = np.array([since, end])
        total = sum(float(np.diff(it.bytes_by(ends))[0]) for it in self.streams)
        return 8 * total / (end - since) if end > since else float("nan")

    def pings_in_all(self) -> list[Pings]:
        """Return all groups of pings."""
        return [*([self.pings] if self.pings is not None else []), *self.series]


def merged(parts: Sequence[Measurement]) -> Measurement:
    """Return several files as one: flows of that which tells most of them, and all pings.

    Flows of further files are in ``others``, unless they are the same as seen elsewhere.
    """
    source = ", ".join(it.source for it in parts)
    inner = sorted(parts, key=_rank)
    flows = inner[0]
    pings = [group for it in inner for group in it.pings_in_all()]
    counters = next((it.counters for it in inner if it.counters), {})
    others = [it for it in inner[1:] if it.streams]
    return replace(
        flows,
        source=source,
        pings=pings[0] if pings else None,
        series=pings[1:],
        others=others,
        counters=counters,
    )


def _rank(it: Measurement) -> tuple[int, bytes]:
    """Return what sorts files: those that tell most first, then by their contents."""
    if not it.streams:
        kind = 9
    elif any(stream.ahead > 0 for stream in it.streams):
        kind = 5
    else:
        has_rtt = any(np.isfinite(stream.rtt).any() for stream in it.streams)
        is_exact = all(stream.counted != "written" for stream in it.streams)
        kind = 4 - 2 * has_rtt - is_exact
    parts = [np.concatenate([s.time, s.goodput]).tobytes() for s in it.streams]
    parts += [group.rtts.tobytes() for group in it.pings_in_all()]
    return kind, b"".join(parts)


def number(value: Any, otherwise: float = float("nan")) -> float:
    """Return a finite number of a stranger's file, or ``otherwise`` for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return otherwise
    try:
        found = float(value)
    except OverflowError:
        return otherwise
    return found if np.isfinite(found) and abs(found) < 1e18 else otherwise


def table_of(value: Any) -> dict[str, Any]:
    """Return a table of a stranger's file, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """Return a list of a stranger's file, or an empty one for anything else."""
    return value if isinstance(value, list) else []
