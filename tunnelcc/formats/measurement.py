# SPDX-License-Identifier: GPL-2.0-only
"""Measurements to compare with a simulation: iperf3's JSON, logs of ``ss -ti``."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Series = NDArray[np.float64]


@dataclass(frozen=True)
class Stream:
    """One connection over time in SI units; arrays are as long as ``time``, NaN if unknown.

    ``goodput``: mean since the previous sample, bit/s. ``cwnd``: segments.
    """

    name: str
    time: Series
    goodput: Series
    rtt: Series
    cwnd: Series
    retransmits: Series  # so far


@dataclass(frozen=True)
class Measurement:
    """All connections of a measurement. Time starts with it."""

    source: str
    streams: list[Stream] = field(default_factory=list)

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
