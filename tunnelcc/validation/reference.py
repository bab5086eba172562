# SPDX-License-Identifier: GPL-2.0-only
"""The measurements of others that ship with the package; data/README.md tells how.

A cell is one condition; its runs repeat it.
"""

from __future__ import annotations

import csv
import gzip
import io
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from tunnelcc.validation.measure import Series

_DATA = Path(__file__).parent / "data"
_DIRECTORY = _DATA / "linux"
_MSS = 1448


@dataclass(frozen=True)
class ReferenceFlow:
    """One flow of a run: Mbit/s, ms, counts."""

    cc: str
    rtt: float
    start: float  # s
    goodput: float
    retransmits: int
    segments: int
    rtt_mean: float
    rtt_p95: float
    random_losses: int
    queue_drops: int


@dataclass(frozen=True)
class ReferenceRun:
    """One run: its flows, and the time its packets spent in the queue and in service (ms)."""

    flows: tuple[ReferenceFlow, ...]
    queue_ms: float

    @property
    def goodput(self) -> float:
        """Of all flows, Mbit/s."""
        return sum(flow.goodput for flow in self.flows)

    @property
    def retransmission_ratio(self) -> float:
        """Of all flows together, in percent of the data segments sent."""
        segments = sum(flow.segments for flow in self.flows)
        return 100 * sum(flow.retransmits for flow in self.flows) / segments

    @property
    def counted_loss(self) -> float:
        """Share of the packets that passed the queue and were lost after it."""
        passed = sum(flow.segments - flow.queue_drops for flow in self.flows)
        return sum(flow.random_losses for flow in self.flows) / passed


@dataclass(frozen=True)
class ReferenceCell:
    """A condition: rate in Mbit/s, RTT in ms, buffer in packets, duration in s; and its runs."""

    name: str
    variant: str
    rate: float
    rtt: float
    loss: float
    buffer: int
    buffer_bdp: str
    duration: float
    runs: tuple[ReferenceRun, ...]

    @property
    def is_stable(self) -> bool:
        """Whether the goodput varies by less than 10 % of its mean between the runs."""
        goodputs = [run.goodput for run in self.runs]
        return max(goodputs) - min(goodputs) < 0.1 * sum(goodputs) / len(goodputs)


def cells(table: str) -> list[ReferenceCell]:
    """Return the cells of one table, such as ``loss_by_rtt``, in the order of their names."""
    runs: dict[str, list[dict[str, str]]] = {}
    with (_DIRECTORY / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            runs.setdefault(row["run"], []).append(row)
    grouped: dict[str, list[list[dict[str, str]]]] = {}
    for name, rows in runs.items():
        grouped.setdefault(name.rpartition("_s")[0], []).append(rows)
    return [_cell(name, grouped[name]) for name in sorted(grouped)]


@dataclass(frozen=True)
class ReferenceSeries:
    """One flow of a run over time: s, Mbit/s acknowledged, ms, segments."""

    time: Series
    goodput: Series
    srtt: Series
    cwnd: Series


@dataclass(frozen=True)
class PeriodicRun:
    """A flow without a bottleneck that lost one packet in every ``period``; RTT in ms."""

    cc: str
    rtt: float
    period: int
    goodput: float  # Mbit/s
    srtt: float  # ms, mean

    @property
    def window(self) -> float:
        """Mean of what was in flight, segments."""
        return mean_window(self.goodput, self.srtt)


def mean_window(goodput: float, rtt: float) -> float:
    """Return the segments in flight (Little's law) at a goodput in Mbit/s, a mean RTT in ms."""
    return goodput * 1e3 * rtt / (8 * _MSS)


def periodic_loss() -> dict[tuple[str, float, int], list[PeriodicRun]]:
    """Return the runs under periodic loss by algorithm, RTT (ms) and period (packets)."""
    runs: dict[tuple[str, float, int], list[PeriodicRun]] = {}
    with (_DIRECTORY / "periodic_loss.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            run = PeriodicRun(
                row["cc"],
                float(row["rtt_ms"]),
                int(row["period"]),
                float(row["goodput_mbps"]),
                float(row["srtt_ms"]),
            )
            runs.setdefault((run.cc, run.rtt, run.period), []).append(run)
    return runs


@cache
def measured_again() -> dict[tuple[str, str], list[float]]:
    """Return queueing delays (ms) of runs without stalls, by variant and buffer in BDP."""
    delays: dict[tuple[str, str], list[float]] = {}
    with (_DIRECTORY / "measured_again.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            delays.setdefault((row["variant"], row["buffer_bdp"]), []).append(
                float(row["queue_ms"])
            )
    return delays


@cache
def branch_counts(cell: str) -> list[tuple[float, int, int]]:
    """Return what was counted in more runs of a cell: goodput (Mbit/s), runs above it, runs."""
    with (_DIRECTORY / "branch_counts.csv").open(encoding="utf-8", newline="") as file:
        return [
            (float(row["above_mbps"]), int(row["runs_above"]), int(row["runs"]))
            for row in csv.DictReader(file)
            if row["cell"] == cell
        ]


@cache
def series(run: str) -> tuple[ReferenceSeries, ...]:
    """Return the series of each flow of a run, such as ``a_bbr_rtt100_p0_s1``."""
    packed = (_DIRECTORY / "series" / f"{run}.csv.gz").read_bytes()
    text = gzip.decompress(packed).decode("ascii")
    table = np.loadtxt(io.StringIO(text), delimiter=",", skiprows=1)
    return tuple(
        ReferenceSeries(*table[table[:, 1] == flow][:, (0, 2, 3, 4)].T)
        for flow in np.unique(table[:, 1])
    )


def _cell(name: str, runs: list[list[dict[str, str]]]) -> ReferenceCell:
    first = runs[0][0]
    return ReferenceCell(
        name=name,
        variant=first["variant"],
        rate=float(first["rate_mbps"]),
        rtt=float(first["rtt_ms"]),
        loss=float(first["loss"]),
        buffer=int(first["buffer_pkts"]),
        buffer_bdp=first["buffer_bdp"],
        duration=float(first["duration"]),
        runs=tuple(
            ReferenceRun(tuple(_flow(row) for row in rows), float(rows[0]["soj_mean_ms"]))
            for rows in runs
        ),
    )


def _flow(row: dict[str, str]) -> ReferenceFlow:
    return ReferenceFlow(
        cc=row["cc"],
        rtt=float(row["flow_rtt_ms"]),
        start=float(row["start_s"]),
        goodput=float(row["goodput_steady_mbps"]),
        retransmits=int(row["retrans_segs"]),
        segments=int(row["data_segs_out"]),
        rtt_mean=float(row["mean_srtt_ms"]),
        rtt_p95=float(row["p95_srtt_ms"]),
        random_losses=int(row["flow_random_drops"]),
        queue_drops=int(row["flow_queue_drops"]),
    )


@dataclass(frozen=True)
class RandomLoss:
    """What Google's BBRv3 keeps under random loss, judging losses as the draft does.

    ``share``: of (1 − loss) × capacity; ``error``: its standard error. Mbit/s, s.
    """

    rate: float
    rtt: float
    loss: float
    share: float
    error: float


@cache
def bbr3_random_loss() -> tuple[RandomLoss, ...]:
    """Return the measurement of Google's BBRv3, one row a path and loss."""
    with (_DATA / "bbr3" / "random_loss.csv").open(encoding="utf-8", newline="") as file:
        return tuple(
            RandomLoss(
                float(row["rate_mbps"]),
                float(row["rtt_ms"]) / 1e3,
                float(row["loss"]),
                float(row["share_draft"]),
                float(row["error_draft"]),
            )
            for row in csv.DictReader(file)
        )
