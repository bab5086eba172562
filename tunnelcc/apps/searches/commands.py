# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc search`` and ``tunnelcc sensitivity``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tunnelcc.commands import complete
from tunnelcc.commands.common import (
    jobs_option,
    json_option,
    set_option,
    store_option,
    trust_option,
)

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("scenario", required=False, type=_PATH)
@click.option(
    "--over", multiple=True, required=True, metavar="KEY=LOW..HIGH",
    help="A key and where it is searched: LOW..HIGH, LOW..HIGH:log, VALUE,VALUE,…, or "
        "path.rate_steps=LOW..HIGH:8 for a trace of eight rates. Repeatable.",
)  # fmt: skip
@click.option("--minimise", metavar="METRIC", help="Search for the least value of this metric.")
@click.option("--maximise", metavar="METRIC", help="Search for the greatest value.")
@click.option("--flow", type=int, help="The flow, from 0, of a metric of flows.")
@click.option("--budget", default=200, show_default=True, help="Runs of the search.")
@click.option("--seeds", default=1, show_default=True, help="Runs of each point.")
@click.option(
    "--fresh-seeds", default=5, show_default=True,
    help="Seeds with which the best points run again.",
)  # fmt: skip
@set_option
@click.option(
    "--output", "-o", type=_PATH, default="found.toml", show_default=True,
    help="The scenario of the find.",
)  # fmt: skip
@jobs_option
@store_option
@trust_option
@json_option
def search(
    scenario: Path | None, settings: tuple[str, ...], over: tuple[str, ...], output: Path,
    **options: Any,
) -> None:  # fmt: skip
    """Search keys of the SCENARIO for where a metric is least or greatest.

    The best points run again with seeds that the search did not use. Finished runs are not
    repeated: an interrupted search goes on when it is asked for again.
    """
    from tunnelcc.apps.searches import printed

    printed.search(scenario, settings, over, output, **options)


@click.command()
@click.argument("results", type=_PATH, shell_complete=complete.results)
@click.option(
    "--metric", default="goodput", show_default=True, metavar="METRIC",
    shell_complete=complete.metrics,
    help="The metric, or module:function for one of your own.",
)  # fmt: skip
@click.option("--flow", type=int, help="The flow, from 0, of a metric of flows.")
@click.option("--output", "-o", type=_PATH, help="Save a figure (.png, .svg or .pdf).")
@json_option
def sensitivity(results: Path, metric: str, flow: int | None, output: Path | None) -> None:
    """Tell how much of a metric's variance each key of a sweep explains.

    RESULTS is STORE/NAME, a store with one sweep, or a .nc file.
    """
    from tunnelcc.apps.searches import printed

    printed.sensitivity(results, metric, flow, output)
