# SPDX-License-Identifier: GPL-2.0-only
"""Values taken from a run: metrics, and formulas of them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tunnelcc.metrics import METRICS, SELECTION
from tunnelcc.papers import expression
from tunnelcc.papers.format import Quantity
from tunnelcc.papers.points import DIAGNOSTICS, Observation
from tunnelcc.results.result import Result
from tunnelcc.scenario import Experiment


def observe(
    result: Result, quantities: Mapping[str, Quantity], with_series: bool = False
) -> Observation:
    """Return the values of ``quantities`` in ``result`` (formulas last), and the diagnostics."""
    values = {name: result.metric(name) for name in DIAGNOSTICS}
    for name, quantity in quantities.items():
        if quantity.measure is not None:
            values[name] = _measured(result, quantity.measure, quantity)
    _add_formulas(values, quantities, result.experiment)
    seed = result.experiment.seed
    if with_series:  # it is about the change
        return Observation(seed, values, time=result["time"], goodput=result["flow_goodput_series"])
    is_steady = not np.nan_to_num(METRICS["flow_drift"](result)).any()
    return Observation(seed, values, is_steady)


def _measured(result: Result, measure: str, quantity: Quantity) -> float:
    """An event that does not happen takes for ever: it misses every number, but meets '>2'."""
    selection = {key: getattr(quantity, key) for key in SELECTION}
    value = result.metric(measure, **selection)
    return math.inf if METRICS[measure].is_event and math.isnan(value) else value


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
