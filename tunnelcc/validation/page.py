# SPDX-License-Identifier: GPL-2.0-only
"""The report of a validation as one HTML file that needs nothing else."""

from __future__ import annotations

from html import escape
from pathlib import Path

from tunnelcc._version import __version__
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.validation import figures
from tunnelcc.validation.check import Outcome, Share, Verdict
from tunnelcc.validation.suite import GROUPS, Report
from tunnelcc.validation.table import counts, expectation

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1rem; max-width: 72rem;
       color: #222; background: #fff; }
h1 { font-size: 1.6rem; line-height: 1.2; }
h2 { font-size: 1.25rem; margin-top: 2rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr));
           gap: 1.5rem; }
figure { margin: 0; }
figcaption { font-weight: 600; font-size: .9rem; }
svg { width: 100%; height: auto; }
table { border-collapse: collapse; width: 100%; font-size: .85rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .5rem;
         border-bottom: 1px solid #ddd; }
th { font-weight: 600; color: #555; }
td.number { text-align: right; white-space: nowrap; }
.verdict { font-weight: 600; white-space: nowrap; }
.pass { color: #00704f; } .miss { color: #9a4a00; } .FAIL { color: #b00020; }
.not-run { color: #666; }
summary { cursor: pointer; padding: .5rem 0; }
.note { color: #555; }
@media (max-width: 40rem) {
  table.metrics { font-size: .75rem; }
  table.metrics th, table.metrics td { padding: .25rem .2rem; white-space: normal; }
  table.checks thead { display: none; }
  table.checks tr { display: block; padding: .6rem 0; border-bottom: 1px solid #ddd; }
  table.checks td { display: block; border: 0; padding: .05rem 0; overflow-wrap: anywhere; }
  table.checks td[data-label]:not(:empty)::before { content: attr(data-label) ": "; color: #666; }
}
"""


def check_file(file: Path) -> None:
    """Raise ConfigError if no page can be written to ``file``."""
    if file.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(Problem("--report", str(file), "a file name ending in .html"))
    if not file.parent.is_dir():
        raise ConfigError(Problem("--report", str(file), "a file in a directory that exists"))


def write(report: Report, file: Path) -> None:
    """Write the page. Raises ConfigError if that cannot be done."""
    try:
        file.write_text(render(report), encoding="utf-8")
    except OSError as error:
        expected = "a file that can be written"
        raise ConfigError(Problem("--report", str(file), expected, error.strerror or "")) from None


def render(report: Report) -> str:
    """Return the page."""
    verdict = "passed" if report.passed else "failed"
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>tunnelcc {escape(__version__)}: validation {verdict}</title>",
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>Validation of tunnelcc {escape(__version__)}: {verdict}</h1>",
        f"<p>{escape(counts(report))}. A cell that misses is one of many: its metric fails when "
        "fewer than the share needed pass. Nothing in the models is fitted to these data.</p>",
        _share_table(report.shares),
        _figures(report),
        _misses(report),
        *(_group(report, group, title) for group, title in GROUPS.items()),
        "</body></html>",
    ]
    return "\n".join(parts)


def _share_table(shares: tuple[Share, ...]) -> str:
    rows = []
    for share in shares:
        needed = "–" if share.target is None else f"{100 * share.target:.0f} %"
        name = "pass" if share.reached else "FAIL"
        word = "" if share.target is None else "reached" if share.reached else "missed"
        part = f"{100 * share.passed / share.cells:.0f} %"
        rows.append(
            f"<tr><td>{escape(share.metric)}</td>"
            f'<td class="number">{share.passed} of {share.cells}</td>'
            f'<td class="number">{part}</td><td class="number">{needed}</td>'
            f'<td class="verdict {name}">{word}</td></tr>'
        )
    head = "<tr><th>Metric</th><th>Cells that pass</th><th>Share</th><th>Needed</th><th></th></tr>"
    if not rows:
        return ""
    table = f"<thead>{head}</thead><tbody>{''.join(rows)}</tbody>"
    return f'<h2>Cells that pass</h2><table class="metrics">{table}</table>'


def _figures(report: Report) -> str:
    drawn = figures.draw(report)
    pictures = "".join(
        f"<figure><figcaption>{escape(picture.title)}</figcaption>{picture.svg}</figure>"
        for picture in drawn
    )
    legend = (
        "Lines and bands are simulated (mean, least and most of the runs), markers with bars are "
        "measured on Linux 6.18, dotted lines are theory; over time, dotted lines are Linux."
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
    return (
        f"<details><summary>All {len(outcomes)} checks against {escape(title)}</summary>"
        f"{_check_table(outcomes, with_cause=False)}</details>"
    )


def _check_table(outcomes: list[Outcome], with_cause: bool) -> str:
    headings = ["Verdict", "Condition", "Metric", "Source", "Expected", "Tolerance", "Got"]
    if with_cause:
        headings.append("Cause")
    head = "".join(f"<th>{heading}</th>" for heading in headings)
    rows = "".join(_row(outcome, with_cause) for outcome in outcomes)
    return f'<table class="checks"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _row(outcome: Outcome, with_cause: bool) -> str:
    check, (expected, tolerance) = outcome.check, expectation(outcome)
    got = outcome.note if outcome.verdict is Verdict.NOT_RUN else outcome.got
    cells = [
        ("", check.condition),
        ("metric", check.metric),
        ("source", check.source),
        ("expected", expected),
        ("tolerance", tolerance),
        ("got", got),
    ]
    if with_cause:
        cells.append(("cause", outcome.note or "not known"))
    name = outcome.verdict.value
    verdict = (
        f'<td class="verdict {name.replace(" ", "-")}" title="{escape(check.name)}">{name}</td>'
    )
    labelled = "".join(
        f"<td{f' data-label={chr(34)}{label}{chr(34)}' if label else ''}>{escape(text)}</td>"
        for label, text in cells
    )
    return f"<tr>{verdict}{labelled}</tr>"
