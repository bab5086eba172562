# SPDX-License-Identifier: GPL-2.0-only
"""A sweep's results as one xarray Dataset over its axes and seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tunnelcc.errors import ConfigError
from tunnelcc.metrics import STORED, TEXTS, Metric, evaluate
from tunnelcc.simulation.result import Result
from tunnelcc.simulation.variables import declared
from tunnelcc.store import Store, StoreError
from tunnelcc.store.index import Row
from tunnelcc.sweeps.axes import SEED
from tunnelcc.sweeps.declaration import Sweep

if TYPE_CHECKING:
    import xarray

NOT_RUN = "not run yet"

#: Dimensions, values, attributes.
Variable = tuple[tuple[str, ...], NDArray[Any], dict[str, str]]
Variables = dict[str, Variable]


def dataset(
    sweep: Sweep,
    ids: Sequence[str],
    store: Store,
    provenance: dict[str, str],
    *,
    series: bool,
    own_metrics: Sequence[Metric] = (),
) -> xarray.Dataset:
    """Return all metrics of the runs ``ids``, by position in ``sweep``.

    Dimensions: the axes, ``seed``, and ``flow`` for the metrics of flows (NaN if a run has fewer).
    ``run`` is the id of each run. ``error`` is the reason for missing numbers ("": none).
    ``series``: also include the series of Result.dataset, over time, legs, directions and hosts;
    those of links if there is but one. ``own_metrics``: the user's, computed from the stored runs.
    """
    data, along = variables(sweep, ids, store, own_metrics)
    if series:
        along |= _add_series(data, sweep, [*_results(data, store)])
    return as_dataset(sweep, data, along, provenance)


def as_dataset(
    sweep: Sweep, data: Variables, along: Variables, provenance: dict[str, str]
) -> xarray.Dataset:
    """Return variables of ``sweep`` and their coordinates as a Dataset."""
    import xarray

    title = str(sweep.base.get("title", "")) or sweep.conditions
    attributes = {"title": title, "scenario": sweep.to_toml()}
    return xarray.Dataset(_for_xarray(data), _for_xarray(along), {**attributes, **provenance})


def _for_xarray(variables: Variables) -> dict[str, xarray.Variable]:
    """Return the variables in the form that xarray takes directly.

    Otherwise xarray imports Dask to look for its arrays, which takes longer than opening the
    results.
    """
    import pandas  # type: ignore[import-untyped]
    import xarray

    return {
        name: xarray.Variable(
            dims, pandas.Index(values) if dims == (name,) else values, attributes, fastpath=True
        )
        for name, (dims, values, attributes) in variables.items()
    }


def variables(
    sweep: Sweep, ids: Sequence[str], store: Store, own_metrics: Sequence[Metric] = ()
) -> tuple[Variables, Variables]:
    """Return the variables of dataset(), without series, and its coordinates."""
    rows = _rows(sweep, ids, store)
    metrics = [row.metrics for row in rows]
    flows = max((len(found["flow_cc"]) for found in metrics if found), default=0)
    shape, dims = sweep.shape, sweep.dims
    data: Variables = {}
    for name, metric in STORED.items():
        sizes = (flows,) if metric.per_flow else ()
        values = _filled(metrics, name, sizes)
        data[name] = ((*dims, *metric.dims), values.reshape(*shape, *sizes), metric.attributes)
    for name, doc in TEXTS.items():
        words = np.full((len(rows), flows), "", dtype=object)
        for index, found in enumerate(metrics):
            known = found.get(name, [])
            words[index, : len(known)] = known
        data[name] = ((*dims, "flow"), words.reshape(*shape, flows), {"long_name": doc})
    for name, texts, doc in (
        ("run", [row.id for row in rows], "id of the run"),
        ("error", [row.error for row in rows], "why there is no result"),
    ):
        data[name] = (dims, np.array(texts, dtype=object).reshape(shape), {"long_name": doc})
    if own_metrics:
        _add_own(data, own_metrics, store, flows)
    flow = (("flow",), np.arange(flows), {"long_name": "flow"})
    return data, {**coordinates(sweep), "flow": flow}


def _add_own(data: Variables, own_metrics: Sequence[Metric], store: Store, flows: int) -> None:
    """Add metrics of the user to ``data``, which are computed anew each time. Raises MetricError.

    The store keeps none of their values: nobody can tell whether a function, or what it calls, is
    still the same.
    """
    dims, runs, _ = data["run"]
    found = np.full((len(own_metrics), runs.size, flows), np.nan)
    per_flow = [False] * len(own_metrics)
    for place, result in enumerate(_results(data, store)):
        for number, metric in enumerate(own_metrics if result is not None else ()):
            value = evaluate(metric, result)
            per_flow[number] |= value.ndim > 0
            found[number, place, : value.size] = value
    for number, metric in enumerate(own_metrics):
        values, along = found[number].reshape(*runs.shape, flows), (*dims, "flow")
        if not per_flow[number]:
            values, along = values[..., 0], dims
        data[metric.name] = (along, values, metric.attributes)


def _rows(sweep: Sweep, ids: Sequence[str], store: Store) -> list[Row]:
    known = store.rows(filter(None, ids))
    rows = [
        known.get(id_) or Row(id_, _why_not(id_, store) if id_ else _impossible(sweep, position))
        for position, id_ in enumerate(ids)
    ]
    return rows + [Row("", NOT_RUN)] * (len(sweep) - len(ids))


def _why_not(id_: str, store: Store) -> str:
    damage = store.damage(id_)
    return f"damaged: {damage}" if damage else NOT_RUN


def _impossible(sweep: Sweep, position: int) -> str:
    try:
        sweep.experiment(position)
    except ConfigError as error:
        return str(error)
    return NOT_RUN


def _filled(
    metrics: Sequence[dict[str, Any]], name: str, sizes: tuple[int, ...]
) -> NDArray[np.float64]:
    """Return the metric of each run; NaN if a run has none, or fewer flows than others."""
    if not sizes:
        return np.array([found.get(name, np.nan) for found in metrics], dtype=float)
    values = np.full((len(metrics), *sizes), np.nan)
    for index, found in enumerate(metrics):
        value = found.get(name, ())
        values[index, : len(value)] = value
    return values


def coordinates(sweep: Sweep) -> Variables:
    """Return the axes and seeds of a sweep as variables."""
    found: Variables = {}
    for key, (dimension, coordinate) in sweep.coordinates.items():
        values: Any = np.array(coordinate.values)
        if values.dtype.kind == "U":
            values = values.astype(object)
        attributes = {"long_name": coordinate.long_name}
        if coordinate.units:
            attributes["units"] = coordinate.units
        found[key] = ((dimension,), values, attributes)
    found[SEED] = ((SEED,), np.array(sweep.seeds), {"long_name": "seed of all random draws"})
    return found


def _results(data: Variables, store: Store) -> Iterator[Result | None]:
    """Yield the runs; None and a note for one that failed, was not run, or is damaged."""
    errors = data["error"][1]
    for position, id_ in enumerate(data["run"][1].flat):
        run = None
        if not errors.flat[position]:
            try:
                run = store.load(id_)
            except StoreError as error:
                errors.flat[position] = str(error)
        yield run if isinstance(run, Result) else None


def _add_series(data: Variables, sweep: Sweep, results: Sequence[Result | None]) -> Variables:
    """Add all series to ``data`` (NaN or "" if a run has none), and return their coordinates."""
    labels: dict[str, list[Any]] = {}  # dimension → the coordinates that any run has
    docs: dict[str, dict[str, str]] = {}
    series: dict[str, tuple[str, ...]] = {}
    texts: set[str] = set()  # series of text
    for result in filter(None, results):
        for name in result.names:
            it = declared(name)
            if "link" in it.dims and len(result["link"]) > 1:
                continue
            if it.dims == (name,):
                labels.setdefault(name, []).append(result[name])
            elif "time" in it.dims:
                series[name] = it.dims
                if not it.units:
                    texts.add(name)
            docs[name] = it.attributes
    known = {dim: _union(values) for dim, values in labels.items()}
    for name, dims in series.items():
        is_text = name in texts
        shape = (len(results), *(len(known[dim]) for dim in dims))
        full = np.full(shape, "" if is_text else np.nan, dtype=object if is_text else float)
        for index, run in enumerate(results):
            if run is not None and name in run:
                places = [_places(known[dim], run[dim]) for dim in dims]
                full[index][np.ix_(*places)] = run[name]
        shaped = full.reshape(*sweep.shape, *full.shape[1:])
        data[name] = ((*sweep.dims, *dims), shaped, docs[name])
    return {
        dim: (
            (dim,),
            np.array(values, dtype=object if isinstance(values[0], str) else None),
            docs[dim],
        )
        for dim, values in known.items()
    }


def _union(labels: Sequence[Any]) -> list[Any]:
    """Return the different labels: times and flows sorted, names in order of appearance."""
    different = dict.fromkeys(label for array in labels for label in np.asarray(array).tolist())
    return list(different) if isinstance(next(iter(different)), str) else sorted(different)


def _places(known: list[Any], labels: Any) -> list[int]:
    """Return the positions of ``labels`` in the list of all labels."""
    place = {label: index for index, label in enumerate(known)}
    return [place[label] for label in np.asarray(labels).tolist()]
