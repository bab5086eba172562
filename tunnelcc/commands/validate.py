# SPDX-License-Identifier: GPL-2.0-only
"""What the command ``tunnelcc validate`` does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tunnelcc.errors import ConfigError, Problem, nearest
from tunnelcc.validation import exchanges, stock, suite, table
from tunnelcc.validation import page as pages


def run(
    groups: Sequence[str],
    *,
    quick: bool,
    seeds: int | None,
    jobs: int | None,
    page: Path | None,
    stock_ns3: Path | None,
    tests: Path | None,
    as_json: bool,
) -> bool:
    """Validate, print the report, write it to ``page``, and return whether it passed.

    Raises ConfigError for unknown groups and for files that are not there or cannot be written.
    """
    for group in groups:
        if group not in suite.GROUPS:
            expected = "one of " + ", ".join(suite.GROUPS)
            raise ConfigError(Problem("--group", group, expected, nearest(group, suite.GROUPS)))
    if page is not None:
        pages.check_file(page)
    if stock_ns3 is not None:
        stock.check_program(stock_ns3)
    if tests is not None:
        exchanges.check_program(tests)
    checks = suite.collect(groups, quick=quick, stock_ns3=stock_ns3, tests=tests)
    report = suite.validate(checks, quick=quick, seeds=seeds, jobs=jobs)
    if as_json:
        print(json.dumps(table.to_dict(report), indent=2, allow_nan=False))
    else:
        table.print_report(report)
    if page is not None:
        pages.write(report, page)
    return report.passed
