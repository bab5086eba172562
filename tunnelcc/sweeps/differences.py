# SPDX-License-Identifier: GPL-2.0-only
"""Differences between the conditions of a sweep in a terminal, from runs with the same seeds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunnelcc.metrics import METRICS, paired
from tunnelcc.metrics.paired import Difference
from tunnelcc.metrics.question import Axes, Question, question
from tunnelcc.output import records
from tunnelcc.output.tables import Table, console
from tunnelcc.sweeps.columns import Variables
from tunnelcc.sweeps.precision import Known, Point
from tunnelcc.sweeps.table import MOST_ROWS, named, of_runs, text
from tunnelcc.words.quantities import shown

# Conditions that a line names.
_MOST_NAMES = 4

#: Verdict → in a table.
WORDS = {"more": "more", "less": "less", "same": "same in all runs", "undecided": "not decided"}


@dataclass(frozen=True)
class Differences:
    """Differences of a metric to a reference.

    ``found``: of each condition that has a reference.
    """

    metric: str
    question: Question
    found: Mapping[Point, Difference]


def axes_of(coordinates: Variables) -> Axes:
    """Return the axes of a sweep with their values as texts."""
    found = {}
    for key, (dims, values, attributes) in coordinates.items():
        if key in ("seed", "flow"):
            continue
        unit = attributes.get("units", "")
        texts = [text(key, value, unit) for value in values]
        found[key] = (dims[0], texts, values.dtype.kind in "UO")
    return found


def differences(
    data: Variables, coordinates: Variables, metric: str, to: str | None = None
) -> Differences | None:
    """Return the differences of a metric, which hold together with paired.CONFIDENCE.

    None if there is nothing to compare, or only one seed. ``to``: as for question(). Raises
    ConfigError.
    """
    asked = question(axes_of(coordinates), to)
    if asked is None:
        return None
    values = of_runs(data, metric, coordinates)
    pairs = pairs_of(data, asked)
    if values.shape[-1] < 2 or not pairs:
        return None
    confidence = paired.each_of(len(pairs))
    found = {
        point: paired.difference(values[point], values[other], confidence)
        for point, other in pairs.items()
    }
    return Differences(metric, asked, found)


# Of two seeds, the correlation is always 1 or -1, and an interval tells nothing.
_LEAST_SEEDS = 3


def pairs_of(data: Variables, asked: Question) -> dict[Point, Point]:
    """Return each condition with its reference."""
    dims, goodputs, _ = data["goodput"]
    return dict(asked.pairs(dims[:-1], goodputs.shape[:-1]))


def print_differences(
    shown: Differences,
    data: Variables,
    coordinates: Variables,
    known: Known | None = None,
    precision: str = "",
) -> None:
    """Print a row for each condition: its difference, the interval, and whether it is decided.

    ``known``: how they were found, if runs went on until a ``precision``.
    """
    dims = data["goodput"][0][:-1]
    axes = axes_of(coordinates)
    unit = data[shown.metric][2]["units"]
    rows = []
    for point, it in itertools.islice(shown.found.items(), MOST_ROWS):
        if it.pairs < 2:
            continue
        at = dict(zip(dims, point, strict=True))
        is_told = it.pairs >= _LEAST_SEEDS
        correlation = f"{it.correlation:.2f}" if is_told and np.isfinite(it.correlation) else "–"
        rows.append([
            *(values[at[dim]] for dim, values, _ in axes.values()),
            *((difference_text(it, unit), WORDS[it.verdict]) if is_told else ("too few seeds", "")),
            correlation, str(it.pairs),
        ])  # fmt: skip
    if not rows:
        return
    headings = [*axes, "difference", "", "correlation", "seeds"]
    out = console()
    out.print()
    name = named(data, shown.metric, coordinates)
    heading = f"{name}, difference to {shown.question.name} with the same seeds"
    out.print(heading, style="bold", markup=False)
    numbers = (len(axes), len(headings) - 2, len(headings) - 1)
    Table("", headings, rows, numbers, whole=range(len(headings))).print(out)
    count = len(shown.found)
    together = "the interval holds" if count == 1 else f"all {count} intervals hold together"
    looks = "" if known is None or known.looks < 2 else f", although {known.looks} looks were taken"
    confidence = f"{paired.CONFIDENCE:.0%} confidence{looks}"
    out.print(f"[low, high]: {together} with {confidence}", markup=False)
    if known is not None and known.open:
        most = max(known.seeds.values())
        out.print(
            f"not known to ± {precision} after {most} seeds, the most allowed (--most-seeds): "
            f"{_names(sorted(known.open), axes, dims)}",
            markup=False,
        )
    apart = [point for point, it in shown.found.items() if it.is_helped is False]
    if apart:
        out.print(
            f"equal seeds do not help in {_names(apart, axes, dims)}: runs there have little in "
            f"common with those of {shown.question.name}, so a difference needs about as many "
            "seeds as separate means do",
            markup=False,
        )
    left = len(shown.found) - MOST_ROWS
    if left > 0:
        out.print(f"… and {left} more", markup=False)


def tell_differences(shown: Differences, coordinates: Variables) -> None:
    """Tell a record of each difference, in the metric's unit, or as a part of the reference's."""

    def rows() -> Iterator[dict[str, Any]]:
        axes = axes_of(coordinates)
        dims = list(dict.fromkeys(dim for dim, _, _ in axes.values()))
        for point, it in shown.found.items():
            at = dict(zip(dims, point, strict=True))
            yield {
                **{key: values[at[dim]] for key, (dim, values, _) in axes.items()},
                "metric": shown.metric, "to": shown.question.name, "unit": _unit(it, shown.metric),
                "difference": it.mean, "low": it.low, "high": it.high, "verdict": it.verdict,
                "correlation": it.correlation, "seeds": it.pairs,
            }  # fmt: skip

    of_rows = dict.fromkeys(("difference", "low", "high"), "unit")
    records.tell("differences", rows, of_rows)


def _unit(it: Difference, metric: str) -> str:
    return "1" if it.is_ratio or metric not in METRICS else METRICS[metric].units


def _names(points: Sequence[Point], axes: Axes, dims: Sequence[str]) -> str:
    names = []
    for point in points[:_MOST_NAMES]:
        at = dict(zip(dims, point, strict=True))
        names.append(" ".join(values[at[dim]] for dim, values, _ in axes.values()))
    more = f" and {len(points) - _MOST_NAMES} more" if len(points) > _MOST_NAMES else ""
    return ", ".join(names) + more


def difference_text(it: Difference, unit: str = "") -> str:
    """Return a difference and its interval as text. ``unit``: of a difference that is no ratio."""
    if it.is_ratio:
        digits = _digits(100 * it.half_width)
        mean, low, high = (f"{_signed(100 * v, digits)}" for v in (it.mean, it.low, it.high))
        return f"{mean} % [{low}, {high}]"
    scale = shown(unit)
    digits = _digits(scale.factor * it.half_width)
    mean, low, high = (_signed(scale.factor * v, digits) for v in (it.mean, it.low, it.high))
    return f"{scale.heading(mean)} [{low}, {high}]"


def _digits(half: float) -> int:
    """Return the decimals with which two digits of an interval's half width are written."""
    if not half > 0:
        return 1
    return int(min(max(1 - np.floor(np.log10(half)), 0), 6))


def _signed(value: float, digits: int) -> str:
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text[1:] if float(f"{value:.{digits}f}") == 0 else text
