# SPDX-License-Identifier: GPL-2.0-only
"""What is taken from a run to be set beside a published number.

Only these numbers are kept of a run: its series are of no use to a table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tunnelcc import derived
from tunnelcc.result import Result

# A carrier whose data in flight came this near to the receive window was limited by it.
WINDOW_LIMITED = 0.97


def _app_retransmits(result: Result) -> float:
    """As iperf3 shows them: those of the application's own connection."""
    return float(result.to_dict()["aggregate"]["retransmits"])


def _carrier_retransmits(result: Result) -> float:
    return float(sum(result.path_leg(legs).retransmits for legs in result.legs if legs))


def _window_share(result: Result) -> float:
    """Mean over flows of the most data in flight after the warm-up / receive window."""
    window = derived.receive_window(derived.sides(result.experiment)[1])
    measured = np.asarray(result.raw.time) > result.experiment.warmup
    peaks = [
        float(np.max(np.asarray(result.path_leg(legs).in_flight)[measured], initial=0))
        for legs in result.legs
    ]
    return float(np.mean(peaks)) / window


#: Name → (unit, what it is, how it is taken from a result).
MEASURES: dict[str, tuple[str, str, Callable[[Result], float]]] = {
    "goodput": (
        "bit/s",
        "application bytes read by the receiver per time",
        lambda result: result.goodput,
    ),
    "app_retransmits": (
        "segments",
        "retransmissions of the applications' connections",
        _app_retransmits,
    ),
    "carrier_retransmits": (
        "segments",
        "retransmissions across the path",
        _carrier_retransmits,
    ),
    "drops": (
        "packets",
        "dropped by the bottleneck's full queue",
        lambda result: float(result.raw.forward.drops),
    ),
    "utilisation": (
        "1",
        "use of the bottleneck",
        lambda result: float(result.raw.forward.utilisation),
    ),
    "window_share": ("1", "peak of data in flight / receive window", _window_share),
    "cpu": (
        "1",
        "use of the busier host's cores",
        lambda result: float(max(result.raw.client.utilisation, result.raw.server.utilisation)),
    ),
}


@dataclass(frozen=True)
class Run:
    """The measures of one run."""

    seed: int
    values: dict[str, float]


def take(result: Result) -> Run:
    """Return the measures of ``result``."""
    values = {name: measure(result) for name, (_, _, measure) in MEASURES.items()}
    return Run(result.experiment.seed, values)


def unit(name: str) -> str:
    """Return the SI unit of a measure."""
    return MEASURES[name][0]
