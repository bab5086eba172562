# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc validate`` with the groups that need programs of the source tree: `make validate`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from tunnelcc import cli
from tunnelcc.commands.validate import run
from tunnelcc.validation.check import Group
from tunnelcc.validation.suite import GROUPS
from validation import exchanges, kcp, quic, stock


@click.command(params=cli.validate.params, help=cli.validate.help)
@click.option("--stock-ns3", type=click.Path(path_type=Path), required=True)
@click.option("--tests", type=click.Path(path_type=Path), required=True)
def validate(
    groups: tuple[str, ...], report: Path | None, stock_ns3: Path, tests: Path, **options: Any
) -> None:
    stock.check_program(stock_ns3)
    exchanges.check_program(tests)
    every: dict[str, Callable[[], Group]] = {
        "linux": GROUPS["linux"],
        **{name: partial(exchanges.group, name, tests) for name in exchanges.GROUPS},
        **GROUPS,
        "programs": partial(_programs, tests),
        "ns3": partial(stock.group, stock_ns3),
    }
    if not run(groups, groups=every, page=report, **options):
        sys.exit(1)


def _programs(tests: Path) -> Group:
    """Return what the models' suites, these tests and the package compare with real programs."""
    cases, measured = exchanges.group("programs", tests), GROUPS["programs"]()
    every = (*cases.checks, *kcp.checks(), *quic.checks(), *quic.queue_checks(), *measured.checks)
    return replace(measured, checks=every)


if __name__ == "__main__":
    cli.cli.add_command(validate, "validate")
    cli.main(["validate", *sys.argv[1:]])
