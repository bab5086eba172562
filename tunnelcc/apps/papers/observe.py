# SPDX-License-Identifier: GPL-2.0-only
"""The points of a figure, and the values from their runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

import tunnelcc as tc
from tunnelcc.apps.papers.declare import Figure
from tunnelcc.apps.papers.naive import Naive
from tunnelcc.metrics import METRICS
from tunnelcc.plots import algorithm_label

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Taken of every run: they say what set the pace, whatever the figure asks for.
DIAGNOSTICS = ("drops", "window_share", "utilisation")


@dataclass(frozen=True)
class Observation:
    """The quantities of one run, SI; optionally each flow's goodput over time (bit/s, s).

    ``is_steady``: no flow's goodput still changes (the metric ``flow_drift``).
    """

    values: Mapping[str, float]
    is_steady: bool = True
    time: NDArray[np.float64] | None = None
    goodput: NDArray[np.float64] | None = None


@dataclass
class Point:
    """One experiment of a figure and its values, with one run per seed."""

    axes: Mapping[str, str]
    experiment: tc.Experiment
    runs: list[Observation] = field(default_factory=list)

    @property
    def shown(self) -> tuple[str, ...]:
        """Where it is on the axes, as tables and figures show it."""
        return tuple(algorithm_label(value) for value in self.axes.values())

    @property
    def is_steady(self) -> bool:
        """Whether most runs are."""
        return 2 * sum(not run.is_steady for run in self.runs) < max(len(self.runs), 1)

    def values(self, quantity: str) -> list[float]:
        """Return one value per run, SI."""
        return [run.values[quantity] for run in self.runs]

    def mean(self, quantity: str) -> float:
        """Return the mean over runs. It is infinite if the quantity is infinite in any run."""
        values = self.values(quantity)
        return math.inf if math.inf in values else math.fsum(values) / len(values)

    def spread(self, quantity: str) -> tuple[float, float]:
        """Return the smallest and the largest value over runs."""
        values = self.values(quantity)
        return min(values), max(values)


def observe(figure: Figure, experiment: tc.Experiment, result: tc.Result | None) -> Observation:
    """Return the figure's quantities of a run, and the diagnostics. Without a run: of theory."""
    known = _facts(experiment)
    values = {} if result is None else {name: result.metric(name) for name in DIAGNOSTICS}
    for name, quantity in figure.quantities.items():
        if quantity.is_measured:
            values[name] = quantity.of(result)
    for name, quantity in figure.quantities.items():
        if not quantity.is_measured:
            try:
                values[name] = float(quantity.of(SimpleNamespace(**{**known, **values})))
            except (ArithmeticError, ValueError):  # a division by zero, the root of −1
                values[name] = math.nan
    if result is None:
        return Observation(values)
    if figure.x == "time":  # it is about the change
        return Observation(values, time=result["time"], goodput=result["flow_goodput_series"])
    return Observation(values, not np.nan_to_num(METRICS["flow_drift"](result)).any())


def expect(figure: Figure, experiment: tc.Experiment) -> Mapping[str, float]:
    """Return what arithmetic says of the figure's quantities, SI; NaN: nothing."""
    known, naive, values = _facts(experiment), Naive(experiment), dict[str, float]()
    for name, quantity in figure.quantities.items():
        source = naive if quantity.is_measured else SimpleNamespace(**{**known, **values})
        try:
            values[name] = float(quantity.of(source))
        except (ArithmeticError, ValueError, KeyError):
            values[name] = math.nan
    return values


def _facts(experiment: tc.Experiment) -> dict[str, Any]:
    """Return what declare.derived() promises of an experiment, SI and bytes."""
    path, sizes = experiment.path, tc.sizes(experiment)
    return {
        "rate": path.rate,
        "rtt": path.rtt,
        "loss": path.loss,
        "bdp": path.rate * path.rtt / 8,
        "window": sizes.window,
        "mss": sizes.mss,
        "packet": sizes.packet,
        "outer": sum(sizes.outer),
        "outer_packets": len(sizes.outer),
        "initial_window": experiment.tcp.initial_window,
        "flow_count": sum(flow.count for flow in experiment.flows),
    }
