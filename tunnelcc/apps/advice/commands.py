# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc advise``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from tunnelcc.commands import complete
from tunnelcc.commands.common import (
    EXPERIMENT_OPTIONS,
    jobs_option,
    json_option,
    seeds_option,
    set_option,
    store_option,
)

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("scenario", required=False, metavar="[PATH.toml]", type=_PATH)
@click.option("--rate", help="Bottleneck rate, such as 100Mbps.")
@click.option("--rtt", help="Base round-trip time without queueing, such as 100ms.")
@click.option("--loss", help="Random loss in the direction of the data, such as 1%.")
@click.option("--buffer", help="Buffer at the bottleneck, such as 1bdp, 200p, 64KiB or 50ms.")
@click.option("--duration", help="Simulated time of each run. [default: the scenario's, or 12s]")
@set_option
@click.option("--direction", help=EXPERIMENT_OPTIONS["direction"])
@click.option(
    "--goal", default="bulk", show_default=True,
    help="bulk: one long transfer; short: pages of 500 kB; call: a call beside a transfer; mix: "
        "all three; fair: what a neighbour is left.",
)  # fmt: skip
@click.option(
    "--tunnels", metavar="NAME,…", shell_complete=complete.tunnels,
    help="Tunnels to compare; none: without a tunnel.",
)  # fmt: skip
@click.option(
    "--cc", "congestion", metavar="NAME,…", shell_complete=complete.algorithms,
    help="Congestion controls to compare.",
)  # fmt: skip
@seeds_option
@jobs_option
@store_option
@click.option("--plot", type=_PATH, help="Save a figure (.png, .svg or .pdf).")
@click.option("--html", type=_PATH, help="Save a page with table, figure and configuration.")
@json_option
def advise(scenario: Path | None, settings: tuple[str, ...], **options: Any) -> None:
    """Rank tunnels and congestion controls for a use of a path.

    PATH.toml is a scenario, such as `tunnelcc fit` writes. The command simulates all candidates on
    the path, and on paths with other loss, RTT, rate and buffer; says which is best, what is not
    told apart from it, what it costs, and where the ranking turns; and prints the configuration of
    the real program. Exits with 1 if a run fails.
    """
    from tunnelcc.apps.advice import printed

    if not printed.advise(scenario, settings, **options):
        sys.exit(1)
