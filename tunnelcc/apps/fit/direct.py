# SPDX-License-Identifier: GPL-2.0-only
"""What a measurement tells of its path without a simulation, each value with an interval.

A link is full while RTTs are above that of the path: then what arrives is its rate. Losses while it
is not full are random; those at the highest RTTs are of a full queue, whose size they tell.
"""

from __future__ import annotations

from functools import cached_property
from math import inf

import numpy as np

from tunnelcc.analysis.values import Estimate, Reason
from tunnelcc.apps.fit import rates
from tunnelcc.apps.fit.windows import Floats, Windows, cut_of, estimate, is_narrow

#: Random loss that is surely less than this is told as none.
NO_LOSS = 5e-4

# Datagrams of which more are lost are more than the link carries, if what arrives is this steady.
_OVERLOAD, _STEADY = 0.08, 0.02


def proportion(count: float, of: float) -> tuple[float, float, float]:
    """Return a proportion and its interval (Wilson, Probable Inference, 1927)."""
    z, part = 1.96, count / of
    middle = (part + z**2 / (2 * of)) / (1 + z**2 / of)
    half = z / (1 + z**2 / of) * np.sqrt(max(part * (1 - part), 0) / of + (z / (2 * of)) ** 2)
    low = max(0.0, float(middle - half)) if count > 0 else 0.0  # not a rounding error
    return part, low, float(middle + half)


class Direct(Windows):
    """What follows from the windows of time of a measurement."""

    # ----------------------------------------------------------------------------------------- rate

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
        least = 0.97 * goodput
        if self.changes or self.is_unsteady:
            return estimate("rate", goodput, least, inf, "rate_changes")
        wide = None
        for name, tells in rates.WAYS.items():
            if (told := tells(self)) is None:
                continue
            value, low, high = told
            if name == "full_queue" and self._is_lossy:
                value = min(value * self.lost_behind(), high)
            if is_narrow("rate", low, high):
                return estimate("rate", value, low, high, name, is_told=True)
            wide = wide or told
        if wide is not None:
            value, low, high = wide
            return estimate("rate", value, min(max(low, least), value), high, "longer")
        top = found.highest * self.per_packet if found.least_rtt > 0 else 0.0
        return estimate("rate", max(1.05 * top, goodput), least, inf, "goodput")

    @property
    def _is_lossy(self) -> bool:
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

    # ----------------------------------------------------------------------------------------- loss

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
        return self.above_base(np.max)

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
        if found.has_bbr:
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
            cut = cut_of(pings.rtts)
            mean = float(np.mean(away))
            found["jitter"] = estimate(
                "jitter", mean, max(mean - half, 0.0), mean + half + cut, "pings", is_told=True
            )
        if (window := self.reading.window) > 0:
            why = "window_filled" if self.reading.limit == "receive_window" else "window_offered"
            found["window"] = estimate("window", window, window, window, why, is_told=True)
        return found
