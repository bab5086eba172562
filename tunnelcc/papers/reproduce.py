# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc reproduce``: run a paper's experiments, print the comparison, store it."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from tunnelcc.errors import ConfigError, Problem
from tunnelcc.output import files
from tunnelcc.output.tables import console
from tunnelcc.papers import export, figures, page, paper, tables
from tunnelcc.papers.compare import Reproduction, best
from tunnelcc.papers.simulate import simulate, sweep
from tunnelcc.plots import save


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
    it = paper.find(key)
    it.figures(only)
    for option, directory in (("output", output), ("report", report)):
        if directory is not None:
            files.make_directory(option, directory)
    out, started = console(), time.monotonic()
    out.print(f"{it.title}\n{it.file.source}\n", style="bold", markup=False)
    found = simulate(
        it, figures=only, seeds=seeds, jobs=jobs, store=store,
        with_others=details or output is not None or report is not None,
    )  # fmt: skip
    if output is not None:
        for reproduction in found:
            _store(reproduction, output)
    if details:
        tables.parameters(it).print(out, tables.KINDS)
        for reproduction in found:
            _print(out, reproduction)
        for table in tables.questions(it, found):
            table.print(out, tables.KINDS)
        out.print("\n")
    _print_summary(out, found)
    if report is not None:
        page.write(it, found, seeds, report)
    written = [str(directory) for directory in (output, report) if directory is not None]
    stored = f", stored in {' and '.join(written)}" if written else ""
    # To standard error: what is printed as a result depends on the runs alone.
    print(f"\n{time.monotonic() - started:.0f} s{stored}", file=sys.stderr)
    return found


def _print(out: Console, reproduction: Reproduction) -> None:
    figure = reproduction.figure
    heading = f"\n{figure.id}: {figure.title}"
    out.print(heading, style="bold", markup=False)
    for table in (*tables.of_figure(reproduction), tables.points(reproduction)):
        table.print(out, tables.KINDS)
    for limit in figure.limits:
        out.print(f"- {limit}", markup=False)


def _print_summary(out: Console, found: Sequence[Reproduction]) -> None:
    """Print the main result. After details it comes last, so that the terminal shows it."""
    out.print("Published and simulated, side by side", style="bold underline", markup=False)
    for line in tables.LEGEND:
        out.print(line, markup=False)
    for reproduction in found:
        if (table := tables.side_by_side(reproduction)).rows:
            table.print(out, tables.KINDS)
    out.print("\nFigures", style="bold")
    for name, _, line in tables.summary(found).rows:
        out.print(f"{name}: {line}", markup=False)
    if (missed := tables.missed(found)).rows:
        missed.print(out)


def _store(reproduction: Reproduction, output: Path) -> None:
    name, drawing = reproduction.figure.id, figures.draw(reproduction)
    _write(output / f"{name}.csv", export.figure_csv(reproduction))
    if drawing is not None:
        save(drawing, output / f"{name}.svg")


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        expected = "a directory that can be written"
        hint = error.strerror or ""
        raise ConfigError(Problem("output", str(file.parent), expected, hint)) from None


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
    it = paper.find(key)
    todo = [figure for figure in it.file.figures if figure.calibration]
    if not todo:
        raise ConfigError(Problem("paper", key, "a paper with a parameter to calibrate"))
    if output is not None:
        files.make_directory("output", output)
    out, found = console(), {}
    for figure in todo:
        calibration = figure.calibration
        assert calibration is not None
        swept = sweep(it, figure, calibration.candidates, seeds=seeds, jobs=jobs, store=store)
        tables.sweep(figure, swept).print(out, tables.KINDS)
        found[figure.id] = best([(name, tables.score(it.judged)) for name, it in swept])
        out.print(f"\nLeast misfit: {calibration.key} = {found[figure.id]}", markup=False)
        if output is not None:
            _write(output / f"{figure.id}-calibration.csv", export.sweep_csv(figure, swept))
    return found


def print_papers() -> None:
    """Print the papers that can be reproduced, with their figures."""
    out = console()
    for name in paper.names():
        it = paper.find(name)
        out.print(name, style="bold", markup=False)
        out.print(f"  {it.title}\n  {it.file.source}", markup=False)
        for figure in it.file.figures:
            out.print(f"  --figure {figure.id}: {figure.title}", markup=False)
