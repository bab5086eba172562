# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc sweep``: from options to a table of means over seeds."""

from __future__ import annotations

import shlex
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from tunnelcc.commands.interrupt import interruptible
from tunnelcc.commands.options import check_no_axis, parsed
from tunnelcc.config import scenario as scenarios
from tunnelcc.errors import ConfigError, Problem, unknown_name
from tunnelcc.metrics import STORED, Metric, find, own_metrics
from tunnelcc.schema.toml import parse_value
from tunnelcc.store import Store
from tunnelcc.store.store import check_name
from tunnelcc.sweeps import MANY_RUNS, Sweep, Tally, export, results_of, run
from tunnelcc.sweeps.results import Variables, variables


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
) -> bool:
    """Run a sweep and print its results. Return whether every run succeeded."""
    find_all(metrics)
    if output is not None:
        export.check_file(output)
    if name is not None:
        check_name(name)
    declared = declare(file, axes, settings, seeds, name, lambda runs: _confirm(runs, yes))
    tally = run_and_print(declared, store, jobs, dask, timeout, output, metrics)
    return not tally.failed


def run_and_print(
    declared: Sweep,
    store: Path,
    jobs: int | None = None,
    dask: str | None = None,
    timeout: float | None = None,
    output: Path | None = None,
    metrics: Sequence[str] = (),
) -> Tally:
    """Run a sweep and print its results. ``output``: also write them there.

    ``metrics``: are also printed if they are none of those that always are.
    """
    found = find_all(metrics)
    threading.Thread(target=_import_table).start()
    with interruptible():
        tally = run(declared, store, jobs=jobs, client=dask, timeout=timeout)
        data, coordinates = variables(declared, tally.ids, Store(store), own_metrics(metrics))
        from tunnelcc.sweeps.cpu import cpu_warning
        from tunnelcc.sweeps.table import HOST_DEFAULTS, limiting_defaults, print_results

        print_results(data, coordinates, [it.name for it in found], declared.conditions)
        defaults = limiting_defaults(data, coordinates, lambda key: _is_given(declared.base, key))
        for key, (limited, points) in defaults.items():
            command = ["tunnelcc", *sys.argv[1:], "--set", f"{key}={HOST_DEFAULTS[key]}"]
            click.echo(
                f"{key}, a default, limited {limited} of the {points} points. The same without "
                f"that limit: {shlex.join(command)}"
            )
        if warning := cpu_warning(declared, data):
            click.echo(warning)
        _report(data, tally, store / declared.name)
        if output is not None:
            export.write(results_of(declared, tally, store, metrics=metrics), output)
    return tally


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


def _axis(text: str) -> tuple[str, Any]:
    key, equals, values = (part.strip() for part in text.partition("="))
    if not equals or not key:
        raise ConfigError(Problem("--axis", text, "KEY=VALUE,VALUE,… such as path.loss=0,1%,5%"))
    if values.startswith(("[", "{")):
        return key, parse_value(values)
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


def _report(data: Variables, tally: Tally, name: Path) -> None:
    parts = [f"{tally.done} run", f"{tally.cached} cached", f"{tally.failed} failed"]
    click.echo(f"\n{name}: {tally.total} runs ({', '.join(parts)})")
    if tally.failed:
        first = next(filter(None, data["error"][1].flat))
        click.echo(f"first error: {first}", err=True)
