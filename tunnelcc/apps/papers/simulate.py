# SPDX-License-Identifier: GPL-2.0-only
"""The runs of a paper: all points, readings, variants and candidates in one parallel batch.

Equal experiments run only once.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tunnelcc as tc
from tunnelcc.apps.papers.declare import Figure, Settings, Where
from tunnelcc.apps.papers.folder import Folder, wrong_code
from tunnelcc.apps.papers.observe import Observation, Point, observe
from tunnelcc.apps.papers.verdicts import Reproduction, Simulated


class Batch:
    """Experiments that wait for a common batch, each with the points that need its result."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._wanted: dict[str, tuple[tc.Experiment, list[tuple[Figure, Point]]]] = {}

    def add(
        self,
        figure: Figure,
        seeds: int,
        *,
        where: Where | None = None,
        settings: Settings | None = None,
    ) -> Simulated:
        """Return the points of a figure, to be run with the seeds 1, 2, … ."""
        points = [
            Point(axes, self._folder.experiment(figure, axes, settings))
            for axes in self._folder.points(figure, where)
        ]
        for point in points:
            if not figure.needs_runs:
                point.runs.append(self._observe(figure, point, None))
                continue
            for seed in range(1, max(seeds, figure.seeds) + 1):
                experiment = point.experiment.model_copy(update={"seed": seed, "title": ""})
                key = json.dumps(experiment.table(), sort_keys=True)
                self._wanted.setdefault(key, (experiment, []))[1].append((figure, point))
        return Simulated(self._folder, figure, points, settings or {})

    def run(self, jobs: int | None = None, store: Path | None = None) -> None:
        """Run what ``store`` lacks, and fill in the points. Without a store, nothing is kept.

        Raises RunError if a run fails.
        """
        with contextlib.ExitStack() as stack:
            if store is None:
                store = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            experiments = [experiment for experiment, _ in self._wanted.values()]
            results = tc.run_stored(experiments, store, jobs=jobs)
            for result, (_, wanted) in zip(results, self._wanted.values(), strict=True):
                if isinstance(result, tc.RunError):
                    raise result
                for figure, point in wanted:
                    point.runs.append(self._observe(figure, point, result))

    def _observe(self, figure: Figure, point: Point, result: tc.Result | None) -> Observation:
        try:
            experiment = point.experiment if result is None else result.experiment
            return observe(figure, experiment, result)
        except tc.TunnelccError:
            raise
        except Exception as error:
            raise wrong_code(error, self._folder.path / "paper.py") from error


def simulate(
    folder: Folder,
    *,
    figures: Sequence[str] = (),
    seeds: int,
    jobs: int | None = None,
    store: Path | None = None,
    with_others: bool = True,
) -> list[Reproduction]:
    """Return the figures of a paper (default: all).

    ``store``: directory of finished runs, which are not repeated. ``with_others``: also run what
    the paper leaves open (readings), and other settings (variants, with the first seed only).
    """
    batch, found = Batch(folder), []
    for figure in folder.figures(figures):
        it = Reproduction(batch.add(figure, seeds))
        for question, readings in folder.questions if with_others else ():
            for reading in readings if figure.id in question.figures else ():
                settings = reading.settings
                other = batch.add(figure, seeds, settings=settings) if settings else it.simulated
                it.readings.append((question, reading, other))
        for variant in folder.variants(figure) if with_others else ():
            varied = batch.add(figure, 1, where=variant.where, settings=variant.settings)
            known = (other for entry, other in it.variants if entry.id == variant.id)
            if (same := next(known, None)) is not None:
                same.points += varied.points
            else:
                it.variants.append((variant, varied))
        found.append(it)
    batch.run(jobs, store)
    return found


def sweep(
    folder: Folder,
    figure: Figure,
    *,
    seeds: int,
    jobs: int | None = None,
    store: Path | None = None,
) -> list[tuple[str, Simulated]]:
    """Return the fitted points for each candidate of the calibrated parameter."""
    fitted: Any = figure.fit
    batch = Batch(folder)
    results = [
        (str(it), batch.add(figure, seeds, where=fitted.where, settings={fitted.key: it}))
        for it in fitted.candidates
    ]
    batch.run(jobs, store)
    return results
