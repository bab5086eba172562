# SPDX-License-Identifier: GPL-2.0-only
"""Measurements: what other programs told of connections, and of pings beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Series = NDArray[np.float64]

#: Payload of a segment (bytes) where a file tells of none: Ethernet, with TCP timestamps.
MSS = 1448
# Linux's TCP_MIN_SND_MSS, and the largest packet of IP.
_SMALLEST, _LARGEST = 48, 65535
# Our own files may name one of ns-3's: ns3::TcpHtcp.
_WORD = re.compile(r"[\w-]+(?:::\w+)?")


def segment_size(told: float, most: int = _LARGEST) -> float:
    """Return the MSS that a file tells (bytes), or the usual one if no connection can have it."""
    return told if _SMALLEST <= told <= most else MSS


def algorithm(told: object) -> str:
    """Return the congestion control that a stranger's file tells, "" if it is no plain name.

    Linux's names are words. The path of a file with an algorithm is none, and never runs.
    """
    return told if isinstance(told, str) and _WORD.fullmatch(told) else ""


@dataclass(frozen=True)
class Stream:
    """One connection over time in SI units; arrays are as long as ``time``, NaN if unknown.

    ``goodput``: mean since the previous sample, bit/s. ``rtt``: smoothed. ``cwnd``: segments.
    ``retransmits``: so far. ``window``: that the receiver offers, bytes. ``min_rtt``: the least of
    all RTTs, not smoothed. ``waits``: ``receive_window``, ``send_buffer``: the share of its busy
    time for which the sender waited for them, if it is known. ``congestion``: the congestion
    control, "" if unknown. ``mss``: bytes. ``ahead``: the part of the RTT (s) between the
    sender and the place of a capture, which then tells no RTT and window.
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


@dataclass(frozen=True)
class Pings:
    """RTTs of pings (s), and how many were sent and lost."""

    rtts: Series
    sent: int

    @property
    def lost(self) -> int:
        """Pings without an answer."""
        return max(self.sent - len(self.rtts), 0)


@dataclass(frozen=True)
class Measurement:
    """All connections of a measurement. Time starts with it. ``is_down``: the server sent."""

    source: str
    streams: list[Stream] = field(default_factory=list)
    pings: Pings | None = None
    is_down: bool = False

    @property
    def time(self) -> Series:
        """The times of all samples."""
        return np.unique(np.concatenate([it.time for it in self.streams]))

    @property
    def goodput(self) -> Series:
        """Goodput of all streams together over ``time``, bit/s; an absent stream counts as 0."""
        time = self.time
        rates = [np.interp(time, it.time, it.goodput, 0, 0) for it in self.streams]
        total: Series = np.sum(rates, axis=0)
        return total

    def mean_goodput(self, since: float = 0.0) -> float:
        """Return the mean goodput of all streams together after ``since`` (s), bit/s."""
        total = 0.0
        for it in self.streams:
            spans = np.diff(it.time, prepend=0.0)
            kept = it.time > since
            total += float(np.sum((it.goodput * spans)[kept]))
        end = float(self.time[-1])
        return total / (end - since) if end > since else float("nan")


def merged(parts: Sequence[Measurement]) -> Measurement:
    """Return several files as one measurement: flows of the first that has any, and all pings."""
    flows = next((it for it in parts if it.streams), parts[0])
    pings = [it.pings for it in parts if it.pings is not None]
    together = (
        Pings(np.concatenate([it.rtts for it in pings]), sum(it.sent for it in pings))
        if (pings)
        else None
    )
    source = ", ".join(it.source for it in parts)
    return Measurement(source, flows.streams, together, flows.is_down)


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
