# SPDX-License-Identifier: GPL-2.0-only
"""Options that commands share; those of a use in ``apps``, or of a plug-in, may take them, too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from tunnelcc.commands import complete
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
set_option = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", shell_complete=complete.keys,
    help="Set any key, such as hosts.kernel=5.10. Repeatable. `tunnelcc show experiment` lists "
        "the keys.",
)  # fmt: skip
seeds_option = click.option(
    "--seeds",
    help="Number of repeats, whose seeds begin with the scenario's, or the seeds (1,2,7). "
    "[default: 5]",
)
#: Options of one experiment → what they set.
EXPERIMENT_OPTIONS = {
    "rate": "Bottleneck rate, such as 100Mbps.",
    "rtt": "Base round-trip time without queueing, such as 100ms.",
    "loss": "Random loss in the direction of the data, such as 1%.",
    "buffer": "Buffer at the bottleneck, such as 1bdp, 200p, 64KiB or 50ms.",
    "cc": "Congestion control of the applications and of carriers over TCP.",
    "carrier-cc": "Congestion control of the tunnel's own connections (carriers).",
    "flows": "Number of flows.",
    "tunnel": "Tunnel of the flows that name none: a name of `tunnelcc list`.",
    "direction": "up: the client sends; down: the server does, as in a download.",
    "duration": "Simulated time, including the warm-up.",
    "until": "End before, once goodput is known to ± 2%, or another part; settled: ± 5%.",
    "warmup": "Time before measurements start.",
    "seed": "Seed of all random draws.",
}


_COMPLETE = {
    "cc": complete.algorithms,
    "carrier-cc": complete.algorithms,
    "tunnel": complete.tunnels,
    "direction": complete.choices("up", "down"),
}


def experiment_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of one experiment."""
    for name, text in reversed(EXPERIMENT_OPTIONS.items()):
        command = click.option(f"--{name}", help=text, shell_complete=_COMPLETE.get(name))(command)
    return command
