# SPDX-License-Identifier: GPL-2.0-only
"""What is taken from a run to be set beside a published number.

Only these numbers are kept of a run, and the goodput over time where a figure shows it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tunnelcc import catalog, metrics
from tunnelcc.config import derived
from tunnelcc.papers import expression
from tunnelcc.simulation.result import Result

if TYPE_CHECKING:
    from tunnelcc.config import Experiment
    from tunnelcc.papers.format import Quantity

Series = NDArray[np.float64]

# A carrier whose data in flight came this near to the receive window was limited by it.
WINDOW_LIMITED = 0.97
# Of Ethernet (IEEE 802.3), bytes; FCS, preamble and gap are not counted by interfaces.
_FRAME_HEADER = 14
# What counts as arrived (settling_time, rise_time) or as a dip, if the quantity does not say.
_WITHIN = 0.2
# A flow has arrived where the mean over this long is near its level, s.
_STEADY = 0.5


@dataclass(frozen=True)
class Measure:
    """A number taken of a result. ``keys``: those of a quantity that it heeds."""

    unit: str
    doc: str
    take: Callable[[Result, Quantity], float]
    keys: tuple[str, ...] = ()


def _goodput(result: Result, quantity: Quantity) -> float:
    if quantity.since is None and quantity.until is None:
        if quantity.flow is None:
            return result.goodput
        return result.flow_goodput(result.raw.flows[quantity.flow])
    time, series = _series(result, quantity)
    return metrics.mean(series[_measured(result, quantity, time)])


def _app_retransmits(result: Result, quantity: Quantity) -> float:
    """As iperf3 shows them: those of the application's own connection."""
    return float(result.to_dict()["aggregate"]["retransmits"])


def _carrier_retransmits(result: Result, quantity: Quantity) -> float:
    return float(sum(result.path_leg(legs).retransmits for legs in result.legs if legs))


def _window_share(result: Result, quantity: Quantity) -> float:
    """Mean over flows of the median of data in flight, while there is any / receive window."""
    window = derived.receive_window(result.experiment)
    measured = np.asarray(result.raw.time) > result.experiment.warmup
    flights = [np.asarray(result.path_leg(legs).in_flight)[measured] for legs in result.legs]
    medians = [np.median(flight[flight > 0]) if flight.any() else 0 for flight in flights]
    return float(np.mean(medians)) / window


def _completion(result: Result, quantity: Quantity) -> float:
    flow = quantity.flow or 0
    moment = result.raw.flows[flow].completion_time
    return (
        float(moment - list(derived.flows(result.experiment))[flow][1])
        if moment >= 0
        else (math.inf)
    )


def _settling_time(result: Result, quantity: Quantity) -> float:
    """From ``since`` until half-second means come within reach of the later level.

    The level is the median of the second half of the time from ``since`` to ``until``.
    """
    time, series = _series(result, quantity)
    since, until = quantity.since or 0.0, quantity.until or result.experiment.duration
    level = float(np.median(series[(time > (since + until) / 2) & (time <= until)]))
    width = max(1, round(_STEADY / result.experiment.probe_interval))
    after = series[(time > since) & (time <= until)]
    if len(after) < width:
        return math.nan
    means = np.convolve(after, np.ones(width) / width, "valid")
    reached = np.abs(means - level) <= (quantity.within or _WITHIN) * level
    if not reached.any():
        return math.inf
    return float(np.argmax(reached)) * result.experiment.probe_interval


def _rise_time(result: Result, quantity: Quantity) -> float:
    """From connecting until the goodput first comes near its median of the run's second half."""
    time, series = _series(result, quantity)
    start = list(derived.flows(result.experiment))[quantity.flow or 0][1]
    level = float(np.median(series[time > (start + time[-1]) / 2]))
    reached = (time > start) & (series >= (1 - (quantity.within or _WITHIN)) * level)
    return float(time[np.argmax(reached)]) - start if reached.any() else math.inf


def _dip_interval(result: Result, quantity: Quantity) -> float:
    """Median time between the beginnings of dips below (1 − within) of the median."""
    time, series = _series(result, quantity)
    measured = _measured(result, quantity, time)
    time, series = time[measured], series[measured]
    low = series < (1 - (quantity.within or _WITHIN)) * np.median(series)
    begins = time[1:][low[1:] & ~low[:-1]]
    return float(np.median(np.diff(begins))) if len(begins) > 1 else math.inf


def _series(result: Result, quantity: Quantity) -> tuple[Series, Series]:
    flows = np.asarray([flow.goodput for flow in result.raw.flows], dtype=float)
    chosen = flows.sum(axis=0) if quantity.flow is None else flows[quantity.flow]
    return np.asarray(result.raw.time, dtype=float), chosen


def _measured(result: Result, quantity: Quantity, time: Series) -> NDArray[np.bool_]:
    since = result.experiment.warmup if quantity.since is None else quantity.since
    until = result.experiment.duration if quantity.until is None else quantity.until
    half = result.experiment.probe_interval / 2
    measured: NDArray[np.bool_] = (time > since + half) & (time <= until + half)
    return measured


def _interface_efficiency(result: Result, quantity: Quantity) -> float:
    """Of the whole run, in the direction of the data; interfaces count 14 bytes of header a packet.

    Packets are taken for full ones: the few smaller ones are those of connecting.
    """
    tunnel, experiment = result.raw.tunnel_forward, result.experiment
    if experiment.tunnel is None or catalog.load(experiment.tunnel.name).kind != "datagram":
        return math.nan
    full = derived.mss(experiment) + experiment.tcp.header_bytes
    sent = tunnel.outer_bytes + _FRAME_HEADER * tunnel.outer_packets
    packets = tunnel.outer_packets - tunnel.fragmented
    return float(packets * (full + _FRAME_HEADER) / sent)


_WHEN = ("flow", "since", "until")

MEASURES: dict[str, Measure] = {
    "goodput": Measure("bit/s", "application bytes read by the receiver per time", _goodput, _WHEN),
    "app_retransmits": Measure(
        "segments", "retransmissions of the applications' connections", _app_retransmits
    ),
    "carrier_retransmits": Measure(
        "segments", "retransmissions across the path", _carrier_retransmits
    ),
    "drops": Measure(
        "packets",
        "dropped by the bottleneck's full queue",
        lambda result, _: float(result.raw.forward.drops),
    ),
    "utilisation": Measure(
        "1", "use of the bottleneck", lambda result, _: float(result.raw.forward.utilisation)
    ),
    "queue_delay": Measure(
        "s",
        "mean time that packets wait at the bottleneck",
        lambda result, _: float(result.raw.forward.queue_delay_mean),
    ),
    "window_share": Measure("1", "median of data in flight / receive window", _window_share),
    "cpu": Measure(
        "1",
        "use of the busier host's cores",
        lambda result, _: float(max(result.raw.client.utilisation, result.raw.server.utilisation)),
    ),
    "interface_efficiency": Measure(
        "1",
        "Ethernet bytes into a datagram tunnel over those it sends, as interfaces count them",
        _interface_efficiency,
    ),
    "completion_time": Measure(
        "s", "from connecting until a finite flow has been read", _completion, ("flow",)
    ),
    "settling_time": Measure(
        "s",
        "from `since` until means over 0.5 s come within `within` of the level of the second half",
        _settling_time,
        (*_WHEN, "within"),
    ),
    "rise_time": Measure(
        "s",
        "from connecting until the goodput first reaches 1 − `within` of its later median",
        _rise_time,
        ("flow", "within"),
    ),
    "dip_interval": Measure(
        "s",
        "median time between dips of the goodput below 1 − `within` of its median",
        _dip_interval,
        (*_WHEN, "within"),
    ),
}
#: Taken of every run: they say what set the pace, whatever the figure asks for.
DIAGNOSTICS = ("drops", "window_share", "utilisation")


@dataclass(frozen=True)
class Run:
    """The quantities of one run; goodput of each flow over time (bit/s, s) if asked for."""

    seed: int
    values: Mapping[str, float]
    time: Series | None = None
    goodput: Series | None = None


def take(result: Result, quantities: Mapping[str, Quantity], with_series: bool = False) -> Run:
    """Return what ``quantities`` ask of ``result``, formulas last, and the diagnostics."""
    from tunnelcc.papers.format import Quantity

    plain = Quantity(measure="drops")
    values = {name: MEASURES[name].take(result, plain) for name in DIAGNOSTICS}
    for name, quantity in quantities.items():
        if quantity.measure is not None:
            values[name] = MEASURES[quantity.measure].take(result, quantity)
    _add_formulas(values, quantities, result.experiment)
    if not with_series:
        return Run(result.experiment.seed, values)
    goodput = np.asarray([flow.goodput for flow in result.raw.flows], dtype=float)
    return Run(result.experiment.seed, values, np.asarray(result.raw.time, dtype=float), goodput)


def compute(experiment: Experiment, quantities: Mapping[str, Quantity]) -> Run:
    """Return formulas that need no run."""
    values: dict[str, float] = {}
    _add_formulas(values, quantities, experiment)
    return Run(experiment.seed, values)


def _add_formulas(
    values: dict[str, float], quantities: Mapping[str, Quantity], experiment: Experiment
) -> None:
    variables = expression.variables(experiment)
    for name, quantity in quantities.items():
        if quantity.formula is not None:
            values[name] = expression.evaluate(quantity.formula, {**variables, **values})
