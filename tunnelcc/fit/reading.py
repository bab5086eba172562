# SPDX-License-Identifier: GPL-2.0-only
"""What a measurement tells by itself: RTT, windows in force, and what limited the flows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tunnelcc.errors import ConfigError, Problem
from tunnelcc.formats.measurement import Measurement, Stream

# The start of a flow, which steady values leave out: this time (s), or this part of short ones.
_START, _PART = 3.0, 0.3
# What a path can have, and a day: files of strangers may tell anything.
_RTTS, _RATES, _MOST_SECONDS = (1e-6, 60.0), (1e3, 1e11), 86400.0
# A flow with this part of window / RTT is limited by that window.
_FULL = 0.9
# A mean RTT above the least by more than this (relative; s) tells of a queue.
_QUEUE, _LEAST_QUEUE = 0.25, 2e-3
# A sender that waited for this part of its busy time was limited by what it waited for.
_WAITED = 0.5
# Seconds with goodputs that differ by less than this are alike. This part of all seconds, and so
# many, make a plateau, if at most another part is above it and RTTs move by this part of the least.
_SAME, _COMMON, _LEAST_SECONDS, _ABOVE, _MOVES = 0.01, 0.3, 5, 0.15, 0.03
# Windows of this part of rate × RTT fill a path.
_FILLS = 0.95
# Data in flight below this part of both windows: the application or the send buffer limits.
_HALF_FULL, _PACED_FULL = 0.7, 0.25


@dataclass(frozen=True)
class Reading:
    """A measurement, read directly. Times in s, rates in bit/s, of all flows together.

    ``limit``: ``receive_window``, ``send_buffer``, ``application``, or ``network`` for what the
    path and congestion control decide. ``is_assumed``: nothing tells the congestion control.
    """

    measured: Measurement
    duration: float
    since: float
    congestion: str
    is_assumed: bool = False
    limit: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "limit", self._limit())

    @property
    def streams(self) -> list[Stream]:
        """The connections."""
        return self.measured.streams

    @cached_property
    def goodput(self) -> float:
        """The mean after the start."""
        return self.measured.mean_goodput(self.since)

    @cached_property
    def highest(self) -> float:
        """The goodput that one sample in twenty passes, after the start."""
        rates = self.measured.goodput[self.measured.time > self.since]
        return float(np.percentile(rates, 95)) if rates.size else self.goodput

    @cached_property
    def has_raw_rtt(self) -> bool:
        """Whether the least RTT is of single samples, and not only of smoothed ones."""
        return self.measured.pings is not None or any(it.min_rtt > 0 for it in self.streams)

    @cached_property
    def least_rtt(self) -> float:
        """The least RTT of all that the files have; NaN if they have none."""
        values = [value for it in self.streams for value in (it.min_rtt, *it.rtt)]
        if self.measured.pings is not None:
            values += [*self.measured.pings.rtts]
        known = [value for value in values if value > 0]
        return float(min(known)) if known else float("nan")

    @cached_property
    def mean_rtt(self) -> float:
        """The mean of the smoothed RTTs after the start."""
        return _mean([it.rtt[it.time > self.since] for it in self.streams])

    @cached_property
    def window(self) -> float:
        """The receiver's window of a flow after the start, bytes; NaN if it is not known."""
        return _median([it.window[it.time > self.since] for it in self.streams if it.window.size])

    @cached_property
    def cwnd(self) -> float:
        """The mean congestion window after the start, bytes of a flow; NaN if not known."""
        return _mean([it.mss * it.cwnd[it.time > self.since] for it in self.streams])

    @cached_property
    def in_flight(self) -> float:
        """The data in flight of a flow after the start, bytes: goodput × RTT (Little's law)."""
        return self.goodput * self.mean_rtt / 8 / max(len(self.streams), 1)

    @cached_property
    def segments(self) -> float:
        """The segments that were sent, about."""
        total = self.measured.mean_goodput() * float(self.measured.time[-1]) / 8
        return max(total / self.streams[0].mss, 1.0)

    @cached_property
    def retransmits(self) -> float:
        """The retransmissions of all flows; NaN if the files do not count them."""
        return float(sum(it.retransmits[-1] for it in self.streams))

    @cached_property
    def has_queue(self) -> bool:
        """Whether RTTs tell of a queue."""
        queue = self.mean_rtt - self.least_rtt
        return bool(queue > max(_QUEUE * self.least_rtt, _LEAST_QUEUE))

    @cached_property
    def plateau(self) -> float:
        """The goodput (bit/s) of a link that is full; NaN if none shows.

        Many seconds have nearly this goodput, and few have more, while the RTT changes: that of a
        window would change with it.
        """
        time = self.measured.time
        seconds = np.arange(self.since, self.duration + 1e-6, 1.0)
        if len(seconds) <= _LEAST_SECONDS or not np.isfinite(self.measured.goodput).all():
            return float("nan")
        sent = np.cumsum(self.measured.goodput * np.diff(time, prepend=0.0))
        rates = np.diff(np.interp(seconds, time, sent))
        known = [(it, np.isfinite(it.rtt)) for it in self.streams]
        of_flows = [(it.time[kept], it.rtt[kept]) for it, kept in known if kept.any()]
        if not of_flows:
            return float("nan")
        rtts = np.mean([np.interp(seconds[1:], *it) for it in of_flows], axis=0)
        upper = rates[(rates >= np.median(rates)) & (rates > 0)]
        if not upper.size:
            return float("nan")
        near = np.array([np.abs(rates / rate - 1) < _SAME for rate in upper])
        members = near[int(near.sum(axis=1).argmax())]
        level = float(np.median(rates[members]))
        is_common = members.sum() >= max(_LEAST_SECONDS - 1, _COMMON * rates.size)
        is_top = (rates > (1 + _SAME) * level).sum() <= _ABOVE * rates.size
        moves = np.ptp(np.percentile(rtts[members], [5, 95])) > _MOVES * self.least_rtt
        is_told = is_common and is_top and moves and self._is_always_full(level)
        return level if is_told else float("nan")

    def _is_always_full(self, rate: float) -> bool:
        """Whether even the least window fills a path of this goodput (bit/s).

        If it does not, the queue runs empty after each loss, and each second has many of these. BBR
        has small windows only while it looks for the RTT.
        """
        if self.congestion.startswith("bbr"):
            return True
        windows = [it.mss * it.cwnd[it.time > self.since] for it in self.streams]
        least = sum(float(np.nanmin(it)) for it in windows if np.isfinite(it).any())
        return least == 0 or least >= _FILLS * rate * self.least_rtt / 8

    def _limit(self) -> str:
        waits = {
            name: float(np.mean([it.waits.get(name, 0.0) for it in self.streams]))
            for name in ("receive_window", "send_buffer")
        }
        for name, share in waits.items():
            if share > _WAITED and not self.has_queue:
                return name
        if self.has_queue or self.plateau > 0 or not np.isfinite(self.in_flight):
            return "network"
        if self.in_flight >= _FULL * self.window and not self.cwnd < self.window:
            return "receive_window"
        # Where the congestion window is not known, nor the receiver's, nothing tells.
        # BBR's congestion window is twice what it has in flight, or more under loss.
        part = _PACED_FULL if self.congestion.startswith("bbr") else _HALF_FULL
        if self.in_flight < part * np.fmin(self.cwnd, self.window):
            return "send_buffer" if waits["send_buffer"] > 0.1 else "application"
        return "network"


def reading(measured: Measurement, congestion: str | None = None) -> Reading:
    """Return what a measurement tells by itself. ``congestion``: if its files do not tell.

    Raises ConfigError if it has no flow, no RTT, or only a part of the RTT.
    """
    streams = [it for it in map(_in_order, measured.streams) if len(it.time) > 1]
    measured = replace(measured, streams=streams)
    if not streams:
        expected = "a file with a flow: iperf3's JSON, a log of ss, a capture, or a flent file"
        raise ConfigError(Problem("fit", measured.source, expected))
    if (ahead := max(it.ahead for it in streams)) > 0:
        expected = "a capture at the sending host"
        hint = f"{1e3 * ahead:.3g} ms of the RTT lie between the sender and the place of this one"
        raise ConfigError(Problem("fit", measured.source, expected, hint))
    end = float(measured.time[-1])
    if not end <= _MOST_SECONDS:
        raise ConfigError(Problem("fit", measured.source, "a measurement of at most a day"))
    since = _START if end >= 2 * _START else _PART * end
    known = congestion or next((it.congestion for it in streams if it.congestion), "")
    found = Reading(measured, end, since, known or "cubic", not known)
    if not found.least_rtt > 0 or not found.goodput > 0:
        expected = "a file that tells RTTs, and a flow that sends; `ping` beside it will do"
        raise ConfigError(Problem("fit", measured.source, expected))
    is_path = _RTTS[0] <= found.least_rtt <= _RTTS[1] and found.mean_rtt <= _RTTS[1]
    rates = sorted((found.goodput, found.highest))
    if not (is_path and _RATES[0] <= rates[0] and rates[1] <= _RATES[1]):
        expected = "RTTs from 1 µs to 60 s, and goodputs from 1 kbit/s to 100 Gbit/s"
        raise ConfigError(Problem("fit", measured.source, expected))
    return found


def _in_order(it: Stream) -> Stream:
    """Return a stream whose times increase, and are after the start."""
    kept = it.time > np.maximum.accumulate(np.concatenate([[0.0], it.time[:-1]]))
    arrays = {
        name: getattr(it, name)[kept]
        for name in ("time", "goodput", "rtt", "cwnd", "retransmits", "window")
        if len(getattr(it, name)) == len(kept)
    }
    return replace(it, **arrays)


def _mean(parts: list[NDArray[np.float64]]) -> float:
    return _of(parts, np.nanmean)


def _median(parts: list[NDArray[np.float64]]) -> float:
    return _of(parts, np.nanmedian)


def _of(parts: list[NDArray[np.float64]], function: object) -> float:
    values = np.concatenate([*parts, np.empty(0)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nothing is known
        return float(function(values))  # type: ignore[operator]
