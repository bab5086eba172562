# SPDX-License-Identifier: GPL-2.0-only
"""What is taken of a run to be set beside a published number: metrics, and formulas of them.

Only these numbers are kept of a run, and the goodput over time where a figure shows it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tunnelcc.metrics import METRICS, SELECTION, Metric
from tunnelcc.papers import expression
from tunnelcc.simulation.result import Result

if TYPE_CHECKING:
    from tunnelcc.config import Experiment
    from tunnelcc.papers.format import Quantity

Series = NDArray[np.float64]

# A carrier whose data in flight came this near to the receive window was limited by it.
WINDOW_LIMITED = 0.97
#: Metrics that papers call by a shorter name.
_SHORT = {"queue_delay": "queue_delay_mean", "completion_time": "flow_completion_time"}
#: What a quantity may measure.
MEASURES: dict[str, Metric] = {
    **METRICS,
    **{short: METRICS[name] for short, name in _SHORT.items()},
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
    values = {name: result.metric(name) for name in DIAGNOSTICS}
    for name, quantity in quantities.items():
        if quantity.measure is not None:
            values[name] = _measured(result, quantity.measure, quantity)
    _add_formulas(values, quantities, result.experiment)
    if not with_series:
        return Run(result.experiment.seed, values)
    goodput = np.asarray([flow.goodput for flow in result.raw.flows], dtype=float)
    return Run(result.experiment.seed, values, np.asarray(result.raw.time, dtype=float), goodput)


def _measured(result: Result, measure: str, quantity: Quantity) -> float:
    """What does not happen in the run takes for ever: it misses every number, and meets '>2'."""
    selection = {key: getattr(quantity, key) for key in SELECTION}
    value = result.metric(_SHORT.get(measure, measure), **selection)
    return math.inf if MEASURES[measure].is_event and math.isnan(value) else value


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
