# SPDX-License-Identifier: GPL-2.0-only
"""Reference measurements; data/README.md describes how they were made.

A cell is one condition; its runs repeat it.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from validation.measure import START_UP, Flow, Run, Series

DATA = Path(__file__).parent / "data"
_MSS = 1448


@dataclass(frozen=True)
class ReferenceFlow(Flow):
    """A measured flow with its base RTT (ms) and its start (s)."""

    rtt: float
    start: float


@dataclass(frozen=True)
class ReferenceRun(Run):
    """A measured run. ``counted_loss``: share of the queue's output that was lost.

    It is 0 if the table does not have these losses.
    """

    flows: tuple[ReferenceFlow, ...]
    counted_loss: float


@dataclass(frozen=True)
class ReferenceCell:
    """A condition and its runs: rate in Mbit/s, RTT in ms, buffer in packets, duration in s.

    ``rate_steps``: time (s) and the rate (Mbit/s) from then on. ``warmup``: time that steady values
    exclude, s. ``tcp_rmem``, ``tcp_wmem``: maxima, MiB. ``write``: bytes per write of the
    application, if recorded.
    """

    name: str
    variant: str
    rate: float
    rtt: float
    loss: float
    buffer: int
    buffer_bdp: str
    duration: float
    runs: tuple[ReferenceRun, ...]
    rate_steps: tuple[tuple[float, float], ...] = ()
    warmup: float = START_UP
    tcp_rmem: int = 64
    tcp_wmem: int = 64
    write: int | None = None
    nodelay: bool = False

    @property
    def is_stable(self) -> bool:
        """Whether the goodput varies by less than 10 % of its mean between the runs."""
        goodputs = [run.goodput for run in self.runs]
        return max(goodputs) - min(goodputs) < 0.1 * sum(goodputs) / len(goodputs)


def cells(table: str) -> list[ReferenceCell]:
    """Return the cells of one table, such as ``loss_by_rtt``, sorted by name."""
    runs: dict[str, list[dict[str, str]]] = {}
    for row in _rows(f"linux/{table}.csv"):
        runs.setdefault(row["run"], []).append(row)
    grouped: dict[str, list[list[dict[str, str]]]] = {}
    for name, rows in runs.items():
        grouped.setdefault(name.rpartition("_s")[0], []).append(rows)
    return [_cell(name, grouped[name]) for name in sorted(grouped)]


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
        """Mean data in flight, segments."""
        return mean_window(self.goodput, self.srtt)


def mean_window(goodput: float, rtt: float) -> float:
    """Return the segments in flight (Little's law) at a goodput in Mbit/s, a mean RTT in ms."""
    return goodput * 1e3 * rtt / (8 * _MSS)


def periodic_loss() -> dict[tuple[str, float, int], list[PeriodicRun]]:
    """Return the runs under periodic loss by algorithm, RTT (ms) and period (packets)."""
    runs: dict[tuple[str, float, int], list[PeriodicRun]] = {}
    for row in _rows("linux/periodic_loss.csv"):
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
    for row in _rows("linux/measured_again.csv"):
        delays.setdefault((row["variant"], row["buffer_bdp"]), []).append(float(row["queue_ms"]))
    return delays


@cache
def branch_counts(cell: str) -> list[tuple[float, int, int]]:
    """Return the counts of a cell with more runs: goodput (Mbit/s), runs above it, runs."""
    return [
        (float(row["above_mbps"]), int(row["runs_above"]), int(row["runs"]))
        for row in _rows("linux/branch_counts.csv")
        if row["cell"] == cell
    ]


@cache
def series(run: str) -> tuple[Series, ...]:
    """Return the series of each flow of a run, such as ``a_bbr_rtt100_p0_s1``."""
    file = DATA / "linux/series" / f"{run}.csv.gz"
    time, flow, goodput = np.loadtxt(
        file, delimiter=",", skiprows=1, usecols=(0, 1, 2), unpack=True
    )
    return tuple(Series(time[flow == it], goodput[flow == it]) for it in np.unique(flow))


def _cell(name: str, runs: list[list[dict[str, str]]]) -> ReferenceCell:
    first = runs[0][0]
    steps = (step.split(":") for step in first.get("rate_steps", "").split())
    return ReferenceCell(
        name=name,
        variant=first.get("variant", ""),
        rate=float(first["rate_mbps"]),
        rtt=float(first["rtt_ms"]),
        loss=float(first["loss"]),
        buffer=int(first["buffer_pkts"]),
        buffer_bdp=first.get("buffer_bdp", ""),
        duration=float(first["duration"]),
        runs=tuple(_run(rows) for rows in runs),
        rate_steps=tuple((float(time), float(rate)) for time, rate in steps),
        warmup=float(first.get("warmup_s", START_UP)),
        tcp_rmem=int(first.get("tcp_rmem_mib", 64)),
        tcp_wmem=int(first.get("tcp_wmem_mib", 64)),
        write=int(first["write"]) if "write" in first else None,
        nodelay=first.get("nodelay") == "1",
    )


def _run(rows: list[dict[str, str]]) -> ReferenceRun:
    def total(column: str) -> int:
        return sum(int(row.get(column, 0)) for row in rows)

    segments = total("data_segs_out")
    return ReferenceRun(
        flows=tuple(_flow(row) for row in rows),
        queue_ms=float(rows[0]["soj_mean_ms"]),
        retransmission_ratio=100 * total("retrans_segs") / segments,
        counted_loss=total("flow_random_drops") / (segments - total("flow_queue_drops")),
    )


def _flow(row: dict[str, str]) -> ReferenceFlow:
    return ReferenceFlow(
        cc=row["cc"],
        rtt=float(row["flow_rtt_ms"]),
        start=float(row["start_s"]),
        goodput=float(row["goodput_steady_mbps"]),
        rtt_mean=float(row["mean_srtt_ms"]),
        rtt_p95=float(row["p95_srtt_ms"]),
    )


@dataclass(frozen=True)
class RandomLoss:
    """Google's BBRv3 under random loss, with losses judged as in the draft.

    ``share``: of (1 − loss) × capacity. ``error``: its standard error. Units: Mbit/s, s.
    """

    rate: float
    rtt: float
    loss: float
    share: float
    error: float


@cache
def bbr3_random_loss() -> tuple[RandomLoss, ...]:
    """Return the measurements of Google's BBRv3, one row per path and loss."""
    return tuple(
        RandomLoss(
            float(row["rate_mbps"]),
            float(row["rtt_ms"]) / 1e3,
            float(row["loss"]),
            float(row["share_draft"]),
            float(row["error_draft"]),
        )
        for row in _rows("bbr3/random_loss.csv")
    )


@dataclass(frozen=True)
class ProgramRun:
    """What a tunnel program, or none, did in a run: Mbit/s, ms, percent of the segments sent.

    ``flows``: goodput of each flow through it; ``beside``: that of the one which does not take it.
    None: there is no such connection.
    """

    flows: tuple[float, ...]
    beside: float | None
    latency: float | None  # mean of the messages'
    inner_rtt: float | None  # means of the smoothed RTT
    outer_rtt: float | None
    inner_retransmissions: float | None
    outer_retransmissions: float | None
    queue: float  # mean delay at the link, with serialization
    late: float  # 99th percentile of how late packets left the link

    @property
    def goodput(self) -> float:
        """Of all flows through the tunnel."""
        return sum(self.flows)

    @property
    def share(self) -> float | None:
        """Percent: of the tunnel beside a plain flow, else of the fastest of several flows."""
        if self.beside is not None:
            return 100 * self.goodput / (self.goodput + self.beside)
        return 100 * max(self.flows) / self.goodput if len(self.flows) > 1 else None


@dataclass(frozen=True)
class ProgramCell:
    """A condition in which a tunnel was measured, and its runs; RTT in ms, buffer in packets."""

    tunnel: str
    rtt: float
    buffer: int
    buffer_bdp: str
    loss: float
    cc: str
    carrier_cc: str
    flows: int
    beside: bool
    runs: tuple[ProgramRun, ...]


@cache
def program_cells() -> tuple[ProgramCell, ...]:
    """Return the cells of the measured tunnel programs that were run more than once."""
    columns = ("tunnel", "rtt", "buffer_pkts", "buffer_bdp", "loss", "cc", "carrier_cc", "flows")
    grouped: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in _rows("programs/tunnels.csv"):
        grouped.setdefault(tuple(row[it] for it in (*columns, "beside")), []).append(row)
    return tuple(
        ProgramCell(
            tunnel=tunnel,
            rtt=float(rtt),
            buffer=int(buffer),
            buffer_bdp=bdp,
            loss=float(loss),
            cc=cc,
            carrier_cc=carrier_cc,
            flows=int(flows),
            beside=beside == "1",
            runs=tuple(_program_run(row) for row in rows),
        )
        for (tunnel, rtt, buffer, bdp, loss, cc, carrier_cc, flows, beside), rows in sorted(
            grouped.items()
        )
        if len(rows) > 1
    )


@dataclass(frozen=True)
class CallCell:
    """A condition in which calls, iperf3 and ping were measured; RTT in ms, buffer in packets.

    ``runs``: the row of each run, what is not of the condition.
    """

    tunnel: str
    rtt: float
    buffer: int
    buffer_bdp: str
    loss: float
    flows: int
    cc: str
    runs: tuple[dict[str, float], ...]


@cache
def call_cells() -> tuple[CallCell, ...]:
    """Return the cells of measured calls that were run more than once."""
    columns = ("tunnel", "rtt", "buffer_pkts", "buffer_bdp", "loss", "flows", "cc")
    grouped: dict[tuple[str, ...], list[dict[str, float]]] = {}
    for row in _rows("programs/calls.csv"):
        key = tuple(row.pop(it) for it in columns)
        grouped.setdefault(key, []).append({name: float(value) for name, value in row.items()})
    return tuple(
        CallCell(tunnel, float(rtt), int(buffer), bdp, float(loss), int(flows), cc, tuple(rows))
        for (tunnel, rtt, buffer, bdp, loss, flows, cc), rows in sorted(grouped.items())
        if len(rows) > 1
    )


def program_speeds() -> dict[tuple[str, int], list[float]]:
    """Return goodputs where the CPU alone limited them, Mbit/s; by tunnel and number of flows."""
    speeds: dict[tuple[str, int], list[float]] = {}
    for row in _rows("programs/cpu.csv"):
        speeds.setdefault((row["tunnel"], int(row["flows"])), []).append(float(row["goodput_mbps"]))
    return speeds


def _program_run(row: dict[str, str]) -> ProgramRun:
    def number(column: str) -> float | None:
        return float(row[column]) if row[column] else None

    def ratio(kind: str) -> float | None:
        segments = number(f"{kind}_segments")
        return 100 * float(row[f"{kind}_retransmitted"]) / segments if segments else None

    return ProgramRun(
        flows=tuple(float(it) for it in row["flows_mbps"].split()),
        beside=number("beside_mbps"),
        latency=number("latency_mean_ms"),
        inner_rtt=number("inner_rtt_ms"),
        outer_rtt=number("outer_rtt_ms"),
        inner_retransmissions=ratio("inner"),
        outer_retransmissions=ratio("outer"),
        queue=float(row["queue_ms"]),
        late=float(row["late_p99_ms"]),
    )


def _rows(file: str) -> list[dict[str, str]]:
    """Return the rows of a file of the data: column → text."""
    return list(csv.DictReader((DATA / file).read_text(encoding="utf-8").splitlines()))
