# SPDX-License-Identifier: GPL-2.0-only
"""The experiments of a figure, and what is taken of their runs: metrics, and formulas of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tunnelcc.config import Experiment
from tunnelcc.metrics import METRICS, SELECTION
from tunnelcc.papers import expression
from tunnelcc.papers.format import MEASURES, Quantity
from tunnelcc.simulation.result import Result

Series = NDArray[np.float64]

#: Taken of every run: they say what set the pace, whatever the figure asks for.
DIAGNOSTICS = ("drops", "window_share", "utilisation")


@dataclass(frozen=True)
class Observation:
    """The quantities of one run, SI; goodput of each flow over time (bit/s, s) if asked for."""

    seed: int
    values: Mapping[str, float]
    time: Series | None = None
    goodput: Series | None = None


@dataclass
class Point:
    """One experiment of a figure and what its runs gave, a run per seed."""

    axes: Mapping[str, str]
    experiment: Experiment
    runs: list[Observation] = field(default_factory=list)

    def values(self, quantity: str) -> list[float]:
        """Return one value per run, SI."""
        return [run.values[quantity] for run in self.runs]

    def mean(self, quantity: str) -> float:
        """Return the mean over runs; infinite if the quantity is in any of them."""
        values = self.values(quantity)
        if any(math.isinf(value) for value in values):
            return math.inf
        return math.fsum(values) / len(values)

    def spread(self, quantity: str) -> tuple[float, float]:
        """Return the least and the largest value over runs."""
        values = self.values(quantity)
        return min(values), max(values)


def observe(
    result: Result, quantities: Mapping[str, Quantity], with_series: bool = False
) -> Observation:
    """Return what ``quantities`` ask of ``result``, formulas last, and the diagnostics."""
    values = {name: result.metric(name) for name in DIAGNOSTICS}
    for name, quantity in quantities.items():
        if quantity.measure is not None:
            values[name] = _measured(result, quantity.measure, quantity)
    _add_formulas(values, quantities, result.experiment)
    if not with_series:
        return Observation(result.experiment.seed, values)
    goodput = np.asarray([flow.goodput for flow in result.raw.flows], dtype=float)
    time = np.asarray(result.raw.time, dtype=float)
    return Observation(result.experiment.seed, values, time, goodput)


def _measured(result: Result, measure: str, quantity: Quantity) -> float:
    """What does not happen in the run takes for ever: it misses every number, and meets '>2'."""
    selection = {key: getattr(quantity, key) for key in SELECTION}
    value = result.metric(MEASURES[measure], **selection)
    return math.inf if METRICS[MEASURES[measure]].is_event and math.isnan(value) else value


def compute(experiment: Experiment, quantities: Mapping[str, Quantity]) -> Observation:
    """Return formulas that need no run."""
    values: dict[str, float] = {}
    _add_formulas(values, quantities, experiment)
    return Observation(experiment.seed, values)


def _add_formulas(
    values: dict[str, float], quantities: Mapping[str, Quantity], experiment: Experiment
) -> None:
    variables = expression.variables(experiment)
    for name, quantity in quantities.items():
        if quantity.formula is not None:
            values[name] = expression.evaluate(quantity.formula, {**variables, **values})
