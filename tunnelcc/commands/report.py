# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc report``: from scenarios or results to a page, and its parts for a paper."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tunnelcc import scenario as scenarios
from tunnelcc.commands import doctor
from tunnelcc.commands.interrupt import interruptible
from tunnelcc.commands.options import read_results
from tunnelcc.commands.sweep import find_all, parse_seeds
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.output.files import make_directory, write_text
from tunnelcc.results import provenance
from tunnelcc.sweeps import Sweep, results_of, run

if TYPE_CHECKING:
    import xarray


def report(
    paths: Sequence[Path],
    question: str,
    seeds: str | None,
    jobs: int | None,
    store: Path,
    metrics: Sequence[str],
    output: Path,
    *,
    again: bool,
) -> None:
    """Write the report of scenarios (.toml), which are run, and of results. Raises ConfigError."""
    from tunnelcc.report import results as reports

    if seeds is not None and not any(it.suffix == ".toml" for it in paths):
        expected = "no value, because the results have their seeds"
        raise ConfigError(Problem("--seeds", seeds, expected, "only a .toml file is run with it"))
    columns = [it.name for it in find_all(metrics)]
    names = [it.stem if it.suffix == ".toml" else it.name for it in paths]
    if twice := next((it for it in names if names.count(it) > 1), None):
        expected = "names that differ, because rows and figures have them"
        raise ConfigError(Problem("report", twice, expected))
    make_directory("--output", output)
    commands = [shlex.join(["tunnelcc", *sys.argv[1:]])]
    found = {}
    for name, path in zip(names, paths, strict=True):
        is_scenario = path.suffix == ".toml"
        with interruptible():
            results = _run(path, seeds, jobs, store, again) if is_scenario else read_results(path)
        found[name] = results
        if not is_scenario:
            _check(results, path)
            scenario = output / ("scenario.toml" if len(paths) == 1 else f"{name}.toml")
            write_text("--output", scenario, results.attrs["scenario"])
            repeat = f"tunnelcc sweep {shlex.quote(str(scenario))} --name {shlex.quote(name)}"
            commands.insert(-1, repeat)
    if len(found) == 1:
        made = reports.make(found[names[0]], question, columns)
    else:
        made = reports.together(found, question, columns)
    versions = [provenance.text(it.attrs) for it in found.values()]
    if len(found) > 1:
        versions = [f"{name}: {it}" for name, it in zip(found, versions, strict=True)]
    versions.append(f"this page: {doctor.version()}")
    for file in reports.write(made, output, versions, commands):
        click.echo(file)


def _check(results: xarray.Dataset, path: Path) -> None:
    """Raise ConfigError if results, of a .nc file, lack what a report tells."""
    there = {*results.attrs, *results.variables}
    if missing := [it for it in ("scenario", "flow_cc", "flow_group") if it not in there]:
        expected = "a file written by `tunnelcc store export`"
        raise ConfigError(Problem("report", str(path), expected, f"it lacks {missing[0]}"))


def _run(
    path: Path, seeds: str | None, jobs: int | None, store: Path, again: bool
) -> xarray.Dataset:
    """Return the results of a scenario: of its sweep, or of one experiment with several seeds."""
    declared = Sweep(scenarios.read_scenario(path), seeds=parse_seeds(seeds), name=path.stem)
    return results_of(declared, run(declared, store, jobs=jobs, again=again), store)
