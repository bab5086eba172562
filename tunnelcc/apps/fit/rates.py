# SPDX-License-Identifier: GPL-2.0-only
"""Ways to see the rate of a link in a measurement: each returns value, least and most, or None.

A link is full while a queue shows; while goodput stays though windows or RTTs change; and while
windows and RTTs grow together. BBR keeps a link full but for its probes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tunnelcc.apps.fit.windows import CHANGES, GRAIN, Floats, Windows

#: A rate, and its least and most (bit/s, of IP packets).
Told = tuple[float, float, float]

# What has no source below was chosen so that all intervals hold on the first 120 of the known paths
# (tests/validation/data/paths); the others were measured after it.
# So many full windows of time tell a rate.
_LEAST_FULL = 4
# The rate is told at best to within this part: queues empty between samples.
_AT_BEST = 0.008
# This part of all windows has the rate of a full link, and at most another is above it.
_COMMON, _ABOVE = 0.6, 0.1
# BBR's windows are reduced so often (s), half of the time between its probes of the RTT.
_BETWEEN = 5.0
# BBR probes the RTT so often and so long (s), besides an RTT
# (draft-cardwell-iccrg-bbr-congestion-control-00, section 4.3.5), and has at most this much less or
# more than the rest of the link's rate.
_PROBES, _PROBE, _BBR = 10.0, 0.2, (0.015, 0.005)
# Of a window that loss halves, this part is missing on average until it is as large again.
_MISSING = 0.25
# Windows that fill a link, over RTTs, differ by less than this. So many samples tell its rate, if
# they are this part of all, their RTTs differ by this part, and few are above them. Windows grew by
# at most a segment since the packets were sent whose RTTs are told.
_LITTLE, _LEAST_SAMPLES, _PART_OF_SAMPLES, _SWING, _FEW = 0.025, 6, 0.33, 0.15, 0.2
_LITTLE_AT_BEST, _GROWN = 0.015, 0.6
# This part of the moments is on the line of a constant rate, but for this part of all bytes.
_ON_LINE, _OFF_LINE = 0.85, 0.003


def full_queue(seen: Windows) -> Told | None:
    """Return the rate of the time in which a queue shows: value, least and most (bit/s)."""
    if seen.is_full.sum() < _LEAST_FULL or not seen.fills_windows:
        return None
    chosen = seen.is_full
    if seen.blur > 2 * GRAIN:
        told = _of_span(seen)
        places = np.arange(len(chosen))
        chosen = (places >= seen.span[0]) & (places < seen.span[1])
    else:
        told = _of_windows(seen, chosen)
    if told is None:
        return None
    value, low, high = told
    return value, low, high * seen.lost_behind(chosen)


def _of_span(seen: Windows) -> Told | None:
    """Return the rate of the longest span that is full all the time, of written bytes."""
    first, last = seen.span
    if last == first:
        return None
    seconds = float(seen.edges[last] - seen.edges[first])
    value = 8 * float(seen.sent[last] - seen.sent[first]) / seconds * seen.per_packet
    if seconds < _LEAST_FULL or not value > 0:
        return None
    # Pings beside it do not tell exactly which seconds were full.
    has_rtts = any(np.isfinite(it.rtt).any() for it in seen.reading.streams)
    blur = seen.blur if has_rtts else 1.5 * seen.blur
    half = max(_AT_BEST, 8 * blur / seconds * seen.per_packet / value)
    return value, value * (1 - half), value * (1 + half)


def _of_windows(seen: Windows, full: NDArray[np.bool_]) -> Told | None:
    rates = seen.rates[full]
    low, value, high = np.percentile(rates, [25, 50, 75]).tolist()
    # Seconds that are not full have no more.
    if (seen.rates[~full] > (1 + CHANGES) * value).sum() > 0.1 * len(seen.rates):
        return None
    half = max(_AT_BEST, 1.2 * (high - low) / value / np.sqrt(len(rates)),
               8 * seen.blur / np.diff(seen.edges)[full].sum() / value)  # fmt: skip
    return value, value * (1 - half), value * (1 + half)


def plateau(seen: Windows) -> Told | None:
    """The rate of a link that is full though no queue shows: value, least and most (bit/s).

    What arrives grows in a line, while windows were reduced or RTTs changed: that of a window
    would change with them. None: it is not so.
    """
    found = seen.reading
    if seen.is_written or found.is_datagrams or len(seen.edges) < 7:
        return None
    after = found.rtts_after
    if len(after):
        moves = np.ptp(np.percentile(after, [5, 95])) > 0.03 * found.least_rtt
        if not moves or not seen.fills_windows:
            return None
    # Flows that a window limits have no losses of a full queue.
    has_windows = any(np.isfinite(it.cwnd).any() for it in found.streams) or len(after)
    if not has_windows and not found.resent > max(10, 5e-4 * found.segments):
        return None
    lines = [_of_most(seen), _of_line(seen) if seen.blur > 2 * GRAIN else None]
    value, low, high = min(
        (it for it in lines if it is not None), key=lambda it: it[2] / it[1],
        default=(0.0, 0.0, 0.0),
    )  # fmt: skip
    return (value, low, high * seen.lost_behind()) if value > 0 else None


def _of_most(seen: Windows) -> Told | None:
    """Return the rate that most windows of time have."""
    found = seen.reading
    rates = seen.rates
    spans = np.diff(seen.edges)
    middle = float(np.median(spans))
    grains = sum(it.grain for it in found.streams) + GRAIN
    noise = 8 * grains / middle * seen.per_packet
    members = _largest_group(rates, noise + 0.01 * rates)
    value = float(np.sum((rates * spans)[members]) / np.sum(spans[members]))
    # What is behind a hole is read when that is filled.
    above = 2 * _ABOVE if seen.blur > 2 * GRAIN else _ABOVE
    is_top = (rates > 1.02 * value + noise).mean() <= above
    if members.mean() < _COMMON or not is_top or not value > 0:
        return None
    # Shorter times without packets than a window of time would not show.
    has_deliveries = len(found.streams) == 1 and len(found.streams[0].delivery) > 0
    hidden = 0.0
    if not has_deliveries and (time := _between(seen, value)) < 2.5 * middle:
        hidden = _MISSING * time * found.resent / (found.duration - found.since)
    half = max(1.5 * _AT_BEST, noise / value / np.sqrt(members.sum()))
    return value, value * (1 - half), value * (1 + half + hidden)


def _largest_group(values: Floats, within: Floats) -> NDArray[np.bool_]:
    """Return which values are so near to one of them, the one that has most of them around it."""
    near = np.abs(values[:, None] - values[None, :]) <= within[None, :]
    found: NDArray[np.bool_] = near[:, int(near.sum(axis=0).argmax())]
    return found


def _of_line(seen: Windows) -> Told | None:
    """Return the rate of a line on which most counts are, though these are coarse."""
    time, sent = seen.edges, seen.sent
    first, second = np.triu_indices(len(time), max(len(time) // 3, 1))
    slope = float(np.median((sent[second] - sent[first]) / (time[second] - time[first])))
    away = sent - slope * time
    off = np.abs(away - np.median(away))
    allowed = 1.1 * seen.blur + _OFF_LINE * (sent[-1] - sent[0])
    if not slope > 0 or (off <= allowed).mean() < _ON_LINE:
        return None
    value = 8 * slope * seen.per_packet
    half = max(1.5 * _AT_BEST, 1.3 * allowed / (slope * (time[-1] - time[0])))
    # After each reduction of a window, the link may stand still for less than these show.
    hidden = 8 * 2 * seen.blur / _between(seen, value) / value
    return value, value * (1 - half), value * (1 + half + hidden)


def _between(seen: Windows, rate: float) -> float:
    """Return about how often (s) windows are reduced by a link of this rate without a queue.

    CUBIC grows as in RFC 9438, sections 4.2 and 4.3; Reno by half of its window, RFC 5681.
    """
    found = seen.reading
    if found.has_bbr:
        return _BETWEEN
    if not found.least_rtt > 0:
        return 0.1
    segments = rate * seen.base / 12e3 / len(found.streams)
    reno = float(0.5 * segments * seen.base)
    cubic = float((0.3 * segments / 0.4) ** (1 / 3))
    time = reno if found.congestion == ("reno",) else min(cubic, 0.57 * reno)
    return min(max(time, 2 * seen.base), 2 * _BETWEEN)


def windows_and_rtts(seen: Windows) -> Told | None:
    """Return the rate by Little's law: what is in flight, over the RTT.

    Where a queue varies, RTTs grow with the windows, and their ratio is the link's rate; where
    there is none, the RTT stays while the windows change.
    """
    found, (first, *_) = seen.reading, seen.reading.streams
    if found.has_bbr or not seen.fills_windows:
        return None
    if any(len(it.time) != len(first.time) for it in found.streams):
        return None
    is_after = first.time > found.since
    sizes = [it.mss * (it.cwnd - 1) for it in found.streams]
    ratios = np.sum([8 * size / it.rtt for size, it in zip(sizes, found.streams, strict=True)],
                    axis=0)[is_after] * seen.per_packet  # fmt: skip
    rtts = np.mean([it.rtt for it in found.streams], axis=0)[is_after]
    cwnds = np.mean([it.cwnd for it in found.streams], axis=0)[is_after]
    known = np.isfinite(ratios)
    ratios, rtts, cwnds = ratios[known], rtts[known], cwnds[known]
    if len(ratios) < _LEAST_SAMPLES:
        return None
    members = _largest_group(ratios, _LITTLE * ratios)
    value = float(np.median(ratios[members]))
    low, high = np.percentile(rtts[members], [5, 95])
    if members.sum() < _LEAST_SAMPLES or members.mean() < _PART_OF_SAMPLES:
        return None
    if high < (1 + _SWING) * low or (ratios > (1 + 1.6 * _LITTLE) * value).mean() > _FEW:
        return None
    half = max(_LITTLE_AT_BEST, _GROWN / float(np.median(cwnds[members])))
    # What is in flight is what the link carries, and what is lost before it or behind it.
    resent = np.sum([it.retransmits for it in found.streams], axis=0)
    times = first.time[is_after][known][members]
    lost = float(np.median(np.diff(np.interp(times, first.time, resent)) / np.diff(times)))
    lost *= 8 * first.mss / value if lost > 0 else 0.0  # of all packets
    least = max(value * (1 - half) * (1 - lost), 0.97 * found.goodput * seen.per_packet)
    return max(value, least), least, value * (1 + half)


def bbr(seen: Windows) -> Told | None:
    """Return the rate by BBR's goodput, which is that of the link but for its probes."""
    found = seen.reading
    rtt = seen.base if found.least_rtt > 0 else found.mean_rtt
    if not found.is_bbr or not np.isfinite(rtt):
        return None
    goodput = found.goodput * seen.per_packet
    if seen.changes_over(np.arange(len(seen.rates))):
        return None
    blur = 8 * seen.blur / (found.duration - found.since) / goodput
    filled = 1 - min((_PROBE + rtt) / _PROBES, 0.5)
    low, high = 1 - _BBR[1] - blur, (1 + _BBR[0]) / filled + blur
    return goodput, goodput * low, goodput * high * seen.lost_behind()


#: Reasons of ``words.fits.REASONS`` → what tells the rate for them, the surest first.
WAYS: dict[str, Callable[[Windows], Told | None]] = {
    "full_queue": full_queue,
    "plateau": plateau,
    "windows_and_rtts": windows_and_rtts,
    "bbr": bbr,
}
