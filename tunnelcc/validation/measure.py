# SPDX-License-Identifier: GPL-2.0-only
"""What checks need of a run, measured as the Linux reference was.

Goodput and RTT leave out the first three seconds of a flow; the RTT's statistics are those of
samples each 100 ms; retransmissions are counted from the start; queueing delay includes the
packet's own serialization and leaves out the warm-up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tunnelcc import metrics
from tunnelcc.config.derived import flows
from tunnelcc.simulation.result import Result

#: Start-up that the reference's steady columns leave out, s.
START_UP = 3.0

Series = NDArray[np.float64]


@dataclass(frozen=True)
class FlowSeries:
    """Samples of a flow; Mbit/s, ms, segments."""

    time: Series
    goodput: Series
    srtt: Series
    cwnd: Series
    pacing: Series


@dataclass(frozen=True)
class FlowMeasurement:
    """One flow: Mbit/s, ms; the retransmission ratio's parts are counts of the whole run."""

    cc: str
    start: float
    goodput: float
    retransmits: float
    segments: int
    rtt_mean: float
    rtt_p95: float
    series: FlowSeries


@dataclass(frozen=True)
class Measurement:
    """One run: its flows, queueing delay with serialization (ms), loss counted on the path."""

    flows: tuple[FlowMeasurement, ...]
    queue_ms: float
    queue_series: Series  # ms
    duration: float

    @property
    def goodput(self) -> float:
        """Of all flows, Mbit/s."""
        return metrics.total([flow.goodput for flow in self.flows])

    @property
    def retransmission_ratio(self) -> float:
        """Of all flows together, in percent of the data segments sent."""
        retransmits = metrics.total([flow.retransmits for flow in self.flows])
        segments = sum(flow.segments for flow in self.flows)
        return 100 * metrics.retransmission_ratio(retransmits, segments)


def measure(result: Result) -> Measurement:
    """Return the measurement of a finished run."""
    raw, experiment = result.raw, result.experiment
    service = 8 * (experiment.tcp.mss + experiment.tcp.header_bytes) / experiment.path.rate
    starts = [start for _, start in flows(experiment)]
    return Measurement(
        flows=tuple(_flow(result, index, start) for index, start in enumerate(starts)),
        queue_ms=(raw.forward.queue_delay_mean + service) * 1e3,
        queue_series=8e3 * np.asarray(raw.forward.queue_bytes) / experiment.path.rate,
        duration=experiment.duration,
    )


def _flow(result: Result, index: int, start: float) -> FlowMeasurement:
    leg, time = result.path_leg(result.legs[index]), np.asarray(result.raw.time)
    since = max(result.experiment.warmup, start + START_UP)
    goodput = np.asarray(result.raw.flows[index].goodput) / 1e6
    rtts = metrics.valid(leg.srtt, time, since)
    return FlowMeasurement(
        cc=leg.cc,
        start=start,
        goodput=metrics.mean(goodput[time > since + result.experiment.probe_interval / 2]),
        retransmits=float(leg.retransmits_series[-1]),
        segments=leg.segments,
        rtt_mean=metrics.mean(rtts) * 1e3,
        rtt_p95=metrics.percentile(rtts, 95) * 1e3,
        series=FlowSeries(
            time,
            goodput,
            np.asarray(leg.srtt) * 1e3,
            np.asarray(leg.cwnd),
            np.asarray(leg.pacing_rate) / 1e6,
        ),
    )
