# SPDX-License-Identifier: GPL-2.0-only
"""Options that commands share; those of a use in ``apps``, or of a plug-in, may take them, too."""

from __future__ import annotations

from pathlib import Path

import click


def _grant_trust(context: click.Context, option: click.Parameter, is_given: bool) -> None:
    if is_given:
        from tunnelcc.modules import trust

        trust.grant()


jobs_option = click.option(
    "--jobs", type=click.IntRange(1, 1024), help="Number of processes (default: one for each core)."
)
store_option = click.option(
    "--store", type=click.Path(path_type=Path), default="runs", show_default=True,
    help="Directory of finished runs, which are not run again.",
)  # fmt: skip
again_option = click.option(
    "--again", is_flag=True,
    help="Run a sweep of the store again if other models made it. Its runs of before stay until "
        "`tunnelcc store prune`.",
)  # fmt: skip
trust_option = click.option(
    "--trust", is_flag=True, is_eager=True, expose_value=False, callback=_grant_trust,
    help="Run code that a scenario or a paper's folder names or holds, with all your rights.",
)  # fmt: skip
