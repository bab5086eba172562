# SPDX-License-Identifier: GPL-2.0-only
"""The result of one run: series, totals and JSON.

A result depends on the experiment alone. It has no wall time and no host name, so equal experiments
give equal results, byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, cached_property
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from tunnelcc import core, metrics
from tunnelcc._version import __version__
from tunnelcc.config import Experiment, derived
from tunnelcc.config.layout import Layout, carriers, layout
from tunnelcc.config.topology import Step
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.metrics import limits
from tunnelcc.metrics.run import RunData
from tunnelcc.schema.units import format_rate, format_time

if TYPE_CHECKING:
    import xarray

    from tunnelcc.config.path import DuplexLink

#: Series of a leg: name → (unit, long name). One with the name of a metric ends in _series.
LEG_SERIES = {
    "goodput_series": ("bit/s", "payload that the receiver read"),
    "throughput": ("bit/s", "IP bytes sent"),
    "cwnd": ("segments", "congestion window"),
    "in_flight": ("byte", "data in flight"),
    "pacing_rate": ("bit/s", "pacing rate of payload (0: not paced)"),
    "srtt": ("s", "smoothed round-trip time (NaN before the first sample)"),
    "retransmits": ("1", "retransmitted segments since the start"),
    "rtos": ("1", "retransmission time-outs since the start"),
}
#: Series that have another name in the module's result.
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
        "completion_time", "s", "time when a finite flow's last byte was read (NaN: never)",
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

#: Totals of the JSON that count from the start. Numbers in lists, names of links and ``reverse``
#: are left out. All others leave out the warm-up.
SINCE_START = (
    "flows.total_bytes",
    "flows.legs.segments", "flows.legs.wire_bytes", "flows.legs.ack_wire_bytes",
    "flows.legs.arq.parity_datagrams", "flows.legs.arq.parity_bytes", "flows.legs.arq.recovered",
    "flows.legs.arq.unrecovered", "flows.legs.arq.given_up",
    "path.queue_max_bytes", "links.queue_max_bytes",
    "tunnels.device_queue_max_packets", "tunnels.outer_packets", "tunnels.outer_bytes",
    "tunnels.fragmented", "tunnels.fec.parity_packets", "tunnels.fec.parity_bytes",
    "tunnels.fec.recovery_delay_mean_s", "tunnels.fec.recovery_delay_p95_s",
    "aggregate.path_segments", "aggregate.wire_bytes", "aggregate.efficiency",
)  # fmt: skip

#: Latency of messages, from when one is due until its last byte is read, warm-up left out.
MESSAGE_TOTALS = {
    "message_latency_mean": ("latency_mean", "mean latency of messages"),
    "message_latency_p50": ("latency_p50", "median of the latency of messages"),
    "message_latency_p95": ("latency_p95", "95th percentile of the latency of messages"),
    "message_latency_p99": ("latency_p99", "99th percentile of the latency of messages"),
}


class Result:
    """The result of a finished run.

    - ``metric(name)``: one metric in SI units; `tunnelcc show metrics` lists them.
    - ``metrics``: all metrics that are one number; ``goodput`` (bit/s) and ``jain`` directly.
    - ``dataset``: series and totals as an xarray Dataset with units.
    - ``to_dict()``, ``to_json()``: the totals.
    - ``experiment``: the experiment; ``raw``: the compiled module's result as plain attributes.
    """

    def __init__(self, experiment: Experiment, raw: Any) -> None:
        self.experiment = experiment
        self.raw = plain(raw)

    def __repr__(self) -> str:
        return f"<tunnelcc.Result: {len(self.raw.flows)} flows, {self.goodput / 1e6:.2f} Mbit/s>"

    @property
    def measured_time(self) -> float:
        """Seconds from the end of the warm-up to the end of the run."""
        return self.experiment.duration - self.experiment.warmup

    @property
    def heading(self) -> str:
        """The title, or one such as ``4 × bbr through gost-relay-wss, 100Mbps × 100ms``."""
        experiment = self.experiment
        if experiment.title:
            return experiment.title
        flows = ", ".join(
            f"{flow.count} × {core.congestion_label(flow.cc.name)}"
            + (f" in {flow.tunnel}" if flow.tunnel not in (None, "none") else "")
            for flow in experiment.flows
        )
        tunnel = f" through {experiment.tunnel.name}" if experiment.tunnel else ""
        link: DuplexLink = experiment.path
        network = ""
        if experiment.network is not None:
            shape, size = experiment.network.shape, experiment.network.size
            network = f"{shape} of {size}" if shape else f"{len(self.links)} links"
            name = self.layout.bottleneck[0]
            link = self.layout.topology.links[name].path
            is_one = bool(experiment.network.links) or shape == "dumbbell"
            network += f", {name}: " if is_one else ", each "
        rate = "no rate limit" if link.rate is None else format_rate(link.rate)
        if link.rate_trace is not None:
            rate = f"rates of {Path(link.rate_trace.file).name}"
        path = f"{rate} × {format_time(link.rtt)}"
        loss = f", loss {100 * link.loss:g} %" if link.loss else ""
        return f"{flows}{tunnel}, {network}{path}{loss}"

    @cached_property
    def layout(self) -> Layout:
        """The places of flows and tunnels in the network."""
        return layout(self.experiment)

    @cached_property
    def host_names(self) -> list[str]:
        """The names of the hosts: those of the first flow, then the others."""
        first = self.layout.flows[0]
        return [*dict.fromkeys((first.client, first.server, *self.layout.topology.hosts))]

    @cached_property
    def hosts(self) -> list[Any]:
        """The measurements of each of ``host_names``."""
        order = self.layout.topology.hosts
        return [self.raw.hosts[order.index(name)] for name in self.host_names]

    @cached_property
    def links(self) -> dict[str, Any]:
        """``raw.links`` by name."""
        return dict(zip(self.layout.topology.links, self.raw.links, strict=True))

    @cached_property
    def bottleneck(self) -> tuple[Any, Any]:
        """The measurements of the bottleneck, in the direction of the data and in the other one."""
        name, is_reverse = self.layout.bottleneck
        link = self.links[name]
        return (link.reverse, link.forward) if is_reverse else (link.forward, link.reverse)

    @property
    def goodput(self) -> float:
        """Goodput of all flows together, bit/s."""
        return self.metric("goodput")

    @property
    def jain(self) -> float:
        """Jain's index of the flows' goodputs."""
        return self.metric("jain")

    def flow_goodput(self, flow: int) -> float:
        """Return the goodput of one flow (from 0), bit/s."""
        return self.metric("flow_goodput", flow=flow)

    @cached_property
    def metrics(self) -> Mapping[str, float]:
        """Name → value in SI units of every metric that is one number; NaN if it has no value.

        ``dataset`` has the metrics of each flow, and metric() returns one of them.
        """
        names = (name for name, metric in metrics.METRICS.items() if not metric.per_flow)
        return {name: self.metric(name) for name in names}

    @cached_property
    def measured(self) -> RunData:
        """The values that metrics read: the variables of ``dataset``, and a few more."""
        arrays = {name: values for name, (_, values, _) in self.variables.items()}
        return metrics.RunData({**arrays, **_inputs(self)})

    def metric(self, name: str, **selection: Any) -> float:
        """Return one metric in SI units; `tunnelcc show metrics` lists names and definitions.

        ``selection``: ``flow`` (from 0), ``since`` and ``until`` (s) and ``within``, if the metric
        accepts them. Default of ``flow``: the first flow. Raises ConfigError. Example:
        ``metric("flow_goodput", flow=1, since=5)``.
        """
        flow, last = selection.get("flow"), len(self.raw.flows) - 1
        if flow is not None and flow not in range(last + 1):
            raise ConfigError(Problem("flow", flow, f"a flow from 0 to {last}"))
        return metrics.value(self.measured, name, metrics.Selection(**selection))

    @property
    def path_segments(self) -> int:
        """Data segments sent across the path in the whole run."""
        return int(self.raw.path_segments)

    @cached_property
    def legs(self) -> list[list[Any]]:
        """``raw.legs`` by flow. Several flows may share one."""
        return [[self.raw.legs[index] for index in flow.legs] for flow in self.raw.flows]

    @cached_property
    def carriers(self) -> list[Any]:
        """The connections that cross the path, each once. Those beyond relays are in ``legs``."""
        carriers = (self.path_leg(legs) for legs in self.legs if legs)
        return list({id(leg): leg for leg in carriers}.values())

    @property
    def wire_bytes(self) -> int:
        """IP bytes sent across the path in the direction of the data in the whole run."""
        total, counted = 0, set()
        for placed, legs in zip(self.layout.flows, self.legs, strict=True):
            leg = self.path_leg(legs)
            tunnel = None if placed.tunnel is None else self._on_path(placed.tunnel)
            if tunnel is not None and tunnel.forward is not None:
                first = self.layout.tunnels[placed.tunnel or 0].first
                leg = tunnel.forward if placed.sender == first.sender else tunnel.reverse
            if id(leg) not in counted:
                counted.add(id(leg))
                total += int(getattr(leg, "outer_bytes", 0) or getattr(leg, "wire_bytes", 0))
        return total

    def _on_path(self, number: int) -> Any:
        """The tunnel across the path, or the one that its carriers go through."""
        under = self.layout.under(self.layout.tunnels[number], hop=0)
        return self.raw.tunnels[number if under is None else under]

    @cached_property
    def _first_tunnel(self) -> Any:
        """The packets of the first flow's tunnel across the path; None if it carries no packets."""
        first = self.layout.flows[0]
        if first.tunnel is None:
            return None
        return self._on_path(first.tunnel).forward

    @cached_property
    def dataset(self) -> xarray.Dataset:
        """Series and totals with units, as an xarray Dataset.

        Dimensions are time, flow, leg, direction, host and link, and packet_tunnel if tunnels carry
        packets. Series have the same names in the results of a sweep. A series with the name of a
        metric ends in ``_series``.

        Totals leave out the warm-up, but those whose ``long_name`` says since the start. Variables
        over ``direction`` alone describe the bottleneck, where forward is the direction of the
        data. Variables over ``link`` describe each link, where forward is from the host
        ``link_from`` to ``link_to``.
        """
        import xarray

        attributes = {
            "title": self.experiment.title,
            "tunnelcc": __version__,
            "experiment": json.dumps(self.experiment.table()),
            "derived": json.dumps(derived.numbers(self.experiment)),
            "totals": "after the warm-up, unless long_name says since the start",
        }
        coordinates = _coordinates(self)
        data = {name: value for name, value in self.variables.items() if name not in coordinates}
        return xarray.Dataset(
            {**data, **_links(self)}, {**coordinates, **_link_coordinates(self)}, attributes
        )

    @cached_property
    def variables(self) -> dict[str, tuple[tuple[str, ...], Any, dict[str, str]]]:
        """The contents of ``dataset`` except ``link``: name → (dimensions, values, attributes).

        Includes coordinates.
        """
        return {**_coordinates(self), **_series(self), **_totals(self)}

    def to_dict(self) -> dict[str, Any]:
        """Return the totals in SI units, as in the JSON. Values that were not measured are None.

        Totals leave out the warm-up, but those that ``since_start`` lists: they count from the
        start, as series do. Keys that end in ``_s`` and are not totals are times since the start.
        """
        table = {
            "tunnelcc": __version__,
            "experiment": self.experiment.table(),
            "derived": derived.numbers(self.experiment),
            "since_start": SINCE_START,
            "flows": [self._flow(index) for index in range(len(self.raw.flows))],
            "cross_traffic": [self._cross_traffic(i) for i in range(len(self.raw.cross_traffic))],
            "path": {**_link(self.bottleneck[0]), "reverse": _link(self.bottleneck[1])},
            "links": {
                name: {**_link(link.forward), "reverse": _link(link.reverse)}
                for name, link in self.links.items()
            },
            "hosts": {
                name: _host(host) for name, host in zip(self.host_names, self.hosts, strict=True)
            },
            "tunnels": [self._tunnel(number) for number in range(len(self.raw.tunnels))],
            "users": self._groups("user", self._users),
            "carriers": [
                group
                for group in self._groups("carrier", self._carrier_numbers)
                if group["carrier"] is not None
            ],
            "aggregate": self._aggregate(),
        }
        cleaned: dict[str, Any] = _without_nan(table)
        return cleaned

    def to_json(self, indent: int | None = 2) -> str:
        """Return to_dict() as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def digests(self) -> dict[str, str]:
        """Return a hash of each kind of measurement. Equal hashes mean equal bits.

        Kinds that a run does not have are left out. So is the number of events, which describes the
        simulator and not the network.
        """
        flows = self.raw.flows
        raw, tunnels = self.raw, [(it.forward, it.reverse) for it in self.raw.tunnels]
        kinds = {
            "cross_traffic": [raw.cross_traffic],
            "flows": [[SimpleNamespace(**{**vars(flow), "messages": None}) for flow in flows]],
            "hosts": raw.hosts,
            "legs": [raw.legs, raw.path_segments],
            "links": [way for link in raw.links for way in (link.forward, link.reverse)],
            "messages": [flow.messages for flow in flows if flow.messages.count],
            "time": [raw.time],
            "tunnel": [way for ways in tunnels for way in ways if way is not None],
        }
        return {kind: _digest(parts) for kind, parts in kinds.items() if np.size(parts[:1])}

    @cached_property
    def _users(self) -> list[str]:
        """The user of each flow. A flow without a user has its own."""
        placed = enumerate(self.layout.flows)
        return [it.flow.user or f"flow {index}" for index, it in placed]

    @cached_property
    def _carrier_numbers(self) -> list[int | None]:
        """The number of each flow's carrier, from 0; None without a tunnel."""
        return carriers(self.layout.flows)

    @cached_property
    def tunnel_names(self) -> list[str]:
        """The tunnels between two hosts. Equal names get their hosts, and a number."""
        tunnels = self.layout.tunnels
        plain_names = [it.name for it in tunnels]
        names: list[str] = []
        for it in tunnels:
            name = it.name
            if plain_names.count(name) > 1:
                name += f" {it.first.client}-{it.first.server}"
            alike = sum(other == name or other.startswith(f"{name} #") for other in names)
            names.append(f"{name} #{alike + 1}" if alike else name)
        return names

    @cached_property
    def packet_tunnels(self) -> dict[str, Any]:
        """``raw.tunnels`` that carry packets, by name."""
        tunnels = zip(self.tunnel_names, self.raw.tunnels, strict=True)
        return {name: it for name, it in tunnels if it.forward is not None}

    @cached_property
    def _tunnels(self) -> list[str]:
        """The name of each flow's tunnel, or none."""
        return [
            "none" if flow.tunnel is None else self.tunnel_names[flow.tunnel]
            for flow in self.layout.flows
        ]

    def _groups(self, name: str, members: Sequence[Any]) -> list[dict[str, Any]]:
        """Sums over the flows of one user, or on one carrier."""
        flows: dict[Any, list[int]] = {}
        for index, member in enumerate(members):
            flows.setdefault(member, []).append(index)
        goodputs = metrics.group_totals(self.measured.goodputs, members)
        return [
            {name: member, "flows": flows[member], "goodput_bps": goodputs[member]}
            for member in flows
        ]

    def _cross_traffic(self, index: int) -> dict[str, Any]:
        source, counts = self.experiment.cross_traffic[index], self.raw.cross_traffic[index]
        bits = 8 * source.packet / self.measured_time
        return {
            "offered_bps": counts.sent * bits,
            "delivered_bps": counts.received * bits,
            "packets": counts.sent,
        }

    def _tunnel(self, number: int) -> dict[str, Any]:
        """Sums over the flows in a tunnel; in both directions if it carries packets."""
        placed, counts = self.layout.tunnels[number], self.raw.tunnels[number]
        owner = number if placed.hop is None else placed.first.tunnel
        members = [i for i, flow in enumerate(self.layout.flows) if flow.tunnel == owner]
        table = {
            "tunnel": placed.name,
            "from": placed.first.client,
            "to": placed.first.server,
            "flows": members,
            "goodput_bps": float(np.sum(self.measured.goodputs[members])),
        }
        if counts.forward is None:
            return table
        packets = {**_packet_tunnel(counts.forward), "reverse": _packet_tunnel(counts.reverse)}
        return {**table, **packets}

    def _flow(self, index: int) -> dict[str, Any]:
        flow, legs = self.raw.flows[index], self.legs[index]
        placed = self.layout.flows[index]
        return {
            "flow": index,
            "user": self._users[index],
            "carrier": self._carrier_numbers[index],
            "cc": placed.flow.cc.name,
            "start_s": placed.start,
            "rtt_s": self.layout.base_rtt(placed),
            "goodput_bps": self.metric("flow_goodput", flow=index),
            "delivered_bytes": flow.delivered_bytes,
            "total_bytes": flow.total_bytes,
            "first_byte_s": _moment(flow.first_byte_time),
            "completion_s": _moment(flow.completion_time),
            # What the application's socket counts, as iperf3 shows it.
            "retransmits": self.sender_leg(index).retransmits if legs else None,
            "messages": _messages(flow.messages),
            "legs": [self._leg(leg) for leg in legs],
        }

    @property
    def app_retransmits(self) -> list[int]:
        """Retransmissions of the sending application's socket by flow, as in iperf3."""
        return [self.sender_leg(index).retransmits for index in range(len(self.legs))]

    @property
    def carrier_retransmits(self) -> int:
        """Retransmissions across the path."""
        return sum(leg.retransmits for leg in self.carriers)

    def socket_rtt(self, flow: int) -> float:
        """Return the mean smoothed RTT (s) of the sending application's socket."""
        srtt = self.sender_leg(flow).srtt
        return metrics.mean_srtt(srtt, self.raw.time, self.experiment.warmup)

    def sender_leg(self, flow: int) -> Any:
        """Return the connection of the sending application."""
        legs, sender = self.legs[flow], self.layout.flows[flow].sender
        return legs[-1] if legs[-1].name == "target" and sender == "server" else legs[0]

    def _leg(self, leg: Any) -> dict[str, Any]:
        srtt = leg.srtt, self.raw.time, self.experiment.warmup
        return {
            "name": leg.name,
            "cc": leg.cc,
            "goodput_bps": metrics.goodput(leg.delivered_bytes, self.measured_time),
            "delivered_bytes": leg.delivered_bytes,
            "retransmits": leg.retransmits,
            "rtos": leg.rtos,
            "tail_loss_probes": leg.tail_loss_probes,
            "srtt_mean_s": metrics.mean_srtt(*srtt),
            "srtt_p95_s": metrics.p95_srtt(*srtt),
            "segments": leg.segments,
            "wire_bytes": leg.wire_bytes,
            "ack_wire_bytes": leg.ack_wire_bytes,
            "established_s": _moment(leg.established_time),
            "connect_failed_s": leg.connect_failed_time,
            "finished_s": _moment(leg.finished_time),
            "limits": limits.shares(vars(leg.limits), self.measured_time),
            **({"arq": _arq(leg.arq)} if leg.arq else {}),
        }

    def _aggregate(self) -> dict[str, Any]:
        return {
            "goodput_bps": self.goodput,
            **{name: self.metric(name) for name in ("jain", "jain_users", "jain_carriers")},
            "retransmits": sum(self.app_retransmits),
            "path_retransmits": self.carrier_retransmits,
            "path_rtos": sum(leg.rtos for leg in self.carriers),
            "path_segments": self.path_segments,
            "wire_bytes": self.wire_bytes,
            "efficiency": self.metric("efficiency"),
        }

    @staticmethod
    def path_leg(legs: list[Any]) -> Any:
        """Return the connection that crosses the path: the carrier, or a plain flow's only one."""
        return legs[metrics.path_leg([leg.name for leg in legs])]


def _link(link: Any) -> dict[str, Any]:
    return {
        "utilisation": link.utilisation,
        "queue_delay_mean_s": link.queue_delay_mean,
        "queue_delay_p50_s": link.queue_delay_p50,
        "queue_delay_p95_s": link.queue_delay_p95,
        "queue_delay_p99_s": link.queue_delay_p99,
        "queue_max_bytes": link.queue_bytes_max,
        "packets": link.packets_in,
        "bytes": link.bytes_out,
        "drops": link.drops,
        "marks": link.marks,
        "policer_drops": link.policer_drops,
        "random_losses": link.random_losses,
        "loss_rate": metrics.link_loss_rate(
            link.drops, link.policer_drops, link.random_losses, link.packets_in
        ),
    }


def _tunnel_series(result: Result) -> dict[str, Any]:
    tunnels = [(it.forward, it.reverse) for it in result.packet_tunnels.values()]
    if not tunnels:
        return {}
    dims = ("packet_tunnel", "direction", "time")
    return {
        name: _variable(dims, [[getattr(way, attribute) for way in it] for it in tunnels], "1", doc)
        for name, (attribute, doc) in TUNNEL_SERIES.items()
    }


def _packet_tunnel(direction: Any) -> dict[str, Any]:
    return {
        "packets": direction.packets_in,
        "device_drops": direction.drops,
        "device_queue_max_packets": direction.queue_packets_max,
        "outer_packets": direction.outer_packets,
        "outer_bytes": direction.outer_bytes,
        "fragmented": direction.fragmented,
        "socket_drops": direction.socket_drops,
        "fec": direction.fec and _fec(direction.fec),
    }


def _fec(fec: Any) -> dict[str, Any]:
    return {
        name + ("_s" if name.startswith("recovery_delay") else ""): getattr(fec, name)
        for name in FEC_TOTALS
    }


def _host(host: Any) -> dict[str, Any]:
    return {"cpu_s": host.cpu_seconds, "utilisation": host.utilisation}


def _messages(messages: Any) -> dict[str, Any] | None:
    """Latency of an application's messages; None if it writes none."""
    if messages.count == 0:
        return None
    return {
        "count": messages.count,
        "latency_mean_s": messages.latency_mean,
        "latency_p50_s": messages.latency_p50,
        "latency_p95_s": messages.latency_p95,
        "latency_p99_s": messages.latency_p99,
    }


def _arq(arq: Any) -> dict[str, Any]:
    counts = {name: value for name, value in vars(arq).items() if name != "closed_time"}
    return counts | {"closed_s": arq.closed_time}


def _moment(time: float) -> float | None:
    return time if time >= 0 else None


def _without_nan(value: Any) -> Any:
    """Replace NaN by None, because JSON has no NaN."""
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


#: What most parts of a result are, and need no look.
_NUMBERS = frozenset({int, float, np.ndarray})


def plain(value: Any) -> Any:
    """Return a result of the compiled module as namespaces, lists and arrays (picklable)."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, np.ndarray):
        return value  # the module has made it for this result
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, SimpleNamespace):
        return SimpleNamespace(**{name: plain(it) for name, it in vars(value).items()})
    names, get = _attributes(type(value))  # type: ignore[arg-type]
    parts = zip(names, get(value), strict=True)
    return SimpleNamespace(
        **{name: it if type(it) in _NUMBERS else plain(it) for name, it in parts}
    )


@cache
def _attributes(kind: Hashable) -> tuple[Sequence[str], Callable[[Any], Sequence[Any]]]:
    """Return the names of a type's attributes, and what gets them all; there are at least two."""
    names = [name for name in dir(kind) if not name.startswith("_")]
    return names, attrgetter(*names)


def _digest(parts: list[Any]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    _update(digest, parts)
    return digest.hexdigest()


def _update(digest: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        digest.update(value.astype("<f8").tobytes())
    elif isinstance(value, list):
        for item in value:
            _update(digest, item)
    elif isinstance(value, SimpleNamespace):
        # What a run does not have leaves no trace: new kinds of results do not change old runs.
        for name in sorted(name for name, part in vars(value).items() if part is not None):
            digest.update(name.encode())
            _update(digest, vars(value)[name])
    else:
        digest.update(repr(value).encode())


def _series(result: Result) -> dict[str, Any]:
    raw, legs = result.raw, result.legs
    data: dict[str, Any] = {
        "flow_goodput_series": _variable(
            ("flow", "time"),
            [flow.goodput for flow in raw.flows],
            "bit/s",
            "application bytes that the receiver read",
        )
    }
    count = max(map(len, legs))
    silence = np.full(len(raw.time), np.nan)  # of the legs that other flows have
    for name, (unit, doc) in LEG_SERIES.items():
        attribute = _SERIES_ATTRIBUTE.get(name, name)
        series = np.array(
            [
                [*(getattr(leg, attribute) for leg in flow), *[silence] * (count - len(flow))]
                for flow in legs
            ]
        )
        if name == "srtt":
            series = np.where(series > 0, series, np.nan)
        data[name] = _variable(("flow", "leg", "time"), series, unit, doc)
    if result.experiment.probe_congestion:
        data.update(_congestion_series(legs, silence))
    for name, (unit, doc) in LINK_SERIES.items():
        attribute = _LINK_ATTRIBUTE.get(name, name)
        links = [getattr(link, attribute) for link in result.bottleneck]
        data[name] = _variable(("direction", "time"), links, unit, doc)
    data.update(_tunnel_series(result))
    cpu = [host.cpu for host in result.hosts]
    data["cpu_series"] = _variable(("host", "time"), cpu, "1", "CPU use, of all cores")
    return data


def _congestion_series(legs: list[list[Any]], silence: Any) -> dict[str, Any]:
    count = max(map(len, legs))
    data: dict[str, Any] = {}
    for name, (attribute, unit, doc) in CONGESTION_SERIES.items():
        none = np.full(len(silence), "") if name == "phase" else silence
        series = [
            [*(getattr(leg.congestion, attribute, none) for leg in flow)]
            + [none] * (count - len(flow))
            for flow in legs
        ]
        attributes = {"units": unit, "long_name": doc} if unit else {"long_name": doc}
        data[name] = ("flow", "leg", "time"), np.array(series), attributes
    return data


def _coordinates(result: Result) -> dict[str, Any]:
    raw, legs, packet_tunnels = result.raw, result.legs, [*result.packet_tunnels]
    found = {
        "time": ("time", raw.time, {"units": "s", "long_name": "time since the start"}),
        "flow": ("flow", np.arange(len(raw.flows)), {"long_name": "flow"}),
        "leg": ("leg", _leg_names(legs), {"long_name": "connection of a flow"}),
        "direction": ("direction", ["forward", "reverse"], {"long_name": "direction of the path"}),
        "host": ("host", result.host_names, {"long_name": "host"}),
        "cc": (
            "flow",
            [_cc_name(flow) for flow in legs],
            {"long_name": "congestion control across the path"},
        ),
        "path_leg": (
            "flow",
            [metrics.path_leg([leg.name for leg in flow]) for flow in legs],
            {"long_name": "number of the connection that crosses the path"},
        ),
        "user": ("flow", result._users, {"long_name": "user that the flow belongs to"}),
        "tunnel": (
            "flow",
            result._tunnels,
            {"long_name": "tunnel of the flow between two hosts"},
        ),
        "limit": ("limit", list(limits.LIMITS), {"long_name": "limit of a sender"}),
        "carrier": (
            "flow",
            [math.nan if number is None else number for number in result._carrier_numbers],
            {"long_name": "number of the tunnel's connection (NaN: no tunnel)"},
        ),
    }
    if packet_tunnels:
        doc = "tunnel that carries packets"
        found["packet_tunnel"] = ("packet_tunnel", packet_tunnels, {"long_name": doc})
    return found


def _links(result: Result) -> dict[str, Any]:
    """Series and totals of every link, in both directions."""
    ways = [(link.forward, link.reverse) for link in result.links.values()]
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


def _link_coordinates(result: Result) -> dict[str, Any]:
    ends = [link.ends for link in result.layout.topology.links.values()]
    return {
        "link": ("link", list(result.links), {"long_name": "link"}),
        "link_from": ("link", [one for one, _ in ends], {"long_name": "first host of the link"}),
        "link_to": ("link", [other for _, other in ends], {"long_name": "second host of the link"}),
    }


def _totals(result: Result) -> dict[str, Any]:
    raw, experiment = result.raw, result.experiment
    data: dict[str, Any] = {}
    for dim, table, parts in (
        ("flow", FLOW_TOTALS, raw.flows),
        ("direction", LINK_TOTALS, result.bottleneck),
        ("host", HOST_TOTALS, result.hosts),
    ):
        for name, (attribute, unit, doc) in table.items():
            values = [getattr(part, attribute) for part in parts]
            data[name] = _variable((dim,), values, unit, doc)
    for name, (attribute, doc) in MESSAGE_TOTALS.items():
        values = [
            getattr(flow.messages, attribute) if flow.messages.count else math.nan
            for flow in raw.flows
        ]
        data[name] = _variable(("flow",), values, "s", f"{doc} (NaN: no messages)")
    dims, completion, attributes = data["completion"]
    data["completion"] = dims, np.where(completion < 0, np.nan, completion), attributes
    flows = result.layout.flows
    starts = [placed.start for placed in flows]
    data["start"] = _variable(("flow",), starts, "s", "time of connecting")
    rtts = [result.layout.base_rtt(placed) for placed in flows]
    data["base_rtt"] = _variable(("flow",), rtts, "s", "base round-trip time")
    data["socket_rtt"] = _variable(
        ("flow",), [result.socket_rtt(index) for index in range(len(flows))], "s",
        "mean smoothed RTT of the application's socket",
    )  # fmt: skip
    count = max(map(len, result.legs))
    nothing = [math.nan] * len(limits.LIMITS)  # of the legs that other flows have
    shares = [
        [
            *(list(limits.shares(vars(leg.limits), result.measured_time).values()) for leg in legs),
            *[nothing] * (count - len(legs)),
        ]
        for legs in result.legs
    ]
    data["limit_share"] = _variable(
        ("flow", "leg", "limit"), shares, "1", "share of the time with this limit"
    )
    demands = [placed.flow.rate or math.inf for placed in flows]
    data["demand"] = _variable(("flow",), demands, "bit/s", "rate of the application's writes")
    data["fair_rate"] = _variable(
        ("flow",), _fair_rates(result, demands), "bit/s", "max-min fair goodput on the flow's links"
    )
    retransmits = sum(leg.retransmits_series[-1] for leg in result.carriers)
    for name, value, unit, doc in (
        ("warmup", experiment.warmup, "s", "time before measurements start"),
        ("measured_time", result.measured_time, "s", "time after the warm-up"),
        (
            "capacity",
            _capacity(result, result.bottleneck[0]),
            "bit/s",
            "mean payload rate that the bottleneck could carry",
        ),
        (
            "path_segments",
            result.path_segments,
            "1",
            "data segments sent across the path since the start",
        ),
        ("path_retransmits", retransmits, "1", "retransmitted data segments since the start"),
        (
            "wire_bytes",
            result.wire_bytes,
            "byte",
            "IP bytes sent across the path in the direction of the data since the start",
        ),
    ):
        data[name] = _variable((), value, unit, doc)
    fec = getattr(result._first_tunnel, "fec", None)
    for name, (unit, doc) in FEC_TOTALS.items():
        value = getattr(fec, name) if fec else math.nan
        data[f"fec_{name}"] = _variable((), value, unit, f"{doc} (NaN: no FEC)")
    return data


def _inputs(result: Result) -> dict[str, Any]:
    """Values that metrics read besides the dataset's variables."""
    experiment = result.layout.view(result.layout.flows[0])
    tunnel = result._first_tunnel
    counts = ("outer_packets", "outer_bytes", "fragmented")
    is_datagram = derived.sends_datagrams(experiment)
    return {
        "duration": experiment.duration,
        "probe_interval": experiment.probe_interval,
        "receive_window": derived.receive_window(experiment),
        "full_packet": derived.mss(experiment) + experiment.tcp.header_bytes,
        "app_retransmits": result.app_retransmits,
        "carrier_retransmits": result.carrier_retransmits,
        **{name: getattr(tunnel, name) if is_datagram else math.nan for name in counts},
    }


def _capacity(result: Result, link: Any) -> float:
    """Return the mean payload rate that one direction of a link could carry, bit/s."""
    if not link.utilisation:
        return math.nan
    served = 8 * link.bytes_out / result.measured_time
    return float(served / link.utilisation * _payload_share(result))


def _payload_share(result: Result) -> float:
    """Return the payload of a full segment per byte of its packet."""
    tcp, mss = result.experiment.tcp, derived.path_mss(result.layout.view(result.layout.flows[0]))
    return mss / (mss + tcp.header_bytes)


def _fair_rates(result: Result, demands: Sequence[float]) -> Any:
    """Return what each flow would have, bit/s, if the links that were used were shared fairly.

    Cross traffic takes part, and demands what it sent.
    """
    found = result.layout
    of_kind = {
        placed.kind: {step for hop in found.hops(placed) for step in hop.sent_by(placed.sender)}
        for placed in found.distinct_flows
    }
    steps = [of_kind[placed.kind] for placed in found.flows]
    wanted = [*demands]
    for index, source in enumerate(result.experiment.cross_traffic):
        route, sender = found.cross_traffic(index)
        steps.append({*route.sent_by(sender)})
        sent = 8 * source.packet * result.raw.cross_traffic[index].sent / result.measured_time
        # A link's capacity is what it carries of payload, so UDP takes as much less of it.
        wanted.append(sent * _payload_share(result))
    capacities: dict[Step, float] = {}
    for step in sorted(set().union(*of_kind.values())):
        link = result.links[step.link]
        capacity = _capacity(result, link.reverse if step.is_reverse else link.forward)
        if capacity > 0 and math.isfinite(capacity):
            capacities[step] = capacity
    crosses = [[step in of_flow for step in capacities] for of_flow in steps]
    fair = metrics.max_min_allocation([*capacities.values()], wanted, crosses)[: len(demands)]
    return np.where(np.isfinite(fair), fair, math.nan)


def _leg_names(legs: list[list[Any]]) -> list[str]:
    """Name the connections of the flow that has most. Other flows may have fewer, or others."""
    return [leg.name for leg in max(legs, key=len)]


def _cc_name(legs: list[Any]) -> str:
    return str(Result.path_leg(legs).cc)


def _variable(dims: tuple[str, ...], values: Any, unit: str, doc: str) -> tuple[Any, ...]:
    return dims, np.asarray(values, dtype=float), {"units": unit, "long_name": doc}
