# SPDX-License-Identifier: GPL-2.0-only
"""The experiments of a figure, and the values from their runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tunnelcc import core
from tunnelcc.scenario import Experiment

Series = NDArray[np.float64]

#: Taken of every run: they say what set the pace, whatever the figure asks for.
DIAGNOSTICS = ("drops", "window_share", "utilisation")


@dataclass(frozen=True)
class Observation:
    """The quantities of one run, SI; optionally each flow's goodput over time (bit/s, s).

    ``is_steady``: no flow's goodput still changes (the metric ``flow_drift``).
    """

    seed: int
    values: Mapping[str, float]
    is_steady: bool = True
    time: Series | None = None
    goodput: Series | None = None


@dataclass
class Point:
    """One experiment of a figure and its values, with one run per seed."""

    axes: Mapping[str, str]
    experiment: Experiment
    runs: list[Observation] = field(default_factory=list)

    @property
    def shown(self) -> tuple[str, ...]:
        """Where it is on the axes, as tables and figures show it."""
        return tuple(core.congestion_label(value) for value in self.axes.values())

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
        if any(math.isinf(value) for value in values):
            return math.inf
        return math.fsum(values) / len(values)

    def spread(self, quantity: str) -> tuple[float, float]:
        """Return the smallest and the largest value over runs."""
        values = self.values(quantity)
        return min(values), max(values)
