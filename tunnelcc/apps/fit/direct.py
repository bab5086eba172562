# SPDX-License-Identifier: GPL-2.0-only
"""What a measurement tells of its path without a simulation, each value with an interval.

A link is full while RTTs are above that of the path: then what arrives is its rate. Losses while it
is not full are random; those at the highest RTTs are of a full queue, whose size they tell.
"""

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
#: Random loss that is surely less than this is told as none.
NO_LOSS = 5e-4

# Windows of time (s) over which rates are taken, and how many full ones tell a rate.
_WINDOW, _LEAST_FULL = 1.0, 4
# A queue shows where the RTT is above the path's by this part of it, and by so many packets.
_PART, _PACKETS, _LEAST = 0.04, 3.5, 1e-3
# The rate is told at best to within this part: queues empty between samples.
_AT_BEST = 0.008
# Full windows whose rates differ by more than this are of a rate that changes.
_CHANGES = 0.07
# Bytes of an Ethernet or IP packet of ping and of a handshake, both ways.
_PING_BYTES, _HANDSHAKE_BYTES = 168.0, 120.0
# Of an RTT from so many seconds on, ping cuts less than this (s).
_DIGITS = ((0.1, 1e-3), (0.01, 1e-4), (0.0, 1e-5))
# Data in flight are this part of the congestion windows, and deliveries at most this part of the
# goodput, of flows that always send.
_FILLED, _BURSTS = 0.87, 1.02
# Bytes that are counted at once at least: two segments, which one ACK covers, at both ends. And the
# part of a full send buffer that has to be free before the next write.
_GRAIN, _FREE = 6000.0, 0.34
# Datagrams of which more are lost are more than the link carries, if what arrives is this steady.
_OVERLOAD, _STEADY = 0.08, 0.02
# This part of all windows has the rate of a full link, and at most another is above it.
_COMMON, _ABOVE = 0.6, 0.1
# BBR's windows are reduced so often (s), half of the time between its probes of the RTT.
_BETWEEN = 5.0
# This part of the moments is on the line of a constant rate, but for this part of all bytes.
_ON_LINE, _OFF_LINE = 0.85, 0.003


def estimate(
    name: str, value: float, least: float, most: float, why: Reason | str, *, is_told: bool = False
) -> Estimate:
    """Return an estimate of a value with its interval. ``why``: the reason, or its name."""
    reason = Reason(why) if isinstance(why, str) else why
    return Estimate(Quantity(value, UNITS[name]), (least, most), is_told, reason)


def is_narrow(name: str, least: float, most: float) -> bool:
    """Whether an interval tells a value."""
    return 0 < least <= most <= TELLS[name] * least


def cut_of(rtt: float) -> float:
    """Return what ping may cut from an RTT, s: it prints three digits, and fping and mtr as few."""
    return next(it for least, it in _DIGITS if rtt >= least)


def proportion(count: float, of: float) -> tuple[float, float, float]:
    """Return a proportion and its interval (Wilson, Probable Inference, 1927)."""
    z, part = 1.96, count / of
    middle = (part + z**2 / (2 * of)) / (1 + z**2 / of)
    half = z / (1 + z**2 / of) * np.sqrt(max(part * (1 - part), 0) / of + (z / (2 * of)) ** 2)
    low = max(0.0, float(middle - half)) if count > 0 else 0.0  # not a rounding error
    return part, low, float(middle + half)


@dataclass(frozen=True)
class Direct:
    """A measurement by windows of time, and what follows from them."""

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
            cut = cut_of(least)
            ends.append((0.985 * least - own - 4 * mean / count - 1e-4, least + cut))
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
            return estimate("rtt", value, low, high, why if is_told else "ping_before",
                            is_told=is_told)  # fmt: skip
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
        if len(rtts) < 8 or found.cc.startswith("bbr"):
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
        return self._above_base(np.min)

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
        grains = sum(it.grain for it in found.streams) + _GRAIN
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
        if self.blur > 2 * _GRAIN:
            first, last = self._span
            parts = np.array_split(np.arange(first, last), 3)
        else:
            parts = np.array_split(np.flatnonzero(self.is_full), 4)
        seconds = np.array([np.diff(self.edges)[it].sum() for it in parts])
        if seconds.min() < 1.5:
            return False
        sizes = np.array([np.diff(self.sent)[it].sum() for it in parts])
        rates = 8 * sizes / seconds
        noise = 8 * self.blur / seconds.min() / rates.mean()
        return bool(np.ptp(rates) / rates.mean() > _CHANGES + 2.5 * noise)

    @cached_property
    def is_unsteady(self) -> bool:
        """Whether seconds of a full link differ, where bytes are counted exactly."""
        if self.blur > 2 * _GRAIN or self.is_full.sum() < 6:
            return False
        rates = self.rates[self.is_full]
        # BBR drains the queue every ten seconds.
        low, high = np.percentile(rates, [20, 80])
        return bool(high - low > _CHANGES * np.median(rates))

    @cached_property
    def rate(self) -> Estimate:
        """The link's rate, of IP packets."""
        found = self.reading
        goodput = found.goodput * self.per_packet
        if found.is_datagrams:
            return self._rate_of_datagrams()
        if found.limit != "network":
            guess = max(2 * found.highest * self.per_packet, goodput)
            why = Reason("limited", found.limit)
            return estimate("rate", guess, 0.98 * goodput, inf, why)
        full = self.is_full
        least = 0.97 * goodput
        if self.changes or self.is_unsteady:
            return estimate("rate", goodput, least, inf, "rate_changes")
        if full.sum() >= _LEAST_FULL and self._fills_windows:
            told = self._of_span() if self.blur > 2 * _GRAIN else self._of_windows(full)
            if told is not None:
                value, low, high = told
                high *= self.lost_behind
                value *= self.lost_behind if self.is_lossy else 1.0
                if is_narrow("rate", low, high):
                    return estimate("rate", value, low, high, "full_queue", is_told=True)
                if self.level is None:
                    return estimate("rate", value, low, high, "longer")
        if (level := self.level) is not None:
            value, low, high = level
            high *= self.lost_behind
            is_told = is_narrow("rate", low, high)
            name = "plateau" if is_told else "longer"
            return estimate("rate", value, low, high, name, is_told=is_told)
        top = found.highest * self.per_packet if found.least_rtt > 0 else 0.0
        return estimate("rate", max(1.05 * top, goodput), least, inf, "goodput")

    @property
    def _fills_windows(self) -> bool:
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
        if found.cc.startswith("bbr") or not found.cwnd > 0:
            return True
        return bool(found.in_flight >= _FILLED * found.cwnd)

    @cached_property
    def lost_behind(self) -> float:
        """By what the link's rate may be above what arrives: packets that are lost behind it."""
        moments = np.array([self.reading.since, self.reading.duration])
        counted = float(np.diff(self.reading.resent_by(moments))[0])
        share = counted if np.isfinite(counted) else self.reading.resent
        sent = float(np.diff(np.sum([it.bytes_by(moments) for it in self.reading.streams],
                                    axis=0))[0]) / self.reading.streams[0].mss  # fmt: skip
        if not np.isfinite(share) or not sent > 0:
            return 1.0
        return 1 + min(max(share, 0.0) / sent, 0.3)  # counts of a damaged file may fall

    @property
    def is_lossy(self) -> bool:
        """Whether most retransmissions are of random loss, as far as BBR tells it."""
        return self.loss.is_told and self.loss.interval[0] > 0

    def _rate_of_datagrams(self) -> Estimate:
        found = self.reading
        (it, *_) = found.streams
        offered = sum(it.offered for it in found.streams) * self.per_packet
        lost = it.lost
        arrived = offered * (1 - lost) if it.counted != "received" else (
            found.goodput * self.per_packet)  # fmt: skip
        if lost > _OVERLOAD and arrived > 0:
            low, high = 0.985 * arrived, 1.015 * arrived
            if it.counted != "received":  # whether it was the same all the time is not known
                return estimate("rate", arrived, 0.8 * low, inf, "receivers_seconds")
            if np.ptp(np.percentile(self.rates, [10, 90])) < _STEADY * arrived:
                return estimate("rate", arrived, low, high, "overload", is_told=True)
        known = arrived if np.isfinite(arrived) else found.goodput * self.per_packet
        return estimate("rate", 1.5 * known, 0.98 * known, inf, "not_overloaded")

    def _of_windows(self, full: NDArray[np.bool_]) -> tuple[float, float, float] | None:
        rates = self.rates[full]
        low, value, high = np.percentile(rates, [25, 50, 75]).tolist()
        # Seconds that are not full have no more.
        if (self.rates[~full] > (1 + _CHANGES) * value).sum() > 0.1 * len(self.rates):
            return None
        half = max(_AT_BEST, 1.2 * (high - low) / value / np.sqrt(len(rates)),
                   8 * self.blur / np.diff(self.edges)[full].sum() / value)  # fmt: skip
        return value, value * (1 - half), value * (1 + half)

    @cached_property
    def _span(self) -> tuple[int, int]:
        """The first and the last edge of the longest span that is full all the time."""
        spans, start = [(0, 0)], None
        for place, it in enumerate([*self.is_full.tolist(), False]):
            if it and start is None:
                start = place
            elif not it and start is not None:
                spans.append((start, place))
                start = None
        return max(spans, key=lambda it: it[1] - it[0])

    def _of_span(self) -> tuple[float, float, float] | None:
        """Return the rate of the longest span that is full all the time, of written bytes."""
        first, last = self._span
        if last == first:
            return None
        seconds = float(self.edges[last] - self.edges[first])
        value = 8 * float(self.sent[last] - self.sent[first]) / seconds * self.per_packet
        if seconds < _LEAST_FULL or not value > 0:
            return None
        # Pings beside it do not tell exactly which seconds were full.
        has_rtts = any(np.isfinite(it.rtt).any() for it in self.reading.streams)
        blur = self.blur if has_rtts else 1.5 * self.blur
        half = max(_AT_BEST, 8 * blur / seconds * self.per_packet / value)
        return value, value * (1 - half), value * (1 + half)

    @cached_property
    def level(self) -> tuple[float, float, float] | None:
        """The rate of a link that is full though no queue shows: value, least and most (bit/s).

        What arrives grows in a line, while windows were reduced or RTTs changed: that of a window
        would change with them. None: it is not so.
        """
        found = self.reading
        if self.is_written or found.is_datagrams or len(self.edges) < 7:
            return None
        after = found.rtts_after
        if len(after):
            moves = np.ptp(np.percentile(after, [5, 95])) > 0.03 * found.least_rtt
            if not moves or not self._fills_windows:
                return None
        # Flows that a window limits have no losses of a full queue.
        has_windows = any(np.isfinite(it.cwnd).any() for it in found.streams)
        if not has_windows and not found.resent > max(10, 5e-4 * found.segments):
            return None
        if self.blur > 2 * _GRAIN:
            return self._of_line()
        rates = self.rates
        spans = np.diff(self.edges)
        noise = 8 * self.blur / float(np.median(spans)) * self.per_packet
        near = np.abs(rates[:, None] - rates[None, :]) <= noise + 0.01 * rates[None, :]
        members = near[:, int(near.sum(axis=0).argmax())]
        value = float(np.sum((rates * spans)[members]) / np.sum(spans[members]))
        is_top = (rates > 1.02 * value + noise).mean() <= _ABOVE
        if members.mean() < _COMMON or not is_top or not value > 0:
            return None
        # Shorter times without packets than a window of time would not show.
        has_deliveries = len(found.streams) == 1 and len(found.streams[0].delivery) > 0
        if not has_deliveries and self._between(value) < 2.5 * float(np.median(spans)):
            return None
        half = max(1.5 * _AT_BEST, noise / value / np.sqrt(members.sum()))
        return value, value * (1 - half), value * (1 + half)

    def _of_line(self) -> tuple[float, float, float] | None:
        """Return the rate of a line on which most counts are, though these are coarse."""
        time, sent = self.edges, self.sent
        first, second = np.triu_indices(len(time), max(len(time) // 3, 1))
        slope = float(np.median((sent[second] - sent[first]) / (time[second] - time[first])))
        away = sent - slope * time
        off = np.abs(away - np.median(away))
        allowed = 1.1 * self.blur + _OFF_LINE * (sent[-1] - sent[0])
        if not slope > 0 or (off <= allowed).mean() < _ON_LINE:
            return None
        value = 8 * slope * self.per_packet
        half = max(1.5 * _AT_BEST, 1.3 * allowed / (slope * (time[-1] - time[0])))
        # After each reduction of a window, the link may stand still for less than these show.
        hidden = 8 * 2 * self.blur / self._between(value) / value
        return value, value * (1 - half), value * (1 + half + hidden)

    def _between(self, rate: float) -> float:
        """Return about how often (s) windows are reduced by a link of this rate without a queue.

        CUBIC grows as in RFC 9438, sections 4.2 and 4.3; Reno by half of its window, RFC 5681.
        """
        found = self.reading
        if found.cc.startswith("bbr"):
            return _BETWEEN
        if not self.rtt.is_told:
            return 0.1
        segments = rate * self.base / 12e3 / len(found.streams)
        reno = float(0.5 * segments * self.base)
        if found.cc == "reno":
            return min(max(reno, 0.05), 2 * _BETWEEN)
        cubic = float((0.3 * segments / 0.4) ** (1 / 3))
        return min(max(min(cubic, 0.57 * reno), 0.05), 2 * _BETWEEN)

    # ----------------------------------------------------------------------------------------- loss

    @cached_property
    def segments(self) -> Floats:
        """The segments of each window."""
        return np.diff(self.sent) / self.reading.streams[0].mss

    @cached_property
    def loss(self) -> Estimate:
        """Random loss."""
        found = self.reading
        if found.is_datagrams:
            return self._loss_of_datagrams()
        total, resent = found.segments, found.resent
        if not np.isfinite(resent):
            return estimate("loss", 0.0, 0.0, 1.0, "no_counts")
        high = proportion(resent, total + resent)[2]
        if resent <= 2:
            most = proportion(resent, total)[2]
            is_told = most <= NO_LOSS
            return estimate("loss", 0.0, 0.0, most, "retransmissions", is_told=is_told)
        if not np.isfinite(self.loads).all() or len(self.queues) < 4:
            return estimate("loss", 0.0, 0.0, high, "retransmissions_in_all")
        queues = self._highest
        if np.isfinite(queues).sum() < 4:
            return estimate("loss", 0.0, 0.0, high, "retransmissions_in_all")
        top = float(np.nanmax(queues))
        is_empty = queues <= max(self.margin, 0.3 * top if top > 2 * self.margin else 0.0)
        if top <= 2 * self.margin:
            is_empty = np.ones(len(queues), bool)
        # What was sent a round trip before shows as a retransmission now.
        is_empty = is_empty & np.concatenate([[True], is_empty[:-1]])
        counted, of = float(self.loads[is_empty].sum()), float(self.segments[is_empty].sum())
        if of >= 0.25 * self.segments.sum() and counted >= 8 and not self.is_full.mean() > 0.5:
            value, low, high = proportion(counted, of + counted)
            low, high = 0.7 * low, 1.3 * high
            is_told = is_narrow("loss", low, high) and not self._drops_alone and self.rtt.is_told
            return estimate("loss", value, low, high, "without_queue", is_told=is_told)
        # Where all losses are at a long queue, few are random: these would also be at others.
        is_low = np.nan_to_num(queues, nan=inf) < 0.75 * top
        events = self._peaks
        if len(events) >= 2 and (events >= 0.75 * top).all():
            of = max(of, float(self.segments[is_low].sum()))
            counted = 0.0
        if of > 0 and counted == 0:
            bound = min(proportion(3, max(of, 3.0))[2], high)
            return estimate("loss", 0.0, 0.0, bound, "retransmissions", is_told=bound <= NO_LOSS)
        return estimate("loss", 0.0, 0.0, high, "retransmissions_in_all")

    @property
    def _drops_alone(self) -> bool:
        """Whether a policer or a very short queue may drop what seems lost at random.

        These keep the mean rate of all seconds, which random loss does not.
        """
        rates = self.rates
        if len(rates) < 5:
            return True
        low, middle, high = np.percentile(rates, [20, 50, 80])
        noise = 2 * 8 * self.blur / np.diff(self.edges).mean() / max(middle, 1.0)
        return bool(high - low < (0.12 + noise) * middle)

    @cached_property
    def _highest(self) -> Floats:
        return self._above_base(np.max)

    def _above_base(self, pick: Callable[[Floats], float]) -> Floats:
        """What one RTT of each window is above the path's (s); NaN: it has none."""
        moments, values = self.reading.rtt_series
        found = []
        for start, end in zip(self.edges[:-1], self.edges[1:], strict=True):
            inside = values[(moments >= start - 1e-6) & (moments <= end + 1e-6)]
            found.append(float(pick(inside)) - self.base if len(inside) else np.nan)
        return np.array(found)

    def _loss_of_datagrams(self) -> Estimate:
        found = self.reading
        lost = found.streams[0].lost
        packets = found.segments
        if not np.isfinite(lost):
            return estimate("loss", 0.0, 0.0, 1.0, "no_reports")
        value, low, high = proportion(lost * packets, packets)
        if self.rate.is_told:
            return estimate("loss", 0.0, 0.0, high, "overload_drops")
        is_told = lost * packets < 3 or is_narrow("loss", low, high)
        return estimate("loss", value, 0.8 * low, 1.2 * high + 3 / packets, "datagrams_lost",
                        is_told=is_told)  # fmt: skip

    # --------------------------------------------------------------------------------------- buffer

    @cached_property
    def buffer(self) -> Estimate:
        """The time that a full queue adds."""
        found = self.reading
        none = estimate("buffer", self.base, 0.0, inf, "filling_flow")
        moments, values = found.rtt_series
        after = moments > 0.3
        if not self.rtt.is_told or not self.rate.is_told or after.sum() < 5 or found.is_datagrams:
            return none
        top = float(np.max(values[after])) - self.base
        if top <= 3 * self.margin:
            return none
        if found.cc.startswith("bbr"):
            return estimate("buffer", 2 * top, 0.9 * top, inf, "not_filled")
        peaks = self._peaks
        if len(peaks) < 2:
            return estimate("buffer", 1.1 * top, 0.95 * top, inf, "not_filled")
        service = 12e3 / self.rate.value  # its own, behind the queue
        low = 0.93 * top - service
        # Drops at lower queues are those of another discipline.
        if np.median(peaks) < 0.75 * top:
            return estimate("buffer", 1.05 * top, 0.5 * top, inf, "drops_differ")
        high = 1.12 * top
        return estimate("buffer", max(1.03 * top - service, low), low, high, "highest_rtts",
                        is_told=is_narrow("buffer", low, high))  # fmt: skip

    @cached_property
    def _peaks(self) -> Floats:
        """The queues (s) before the windows were reduced after losses."""
        found = self.reading
        peaks = []
        for it in found.streams:
            for place in range(1, len(it.time)):
                if it.time[place] <= found.since or not np.isfinite(it.rtt[place - 1]):
                    continue
                if it.retransmits[place] > it.retransmits[place - 1]:
                    peaks.append(max(it.rtt[place - 1], np.nan_to_num(it.rtt[place])) - self.base)
        return np.array(peaks)

    # ------------------------------------------------------------------------------------ the whole

    def estimates(self) -> dict[str, Estimate]:
        """Return all of it."""
        found = {name: getattr(self, name) for name in ("rtt", "rate", "buffer", "loss")}
        pings = self.reading.idle
        if pings is not None and len(pings.rtts) >= 10 and not pings.is_summary:
            away = pings.rtts - pings.rtts.min()
            half = 1.96 * float(np.std(away)) / np.sqrt(len(away))
            cut = cut_of(float(pings.rtts.min()))
            mean = float(np.mean(away))
            found["jitter"] = estimate(
                "jitter", mean, max(mean - half, 0.0), mean + half + cut, "pings", is_told=True
            )
        if (window := self.reading.window) > 0:
            why = "window_filled" if self.reading.limit == "receive_window" else "window_offered"
            found["window"] = estimate("window", window, window, window, why, is_told=True)
        return found
