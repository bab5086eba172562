# SPDX-License-Identifier: GPL-2.0-only
"""The report of a validation as one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

from tunnelcc._version import __version__
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.output import files
from tunnelcc.report import html
from validation import figures, table
from validation.suite import Report

_TEMPLATE = Path(__file__).with_name("page.html")


def check_file(file: Path) -> None:
    """Raise ConfigError if no page can be written to ``file``."""
    if file.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(Problem("--report", str(file), "a file name ending in .html"))
    if not file.parent.is_dir():
        raise ConfigError(Problem("--report", str(file), "a file in an existing directory"))
    files.check_file("--report", file)


def write(report: Report, file: Path) -> None:
    """Write the page. Raises ConfigError if that fails."""
    html.write(file, render(report))


def render(report: Report) -> str:
    """Return the page."""
    missed = [outcome for outcome in report.outcomes if not outcome.judgement.passed]
    verdict = "passed" if report.passed else "failed"
    return html.render(
        _TEMPLATE,
        title=f"Validation of tunnelcc {__version__}: {verdict}",
        counts=table.counts(report),
        kinds=table.KINDS,
        shares=[table.shares(report), table.splits(report)],
        missed=table.checks("", missed, with_cause=True),
        groups=[(it, table.checks("", report.of_group(it))) for it in report.groups],
        pictures=figures.draw(report),
    )
