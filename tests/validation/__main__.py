# SPDX-License-Identifier: GPL-2.0-only
"""`make validate`: run the checks, print what became of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from tunnelcc import cli
from tunnelcc.errors import ConfigError, Problem, nearest
from tunnelcc.plots import gallery
from validation import (
    bbr,
    bbr3,
    calls,
    exchanges,
    kcp,
    linux,
    page,
    programs,
    quic,
    stock,
    suite,
    table,
    theory,
    varying,
    virtual,
)
from validation.check import Group


def _programs() -> Group:
    """Return all checks against measured programs, those of the models' suites first."""
    measured = programs.group((*calls.checks(), *varying.checks()))
    cases = exchanges.group("programs")
    every = (*cases.checks, *kcp.checks(), *quic.checks(), *quic.queue_checks(), *measured.checks)
    return replace(measured, checks=every)


#: Name of a group → what makes it.
GROUPS: Mapping[str, Callable[[], Group]] = {
    "linux": linux.group,
    "exchanges": partial(exchanges.group, "exchanges"),
    "programs": _programs,
    "theory": theory.group,
    "bbr": bbr.group,
    "bbr3": bbr3.group,
    "virtual": virtual.group,
    "ns3": stock.group,
}


@click.command()
@click.option("--group", "groups", multiple=True, help="Only this group of checks. Repeatable.")
@click.option("--quick", is_flag=True, help="Skip long runs and use fewer seeds.")
@click.option("--seeds", type=click.IntRange(1, 1000), help="Runs for each condition.")
@click.option("--jobs", type=click.IntRange(1, 1024), help="Number of processes.")
@click.option("--report", type=click.Path(path_type=Path), help="Save a page with plots (.html).")
@click.option("--counts", type=click.Path(path_type=Path), help="Save the counts of cells (.csv).")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
def validate(
    groups: tuple[str, ...],
    quick: bool,
    seeds: int | None,
    jobs: int | None,
    report: Path | None,
    counts: Path | None,
    as_json: bool,
) -> None:
    """Compare simulations with measurements and theory.

    Exits with 1 if a mandatory check fails, or if too few cells of a metric pass.
    """
    for name in groups:
        if name not in GROUPS:
            expected = "one of " + ", ".join(GROUPS)
            raise ConfigError(Problem("--group", name, expected, nearest(name, GROUPS)))
    if report is not None:
        page.check_file(report)
    chosen = suite.collect([GROUPS[name] for name in groups or GROUPS], quick=quick)
    found = suite.validate(chosen, quick=quick, seeds=seeds, jobs=jobs)
    if as_json:
        print(json.dumps(table.to_dict(found), indent=2, allow_nan=False))
    else:
        table.print_report(found)
    if report is not None:
        page.write(found, report)
    if counts is not None:
        gallery.write_table(table.counted(found), counts)
    if not found.passed:
        sys.exit(1)


if __name__ == "__main__":
    cli.cli.add_command(validate)
    cli.main(["validate", *sys.argv[1:]])
