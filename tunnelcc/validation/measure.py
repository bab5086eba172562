# SPDX-License-Identifier: GPL-2.0-only
"""What checks need of a run, measured as the Linux reference was.

Goodput and RTT leave out the first three seconds of a flow; the RTT's statistics are those of
samples each 100 ms; retransmissions are counted from the start; queueing delay includes the
packet's own serialization and leaves out the warm-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tunnelcc import metrics
from tunnelcc.config.derived import flows
from tunnelcc.simulation.result import Result

#: Start-up that the reference's steady columns leave out, s.
START_UP = 3.0

Samples = NDArray[np.float64]


@dataclass(frozen=True)
class Flow:
    """A flow, measured or simulated: Mbit/s, ms."""

    cc: str
    goodput: float
    rtt_mean: float
    rtt_p95: float


@dataclass(frozen=True)
class Run:
    """A run, measured or simulated.

    ``queue_ms``: queueing delay with serialization; ``retransmission_ratio``: percent of the data
    segments sent.
    """

    flows: Sequence[Flow]
    queue_ms: float
    retransmission_ratio: float

    @property
    def goodput(self) -> float:
        """Of all flows, Mbit/s."""
        return metrics.total([flow.goodput for flow in self.flows])


@dataclass(frozen=True)
class Series:
    """Goodput of a flow (Mbit/s) over time (s)."""

    time: Samples
    goodput: Samples


@dataclass(frozen=True)
class FlowSeries(Series):
    """With the congestion window (segments) and the pacing rate (Mbit/s)."""

    cwnd: Samples
    pacing: Samples


@dataclass(frozen=True)
class FlowMeasurement(Flow):
    """A simulated flow."""

    series: FlowSeries


@dataclass(frozen=True)
class Measurement(Run):
    """A simulated run."""

    flows: tuple[FlowMeasurement, ...]


def measure(result: Result) -> Measurement:
    """Return the measurement of a finished run."""
    raw, experiment = result.raw, result.experiment
    service = 8 * (experiment.tcp.mss + experiment.tcp.header_bytes) / experiment.path.rate
    starts = [start for _, start in flows(experiment)]
    return Measurement(
        flows=tuple(_flow(result, index, start) for index, start in enumerate(starts)),
        queue_ms=(raw.forward.queue_delay_mean + service) * 1e3,
        retransmission_ratio=100
        * metrics.retransmission_ratio(
            sum(leg.retransmits_series[-1] for leg in result.carriers), result.path_segments
        ),
    )


def _flow(result: Result, index: int, start: float) -> FlowMeasurement:
    leg, time = result.path_leg(result.legs[index]), np.asarray(result.raw.time)
    since = max(result.experiment.warmup, start + START_UP)
    goodput = np.asarray(result.raw.flows[index].goodput) / 1e6
    rtts = metrics.valid(leg.srtt, time, since)
    return FlowMeasurement(
        cc=leg.cc,
        goodput=metrics.mean(goodput[time > since + result.experiment.probe_interval / 2]),
        rtt_mean=metrics.mean(rtts) * 1e3,
        rtt_p95=metrics.percentile(rtts, 95) * 1e3,
        series=FlowSeries(
            time,
            goodput,
            np.asarray(leg.cwnd),
            np.asarray(leg.pacing_rate) / 1e6,
        ),
    )
