# SPDX-License-Identifier: GPL-2.0-only
"""What was measured elsewhere, to stand beside a simulation: iperf3's JSON, logs of ``ss -ti``."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Series = NDArray[np.float64]


@dataclass(frozen=True)
class Stream:
    """One connection over time, SI; each array as long as ``time``, NaN where nothing is known.

    ``goodput``: mean since the sample before, bit/s; ``cwnd``: segments.
    """

    name: str
    time: Series
    goodput: Series
    rtt: Series
    cwnd: Series
    retransmits: Series  # so far


@dataclass(frozen=True)
class Measurement:
    """All connections of a measurement; time begins with it."""

    source: str
    streams: list[Stream] = field(default_factory=list)

    @property
    def time(self) -> Series:
        """When there are samples of any stream."""
        return np.unique(np.concatenate([it.time for it in self.streams]))

    @property
    def goodput(self) -> Series:
        """Of all streams together over ``time``, bit/s; streams that are not there get nothing."""
        time = self.time
        rates = [np.interp(time, it.time, it.goodput, 0, 0) for it in self.streams]
        total: Series = np.sum(rates, axis=0)
        return total

    def mean_goodput(self, since: float = 0.0) -> float:
        """Return the mean goodput of all streams together from ``since`` (s) on, bit/s."""
        total = 0.0
        for it in self.streams:
            spans = np.diff(it.time, prepend=0.0)
            kept = it.time > since
            total += float(np.sum((it.goodput * spans)[kept]))
        end = float(self.time[-1])
        return total / (end - since) if end > since else float("nan")
