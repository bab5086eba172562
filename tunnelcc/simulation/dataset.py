# SPDX-License-Identifier: GPL-2.0-only
"""A run as arrays with dimensions and units: series, totals and their coordinates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from tunnelcc.metrics import limits
from tunnelcc.simulation import fair
from tunnelcc.simulation.measurements import Measurements

if TYPE_CHECKING:
    import xarray

#: Series of a leg: name → (unit, long name). One with the name of a metric ends in _series.
LEG_SERIES = {
    "goodput_series": ("bit/s", "payload that the receiver read"),
    "throughput": ("bit/s", "IP bytes sent"),
    "cwnd": ("segments", "congestion window"),
    "in_flight": ("byte", "data in flight"),
    "pacing_rate": ("bit/s", "pacing rate of payload, in QUIC of whole packets (0: not paced)"),
    "srtt": (
        "s",
        "smoothed round-trip time (NaN before the first sample and after the end)",
    ),
    "retransmits": ("1", "retransmitted segments since the start"),
    "rtos": ("1", "retransmission time-outs since the start"),
}
#: Series that have another name in the module's run.
_SERIES_ATTRIBUTE = {
    "goodput_series": "goodput",
    "retransmits": "retransmits_series",
    "rtos": "rtos_series",
}

#: Series of a leg's congestion control, with ``probe_congestion``: name → (attribute, unit, doc).
CONGESTION_SERIES = {
    "ssthresh": ("ssthresh", "segments", "slow start threshold (NaN before the first reduction)"),
    "phase": ("phase", "", "phase of the congestion control (empty: not TCP)"),
    "bandwidth_estimate": (
        "bandwidth", "bit/s", "payload bandwidth that the algorithm estimates (NaN: none)",
    ),
    "min_rtt_estimate": (
        "min_rtt", "s", "minimum RTT that the algorithm estimates; otherwise the connection's",
    ),
}  # fmt: skip

#: Series of a direction of the path.
LINK_SERIES = {
    "queue": ("byte", "bytes waiting at the bottleneck"),
    "drops_series": ("1", "packets that the queue dropped since the start"),
    "utilisation_series": ("1", "bytes sent / bytes that the link could send"),
}
_LINK_ATTRIBUTE = {"queue": "queue_bytes"}

#: Series of a direction of a tunnel that carries packets: name → (attribute, long name).
TUNNEL_SERIES = {
    "tunnel_queue": ("queue_packets", "packets that wait at the tunnel's device"),
    "tunnel_drops": (
        "drops_series",
        "packets that the device's full queue dropped since the start",
    ),
}

#: Totals of a flow, a direction, a host: name → (attribute, unit, long name).
FLOW_TOTALS = {
    "delivered_bytes": (
        "delivered_bytes", "byte", "application bytes that the receiver read after the warm-up",
    ),
    "total_bytes": (
        "total_bytes", "byte", "application bytes that the receiver read since the start",
    ),
    "completion": (
        "completion_time", "s", "time when the last byte of a flow that ends was read (NaN: never)",
    ),
}  # fmt: skip
LINK_TOTALS = {
    "mean_utilisation": ("utilisation", "1", "bytes sent / bytes that the link could send"),
    "bytes_served": ("bytes_out", "byte", "bytes sent, framing included"),
    "packets": ("packets_in", "1", "packets offered"),
    "queue_drops": ("drops", "1", "packets that the queue dropped"),
    "marks": ("marks", "1", "packets that the queue marked (NaN: it never marks)"),
    "policer_drops": (
        "policer_drops",
        "1",
        "packets that the policer dropped (NaN: there is none)",
    ),
    "random_losses": ("random_losses", "1", "packets lost at random"),
    "queue_delay_mean": ("queue_delay_mean", "s", "mean waiting time in the queue"),
    "queue_delay_p50": ("queue_delay_p50", "s", "median of the waiting time"),
    "queue_delay_p95": ("queue_delay_p95", "s", "95th percentile of the waiting time"),
    "queue_delay_p99": ("queue_delay_p99", "s", "99th percentile of the waiting time"),
}
#: Totals of a direction of every link of a network; in ``dataset`` their names begin with link_.
EVERY_LINK_TOTALS = (
    "mean_utilisation", "bytes_served", "packets", "queue_drops", "marks", "queue_delay_mean",
    "queue_delay_p95",
)  # fmt: skip
HOST_TOTALS = {
    "cpu_seconds": ("cpu_seconds", "s", "CPU time used"),
    "mean_cpu": ("utilisation", "1", "CPU use, of all cores"),
}

#: What FEC did in one direction of a tunnel: attribute → (unit, long name).
FEC_TOTALS = {
    "packets": ("1", "packets that entered a tunnel with FEC"),
    "recovered": (
        "1",
        "packets recovered from parity; of joined packets all of a group with a lost shard",
    ),
    "lost": ("1", "packets that never arrived"),
    "parity_packets": ("1", "IP packets of parity that a tunnel with FEC sent since the start"),
    "parity_bytes": ("byte", "IP bytes of parity since the start"),
    "recovery_delay_mean": ("s", "mean time until recovery, since the start"),
    "recovery_delay_p95": ("s", "95th percentile of the time until recovery, since the start"),
}
#: Those that ``dataset`` sums over the tunnels that send data across the path.
_FEC_SUMS = ("packets", "recovered", "lost", "parity_packets", "parity_bytes")

#: Messages that were due after the warm-up.
MESSAGE_COUNTS = {
    "messages_due": ("due", "messages that were due"),
    "messages_delivered": ("count", "of the messages that were due, those that arrived"),
}
#: Latency of those that arrived, from when one is due until its last byte is read.
MESSAGE_TOTALS = {
    "message_latency_mean": ("latency_mean", "mean latency of messages"),
    "message_latency_p50": ("latency_p50", "median of the latency of messages"),
    "message_latency_p95": ("latency_p95", "95th percentile of the latency of messages"),
    "message_latency_p99": ("latency_p99", "99th percentile of the latency of messages"),
}

#: Name → (dimensions, values, attributes).
Variables = dict[str, tuple[tuple[str, ...], Any, dict[str, str]]]


def variables(run: Measurements) -> Variables:
    """Return the contents of dataset() except those over ``link``; coordinates included."""
    return {**_coordinates(run), **_series(run), **_totals(run)}


def stored(run: Measurements) -> Variables:
    """Return the part of variables() that stored metrics read: few series, which saves time."""
    return {**_coordinates(run), **_goodputs(run), **_leg_series(run, ["srtt"]), **_totals(run)}


def dataset(
    run: Measurements, variables: Variables, attributes: Mapping[str, str]
) -> xarray.Dataset:
    """Return ``variables`` and those over ``link`` as a Dataset."""
    import xarray

    coordinates = _coordinates(run)
    data = {name: value for name, value in variables.items() if name not in coordinates}
    return xarray.Dataset(
        {**data, **_links(run)}, {**coordinates, **_link_coordinates(run)}, attributes
    )


def _coordinates(run: Measurements) -> dict[str, Any]:
    raw, legs, packet_tunnels = run.raw, run.legs, [*run.packet_tunnels]
    labels = _leg_names(legs)
    found = {
        "time": ("time", raw.time, {"units": "s", "long_name": "time since the start"}),
        "flow": ("flow", np.arange(len(raw.flows)), {"long_name": "flow"}),
        "leg": ("leg", labels, {"long_name": "connection of a flow"}),
        "direction": ("direction", ["forward", "reverse"], {"long_name": "direction of the path"}),
        "host": ("host", run.host_names, {"long_name": "host"}),
        "cc": (
            "flow",
            [_cc_name(flow) for flow in legs],
            {"long_name": "congestion control across the path"},
        ),
        "transport": (
            "flow",
            [placed.flow.transport for placed in run.layout.flows],
            {"long_name": "transport of the flow"},
        ),
        "flow_direction": (
            "flow",
            [placed.direction for placed in run.layout.flows],
            {"long_name": "direction of the flow's data"},
        ),
        "group": (
            "flow",
            [placed.group for placed in run.layout.flows],
            {"long_name": "entry of flows that describes the flow"},
        ),
        "path_leg": (
            "flow",
            [labels.index(run.path_leg(flow).name) for flow in legs],
            {"long_name": "number of the connection that crosses the path"},
        ),
        "user": ("flow", run.users, {"long_name": "user that the flow belongs to"}),
        "tunnel": (
            "flow",
            run.flow_tunnels,
            {"long_name": "tunnel of the flow between two hosts"},
        ),
        "limit": ("limit", list(limits.LIMITS), {"long_name": "limit of a sender"}),
        "limited_by": (
            "flow",
            [it.text for it in run.limited],
            {"long_name": "what limited the flow, and its value"},
        ),
        "limited_key": (
            "flow",
            [it.key for it in run.limited],
            {"long_name": "key that changes what limited the flow"},
        ),
        "carrier": (
            "flow",
            [math.nan if number is None else number for number in run.carrier_numbers],
            {"long_name": "number of the tunnel's connection (NaN: no tunnel)"},
        ),
    }
    if packet_tunnels:
        doc = "tunnel that carries packets"
        found["packet_tunnel"] = ("packet_tunnel", packet_tunnels, {"long_name": doc})
    return found


def _links(run: Measurements) -> dict[str, Any]:
    """Series and totals of every link, in both directions."""
    ways = [(link.forward, link.reverse) for link in run.links.values()]
    data: dict[str, Any] = {}
    for name, (unit, doc) in LINK_SERIES.items():
        values = [[getattr(way, _LINK_ATTRIBUTE.get(name, name)) for way in link] for link in ways]
        doc = doc.replace("at the bottleneck", "at the link")
        doc += ", 0: not limited" * (name == "utilisation_series")
        data[f"link_{name}"] = _variable(("link", "direction", "time"), values, unit, doc)
    for name in EVERY_LINK_TOTALS:
        attribute, unit, doc = LINK_TOTALS[name]
        doc += ", 0: not limited" * (name == "mean_utilisation")
        values = [[getattr(way, attribute) for way in link] for link in ways]
        data[f"link_{name}"] = _variable(("link", "direction"), values, unit, doc)
    return data


def _link_coordinates(run: Measurements) -> dict[str, Any]:
    ends = [link.ends for link in run.layout.topology.links.values()]
    return {
        "link": ("link", list(run.links), {"long_name": "link"}),
        "link_from": ("link", [one for one, _ in ends], {"long_name": "first host of the link"}),
        "link_to": ("link", [other for _, other in ends], {"long_name": "second host of the link"}),
    }


def inputs(run: Measurements) -> dict[str, Any]:
    """Values that metrics read besides the dataset's variables."""
    experiment, first = run.experiment, run.layout.first
    senders = run.datagram_senders
    legs = (leg for legs in run.legs for leg in legs)
    other = any(leg.arq for leg in legs)  # KCP, RUDP and QUIC have windows of their own
    counts = ("inner_packets", "inner_bytes", "outer_packets", "outer_bytes")
    return {
        "duration": experiment.duration,
        "probe_interval": experiment.probe_interval,
        "receive_window": math.nan if other else first.receive_window,
        "app_retransmits": run.app_retransmits,
        "carrier_retransmits": run.carrier_retransmits,
        **{
            name: sum(getattr(it, name) for it in senders) if senders else math.nan
            for name in counts
        },
    }


def _goodputs(run: Measurements) -> dict[str, Any]:
    series = [flow.goodput for flow in run.raw.flows]
    doc = "application bytes that the receiver read"
    return {"flow_goodput_series": _variable(("flow", "time"), series, "bit/s", doc)}


def _leg_series(run: Measurements, names: Iterable[str]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    silence = _silence(run)
    for name in names:
        unit, doc = LEG_SERIES[name]
        attribute = _SERIES_ATTRIBUTE.get(name, name)
        series = _by_leg(run.legs, attrgetter(attribute), silence)
        if name == "srtt":
            series = np.where(series > 0, series, np.nan)
        data[name] = _variable(("flow", "leg", "time"), series, unit, doc)
    return data


def _silence(run: Measurements) -> Any:
    """A series of the legs that other flows have."""
    return np.full(len(run.raw.time), np.nan)


def _series(run: Measurements) -> dict[str, Any]:
    data = {**_goodputs(run), **_leg_series(run, LEG_SERIES)}
    if run.experiment.probe_congestion:
        data.update(_congestion_series(run.legs, _silence(run)))
    for name, (unit, doc) in LINK_SERIES.items():
        attribute = _LINK_ATTRIBUTE.get(name, name)
        links = [getattr(link, attribute) for link in run.bottleneck]
        data[name] = _variable(("direction", "time"), links, unit, doc)
    data.update(_tunnel_series(run))
    cpu = [host.cpu for host in run.hosts]
    data["cpu_series"] = _variable(("host", "time"), cpu, "1", "CPU use, of all cores")
    return data


def _congestion_series(legs: list[list[Any]], silence: Any) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for name, (attribute, unit, doc) in CONGESTION_SERIES.items():
        none = np.full(len(silence), "") if name == "phase" else silence
        series = _by_leg(legs, partial(_congestion_of, attribute=attribute, none=none), none)
        attributes = {"units": unit, "long_name": doc} if unit else {"long_name": doc}
        data[name] = ("flow", "leg", "time"), series, attributes
    return data


def _congestion_of(leg: Any, attribute: str, none: Any) -> Any:
    return getattr(leg.congestion, attribute, none)


def _tunnel_series(run: Measurements) -> dict[str, Any]:
    tunnels = [(it.forward, it.reverse) for it in run.packet_tunnels.values()]
    if not tunnels:
        return {}
    dims = ("packet_tunnel", "direction", "time")
    return {
        name: _variable(dims, [[getattr(way, attribute) for way in it] for it in tunnels], "1", doc)
        for name, (attribute, doc) in TUNNEL_SERIES.items()
    }


def _totals(run: Measurements) -> dict[str, Any]:
    raw, experiment = run.raw, run.experiment
    data: dict[str, Any] = {}
    for dim, table, parts in (
        ("flow", FLOW_TOTALS, raw.flows),
        ("direction", LINK_TOTALS, run.bottleneck),
        ("host", HOST_TOTALS, run.hosts),
    ):
        for name, (attribute, unit, doc) in table.items():
            values = [getattr(part, attribute) for part in parts]
            data[name] = _variable((dim,), values, unit, doc)
    for name, (attribute, doc) in MESSAGE_COUNTS.items():
        values = [getattr(flow.messages, attribute) for flow in raw.flows]
        data[name] = _variable(("flow",), values, "1", doc)
    for name, (attribute, doc) in MESSAGE_TOTALS.items():
        values = [
            getattr(flow.messages, attribute) if flow.messages.count else math.nan
            for flow in raw.flows
        ]
        data[name] = _variable(("flow",), values, "s", f"{doc} that arrived (NaN: none)")
    dims, completion, attributes = data["completion"]
    data["completion"] = dims, np.where(completion < 0, np.nan, completion), attributes
    flows = run.layout.flows
    starts = [placed.start for placed in flows]
    data["start"] = _variable(("flow",), starts, "s", "time of connecting")
    finite = [math.nan if it.bytes is None else it.bytes for it in flows]
    doc = "application bytes to send (NaN: without an end)"
    data["finite_bytes"] = _variable(("flow",), finite, "byte", doc)
    rtts = [placed.connection.rtt for placed in flows]
    data["base_rtt"] = _variable(("flow",), rtts, "s", "base round-trip time")
    data["socket_rtt"] = _variable(
        ("flow",), [run.socket_rtt(index) for index in range(len(flows))], "s",
        "mean smoothed RTT of the application's socket",
    )  # fmt: skip
    nothing = [math.nan] * len(limits.LIMITS)  # of the legs that other flows have
    shares = _by_leg(run.legs, lambda leg: list(limits.shares(vars(leg.limits)).values()), nothing)
    doc = "share of the sender's active time with this limit"
    data["limit_share"] = _variable(("flow", "leg", "limit"), shares, "1", doc)
    held = [it.share if it.limit else math.nan for it in run.limited]
    doc = "share of the flow's time for which limited_by held"
    data["limited_share"] = _variable(("flow",), held, "1", doc)
    demands = [placed.flow.rate or math.inf for placed in flows]
    data["demand"] = _variable(("flow",), demands, "bit/s", "rate of the application's writes")
    means, series = fair.rates(run, demands)
    doc = "max-min fair goodput of plain TCP on the flow's links"
    data["fair_rate"] = _variable(("flow",), means, "bit/s", f"mean {doc}")
    data["fair_rate_series"] = _variable(("flow", "time"), series, "bit/s", doc)
    for name, value, unit, doc in (
        ("warmup", experiment.warmup, "s", "time before measurements start"),
        ("measured_time", run.measured_time, "s", "time after the warm-up"),
        (
            "capacity",
            fair.capacity(run, run.layout.bottleneck),
            "bit/s",
            "mean payload rate that the bottleneck could carry",
        ),
        (
            "path_segments",
            run.path_segments,
            "1",
            "data segments sent across the path",
        ),
        ("path_retransmits", run.carrier_retransmits, "1", "of these, retransmissions"),
        (
            "wire_bytes",
            run.wire_bytes,
            "byte",
            "IP bytes sent across the path in the direction of the data since the start",
        ),
    ):
        data[name] = _variable((), value, unit, doc)
    data.update(_fec(run))
    return data


def _fec(run: Measurements) -> dict[str, Any]:
    """Sums over the tunnels with FEC that send data across the path, and what each did."""
    fecs = [it.fec for it in run.path_senders if getattr(it, "fec", None)]
    sums = {
        name: sum(getattr(fec, name) for fec in fecs) if fecs else math.nan for name in _FEC_SUMS
    }
    # Sessions of KCP count only the parity that they send.
    for arq in (getattr(it, "arq", None) for it in run.path_senders):
        if arq is not None and arq.parity_datagrams > 0:
            for name, own in (("parity_packets", "parity_datagrams"), ("parity_bytes",) * 2):
                sums[name] = np.nansum([sums[name], getattr(arq, own)])
    recovered = sums["recovered"]
    delays = sum(fec.recovered * fec.recovery_delay_mean for fec in fecs)
    sums["recovery_delay_mean"] = delays / recovered if recovered > 0 else math.nan
    data = {}
    for name, value in sums.items():
        unit, doc = FEC_TOTALS[name]
        data[f"fec_{name}"] = _variable((), value, unit, f"{doc} (NaN: no FEC)")
    ways = [(it.forward.fec, it.reverse.fec) for it in run.packet_tunnels.values()]
    for name, (unit, doc) in FEC_TOTALS.items() if any(one for one, _ in ways) else ():
        values = [[getattr(fec, name) if fec else math.nan for fec in way] for way in ways]
        dims = ("packet_tunnel", "direction")
        data[f"tunnel_fec_{name}"] = _variable(dims, values, unit, f"{doc} (NaN: no FEC)")
    return data


def _leg_names(legs: list[list[Any]]) -> list[str]:
    """Return the names of all flows' connections, those of the flow that has most first."""
    flows = sorted(legs, key=len, reverse=True)
    return [*dict.fromkeys(leg.name for flow in flows for leg in flow)]


def _by_leg(legs: list[list[Any]], value: Callable[[Any], Any], none: Any) -> Any:
    """Return ``value`` of each flow's connections in the order of _leg_names().

    ``none``: of the connections that only other flows have.
    """
    names = _leg_names(legs)
    found = ({leg.name: value(leg) for leg in flow} for flow in legs)
    return np.array([[own.get(name, none) for name in names] for own in found])


def _cc_name(legs: list[Any]) -> str:
    return str(Measurements.path_leg(legs).cc)


def _variable(dims: tuple[str, ...], values: Any, unit: str, doc: str) -> tuple[Any, ...]:
    return dims, np.asarray(values, dtype=float), {"units": unit, "long_name": doc}
