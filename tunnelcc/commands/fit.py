# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc fit``: from files of a measurement to a scenario."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from tunnelcc import fit as fits
from tunnelcc.commands.interrupt import interruptible
from tunnelcc.fit import Estimate, Fit
from tunnelcc.output import files as outputs
from tunnelcc.output.tables import Table, console
from tunnelcc.schema.toml import write_toml
from tunnelcc.schema.units import format_size, mbit

_NAMES = {
    "rate": "rate", "rtt": "RTT without queues", "buffer": "buffer", "loss": "random loss",
    "jitter": "jitter", "window": "receiver's window",
}  # fmt: skip


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
        f"{reading.measured.source}: {flows}, {mbit(reading.goodput)} Mbit/s after "
        f"{reading.since:.3g} s"
    )
    out.print(heading, style="bold", markup=False, soft_wrap=True)
    known = [it for it in found.estimates.values() if it.is_told]
    rows = [[_NAMES[it.name], *_written(it), it.how] for it in known]
    Table("", ["", "value", "95 % interval", "from"], rows, (1, 2), whole=range(4)).print(out)
    share = f" in {found.share:.0%} of the simulations that are like it" if found.runs else ""
    names = [fits.KINDS.get(it, it) for it in (found.limit, found.other) if it]
    out.print(f"limited by {names[0]}{share}", markup=False)
    if found.other:
        out.print(f"or by {names[1]}: the files do not decide it", markup=False)
    if found.queue in fits.QUEUES:
        what = fits.QUEUES[found.queue]
        out.print(f"{what} dropped packets in most simulations that are like it", markup=False)
    if found.limit == "receive_window":
        window, rtt = format_size(round(reading.window)), f"{1e3 * reading.mean_rtt:.4g} ms"
        rate = mbit(8 * reading.window / reading.mean_rtt)
        out.print(
            f"window / RTT = {window} / {rtt} = {rate} Mbit/s for each flow. Raise "
            "net.ipv4.tcp_rmem (and the application's SO_RCVBUF, if it sets one) at the receiver",
            markup=False,
        )
    if reading.is_assumed:
        text = f"{reading.congestion} is assumed, because the files do not tell: --cc names another"
        out.print(text, markup=False)
    for it in found.estimates.values():
        if not it.is_told:
            _, interval = _written(it)
            out.print(f"not told: {_NAMES[it.name]} ({interval}): {it.how}", markup=False)


def _guesses(found: Fit) -> str:
    """Return comments that name the values of the scenario that the files do not tell."""
    lines = []
    if found.reading.is_assumed:
        lines.append(f"# flows.cc is assumed: {found.reading.congestion}\n")
    for it in found.estimates.values():
        if not it.is_told:
            lines.append(f"# Not told by the measurement: {_NAMES[it.name]} ({_written(it)[1]})\n")
    return "".join([*lines, "\n" * bool(lines)])


def _written(it: Estimate) -> tuple[str, str]:
    """Return a value and its interval with units."""
    factor, unit = {
        "rate": (1e-6, "Mbit/s"), "rtt": (1e3, "ms"), "buffer": (1e3, "ms"),
        "jitter": (1e3, "ms"), "loss": (1e2, "%"), "window": (1 / 1024, "KiB"),
    }[it.name]  # fmt: skip

    def text(value: float) -> str:
        return f"{factor * value:.3g}" if factor * value < 1000 else f"{factor * value:.0f}"

    if np.isinf(it.high):
        return f"{text(it.value)} {unit}", f"at least {text(it.low)} {unit}"
    if it.low <= 0:
        least = f"below {text(it.high)} {unit}"
        return (f"{text(it.value)} {unit}" if it.value > 0 else "–"), least
    interval = "–" if it.low == it.high else f"{text(it.low)} to {text(it.high)} {unit}"
    return f"{text(it.value)} {unit}", interval
