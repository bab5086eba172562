# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc fit``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tunnelcc.commands import complete
from tunnelcc.commands.common import json_option

_PATH = click.Path(path_type=Path)


@click.command("fit")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_PATH)
@click.option(
    "--cc", shell_complete=complete.algorithms,
    help="Congestion control of the flows, if the files do not tell.",
)  # fmt: skip
@click.option(
    "--runs", type=click.IntRange(40, 10_000), default=96, show_default=True,
    help="Simulations to search with.",
)  # fmt: skip
@click.option("--output", "-o", type=_PATH, help="Write the path and flows as a scenario (.toml).")
@click.option("--plot", type=_PATH, help="Draw the files beside the answer's simulation.")
@click.option("--then", is_flag=True, help="Say which measurement would tell most besides.")
@json_option
def fit(files: tuple[Path, ...], **options: Any) -> None:
    """Find the path of a measurement: rate, RTT, buffer, loss, windows, and what limited the flow.

    FILES are of one path: iperf3 JSON (also -R, -u, -P, --bidir), output of iperf 2, a log of
    `ss -ti` at either end, a capture, a flent file, a speed test's JSON; and output of ping, fping
    or mtr. What they do not tell, the command says, and what would. The answer is simulated at
    last, and withdrawn if it has another goodput or RTT than the files.
    """
    from tunnelcc.apps.fit import printed

    printed.fit(files, **options)
