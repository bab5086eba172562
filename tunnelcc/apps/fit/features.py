# SPDX-License-Identifier: GPL-2.0-only
"""Numbers that describe flows, of measurements and of simulations alike."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunnelcc.apps.fit.reading import Reading
from tunnelcc.formats.measurement import Measurement, Stream

#: The source of a run that is told as a measurement.
SIMULATED = "simulated"
# Where nothing was retransmitted.
_NONE = 0.5
# A congestion window below this part of that of the sample before was reduced.
_REDUCED = 0.85


def features(measured: Measurement, since: float, reading: Reading) -> NDArray[np.float64]:
    """Return goodput, RTTs, windows and retransmissions at the start and later, mostly as logs.

    Also how often windows were reduced, and at which part of the highest RTT: near 1 each time by
    drops of a full queue, anywhere by random loss.

    ``since``: the end of the start (s). NaN: the measurement does not have it. What an application
    writes tells no more of rates than their mean.
    """
    is_written = any(it.counted == "written" for it in reading.streams)
    mean = measured.mean_goodput(since)
    if measured.source != SIMULATED:
        mean = reading.goodput_until(float(measured.time[-1]))
    time = measured.time
    later = time > since
    rates = np.maximum(measured.goodput, 1.0)
    rtts = np.concatenate([it.rtt[it.time > since] for it in measured.streams])
    first = np.concatenate([it.rtt[it.time <= since] for it in measured.streams])
    cwnds = np.concatenate([it.cwnd[it.time > since] for it in measured.streams])
    early = sum(float(np.interp(since, it.time, it.retransmits)) for it in measured.streams)
    total = sum(float(it.retransmits[-1]) for it in measured.streams)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NaN where nothing is known
        low, middle, high = np.nanpercentile(rtts, [5, 50, 95])
        highest = np.nanmax(np.concatenate([rtts, first, [np.nan]]))
        peaks = np.concatenate([_before_reductions(it, since) for it in measured.streams]) / highest
        return np.array([
            np.log(mean),
            np.nan if is_written else np.log(np.percentile(rates[later], 95)),
            np.nan if is_written else np.log(np.percentile(rates[later], 10)),
            np.log(np.mean(rates[~later])) if (~later).any() and not is_written else np.nan,
            np.log(np.nanmin(np.concatenate([rtts, first]))),
            np.log(np.nanmean(rtts)),
            np.log(low),
            np.log(middle),
            np.log(high),
            np.log(highest),
            np.log(np.nanmean(cwnds)),
            np.log(np.nanpercentile(cwnds, 95)),
            np.log(_NONE + max(early, 0.0)),
            np.log(_NONE + max(total - early, 0.0)),
            np.log(_NONE + peaks.size),
            np.mean(peaks) if peaks.size else 1.0,
            np.std(peaks) if peaks.size else 0.0,
        ])  # fmt: skip


def _before_reductions(it: Stream, since: float) -> NDArray[np.float64]:
    """Return the RTTs (s) of the samples before the window was reduced, after the start."""
    is_before = (it.cwnd[1:] < _REDUCED * it.cwnd[:-1]) & (it.time[:-1] > since)
    rtts = it.rtt[:-1][is_before]
    return rtts[np.isfinite(rtts)]


def as_measured(result: Any, reading: Reading) -> Measurement:
    """Return a run as if it had been measured at the moments at which the measurement was."""
    streams = []
    ours = [result.sender_leg(flow) for flow in range(len(result.flows))]
    step = result.experiment.probe_interval
    moments = result["time"]
    for number, (leg, theirs) in enumerate(zip(ours, reading.streams, strict=True)):
        time = theirs.time[theirs.time <= reading.duration]
        last = np.clip(np.searchsorted(moments, time + 1e-9, side="right") - 1, 0, None)
        sent = np.cumsum(result.flows[number].goodput_series) * step
        srtt = np.array(leg.srtt)[last]
        retransmits = np.array(leg.retransmits_series)[last]
        known = np.isfinite(theirs.retransmits[: len(time)])
        streams.append(
            Stream(
                theirs.name, time, np.diff(sent[last], prepend=0.0) / np.diff(time, prepend=0.0),
                np.where(srtt > 0, srtt, np.nan), np.array(leg.cwnd, dtype=float)[last],
                np.where(known, retransmits, np.nan),
            )
        )  # fmt: skip
    return Measurement(SIMULATED, streams)
