# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps: many experiments over axes and seeds, stored, and opened as one Dataset."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunnelcc import system
from tunnelcc.errors import ConfigError, Problem, TunnelccError
from tunnelcc.metrics import STORED, TEXTS, AnyMetric, Metric, own_metrics
from tunnelcc.output import files
from tunnelcc.output.progress import RunsProgress
from tunnelcc.results import provenance as made
from tunnelcc.running import memory
from tunnelcc.scenario import Experiment
from tunnelcc.schema.toml import parse_toml
from tunnelcc.store import METRICS, RUN, Store, StoreError
from tunnelcc.store.identity import sources
from tunnelcc.store.record import Record
from tunnelcc.sweeps.columns import LEAST_RUNS
from tunnelcc.sweeps.declaration import Sweep
from tunnelcc.sweeps.execute import Tally, complete, executor
from tunnelcc.sweeps.names import Recorder
from tunnelcc.sweeps.results import dataset
from tunnelcc.sweeps.stored import run_stored

if TYPE_CHECKING:
    import distributed
    import xarray

__all__ = [
    "DEFAULT_STORE",
    "MANY_RUNS",
    "Sweep",
    "Tally",
    "open_results",
    "results_of",
    "run",
    "run_stored",
    "sweep",
]

DEFAULT_STORE = Path("runs")
#: Sweeps with more runs than this keep no series, unless they are asked for: 100 kB each.
MOST_WITH_SERIES = 1000
# Of a .nc file, which is in memory twice while it is read.
_MOST_BYTES, _COPIES = 2**31, 2
#: More runs than this are started only by one who says so.
MANY_RUNS = 100_000


def sweep(
    base: Experiment | Mapping[str, Any] | str | Path,
    axes: Mapping[str, Any] | None = None,
    seeds: int | Sequence[int] | None = None,
    *,
    name: str | None = None,
    store: str | Path = DEFAULT_STORE,
    jobs: int | None = None,
    client: distributed.Client | str | None = None,
    timeout: float | None = None,
    progress: bool = True,
    series: bool = False,
    metrics: Sequence[AnyMetric] = (),
    many: bool = False,
    again: bool = False,
) -> xarray.Dataset:
    """Simulate all combinations of a Sweep and return the results as an xarray Dataset.

    Runs that ``store`` already has are not repeated. Arguments:

    - ``base``, ``axes``, ``seeds``: as in Sweep.
    - ``store``: directory of finished runs.
    - ``name``: name of the sweep in the store; default: the file's name or the title.
    - ``jobs``: number of processes; default: one per core.
    - ``client``: a ``distributed.Client``, or the address of a Dask scheduler that runs the
      simulations.
    - ``timeout``: time limit of one run in seconds; default: none.
    - ``series``: also return the series over time. The store keeps them if they are wanted, and of
      sweeps of at most 1,000 runs.
    - ``metrics``: functions of your own: each takes a run and returns a number, or one for each
      flow.
    - ``many``: allow more than 100,000 runs.
    - ``again``: run a sweep again that other models made. Without it, that is an error.

    Dimensions of the Dataset are the axes, ``seed`` and, for metrics of flows, ``flow``; values are
    in SI units. A failed run has NaN, and ``error`` has the reason. Raises ConfigError,
    TunnelccError.

        >>> base = {"path": {"rate": "10Mbps", "rtt": "20ms"}, "duration": "1s"}
        >>> results = tc.sweep(base, {"cc": ["bbr", "cubic"]}, seeds=2, progress=False)
        >>> dict(results["goodput"].sizes)
        {'cc': 2, 'seed': 2}
    """

    def check(runs: int) -> None:
        if runs > MANY_RUNS and not many:
            expected = f"at most {MANY_RUNS:,} runs, or many=True"
            raise ConfigError(Problem("sweep", runs, expected))

    own = own_metrics(metrics)
    declared = Sweep(base, axes, seeds, name, on_count=check)
    tally = run(
        declared, store, jobs=jobs, client=client, timeout=timeout, progress=progress,
        series=True if series or own else None, again=again,
    )  # fmt: skip
    return results_of(declared, tally, store, series=series, metrics=own)


def run(
    declared: Sweep,
    directory: str | Path = DEFAULT_STORE,
    *,
    jobs: int | None = None,
    client: distributed.Client | str | None = None,
    timeout: float | None = None,
    progress: bool = True,
    series: bool | None = None,
    wanted: Callable[[int], bool] | None = None,
    again: bool = False,
) -> Tally:
    """Simulate the runs of a sweep that the store in ``directory`` does not have.

    ``series``: keep series over time; default: of at most MOST_WITH_SERIES runs. ``wanted``: which
    of the runs, by position; default: all. ``again``: also if other models made those that are
    there, which its name then no longer stands for. Raises ConfigError if the store has another
    sweep with this name, TunnelccError.
    """
    store = Store(directory)
    if not again:
        _check_models(declared.name, store)
    if series is None:
        series = len(declared) <= MOST_WITH_SERIES
    with RunsProgress(enabled=progress) as shown:
        store.clean()
        record = _record(declared, [])
        known = _known(record, declared, store, series)
        if client is None:
            _check_memory(declared, known)
        recorder = Recorder(record, declared, store)
        chosen = wanted or (lambda position: True)
        total = sum(map(chosen, range(len(declared)))) if wanted else len(declared)
        try:
            return complete(
                declared.unknown(known), total, store, executor(jobs, client),
                timeout=timeout, series=series, progress=shown, on_ids=recorder.update,
                wanted=chosen,
            )  # fmt: skip
        finally:
            recorder.save()


def _check_models(name: str, store: Store) -> None:
    """Raise ConfigError if the store has runs of this sweep that other models made."""
    if name not in store.sweep_names():
        return
    try:
        there = store.sweep(name).provenance
    except StoreError:
        return
    if there["models"] != made.here()["models"]:
        expected = "a sweep of these models; --again (in Python again=True) runs it again"
        problem = Problem("sweep", str(store.directory / name), expected, made.difference(there))
        raise ConfigError(problem)


def _check_memory(declared: Sweep, known: Callable[[int], str | None]) -> None:
    """Raise ConfigError if no run that is looked at has enough memory here, before the first."""
    refused: ConfigError | None = None
    for position, experiment in declared.samples():
        if known(position) is not None:
            return
        try:
            memory.check(experiment.resolved)
            return
        except ConfigError as error:
            refused = refused or error
    if refused is not None:
        raise refused


def _known(
    record: Record, declared: Sweep, store: Store, series: bool
) -> Callable[[int], str | None]:
    """Return a function: the id of the run at a position if it is finished, or else None.

    The ids come from the record of the same sweep, if nothing has changed that they depend on. They
    are looked up for large sweeps alone, where to make all experiments takes long.
    """
    nothing: Callable[[int], str | None] = lambda position: None  # noqa: E731
    if len(declared) <= LEAST_RUNS:
        return nothing
    record.sources = sources(parse_toml(record.scenario, declared.name))
    if store.is_old or declared.name not in store.sweep_names():
        return nothing
    try:
        there = store.sweep(declared.name)
    except TunnelccError:
        return nothing
    if (there.scenario, there.models, there.sources) != (
        record.scenario, record.models, record.sources
    ):  # fmt: skip
        return nothing
    wanted = (RUN,) if series else (RUN, METRICS)
    kinds, ids = store.kinds(), there.ids

    def known(position: int) -> str | None:
        id_ = ids[position] if position < len(ids) else None
        return id_ if not id_ or kinds.get(id_) in wanted else None

    return known


def results_of(
    declared: Sweep,
    tally: Tally,
    directory: str | Path = DEFAULT_STORE,
    *,
    series: bool = False,
    metrics: Sequence[AnyMetric] = (),
) -> xarray.Dataset:
    """Return the results of a sweep that run() has just run.

    They are of its own runs, even if another sweep took its name meanwhile.
    """
    own = own_metrics(metrics)
    store = Store(directory)
    return dataset(declared, tally.ids, store, provenance(declared), series=series, own_metrics=own)


def provenance(declared: Sweep) -> dict[str, str]:
    """Return what makes the runs of a sweep here: versions, and profiles of kernels."""
    return {**made.here(), "kernel": declared.kernels}


def _record(declared: Sweep, ids: list[str]) -> Record:
    return Record(**provenance(declared), scenario=declared.to_toml(), runs=len(declared), ids=ids)


def open_results(
    path: str | Path, *, series: bool = False, metrics: Sequence[AnyMetric] = ()
) -> xarray.Dataset:
    """Open the results of a sweep: ``STORE/NAME``, a store with one sweep, or a .nc file.

    ``series``: also read the series over time. ``metrics``: functions of your own, as in sweep();
    a .nc file has no runs to compute them from. Raises ConfigError, TunnelccError.

        >>> base = {"path": {"rate": "10Mbps", "rtt": "20ms"}, "duration": "1s"}
        >>> _ = tc.sweep(base, {"cc": ["bbr", "cubic"]}, seeds=1, name="two", progress=False)
        >>> tc.open("runs/two")["goodput"].sel(cc="bbr").sizes["seed"]
        1
    """
    path, own = Path(path), own_metrics(metrics)
    if path.suffix == ".nc" and not _has_sweep(path.parent, path.name):
        found = _open_netcdf(path)
        for it in own:
            if it.name not in found:
                expected = "a metric that the file has: it has no runs to compute others from"
                raise ConfigError(Problem("metrics", it.name, expected))
        return found
    directory, name = _named(path)
    if not Store.is_at(directory):
        expected = "STORE/NAME of a finished sweep, or a .nc file"
        there = DEFAULT_STORE / path
        hint = f"did you mean '{there}'?" if _has_sweep(DEFAULT_STORE, str(path)) else ""
        raise ConfigError(Problem("results", str(path), expected, hint))
    store = Store(directory)
    return _dataset(store.sweep(name), name, store, series, own)


def _has_sweep(directory: Path, name: str) -> bool:
    return Store.is_at(directory) and name in Store(directory).sweep_names()


def _dataset(
    record: Record, name: str, store: Store, series: bool, own: Sequence[Metric]
) -> xarray.Dataset:
    table = parse_toml(record.scenario, str(store.directory / name))
    declared = Sweep(table, name=name, is_record=True)
    if len(declared) != record.runs:
        file = f"the sweep {name} in {store.directory}"
        raise StoreError(f"{file} is damaged: it has {len(declared)} runs instead of {record.runs}")
    return dataset(declared, record.ids, store, record.provenance, series=series, own_metrics=own)


def _open_netcdf(path: Path) -> xarray.Dataset:
    import xarray

    files.check_netcdf("results", path)
    expected = "a file written by `tunnelcc store export`"
    try:
        # Not from the file itself, whose locks may be the affair of a Dask scheduler that is gone.
        most = min(_MOST_BYTES, int(system.available_memory() / _COPIES))
        contents = io.BytesIO(system.read_once(path, most))
    except OSError as error:
        raise ConfigError(Problem("results", str(path), expected, error.strerror or "")) from None
    try:
        with warnings.catch_warnings():  # of what is refused below
            warnings.simplefilter("ignore")
            found = xarray.load_dataset(contents, engine="scipy")
    except Exception:  # whatever scipy meets in a damaged file; its advice would mislead
        hint = "it is damaged or of another format; export the sweep again"
        raise ConfigError(Problem("results", str(path), expected, hint)) from None
    if "seed" not in found.dims:
        expected = "the results of a sweep; `tunnelcc run --plot FILE` draws those of a run"
        raise ConfigError(Problem("results", str(path), expected))
    if hint := _why_no_results(found):
        raise ConfigError(Problem("results", str(path), expected, hint))
    return found


def _why_no_results(found: xarray.Dataset) -> str:
    """Say what a sweep's results never are, of a file that somebody may have written; "": nothing.

    They may lack metrics, which other versions do not have, and attributes.
    """
    if not isinstance(found.attrs.get("scenario", ""), str):
        return "its attribute scenario is no text"
    if "goodput" not in found or "seed" not in found["goodput"].dims:
        return "it has no goodput of each seed"
    for dim in found["goodput"].dims:
        along = [it for it in found.coords.values() if it.dims == (dim,)]
        if not along or not found.sizes[dim]:
            return f"its axis {dim} has no values"
        if dim in found.coords and not found.indexes[dim].is_unique:
            return f"its axis {dim} has a value twice"
    for name, it in found.variables.items():
        if len({*it.dims}) < it.ndim:
            return f"its {name} has an axis twice"
        if name in STORED and it.dtype.kind not in "fiu":
            return f"its {name} is no number"
        if name in TEXTS and it.dtype.kind not in "OSU":
            return f"its {name} is no text"
    return ""


def _named(path: Path) -> tuple[Path, str]:
    """Return the store and the name of the sweep at ``path``. Raises ConfigError."""
    if not Store.is_at(path):
        return path.parent, path.name
    names = Store(path).sweep_names()
    if len(names) == 1:
        return path, names[0]
    expected = "one of its sweeps: " + ", ".join(str(path / name) for name in names)
    raise ConfigError(
        Problem("results", str(path), expected if names else "a store that contains a sweep")
    )
