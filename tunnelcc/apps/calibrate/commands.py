# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc calibrate-host``."""

from __future__ import annotations

from pathlib import Path

import click

from tunnelcc.errors import ConfigError, Problem

_PATH = click.Path(path_type=Path)


@click.command("calibrate-host")
@click.option(
    "--output",
    type=_PATH,
    help="Save a profile (.toml) for --set hosts.profile=FILE.",
)
def calibrate_host(output: Path | None) -> None:
    """Measure the CPU costs of this machine.

    Measures ciphers, compression and system calls that tunnels use. Takes about 15 seconds. Only
    root can measure packet sockets and TUN devices.
    """
    from tunnelcc.apps.calibrate import calibrate, printed
    from tunnelcc.output import files

    if output is not None:
        if output.suffix != ".toml":
            raise ConfigError(Problem("--output", str(output), "a file name that ends in .toml"))
        files.check_file("--output", output)
    calibrate.check()
    click.echo("measuring for about 15 seconds", err=True)
    profile, spreads = calibrate.run()
    printed.print_profile(profile, spreads)
    if output is not None:
        calibrate.write(profile, output)
