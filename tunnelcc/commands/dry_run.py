# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc sweep --dry-run``: what a sweep would do."""

from __future__ import annotations

import time
from pathlib import Path

import click

from tunnelcc import system
from tunnelcc.commands.options import tell_versions
from tunnelcc.errors import ConfigError
from tunnelcc.running import runner
from tunnelcc.running.runner import estimated_work
from tunnelcc.scenario import Experiment
from tunnelcc.specification import experiment_spec, spec_text
from tunnelcc.store import Store, spec_id
from tunnelcc.sweeps import MOST_WITH_SERIES, Sweep

# Conditions that are looked at, from all over the grid: each takes milliseconds.
_MOST_CONDITIONS = 1000
_MOST_TOLD = 20


def dry_run(declared: Sweep, directory: Path, jobs: int | None, *, series: bool | None) -> None:
    """Print how many runs there are, how long they take, and which conditions are impossible."""
    seeds = len(declared.seeds)
    points = len(declared) // seeds
    looked_at = range(0, points, -(-points // _MOST_CONDITIONS))
    store = Store(directory)
    keeps = len(declared) <= MOST_WITH_SERIES if series is None else series
    todo: list[Experiment] = []
    there, refused = 0, dict[str, int]()
    for point in looked_at:
        for offset in range(seeds):
            try:
                experiment = declared.experiment(point * seeds + offset)
            except ConfigError as error:
                refused[str(error)] = refused.get(str(error), 0) + 1
                break
            if store.is_done(spec_id(spec_text(experiment_spec(experiment))), series=keeps):
                there += 1
            else:
                todo.append(experiment)
    if declared.name in store.sweep_names():
        tell_versions(directory / declared.name, store.sweep(declared.name).provenance)
    share = len(looked_at) / points
    about = "about " if share < 1 else ""
    impossible = sum(refused.values())
    click.echo(
        f"{directory / declared.name}: {len(declared)} runs of {points} conditions with {seeds} "
        f"seeds; {about}{round(len(todo) / share)} to run, {about}{round(there / share)} there"
    )
    if todo:
        least = min(todo, key=estimated_work)
        begin = time.monotonic()
        runner.measure(least)
        took = time.monotonic() - begin
        cores = min(jobs or system.cores(), len(todo))
        work = sum(map(estimated_work, todo)) / estimated_work(least) / share
        click.echo(
            f"about {_rounded(took * work / cores)} with {cores} processes: the shortest run took "
            f"{took:.2g} s, and others as much more as they have packets"
        )
    if impossible:
        click.echo(f"{about}{round(impossible / share)} conditions are impossible:")
    for text, count in list(refused.items())[:_MOST_TOLD]:
        click.echo(f"  {count} × {text}")
    if len(refused) > _MOST_TOLD:
        click.echo(f"  and {len(refused) - _MOST_TOLD} other reasons")


def _rounded(seconds: float) -> str:
    for unit, size in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"
