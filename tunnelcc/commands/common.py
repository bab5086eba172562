# SPDX-License-Identifier: GPL-2.0-only
"""Options that commands share; those of a use in ``apps``, or of a plug-in, may take them, too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from tunnelcc.errors import TunnelccError

_Command = TypeVar("_Command", bound=Callable[..., Any])


def json_option(command: _Command) -> _Command:
    """Add ``--json``: what the command tells (``output.records``) is printed, and words are not."""

    @functools.wraps(command)
    def with_json(*arguments: Any, as_json: bool, **options: Any) -> Any:
        if not as_json:
            return command(*arguments, **options)
        from tunnelcc.output import records

        context = click.get_current_context()
        name = context.command_path.partition(" ")[2]
        with records.as_json(name, _versions):
            return command(*arguments, **options)

    option = click.option(
        "--json", "as_json", is_flag=True,
        help="Print JSON (`tunnelcc show schema`); words go to standard error.",
    )  # fmt: skip
    return cast(_Command, option(with_json))


def _versions() -> dict[str, str]:
    from tunnelcc._version import __version__
    from tunnelcc.core import model_version

    try:
        return {"tunnelcc": __version__, "models": model_version()}
    except TunnelccError:
        return {"tunnelcc": __version__, "models": ""}


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
