# SPDX-License-Identifier: GPL-2.0-only
"""The report of a validation for the terminal and as JSON."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tunnelcc._version import __version__
from tunnelcc.validation.check import Outcome, Share, Verdict
from tunnelcc.validation.suite import Report

_FILE_WIDTH = 160
_COLOURS = {
    Verdict.PASS: "green",
    Verdict.FAIL: "bold red",
    Verdict.MISS: "yellow",
}


def print_report(report: Report) -> None:
    """Print every check by group, then how many cells of each metric pass."""
    console = Console(width=None if sys.stdout.isatty() else _FILE_WIDTH, highlight=False)
    for group in report.groups:
        console.print(f"\nAgainst {group.title}", style="bold")
        console.print(_outcome_table(report.of_group(group)))
        if group.left_out:
            console.print(group.left_out, markup=False)
    causes = _causes(report)
    if causes:
        console.print("\nWhat is known of the causes", style="bold")
        for cause, names in causes.items():
            console.print(f"{', '.join(names)}: {cause}", markup=False)
    if report.shares:
        console.print("\nCells that pass", style="bold")
        console.print(_share_table(report.shares))
    verdict = "validation passed" if report.passed else "validation failed"
    console.print(f"\n{verdict}: {counts(report)}", style="bold")


def to_dict(report: Report) -> dict[str, Any]:
    """Return the report as JSON has it; values have the unit that ``expected`` names."""
    return {
        "tunnelcc": __version__,
        "passed": report.passed,
        "metrics": [
            {
                "metric": share.metric,
                "passed": share.passed,
                "cells": share.cells,
                "target": share.target,
                "reached": share.reached,
            }
            for share in report.shares
        ],
        "checks": [_check(outcome) for outcome in report.outcomes],
    }


def counts(report: Report) -> str:
    """Return how many checks have which verdict, in words."""
    parts = []
    for verdict in Verdict:
        number = sum(outcome.verdict is verdict for outcome in report.outcomes)
        if number:
            parts.append(f"{number} {verdict.value}")
    return ", ".join(parts)


def _check(outcome: Outcome) -> dict[str, Any]:
    check = outcome.check
    return {
        "name": check.name,
        "metric": check.metric,
        "source": check.source,
        "condition": check.condition,
        "expected": check.comparison.expected,
        "tolerance": check.comparison.tolerance or "–",
        "got": outcome.judgement.got,
        "values": list(outcome.values),
        "verdict": outcome.verdict.value,
        "kind": check.kind.value,
        "note": outcome.cause,
    }


def _causes(report: Report) -> dict[str, list[str]]:
    causes: dict[str, list[str]] = {}
    for outcome in report.outcomes:
        if outcome.verdict is not Verdict.PASS:
            cause = outcome.cause or "Not known."
            causes.setdefault(cause, []).append(outcome.check.name)
    return causes


def _outcome_table(outcomes: list[Outcome]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("verdict", "check", "condition", "source", "expected", "tolerance", "got"):
        table.add_column(heading, overflow="fold")
    for outcome in outcomes:
        check, comparison = outcome.check, outcome.check.comparison
        name = check.name.partition("/")[2]
        row = (
            name, check.condition, check.source,
            comparison.expected, comparison.tolerance or "–", outcome.judgement.got,
        )  # fmt: skip
        verdict = f"[{_COLOURS[outcome.verdict]}]{outcome.verdict.value}[/]"
        table.add_row(verdict, *map(escape, row))
    return table


def _share_table(shares: tuple[Share, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("metric", "pass", "of", "share", "needed", ""):
        table.add_column(heading, justify="left" if heading in ("metric", "") else "right")
    for share in shares:
        table.add_row(
            share.metric,
            str(share.passed),
            str(share.cells),
            f"{100 * share.passed / share.cells:.0f} %",
            "–" if share.target is None else f"{100 * share.target:.0f} %",
            "" if share.target is None else "reached" if share.reached else "[bold red]missed[/]",
        )
    return table
