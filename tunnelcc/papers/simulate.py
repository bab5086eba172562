# SPDX-License-Identifier: GPL-2.0-only
"""The runs of a paper: all points, readings, variants and candidates in one parallel batch.

Equal experiments run only once.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tunnelcc.errors import RunError
from tunnelcc.output.progress import RunsProgress
from tunnelcc.papers.compare import Reproduction, Simulated
from tunnelcc.papers.format import Figure
from tunnelcc.papers.observe import compute, observe
from tunnelcc.papers.paper import Paper
from tunnelcc.papers.points import Point
from tunnelcc.scenario import Experiment
from tunnelcc.store import Store
from tunnelcc.sweeps.execute import complete, executor


class Batch:
    """Experiments that wait for a common batch, each with the points that need its result."""

    def __init__(self) -> None:
        self._experiments: dict[str, Experiment] = {}
        self._wanted: dict[str, list[tuple[Figure, Point, int]]] = {}

    def __len__(self) -> int:
        return len(self._experiments)

    def add(
        self,
        paper: Paper,
        figure: Figure,
        seeds: int,
        *,
        where: Mapping[str, str] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Simulated:
        """Return the points of a figure, to be run with the seeds 1, 2, … ."""
        points = []
        for axes in paper.points(figure, where):
            points.append(Point(axes, paper.experiment(figure, axes, settings)))
        for point in points:
            if not figure.needs_runs:
                point.runs.append(compute(point.experiment, figure.quantities))
                continue
            for seed in range(1, max(seeds, figure.seeds) + 1):
                experiment = point.experiment.model_copy(update={"seed": seed, "title": ""})
                key = json.dumps(experiment.table(), sort_keys=True)
                self._experiments.setdefault(key, experiment)
                self._wanted.setdefault(key, []).append((figure, point, seed))
        return Simulated(paper, figure, points, settings or {})

    def run(self, jobs: int | None, directory: Path | None = None) -> None:
        """Run what the store in ``directory`` lacks, and fill in the points.

        Without a store, nothing is kept. Raises RunError if a run fails.
        """
        with contextlib.ExitStack() as stack:
            if directory is None:
                directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            self._simulate(Store(directory), jobs)

    def _simulate(self, store: Store, jobs: int | None) -> None:
        with RunsProgress() as progress:
            tally = complete(
                self._experiments.values(), len(self), store, executor(jobs, None),
                progress=progress,
            )  # fmt: skip
        for id_, wanted in zip(tally.ids, self._wanted.values(), strict=True):
            result = store.load(id_)
            if isinstance(result, RunError):
                raise result
            for figure, point, seed in wanted:
                run = observe(result, figure.quantities, figure.x == "time")
                point.runs.append(replace(run, seed=seed))


def simulate(
    paper: Paper,
    *,
    figures: Sequence[str] = (),
    seeds: int,
    jobs: int | None = None,
    store: Path | None = None,
    with_others: bool = True,
) -> list[Reproduction]:
    """Return the figures of ``paper`` (default: all).

    ``store``: directory of finished runs, which are not repeated. ``with_others``: also run what
    the paper leaves open (readings), and other settings (variants, with the first seed only).
    """
    batch, found = Batch(), []
    for figure in paper.figures(figures):
        it = Reproduction(batch.add(paper, figure, seeds))
        for question in paper.file.questions if with_others else ():
            for reading in question.readings if figure.id in question.figures else ():
                settings = reading.settings
                other = batch.add(paper, figure, seeds, settings=settings) if settings else None
                it.readings.append((question, reading, other or it.simulated))
        for variant in figure.variants if with_others else ():
            where, settings = variant.where, variant.settings
            varied = batch.add(paper, figure, 1, where=where, settings=settings)
            known = (other for entry, other in it.variants if entry.id == variant.id)
            if (same := next(known, None)) is not None:  # entries with one id are one variant
                same.points += varied.points
            else:
                it.variants.append((variant, varied))
        found.append(it)
    batch.run(jobs, store)
    return found


def sweep(
    paper: Paper,
    figure: Figure,
    candidates: Sequence[Any],
    *,
    seeds: int,
    jobs: int | None = None,
    store: Path | None = None,
) -> list[tuple[str, Simulated]]:
    """Return the fitted points for each candidate of the calibrated parameter."""
    assert figure.calibration is not None
    key, where = figure.calibration.key, figure.calibration.where
    batch = Batch()
    results = [
        (str(it), batch.add(paper, figure, seeds, where=where, settings={key: it}))
        for it in candidates
    ]
    batch.run(jobs, store)
    return results
