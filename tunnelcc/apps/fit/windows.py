# SPDX-License-Identifier: GPL-2.0-only
"""A measurement by windows of time: the RTT of its path, goodput, queues and losses of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np
from numpy.typing import NDArray

from tunnelcc.analysis.values import Estimate, Quantity, Reason
from tunnelcc.apps.fit.reading import HEADER, Reading

Floats = NDArray[np.float64]

#: What a fit estimates → its unit.
UNITS = {
    "rate": "bit/s", "rtt": "s", "buffer": "s", "loss": "1", "jitter": "s", "window": "byte",
}  # fmt: skip
#: An interval tells a value if its ends are within this factor: ±5 %, ±25 %, and a factor of 2.
TELLS = {"rate": 1.105, "rtt": 1.105, "buffer": 1.667, "loss": 4.0}

# The RTT (s) of the scenario if the files have none: about that between two countries.
_NO_RTT = 0.05

#: Full windows of time whose rates differ by more than this are of a rate that changes.
CHANGES = 0.07
#: Bytes that are counted at once at least: two segments, which one ACK covers, at both ends.
GRAIN = 6000.0

# Windows of time (s) over which rates are taken.
_WINDOW = 1.0
# A queue shows where the RTT is above the path's by this part of it, and by so many packets.
_PART, _PACKETS, _LEAST = 0.04, 3.5, 1e-3
# Bytes of an Ethernet or IP packet of ping and of a handshake, both ways.
_PING_BYTES, _HANDSHAKE_BYTES = 168.0, 120.0
# Of an RTT from so many seconds on, ping cuts less than this (s).
_DIGITS = ((0.1, 1e-3), (0.01, 1e-4), (0.0, 1e-5))
# Data in flight are this part of the congestion windows, and deliveries at most this part of the
# goodput, of flows that always send.
_FILLED, _BURSTS = 0.87, 1.02
# Of a full send buffer, this part has to be free before the next write.
_FREE = 0.34
# A receiver does not count what is lost: this part may be.
_UNCOUNTED = 0.03
# What is counted is off a constant rate by less than this part of the blur of counts.
_OFF = 2.0


def estimate(
    name: str, value: float, least: float, most: float, why: Reason | str, *, is_told: bool = False
) -> Estimate:
    """Return an estimate of a value with its interval. ``why``: the reason, or its name."""
    reason = Reason(why) if isinstance(why, str) else why
    return Estimate(Quantity(value, UNITS[name]), (least, most), is_told, reason)


def is_narrow(name: str, least: float, most: float) -> bool:
    """Whether an interval tells a value."""
    return 0 < least <= most <= TELLS[name] * least


def cut_of(rtts: Floats) -> float:
    """Return what ping may cut from the least RTT, s.

    It prints three digits, and fping and mtr as few; Windows' has whole milliseconds.
    """
    if np.allclose(1e3 * rtts, np.round(1e3 * rtts), rtol=0, atol=1e-6):
        return _DIGITS[0][1]
    return next(it for least, it in _DIGITS if rtts.min() >= least)


@dataclass(frozen=True)
class Windows:
    """A measurement by windows of time of about a second."""

    reading: Reading

    @cached_property
    def per_packet(self) -> float:
        """Bytes of IP for one of payload."""
        mss = self.reading.streams[0].mss
        return (mss + HEADER) / mss if not self.reading.is_datagrams else (mss + 28) / mss

    # ------------------------------------------------------------------------------ RTT of the path

    @cached_property
    def rtt(self) -> Estimate:
        """The RTT without queues."""
        found = self.reading
        ends: list[tuple[float, float]] = []
        pings = found.idle
        top = found.highest * self.per_packet
        if pings is not None:
            least = float(pings.rtts.min())
            count = len(pings.rtts) if not pings.is_summary else 10
            mean = float(pings.rtts[1] if pings.is_summary else pings.rtts.mean()) - least
            own = 8 * _PING_BYTES / max(top, 1.0)
            # ping cuts what is behind three digits.
            cut = cut_of(pings.rtts)
            # Of Windows, <1ms may be anything below it.
            begin = 0.985 * least - own - 4 * mean / count - 1e-4 if least > cut else 0.0
            ends.append((begin, least + cut))
        least = found.raw_rtt
        if least > 0 and (pings is None or least < pings.rtts.min()):
            own = 8 * _HANDSHAKE_BYTES / max(top, 1.0)
            # With timestamps of TCP, Linux cuts it to whole milliseconds.
            cut = 1e-3 if abs(1e3 * least - round(1e3 * least)) < 1e-6 else 0.0
            ends.append((0.98 * least - own - 1e-4, least + cut))
        if ends:
            low, high = max(it[0] for it in ends), min(it[1] for it in ends)
            low = min(low, high)
            why = "idle_pings_tell" if pings is not None else "single_rtts"
            own = 8 * _PING_BYTES / max(top, 1.0)
            value = min(max(high - own, low), high) if pings is None or least == high else (
                min(max(float(pings.rtts.min()) - own, low), high))  # fmt: skip
            low = max(low, 0.0)
            value = max(value, low, 0.3 * high)  # of very slow links, pings take longer
            is_told = is_narrow("rtt", low, high)
            if not is_told:
                why = "ping_before" if pings is None else "pings_differ"
            return estimate("rtt", value, low, high, why, is_told=is_told)
        least = found.least_rtt
        if not least > 0:
            return estimate("rtt", _NO_RTT, 0.0, inf, "ping_before")
        if self._moves_without_queue:
            return estimate("rtt", 0.99 * least, 0.93 * least, least, "rtt_stays", is_told=True)
        # A flow that is limited by a window has no queue, mostly.
        value = least if found.limit != "network" else 0.9 * least
        return estimate("rtt", value, 0.0, least, "ping_before")

    @cached_property
    def _moves_without_queue(self) -> bool:
        """Whether RTTs stay while what is in flight changes: no queue has ever grown."""
        found = self.reading
        rtts = found.rtts_after
        if len(rtts) < 8 or found.has_bbr:
            return False
        cwnds = np.concatenate([it.cwnd[it.time > found.since] for it in found.streams])
        cwnds = cwnds[np.isfinite(cwnds)]
        if len(cwnds) < 8 or found.resent < 3:
            return False
        low, high = np.percentile(cwnds, [10, 90])
        least, most = np.percentile(rtts, [0, 90])
        return bool(high > 1.35 * low and most < 1.03 * least)

    # ------------------------------------------------------------------------------ windows of time

    @cached_property
    def edges(self) -> Floats:
        """The ends of windows of time: of samples, at least a second from each other."""
        found = self.reading
        step = max(_WINDOW, 2.5 * self.base)
        times = found.measured.time
        times = times[(times >= found.since) & (times <= found.duration + 1e-6)]
        chosen: list[float] = []
        for it in times.tolist():
            if not chosen or it - chosen[-1] >= step - 0.02:
                chosen.append(it)
        return np.array(chosen)

    @property
    def base(self) -> float:
        """The most that the RTT of the path may be, s."""
        most = self.rtt.interval[1]
        return most if np.isfinite(most) else _NO_RTT

    @cached_property
    def sent(self) -> Floats:
        """What all flows have brought until each edge, bytes."""
        found: Floats = np.sum([it.bytes_by(self.edges) for it in self.reading.streams], axis=0)
        return found

    @cached_property
    def rates(self) -> Floats:
        """The rates (bit/s, of IP) of the windows."""
        if len(self.edges) < 2:
            return np.empty(0)
        return 8 * np.diff(self.sent) / np.diff(self.edges) * self.per_packet

    @cached_property
    def queues(self) -> Floats:
        """What the least RTT of each window is above the path's (s); NaN: not known."""
        return self.above_base(np.min)

    @cached_property
    def margin(self) -> float:
        """A queue of more than this (s) shows for certain."""
        service = 12e3 / max(self.reading.goodput, 1.0)
        jitter = self.reading.jitter if np.isfinite(self.reading.jitter) else 0.0
        return max(_PART * self.base, _PACKETS * service, _LEAST, 3 * jitter)

    @cached_property
    def is_full(self) -> NDArray[np.bool_]:
        """Whether a queue shows all over each window."""
        if self.reading.is_datagrams:
            return np.zeros(len(self.rates), bool)
        found: NDArray[np.bool_] = np.nan_to_num(self.queues, nan=-1.0) > self.margin
        if not any(np.isfinite(it.rtt).any() for it in self.reading.streams):
            # Pings beside it, whose time is known to a second.
            found[1:] &= found[:-1].copy()
            found[:-1] &= found[1:].copy()
        return found

    @cached_property
    def loads(self) -> Floats:
        """The retransmissions of each window; NaN where they are not counted."""
        return np.diff(self.reading.resent_by(self.edges)) if len(self.edges) > 1 else np.empty(0)

    # ----------------------------------------------------------------------------------------- rate

    @cached_property
    def is_written(self) -> bool:
        """Whether the files count what was written into a buffer."""
        return any(it.counted == "written" for it in self.reading.streams)

    @cached_property
    def blur(self) -> float:
        """By how much counts of bytes are uncertain: what senders' buffers hold."""
        found = self.reading
        grains = sum(it.grain for it in found.streams) + GRAIN
        if self.is_written:
            return grains + _FREE * found.buffered
        if any(it.counted == "received" for it in found.streams):
            # What is behind a hole is read when that is filled: up to a window.
            rtt = found.mean_rtt if np.isfinite(found.mean_rtt) else 2 * self.base
            return grains + found.goodput * rtt / 8
        return grains

    @cached_property
    def changes(self) -> bool:
        """Whether the rate of a full link changes: the path is outside the family."""
        if self.reading.is_datagrams:
            return False
        if self.blur > 2 * GRAIN:
            return self.changes_over(np.arange(*self.span))
        return self.changes_over(np.flatnonzero(self.is_full), 4)

    def changes_over(self, windows: NDArray[np.int_], count: int = 3) -> bool:
        """Whether parts of some windows of time have other rates than the rest."""
        parts = np.array_split(windows, count)
        seconds = np.array([np.diff(self.edges)[it].sum() for it in parts])
        if seconds.min() < 1.5:
            return False
        sizes = np.array([np.diff(self.sent)[it].sum() for it in parts])
        rates = 8 * sizes / seconds
        noise = 8 * self.blur / seconds.min() / rates.mean()
        return bool(np.ptp(rates) / rates.mean() > CHANGES + 2.5 * noise)

    @cached_property
    def is_unsteady(self) -> bool:
        """Whether a full link brings more at some times than its mean, by more than is blurred."""
        first, last = self.span
        if self.blur > 2 * GRAIN and last - first > 2:
            times, brought = self.edges[first : last + 1], self.sent[first : last + 1]
            off = brought - np.interp(times, times[[0, -1]], brought[[0, -1]])
            return bool(np.ptp(off) > _OFF * self.blur)
        if self.blur > 2 * GRAIN or self.is_full.sum() < 6:
            return False
        rates = self.rates[self.is_full]
        # BBR drains the queue every ten seconds.
        low, high = np.percentile(rates, [20, 80])
        return bool(high - low > CHANGES * np.median(rates))

    @property
    def fills_windows(self) -> bool:
        """Whether the flows always have data: what is in flight is the congestion window.

        A send buffer that is small makes bursts, whose ends see queues that others do not.
        """
        found = self.reading
        deliveries = [it.delivery[it.time > found.since] for it in found.streams
                      if len(it.delivery) == len(it.time)]  # fmt: skip
        known = np.concatenate([*deliveries, np.empty(0)])
        known = known[np.isfinite(known)]
        if len(found.streams) == 1 and len(known) > 3:
            middle = float(np.median(self.rates)) / self.per_packet if len(self.rates) else 0.0
            return bool(np.median(known) < _BURSTS * middle)
        if found.has_bbr or not found.cwnd > 0:
            return True
        return bool(found.in_flight >= _FILLED * found.cwnd)

    def lost_behind(self, chosen: NDArray[np.bool_] | None = None) -> float:
        """By what the link's rate may be above what arrives: packets that are lost behind it.

        ``chosen``: the windows of time that tell the rate, where each counts retransmissions.
        """
        if chosen is not None and np.isfinite(self.loads[chosen]).all():
            counted, sent = float(self.loads[chosen].sum()), float(self.segments[chosen].sum())
        else:
            moments = np.array([self.reading.since, self.reading.duration])
            counted = float(np.diff(self.reading.resent_by(moments))[0])
            counted = counted if np.isfinite(counted) else self.reading.resent
            brought = np.sum([it.bytes_by(moments) for it in self.reading.streams], axis=0)
            sent = float(np.diff(brought)[0]) / self.reading.streams[0].mss
        if not np.isfinite(counted) or not sent > 0:
            is_of_receiver = any(it.counted == "received" for it in self.reading.streams)
            return 1 + _UNCOUNTED if is_of_receiver else 1.0
        return 1 + min(max(counted, 0.0) / sent, 0.3)  # counts of a damaged file may fall

    @cached_property
    def span(self) -> tuple[int, int]:
        """The first and the last edge of the longest span that is full all the time."""
        spans, start = [(0, 0)], None
        for place, it in enumerate([*self.is_full.tolist(), False]):
            if it and start is None:
                start = place
            elif not it and start is not None:
                spans.append((start, place))
                start = None
        return max(spans, key=lambda it: it[1] - it[0])

    @cached_property
    def segments(self) -> Floats:
        """The segments of each window."""
        return np.diff(self.sent) / self.reading.streams[0].mss

    def above_base(self, pick: Callable[[Floats], float]) -> Floats:
        """What one RTT of each window is above the path's (s); NaN: it has none."""
        moments, values = self.reading.rtt_series
        found = []
        for start, end in zip(self.edges[:-1], self.edges[1:], strict=True):
            inside = values[(moments >= start - 1e-6) & (moments <= end + 1e-6)]
            found.append(float(pick(inside)) - self.base if len(inside) else np.nan)
        return np.array(found)
