# SPDX-License-Identifier: GPL-2.0-only
"""Checks of flows and carriers over QUIC against GOST, quic-go and Hysteria 2 (quic-rates.csv).

Goodput and IP bytes for each byte read: means of the runs within 5 % where losses do not set the
rate. Where they do, within 10 % at 20 ms, and within 15 % at longer RTTs, where few losses a run
make runs differ (standard errors of the measured means: 3 to 8 %). Nothing is fitted: the entries
of the catalogue have what the programs' source has.

Queueing delays of Hysteria 2 (tests/reference/quic-queues.csv) within 20 %, as those of the suite,
where the program's own runs differ by no more than that; goodputs with them, as above.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean, median
from typing import Any

from tunnelcc.scenario import Experiment
from validation.carriers import REFERENCE, Cell, Comparison, cells, goodput
from validation.check import VARIES, Case, Check, Kind
from validation.compare import MeanNear, SameBranches
from validation.linux import lateness
from validation.measure import Measurement

TABLE = REFERENCE / "quic-rates.csv"
QUEUES = REFERENCE / "quic-queues.csv"
#: Setup of the table → who made it, and keys of the experiment.
SETUPS: dict[str, tuple[str, dict[str, Any]]] = {
    "gost relay+quic": ("GOST", {"tunnel": "gost-quic"}),
    "gost relay+quic, 4 flows": (
        "GOST",
        {"tunnel": "gost-quic", "flows": {"cc": "cubic", "count": 4}},
    ),
    "quic-go": ("quic-go", {"flows": {"cc": "reno", "transport": "quic"}}),
    "hysteria2": ("Hysteria", {"tunnel": "hysteria2"}),
    "hysteria2, 50 Mbit/s": ("Hysteria", {"tunnel": {"name": "hysteria2", "rate": "50Mbps"}}),
}
#: The same of QUEUES, all of Hysteria.
QUEUE_SETUPS: dict[str, dict[str, Any]] = {
    "hysteria2": {"tunnel": "hysteria2"},
    "hysteria2, down": {"tunnel": "hysteria2", "direction": "down"},
    "hysteria2, 80 Mbit/s": {"tunnel": {"name": "hysteria2", "rate": "80Mbps"}},
    "hysteria2, 120 Mbit/s": {"tunnel": {"name": "hysteria2", "rate": "120Mbps"}},
}
_SEEDS, _RENO_SEEDS, _QUEUE_SEEDS, _BRANCH_SEEDS = 10, 25, 5, 40

#: Queues to speak of, ms: at a rate below the link's there are only packets in service.
_LEAST_QUEUE = 1.0
#: When the application connects, s: Hysteria has connected by then. What is left out after that.
QUEUE_START, QUEUE_WARMUP = 1.5, 2.0
#: Mean delay of ACKs in the program's threads. With it and the lateness, 90 % of the ACKs are
#: within 0.15 ms of each other on the clock of a busy link; in two traced runs within 0.14 to 0.19.
_THREADS = "0.06ms"

#: Cells in which losses end start-up early in some runs → what separates those, Mbit/s.
BRANCHES = {"hysteria2/100ms/10%": 60.0}


def checks() -> Iterator[Check]:
    """Yield a check of the goodput and one of the bytes of each cell."""
    for cell in cells(TABLE):
        source, keys = SETUPS[cell.setup]
        is_reno = source != "Hysteria" and cell.loss > 0
        seeds = _RENO_SEEDS if is_reno else _SEEDS
        tolerance = _tolerance(cell, is_reno)
        for check in Comparison(cell, keys, seeds, tolerance).checks("QUIC", source, {}):
            is_bistable = cell.name in BRANCHES and check.measure is goodput
            yield _by_branches(check, cell, tolerance) if is_bistable else check


def _by_branches(check: Check, cell: Cell, tolerance: float) -> Check:
    """Return a check of how often runs take each branch, and of their goodput there."""
    runs = tuple(float(row["goodput_mbps"]) for row in cell.rows)
    (case,) = check.cases
    case = replace(case, key=f"{case.key}, more runs", seeds=_BRANCH_SEEDS)
    comparison = SameBranches(runs, BRANCHES[cell.name], relative=tolerance)
    return replace(check, cases=(case,), comparison=comparison)


def queue_checks() -> Iterator[Check]:
    """Yield a check of the queueing delay and one of the goodput of each cell of QUEUES."""
    for cell in cells(QUEUES):
        case = Case(f"quic queue {cell.name}", (queue_experiment(cell),), _QUEUE_SEEDS)
        for what, column, measure, tolerance, unit in (
            ("queue", "queue_ms", _queue, 0.2, "ms"),
            ("queue-goodput", "goodput_mbps", _goodput, 0.05, "Mbit/s"),
        ):
            runs = [float(row[column]) for row in cell.rows]
            repeats = max(runs) - min(runs) <= tolerance * fmean(runs)
            is_queue = what != "queue" or fmean(runs) > _LEAST_QUEUE
            yield Check(
                f"programs/quic-{what}/{cell.name}",
                f"{what} of QUIC's carriers{'' if repeats else VARIES}",
                "Hysteria",
                f"{cell.setup}, {cell.rtt:g} ms, 1 BDP, {100 * cell.loss:g} % lost",
                (case,),
                measure,
                MeanNear(fmean(runs), tolerance, unit=unit),
                kind=Kind.MUST if repeats and is_queue else Kind.TOLD,
            )


def queue_experiment(cell: Cell, seed: int = 1) -> Experiment:
    """Return the experiment that does what was measured, from QUEUE_START s on.

    Packets leave the link late, and the program's threads read and answer late.
    """
    late = median(float(row["late_p99_ms"]) for it in cells(QUEUES) for row in it.rows)
    parsed: Experiment = Experiment.parse(
        {
            "path": {
                "rate": "100Mbps",
                "rtt": f"{cell.rtt:g}ms",
                "buffer": f"{cell.rows[0]['buffer_pkts']}p",
                "loss": cell.loss,
                "reverse": {"jitter": _THREADS, "jitter_distribution": "half-normal"},
                **lateness(late),
            },
            "flows": {"cc": "cubic", "start": f"{QUEUE_START}s"},
            "warmup": f"{QUEUE_START + QUEUE_WARMUP}s",
            "duration": f"{QUEUE_START + 20}s",
            "hosts": {"speed": 50},
            "seed": seed,
            **QUEUE_SETUPS[cell.setup],
        }
    )
    return parsed


def _queue(runs: Sequence[Sequence[Measurement]]) -> list[float]:
    return [run.queue_ms for run in runs[0]]


def _goodput(runs: Sequence[Sequence[Measurement]]) -> list[float]:
    # Measurement.goodput would leave out a second more.
    return [
        float(flow.series.goodput[flow.series.time > QUEUE_START + QUEUE_WARMUP].mean())
        for run in runs[0]
        for flow in run.flows
    ]


def _tolerance(cell: Cell, is_reno: bool) -> float:
    if not is_reno:
        return 0.05
    return 0.1 if cell.rtt <= 20 else 0.15
