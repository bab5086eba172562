# SPDX-License-Identifier: GPL-2.0-only
"""Lesson 16: ask Linux."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tunnelcc import measure
from tunnelcc.lessons import Figure, np, tc
from tunnelcc.measure import beside

#: Random experiments with Linux's answers, from tests/validation/data/oracle: those over routers of
#: Linux, which share no code with the simulator, eight of each kind in the order of their numbers.
_ANSWERS = Path(__file__).with_suffix(".jsonl")
#: What is compared: the name in tables, that of Linux's answers, and factor and unit for people.
QUANTITIES = {
    "goodput": ("flow 0: goodput", 1e-6, "Mbit/s"),
    "RTT": ("flow 0: rtt", 1e3, "ms"),
    "sent again": ("flow 0: retransmits", 1, "packets"),
}


@dataclass(frozen=True)
class Case:
    """An experiment, and what Linux answered."""

    number: int
    kind: str
    experiment: tc.Experiment
    linux: Mapping[str, float]
    runs: list[Mapping[str, float]] = field(default_factory=list, repr=False)

    def __str__(self) -> str:
        path = self.experiment.path
        flows = " and ".join(flow.cc.name for flow in self.experiment.flows)
        return f"{flows}, {(path.rate or 0) / 1e6:.3g} Mbit/s, {1e3 * path.rtt:.3g} ms, {self.kind}"


def kept() -> list[Case]:
    """Return the kept cases."""
    rows = [json.loads(line) for line in _ANSWERS.read_text("utf-8").splitlines()]
    return [_case(number, row) for number, row in enumerate(rows)]


def _case(number: int, row: Mapping[str, Any]) -> Case:
    return Case(number, row["kind"], _experiment(row["experiment"]), row["linux"])


def _experiment(table: Mapping[str, Any]) -> tc.Experiment:
    """Parse a table; both sides have the RTTs as they are given."""
    parsed: tc.Experiment = tc.Experiment.parse(dict(table))
    return parsed.with_({"path.phase": "0"})


def simulated(case: Case, seeds: int = 4) -> list[Mapping[str, float]]:
    """Return what runs of the simulator with other seeds give, named as Linux's answers."""
    costless = beside.costless(case.experiment)  # computing takes no time in Linux's virtual clock
    for it in range(len(case.runs), seeds):
        one = costless.with_({"seed": costless.seed + 1000003 * it})
        case.runs.append(beside.simulated(tc.run(one, progress=False)))
    return case.runs[:seeds]


def ask(table: Mapping[str, Any]) -> Case | None:
    """Let Linux run an experiment. Without its kernel, say what to do, and return None."""
    experiment = _experiment(table)
    try:
        answer = measure.measure_virtually(experiment, "router", iperf=len(experiment.flows) == 1)
    except tc.TunnelccError as error:
        print(f"No answer: {error}")
        return None
    return Case(-1, "asked now", experiment, answer.values)


def draw_case(case: Case, quantity: str, seeds: int) -> Figure:
    """Draw where runs of the simulator lie, and Linux's answer."""
    name, factor, unit = QUANTITIES[quantity]
    values = [factor * it[name] for it in simulated(case, seeds)]
    linux = factor * case.linux[name]
    figure = Figure(figsize=(5.6, 2.8))
    axes = figure.subplots()
    rows = np.linspace(-0.2, 0.2, len(values))
    axes.plot(values, rows, "o", fillstyle="none", label=f"{seeds} seeds of the simulator")
    axes.axvline(linux, color="C1", label="Linux")
    axes.set(xlabel=f"{quantity} ({unit})", ylim=(-1, 1), yticks=[])
    axes.set_title(str(case), fontsize=10)
    axes.legend(ncols=2, loc="lower center", frameon=True, framealpha=1)
    return figure


def span(values: Sequence[float], factor: float) -> str:
    """Return the least and the greatest of values in a text."""
    return f"{factor * min(values):.4g} to {factor * max(values):.4g}"
