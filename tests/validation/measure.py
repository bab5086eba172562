# SPDX-License-Identifier: GPL-2.0-only
"""Measurements that checks need from a run, defined as in the Linux reference.

Goodput and RTT exclude a flow's first three seconds. RTT statistics use samples every 100 ms.
Retransmissions count from the start. Queueing delay includes the packet's own serialization and
excludes the warm-up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunnelcc import metrics
from tunnelcc.network.draws import single_flows
from tunnelcc.results.result import Result

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
    segments sent, both since the start.
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
    """Also the congestion window (segments) and the pacing rate (Mbit/s)."""

    cwnd: Samples
    pacing: Samples


@dataclass(frozen=True)
class Connection:
    """A TCP connection: mean of the smoothed RTT, ms; segments with data, and those sent again.

    Segments are counted from the start, as in Linux.
    """

    rtt: float
    retransmitted: int
    segments: int


@dataclass(frozen=True)
class FlowMeasurement(Flow):
    """A simulated flow.

    ``socket``: the connection of the application that sends; ``carrier``: the one that crosses the
    path, the same without a tunnel over TCP; ``latency``: mean of its messages', ms, NaN without.
    """

    series: FlowSeries
    socket: Connection
    carrier: Connection
    latency: float


@dataclass(frozen=True)
class Datagrams:
    """A flow of datagrams: one-way delays and RTP's jitter, ms; part lost."""

    delay_p50: float
    delay_p95: float
    jitter: float
    loss: float


@dataclass(frozen=True)
class Pings:
    """All pings of a run: RTTs, ms."""

    rtt_p50: float
    rtt_p95: float


@dataclass(frozen=True)
class Measurement(Run):
    """A simulated run.

    ``flows``: those over TCP and QUIC; ``ip_bytes``: sent toward the receivers for each byte that
    was read; ``datagrams``: the flows over UDP.
    """

    flows: tuple[FlowMeasurement, ...]
    ip_bytes: float
    datagrams: tuple[Datagrams, ...]
    pings: Pings


def measure(result: Result) -> Measurement:
    """Return the measurement of a finished run."""
    experiment = result.experiment
    service = (
        8
        * (experiment.tcp.mss + experiment.tcp.header_bytes(experiment.path.ip))
        / experiment.path.rate
    )
    singles = single_flows(experiment)
    is_udp = [placed.flow.transport == "udp" for placed in result.network.flows]
    resent = sum(float(leg.retransmits_series[-1]) for leg in result.carriers)
    segments = sum(leg.total_segments or 0 for leg in result.carriers)
    return Measurement(
        flows=tuple(
            _flow(result, index, flow.start)
            for index, flow in enumerate(singles)
            if not is_udp[index]
        ),
        queue_ms=1e3 * (result.metric("queue_delay_mean") + service),
        retransmission_ratio=100 * metrics.retransmission_ratio(resent, segments),
        ip_bytes=_inverse(result.metric("efficiency")),
        datagrams=tuple(_datagrams(result, index) for index, of_udp in enumerate(is_udp) if of_udp),
        pings=Pings(1e3 * result.metric("ping_rtt_p50"), 1e3 * result.metric("ping_rtt_p95")),
    )


def _inverse(value: float) -> float:
    return 1 / value if value else math.inf


def _datagrams(result: Result, index: int) -> Datagrams:
    def value(name: str) -> float:
        return float(result.metric(name, flow=index))

    return Datagrams(
        1e3 * value("flow_delay_p50"),
        1e3 * value("flow_delay_p95"),
        1e3 * value("flow_jitter"),
        value("flow_loss"),
    )


def _flow(result: Result, index: int, start: float) -> FlowMeasurement:
    leg, sender = result.path_leg(index), result.sender_leg(index)
    steady = {"flow": index, "since": max(result.experiment.warmup, start + START_UP)}
    rtt = 1e3 * result.metric("flow_rtt", **steady)
    return FlowMeasurement(
        cc=leg.cc,
        goodput=result.metric("goodput", **steady) / 1e6,
        rtt_mean=rtt,
        rtt_p95=1e3 * result.metric("flow_rtt_p95", **steady),
        series=FlowSeries(
            result["time"],
            result.flows[index].goodput_series / 1e6,
            leg.cwnd,
            leg.pacing_rate / 1e6,
        ),
        socket=_connection(1e3 * result.metric("flow_socket_rtt", flow=index), sender),
        carrier=_connection(rtt, leg),
        latency=1e3 * result.metric("flow_message_latency_mean", flow=index),
    )


def _connection(rtt: float, leg: Any) -> Connection:
    return Connection(rtt, int(leg.retransmits_series[-1]), int(leg.total_segments))
