# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc measure``: an experiment simulated, and on this machine."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from tunnelcc import measure as measuring
from tunnelcc.config import Experiment
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.measure import Measured
from tunnelcc.output import files
from tunnelcc.output.tables import Table, console
from tunnelcc.plots import check_file, plot_beside
from tunnelcc.schema.units import mbit
from tunnelcc.simulation.result import Result


def measure(experiment: Experiment, plot: Path | None, output: Path | None) -> None:
    """Measure, then simulate, and print and draw both. Raises ConfigError, TunnelccError."""
    from tunnelcc.simulation.runner import run

    if plot is not None:
        check_file(plot, "--plot")
    if output is not None:
        if output.suffix != ".csv":
            raise ConfigError(Problem("--output", str(output), "a file name ending in .csv"))
        files.check_file("--output", output)
    measuring.check(experiment)
    click.echo(f"measuring for {experiment.duration:g} s", err=True)
    measured = measuring.measure(experiment)
    result = run(experiment)
    _print(result, measured)
    if output is not None:
        output.write_text(measured.series)
    if plot is not None:
        plot_beside(result, measured.flows, plot)
    for written in filter(None, (output, plot)):
        click.echo(written, err=True)


def _print(result: Result, measured: Measured) -> None:
    since = result.experiment.warmup
    rows = []
    for flow, stream in enumerate(measured.flows.streams):
        after = stream.time > since
        ours = float(result.metric("goodput", flow=flow))
        theirs = measuring.goodput(measured.flows, flow, since)
        rows.append(_row(f"flow {flow} ({stream.congestion}): goodput, Mbit/s", ours, theirs, 1e-6))
        srtt = float(result.metric("flow_socket_rtt", flow=flow))
        rows.append(_row("mean smoothed RTT, ms", srtt, float(np.nanmean(stream.rtt[after])), 1e3))
        resent = float(result.sender_leg(flow).retransmits_series[-1])
        rows.append(_row("retransmitted, segments", resent, float(stream.retransmits[-1]), 1))
    if result.experiment.path.rate is not None:
        service = 8 * 1500 / result.experiment.path.rate
        queue = float(result.metric("queue_delay_mean")) + service
        rows.append(_row("time in queue and service, ms", queue, measured.queue, 1e3))
    title = f"{result.heading}: simulated, and measured with {measured.what}"
    columns = ["", "simulated", "measured", "simulated / measured"]
    out = console()
    Table(title, columns, rows, (1, 2, 3), whole=(0,)).print(out)
    late = 1e3 * measured.late
    note = f"99 % of the packets left the emulated link less than {late:.2g} ms late."
    if late > measuring.LATE:
        note += " This is much: the machine is busy, and what was measured may be wrong."
    out.print(note, markup=False)


def _row(name: str, ours: float, theirs: float, factor: float) -> list[str]:
    ratio = f"{ours / theirs:.2f}" if theirs > 0 else "–"
    texts = [mbit(it) if factor == 1e-6 else f"{factor * it:.4g}" for it in (ours, theirs)]
    return [name, *texts, ratio]
