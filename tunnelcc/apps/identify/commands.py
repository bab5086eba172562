# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc identify``: ask a program, write its tunnel, and compare both."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tunnelcc.commands.common import json_option
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.output import records

if TYPE_CHECKING:
    from tunnelcc.apps.identify.compare import Row
    from tunnelcc.apps.identify.questions import Found


@click.command("identify")
@click.option("--server", required=True, metavar="LINE", help="Starts the program's server.")
@click.option("--client", required=True, metavar="LINE", help="Starts the program's client.")
@click.option(
    "--software", required=True, metavar="TEXT", help="Program and version, such as 'chisel 1.11'."
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    required=True,
    help="The tunnel's file (.toml).",
)
@json_option
def command(server: str, client: str, software: str, output: Path) -> None:
    """Write the tunnel's file of a program that nobody knows, from two command lines.

    Both lines run in the Linux of `measure --kernel virtual`, as lines of a shell that may write
    files to /run. In them, SERVER is the server's address, PORT the port at which the client's end
    listens on 127.0.0.1, and TARGET the address and port to which the server's end connects. It
    asks the program how many connections it makes, how many round trips it takes, and which bytes
    it adds; then it simulates the file beside the program on six paths. The file is written if it
    misses by no more than a tenth. Relays over TCP with a connection for each flow are identified;
    of others it says what it saw.
    """
    from tunnelcc.apps.identify import compare, entry, questions
    from tunnelcc.output import files

    if output.suffix != ".toml":
        raise ConfigError(Problem("--output", str(output), "a file name that ends in .toml"))
    files.check_file("--output", output)
    found = questions.ask(server, client, _tell)
    _print_found(found)
    if found.notes or found.carriers != "flow":
        _refuse(found.notes or ["all flows share a carrier, whose entry is not written yet"])
    text = entry.text(entry.tables(found, software), server, client)
    # Simulated from a file of its own, so that what misses leaves none behind.
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, output.name)
        file.write_text(text, encoding="utf-8")
        rows = compare.compare(server, client, file, _tell)
    _print_rows(rows)
    worst = max(rows, key=lambda it: it.miss)
    if worst.miss > compare.MOST_MISS:
        _refuse([f"{worst.name} at {worst.path} misses by {worst.miss:.0%}"])
    files.write_text("--output", output, text)
    click.echo(f"identified: {output}; no number misses by more than {worst.miss:.1%}")


def _tell(what: str) -> None:
    click.echo(what, err=True)


def _refuse(reasons: Sequence[str]) -> None:
    """Say why nothing was identified, and end."""
    click.echo("not identified:")
    for reason in reasons:
        click.echo(f"- {reason}")
    sys.exit(1)


def _print_found(found: Found) -> None:
    from tunnelcc.output.tables import Table, console

    shared = {"flow": "a connection for each flow", "all": "one connection for all flows"}
    rows = [
        ("over", found.protocol.upper()),
        ("connections", shared.get(found.carriers, "neither one for each flow nor one for all")),
        ("dialled", "before the first flow" if found.is_early else "by a flow"),
        (
            "round trips to the first answer",
            f"{found.first_trips:.3f}, later {found.later_trips:.3f}",
        ),
    ]
    for number, turn in enumerate(found.handshake):
        rows.append((f"handshake, turn {number}", f"{turn.client} bytes, then {turn.server}"))
    rows += [
        ("in front of the first data", f"{found.request} bytes"),
        ("in front of the first answer", f"{found.response} bytes"),
    ]
    for way, law in found.laws.items():
        added = f"{law.overhead} bytes per frame of at most {law.most or 'any number of'} bytes"
        block = f", padded to blocks of {law.block}" if law.block else ""
        reads = f", reads of {law.buffer}" if law.buffer else ""
        exact = "all" if law.is_exact else f"{law.seen - law.misses}"
        rows.append((way, f"{added}{block}{reads}; {exact} of {law.seen} writes exact"))
    for it in found.held:
        kept = it["accepted"] - sum(it[key] for key in it if key.endswith(("kernel", "carrier")))
        rows.append(
            (f"{it['flows']} flows without a reader", f"{it['accepted']} bytes taken, about {kept} "
             "of them by the program itself (an indication)")
        )  # fmt: skip
    records.tell("found", [dict(zip(("what", "found"), it, strict=True)) for it in rows])
    Table(f"Found with {found.what}", ("what", "found"), rows).print(console())


def _print_rows(rows: Sequence[Row]) -> None:
    from tunnelcc.output.tables import Table, console

    cells = [
        (it.path, it.name, f"{it.program:.4g}", f"{it.simulated:.4g}", f"{it.miss:.1%}")
        for it in rows
    ]
    headings = ("path", "what", "program", "simulated", "differs by")
    records.tell("compared", [vars(it) | {"miss": it.miss} for it in rows])
    Table("Beside the program", headings, cells, (2, 3, 4)).print(console())
