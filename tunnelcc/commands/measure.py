# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc measure``: an experiment simulated, and on this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click
import numpy as np
from tqdm import tqdm

from tunnelcc import measure as measuring
from tunnelcc.commands.sweep import parse_seeds
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.measure import Measured, beside, plan, virtual
from tunnelcc.metrics import mean_and_half_width
from tunnelcc.output import files
from tunnelcc.output.tables import Table, console
from tunnelcc.plots import check_file, plot_beside
from tunnelcc.report.cell import Cell
from tunnelcc.results.result import Result
from tunnelcc.scenario import Experiment
from tunnelcc.sweeps.declaration import seeds_of
from tunnelcc.words.quantities import RATE


def measure(
    experiment: Experiment,
    seeds: str,
    plot: Path | None,
    output: Path | None,
    kernel: str | None = None,
    link: str = "models",
    keep: Path | None = None,
) -> None:
    """Measure, then simulate, and print and draw both. Raises ConfigError, TunnelccError.

    ``seeds``: of the runs of each, as of a sweep, with other losses and start times. Ctrl-C prints
    those that are finished; the figure and the samples are those of the first one. ``kernel``: host
    or virtual, None: virtual where this user may make no namespaces; ``link`` and ``keep`` as of
    measure_virtually().
    """
    from tunnelcc.running.runner import run

    if plot is not None:
        check_file(plot, "--plot")
    if output is not None:
        if output.suffix != ".csv":
            raise ConfigError(Problem("--output", str(output), "a file name ending in .csv"))
        files.check_file("--output", output)
    if kernel is None:
        kernel = "host" if measuring.may_measure() else "virtual"
    if kernel == "host":
        for name, given in (("--keep", keep), ("--link", link != "models")):
            if given:
                shown = str(keep) if name == "--keep" else link
                raise ConfigError(Problem(name, shown, "no value without --kernel virtual"))
        measuring.check(experiment)
    else:
        plan.check(experiment, link)
        virtual.kernel()
    listed = seeds_of(parse_seeds(seeds), experiment.seed, "--seeds")
    repeats = f"{len(listed)} times " if len(listed) > 1 else ""
    click.echo(f"measuring {repeats}for {experiment.duration:g} s", err=True)
    both: list[tuple[Result, Measured]] = []
    try:
        for seed in listed:
            one = experiment.with_({"seed": seed})
            if kernel == "host":
                both.append(_in_order(measuring.measure(one), one, run))
                continue
            place = keep / f"seed-{seed}" if keep is not None and len(listed) > 1 else keep
            with _Progress(one.duration) as progress:
                measured = measuring.measure_virtually(one, link, place, progress)
            both.append((run(beside.costless(one)), measured))
    except KeyboardInterrupt:
        if not both:
            raise
        click.echo(f"interrupted after {len(both)} of {len(listed)}", err=True)
    result, measured = both[0]
    _print(both, kernel)
    if output is not None:
        files.write_text("--output", output, measured.series)
    if plot is not None:
        plot_beside(result, measured.flows, plot)
    for written in filter(None, (output, plot, keep)):
        click.echo(written, err=True)
    if len(both) < len(listed):
        raise KeyboardInterrupt


def _in_order(
    measured: Measured, experiment: Experiment, run: Callable[[Experiment], Result]
) -> tuple[Result, Measured]:
    return run(experiment), measured


class _Progress:
    """A bar in simulated time, on a terminal, for what takes more than two seconds."""

    def __init__(self, duration: float) -> None:
        self._bar = tqdm(
            total=round(duration, 3), unit="s", delay=2, leave=False, disable=None,
            bar_format="{l_bar}{bar}| {n:.1f}/{total:g} simulated s",
        )  # fmt: skip

    def __enter__(self) -> Callable[[float], object]:
        return lambda reached: self._bar.update(max(reached - self._bar.n, 0))

    def __exit__(self, *_: object) -> None:
        self._bar.close()


def _print(both: Sequence[tuple[Result, Measured]], kernel: str) -> None:
    result, measured = both[0]
    of = _values if kernel == "host" else _values_of_both
    runs = [of(*it) for it in both]
    rows = []
    for name in runs[0]:
        known = [values[name] for values in runs if name in values]
        ours, theirs = (np.array([it[side] for it in known]) for side in (0, 1))
        ratio = f"{ours.mean() / theirs.mean():.2f}" if theirs.mean() > 0 else "–"
        known_to = (mean_and_half_width(it) for it in (ours, theirs))
        cells = (Cell(float(mean), float(half)) for mean, half in known_to)
        rows.append([name, *map(str, cells), ratio])
    title = f"{result.heading}: simulated, and measured with {measured.what}"
    columns = ["", "simulated", "measured", "simulated / measured"]
    out = console()
    Table(title, columns, rows, (1, 2, 3), whole=(0,)).print(out)
    if len(both) > 1:
        out.print(f"means of {len(both)} runs ± half of their 95 % interval", markup=False)
    if kernel == "virtual":
        return
    late = 1e3 * max(it.late for _, it in both)
    note = f"99 % of the packets left the emulated link less than {late:.2g} ms late."
    if late > measuring.LATE:
        note += " This is much: the machine is busy, and what was measured may be wrong."
    out.print(note, markup=False)


def _values_of_both(result: Result, measured: Measured) -> dict[str, tuple[float, float]]:
    """Return what both sides have, in the unit of its name: simulated, and measured."""
    ours, theirs = beside.simulated(result), measured.values
    return {
        beside.label(name, result): (
            beside.factor(name) * ours[name], beside.factor(name) * theirs[name],
        )
        for name in ours if name in theirs
    }  # fmt: skip


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
