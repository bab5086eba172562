# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc fit``: from files of a measurement to a scenario."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from tunnelcc import fit as fits
from tunnelcc.commands.interrupt import interruptible
from tunnelcc.fit import Fit
from tunnelcc.output import files as outputs
from tunnelcc.output.tables import Table, console
from tunnelcc.schema.toml import write_toml
from tunnelcc.schema.units import format_size
from tunnelcc.words import fits as words
from tunnelcc.words.quantities import TIME, rate


def fit(
    paths: Sequence[Path],
    *,
    cc: str | None,
    runs: int,
    jobs: int | None,
    store: Path,
    output: Path | None,
) -> None:
    """Print what the files tell of the path. Write the scenario to ``output``."""
    if output is not None:
        outputs.check_file("--output", output)
    measured = fits.read_all(paths)
    with interruptible():
        found = fits.fit(measured, cc, runs=runs, store=store, jobs=jobs)
    print_fit(found)
    if output is not None:
        output.write_text(_guesses(found) + write_toml(found.table), encoding="utf-8")
        flow = next((it for it in paths if it), None)
        names = shlex.join(["tunnelcc", "run", str(output), "--measured", str(flow)])
        click.echo(f"{output}; beside the measurement: {names}")


def print_fit(found: Fit) -> None:
    """Print estimates with their intervals, the limit, and what other measurements would tell."""
    out = console()
    reading = found.reading
    count = len(reading.streams)
    flows = f"{count} flow{'s' if count > 1 else ''} of {reading.congestion}"
    heading = (
        f"{reading.measured.source}: {flows}, {rate(reading.goodput)} after {reading.since:.3g} s"
    )
    out.print(heading, style="bold", markup=False, soft_wrap=True)
    told = found.estimates.items()
    rows = [
        [words.NAMES[name], *words.written(it), words.reason(it.reason)]
        for name, it in told
        if it.is_told
    ]
    Table("", ["", "value", "95 % interval", "from"], rows, (1, 2), whole=range(4)).print(out)
    share = f" in {found.share:.0%} of the simulations that are like it" if found.runs else ""
    names = [words.limit(it) for it in (found.limit, found.other) if it]
    out.print(f"limited by {names[0]}{share}", markup=False)
    if found.other:
        out.print(f"or by {names[1]}: the files do not decide it", markup=False)
    if found.queue in fits.QUEUES:
        what = words.QUEUES[found.queue]
        out.print(f"{what} dropped packets in most simulations that are like it", markup=False)
    if found.limit == "receive_window":
        window = format_size(round(reading.window))
        rtt = TIME.heading(f"{TIME.factor * reading.mean_rtt:.4g}")
        most = rate(8 * reading.window / reading.mean_rtt)
        out.print(
            f"window / RTT = {window} / {rtt} = {most} for each flow. Raise "
            "net.ipv4.tcp_rmem (and the application's SO_RCVBUF, if it sets one) at the receiver",
            markup=False,
        )
    if reading.is_assumed:
        text = f"{reading.congestion} is assumed, because the files do not tell: --cc names another"
        out.print(text, markup=False)
    for name, it in told:
        if not it.is_told:
            known, why = words.written(it)[1], words.reason(it.reason)
            out.print(f"not told: {words.NAMES[name]} ({known}): {why}", markup=False)


def _guesses(found: Fit) -> str:
    """Return comments that name the values of the scenario that the files do not tell."""
    lines = []
    if found.reading.is_assumed:
        lines.append(f"# flows.cc is assumed: {found.reading.congestion}\n")
    for name, it in found.estimates.items():
        if not it.is_told:
            known = words.written(it)[1]
            lines.append(f"# Not told by the measurement: {words.NAMES[name]} ({known})\n")
    return "".join([*lines, "\n" * bool(lines)])
