# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc store``: finished runs on disk, and how to repeat them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tunnelcc.commands.options import read_results, tell_versions
from tunnelcc.commands.reproduction import command
from tunnelcc.errors import ConfigError, Problem, RunError
from tunnelcc.metrics import METRICS
from tunnelcc.output import records
from tunnelcc.results import provenance
from tunnelcc.store.store import Store, StoreError
from tunnelcc.sweeps import export as exports
from tunnelcc.sweeps import open_results
from tunnelcc.sweeps.table import text
from tunnelcc.words.quantities import rate


def list_sweeps(directory: Path) -> None:
    """Print a line for each sweep, and the totals of the store."""
    store = _existing(directory)
    for name in store.sweep_names():
        try:
            record = store.sweep(name)
        except StoreError as error:
            click.echo(f"{name}: {error}")
            continue
        rows, others = [], []
        for id_ in filter(None, record.ids):
            row = store.row(id_)
            others += [id_] if row is None else []
            rows += [row.error] if row is not None else []
        impossible = record.ids.count("")
        failed = sum(map(bool, rows)) + impossible
        unread = sum(bool(store.damage(id_)) for id_ in others)
        missing = record.runs - len(rows) - impossible - unread
        counts = [f"{record.runs} runs", f"{failed} failed", f"{missing} missing"]
        if unread:
            counts.append(f"{unread} that cannot be read (`tunnelcc store ls {name}` tells why)")
        about = {
            "name": name, "runs": record.runs, "failed": failed, "missing": missing,
            "unread": unread, **record.provenance,
        }  # fmt: skip
        records.tell("sweeps", [about])
        told = provenance.difference(record.provenance)
        click.echo(f"{name}: {', '.join(counts)}" + (f"; {told}" if told else ""))
    files, size = store.size()
    # Nobody knows the runs of a damaged sweep.
    unnamed = 0 if dict(store.damaged_sweeps()) else len(store.unnamed())
    total = {"runs": files, "bytes": size, "of_no_sweep": unnamed}
    records.tell("store", [total], {"bytes": "byte"})
    told = f", {unnamed} of no sweep (`tunnelcc store prune`)" if unnamed else ""
    click.echo(f"{files} runs in {size / 1e6:.1f} MB{told}")


def list_runs(directory: Path, name: str) -> None:
    """Print a line for each run of a sweep: id, axes, seed, and goodput or error."""
    directory, name = _placed(directory, name)
    results = open_results(directory / name)
    tell_versions(directory / name, results.attrs)
    dims = results["goodput"].dims
    frame = results[["run", "goodput", "error"]].to_dataframe().reset_index()
    axes = [column for column in frame.columns if column in results.coords]
    units = {str(key): str(it.attrs.get("units", "1")) for key, it in results.variables.items()}
    records.tell("runs", lambda: frame.to_dict("records"), units)
    for _, row in frame.iterrows():
        settings = " ".join(
            f"{axis}={text(axis, row[axis], str(results[axis].attrs.get('units', '')))}"
            for axis in axes
            if axis not in dims or axis != "point"
        )
        outcome = row["error"] or rate(row["goodput"])
        click.echo(f"{row['run'][:12] or '-' * 12}  {settings}  {outcome}")


def show(directory: Path, name: str) -> None:
    """Print the command that repeats a run and its metrics, or a sweep's declaration."""
    directory, name = _placed(directory, name)
    store = _existing(directory)
    if name in store.sweep_names():
        record = store.sweep(name)
        click.echo(f"# tunnelcc {record.tunnelcc}, models {record.models}")
        click.echo(record.scenario, nl=False)
        return
    id_ = store.find(name)
    row = store.row(id_)
    if row is None:
        raise StoreError(f"run {id_} cannot be read: {store.damage(id_)}")
    experiment = store.experiment(id_)
    click.echo(f"run {id_}")
    tell_versions(id_, store.versions(id_))
    click.echo(command(experiment))
    if row.error:
        click.echo(f"failed: {row.error}")
    for metric, value in row.metrics.items():
        values = value if isinstance(value, list) else [value]
        if any(isinstance(item, str) or math.isfinite(item) for item in values):
            click.echo(f"{metric} = {', '.join(_texts(metric, values))}")


def _texts(metric: str, values: Sequence[Any]) -> list[str]:
    """Return a metric's values as figures show them: ms, Mbit/s, %."""
    from tunnelcc.plots.scales import scale_for

    if any(isinstance(value, str) for value in values):
        return [str(value) for value in values]
    unit = METRICS[metric].units if metric in METRICS else "1"
    scale = scale_for(metric, unit, values)
    return [scale.text(value) if math.isfinite(value) else "–" for value in values]


def remove(directory: Path, names: Sequence[str]) -> None:
    """Delete runs and sweeps."""
    placed: dict[Path, list[str]] = {}
    for name in names:
        place, own = _placed(directory, name)
        placed.setdefault(place, []).append(own)
    for place, owns in placed.items():
        _remove(place, owns)


def _remove(directory: Path, names: Sequence[str]) -> None:
    store = _existing(directory)
    sweeps = store.sweep_names()
    runs = {name if name in sweeps else store.find(name) for name in names}
    gone = {name for name in runs if name in sweeps}
    used = {id_ for name in sweeps if name not in gone for id_ in store.sweep(name).ids}
    damaged = dict(store.damaged_sweeps())  # of which nobody knows the runs
    ids = (runs - gone) | {
        id_ for name in gone - damaged.keys() for id_ in store.sweep(name).ids
    } - used
    for name in gone:
        store.remove_sweep(name)
    store.remove(sorted(ids - {""}))
    click.echo(f"{len(ids - {''})} runs deleted")


def verify(directory: Path, *, delete: bool) -> bool:
    """Print what is damaged. Return whether everything is intact."""
    store = _existing(directory)
    damaged, sweeps = dict(store.damaged()), dict(store.damaged_sweeps())
    for name, what in {**damaged, **sweeps}.items():
        click.echo(f"{name}: {what}")
    if delete:
        store.remove(damaged)
        for name in sweeps:
            store.remove_sweep(name)
    files, _ = store.size()
    count = len(damaged) + len(sweeps)
    click.echo(f"{files} runs, {count} damaged" + (" and deleted" if delete else ""))
    return not count


def export(directory: Path, name: str, file: Path, *, series: bool) -> None:
    """Write a sweep's results, or a run's series, to a file."""
    exports.check_file(file)
    directory, name = _placed(directory, name)
    store = _existing(directory)
    if name in store.sweep_names():
        exports.write(read_results(directory / name, series=series), file)
        return
    id_ = store.find(name)
    run = store.load(id_)
    if isinstance(run, RunError):
        raise ConfigError(Problem("run", id_, "a run that succeeded", str(run)))
    if file.suffix != ".nc":
        raise ConfigError(Problem("output", str(file), "a file that ends in .nc, for one run"))
    tell_versions(id_, run.provenance)
    exports.write(run.dataset, file)


def prune(directory: Path, *, every: bool, dry_run: bool) -> None:
    """Delete the runs that no sweep has and other models made. ``every``: also of these models."""
    store = _existing(directory)
    if broken := dict(store.damaged_sweeps()):
        raise StoreError(
            f"{next(iter(broken.values()))}; until then nobody knows which runs belong to it"
        )
    ids = [id_ for id_ in store.unnamed() if every or store.is_outdated(id_)]
    size = sum(store.bytes_of(id_) for id_ in ids)
    if not dry_run:
        store.remove(ids)
        store.clean()
    does = "would be deleted" if dry_run else "deleted"
    click.echo(f"{len(ids)} runs of no sweep {does}, {size / 1e6:.1f} MB")


def merge(directory: Path, others: Sequence[Path]) -> None:
    """Copy the runs and sweeps of other stores."""
    stores = [_existing(it) for it in others]
    target = Store(directory)
    for store in stores:
        runs, sweeps = target.merge(store)
        click.echo(f"{store.directory}: {runs} runs and {sweeps} sweeps are new in {directory}")


def _placed(directory: Path, name: str) -> tuple[Path, str]:
    """Return the store and the name in it: of STORE/NAME, as a sweep prints it, its own store."""
    path = Path(name)
    return (directory, name) if path.name == name else (path.parent, path.name)


def _existing(directory: Path) -> Store:
    if not Store.is_at(directory):
        raise ConfigError(Problem("store", str(directory), "a directory of `tunnelcc sweep`"))
    return Store(directory)
