# SPDX-License-Identifier: GPL-2.0-only
"""A sweep's results as one xarray Dataset over its axes and seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tunnelcc.errors import ConfigError
from tunnelcc.metrics import STORED, TEXTS, Metric, evaluate
from tunnelcc.results.result import Result
from tunnelcc.results.variables import declared
from tunnelcc.store import Row, Store, StoreError
from tunnelcc.store.summary import summary_version
from tunnelcc.sweeps import columns
from tunnelcc.sweeps.axes import SEED
from tunnelcc.sweeps.columns import Variables
from tunnelcc.sweeps.declaration import Sweep
from tunnelcc.words.lists import numbers

if TYPE_CHECKING:
    import xarray

NOT_RUN = "not run yet"
_CANNOT = "cannot be read: "
_OF_RUNS = {
    "run": "id of the run",
    "error": "why there is no result",
    "entries": "versions of the tunnels' entries in the catalogue",
}


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
    ``entries`` has the versions of its tunnels' entries.
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
    attributes = {
        "title": title, "scenario": sweep.to_toml(), "seeds": numbers(sweep.seeds), **provenance,
    }  # fmt: skip
    return xarray.Dataset(_for_xarray(data), _for_xarray(along), attributes)


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
    along = coordinates(sweep)
    is_large = len(sweep) > columns.LEAST_RUNS and not store.is_old
    file, key, found = store.columns_file(sweep.name), "", None
    if is_large:
        key = columns.key_of(store.state(), summary_version(), sweep.to_toml(), *ids)
        found = columns.load(file, key, [*STORED, *TEXTS, *_OF_RUNS])
    rows = found or _read(sweep, ids, store)
    shape, dims = sweep.shape, sweep.dims
    flows = rows["flow_cc"].shape[-1]
    data: Variables = {}
    for name, metric in STORED.items():
        sizes = (flows,) if metric.per_flow else ()
        data[name] = ((*dims, *metric.dims), rows[name].reshape(*shape, *sizes), metric.attributes)
    for name, doc in TEXTS.items():
        data[name] = ((*dims, "flow"), rows[name].reshape(*shape, flows), {"long_name": doc})
    for name, doc in _OF_RUNS.items():
        data[name] = (dims, rows[name].reshape(shape), {"long_name": doc})
    if is_large and found is None and not any(map(_is_damage, rows["error"])):
        columns.save(file, data, key)
    if own_metrics:
        _add_own(data, own_metrics, store, flows)
    flow = (("flow",), np.arange(flows), {"long_name": "flow"})
    return data, {**along, "flow": flow}


def _read(sweep: Sweep, ids: Sequence[str], store: Store) -> dict[str, NDArray[Any]]:
    """Read metrics, ``run`` and ``error`` of all runs from their files: shape (run,), (run, flow).

    A metric is NaN if a run has none, or fewer flows than others.
    """
    count, flows = len(sweep), 0
    found: dict[str, NDArray[Any]] = {
        name: np.full((count, flows) if metric.per_flow else count, np.nan)
        for name, metric in STORED.items()
    }
    found |= {name: np.full((count, flows), "", dtype=object) for name in TEXTS}
    found |= {name: np.full(count, "", dtype=object) for name in _OF_RUNS}
    found["error"][:] = NOT_RUN
    single = [name for name, metric in STORED.items() if not metric.per_flow]
    several = [*(found.keys() & {*STORED, *TEXTS}) - {*single}]
    for position, id_ in enumerate(ids):
        row = store.row(id_) if id_ else Row("", _impossible(sweep, position))
        row = row or Row(id_, _why_not(id_, store))
        found["run"][position], found["error"][position] = id_, row.error
        found["entries"][position] = row.entries
        if not row.metrics:
            continue
        if (more := len(row.metrics["flow_cc"]) - flows) > 0:
            flows += more
            for name in several:
                rest = np.full((count, more), "" if name in TEXTS else np.nan, found[name].dtype)
                found[name] = np.concatenate([found[name], rest], axis=1)
        for name in single:
            found[name][position] = row.metrics.get(name, np.nan)
        for name in several:
            values = row.metrics.get(name, ())
            found[name][position, : len(values)] = values
    return found


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


def _why_not(id_: str, store: Store) -> str:
    damage = store.damage(id_)
    return f"{_CANNOT}{damage}" if damage else NOT_RUN


def _is_damage(error: str) -> bool:
    return error.startswith(_CANNOT)


def _impossible(sweep: Sweep, position: int) -> str:
    try:
        sweep.experiment(position)
    except ConfigError as error:
        return str(error)
    return NOT_RUN


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
