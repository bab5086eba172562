# SPDX-License-Identifier: GPL-2.0-only
"""Every metric of a run, declared once and looked up by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tunnelcc.errors import ConfigError, Problem, nearest
from tunnelcc.metrics import convergence, counts, fairness, limits, samples
from tunnelcc.metrics.run import SELECTION, RunData, Selection, Series

if TYPE_CHECKING:
    import xarray

# Of Ethernet (IEEE 802.3), bytes; FCS, preamble and gap are not counted by interfaces.
_FRAME_HEADER = 14


@dataclass(frozen=True)
class Metric:
    """A metric. ``definition``: formula and source. ``of``: its value in SI units, for a run.

    ``per_flow``: one value for each flow. ``heeds``: the arguments that it accepts. ``is_stored``:
    part of every run of a sweep. ``is_event``: the time until an event; NaN if it does not happen.
    """

    units: str
    long_name: str
    definition: str
    of: Callable[[RunData], Any]
    per_flow: bool = False
    heeds: tuple[str, ...] = ()
    is_stored: bool = True
    is_event: bool = False

    @property
    def dims(self) -> tuple[str, ...]:
        """Its dimensions in the Dataset of a run."""
        return ("flow",) if self.per_flow else ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The arguments that value() accepts."""
        return ("flow", *self.heeds) if self.per_flow else self.heeds


def _goodput(run: RunData) -> float:
    flow = run.selection.flow
    if run.selection.is_timed:
        return samples.mean(run.rate[run.measured])
    return samples.total(run.goodputs) if flow is None else float(run.goodputs[flow])


def _loss_rate(run: RunData) -> float:
    names = ("queue_drops", "policer_drops", "random_losses", "packets")
    return counts.link_loss_rate(*map(run.path, names))


def _starts(run: RunData) -> Series:
    end = float(run["warmup"]) + float(run["measured_time"])
    starts: Series = np.where(run["start"] < end, run["start"], counts.NAN)
    return starts


def _window_share(run: RunData) -> float:
    measured = run["time"] > run.since
    flights = [flight[measured] for flight in run.across_path("in_flight")]
    medians = [np.median(flight[flight > 0]) if flight.any() else 0 for flight in flights]
    return float(np.mean(medians)) / float(run["receive_window"])


def _interface_efficiency(run: RunData) -> float:
    entered, sent = (
        float(run[f"{way}_bytes"]) + _FRAME_HEADER * float(run[f"{way}_packets"])
        for way in ("inner", "outer")
    )
    return counts.ratio(entered, sent)


def _max_min_share(run: RunData) -> float:
    shares = run.max_min_shares
    known = shares[~np.isnan(shares)]
    return float(known.min()) if known.size else counts.NAN


def _fair_convergence_time(run: RunData) -> float:
    last = float(np.max(run["start"]))
    return convergence.fair_convergence_time(run["flow_goodput_series"], run["time"], last)


def _tunnel_share(run: RunData) -> Any:
    whole = samples.total(run.goodputs)
    return run.tunnel_goodputs / (whole if whole > 0 else counts.NAN)


def _recovery_delay(run: RunData) -> float:
    return float(run["fec_recovery_delay_mean"]) if run["fec_recovered"] > 0 else counts.NAN


def _completion_times(run: RunData) -> Series:
    times: Series = np.where(_starts(run) >= run["warmup"], run.completion_times, counts.NAN)
    return times


def _completed(run: RunData) -> Series:
    is_measured = np.isfinite(run["finite_bytes"]) & (_starts(run) >= run["warmup"])
    completed: Series = np.where(is_measured, np.isfinite(run.completion_times), counts.NAN)
    return completed


def _within(run: RunData) -> float:
    within = run.selection.within
    return convergence.WITHIN if within is None else within


def _settling_time(run: RunData) -> float:
    within = _within(run)
    return convergence.settling_time(run.rate, run["time"], run.since, run.active_until, within)


def _rise_time(run: RunData) -> float:
    within = _within(run)
    start = float(run["start"][run.selection.flow or 0])
    return convergence.rise_time(run.rate, run["time"], start, within, run.active_until)


def _dip_interval(run: RunData) -> float:
    within, measured = _within(run), run.measured
    return convergence.dip_interval(run.rate[measured], run["time"][measured], within)


def _rate_convergence_times(run: RunData) -> list[float]:
    rates = run["flow_goodput_series"]
    return [
        convergence.rate_convergence_time(rate, run["time"], float(start), target)
        for rate, start, target in zip(rates, run["start"], run["fair_rate_series"], strict=True)
    ]


# models/path/histogram.h: 64 buckets for each doubling.
_QUANTILE = "within 0.8 % of the exact value"


def _latency(part: str, long_name: str) -> Metric:
    definition = (
        "of messages that arrive (see flow_message_delivered_share): time from the due time of a "
        "write at flows.rate until its last byte is read; NaN without flows.rate"
    )
    if part.startswith("p"):
        definition += f"; {_QUANTILE}"
    name = f"message_latency_{part}"
    return Metric("s", long_name, definition, lambda run: run[name], per_flow=True)


def _limit(name: str, words: str) -> Metric:
    definition = (
        "time that this limit stopped the sender of the carrier (or of the flow) / measured time "
        "from its start to its end; in a chain of relays the first carrier; pacing within one "
        "round trip of another limit counts as that limit"
    )
    index = list(limits.LIMITS).index(name)
    return Metric(
        "1", f"share of time limited by the {words}", definition,
        lambda run: [shares[index] for shares in run.across_path("limit_share")],
        per_flow=True, is_stored=False,
    )  # fmt: skip


_JAIN = (
    "(Σx)² / (n Σx²) of goodputs x over the whole measured time, of flows that start late or stop "
    "early, too; without cross traffic; Jain, Chiu, Hawe, DEC TR-301, 1984"
)
_MAX_MIN = (
    "goodput / the flow's max-min fair rate on the links that its data cross, as plain TCP without "
    "a tunnel's overhead would have it: the mean over the measured time, where a flow demands "
    "flows.rate or all from its start until its last byte is read, and cross traffic its mean rate "
    "from its start to its stop; a link offers its rate at the time (of a rate_trace the mean over "
    "each second), or its policer's; "
    "Bertsekas and Gallager, Data Networks, section 6.5.2; Philip et al., SIGCOMM 2024"
)
_FAIR_TIME = (
    f"time from the last flow's start until all shares of the next {convergence.HOLD:g} s "
    f"are within (1 ± {convergence.DELTA:g}) / n; RFC 5166, section 2.3"
)
_RATE_TIME = (
    f"time from the flow's start until its means over {convergence.WINDOW:g} s stay within "
    f"{100 * convergence.TOLERANCE:g} % of the max-min fair rate of that time (see "
    f"flow_max_min_share) for {convergence.HOLD:g} "
    "s; Dong et al., PCC, NSDI 2015, section 4.2.2"
)
_FIRST_HOP = "in a chain of relays on its first hop alone"
_FEC = "NaN without FEC, and for KCP, which sends again what its FEC does not repair"
_QUEUE = "waiting time at the bottleneck of packets that were not dropped"
_QUEUE_QUANTILE = f"{_QUEUE}; {_QUANTILE}"

_WHEN = ("flow", "since", "until")

#: Name → what it is. Those of each flow begin with ``flow_``. Warm-up left out, but where a
#: definition says since the start, and for times since a flow's start.
METRICS: dict[str, Metric] = {
    "goodput": Metric(
        "bit/s", "goodput of all flows", "Σ 8·B/t; RFC 2647, section 3.17",
        _goodput, heeds=_WHEN,
    ),
    "utilisation": Metric(
        "1", "utilisation of the bottleneck", "bytes sent / bytes that it could send",
        lambda run: run.path("mean_utilisation"),
    ),
    "jain": Metric(
        "1", "Jain's index", f"of n flows {_JAIN}",
        lambda run: fairness.jain_index(run["delivered_bytes"]),
    ),
    "jain_users": Metric(
        "1", "Jain's index of users",
        "the same for n users: x is the sum over a user's flows (flows.user)",
        lambda run: run.jain_of_users,
    ),
    "jain_carriers": Metric(
        "1", "Jain's index of carriers",
        "the same for n carriers (a tunnel's connections across the path): x is the sum "
            "over a carrier's flows; 1 if all flows share one, as in a packet tunnel; a flow "
            "without a tunnel counts as a carrier",
        lambda run: run.jain_of_carriers,
    ),
    "jain_tunnels": Metric(
        "1", "Jain's index of tunnels",
        "the same for n tunnels between two hosts: x is the sum over a tunnel's flows; "
            "NaN without tunnels",
        lambda run: run.jain_of_tunnels,
    ),
    "max_min_share": Metric(
        "1", "smallest max-min share of a flow", _MAX_MIN, _max_min_share
    ),
    "fair_convergence_time": Metric(
        "s", f"time until shares are within {100 * convergence.DELTA:g} % of equal", _FAIR_TIME,
        _fair_convergence_time, is_event=True,
    ),
    "queue_delay_mean": Metric(
        "s", "mean queueing delay", _QUEUE, lambda run: run.path("queue_delay_mean")
    ),
    "queue_delay_p50": Metric(
        "s", "median of the queueing delay", _QUEUE_QUANTILE,
        lambda run: run.path("queue_delay_p50"),
    ),
    "queue_delay_p95": Metric(
        "s", "95th percentile of the queueing delay", _QUEUE_QUANTILE,
        lambda run: run.path("queue_delay_p95"),
    ),
    "queue_delay_p99": Metric(
        "s", "99th percentile of the queueing delay", _QUEUE_QUANTILE,
        lambda run: run.path("queue_delay_p99"),
    ),
    "loss_rate": Metric(
        "1", "loss rate of the path",
        "packets dropped or lost / packets offered, after the warm-up; RFC 7680", _loss_rate,
    ),
    "retransmission_ratio": Metric(
        "1", "retransmission ratio",
        f"retransmissions / data segments sent across the path; {_FIRST_HOP}",
        lambda run: counts.retransmission_ratio(
            float(run["path_retransmits"]), float(run["path_segments"])
        ),
    ),
    "efficiency": Metric(
        "1", "application bytes per byte on the wire",
        f"application bytes read / IP bytes sent across the path, since the start; {_FIRST_HOP}",
        lambda run: counts.efficiency(run["total_bytes"].sum(), float(run["wire_bytes"])),
    ),
    "cpu_client": Metric(
        "1", "CPU use of the client, all cores", "CPU time / (cores · time)",
        lambda run: run["mean_cpu"][0],
    ),
    "cpu_server": Metric(
        "1", "CPU use of the server, all cores", "CPU time / (cores · time)",
        lambda run: run["mean_cpu"][1],
    ),
    "flow_goodput": Metric(
        "bit/s", "goodput", "8·B/t; RFC 2647, section 3.17", lambda run: run.goodputs,
        per_flow=True, heeds=("since", "until"),
    ),
    "flow_share": Metric(
        "1", "share of the goodput", "x / Σx", lambda run: fairness.shares(run.goodputs),
        per_flow=True,
    ),
    "flow_tunnel_goodput": Metric(
        "bit/s", "goodput of the flow's tunnel",
        "sum of x over the flows in the same tunnel; the flow's own x without a tunnel",
        lambda run: run.tunnel_goodputs, per_flow=True,
    ),
    "flow_tunnel_share": Metric(
        "1", "share of the flow's tunnel in the total goodput", "flow_tunnel_goodput / goodput",
        _tunnel_share, per_flow=True,
    ),
    "flow_group": Metric(
        "1", "entry of flows", "N of the keys flows.N that describe the flow",
        lambda run: run["group"], per_flow=True,
    ),
    "flow_max_min_share": Metric(
        "1", "max-min share", _MAX_MIN, lambda run: run.max_min_shares, per_flow=True
    ),
    "flow_convergence_time": Metric(
        "s", "time to a stable fair rate", _RATE_TIME, _rate_convergence_times, per_flow=True,
        is_event=True,
    ),
    "flow_completion_time": Metric(
        "s", "flow completion time",
        "from the start of the connection until the last of flows.bytes is read; NaN without "
            "flows.bytes, if flows.stop or the run ends first, and for a flow that starts in the "
            "warm-up; Dukkipati and McKeown, CCR 2006",
        _completion_times, per_flow=True, is_event=True,
    ),
    "flow_completed": Metric(
        "1", "part of the flows that complete",
        "1 if the flow completes (see flow_completion_time), or else 0; NaN without flows.bytes, "
            "and for a flow that starts in the warm-up or after the end of the run",
        _completed, per_flow=True,
    ),
    "flow_bytes": Metric(
        "byte", "bytes to send", "flows.bytes, or drawn with flows.bytes_shape; NaN: no end",
        lambda run: run["finite_bytes"], per_flow=True,
    ),
    "flow_rtt": Metric(
        "s", "mean smoothed RTT across the path",
        "RFC 6298's SRTT of the carrier, or of the flow without one, sampled every probe_interval "
            f"(NaN for a flow that is over before the first sample); {_FIRST_HOP}",
        lambda run: run.srtts(samples.mean_srtt), per_flow=True, heeds=("since",),
    ),
    "flow_socket_rtt": Metric(
        "s", "mean smoothed RTT of the application's socket",
        "RFC 6298's SRTT of the sending application", lambda run: run["socket_rtt"],
        per_flow=True,
    ),
    "flow_message_latency_mean": _latency("mean", "mean latency of messages"),
    "flow_message_latency_p50": _latency("p50", "median of the latency of messages"),
    "flow_message_latency_p95": _latency("p95", "95th percentile of the latency of messages"),
    "flow_message_latency_p99": _latency("p99", "99th percentile of the latency of messages"),
    "flow_message_delivered_share": Metric(
        "1", "share of messages that arrive",
        "writes at flows.rate that were due after the warm-up and arrived whole before the end of "
            "the run / those that were due; NaN without flows.rate",
        lambda run: [
            counts.ratio(float(part), float(whole))
            for part, whole in zip(run["messages_delivered"], run["messages_due"], strict=True)
        ],
        per_flow=True,
    ),
    "flow_base_rtt": Metric(
        "s", "base RTT", "as configured; without the links of tunnel.chain",
        lambda run: run["base_rtt"], per_flow=True,
    ),
    "flow_start": Metric(
        "s", "start", "time when it connects, jitter included; NaN: after the end of the run",
        _starts, per_flow=True,
    ),
    "flow_rtt_p95": Metric(
        "s", "95th percentile of the smoothed RTT across the path", "as flow_rtt",
        lambda run: run.srtts(samples.p95_srtt), per_flow=True, heeds=("since",),
    ),
    "flow_limited_share": Metric(
        "1", "share of time limited by flow_limited_by",
        "time for which the limit held that held longest / measured time from the flow's start to "
            "its end, at the connection or the stream where it is",
        lambda run: run["limited_share"], per_flow=True,
    ),
    **{f"flow_limit_{name}": _limit(name, words) for name, words in limits.LIMITS.items()},
    "drops": Metric(
        "packets", "drops at the bottleneck", "packets that the full queue dropped",
        lambda run: run.path("queue_drops"), is_stored=False,
    ),
    "window_share": Metric(
        "1", "share of the receive window in flight",
        "mean over flows of (median of data in flight while there is any / TCP's receive "
            "window); NaN across KCP, RUDP and QUIC",
        _window_share, is_stored=False,
    ),
    "app_retransmits": Metric(
        "segments", "retransmissions of the applications' connections",
        "as iperf3 shows; with a relay, those of the loopback",
        lambda run: float(np.sum(run["app_retransmits"])), is_stored=False,
    ),
    "carrier_retransmits": Metric(
        "segments", "retransmissions across the path",
        f"of the carriers, or of the flows without one; {_FIRST_HOP}",
        lambda run: float(run["carrier_retransmits"]), is_stored=False,
    ),
    "cpu": Metric(
        "1", "CPU use of the busier host, all cores", "the larger of cpu_client and cpu_server",
        lambda run: np.max(run["mean_cpu"]), is_stored=False,
    ),
    "interface_efficiency": Metric(
        "1", "Ethernet bytes into datagram tunnels per byte that they send",
        "(inner IP bytes + 14 per inner packet) / (outer IP bytes + 14 per outer packet), as "
            "interfaces count, of all datagram tunnels in the direction of the data, since the "
            f"start; {_FIRST_HOP}; NaN without a datagram tunnel",
        _interface_efficiency, is_stored=False,
    ),
    "residual_loss": Metric(
        "1", "loss that FEC did not repair",
        "packets that tunnels with FEC did not deliver / packets that entered them, in the "
            f"direction of the data; {_FIRST_HOP}; {_FEC}",
        lambda run: counts.ratio(float(run["fec_lost"]), float(run["fec_packets"])),
    ),
    "recovered_share": Metric(
        "1", "packets that FEC repaired",
        "packets recovered from parity / packets that entered the tunnel; where FEC joins packets "
            "into shards (udpspeeder, tinyfecvpn), all packets of a group with a lost shard count, "
            f"because none of them arrives without parity; {_FEC}",
        lambda run: counts.ratio(float(run["fec_recovered"]), float(run["fec_packets"])),
    ),
    "parity_share": Metric(
        "1", "share of parity in the bytes",
        "IP bytes of parity, of tunnels and of KCP / IP bytes sent across the path, since the "
            f"start; {_FIRST_HOP}; NaN without FEC",
        lambda run: counts.ratio(float(run["fec_parity_bytes"]), float(run["wire_bytes"])),
    ),
    "recovery_delay": Metric(
        "s", "mean delay of FEC recovery",
        "time between a lost packet and the shard that recovered it, at the sender, since "
            f"the start; over several tunnels weighted by packets recovered; {_FEC}",
        _recovery_delay,
    ),
    "settling_time": Metric(
        "s", "settling time of the goodput",
        f"time from since (default: the end of the warm-up) until means over "
            f"{convergence.STEADY:g} s are within reach of the median of the second half of the "
            "time; the time of finite flows ends with their last byte",
        _settling_time, heeds=(*_WHEN, "within"), is_stored=False, is_event=True,
    ),
    "rise_time": Metric(
        "s", "rise time of the goodput",
        "time from the start of the connection until the goodput first reaches 1 − within "
            "of its median in the second half of the time until the end, or until a finite "
            "flow's last byte",
        _rise_time, heeds=("flow", "within"), is_stored=False, is_event=True,
    ),
    "dip_interval": Metric(
        "s", "interval between dips of the goodput",
        "median time between dips below 1 − within of the goodput's median",
        _dip_interval, heeds=(*_WHEN, "within"), is_stored=False, is_event=True,
    ),
}  # fmt: skip

#: Those of every run of a sweep.
STORED = {name: metric for name, metric in METRICS.items() if metric.is_stored}

#: What a sweep stores of each flow in words: name → (variable of a run, what it is).
TEXTS = {
    "flow_cc": ("cc", "congestion control across the path"),
    "flow_transport": ("transport", "transport"),
    "flow_tunnel": ("tunnel", "tunnel of the flow, or none"),
    "flow_direction": ("flow_direction", "direction of the flow's data: up or down"),
    "flow_limited_by": ("limited_by", "what limited the flow, and its value"),
    "flow_limited_key": ("limited_key", "key that changes what limited the flow"),
}


def value(run: RunData, name: str, selection: Selection | None = None) -> float:
    """Return a metric of a run as one number. A metric per flow needs the flow.

    Raises ConfigError for an unknown metric, and for arguments that the metric does not accept.
    """
    if name not in METRICS:
        expected = "a metric of `tunnelcc show metrics`"
        raise ConfigError(Problem("metric", name, expected, nearest(name, METRICS)))
    metric, selection = METRICS[name], selection or Selection()
    for key in SELECTION:
        asked = getattr(selection, key)
        if asked is not None and key not in metric.keys:
            heeded = ", ".join(metric.keys) or "nothing"
            raise ConfigError(Problem(key, asked, f"no argument except: {name} accepts {heeded}"))
    found = metric.of(run.select(selection))
    return float(found[selection.flow or 0] if metric.per_flow else found)


def of_run(run: xarray.Dataset) -> xarray.Dataset:
    """Return the STORED metrics of a run, ``Result.dataset``: scalars, and others over ``flow``.

    ``flow_cc`` is each flow's congestion control across the path; ``flow_transport``,
    ``flow_tunnel``, ``flow_direction``, ``flow_limited_by`` and ``flow_limited_key`` are texts.
    Each metric has ``units`` and ``long_name``; `tunnelcc show metrics` prints the definitions.
    """
    import xarray

    found = values({str(name): variable.values for name, variable in run.variables.items()})
    data = {
        name: (metric.dims, found[name], {"units": metric.units, "long_name": metric.long_name})
        for name, metric in STORED.items()
    }
    texts = {name: ("flow", found[name], {"long_name": doc}) for name, (_, doc) in TEXTS.items()}
    return xarray.Dataset({**data, **texts}, {"flow": run.variables["flow"]})


def values(variables: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return of_run() as plain arrays, computed from the arrays of a run, which is faster."""
    run = RunData(variables)
    found = {name: np.asarray(metric.of(run), dtype=float) for name, metric in STORED.items()}
    return {**found, **{name: np.asarray(run[source]) for name, (source, _) in TEXTS.items()}}
