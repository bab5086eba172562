# SPDX-License-Identifier: GPL-2.0-only
"""The runs behind a comparison: every row, variant and candidate in one parallel batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tunnelcc.config import CongestionControl, Experiment
from tunnelcc.errors import RunError
from tunnelcc.papers.compare import Cell
from tunnelcc.papers.format import Comparison, Variant
from tunnelcc.papers.measures import take
from tunnelcc.papers.paper import Paper
from tunnelcc.papers.published import Row
from tunnelcc.result import Result
from tunnelcc.runner import run_many

#: ns-3's own versions of our algorithms.
NS3 = {"bbr": "ns3::TcpBbr", "cubic": "ns3::TcpCubic", "reno": "ns3::TcpLinuxReno"}


@dataclass
class Simulated:
    """All cells of one comparison."""

    paper: Paper
    comparison: Comparison
    cells: list[Cell]
    ns3: list[Cell] = field(default_factory=list)  # the same rows with ns-3's algorithms
    variants: list[tuple[Variant, list[Cell]]] = field(default_factory=list)

    def add_variant(self, variant: Variant, cells: list[Cell]) -> None:
        """Add cells; several entries with one id are one variant."""
        for known, members in self.variants:
            if known.id == variant.id:
                members += cells
                return
        self.variants.append((variant, cells))


class Batch:
    """Experiments that wait to be run together, each with the cell that wants its result."""

    def __init__(self) -> None:
        self._jobs: list[tuple[Cell, Experiment]] = []

    def __len__(self) -> int:
        return len(self._jobs)

    def add(self, cell: Cell, experiment: Experiment, seeds: int) -> None:
        """Run ``experiment`` with the seeds 1, 2, … for ``cell``."""
        for seed in range(1, seeds + 1):
            self._jobs.append((cell, experiment.model_copy(update={"seed": seed})))

    def run(self, jobs: int | None) -> None:
        """Run everything and fill in the cells. Raises RunError if a run failed."""
        results = run_many([experiment for _, experiment in self._jobs], jobs=jobs)
        for (cell, _), result in zip(self._jobs, results, strict=True):
            if isinstance(result, RunError):
                raise result
            assert isinstance(result, Result)
            cell.runs.append(take(result))


def simulate(
    paper: Paper, *, seeds: int, jobs: int | None = None, with_ns3: bool = False
) -> list[Simulated]:
    """Return the comparisons of ``paper``; variants run with the first seed only."""
    batch, comparisons = Batch(), []
    for comparison in paper.file.comparisons:
        rows = paper.comparison_rows(comparison)
        simulated = Simulated(paper, comparison, [make_cell(comparison, row) for row in rows])
        for cell, row in zip(simulated.cells, rows, strict=True):
            batch.add(cell, paper.experiment(comparison, row), seeds)
        if with_ns3:
            simulated.ns3 = [make_cell(comparison, row) for row in rows]
            for cell, row in zip(simulated.ns3, rows, strict=True):
                batch.add(cell, with_ns3_congestion(paper.experiment(comparison, row)), seeds)
        for variant in comparison.variants:
            members = paper.comparison_rows(comparison, variant.where)
            cells = [make_cell(comparison, row) for row in members]
            for cell, row in zip(cells, members, strict=True):
                batch.add(cell, paper.experiment(comparison, row, variant.settings), 1)
            simulated.add_variant(variant, cells)
        comparisons.append(simulated)
    batch.run(jobs)
    return comparisons


def make_cell(comparison: Comparison, row: Row) -> Cell:
    """Return the cell of a published row, without runs."""
    calibration = comparison.calibration
    return Cell(
        row.columns,
        row.value,
        row.unit,
        comparison.simulated,
        comparison.tolerance,
        is_calibrated=calibration is not None and row.matches(calibration.where),
    )


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
    comparison: Comparison,
    candidates: Sequence[Any],
    *,
    seeds: int,
    jobs: int | None = None,
) -> list[tuple[str, list[Cell]]]:
    """Return, for each candidate of the calibrated parameter, the cells it is fitted to."""
    assert comparison.calibration is not None
    rows = paper.comparison_rows(comparison, comparison.calibration.where)
    batch, results = Batch(), []
    for candidate in candidates:
        cells = [make_cell(comparison, row) for row in rows]
        for cell, row in zip(cells, rows, strict=True):
            settings = {comparison.calibration.key: candidate}
            batch.add(cell, paper.experiment(comparison, row, settings), seeds)
        results.append((str(candidate), cells))
    batch.run(jobs)
    return results
