# SPDX-License-Identifier: GPL-2.0-only
"""Conditions that several results have in common, beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tunnelcc.metrics import paired
from tunnelcc.metrics.confidence import mean_and_half_width
from tunnelcc.report.cell import Cell, label
from tunnelcc.sweeps.differences import difference_text

if TYPE_CHECKING:
    import xarray

# The axis that tells results apart.
_AXIS = "results"


@dataclass(frozen=True)
class Compared:
    """A table. ``headings``: the axes, the metric, the names of the results, and differences to the
    first of them. ``rows``: texts; the intervals of a metric's differences hold together.
    """

    headings: Sequence[str]
    labels: int  # headings before the first number
    rows: Sequence[Sequence[str]]


def common(results: Mapping[str, xarray.Dataset]) -> xarray.Dataset | None:
    """Return the conditions and seeds that all results have, along a further axis ``results``.

    None if they have other axes than the first, or nothing in common.
    """
    import pandas  # type: ignore[import-untyped]
    import xarray

    parts = []
    every = list(results.values())
    dims = [str(it) for it in every[0]["goodput"].dims]
    if len(every) < 2 or any(set(it["goodput"].dims) != set(dims) for it in every):
        return None
    labels = [{dim: _labels(it, dim) for dim in dims} for it in every]
    shared = {
        dim: [it for it in labels[0][dim] if all(it in other[dim] for other in labels)]
        for dim in dims
    }
    if not all(shared.values()):
        return None
    for it, own in zip(every, labels, strict=True):
        places = {dim: [own[dim].index(label) for label in shared[dim]] for dim in dims}
        of_runs = [name for name, values in it.data_vars.items() if {*values.dims} <= {*dims}]
        parts.append(it[of_runs].isel(places))
    names = set.intersection(*(set(it.data_vars) for it in parts))
    joined: xarray.Dataset = xarray.concat(
        [it[sorted(names, key=str)] for it in parts], pandas.Index(list(results), name=_AXIS),
        coords="minimal", compat="override", combine_attrs="override",
    )  # fmt: skip
    joined.attrs.clear()  # those of the first are not of all
    return joined


def _labels(results: xarray.Dataset, dim: str) -> list[tuple[tuple[str, object], ...]]:
    """Return what tells the places of an axis apart: its coordinates."""
    coords = {
        str(key): it.values.tolist() for key, it in results.coords.items() if it.dims == (dim,)
    }
    return [
        tuple((key, values[place]) for key, values in sorted(coords.items()))
        for place in range(results.sizes[dim])
    ]


def compare(joined: xarray.Dataset, headings: Sequence[str]) -> Compared:
    """Return a row for each metric at each condition of common().

    ``headings``: of the metrics, whose values ``joined`` has by them, in their units.
    """
    dims = [str(it) for it in joined["goodput"].dims if it not in (_AXIS, "seed")]
    axes = [str(key) for key, it in joined.coords.items() if set(it.dims) & {*dims}]
    names = [str(it) for it in joined[_AXIS].values]
    points = list(np.ndindex(*(joined.sizes[dim] for dim in dims)))
    confidence = paired.each_of(len(points) * (len(names) - 1))
    rows = []
    for heading in headings:
        values = joined[heading].transpose(*dims, _AXIS, "seed").values
        if not np.isfinite(values).any():
            continue
        for point in points:
            at = dict(zip(dims, point, strict=True))
            labels = [label(joined, key, at) for key in axes]
            here = values[point]
            means, halves = mean_and_half_width(here)
            is_signed = bool((here < 0).any())
            cells = [
                Cell(float(m), float(h), is_signed) for m, h in zip(means, halves, strict=True)
            ]
            found = [paired.difference(it, here[0], confidence) for it in here[1:]]
            texts = [difference_text(it) if it.pairs > 1 else "–" for it in found]
            rows.append([*labels, heading, *map(str, cells), *texts])
    to_first = [f"{it}, difference to {names[0]}" for it in names[1:]]
    return Compared([*axes, "metric", *names, *to_first], len(axes) + 1, rows)
