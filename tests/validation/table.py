# SPDX-License-Identifier: GPL-2.0-only
"""The report of a validation: its tables for terminal and page, and its JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from tunnelcc._version import __version__
from tunnelcc.output.tables import Table, console
from validation.check import VARIES, Outcome, Verdict
from validation.suite import Report

_FILE_WIDTH = 160
#: How a verdict is to be seen.
KINDS = {
    "pass": "good",
    "known": "fair",
    "miss": "fair",
    "FAIL": "bad",
    "reached": "good",
    "missed": "bad",
}


def print_report(report: Report) -> None:
    """Print every check by group, then how many cells of each metric pass."""
    out = console(_FILE_WIDTH)
    for group in report.groups:
        checks(f"Against {group.title}", report.of_group(group)).print(out, KINDS)
        if group.left_out:
            out.print(group.left_out, markup=False)
    causes = _causes(report)
    if causes:
        out.print("Known causes", style="bold")
        for cause, names in causes.items():
            out.print(f"{', '.join(names)}: {cause}", markup=False)
    if report.shares:
        shares(report).print(out, KINDS)
    if (split := splits(report)).rows:
        split.print(out)
    verdict = "validation passed" if report.passed else "validation failed"
    out.print(f"\n{verdict}: {counts(report)}", style="bold")


def to_dict(report: Report) -> dict[str, Any]:
    """Return the report as JSON. Values have the unit that ``expected`` names."""
    return {
        "tunnelcc": __version__,
        "passed": report.passed,
        "metrics": [
            {
                "metric": share.metric,
                "passed": share.passed,
                "known_off": share.known,
                "cells": share.cells,
                "target": share.target,
                "reached": share.reached,
            }
            for share in report.shares
        ],
        "checks": [_check(outcome) for outcome in report.outcomes],
    }


def counts(report: Report) -> str:
    """Return the number of checks with each verdict, in words."""
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
        "off": outcome.judgement.off if math.isfinite(outcome.judgement.off) else None,
        "known_off": check.known_off,
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


def checks(title: str, outcomes: Iterable[Outcome], *, with_cause: bool = False) -> Table:
    """Return one row per check with the expected and the simulated value."""
    rows = []
    for outcome in outcomes:
        check, comparison = outcome.check, outcome.check.comparison
        row = (
            outcome.verdict.value, check.name.partition("/")[2], check.condition, check.source,
            comparison.expected, comparison.tolerance or "–", outcome.judgement.got,
        )  # fmt: skip
        rows.append((*row, outcome.cause or "not known") if with_cause else row)
    columns = ("verdict", "check", "condition", "source", "expected", "tolerance", "got")
    return Table(title, (*columns, "cause") if with_cause else columns, rows)


def splits(report: Report) -> Table:
    """Return what the counts of measured programs and goodputs hide: easy cells, excluded cells.

    A line for a metric whose cells are partly excluded, and for goodputs over a link that is full,
    where rate and headers give the answer, and over one that is not. A cell whose mean is known by
    now (validation.varying) counts with that alone.
    """
    rows = []
    for metric, parts in _parts(report).items():
        if parts["varying"] or ", link " in metric:
            rows.append((metric, *map(_met, parts.values())))
    columns = ("metric", "decided", "excluded, because runs disagree", "all")
    return Table("Cells within the tolerance, by kind", columns, rows, (1, 2, 3))


def counted(report: Report) -> list[dict[str, str | int]]:
    """Return how many cells of each metric are within the tolerance, as a table for pages."""
    return [
        {
            "metric": metric,
            "cells": cells,
            "met": sum(it.judgement.passed for it in some),
            "of": len(some),
            "known": sum(it.verdict is Verdict.KNOWN for it in some),
        }
        for metric, parts in _parts(report).items()
        for cells, some in parts.items()
    ]


def _parts(report: Report) -> dict[str, dict[str, list[Outcome]]]:
    """Return the outcomes of each metric, also of links that are full and not: by who decides."""
    names = {it.check.name for it in report.outcomes}
    by_metric: dict[str, list[Outcome]] = {}
    for it in report.outcomes:
        if it.check.metric and f"{it.check.name}/virtual" not in names:
            metric = it.check.metric.removesuffix(VARIES)
            by_metric.setdefault(metric, []).append(it)
            if it.check.full is not None:
                name = "link full" if it.check.full else "link not full"
                by_metric.setdefault(f"{metric}, {name}", []).append(it)
    return {
        metric: {
            "decided": [it for it in some if not it.check.metric.endswith(VARIES)],
            "varying": [it for it in some if it.check.metric.endswith(VARIES)],
            "all": some,
        }
        for metric, some in by_metric.items()
    }


def _met(outcomes: Sequence[Outcome]) -> str:
    met = sum(it.judgement.passed for it in outcomes)
    return f"{met} of {len(outcomes)}" if outcomes else "–"


def shares(report: Report) -> Table:
    """Return one row per metric with the number of cells that pass."""
    rows = [
        (
            share.metric,
            str(share.passed),
            str(share.known or "–"),
            str(share.cells),
            f"{100 * share.share:.0f} %",
            "–" if share.target is None else f"{100 * share.target:.0f} %",
            "" if share.target is None else "reached" if share.reached else "missed",
        )
        for share in report.shares
    ]
    return Table(
        "Cells that pass; cells with a known deviation do not count in the share",
        ("metric", "pass", "known off", "of", "share", "needed", ""),
        rows,
        range(1, 6),
    )
