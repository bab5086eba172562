# SPDX-License-Identifier: GPL-2.0-only
"""What a count of reproduced numbers is worth: what a constant and arithmetic would meet."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import pandas as pd  # type: ignore[import-untyped]

from tunnelcc.apps.papers.observe import expect
from tunnelcc.apps.papers.verdicts import Cell, Reproduction, Simulated


@dataclass(frozen=True)
class Count:
    """How many rows of a published number are met: by simulation, arithmetic, and a constant.

    ``constant``: the single value, SI, that meets most of the rows, chosen in hindsight. NaN and 0
    for a single row, which each constant could meet. ``trials``: rows whose published trials are
    known; ``simulated_in_trials`` and ``naive_in_trials`` are within their range, which is a
    tolerance that nobody chose. ``baseline``: what the better of arithmetic and the constant meets.
    """

    figure: str
    number: str
    unit: str
    points: int
    rows: int
    simulated: int
    naive: int
    constant: float
    by_constant: int
    trials: int
    simulated_in_trials: int
    naive_in_trials: int
    baseline: int


def skill(rows: int, simulated: int, baseline: int) -> float:
    """Return the part of the rows that a baseline misses and the simulation gains.

    1: all of them. 0: no better than the baseline. NaN: the baseline meets all.
    """
    return (simulated - baseline) / (rows - baseline) if rows > baseline else math.nan


def counts(simulated: Simulated) -> list[Count]:
    """Count the judged rows of each number.

    Left out: calibrated rows, and those that the range of the runs decides.
    """
    cells = [it for it in simulated.judged if not (it.is_calibrated or it.compared.within_runs)]
    naive = {id(it.point): expect(simulated.figure, it.point.experiment) for it in cells}
    found = []
    for name in dict.fromkeys(cell.name for cell in cells):
        rows = [(it, naive[id(it.point)][it.compared.quantity]) for it in cells if it.name == name]
        constant, met = best_constant([it for it, _ in rows]) if len(rows) > 1 else (math.nan, 0)
        known = [(it, guess, trials) for it, guess in rows if (trials := it.row.trials)]
        by_naive = sum(it.is_met_by(guess) for it, guess in rows)
        count = Count(
            figure=simulated.figure.id,
            number=name,
            unit=rows[0][0].unit,
            points=len({id(it.point) for it, _ in rows}),
            rows=len(rows),
            simulated=sum(it.fits for it, _ in rows),
            naive=by_naive,
            constant=constant,
            by_constant=met,
            baseline=max(by_naive, met),
            trials=len(known),
            simulated_in_trials=sum(not trials.distance(it.value) for it, _, trials in known),
            naive_in_trials=sum(not trials.distance(guess) for _, guess, trials in known),
        )
        found.append(count)
    return found


def summed(found: Sequence[Count]) -> Count:
    """Return the sums of several counts. Its constant is none."""
    kept = {it.name: sum(getattr(count, it.name) for count in found) for it in fields(Count)[3:]}
    return Count("", "", "", **{**kept, "constant": math.nan})


def frame(found: Iterable[Reproduction]) -> pd.DataFrame:
    """Return the counts of several figures, a line for each number, as text; constants are SI."""
    table = pd.DataFrame(count for it in found for count in counts(it.simulated))
    return table.map(lambda value: f"{value:.6g}" if isinstance(value, float) else str(value))


def best_constant(cells: Sequence[Cell]) -> tuple[float, int]:
    """Return the constant that meets most of the numbers, chosen in hindsight, and how many.

    Where several are as good, the least.
    """
    ends = {end for cell in cells for end in (*cell.accepted, cell.published)}
    found = [(sum(cell.is_met_by(end) for cell in cells), -end) for end in ends if end < math.inf]
    count, constant = max(found)
    return -constant, count
