# SPDX-License-Identifier: GPL-2.0-only
"""Checks of the catalogue's tunnels against the programs, across an emulated link.

What was measured, and how: data/README.md. Goodput, RTTs and the latency of messages within 10 %,
shares within 10 points, retransmissions (where they are above 0.5 %) and queueing delay within
20 %. Where the runs of a program lie further apart than that, their mean says too little: it is
told beside the simulator's, and decides nothing. So are speeds where the CPU is the limit: costs of
most programs are those of other versions and of another machine.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import tunnelcc as tc
from tunnelcc.metrics import mean
from tunnelcc.scenario import Experiment
from validation import causes
from validation.check import FULL, VARIES, Case, Check, Group, Kind
from validation.compare import MeanNear
from validation.linux import lateness
from validation.measure import Connection, FlowMeasurement, Measurement
from validation.reference import (
    DATA,
    CallCell,
    ProgramCell,
    ProgramRun,
    program_cells,
    program_speeds,
)

RATE = 50  # Mbit/s
# The tunnel is up before the flows begin, s; their times count from then.
LEAD = 3
_DURATION, _WARMUP = 20, 5  # s
_APART = 0.1  # s between the starts of two flows
# The connection that sends a message each 100 ms.
_MESSAGES = {"rate": "7.68kbps", "write_size": 96}
# When it begins, s, by the RTT (ms).
_MESSAGES_START = {40: 0.05, 100: 0.85}
_SOCKETS = {"tcp_rmem": "6MiB", "tcp_wmem": "4MiB"}
# Runs of a cell, with losses and without.
_RANDOM_SEEDS, _OTHER_SEEDS = 6, 4
# As late as threads began (SYNs in a capture). Without it, runs without losses are all the same.
_START_JITTER = "0.2ms"
# Below this ratio (%) retransmissions are few, and not compared.
LEAST_RATIO = 0.5
# Relays that open a carrier for each connection: that of the messages, too.
_CARRIER_EACH = ("gost-relay-ws", "gost-relay-wss")


@dataclass(frozen=True)
class _Quantity:
    """What is compared of a run: measured, and simulated. None: there is no such thing."""

    key: str
    metric: str
    measured: Callable[[ProgramRun], float | None]
    simulated: Callable[[ProgramCell, Measurement], float]
    relative: float = 0.0
    absolute: float = 0.0
    unit: str = "ms"
    least: float = 0.0

    def near(self, target: float) -> MeanNear:
        return MeanNear(target, self.relative, self.absolute, self.unit, 1 if self.absolute else 2)


def _through(cell: ProgramCell, run: Measurement) -> Sequence[FlowMeasurement]:
    """Return the flows through the tunnel."""
    return run.flows[: cell.flows]


def _goodput(cell: ProgramCell, run: Measurement) -> float:
    return sum(flow.goodput for flow in _through(cell, run))


def _share(cell: ProgramCell, run: Measurement) -> float:
    total = _goodput(cell, run)
    if cell.beside:
        return 100 * total / (total + run.flows[cell.flows].goodput)
    return 100 * max(flow.goodput for flow in _through(cell, run)) / total


def _outer_rtt(cell: ProgramCell, run: Measurement) -> float:
    messages = (run.flows[-1],) if cell.tunnel in _CARRIER_EACH else ()
    return mean([flow.carrier.rtt for flow in (*_through(cell, run), *messages)])


def _ratio(connections: Sequence[Connection]) -> float:
    segments = sum(it.segments for it in connections)
    return 100 * sum(it.retransmitted for it in connections) / segments


_QUANTITIES = (
    _Quantity(
        "goodput", "goodput", lambda run: run.goodput, _goodput, relative=0.1, unit="Mbit/s"
    ),
    _Quantity("share", "shares", lambda run: run.share, _share, absolute=10, unit="%"),
    _Quantity(
        "latency", "latency of messages", lambda run: run.latency,
        lambda cell, run: run.flows[-1].latency, relative=0.1,
    ),
    _Quantity(
        "inner-rtt", "RTT inside", lambda run: run.inner_rtt,
        lambda cell, run: mean([it.socket.rtt for it in _through(cell, run)]), relative=0.1,
    ),
    _Quantity("outer-rtt", "RTT outside", lambda run: run.outer_rtt, _outer_rtt, relative=0.1),
    _Quantity(
        "inner-retransmissions", "retransmissions inside", lambda run: run.inner_retransmissions,
        lambda cell, run: _ratio([it.socket for it in _through(cell, run)]),
        relative=0.2, unit="%", least=LEAST_RATIO,
    ),
    _Quantity(
        "outer-retransmissions", "retransmissions outside", lambda run: run.outer_retransmissions,
        lambda cell, run: _ratio([it.carrier for it in _through(cell, run)]),
        relative=0.2, unit="%", least=LEAST_RATIO,
    ),
    _Quantity(
        "queue", "queueing delay", lambda run: run.queue, lambda cell, run: run.queue_ms,
        relative=0.2,
    ),
)  # fmt: skip


def group(more: Iterable[Check] = ()) -> Group:
    """Return the checks against the programs that were measured, and ``more`` of them."""
    return Group(
        "programs",
        "real programs, as captured and measured",
        causes.read("programs").attach((*checks(), *more)),
    )


def checks() -> Iterator[Check]:
    """Yield the checks of all cells, without what is known of the causes of misses."""
    for cell in program_cells():
        yield from checks_of(cell)
    for (tunnel, flows), speeds in program_speeds().items():
        if tunnel != "none":  # the kernel's own work is free in the simulator
            yield _speed_check(tunnel, flows, mean(speeds))


def checks_of(cell: ProgramCell) -> Iterator[Check]:
    """Yield the checks of one cell."""
    for quantity in _QUANTITIES:
        yield from _check(cell, quantity)


def _speed_check(tunnel: str, flows: int, target: float) -> Check:
    def measure(runs: Sequence[Sequence[Measurement]]) -> list[float]:
        return [run.goodput for run in runs[0]]

    place = f"{tunnel}/{flows}"
    return Check(
        name=f"programs/cpu/{place}",
        metric="tunnels: goodput where the CPU is the limit",
        source=tunnel,
        condition=f"{flows} cubic, no bottleneck, both hosts on two cores",
        cases=(Case(f"{place}/cpu", (speed_experiment(tunnel, flows),), 1),),
        measure=measure,
        comparison=MeanNear(target, relative=0.25, unit="Mbit/s", digits=0),
        kind=Kind.TOLD,
        slow=True,
    )


def speed_experiment(tunnel: str, flows: int) -> Experiment:
    """Return the experiment in which the CPU alone limits a tunnel."""
    parsed: Experiment = Experiment.parse(
        {
            # far above what the cores can carry
            "path": {"rate": "40Gbps", "rtt": "0.1ms", "buffer": "20000p"},
            "flows": {"cc": "cubic", "count": flows, "write_size": "128KiB"},
            "tunnel": tunnel,
            "hosts": {
                **_SOCKETS, "profile": str(DATA / "programs/host.toml"), "cores": 2,
                "one_machine": True,
            },
            "duration": "4s",
            "warmup": "3s",
        }
    )  # fmt: skip
    return parsed


def _check(cell: ProgramCell, quantity: _Quantity) -> Iterator[Check]:
    values = [value for run in cell.runs if (value := quantity.measured(run)) is not None]
    if not values or mean(values) < quantity.least:
        return

    def measure(runs: Sequence[Sequence[Measurement]]) -> list[float]:
        return [quantity.simulated(cell, run) for run in runs[0]]

    yield against_runs(
        Check(
            name=f"programs/{quantity.key}/{place(cell)}",
            metric=f"tunnels: {quantity.metric}",
            source=source(cell),
            condition=condition(cell),
            cases=(case(cell),),
            measure=measure,
            comparison=quantity.near(mean(values)),
            slow=cell.loss > 0 or cell.flows > 1 or cell.beside,
            full=_is_full(cell, mean(values)) if quantity.key == "goodput" else None,
        ),
        values,
    )


def _is_full(cell: ProgramCell, goodput: float) -> bool:
    """Whether the tunnel's flows filled the link, alone or beside another flow."""
    sizes = tc.sizes(experiment(cell))
    beside = mean([run.beside or 0.0 for run in cell.runs]) if cell.beside else 0.0
    most = RATE * (1 - cell.loss) * sizes.mss / sum(sizes.outer)
    return goodput + beside >= FULL * most


def against_runs(check: Check, values: Sequence[float], decides: bool = True) -> Check:
    """Return a cell's check against the runs of a program, which had ``values``.

    It decides unless they lie further apart than its tolerance, which the metric then says.
    """
    assert isinstance(check.comparison, MeanNear)
    repeats = max(values) - min(values) <= check.comparison.margin
    metric = check.metric if repeats else check.metric + VARIES
    return replace(check, metric=metric, kind=Kind.CELL if repeats and decides else Kind.TOLD)


def source(cell: ProgramCell | CallCell) -> str:
    """Return in words what was measured, and how often."""
    return f"{'no tunnel' if cell.tunnel == 'none' else cell.tunnel}, {len(cell.runs)} runs"


def place(cell: ProgramCell) -> str:
    """Return the cell's name."""
    inside = cell.cc if cell.cc == cell.carrier_cc else f"{cell.cc}-in-{cell.carrier_cc}"
    flows = f"{cell.flows}-beside" if cell.beside else f"{cell.flows}"
    return (
        f"{cell.tunnel}/{inside}-{flows}/{cell.rtt:g}ms-{cell.buffer_bdp}bdp-{100 * cell.loss:g}%"
    )


def condition(cell: ProgramCell) -> str:
    """Return the cell's condition in words."""
    carrier = "" if cell.cc == cell.carrier_cc else f", carrier {cell.carrier_cc}"
    beside = ", one beside the tunnel" if cell.beside else ""
    return (
        f"{cell.flows} {cell.cc}{carrier}{beside}, {RATE} Mbit/s × {cell.rtt:g} ms, "
        f"{cell.buffer_bdp} BDP, loss {100 * cell.loss:g} %"
    )


def case(cell: ProgramCell) -> Case:
    """Return the simulation of a cell."""
    return Case(place(cell), (experiment(cell),), _RANDOM_SEEDS if cell.loss else _OTHER_SEEDS)


def experiment(cell: ProgramCell) -> Experiment:
    """Return the experiment that does what was measured."""
    flows = bulk_flows(cell, 0, _APART)
    if cell.beside:
        last = f"{LEAD + cell.flows * _APART:g}s"
        flows += [{**bulk_flows(cell, 0, 0)[0], "start": last, "tunnel": "none"}]
    start = f"{LEAD + _MESSAGES_START[round(cell.rtt)]:g}s"
    flows += [{"cc": cell.cc, "start": start, **_MESSAGES}]
    return set_up(
        cell,
        RATE,
        _late(),
        None if cell.cc == cell.carrier_cc else cell.carrier_cc,
        flows=flows,
        duration=f"{LEAD + _DURATION}s",
        warmup=f"{LEAD + _WARMUP}s",
        start_jitter=_START_JITTER,
    )


def bulk_flows(cell: ProgramCell | CallCell, start: float, apart: float) -> list[dict[str, object]]:
    """Return the cell's flows that send as much as they can; when the first begins, s."""
    return [
        {"cc": cell.cc, "write_size": "128KiB", "start": f"{LEAD + start + index * apart:g}s"}
        for index in range(cell.flows)
    ]


def set_up(
    cell: ProgramCell | CallCell, rate: float, late: float, carrier_cc: str | None, **keys: object
) -> Experiment:
    """Return an experiment across the emulated link, with the sockets that applications had.

    ``rate``: Mbit/s; ``late``: 99th percentile of the link's lateness, ms; ``carrier_cc``: the
    algorithm of the tunnel's connection, if it is not that of the flows.
    """
    described: dict[str, object] = {
        "path": {
            "rate": f"{rate}Mbps",
            "rtt": f"{cell.rtt:g}ms",
            "loss": f"{100 * cell.loss:g}%",
            "buffer": f"{cell.buffer}p",
            **lateness(late),
        },
        "tcp": {"nodelay": True},
        "hosts": _SOCKETS,
        **keys,
    }
    if cell.tunnel != "none":
        carrier = {"cc": carrier_cc} if carrier_cc else {}
        described["tunnel"] = {"name": cell.tunnel, **carrier}
    parsed: Experiment = Experiment.parse(described)
    return parsed


@cache
def _late() -> float:
    """Return the 99th percentile of how late packets left the link, the median of all runs, ms."""
    return statistics.median(run.late for cell in program_cells() for run in cell.runs)
