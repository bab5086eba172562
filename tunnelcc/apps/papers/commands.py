# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc papers`` and ``tunnelcc reproduce``: run a paper's experiments, print, store."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from tunnelcc.commands.common import jobs_option, json_option, store_option, trust_option
from tunnelcc.commands.interrupt import interruptible
from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.output import records

if TYPE_CHECKING:
    from rich.console import Console

    from tunnelcc.apps.papers.verdicts import Reproduction

_DIRECTORY = click.Path(path_type=Path)


def complete_papers(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a paper, or of a folder."""
    from tunnelcc.apps.papers import folder

    names = [it for it in folder.names() if it.startswith(incomplete)]
    if not names:
        return [CompletionItem(incomplete, type="dir")]
    return [CompletionItem(it, help=folder.find(it).paper.title) for it in names]


@click.command("papers")
def papers() -> None:
    """List the papers and figures that `reproduce` knows."""
    from tunnelcc.apps.papers import folder
    from tunnelcc.output.tables import console

    out = console()
    for name in folder.names():
        it = folder.find(name)
        out.print(name, style="bold", markup=False)
        out.print(f"  {it.paper.title}\n  {it.paper.source}", markup=False)
        for figure in it.paper.figures:
            out.print(f"  --figure {figure.id}: {figure.title}", markup=False)


@click.command("reproduce")
@click.argument("key", required=False, shell_complete=complete_papers)
@click.option(
    "--all", "all_", is_flag=True, help="Reproduce every paper that `tunnelcc papers` lists."
)
@trust_option
@click.option("--figure", "figures", multiple=True, help="Only this figure. Repeatable.")
@click.option("--seeds", default=3, show_default=True, type=click.IntRange(1, 1000))
@jobs_option
@store_option
@click.option("--output", type=_DIRECTORY, help="Directory for tables and figures.")
@click.option(
    "--report", type=_DIRECTORY, help="Directory for pages with tables, figures and deviations."
)
@click.option(
    "--details",
    is_flag=True,
    help="Also run other settings, and print parameters, claims and all points.",
)
@click.option("--calibrate", "fit", is_flag=True, help="Sweep the calibrated parameters instead.")
@json_option
def command(
    key: str | None,
    all_: bool,
    figures: tuple[str, ...],
    output: Path | None,
    report: Path | None,
    details: bool,
    fit: bool,
    **options: Any,
) -> None:
    """Reproduce a paper's figures.

    KEY is a paper of `tunnelcc papers` or a folder of the same format. The command prints published
    and simulated results side by side.
    """
    from tunnelcc.apps.papers import folder, page
    from tunnelcc.output import files

    if (key is None) != all_:
        other = "no paper, because --all is given"
        expected = "a paper, or --all for every paper" if key is None else other
        raise ConfigError(Problem("KEY", key or MISSING, expected))
    if all_ and figures:
        expected = "one paper (not --all), because figures belong to a paper"
        raise ConfigError(Problem("--figure", figures[0], expected))
    names = folder.names() if key is None else [key]
    outputs = [output and (output / name if all_ else output) for name in names]
    for directory in outputs if all_ else ():
        if directory is not None:
            files.make_directory("--output", directory)
    with interruptible():
        if fit and key is not None:
            calibrate(key, output=output, **options)
            return
        found = [
            reproduce(
                name, only=figures, output=directory, report=report, details=details, **options
            )
            for name, directory in zip(names, outputs, strict=True)
        ]
        if all_ and report is not None:
            page.write_index(found, report)
    if output is None and report is None and not details:
        told = "--details prints all tables, and --report DIRECTORY writes pages with the figures"
        click.echo(told, err=True)


def reproduce(
    key: str,
    *,
    only: Sequence[str] = (),
    seeds: int = 3,
    jobs: int | None = None,
    store: Path | None = None,
    output: Path | None = None,
    report: Path | None = None,
    details: bool = False,
) -> list[Reproduction]:
    """Reproduce the paper ``key``, print published and simulated results, and return its figures.

    ``only``: ids of figures; none means all. ``store``: directory of finished runs, which are not
    repeated. ``output``: directory for tables (CSV) and figures. ``report``: directory for a
    page on the paper. ``details``: first print the parameters and all tables of each figure.
    Without these three, readings and variants are not simulated. Raises ConfigError for a missing
    or malformed paper, and RunError if a run fails.
    """
    from tunnelcc.apps.papers import baselines, draw, folder, page, tables
    from tunnelcc.apps.papers.simulate import simulate
    from tunnelcc.output import files
    from tunnelcc.output.tables import console
    from tunnelcc.plots import save

    it = folder.find(key)
    it.figures(only)
    for option, directory in (("output", output), ("report", report)):
        if directory is not None:
            files.make_directory(option, directory)
    out, started = console(), time.monotonic()
    out.print(f"{it.paper.title}\n{it.paper.source}\n", style="bold", markup=False)
    found = simulate(
        it, figures=only, seeds=seeds, jobs=jobs, store=store,
        with_others=details or output is not None or report is not None,
    )  # fmt: skip
    for reproduction in found if output is not None else ():
        assert output is not None
        name = reproduction.figure.id
        tables.write(tables.frame(reproduction), output / f"{name}.csv")
        if (drawing := draw.draw(reproduction)) is not None:
            save(drawing, output / f"{name}.svg")
    if output is not None and not (counts := baselines.frame(found)).empty:
        tables.write(counts, output / "counts.csv")
    if details:
        tables.parameters(it).print(out, tables.KINDS)
        for reproduction in found:
            _print_figure(out, reproduction)
        for table in tables.questions(it, found):
            table.print(out, tables.KINDS)
        out.print("\n")
    records.tell("numbers", lambda: _records(key, found), _UNITS)
    _print_summary(out, found)
    if report is not None:
        page.write(it, found, seeds, report)
    written = [str(directory) for directory in (output, report) if directory is not None]
    stored = f", stored in {' and '.join(written)}" if written else ""
    # To standard error: what is printed as a result depends on the runs alone.
    print(f"\n{time.monotonic() - started:.0f} s{stored}", file=sys.stderr)
    return found


_UNITS = dict.fromkeys(("published", "simulated", "least", "most"), "unit")


def _records(paper: str, found: Sequence[Reproduction]) -> Iterator[dict[str, Any]]:
    from tunnelcc.apps.papers.sheets import SI

    for it in found:
        for cell in it.simulated.cells:
            least, most = cell.spread
            yield {
                "paper": paper, "figure": it.figure.id, **cell.row.columns,
                "metric": cell.row.metric, "unit": SI[cell.row.unit][0],
                "published": cell.published, "simulated": cell.value, "least": least,
                "most": most, "ratio": cell.ratio, "verdict": cell.verdict,
                "rests_on": cell.rests_on,
            }  # fmt: skip


def _print_figure(out: Console, reproduction: Reproduction) -> None:
    from tunnelcc.apps.papers import tables

    figure = reproduction.figure
    out.print(f"\n{figure.id}: {figure.title}", style="bold", markup=False)
    for table in (*tables.of_figure(reproduction), tables.points(reproduction)):
        table.print(out, tables.KINDS)
    for limit in reproduction.simulated.folder.told(figure, "limit"):
        out.print(f"- {limit}", markup=False)


def _print_summary(out: Console, found: Sequence[Reproduction]) -> None:
    """Print the main result. After details it comes last, so that the terminal shows it."""
    from tunnelcc.apps.papers import tables

    out.print("Published and simulated, side by side", style="bold underline", markup=False)
    for line in tables.LEGEND:
        out.print(line, markup=False)
    for reproduction in found:
        if (table := tables.side_by_side(reproduction)).rows:
            table.print(out, tables.KINDS)
    out.print("\nFigures", style="bold")
    for name, _, line in tables.summary(found).rows:
        out.print(f"{name}: {line}", markup=False)
    if (baselines := tables.baselines(found)).rows:
        baselines.print(out)
    if (missed := tables.missed(found)).rows:
        missed.print(out)


def calibrate(
    key: str,
    *,
    seeds: int = 3,
    jobs: int | None = None,
    store: Path | None = None,
    output: Path | None = None,
) -> dict[str, str]:
    """Sweep the calibrated parameters of a paper. Return figure id → best candidate.

    The objective is the sum of squared log ratios over the rows used for the calibration. The first
    of equal candidates wins. Raises the same errors as reproduce().
    """
    from tunnelcc.apps.papers import folder, tables
    from tunnelcc.apps.papers.simulate import sweep
    from tunnelcc.apps.papers.verdicts import best, misfit
    from tunnelcc.output import files
    from tunnelcc.output.tables import console

    it = folder.find(key)
    todo = [figure for figure in it.paper.figures if figure.fit]
    if not todo:
        raise ConfigError(Problem("paper", key, "a paper with a parameter to calibrate"))
    if output is not None:
        files.make_directory("output", output)
    out, found = console(), {}
    for figure in todo:
        assert figure.fit is not None
        swept = sweep(it, figure, seeds=seeds, jobs=jobs, store=store)
        tables.sweep(figure, swept).print(out, tables.KINDS)
        found[figure.id] = best([(name, misfit(it.judged)) for name, it in swept])
        out.print(f"\nLeast misfit: {figure.fit.key} = {found[figure.id]}", markup=False)
        if output is not None:
            file = output / f"{figure.id}-calibration.csv"
            tables.write(tables.sweep_frame(figure, swept), file)
    return found
