# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc validate``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tunnelcc.errors import ConfigError, Problem, nearest
from tunnelcc.validation import page as pages
from tunnelcc.validation import suite, table
from tunnelcc.validation.check import Group


def run(
    names: Sequence[str],
    *,
    groups: Mapping[str, Callable[[], Group]] = suite.GROUPS,
    quick: bool,
    seeds: int | None,
    jobs: int | None,
    page: Path | None,
    as_json: bool,
) -> bool:
    """Validate, print the report, write it to ``page``. Return whether it passed.

    ``names``: the wanted ``groups``; none means all. Raises ConfigError for unknown groups and for
    a page that cannot be written.
    """
    for name in names:
        if name not in groups:
            expected = "one of " + ", ".join(groups)
            raise ConfigError(Problem("--group", name, expected, nearest(name, groups)))
    if page is not None:
        pages.check_file(page)
    chosen = suite.collect(names, quick=quick, groups=groups)
    report = suite.validate(chosen, quick=quick, seeds=seeds, jobs=jobs)
    if as_json:
        print(json.dumps(table.to_dict(report), indent=2, allow_nan=False))
    else:
        table.print_report(report)
    if page is not None:
        pages.write(report, page)
    return report.passed
