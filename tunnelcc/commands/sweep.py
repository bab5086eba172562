# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc sweep``: from options to a table of means over seeds."""

from __future__ import annotations

import re
import shlex
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from tunnelcc import scenario as scenarios
from tunnelcc.commands.interrupt import interruptible
from tunnelcc.commands.options import check_no_axis, parsed, tell_changes
from tunnelcc.errors import ConfigError, Problem, TunnelccError, unknown_name
from tunnelcc.metrics import STORED, Metric, find, own_metrics
from tunnelcc.metrics.question import question
from tunnelcc.modules import trust
from tunnelcc.output import records
from tunnelcc.results.result import Result
from tunnelcc.scenario import Experiment
from tunnelcc.schema.toml import parse_toml, parse_value
from tunnelcc.schema.units import UnitError, parse_percentage
from tunnelcc.store import Store
from tunnelcc.store.store import check_name
from tunnelcc.sweeps import MANY_RUNS, Sweep, Tally, export, provenance, run
from tunnelcc.sweeps.columns import Variables
from tunnelcc.sweeps.results import as_dataset, coordinates, variables

if TYPE_CHECKING:
    import xarray

    from tunnelcc.analysis.values import Finding
    from tunnelcc.sweeps.differences import Differences
    from tunnelcc.sweeps.precision import Known

#: The seeds of a condition that --precision does not pass.
MOST_SEEDS = 200


def sweep(
    file: Path | None,
    axes: Sequence[str],
    settings: Sequence[str],
    *,
    seeds: str | None,
    jobs: int | None,
    dask: str | None,
    store: Path,
    name: str | None,
    timeout: float | None,
    metrics: Sequence[str],
    output: Path | None,
    yes: bool,
    to: str | None,
    precision: str | None,
    most_seeds: int,
    series: bool = False,
    confirm: int = 0,
    part: str | None = None,
    again: bool = False,
    dry_run: bool = False,
) -> bool:
    """Run a sweep and print its results. Return whether every run succeeded."""
    find_all(metrics)
    if output is not None:
        export.check_file(output)
    if name is not None:
        check_name(name)
    declared = declare(
        file, axes, settings, seeds, name, lambda runs: _confirm(runs, yes or dry_run)
    )
    if file is not None and isinstance(declared.first_possible, Experiment):
        tell_changes(file, declared.of_each("tunnel"))
    if dry_run:
        from tunnelcc.commands.dry_run import dry_run as tell

        tell(declared, store, jobs, series=series or None)
        return True
    if part is not None:
        if precision is not None or output is not None:
            expected = "no --precision and no --output, which need all parts"
            raise ConfigError(Problem("--part", part, expected))
        return _run_part(
            declared, store, _part(part), jobs, dask, timeout, series or None, again=again
        )
    comparison = Comparison(metrics[0] if metrics else "goodput", to, precision, most_seeds)
    ran = run_and_print(
        declared, store, comparison, jobs, dask, timeout, output, metrics,
        series=series, again=again, confirms=confirm,
    )  # fmt: skip
    return not ran.tally.failed


def _part(text: str) -> tuple[int, int]:
    """Return the number of a part, from 1, and how many there are. Raises ConfigError."""
    number, _, count = text.partition("/")
    if number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count):
        return int(number), int(count)
    raise ConfigError(Problem("--part", text, "a part and how many there are, such as 3/20"))


def _run_part(
    declared: Sweep,
    store: Path,
    part: tuple[int, int],
    jobs: int | None,
    dask: str | None,
    timeout: float | None,
    series: bool | None,
    *,
    again: bool,
) -> bool:
    """Run every n-th run of a sweep. Return whether each succeeded."""
    number, count = part

    def wanted(position: int) -> bool:
        return position % count == number - 1

    with interruptible():
        tally = run(
            declared, store, jobs=jobs, client=dask, timeout=timeout, series=series,
            wanted=wanted, again=again,
        )  # fmt: skip
    _report(tally, store / declared.name, f", part {number} of {count}")
    return not tally.failed


@dataclass(frozen=True)
class Comparison:
    """The options on differences. ``to``: the reference. ``precision``: such as ``2%``."""

    metric: str = "goodput"
    to: str | None = None
    precision: str | None = None
    most_seeds: int = MOST_SEEDS


@dataclass(frozen=True)
class Ran:
    """A sweep that has been run. ``differences``: None if there was nothing to compare."""

    declared: Sweep
    tally: Tally
    differences: Differences | None
    data: Variables
    along: Variables

    @cached_property
    def results(self) -> xarray.Dataset:
        """The results as tc.sweep() returns them."""
        return as_dataset(self.declared, self.data, self.along, provenance(self.declared))


def run_and_print(
    declared: Sweep,
    store: Path,
    comparison: Comparison,
    jobs: int | None = None,
    dask: str | None = None,
    timeout: float | None = None,
    output: Path | None = None,
    metrics: Sequence[str] = (),
    *,
    series: bool = False,
    again: bool = False,
    confirms: int = 0,
) -> Ran:
    """Run a sweep and print its results. ``output``: also write them there.

    ``metrics``: are also printed if they are none of those that always are. ``series``: the store
    keeps the series of any number of runs. ``confirms``: of so many points, limits are confirmed.
    """
    found = find_all(metrics)
    (metric,) = find_all([comparison.metric])
    if comparison.to is not None:
        from tunnelcc.sweeps.differences import axes_of

        question(axes_of(coordinates(declared)), comparison.to)
    threading.Thread(target=_import_table).start()
    own = own_metrics(metrics)
    with interruptible():
        keep = True if series or own or confirms else None
        start = partial(run, jobs=jobs, client=dask, timeout=timeout, series=keep, again=again)
        known = None
        if comparison.precision is None:
            tally = start(declared, store)
        else:
            declared, tally, known = _run_until_known(declared, store, comparison, start, own)
        data, along = variables(declared, tally.ids, Store(store), own)
        from tunnelcc.sweeps.cpu import cpu_warning
        from tunnelcc.sweeps.differences import (
            Differences,
            differences,
            print_differences,
            tell_differences,
        )
        from tunnelcc.sweeps.table import HOST_DEFAULTS, limiting_defaults, print_results

        limits = _confirmed(data, tally.ids, Store(store), jobs, confirms)
        defaults = limiting_defaults(data, along, lambda key: _is_given(declared.base, key))
        for key, (limited, points) in defaults.items():
            command = ["tunnelcc", *sys.argv[1:], "--set", f"{key}={HOST_DEFAULTS[key]}"]
            click.echo(
                f"{key}, a default, limited {limited} of the {points} points. The same without "
                f"that limit: {shlex.join(command)}"
            )
        print_results(data, along, [it.name for it in found], declared.conditions, limits)
        _tell(data, along, [metric, *found])
        shown = differences(data, along, metric.name, comparison.to)
        if shown is not None and known is not None:
            shown = Differences(metric.name, shown.question, known.found)
        if shown is not None:
            tell_differences(shown, along)
            print_differences(shown, data, along, known, comparison.precision or "")
        if warning := cpu_warning(declared, data):
            click.echo(warning)
        click.echo()
        _report(tally, store / declared.name)
        if tally.failed:
            first = next(filter(None, data["error"][1].flat))
            click.echo(f"first error: {first}", err=True)
        ran = Ran(declared, tally, shown, data, along)
        if output is not None:
            export.write(ran.results, output)
    return ran


def _tell(data: Variables, along: Variables, asked: Sequence[Metric]) -> None:
    """Tell a record of each run, and of each condition with means over seeds."""
    from tunnelcc.sweeps.columns import table
    from tunnelcc.sweeps.table import conditions

    units = {name: it.get("units", "") for name, (_, _, it) in {**along, **data}.items()}

    def runs() -> Iterator[dict[str, Any]]:
        columns = table(data, along)
        for place in range(data["run"][1].size):
            yield {name: values[place] for name, values in columns.items()}

    def of_columns() -> dict[str, str]:
        names = {*table(data, along), *units}
        return {it: units[base] for it in names if (base := it.partition(".")[0]) in units} | units

    records.tell("runs", runs, of_columns)
    names = [it.name for it in asked if it.name in data]
    records.tell("conditions", lambda: conditions(data, along, names), units)


def _confirmed(
    data: Variables, ids: Sequence[str], store: Store, jobs: int | None, most: int
) -> dict[tuple[int, ...], list[Finding]]:
    """Return what limits at some points, at most so many and evenly spread, by more runs."""
    from tunnelcc.running.confirm import confirm_each

    goodputs = data["goodput"][1]
    points = [it for it in np.ndindex(*goodputs.shape[:-1]) if np.isfinite(goodputs[it]).any()]
    points = points[:: max(1, -(-len(points) // most))] if most else []
    runs: dict[tuple[int, ...], Result] = {}
    same: dict[tuple[int, ...], tuple[int, ...]] = {}  # a point → one with the same run
    seen: dict[bytes, tuple[int, ...]] = {}
    for point in points:
        seed = int(np.argmax(np.isfinite(goodputs[point])))
        place = int(np.ravel_multi_index((*point, seed), goodputs.shape))
        result = store.load(ids[place])
        if isinstance(result, Result):
            same[point] = seen.setdefault(goodputs[point].tobytes(), point)
            runs[point] = result
    first = [point for point in runs if same[point] == point]
    found = dict(zip(first, confirm_each([runs[it] for it in first], jobs=jobs), strict=True))
    return {point: found[same[point]] for point in runs if found[same[point]]}


def _run_until_known(
    declared: Sweep,
    store: Path,
    comparison: Comparison,
    start: Callable[..., Tally],
    own: Sequence[Metric],
) -> tuple[Sweep, Tally, Known]:
    """Run seeds until differences are known. Return the sweep with all of them.

    Raises ConfigError.
    """
    from tunnelcc.sweeps.differences import axes_of, pairs_of
    from tunnelcc.sweeps.precision import look_until_known, wanted_runs
    from tunnelcc.sweeps.table import of_runs

    precision = _precision(comparison.precision or "")
    first, most = len(declared.seeds), comparison.most_seeds
    if not 2 <= first <= most:
        expected = f"at least 2 seeds for a difference, and at most {most} (--most-seeds)"
        raise ConfigError(Problem("--seeds", first, expected))
    metric = find(comparison.metric, "--metric").name
    there = _seeds_there(declared, store)
    sweep, total = declared, Tally(0)

    def source(seeds: Mapping[tuple[int, ...], int]) -> NDArray[np.float64]:
        nonlocal sweep
        sweep = declared.with_seeds(max([there, *seeds.values()]))
        tally = start(sweep, store, wanted=wanted_runs(seeds, sweep.shape))
        total.done += tally.done
        total.failed, total.total, total.ids = tally.failed, tally.total, tally.ids
        data, along = variables(sweep, tally.ids, Store(store), own)
        values = of_runs(data, metric, along)
        for point, count in seeds.items():
            values[point][count:] = np.nan  # those of other looks, which the store has already
        return values

    data, along = variables(declared, [], Store(store))
    asked = question(axes_of(along), comparison.to)
    pairs = {} if asked is None else pairs_of(data, asked)
    if not pairs:
        expected = "a sweep with several conditions to compare"
        raise ConfigError(Problem("--precision", comparison.precision, expected))
    known = look_until_known(source, pairs, precision, first, most)
    total.cached = total.total - total.done - total.failed
    return sweep, total, known


def _precision(text: str) -> float:
    try:
        value = parse_percentage(text)
    except UnitError as error:
        raise ConfigError(Problem("--precision", text, error.expected, error.hint)) from None
    if not 0.0001 <= value < 1:
        raise ConfigError(Problem("--precision", text, "a percentage from 0.01% to 99%"))
    return value


def _seeds_there(declared: Sweep, store: Path) -> int:
    """Return how many seeds the store's sweep of this name has, if they continue the given ones."""
    if not Store.is_at(store) or declared.name not in Store(store).sweep_names():
        return 0
    try:
        record = Store(store).sweep(declared.name)
        seeds = Sweep(parse_toml(record.scenario, declared.name), is_record=True).seeds
    except TunnelccError:
        return 0
    return len(seeds) if seeds == declared.with_seeds(len(seeds)).seeds else 0


def _is_given(table: dict[str, Any], key: str) -> bool:
    """Whether nested tables have a key such as ``hosts.tcp_wmem``."""
    node: Any = table
    for part in key.split("."):
        if not isinstance(node, dict) or part not in node:
            return False
        node = node[part]
    return True


def find_all(names: Iterable[str]) -> list[Metric]:
    """Return the metrics of the options ``--metric``. Raises ConfigError."""
    found = [find(name, "--metric") for name in names]
    for it in found:
        if not it.is_stored:
            expected = "one of the metrics that sweeps store"
            raise unknown_name("--metric", it.name, STORED, expected)
    return found


def _import_table() -> None:
    """Import the printing code while runs are active: it takes as long as tens of runs."""
    import_module("tunnelcc.sweeps.table")


def declare(
    file: Path | None,
    axes: Sequence[str],
    settings: Sequence[str],
    seeds: str | None,
    name: str | None,
    on_count: Callable[[int], None],
) -> Sweep:
    """Return the sweep of a file, changed by options. See there for ``on_count``.

    Raises ConfigError.
    """
    table = scenarios.read_scenario(file) if file is not None else {}
    declared = table.pop("sweep", {})
    table = scenarios.apply(table, parsed(settings))
    added = dict(_axis(text) for text in axes)
    trust.agree(added)
    if added and not declared:
        table.pop("title", None)  # it is of one experiment, and may name what now varies
    if isinstance(declared, dict) and added:
        declared = {**declared, **added}
    if not declared:
        expected = "KEY=VALUE,VALUE,… at least once, or a scenario with a table [sweep]"
        raise ConfigError(Problem("--axis", "", expected))
    name = name or (file.stem if file is not None else None)
    table = {**table, "sweep": declared}
    found = Sweep(table, seeds=parse_seeds(seeds), name=name, on_count=on_count)
    check_no_axis(settings, found)
    return found


# LOW..HIGH, which searches take.
_SPAN = re.compile(r"(\d[^,/]*?)\.\.(\d[^,/:]*)(?::\w+)?")


def _axis(text: str) -> tuple[str, Any]:
    key, equals, values = (part.strip() for part in text.partition("="))
    if not equals or not key:
        raise ConfigError(Problem("--axis", text, "KEY=VALUE,VALUE,… such as path.loss=0,1%,5%"))
    if values.startswith(("[", "{")):
        return key, parse_value(values)
    if span := _SPAN.fullmatch(values):
        low, high = span.groups()
        expected = f"values, or a range with steps: {key}={{from='{low}', to='{high}', steps=5}}"
        raise ConfigError(Problem("--axis", text, expected))
    listed = [scenarios.parse_text(key, value.strip()) for value in values.split(",")]
    return key, [value for value in listed if value != ""]


def parse_seeds(text: str | None) -> Any:
    """Return a number of seeds, or a list of them if there are commas."""
    if text is None:
        return None
    values = [parse_value(part.strip()) for part in text.split(",")]
    return values if len(values) > 1 else values[0]


def _confirm(runs: int, yes: bool) -> None:
    if runs <= MANY_RUNS or yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise ConfigError(
            Problem("sweep", runs, f"at most {MANY_RUNS:,} runs, or the option --yes")
        )
    click.confirm(f"These are {runs:,} runs. Start?", abort=True, err=True)


def _report(tally: Tally, name: Path, part: str = "") -> None:
    parts = [f"{tally.done} run", f"{tally.cached} cached", f"{tally.failed} failed"]
    click.echo(f"{name}{part}: {tally.total} runs ({', '.join(parts)})")
