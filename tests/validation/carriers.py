# SPDX-License-Identifier: GPL-2.0-only
"""Checks of carriers against programs that tests/reference/forwarding.py ran."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from tunnelcc.scenario import Experiment
from validation.check import Case, Check
from validation.compare import MeanNear
from validation.measure import Measurement, Series

REFERENCE = Path(__file__).parents[1] / "reference"
# As forwarding.py has the link.
_RATE, _QUEUE, _WARMUP, _DURATION = "100Mbps", "2000p", 2, 20


@dataclass(frozen=True)
class Cell:
    """A setup under a condition; ``loss``: in either direction. Its runs' rows."""

    setup: str
    rtt: float  # ms
    loss: float
    rows: tuple[dict[str, str], ...]

    @property
    def name(self) -> str:
        setup = re.sub(r"[^a-z0-9]+", "-", self.setup.lower()).strip("-")
        return f"{setup}/{self.rtt:g}ms/{100 * self.loss:g}%"

    @property
    def goodput(self) -> float:
        """Mbit/s."""
        return fmean(float(row["goodput_mbps"]) for row in self.rows)

    @property
    def ip_bytes(self) -> float:
        """For each byte read."""
        return fmean(float(row["ip_bytes"]) / float(row["bytes"]) for row in self.rows)


def cells(table: Path) -> list[Cell]:
    """Return what was measured."""
    found: dict[tuple[str, float, float], list[dict[str, str]]] = {}
    with table.open(newline="") as file:
        for row in csv.DictReader(file):
            key = (row["setup"], float(row["rtt_ms"]), float(row["loss"]))
            found.setdefault(key, []).append(row)
    return [Cell(*key, tuple(rows)) for key, rows in found.items()]


@dataclass(frozen=True)
class Known:
    """What is off: by how much (%), and why."""

    off: float
    cause: str


@dataclass(frozen=True)
class Comparison:
    """A cell as it is simulated: keys of the experiment, runs, tolerance of the mean."""

    cell: Cell
    keys: dict[str, Any]
    seeds: int
    tolerance: float

    def checks(self, carrier: str, source: str, known: dict[str, Known]) -> Sequence[Check]:
        """Return a check of the goodput and one of the bytes. ``known``: by name."""
        cell = self.cell
        case = self._case(carrier)
        checks = []
        for what, measure, target, unit in (
            ("goodput", goodput, cell.goodput, "Mbit/s"),
            ("bytes", _ip_bytes, cell.ip_bytes, "IP bytes a byte"),
        ):
            name = f"programs/{carrier.lower()}-{what}/{cell.name}"
            reason = known.get(name)
            check = Check(
                name,
                f"{what} of {carrier}'s carriers",
                source,
                f"{cell.setup}, {cell.rtt:g} ms, {100 * cell.loss:g} % lost in either direction",
                (case,),
                measure,
                MeanNear(target, self.tolerance, unit=unit),
                cause=reason.cause if reason else "",
                known_off=reason.off if reason else None,
            )
            checks.append(check)
        return checks

    def _case(self, carrier: str) -> Case:
        cell = self.cell
        experiment = Experiment.parse(
            {
                "path": {
                    "rate": _RATE,
                    "rtt": f"{cell.rtt:g}ms",
                    "buffer": _QUEUE,
                    "loss": cell.loss,
                    "reverse_loss": cell.loss,
                },
                "flows": {"cc": "cubic"},
                "warmup": f"{_WARMUP}s",
                "duration": f"{_DURATION}s",
                "hosts": {"speed": 50},  # the CPU was no limit
                **self.keys,
            }
        )
        return Case(f"{carrier.lower()} {cell.name}", (experiment,), self.seeds)


def goodput(runs: Sequence[Sequence[Measurement]]) -> list[float]:
    # Measurement.goodput would leave out a second more.
    return [sum(_rate(flow.series) for flow in run.flows) for run in runs[0]]


def _rate(series: Series) -> float:
    return float(series.goodput[series.time > _WARMUP].mean())


def _ip_bytes(runs: Sequence[Sequence[Measurement]]) -> list[float]:
    return [run.ip_bytes for run in runs[0]]
