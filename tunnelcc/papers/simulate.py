# SPDX-License-Identifier: GPL-2.0-only
"""The runs behind a paper: every point, reading, variant and candidate in one parallel batch.

Equal experiments are simulated once, whatever asks for them.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tunnelcc.config import CongestionControl, Experiment
from tunnelcc.errors import RunError
from tunnelcc.output.progress import RunsProgress
from tunnelcc.papers.compare import Point, Reproduction, Simulated
from tunnelcc.papers.format import Figure, Reading
from tunnelcc.papers.measures import compute, take
from tunnelcc.papers.paper import Paper
from tunnelcc.store import Store
from tunnelcc.sweeps.execute import complete, executor

#: ns-3's own versions of our algorithms.
NS3 = {"bbr": "ns3::TcpBbr", "cubic": "ns3::TcpCubic", "reno": "ns3::TcpLinuxReno"}


class Batch:
    """Experiments that wait to be run together, each with the points that want its result."""

    def __init__(self) -> None:
        self._experiments: dict[str, Experiment] = {}
        self._wanted: dict[str, list[tuple[Figure, Point, int]]] = {}

    def __len__(self) -> int:
        return len(self._experiments)

    def add(self, figure: Figure, points: Iterable[Point], seeds: int) -> None:
        """Run the experiments of ``points`` with the seeds 1, 2, … ."""
        for point in points:
            if not figure.needs_runs:
                point.runs.append(compute(point.experiment, figure.quantities))
                continue
            for seed in range(1, seeds + 1):
                experiment = point.experiment.model_copy(update={"seed": seed, "title": ""})
                key = json.dumps(experiment.table(), sort_keys=True)
                self._experiments.setdefault(key, experiment)
                self._wanted.setdefault(key, []).append((figure, point, seed))

    def run(self, jobs: int | None, directory: Path | None = None) -> None:
        """Run what the store in ``directory`` has not, and fill in the points.

        Without a store nothing is kept. Raises RunError if a run failed.
        """
        with contextlib.ExitStack() as stack:
            if directory is None:
                directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            store = stack.enter_context(Store(directory))
            self._simulate(store, jobs)

    def _simulate(self, store: Store, jobs: int | None) -> None:
        ids: list[str] = []
        with RunsProgress() as progress:
            complete(
                self._experiments.values(), len(self), store, executor(jobs, None),
                progress=progress, on_id=ids.append,
            )  # fmt: skip
        for id_, wanted in zip(ids, self._wanted.values(), strict=True):
            result = store.load(id_)
            if isinstance(result, RunError):
                raise result
            for figure, point, seed in wanted:
                run = take(result, figure.quantities, figure.x == "time")
                point.runs.append(replace(run, seed=seed))


def simulate(
    paper: Paper,
    *,
    figures: Sequence[str] = (),
    seeds: int,
    jobs: int | None = None,
    store: Path | None = None,
    with_ns3: bool = False,
) -> list[Reproduction]:
    """Return the figures of ``paper`` (none named: all); variants run with the first seed only.

    ``store``: directory of finished runs, which are not run again.
    """
    batch, found = Batch(), []
    for figure in paper.figures(figures):
        simulated = _simulated(paper, figure, batch, seeds)
        reproduction = Reproduction(simulated)
        for question in paper.file.questions:
            for reading in question.readings if figure.id in question.figures else ():
                other = _under(reading, simulated, batch, seeds)
                reproduction.readings.append((question, reading, other))
        if with_ns3:
            reproduction.ns3 = _simulated(paper, figure, batch, seeds, change=with_ns3_congestion)
        for variant in figure.variants:
            points = make_points(paper, figure, variant.where, variant.settings)
            batch.add(figure, points, 1)
            _add_variant(reproduction, variant, points)
        found.append(reproduction)
    batch.run(jobs, store)
    return found


def make_points(
    paper: Paper, figure: Figure, where: Any = None, settings: Any = None
) -> list[Point]:
    """Return the points of a figure, without runs."""
    return [
        Point(axes, paper.experiment(figure, axes, settings))
        for axes in paper.points(figure, where)
    ]


def _simulated(
    paper: Paper,
    figure: Figure,
    batch: Batch,
    seeds: int,
    settings: Any = None,
    change: Callable[[Experiment], Experiment] = lambda experiment: experiment,
) -> Simulated:
    points = make_points(paper, figure, settings=settings)
    for point in points:
        point.experiment = change(point.experiment)
    batch.add(figure, points, seeds)
    return Simulated(paper, figure, points, settings or {})


def _under(reading: Reading, base: Simulated, batch: Batch, seeds: int) -> Simulated:
    if reading.settings is None:
        return base
    return _simulated(base.paper, base.figure, batch, seeds, reading.settings)


def _add_variant(reproduction: Reproduction, variant: Any, points: list[Point]) -> None:
    """Several entries with one id are one variant."""
    for known, members in reproduction.variants:
        if known.id == variant.id:
            members += points
            return
    reproduction.variants.append((variant, points))


def with_ns3_congestion(experiment: Experiment) -> Experiment:
    """Return the experiment with ns-3's own algorithms where ns-3 has them."""

    def swap(cc: CongestionControl | None) -> CongestionControl | None:
        if cc is None or cc.name not in NS3:
            return cc
        return CongestionControl(name=NS3[cc.name])

    flows = tuple(flow.model_copy(update={"cc": swap(flow.cc)}) for flow in experiment.flows)
    update: dict[str, Any] = {"flows": flows}
    if experiment.tunnel is not None:
        update["tunnel"] = experiment.tunnel.model_copy(update={"cc": swap(experiment.tunnel.cc)})
    return experiment.model_copy(update=update)


def sweep(
    paper: Paper,
    figure: Figure,
    candidates: Sequence[Any],
    *,
    seeds: int,
    jobs: int | None = None,
    store: Path | None = None,
) -> list[tuple[str, Simulated]]:
    """Return, for each candidate of the calibrated parameter, the points it is fitted to."""
    assert figure.calibration is not None
    batch, results = Batch(), []
    for candidate in candidates:
        settings = {figure.calibration.key: candidate}
        points = make_points(paper, figure, figure.calibration.where, settings)
        batch.add(figure, points, seeds)
        results.append((str(candidate), Simulated(paper, figure, points)))
    batch.run(jobs, store)
    return results
