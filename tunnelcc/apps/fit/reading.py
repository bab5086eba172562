# SPDX-License-Identifier: GPL-2.0-only
"""A measurement in order: its flows, which pings were beside them, and what limited the flows."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tunnelcc.errors import ConfigError, Problem
from tunnelcc.formats.measurement import LONGEST, Measurement, Pings, Stream

# The start of a flow, which steady values leave out: this time (s), or this part of short ones.
_START, _PART = 3.0, 0.3
# Pings tell jitter if there are so many, and it is more than this (a part of the RTT; s).
_LEAST_PINGS, _JITTERS, _LEAST_JITTER = 10, 0.01, 5e-4
# Flows that start after this are late (s).
_LATE = 0.5
# Flows that start later than the first by more than this (s) have times of their own.
_LATER = 0.2
# What a path can have: files of strangers may tell anything.
RTTS, RATES = (1e-6, 60.0), (1e3, 1e11)
#: Header of IP and TCP with timestamps, bytes: path.rate is of IP packets.
HEADER = 52
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
    path and congestion control decide. ``is_assumed``: nothing tells the congestion control, and
    streams have the one that is assumed.
    ``idle``, ``loaded``: pings without and beside the flows. ``remarks``: names of what does not
    fit together, of ``words.fits.REMARKS``.
    """

    measured: Measurement
    duration: float
    since: float
    is_assumed: bool = False
    idle: Pings | None = None
    loaded: Pings | None = None
    remarks: tuple[str, ...] = ()
    limit: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "limit", self._limit())

    @property
    def streams(self) -> list[Stream]:
        """The connections."""
        return self.measured.streams

    @property
    def is_datagrams(self) -> bool:
        """Whether the flows are of UDP."""
        return self.streams[0].is_datagrams

    @cached_property
    def congestion(self) -> tuple[str, ...]:
        """The congestion controls of the flows, each once."""
        return tuple(dict.fromkeys(it.congestion for it in self.streams))

    @property
    def has_bbr(self) -> bool:
        """Whether any flow is BBR's: its windows, and what it does about losses, are others'."""
        return any(it.startswith("bbr") for it in self.congestion)

    @property
    def is_bbr(self) -> bool:
        """Whether all flows are BBR's."""
        return all(it.startswith("bbr") for it in self.congestion)

    @cached_property
    def groups(self) -> Counter[tuple[float, str]]:
        """When flows start (s), with which congestion control → how many, in the streams' order."""
        return Counter(map(_group, self.streams))

    @cached_property
    def buffered(self) -> float:
        """What the senders' buffers held at the end, bytes, where files count what was written."""
        written = [it for it in self.streams if it.counted == "written"]
        held = 0.0
        for it in written:
            total = float(it.bytes_by(np.array([it.time[-1]]))[0])
            if np.isfinite(it.arrived):
                held += max(total - it.arrived, 0.0)
            else:
                known = it.cwnd[np.isfinite(it.cwnd)]
                window = float(known.max()) * it.mss if known.size else 0.1 * total
                held += min(2.5 * window, total)
        return held

    @cached_property
    def goodput(self) -> float:
        """The mean after the start."""
        if any(it.counted == "written" for it in self.streams) and not self.is_datagrams:
            end = float(self.measured.time[-1])
            ends = np.array([self.since, end])
            total = sum(float(np.diff(it.bytes_by(ends))[0]) for it in self.streams)
            # The buffer that is full at the end was filled for the most part before.
            known = 8 * (total - 0.25 * self.buffered) / (end - self.since)
            return max(known, 0.5 * self.measured.mean_goodput(self.since))
        return self.measured.mean_goodput(self.since)

    @cached_property
    def highest(self) -> float:
        """The goodput that one sample in twenty passes, after the start."""
        rates = self.measured.goodput[self.measured.time > self.since]
        return float(np.percentile(rates, 95)) if rates.size else self.goodput

    @cached_property
    def raw_rtt(self) -> float:
        """The least RTT of single samples that connections know; NaN if they know none."""
        known = [it.min_rtt for it in self.streams if it.min_rtt > 0]
        return float(min(known)) if known else float("nan")

    @cached_property
    def has_raw_rtt(self) -> bool:
        """Whether the least RTT is of single samples, and not only of smoothed ones."""
        return self.idle is not None or self.raw_rtt > 0

    @cached_property
    def jitter(self) -> float:
        """The standard deviation of idle pings, s; NaN: not known."""
        if self.idle is None or self.idle.is_summary or len(self.idle.rtts) < 5:
            return float("nan")
        low, high = np.percentile(self.idle.rtts, [10, 90])
        return float(high - low) / 2.5

    @cached_property
    def extra_delay(self) -> float:
        """The mean of idle pings above the least (s), where it is more than what hosts add."""
        if self.idle is None or self.idle.is_summary or len(self.idle.rtts) < _LEAST_PINGS:
            return 0.0
        least = float(self.idle.rtts.min())
        mean = float(self.idle.rtts.mean()) - least
        return mean if mean > max(_JITTERS * least, _LEAST_JITTER) else 0.0

    @cached_property
    def rtt_series(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Times (s) and RTTs beside the flows: their own, or else of pings at known times."""
        pairs = [(it.time[np.isfinite(it.rtt)], it.rtt[np.isfinite(it.rtt)]) for it in self.streams]
        pairs = [it for it in pairs if len(it[0])]
        if pairs:
            time = np.concatenate([it[0] for it in pairs])
            rtts = np.concatenate([it[1] for it in pairs])
        elif self.loaded is not None and len(self.loaded.times) == len(self.loaded.rtts):
            time = self.loaded.times - self.measured.epoch
            rtts = self.loaded.rtts
        else:
            return np.empty(0), np.empty(0)
        order = np.argsort(time, kind="stable")
        return time[order], rtts[order]

    @cached_property
    def rtts_after(self) -> NDArray[np.float64]:
        """The RTTs beside the flows after the start, s."""
        time, rtts = self.rtt_series
        return rtts[(time > self.since) & (time <= self.duration + 0.5)]

    @property
    def arrived(self) -> float:
        """What arrived of datagrams, bit/s; NaN: not known."""
        if all(it.counted == "received" for it in self.streams):
            return self.goodput
        return float(sum(it.offered * (1 - it.lost) for it in self.streams))

    def rtts_until(self, end: float) -> NDArray[np.float64]:
        """The RTTs beside the flows between the start and a time (s)."""
        time, rtts = self.rtt_series
        return rtts[(time > self.since) & (time <= end + 1e-6)]

    def goodput_until(self, end: float) -> float:
        """The mean goodput between the start and a time (s)."""
        if end >= self.duration - 1e-6:
            return self.goodput
        ends = np.array([self.since, end])
        total = sum(float(np.diff(it.bytes_by(ends))[0]) for it in self.streams)
        return 8 * total / (end - self.since)

    @cached_property
    def least_rtt(self) -> float:
        """The least RTT of all that the files have; NaN if they have none."""
        values = [value for it in self.streams for value in (it.min_rtt, *it.rtt)]
        for pings in (self.idle, self.loaded):
            if pings is not None:
                values += [*pings.rtts]
        known = [value for value in values if value > 0]
        return float(min(known)) if known else float("nan")

    @cached_property
    def mean_rtt(self) -> float:
        """The mean of the smoothed RTTs after the start; else of pings beside the flows."""
        after = self.rtts_after
        if len(after):
            return float(np.mean(after))
        if self.loaded is not None:
            return float(self.loaded.rtts[1] if self.loaded.is_summary else self.loaded.rtts.mean())
        return float("nan")

    def resent_by(self, moments: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return all retransmissions until each of the moments (s); NaN: they are not counted."""
        parts = [
            np.interp(moments, np.concatenate([[it.start], it.time]),
                      np.concatenate([[0.0], it.retransmits]))
            for it in self.streams
        ]  # fmt: skip
        found: NDArray[np.float64] = np.sum(parts, axis=0)
        return found

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
        offered = sum(it.offered for it in self.streams)
        if self.is_datagrams and offered > 0:
            total = offered * (self.streams[0].time[-1] - self.streams[0].start) / 8
        return max(total / self.streams[0].mss, 1.0)

    @cached_property
    def resent(self) -> float:
        """The retransmissions of all flows; NaN if the files do not count them."""
        told = float(sum(it.resent_in_all for it in self.streams))
        counters = self.measured.counters
        if not np.isfinite(told) and counters.get("TcpOutSegs", 0) > 0:
            # nstat counts all connections of the host.
            part = counters.get("TcpRetransSegs", 0.0) / counters["TcpOutSegs"]
            return min(part, 1.0) * self.segments
        return told

    @cached_property
    def has_queue(self) -> bool:
        """Whether RTTs tell of a queue."""
        queue = self.mean_rtt - self.least_rtt
        return bool(queue > max(_QUEUE * self.least_rtt, _LEAST_QUEUE))

    def _limit(self) -> str:
        waits = {
            name: float(np.mean([it.waits.get(name, 0.0) for it in self.streams]))
            for name in ("receive_window", "send_buffer")
        }
        for name, share in waits.items():
            if share > _WAITED and not self.has_queue:
                return name
        if self.has_queue or self.is_datagrams or not np.isfinite(self.in_flight):
            return "network"
        if any(it.counted == "mean" for it in self.streams):
            return "network"
        if self.in_flight >= _FULL * self.window and not self.cwnd < self.window:
            return "receive_window"
        # Where the congestion window is not known, nor the receiver's, nothing tells.
        # BBR's congestion window is twice what it has in flight, or more under loss.
        part = _PACED_FULL if self.has_bbr else _HALF_FULL
        if self.in_flight < part * np.fmin(self.cwnd, self.window):
            return "send_buffer" if waits["send_buffer"] > 0.1 else "application"
        return "network"


def reading(measured: Measurement, congestion: str | None = None) -> Reading:
    """Return what a measurement tells by itself. ``congestion``: if its files do not tell.

    Raises ConfigError if it has no flow, or what no path has.
    """
    streams = [it for it in map(_in_order, measured.streams) if len(it.time) > 1]
    if not streams:
        expected = "a file with a flow: iperf3's JSON, a log of ss, a capture, or a flent file"
        raise ConfigError(Problem("fit", measured.source, expected))
    begin = min(it.start for it in streams)
    if begin > _LATE:  # flent's flows start after 5 s
        streams = [replace(it, time=it.time - begin, start=it.start - begin) for it in streams]
        measured = replace(measured, epoch=measured.epoch + begin)
    measured = replace(measured, streams=streams)
    end = float(measured.time[-1])
    if not end <= LONGEST:
        raise ConfigError(Problem("fit", measured.source, "a measurement of at most a day"))
    since = _START if end >= 2 * _START else _PART * end
    # A flow of which a file does not tell has what the others have.
    known = congestion or next((it.congestion for it in streams if it.congestion), "")
    ccs = [congestion or it.congestion or known or "cubic" for it in streams]
    streams = [replace(it, congestion=cc) for it, cc in zip(streams, ccs, strict=True)]
    # Simulations have their flows in the same order.
    measured = replace(measured, streams=sorted(streams, key=_group))
    idle, loaded, remarks = _pings(measured, end)
    found = Reading(measured, end, since, not known, idle, loaded, remarks)
    if not found.goodput > 0:
        raise ConfigError(Problem("fit", measured.source, "a flow that sends"))
    rtts = [it for it in (found.least_rtt, found.mean_rtt) if np.isfinite(it)]
    is_path = not rtts or (RTTS[0] <= min(rtts) and max(rtts) <= RTTS[1])
    offered = [it.offered for it in streams if np.isfinite(it.offered)]
    rates = sorted((found.goodput, found.highest, *offered))
    if not (is_path and RATES[0] <= rates[0] and rates[-1] <= RATES[1]):
        expected = "RTTs from 1 µs to 60 s, and rates of flows from 1 kbit/s to 100 Gbit/s"
        raise ConfigError(Problem("fit", measured.source, expected))
    return found


def _group(it: Stream) -> tuple[float, str]:
    """Return what flows of an entry of a scenario have in common: start (s), congestion control."""
    return (round(it.start, 1) if it.start > _LATER else 0.0), it.congestion


def _pings(measured: Measurement, end: float) -> tuple[Pings | None, Pings | None, tuple[str, ...]]:
    """Return pings without and beside the flows, and what does not fit together.

    Times tell it where both files have them; else the RTTs of the flows, which no idle ping passes
    by much.
    """
    idle: list[Pings] = []
    loaded: list[Pings] = []
    remarks = []
    rtts = [it.rtt[np.isfinite(it.rtt)] for it in measured.streams]
    known = np.concatenate([*rtts, np.empty(0)])
    raw = min((it.min_rtt for it in measured.streams if it.min_rtt > 0), default=np.nan)
    everything = np.append(known, raw)
    least = float(np.nanmin(everything)) if np.isfinite(everything).any() else np.nan
    for group in measured.pings_in_all():
        if len(group.times) == len(group.rtts) and np.isfinite(measured.epoch):
            # When each was answered, to within the uncertainty of the flows' own time.
            at = group.times - measured.epoch
            blur = measured.blur + 0.2
            is_before = at < -group.rtts
            is_after = at > end + blur + 2 + 3 * group.rtts
            is_beside = (at > blur + group.rtts) & (at < end - 0.1)
            if (is_before | is_after | is_beside).any():
                quiet = is_before | is_after
                if quiet.sum() >= 2:
                    idle.append(_some(group, quiet, is_loaded=False))
                if is_beside.sum() >= 2:
                    loaded.append(_some(group, is_beside, is_loaded=True))
                continue
        if group.is_loaded is not None:
            (loaded if group.is_loaded else idle).append(group)
            continue
        first = float(group.rtts.min())
        if first > 1.25 * least + 2e-3:
            # No ping of this path is above the least RTT of the flows, unless they were beside it.
            is_like_flows = known.size and first <= 1.05 * known.max() and (
                np.ptp(group.rtts) > 0.1 * first)  # fmt: skip
            if is_like_flows:
                loaded.append(group)
            else:
                remarks.append("other_pings")
            continue
        middle = float(group.rtts[1] if group.is_summary else np.median(group.rtts))
        wide = middle > 1.25 * first + 3e-3
        if raw > 0 and first < 0.8 * raw - 1e-3:
            remarks.append("other_pings")
        elif wide and not group.is_summary:
            (loaded if known.size or middle > 1.5 * first else idle).append(group)
        elif wide:
            loaded.append(group)
        else:
            idle.append(group)
    return _together(idle, is_loaded=False), _together(loaded, is_loaded=True), tuple(remarks)


def _some(group: Pings, chosen: NDArray[np.bool_], *, is_loaded: bool) -> Pings:
    rtts = group.rtts[chosen]
    return Pings(rtts, len(rtts), group.times[chosen], is_loaded=is_loaded)


def _together(groups: list[Pings], *, is_loaded: bool) -> Pings | None:
    if not groups:
        return None
    single = [it for it in groups if not it.is_summary] or groups[:1]
    rtts = np.concatenate([it.rtts for it in single])
    times = np.concatenate([it.times for it in single])
    return Pings(
        rtts, sum(it.sent for it in single), times if len(times) == len(rtts) else np.empty(0),
        is_summary=single[0].is_summary, is_loaded=is_loaded,
    )  # fmt: skip


def _in_order(it: Stream) -> Stream:
    """Return a stream whose times increase, and are after the start."""
    kept = it.time > np.maximum.accumulate(np.concatenate([[0.0], it.time[:-1]]))
    arrays = {
        name: getattr(it, name)[kept]
        for name in ("time", "goodput", "rtt", "cwnd", "retransmits", "window", "delivery")
        if len(getattr(it, name)) == len(kept)
    }
    first = arrays["time"][0] if len(arrays["time"]) else 0.0
    return replace(it, start=float(min(max(it.start, 0.0), first)), **arrays)


def _mean(parts: list[NDArray[np.float64]]) -> float:
    return _of(parts, np.nanmean)


def _median(parts: list[NDArray[np.float64]]) -> float:
    return _of(parts, np.nanmedian)


def _of(parts: list[NDArray[np.float64]], function: object) -> float:
    values = np.concatenate([*parts, np.empty(0)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nothing is known
        return float(function(values))  # type: ignore[operator]
