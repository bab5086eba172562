# SPDX-License-Identifier: GPL-2.0-only
"""All metrics of one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tunnelcc.metrics import convergence, counts, fairness, samples

if TYPE_CHECKING:
    import xarray


class _Run:
    """A run's variables as arrays, and what several metrics need of them."""

    def __init__(self, variables: Mapping[str, Any]) -> None:
        self._variables = variables

    def __getitem__(self, name: str) -> Any:
        return self._variables[name]

    def path(self, name: str) -> float:
        """Return a total of the direction of the data."""
        return float(self[name][0])

    @cached_property
    def goodputs(self) -> Any:
        return 8 * self["delivered_bytes"] / self["measured_time"]

    def jain_of(self, owner: str) -> float:
        """Return Jain's index of what flows with the same ``owner`` get together."""
        totals = fairness.group_totals(self.goodputs, list(self[owner]))
        return fairness.jain_index([*totals.values()])

    @cached_property
    def max_min_shares(self) -> NDArray[np.float64]:
        return fairness.max_min_shares(self.goodputs, float(self["capacity"]), self["demand"])

    @property
    def srtts(self) -> Any:
        """Of the legs that cross the path."""
        names = list(self["leg"])
        return self["srtt"][:, names.index("carrier") if "carrier" in names else 0]


@dataclass(frozen=True)
class Metric:
    """``definition``: formula and source; ``of``: its value in SI units, of a run.

    ``per_flow``: one value for each flow.
    """

    units: str
    long_name: str
    definition: str
    of: Callable[[_Run], Any]
    per_flow: bool = False

    @property
    def dims(self) -> tuple[str, ...]:
        """Its dimensions in the Dataset of a run."""
        return ("flow",) if self.per_flow else ()


def _loss_rate(run: _Run) -> float:
    lost = [run.path(name) for name in ("queue_drops", "policer_drops", "random_losses")]
    return counts.loss_rate(float(np.nansum(lost)), run.path("packets"))


def _rtts(run: _Run) -> list[float]:
    return [
        samples.mean(samples.valid(np.nan_to_num(srtt), run["time"], float(run["warmup"])))
        for srtt in run.srtts
    ]


def _fair_convergence_time(run: _Run) -> float:
    last = float(np.max(run["start"]))
    return convergence.fair_convergence_time(run["flow_goodput"], run["time"], last)


def _rate_convergence_times(run: _Run) -> list[float]:
    targets = fairness.max_min_allocation(float(run["capacity"]), run["demand"])
    return [
        convergence.rate_convergence_time(rate, run["time"], float(start), target)
        for rate, start, target in zip(run["flow_goodput"], run["start"], targets, strict=True)
    ]


def _latency(part: str, long_name: str) -> Metric:
    definition = (
        "of writes at flows.rate: from when each is due until its last byte is read; NaN: no rate"
    )
    name = f"message_latency_{part}"
    return Metric("s", long_name, definition, lambda run: run[name], per_flow=True)


_JAIN = "(Σx)² / (n Σx²) of goodputs x; Jain, Chiu, Hawe, DEC TR-301, 1984"
_MAX_MIN = (
    "goodput / what max-min fairness gives of the payload that fits; Bertsekas and Gallager, Data "
    "Networks, section 6.5.2; Philip et al., SIGCOMM 2024"
)
_FAIR_TIME = (
    f"from the last flow's start until shares of the next {convergence.HOLD:g} s are within "
    f"(1 ± {convergence.DELTA:g}) / n; RFC 5166, section 2.3"
)
_RATE_TIME = (
    f"from the flow's start until rates over {convergence.WINDOW:g} s stay within "
    f"{100 * convergence.TOLERANCE:g} % of the max-min fair one for {convergence.HOLD:g} s; "
    "Dong et al., PCC, NSDI 2015, section 4.2.2"
)
_QUEUE = "waiting time of packets that were not dropped, at the bottleneck"

#: Name → what it is. Those of one flow begin with ``flow_``. Warm-up left out, but for ratios of
#: counts and for times since a flow's start.
METRICS = {
    "goodput": Metric(
        "bit/s", "goodput of all flows", "Σ 8·B/t; RFC 2647, section 3.17",
        lambda run: np.sum(run.goodputs),
    ),
    "utilisation": Metric(
        "1", "utilisation of the bottleneck", "bytes served / bytes it could serve",
        lambda run: run.path("mean_utilisation"),
    ),
    "jain": Metric(
        "1", "Jain's index", f"{_JAIN}, n flows", lambda run: fairness.jain_index(run.goodputs)
    ),
    "jain_users": Metric(
        "1", "Jain's index of the users",
        "the same of n users: what the flows of each (flows.user) get together",
        lambda run: run.jain_of("user"),
    ),
    "jain_carriers": Metric(
        "1", "Jain's index of the carriers",
        "the same of n carriers, a tunnel's connections across the path: what the flows on each "
        "get together; 1 where all share one, as through a tunnel of packets",
        lambda run: run.jain_of("carrier"),
    ),
    "max_min_share": Metric(
        "1", "least max-min share of a flow", _MAX_MIN, lambda run: np.min(run.max_min_shares)
    ),
    "fair_convergence_time": Metric(
        "s", f"time to shares within {100 * convergence.DELTA:g} % of equal", _FAIR_TIME,
        _fair_convergence_time,
    ),
    "queue_delay_mean": Metric(
        "s", "mean queueing delay", _QUEUE, lambda run: run.path("queue_delay_mean")
    ),
    "queue_delay_p50": Metric(
        "s", "median of the queueing delay", _QUEUE, lambda run: run.path("queue_delay_p50")
    ),
    "queue_delay_p95": Metric(
        "s", "95th percentile of the queueing delay", _QUEUE,
        lambda run: run.path("queue_delay_p95"),
    ),
    "queue_delay_p99": Metric(
        "s", "99th percentile of the queueing delay", _QUEUE,
        lambda run: run.path("queue_delay_p99"),
    ),
    "loss_rate": Metric(
        "1", "loss rate of the path", "packets dropped or lost / offered; RFC 7680", _loss_rate
    ),
    "retransmission_ratio": Metric(
        "1", "retransmission ratio",
        "retransmissions / data segments sent across the path, from the start",
        lambda run: counts.retransmission_ratio(
            float(run["path_retransmits"]), float(run["path_segments"])
        ),
    ),
    "efficiency": Metric(
        "1", "application bytes per byte on the wire",
        "application bytes read / IP bytes sent across the path, from the start",
        lambda run: counts.efficiency(np.sum(run["total_bytes"]), float(run["wire_bytes"])),
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
        per_flow=True,
    ),
    "flow_share": Metric(
        "1", "share of the goodput", "x / Σx", lambda run: fairness.shares(run.goodputs),
        per_flow=True,
    ),
    "flow_max_min_share": Metric(
        "1", "max-min share", _MAX_MIN, lambda run: run.max_min_shares, per_flow=True
    ),
    "flow_convergence_time": Metric(
        "s", "time to a stable fair rate", _RATE_TIME, _rate_convergence_times, per_flow=True
    ),
    "flow_completion_time": Metric(
        "s", "flow completion time",
        "from connecting until the last byte was read; Dukkipati and McKeown, CCR 2006",
        lambda run: run["completion"] - run["start"], per_flow=True,
    ),
    "flow_rtt": Metric(
        "s", "mean smoothed RTT across the path", "RFC 6298's SRTT of the carrier, or of the flow",
        _rtts, per_flow=True,
    ),
    "flow_socket_rtt": Metric(
        "s", "mean smoothed RTT of the application's socket",
        "RFC 6298's SRTT of the application that sends", lambda run: run["socket_rtt"],
        per_flow=True,
    ),
    "flow_message_latency_mean": _latency("mean", "mean latency of messages"),
    "flow_message_latency_p50": _latency("p50", "median of the latency of messages"),
    "flow_message_latency_p95": _latency("p95", "95th percentile of the latency of messages"),
    "flow_message_latency_p99": _latency("p99", "99th percentile of the latency of messages"),
    "flow_base_rtt": Metric(
        "s", "base RTT", "as configured", lambda run: run["base_rtt"], per_flow=True
    ),
    "flow_start": Metric(
        "s", "start", "when it connects, jitter included", lambda run: run["start"], per_flow=True
    ),
}  # fmt: skip


def of_run(run: xarray.Dataset) -> xarray.Dataset:
    """Return all METRICS of a run, ``Result.dataset``: scalars, and variables over ``flow``.

    ``flow_cc`` names each flow's congestion control across the path. The functions of this package
    define each metric; queueing delay is the waiting time of packets that were not dropped, CPU use
    is of the measured time, flow completion time begins with connecting (Dukkipati and McKeown, Why
    Flow-Completion Time is the Right Metric for Congestion Control, CCR 2006). All have ``units``
    and ``long_name``.
    """
    import xarray

    found = values({str(name): variable.values for name, variable in run.variables.items()})
    data = {
        name: (metric.dims, found[name], {"units": metric.units, "long_name": metric.long_name})
        for name, metric in METRICS.items()
    }
    names = xarray.Variable("flow", found["flow_cc"], {"long_name": "congestion control"})
    return xarray.Dataset({**data, "flow_cc": names}, {"flow": run.variables["flow"]})


def values(variables: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return what of_run() does as plain arrays, of the arrays of a run, which takes less time."""
    run = _Run(variables)
    found = {name: np.asarray(metric.of(run), dtype=float) for name, metric in METRICS.items()}
    return {**found, "flow_cc": np.asarray(run["cc"])}
