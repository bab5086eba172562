# SPDX-License-Identifier: GPL-2.0-only
"""The totals of a run in SI units, as in its JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tunnelcc import metrics
from tunnelcc._version import __version__
from tunnelcc.metrics import RunData, Selection, limits
from tunnelcc.simulation.dataset import FEC_TOTALS
from tunnelcc.simulation.measurements import Measurements

#: Totals of the JSON that count from the start. Numbers in lists, names of links and ``reverse``
#: are left out. All others leave out the warm-up.
SINCE_START = (
    "flows.total_bytes",
    "flows.legs.wire_bytes", "flows.legs.ack_wire_bytes",
    "flows.legs.arq.parity_datagrams", "flows.legs.arq.parity_bytes", "flows.legs.arq.recovered",
    "flows.legs.arq.unrecovered", "flows.legs.arq.given_up",
    "path.queue_max_bytes", "links.queue_max_bytes",
    "tunnels.device_queue_max_packets", "tunnels.inner_packets", "tunnels.inner_bytes",
    "tunnels.outer_packets", "tunnels.outer_bytes", "tunnels.fragmented",
    "tunnels.fec.parity_packets", "tunnels.fec.parity_bytes",
    "tunnels.fec.recovery_delay_mean_s", "tunnels.fec.recovery_delay_p95_s",
    "aggregate.wire_bytes", "aggregate.efficiency",
)  # fmt: skip


def totals(run: Measurements, measured: RunData) -> dict[str, Any]:
    """Return the totals. ``measured``: what metrics read of ``run``. What has no value is None."""
    table = {
        "tunnelcc": __version__,
        "experiment": run.experiment.table(),
        "derived": run.derived,
        "since_start": SINCE_START,
        "flows": [_flow(run, measured, index) for index in range(len(run.raw.flows))],
        "cross_traffic": [_cross_traffic(run, i) for i in range(len(run.raw.cross_traffic))],
        "path": {**_link(run.bottleneck[0]), "reverse": _link(run.bottleneck[1])},
        "links": {
            name: {**_link(link.forward), "reverse": _link(link.reverse)}
            for name, link in run.links.items()
        },
        "hosts": {name: _host(host) for name, host in zip(run.host_names, run.hosts, strict=True)},
        "tunnels": [_tunnel(run, measured, number) for number in range(len(run.raw.tunnels))],
        "users": _groups(measured, "user", run.users),
        "carriers": [
            group
            for group in _groups(measured, "carrier", run.carrier_numbers)
            if group["carrier"] is not None
        ],
        "aggregate": _aggregate(run, measured),
    }
    cleaned: dict[str, Any] = _without_nan(table)
    return cleaned


def _groups(measured: RunData, name: str, members: Sequence[Any]) -> list[dict[str, Any]]:
    """Sums over the flows of one user, or on one carrier."""
    flows: dict[Any, list[int]] = {}
    for index, member in enumerate(members):
        flows.setdefault(member, []).append(index)
    goodputs = metrics.group_totals(measured.goodputs, members)
    return [
        {name: member, "flows": flows[member], "goodput_bps": goodputs[member]} for member in flows
    ]


def _cross_traffic(run: Measurements, index: int) -> dict[str, Any]:
    source, counts = run.experiment.cross_traffic[index], run.raw.cross_traffic[index]
    bits = 8 * source.packet / run.measured_time
    return {
        "offered_bps": counts.sent * bits,
        "delivered_bps": counts.received * bits,
        "packets": counts.sent,
    }


def _tunnel(run: Measurements, measured: RunData, number: int) -> dict[str, Any]:
    """Sums over the flows in a tunnel; in both directions if it carries packets."""
    placed, counts = run.layout.tunnels[number], run.raw.tunnels[number]
    owner = number if placed.hop is None else placed.first.tunnel
    members = [i for i, flow in enumerate(run.layout.flows) if flow.tunnel == owner]
    table = {
        "tunnel": placed.name,
        "from": placed.first.client,
        "to": placed.first.server,
        "flows": members,
        "goodput_bps": float(np.sum(measured.goodputs[members])),
    }
    if counts.forward is None:
        return table
    packets = {**_packet_tunnel(counts.forward), "reverse": _packet_tunnel(counts.reverse)}
    return {**table, **packets}


def _flow(run: Measurements, measured: RunData, index: int) -> dict[str, Any]:
    flow, legs = run.raw.flows[index], run.legs[index]
    placed = run.layout.flows[index]
    return {
        "flow": index,
        "user": run.users[index],
        "carrier": run.carrier_numbers[index],
        "cc": placed.flow.cc.name,
        "transport": placed.flow.transport,
        "direction": placed.direction,
        "start_s": placed.start,
        "rtt_s": placed.connection.rtt,
        "goodput_bps": metrics.value(measured, "flow_goodput", Selection(flow=index)),
        "delivered_bytes": flow.delivered_bytes,
        "total_bytes": flow.total_bytes,
        "first_byte_s": _moment(flow.first_byte_time),
        "completion_s": _moment(flow.completion_time),
        "completion_time_s": metrics.value(measured, "flow_completion_time", Selection(flow=index)),
        # What the application's socket counts, as iperf3 shows it.
        "retransmits": run.sender_leg(index).retransmits if legs else None,
        "messages": _messages(flow.messages),
        "limited_by": vars(run.limited[index]),
        "legs": [_leg(run, leg) for leg in legs],
    }


def _leg(run: Measurements, leg: Any) -> dict[str, Any]:
    srtt = leg.srtt, run.raw.time, run.experiment.warmup
    return {
        "name": leg.name,
        "cc": leg.cc,
        "goodput_bps": metrics.goodput(leg.delivered_bytes, run.measured_time),
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
        "limits": limits.shares(vars(leg.limits)),
        **({"arq": _arq(leg.arq)} if leg.arq else {}),
    }


def _aggregate(run: Measurements, measured: RunData) -> dict[str, Any]:
    return {
        "goodput_bps": metrics.value(measured, "goodput"),
        **{name: metrics.value(measured, name) for name in ("jain", "jain_users", "jain_carriers")},
        "retransmits": sum(run.app_retransmits),
        "path_retransmits": run.carrier_retransmits,
        "path_rtos": sum(leg.rtos for leg in run.carriers),
        "path_segments": run.path_segments,
        "wire_bytes": run.wire_bytes,
        "efficiency": metrics.value(measured, "efficiency"),
    }


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


def _packet_tunnel(direction: Any) -> dict[str, Any]:
    return {
        "packets": direction.packets_in,
        "device_drops": direction.drops,
        "device_queue_max_packets": direction.queue_packets_max,
        "inner_packets": direction.inner_packets,
        "inner_bytes": direction.inner_bytes,
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
    """Messages that were due, and the latency of those that arrived; None if none was due."""
    if messages.due == 0:
        return None
    parts = {part: getattr(messages, f"latency_{part}") for part in ("mean", "p50", "p95", "p99")}
    return {
        "due": messages.due,
        "count": messages.count,
        **{f"latency_{part}_s": it if messages.count else None for part, it in parts.items()},
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
