# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc reproduce``: run a paper's experiments, print the comparison, store it."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from tunnelcc.errors import ConfigError, Problem, nearest
from tunnelcc.papers import figures, paper, tables
from tunnelcc.papers.compare import best, misfit
from tunnelcc.papers.conclusions import sentences
from tunnelcc.papers.simulate import Simulated, simulate, sweep

CC_SETS = ("tunnelcc", "ns3")


def reproduce(
    key: str,
    *,
    seeds: int = 3,
    jobs: int | None = None,
    cc_set: str = "tunnelcc",
    output: Path | None = None,
) -> list[Simulated]:
    """Reproduce the paper ``key``, print tables and conclusions, and return the comparisons.

    ``cc_set``: ``ns3`` adds the same rows with ns-3's own algorithms. ``output``: a directory for
    tables (CSV, JSON) and figures. Raises ConfigError for a paper that is not there or malformed,
    RunError if a run fails.
    """
    if cc_set not in CC_SETS:
        expected = "one of " + ", ".join(CC_SETS)
        raise ConfigError(Problem("cc_set", cc_set, expected, nearest(cc_set, CC_SETS)))
    it = paper.find(key)
    if output is not None:
        _prepare(output)
    console, started = _console(), time.monotonic()
    console.print(f"{it.title}\n{it.file.source}\n", style="bold", markup=False)
    tables.print_parameters(console, it)
    comparisons = simulate(it, seeds=seeds, jobs=jobs, with_ns3=cc_set == "ns3")
    for comparison in comparisons:
        tables.print_comparison(console, comparison)
        tables.print_beside(console, comparison)
        tables.print_variants(console, comparison)
        console.print("\nWhat the simulation says", style="bold")
        texts = sentences(comparison)
        for text in texts:
            console.print(f"- {text}", markup=False)
        if output is not None:
            _store(comparison, texts, output)
    _tell(f"\n{_count(comparisons)} runs in {time.monotonic() - started:.0f} s", output)
    return comparisons


def calibrate(
    key: str, *, seeds: int = 3, jobs: int | None = None, output: Path | None = None
) -> dict[str, str]:
    """Sweep the calibrated parameters of a paper and return comparison id → best candidate.

    The objective is the sum of squared log ratios over the rows that serve the calibration;
    among equals the first candidate wins. Raises as reproduce() does.
    """
    it = paper.find(key)
    todo = [comparison for comparison in it.file.comparisons if comparison.calibration]
    if not todo:
        raise ConfigError(Problem("paper", key, "a paper with a parameter to calibrate"))
    if output is not None:
        _prepare(output)
    console, found = _console(), {}
    for comparison in todo:
        calibration = comparison.calibration
        assert calibration is not None
        candidates = (*calibration.candidates, *(calibration.alternatives or ()))
        swept = sweep(it, comparison, candidates, seeds=seeds, jobs=jobs)
        count = len(calibration.candidates)
        main, others = swept[:count], swept[count:]
        console.print(f"{comparison.title}: {calibration.key}", style="bold", markup=False)
        tables.print_sweep(console, comparison, main)
        if others:
            console.print("\nAlternatives, for comparison", style="bold")
            tables.print_sweep(console, comparison, others)
        scores = [(name, misfit(cell.ratio for cell in cells)) for name, cells in main]
        found[comparison.id] = best(scores)
        console.print(f"\nLeast misfit: {calibration.key} = {found[comparison.id]}", markup=False)
        if output is not None:
            _write(
                output / f"{comparison.id}-calibration.csv",
                tables.sweep_csv(comparison, swept),
            )
            figures.plot_sweep(comparison, main, output / f"{comparison.id}-calibration.svg")
    return found


def print_papers() -> None:
    """Print the papers that can be reproduced, a line each."""
    console = _console()
    for name in paper.names():
        console.print(f"{name}  {paper.find(name).title}", markup=False)


def _store(simulated: Simulated, texts: list[str], output: Path) -> None:
    name = simulated.comparison.id
    _write(output / f"{name}.csv", tables.comparison_csv(simulated))
    table: dict[str, Any] = tables.as_dict(simulated, texts)
    _write(output / f"{name}.json", json.dumps(table, indent=1, ensure_ascii=False) + "\n")
    for suffix in ("svg", "png"):
        figures.plot_comparison(simulated, output / f"{name}.{suffix}")
    if any(variant.role == "cause" for variant, _ in simulated.variants):
        figures.plot_causes(simulated, output / f"{name}-causes.svg")


def _prepare(output: Path) -> None:
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        expected = "a directory that can be written"
        raise ConfigError(Problem("output", str(output), expected, error.strerror or "")) from None


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        expected = "a directory that can be written"
        raise ConfigError(
            Problem("output", str(file.parent), expected, error.strerror or "")
        ) from None


def _count(comparisons: list[Simulated]) -> int:
    return sum(
        len(cell.runs)
        for it in comparisons
        for cells in (it.cells, it.ns3, *(cells for _, cells in it.variants))
        for cell in cells
    )


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else 120, highlight=False)


def _tell(text: str, output: Path | None) -> None:
    """Timing goes to standard error: what is printed as a result depends on the runs alone."""
    stored = f", stored in {output}" if output is not None else ""
    print(text + stored, file=sys.stderr)
