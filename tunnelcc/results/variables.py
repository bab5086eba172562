# SPDX-License-Identifier: GPL-2.0-only
"""What a result has beside the measurements of the models: what follows from them and the keys.

``VARIABLES`` declares each of these once. Those of the models are declared beside their structs, in
models/probe/experiment-result.h. Together they are what metrics read, and ``Result.dataset``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunnelcc import core, metrics
from tunnelcc.catalog import traffic as kinds
from tunnelcc.metrics import limits
from tunnelcc.results import fair
from tunnelcc.results.parts import Parts
from tunnelcc.words import causes

_Function = Callable[[Parts], Any]


@dataclass(frozen=True)
class Variable:
    """An array of a result. ``units``: "" for text. ``of``: what computes it; None: the models."""

    dims: tuple[str, ...]
    units: str
    long_name: str
    of: _Function | None = None
    is_coordinate: bool = False
    since_start: bool = False
    is_count: bool = False

    @property
    def attributes(self) -> dict[str, str]:
        """Attributes of the variable in a Dataset: name and units."""
        units = {"units": self.units} if self.units else {}
        return {**units, "long_name": self.long_name}


def declared(name: str) -> Variable:
    """Return the declaration of a variable. Raises KeyError."""
    if name in VARIABLES:
        return VARIABLES[name]
    it = core.measurements()[name]
    dims = ("flow", *it.dimensions) if "leg" in it.dimensions else tuple(it.dimensions)
    return Variable(
        dims, it.unit, it.long_name, is_coordinate=name == "time", since_start=it.since_start,
        is_count=it.is_count,
    )  # fmt: skip


def value(run: Parts, name: str) -> Any:
    """Return a variable that is no measurement of the models. Raises KeyError."""
    it = VARIABLES[name]
    assert it.of is not None
    values = it.of(run)
    if it.units == "" or isinstance(values, (range, np.integer)):
        return np.asarray(values)
    return np.asarray(values, dtype=float)


def _coordinate(dims: str, units: str, long_name: str, of: _Function) -> Variable:
    return Variable((dims,), units, long_name, of, is_coordinate=True, is_count=units == "1")


def _per_flow(units: str, long_name: str, of: _Function, *, is_count: bool = False) -> Variable:
    return Variable(("flow",), units, long_name, of, is_count=is_count)


def _of_run(
    units: str,
    long_name: str,
    of: _Function,
    *,
    is_count: bool = False,
    since_start: bool = False,
) -> Variable:
    return Variable((), units, long_name, of, since_start=since_start, is_count=is_count)


def _count(units: str, long_name: str, of: _Function, *, since_start: bool = False) -> Variable:
    return _of_run(units, long_name, of, is_count=True, since_start=since_start)


def _placed(name: str) -> _Function:
    """Return a function that reads an attribute of each resolved flow."""
    return lambda run: [getattr(placed, name) for placed in run.network.flows]


def _flow_start(run: Parts) -> Any:
    starts = np.array([placed.start for placed in run.network.flows], dtype=float)
    return np.where(starts < run.duration, starts, math.nan)


def _demand(run: Parts) -> list[float]:
    return [placed.traffic.demand or math.inf for placed in run.network.flows]


def _fair_rates(run: Parts) -> Any:
    means, series = fair.rates(run, _demand(run))
    run.keep("flow_fair_rate_series", series)
    return means


def _socket_rtts(run: Parts) -> list[float]:
    return [metrics.mean(run.srtts[run.sender_leg(it).place]) for it in range(len(run.legs))]


def _srtts(statistic: Callable[[Any], float]) -> _Function:
    """Return a function: a statistic of the SRTT of each connection; (flow, leg)."""
    return lambda run: run.by_leg([statistic(srtt) for srtt in run.srtts.values()])


def _limit_shares(run: Parts) -> Any:
    times = np.stack([run[f"limit_{name}"] for name in limits.LIMITS], axis=-1)
    active = times.sum(axis=-1, keepdims=True)
    return np.divide(times, active, out=np.zeros_like(times), where=active != 0)


def _loss_rates(run: Parts) -> Any:
    lost = run["link_queue_drops"] + run["link_random_losses"]
    lost = lost + np.nan_to_num(run["link_policer_drops"])
    offered = run["link_packets"]
    return np.divide(lost, offered, out=np.full(lost.shape, math.nan), where=offered > 0)


def _cross_traffic_rate(counts: str) -> _Function:
    def compute(run: Parts) -> Any:
        sizes = np.array([source.packet for source in run.experiment.cross_traffic], dtype=float)
        return run[counts] * 8 * sizes / run.measured_time

    return compute


def _receive_window(run: Parts) -> float:
    return math.nan if run.has_arq else run.network.first.transport.receive_window


def _wire_bytes(run: Parts) -> Any:
    legs, ways = run.path_senders
    return sum(leg.wire_bytes or 0 for leg in legs) + sum(way.outer_bytes or 0 for way in ways)


def _datagram_sum(name: str) -> _Function:
    """Return a function: a sum over the datagram tunnels that send data across the path."""

    def compute(run: Parts) -> float:
        ways = run.datagram_senders
        return sum(getattr(way, name) for way in ways) if ways else math.nan

    return compute


def _fec_sum(name: str, of_sessions: str = "") -> _Function:
    """Return a function: a sum over the tunnels with FEC that send data across the path.

    ``of_sessions``: what KCP's sessions count of their own FEC.
    """

    def compute(run: Parts) -> float:
        legs, ways = run.path_senders
        found = [it for way in ways if (it := getattr(way, f"fec_{name}")) is not None]
        if of_sessions:
            found += [getattr(leg, of_sessions) for leg in legs if leg.arq_parity_datagrams]
        return sum(found) if found else math.nan

    return compute


def _recovery_delay(run: Parts) -> float:
    ways = run.path_senders[1]
    recovered = sum(it.fec_recovered or 0 for it in ways)
    delays = sum((it.fec_recovered or 0) * (it.fec_recovery_delay_mean or 0.0) for it in ways)
    return delays / recovered if recovered else math.nan


_HOP = "across the path, in a chain of relays across its first hop"
_TUNNELS = "the datagram tunnels that send data across the path, since the start (NaN: none)"
_FEC = "by the tunnels with FEC that send data across the path (NaN: no FEC)"

#: Name → what it is.
VARIABLES: dict[str, Variable] = {
    "flow": _coordinate("flow", "1", "flow", lambda run: range(len(run.network.flows))),
    "leg": _coordinate("leg", "", "connection of a flow", lambda run: run.leg_names),
    "limit": _coordinate("limit", "", "limit of a sender", lambda run: [*limits.LIMITS]),
    "direction": _coordinate(
        "direction", "", "direction of a link or tunnel", lambda run: ["forward", "reverse"]
    ),
    "link": _coordinate("link", "", "link", lambda run: [*run.network.topology.links]),
    "link_from": _coordinate(
        "link", "", "first host of the link",
        lambda run: [link.ends[0] for link in run.network.topology.links.values()],
    ),
    "link_to": _coordinate(
        "link", "", "second host of the link",
        lambda run: [link.ends[1] for link in run.network.topology.links.values()],
    ),
    "host": _coordinate("host", "", "host", lambda run: run.host_names),
    "packet_tunnel": _coordinate(
        "packet_tunnel", "", "tunnel that carries packets",
        lambda run: [run.tunnel_names[number] for number in run.measured["packet_tunnels"]],
    ),
    "cross_traffic": _coordinate(
        "cross_traffic", "1", "source of cross traffic",
        lambda run: range(len(run.experiment.cross_traffic)),
    ),
    "ping": _coordinate("ping", "1", "entry of pings", lambda run: range(len(run.network.pings))),
    "flow_app_cc": _coordinate(
        "flow", "", "congestion control of the flow's application, none over UDP",
        lambda run: [
            "none" if placed.flow.transport == "udp" else placed.flow.cc.name
            for placed in run.network.flows
        ],
    ),
    "flow_traffic": _coordinate(
        "flow", "", "kind of the flow's datagrams (empty: it is a byte stream)",
        lambda run: [
            placed.flow.traffic if placed.flow.transport == "udp" else ""
            for placed in run.network.flows
        ],
    ),
    "flow_cc": _coordinate(
        "flow", "", "congestion control across the path",
        lambda run: [run.path_leg(index).cc for index in range(len(run.legs))],
    ),
    "flow_transport": _coordinate(
        "flow", "", "transport of the flow",
        lambda run: [placed.flow.transport for placed in run.network.flows],
    ),
    "flow_direction": _coordinate(
        "flow", "", "direction of the flow's data: up or down", _placed("direction")
    ),
    "flow_group": _coordinate(
        "flow", "1", "entry of flows that describes the flow", _placed("group")
    ),
    "flow_user": _coordinate(
        "flow", "", "user that the flow belongs to", lambda run: run.users
    ),
    "flow_tunnel": _coordinate(
        "flow", "", "tunnel of the flow between two hosts, or none", lambda run: run.flow_tunnels
    ),
    "flow_carrier": _coordinate(
        "flow", "1", "number of the tunnel's connection (NaN: no tunnel)",
        lambda run: [math.nan if it is None else it for it in run.carrier_numbers],
    ),
    "flow_path_leg": _coordinate(
        "flow", "1", "number of the connection that crosses the path",
        lambda run: [
            run.leg_names.index(run.path_leg(index).name) for index in range(len(run.legs))
        ],
    ),
    "flow_codec_delay": _per_flow(
        "s", "delay of coding and decoding a flow's datagrams (NaN: it is a byte stream)",
        lambda run: [
            kinds.load(it.flow.traffic).codec_delay if it.flow.transport == "udp" else math.nan
            for it in run.network.flows
        ],
    ),
    "flow_limited_by": _coordinate(
        "flow", "", "what limited the flow, and its value",
        lambda run: [causes.text(it) for it in run.limited],
    ),
    "flow_limited_key": _coordinate(
        "flow", "", "key that changes what limited the flow",
        lambda run: [causes.keys(it) for it in run.limited],
    ),
    "flow_limited_share": _per_flow(
        "1", "share of the flow's time for which flow_limited_by held",
        lambda run: [it.evidence.share if it else math.nan for it in run.limited],
    ),
    "flow_start": _per_flow(
        "s", "time when the flow connects, jitter included (NaN: after the end)", _flow_start
    ),
    "flow_bytes": _per_flow(
        "byte", "application bytes to send (NaN: no end)",
        lambda run: [math.nan if it.bytes is None else it.bytes for it in run.network.flows],
        is_count=True,
    ),
    "flow_demand": _per_flow(
        "bit/s", "rate of the application's writes (infinite: no limit)", _demand
    ),
    "flow_base_rtt": _per_flow(
        "s", "base round-trip time, without the links of tunnel.chain",
        lambda run: [*map(run.network.rtt, range(len(run.network.flows)))],
    ),
    "flow_phase": _per_flow(
        "s", "part of the base round-trip time that the seed drew",
        lambda run: [*map(run.network.phase, range(len(run.network.flows)))],
    ),
    "flow_socket_rtt": _per_flow(
        "s", "mean smoothed RTT of the sending application's socket", _socket_rtts
    ),
    "flow_socket_retransmits": _per_flow(
        "segments", "retransmitted segments of the sending application's socket, as in iperf3",
        lambda run: [run.sender_leg(index).retransmits for index in range(len(run.legs))],
        is_count=True,
    ),
    "flow_fair_rate": _per_flow(
        "bit/s", "mean max-min fair goodput of plain TCP on the flow's links", _fair_rates
    ),
    "flow_fair_rate_series": Variable(
        ("flow", "time"), "bit/s", "max-min fair goodput of plain TCP on the flow's links",
        lambda run: fair.rates(run, _demand(run))[1],
    ),
    "srtt_mean": Variable(
        ("flow", "leg"), "s", "mean of the smoothed RTT after the warm-up (NaN: no sample)",
        _srtts(metrics.mean),
    ),
    "srtt_p95": Variable(
        ("flow", "leg"), "s",
        "95th percentile of the smoothed RTT after the warm-up (NaN: no sample)",
        _srtts(lambda srtt: metrics.percentile(srtt, 95)),
    ),
    "limit_share": Variable(
        ("flow", "leg", "limit"), "1", "share of the sender's active time with this limit",
        _limit_shares,
    ),
    "link_loss_rate": Variable(
        ("link", "direction"), "1", "packets lost / packets offered", _loss_rates
    ),
    "cross_traffic_offered": Variable(
        ("cross_traffic",), "bit/s", "IP bits sent", _cross_traffic_rate("cross_traffic_sent")
    ),
    "cross_traffic_delivered": Variable(
        ("cross_traffic",), "bit/s", "IP bits received",
        _cross_traffic_rate("cross_traffic_received"),
    ),
    "duration": _of_run("s", "simulated time", lambda run: run.duration),
    "warmup": _of_run(
        "s", "time before measurements start", lambda run: run.experiment.warmup
    ),
    "measured_time": _of_run("s", "time after the warm-up", lambda run: run.measured_time),
    "probe_interval": _of_run(
        "s", "time between the samples of series", lambda run: run.experiment.probe_interval
    ),
    "bottleneck_link": _count(
        "1", "number of the link that is the bottleneck",
        lambda run: np.int32([*run.network.topology.links].index(run.network.bottleneck[0])),
    ),
    "bottleneck_direction": _count(
        "1", "direction of the data across the bottleneck: 0 forward, 1 reverse",
        lambda run: np.int32(run.network.bottleneck[1]),
    ),
    "capacity": _of_run(
        "bit/s", "mean payload rate that the bottleneck could carry",
        lambda run: fair.capacity(run, run.network.bottleneck),
    ),
    "receive_window": _of_run(
        "byte", "receive window of TCP (NaN: KCP, RUDP and QUIC have their own)", _receive_window
    ),
    "path_retransmits": _count(
        "segments", f"retransmitted segments {_HOP}",
        lambda run: sum(leg.retransmits for leg in run.carriers),
    ),
    "path_congestion_events": _of_run(
        "1", f"congestion events of TCP {_HOP}",
        lambda run: sum(
            math.nan if leg.congestion_events is None else leg.congestion_events
            for leg in run.carriers
        ),
        is_count=True,
    ),
    "path_rtos": _count(
        "1", f"retransmission time-outs {_HOP}", lambda run: sum(leg.rtos for leg in run.carriers)
    ),
    "path_wire_bytes": _count(
        "byte", f"IP bytes sent in the direction of the data {_HOP}, since the start", _wire_bytes,
        since_start=True,
    ),
    "path_inner_packets": _count(
        "1", f"packets into {_TUNNELS}", _datagram_sum("inner_packets"), since_start=True
    ),
    "path_inner_bytes": _count(
        "byte", f"IP bytes into {_TUNNELS}", _datagram_sum("inner_bytes"), since_start=True
    ),
    "path_outer_packets": _count(
        "1", f"packets out of {_TUNNELS}", _datagram_sum("outer_packets"), since_start=True
    ),
    "path_outer_bytes": _count(
        "byte", f"IP bytes out of {_TUNNELS}", _datagram_sum("outer_bytes"), since_start=True
    ),
    "fec_packets": _count("1", f"packets carried {_FEC}", _fec_sum("packets")),
    "fec_recovered": _count("1", f"packets recovered from parity {_FEC}", _fec_sum("recovered")),
    "fec_lost": _count("1", f"packets never delivered {_FEC}", _fec_sum("lost")),
    "fec_parity_packets": _count(
        "1", f"packets of parity sent since the start {_FEC}; KCP's, too",
        _fec_sum("parity_packets", "arq_parity_datagrams"), since_start=True,
    ),
    "fec_parity_bytes": _count(
        "byte", f"IP bytes of parity sent since the start {_FEC}; KCP's, too",
        _fec_sum("parity_bytes", "arq_parity_bytes"), since_start=True,
    ),
    "fec_recovery_delay_mean": _of_run(
        "s", f"mean time until recovery since the start {_FEC}", _recovery_delay,
        since_start=True,
    ),
}  # fmt: skip
