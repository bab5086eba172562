# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc measure``: an experiment simulated, and on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from tunnelcc import measure as measuring
from tunnelcc.commands.sweep import parse_seeds
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.measure import Measured
from tunnelcc.metrics import mean_and_half_width
from tunnelcc.output import files
from tunnelcc.output.tables import Table, console
from tunnelcc.plots import check_file, plot_beside
from tunnelcc.report.cell import Cell
from tunnelcc.results.result import Result
from tunnelcc.scenario import Experiment
from tunnelcc.sweeps.declaration import seeds_of
from tunnelcc.words.quantities import RATE


def measure(experiment: Experiment, seeds: str, plot: Path | None, output: Path | None) -> None:
    """Measure, then simulate, and print and draw both. Raises ConfigError, TunnelccError.

    ``seeds``: of the runs of each, as of a sweep, with other losses and start times. Ctrl-C prints
    those that are finished; the figure and the samples are those of the first one.
    """
    from tunnelcc.running.runner import run

    if plot is not None:
        check_file(plot, "--plot")
    if output is not None:
        if output.suffix != ".csv":
            raise ConfigError(Problem("--output", str(output), "a file name ending in .csv"))
        files.check_file("--output", output)
    measuring.check(experiment)
    listed = seeds_of(parse_seeds(seeds), experiment.seed, "--seeds")
    repeats = f"{len(listed)} times " if len(listed) > 1 else ""
    click.echo(f"measuring {repeats}for {experiment.duration:g} s", err=True)
    both: list[tuple[Result, Measured]] = []
    try:
        for seed in listed:
            one = experiment.with_({"seed": seed})
            measured = measuring.measure(one)
            both.append((run(one), measured))
    except KeyboardInterrupt:
        if not both:
            raise
        click.echo(f"interrupted after {len(both)} of {len(listed)}", err=True)
    result, measured = both[0]
    _print(both)
    if output is not None:
        output.write_text(measured.series)
    if plot is not None:
        plot_beside(result, measured.flows, plot)
    for written in filter(None, (output, plot)):
        click.echo(written, err=True)
    if len(both) < len(listed):
        raise KeyboardInterrupt


def _print(both: Sequence[tuple[Result, Measured]]) -> None:
    result, measured = both[0]
    runs = [_values(*it) for it in both]
    rows = []
    for name in runs[0]:
        ours, theirs = (np.array([values[name][side] for values in runs]) for side in (0, 1))
        ratio = f"{ours.mean() / theirs.mean():.2f}" if theirs.mean() > 0 else "–"
        cells = (Cell(*map(float, mean_and_half_width(it))) for it in (ours, theirs))
        rows.append([name, *map(str, cells), ratio])
    title = f"{result.heading}: simulated, and measured with {measured.what}"
    columns = ["", "simulated", "measured", "simulated / measured"]
    out = console()
    Table(title, columns, rows, (1, 2, 3), whole=(0,)).print(out)
    if len(both) > 1:
        out.print(f"means of {len(both)} runs ± half of their 95 % interval", markup=False)
    late = 1e3 * max(it.late for _, it in both)
    note = f"99 % of the packets left the emulated link less than {late:.2g} ms late."
    if late > measuring.LATE:
        note += " This is much: the machine is busy, and what was measured may be wrong."
    out.print(note, markup=False)


def _values(result: Result, measured: Measured) -> dict[str, tuple[float, float]]:
    """Return what is compared, in the unit of its name: simulated, and measured."""
    since = result.experiment.warmup
    found = {}
    for flow, stream in enumerate(measured.flows.streams):
        after = stream.time > since
        of_flow = f"flow {flow} ({stream.congestion}): "
        found[f"{of_flow}goodput, {RATE.unit}"] = (
            1e-6 * float(result.metric("goodput", flow=flow)),
            1e-6 * measuring.goodput(measured.flows, flow, since),
        )
        found[f"{of_flow}mean smoothed RTT, ms"] = (
            1e3 * float(result.metric("flow_socket_rtt", flow=flow)),
            1e3 * float(np.nanmean(stream.rtt[after])),
        )
        found[f"{of_flow}retransmitted, segments"] = (
            float(result.sender_leg(flow).retransmits_series[-1]), float(stream.retransmits[-1]),
        )  # fmt: skip
    if result.experiment.path.rate is not None:
        service = 8 * 1500 / result.experiment.path.rate
        queue = float(result.metric("queue_delay_mean")) + service
        found["time in queue and service, ms"] = 1e3 * queue, 1e3 * measured.queue
    return found
