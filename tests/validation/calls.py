# SPDX-License-Identifier: GPL-2.0-only
"""Checks of calls, ``iperf3 -u`` and ``ping`` in tunnels against the programs.

What was measured, and how: data/README.md. Delays, RTTs and goodput within 10 %, loss (where queues
drop more than 0.5 %) and a call's jitter within 20 %, as goodput, latencies and retransmissions of
programs.py. Where the runs of a program lie further apart than that, their mean says too little: it
is told beside the simulator's, and decides nothing. So are iperf3's jitter, to which its timer
adds, and its loss, of which there are five cells.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from tunnelcc.metrics import mean
from tunnelcc.scenario import Experiment
from validation import programs
from validation.check import Case, Check
from validation.compare import MeanNear
from validation.measure import Measurement
from validation.reference import CallCell, call_cells

RATE = 20  # Mbit/s
_DURATION, _WARMUP = 27, 7  # s
_CALL, _PING, _FLOWS, _APART = 1.0, 1.05, 2.0, 0.1  # s, starts
_SEEDS = 6
_LEAST_LOSS = 0.5  # %
# Less jitter than this (ms) is that of the measuring machine, and of iperf3's timer of 1 ms.
_LEAST_JITTER, _LEAST_IPERF_JITTER = 0.5, 1.0


@dataclass(frozen=True)
class _Quantity:
    """What is compared; ``column``: of the table."""

    key: str
    metric: str
    column: str
    simulated: Callable[[Measurement], float]
    relative: float
    unit: str = "ms"
    scale: float = 1.0
    least: float = 0.0
    is_told: bool = False
    beside: bool = False  # only where flows over TCP run beside


# The first flow of datagrams is iperf3's, the second the call. Alone, with one of a hundred packets
# lost, four to five of a hundred datagrams in a stream wait behind a loss: the 95th percentile is
# at an edge there, and chance decides. Loss is the link's own there.
_QUANTITIES = (
    _Quantity(
        "goodput", "goodput beside calls", "goodput_mbps", lambda run: run.goodput, 0.1, "Mbit/s",
        least=0.1,
    ),
    _Quantity(
        "ping-p50", "RTT of ping, median", "ping_p50_ms", lambda run: run.pings.rtt_p50, 0.1
    ),
    _Quantity(
        "ping-p95", "RTT of ping, 95th percentile", "ping_p95_ms",
        lambda run: run.pings.rtt_p95, 0.1, beside=True,
    ),
    _Quantity(
        "call-p50", "delay of a call, median", "call_delay_p50_ms",
        lambda run: run.datagrams[1].delay_p50, 0.1,
    ),
    _Quantity(
        "call-p95", "delay of a call, 95th percentile", "call_delay_p95_ms",
        lambda run: run.datagrams[1].delay_p95, 0.1, beside=True,
    ),
    _Quantity(
        "iperf-loss", "loss of iperf3 -u", "iperf_loss",
        lambda run: 100 * run.datagrams[0].loss, 0.2, "%", scale=100, least=_LEAST_LOSS,
        beside=True, is_told=True,
    ),
    _Quantity(
        "call-jitter", "jitter of a call", "call_jitter_ms",
        lambda run: run.datagrams[1].jitter, 0.2, least=_LEAST_JITTER,
    ),
    _Quantity(
        "iperf-jitter", "jitter of iperf3 -u", "iperf_jitter_ms",
        lambda run: run.datagrams[0].jitter, 0.2, least=_LEAST_IPERF_JITTER, is_told=True,
    ),
)  # fmt: skip


def checks() -> Iterator[Check]:
    """Yield the checks of all cells."""
    for cell in call_cells():
        for quantity in _QUANTITIES:
            yield from _check(cell, quantity)


def _check(cell: CallCell, quantity: _Quantity) -> Iterator[Check]:
    values = [quantity.scale * run[quantity.column] for run in cell.runs]
    if mean(values) < quantity.least or (quantity.beside and not cell.flows):
        return

    def measure(runs: Sequence[Sequence[Measurement]]) -> list[float]:
        return [quantity.simulated(run) for run in runs[0]]

    yield programs.against_runs(
        Check(
            name=f"programs/{quantity.key}/{place(cell)}",
            metric=f"calls: {quantity.metric}",
            source=programs.source(cell),
            condition=condition(cell),
            cases=(case(cell),),
            measure=measure,
            comparison=MeanNear(mean(values), quantity.relative, 0.0, quantity.unit, 2),
            slow=cell.loss > 0 or cell.flows > 1,
        ),
        values,
        decides=not quantity.is_told,
    )


def place(cell: CallCell) -> str:
    """Return the cell's name."""
    beside = f"{cell.flows}-{cell.cc}" if cell.flows else "alone"
    return (
        f"{cell.tunnel}/call-beside-{beside}/"
        f"{cell.rtt:g}ms-{cell.buffer_bdp}bdp-{100 * cell.loss:g}%"
    )


def condition(cell: CallCell) -> str:
    """Return the cell's condition in words."""
    beside = f"beside {cell.flows} {cell.cc}" if cell.flows else "and nothing else"
    return (
        f"iperf3 -u, a call and ping {beside}, {RATE} Mbit/s × {cell.rtt:g} ms, "
        f"{cell.buffer_bdp} BDP, loss {100 * cell.loss:g} %"
    )


def case(cell: CallCell) -> Case:
    """Return the simulation of a cell."""
    return Case(f"calls/{place(cell)}", (experiment(cell),), _SEEDS)


def experiment(cell: CallCell) -> Experiment:
    """Return the experiment that does what was measured."""

    def at(seconds: float) -> str:
        return f"{programs.LEAD + seconds:g}s"

    datagrams: list[dict[str, object]] = [
        {"transport": "udp", "rate": "2Mbps", "write_size": 1200, "start": at(0)},
        {"transport": "udp", "rate": "36.8kbps", "write_size": 92, "start": at(_CALL)},
    ]
    # a program's connection has the namespace's algorithm
    has_carrier = cell.tunnel not in ("wireguard", "openvpn-udp", "gost-quic")
    return programs.set_up(
        cell,
        RATE,
        _late(),
        cell.cc if has_carrier else None,
        flows=[*datagrams, *programs.bulk_flows(cell, _FLOWS, _APART)],
        pings={"interval": "100ms", "start": at(_PING)},
        duration=at(_DURATION),
        warmup=at(_WARMUP),
        start_jitter="1ms",
    )


@cache
def _late() -> float:
    """Return the 99th percentile of how late packets left the link, the median of all runs, ms."""
    return statistics.median(run["late_p99_ms"] for cell in call_cells() for run in cell.runs)
