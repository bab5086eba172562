# SPDX-License-Identifier: GPL-2.0-only
"""The report of a validation as one HTML file that needs nothing else."""

from __future__ import annotations

from html import escape
from pathlib import Path

from tunnelcc._version import __version__
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.output import files
from tunnelcc.report import html
from tunnelcc.validation import figures
from tunnelcc.validation.check import Outcome, Share, Verdict
from tunnelcc.validation.suite import GROUPS, LEFT_OUT, Report
from tunnelcc.validation.table import counts, expectation


def check_file(file: Path) -> None:
    """Raise ConfigError if no page can be written to ``file``."""
    if file.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(Problem("--report", str(file), "a file name ending in .html"))
    if not file.parent.is_dir():
        raise ConfigError(Problem("--report", str(file), "a file in a directory that exists"))
    files.check_file("--report", file)


def write(report: Report, file: Path) -> None:
    """Write the page. Raises ConfigError if that cannot be done."""
    html.write(file, render(report))


def render(report: Report) -> str:
    """Return the page."""
    verdict = "passed" if report.passed else "failed"
    title = f"Validation of tunnelcc {__version__}: {verdict}"
    parts = (
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(counts(report))}. A cell that misses is one of many: its metric fails when "
        "fewer than the share needed pass. Nothing in the models is fitted to these data.</p>",
        _share_table(report.shares),
        _figures(report),
        _misses(report),
        *(_group(report, group, title) for group, title in GROUPS.items()),
    )
    return html.page(title, parts)


def _share_table(shares: tuple[Share, ...]) -> str:
    if not shares:
        return ""
    rows = []
    for share in shares:
        needed = "–" if share.target is None else f"{100 * share.target:.0f} %"
        kind = "good" if share.reached else "bad"
        word = "" if share.target is None else "reached" if share.reached else "missed"
        rows.append(
            (
                escape(share.metric),
                f"{share.passed} of {share.cells}",
                f"{100 * share.passed / share.cells:.0f} %",
                needed,
                f'<span class="verdict {kind}">{word}</span>',
            )
        )
    headings = ("Metric", "Cells that pass", "Share", "Needed", "")
    table = html.table(headings, rows, numbers=(1, 2, 3))
    return f"<h2>Cells that pass</h2>{table}"


def _figures(report: Report) -> str:
    pictures = "".join(html.figure(it.title, it.svg) for it in figures.draw(report))
    legend = (
        "Lines and bands are simulated (mean, least and most of the runs), markers with bars are "
        "measured on Linux 6.18 (BBRv3: Google's code, standard errors), dotted lines are theory; "
        "over time, dotted lines are Linux. Where each check has a row, bars are what is expected "
        "and tolerated, dots are simulated."
    )
    if not pictures:
        return ""
    return (
        f'<h2>Simulated and reference</h2><p class="note">{legend}</p>'
        f'<div class="figures">{pictures}</div>'
    )


def _misses(report: Report) -> str:
    missed = [o for o in report.outcomes if o.verdict in (Verdict.MISS, Verdict.FAIL)]
    if not missed:
        return ""
    return (
        "<h2>What misses, and what is known of the cause</h2>"
        f"{_check_table(missed, with_cause=True)}"
    )


def _group(report: Report, group: str, title: str) -> str:
    outcomes = [outcome for outcome in report.outcomes if outcome.check.group == group]
    if not outcomes:
        return ""
    left_out = LEFT_OUT.get(group)
    note = f'<p class="note">{escape(left_out)}</p>' if left_out else ""
    return (
        f"<details><summary>All {len(outcomes)} checks against {escape(title)}</summary>"
        f"{note}{_check_table(outcomes, with_cause=False)}</details>"
    )


def _check_table(outcomes: list[Outcome], with_cause: bool) -> str:
    headings = ["Verdict", "Condition", "Metric", "Source", "Expected", "Tolerance", "Got"]
    if with_cause:
        headings.append("Cause")
    rows = [_row(outcome, with_cause) for outcome in outcomes]
    return html.table(headings, rows, kind="stack")


_KINDS = {Verdict.PASS: "good", Verdict.MISS: "fair", Verdict.FAIL: "bad", Verdict.NOT_RUN: "note"}


def _row(outcome: Outcome, with_cause: bool) -> list[str]:
    check, (expected, tolerance) = outcome.check, expectation(outcome)
    got = outcome.note if outcome.verdict is Verdict.NOT_RUN else outcome.got
    texts = [check.condition, check.metric, check.source, expected, tolerance, got]
    if with_cause:
        texts.append(outcome.note or "not known")
    verdict = (
        f'<span class="verdict {_KINDS[outcome.verdict]}" title="{escape(check.name)}">'
        f"{outcome.verdict.value}</span>"
    )
    return [verdict, *map(escape, texts)]
