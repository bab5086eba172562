# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc report``: from a scenario or results to a page, and its parts for a paper."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tunnelcc.commands import doctor
from tunnelcc.commands.interrupt import interruptible
from tunnelcc.commands.sweep import find_all, parse_seeds
from tunnelcc.config import scenario as scenarios
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.output.files import make_directory
from tunnelcc.sweeps import Sweep, open_results, results_of, run

if TYPE_CHECKING:
    import xarray


def report(
    path: Path,
    question: str,
    seeds: str | None,
    jobs: int | None,
    store: Path,
    metrics: Sequence[str],
    output: Path,
) -> None:
    """Write the report of a scenario (.toml), which is run, or of results. Raises ConfigError."""
    from tunnelcc.report import results as reports

    if seeds is not None and path.suffix != ".toml":
        expected = "no value, because the results have their seeds"
        raise ConfigError(Problem("--seeds", seeds, expected, "only a .toml file is run with it"))
    found = find_all(metrics)
    make_directory("--output", output)
    commands = [shlex.join(["tunnelcc", *sys.argv[1:]])]
    with interruptible():
        results = _run(path, seeds, jobs, store) if path.suffix == ".toml" else open_results(path)
    made = reports.make(results, question, [it.name for it in found])
    if path.suffix != ".toml":
        scenario = output / "scenario.toml"
        scenario.write_text(results.attrs["scenario"])
        commands.insert(0, f"tunnelcc sweep {shlex.quote(str(scenario))} --name {path.name}")
    for file in reports.write(made, output, doctor.version(), commands):
        click.echo(file)


def _run(path: Path, seeds: str | None, jobs: int | None, store: Path) -> xarray.Dataset:
    """Return the results of a scenario: of its sweep, or of one experiment with several seeds."""
    declared = Sweep(scenarios.read_scenario(path), seeds=parse_seeds(seeds), name=path.stem)
    return results_of(declared, run(declared, store, jobs=jobs), store)
