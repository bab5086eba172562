# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc fit``: from files of a measurement to a scenario."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

import tunnelcc as tc
from tunnelcc.apps.fit import fit as fits
from tunnelcc.apps.fit.fit import Fit
from tunnelcc.apps.fit.reading import Reading
from tunnelcc.commands.interrupt import interruptible
from tunnelcc.output import files as outputs
from tunnelcc.output import records
from tunnelcc.output.tables import Table, console
from tunnelcc.plots import check_file
from tunnelcc.schema.toml import write_toml
from tunnelcc.schema.units import format_size
from tunnelcc.words import fits as words
from tunnelcc.words.quantities import TIME, rate


def fit(
    paths: Sequence[Path],
    *,
    cc: str | None,
    runs: int,
    output: Path | None,
    plot: Path | None,
    then: bool,
) -> None:
    """Print what the files tell of the path. Write the scenario to ``output``, if it holds."""
    if output is not None:
        outputs.check_file("--output", output)
    if plot is not None:
        check_file(plot)
    measured = fits.read_all(paths)
    with interruptible():
        found = fits.fit(measured, cc, runs=runs)
    print_fit(found)
    if then:
        print_further(found)
    if plot is not None:
        draw(found, plot)
    if found.is_withdrawn:
        if output is not None:
            click.echo(f"{output} is not written")
    elif output is not None:
        outputs.write_text("--output", output, _guesses(found) + write_toml(found.table))
        flow = next((it for it in paths if it), None)
        names = shlex.join(["tunnelcc", "run", str(output), "--measured", str(flow)])
        click.echo(f"{output}; beside the measurement: {names}")


def draw(found: Fit, file: Path) -> None:
    """Draw the measurement and the answer's simulation in the same panels."""
    from tunnelcc.plots import plot_beside
    from tunnelcc.scenario import Experiment

    result = tc.run(Experiment.parse(found.table), progress=False)
    plot_beside(result, found.reading.measured, file)


def print_further(found: Fit) -> None:
    """Print the measurement that would tell most, and the others."""
    further = found.further
    records.tell("next", [{"measurement": name, "tells": list(it)} for name, it in further])
    if not further:
        click.echo("next: nothing, the files tell all of it")
    rate_ = found.estimates["rate"].value / 2e6
    for place, (name, tells) in enumerate(further):
        what = ", ".join(words.NAMES[it] for it in tells)
        command = words.command(name, found.reading.measured.is_down, rate_)
        click.echo(f"{'or' if place else 'next'}: {command}    ({what})")


def _records(found: Fit) -> Iterator[dict[str, Any]]:
    for name, it in found.estimates.items():
        low, high = it.interval
        yield {
            "key": name, "value": it.value, "low": low, "high": high, "unit": it.quantity.unit,
            "is_told": it.is_told, "from": words.reason(it.reason),
        }  # fmt: skip


def print_fit(found: Fit) -> None:
    """Print estimates with their intervals, the limit, and what other measurements would tell."""
    out = console()
    reading = found.reading
    measured = reading.measured
    records.tell("path", lambda: _records(found), dict.fromkeys(("value", "low", "high"), "unit"))
    records.tell(
        "measurement",
        lambda: [{
            "source": str(reading.measured.source), "flows": len(reading.streams),
            "cc": " ".join(reading.congestion), "cc_assumed": reading.is_assumed,
            "goodput": reading.goodput, "since": reading.since, "limited_by": found.limit,
            "or_by": found.other, "share": found.share, "queue": found.queue,
        }],
        {"goodput": "bit/s", "since": "s"},
    )  # fmt: skip
    heading = f"{measured.source}: {_flows(reading)}, {rate(reading.goodput)} after "
    heading += f"{reading.since:.3g} s"
    out.print(heading, style="bold", markup=False, soft_wrap=True)
    out.print(words.direction(measured.is_down, measured.knows_way), markup=False)
    told = found.estimates.items()
    rows = [
        [words.NAMES[name], *words.written(it), words.reason(it.reason)]
        for name, it in told
        if it.is_told and not found.is_withdrawn
    ]
    if rows:
        Table("", ["", "value", "95 % interval", "from"], rows, (1, 2), whole=range(4)).print(out)
    for remark in reading.remarks:
        out.print(words.REMARKS[remark], markup=False)
    if found.is_outside:
        out.print(words.OUTSIDE, markup=False)
    elif found.check is not None and found.check.misfits:
        out.print(words.misfit(found.check.misfits), markup=False)
    else:
        _print_limit(found)
    if reading.is_assumed and not reading.is_datagrams:
        text = "is assumed, because the files do not tell: --cc names another"
        out.print(f"{reading.congestion[0]} {text}", markup=False)
    for name, it in told:
        if not it.is_told and not found.is_withdrawn:
            known, why = words.written(it)[1], words.reason(it.reason)
            out.print(f"not told: {words.NAMES[name]} ({known}): {why}", markup=False)
    if (check := found.check) is not None:
        text = f"simulated {rate(check.goodput)} / measured {rate(check.measured_goodput)}"
        text += f" = {check.ratio:.2f}"
        if check.measured_rtt > 0:
            ours, theirs = (
                TIME.heading(f"{TIME.factor * it:.4g}") for it in (check.rtt, check.measured_rtt)
            )
            text += f"; RTT under load {ours} / {theirs} = {check.rtt_ratio:.2f}"
        out.print(text, markup=False, soft_wrap=True)


def _flows(reading: Reading) -> str:
    """Return how many flows there are of which kind, as "1 flow of cubic, 1 flow of bbr"."""
    kinds = Counter("UDP" if reading.is_datagrams else it.congestion for it in reading.streams)
    return ", ".join(
        f"{count} flow{'s' if count > 1 else ''} of {kind}" for kind, count in kinds.items()
    )


def _print_limit(found: Fit) -> None:
    out, reading = console(), found.reading
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


def _guesses(found: Fit) -> str:
    """Return comments: the intervals, and which values the files do not tell."""
    lines = [
        f"# {words.direction(found.reading.measured.is_down, found.reading.measured.knows_way)}\n"
    ]
    if found.reading.is_assumed and not found.reading.is_datagrams:
        lines.append(f"# flows.cc is assumed: {found.reading.congestion[0]}\n")
    for name, it in found.estimates.items():
        value, known = words.written(it)
        if it.is_told:
            lines.append(f"# {words.NAMES[name]}: {value} ({known})\n")
        else:
            lines.append(f"# Not told by the measurement: {words.NAMES[name]} ({known})\n")
    return "".join([*lines, "\n"])
