# SPDX-License-Identifier: GPL-2.0-only
"""Checks of the path and the endpoint against stock ns-3's TCP where both should agree: no loss.

The congestion control is ns-3's own, unchanged, on both sides. The receive window keeps the flow
from filling the buffer, so that nothing is dropped; runs where slow start overfills it are told
beside, for there the two recover differently. The program ``stock-ns3`` is built from
tests/bench/stock-ns3.cc.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tunnelcc.errors import RunError
from tunnelcc.scenario import Experiment
from validation.check import Case, Check, Group, Kind
from validation.compare import MeanNear
from validation.measure import Measurement

PROGRAM = Path(__file__).parents[2] / "build/release/stock-ns3"
_ALGORITHMS = ("ns3::TcpLinuxReno", "ns3::TcpCubic", "ns3::TcpBbr")
# Mbit/s, ms. The program writes 64 KiB at once, which a smaller window would not take.
_WITHOUT_DROPS = ((10, 100), (20, 40), (50, 40))
_WITH_DROPS = ((10, 20), (20, 40), (50, 40))
_DURATION = 20  # s
_CPU_LIMIT = 120  # s
_LARGE_WINDOW = 3 << 20  # bytes
# What Linux 6.18 advertises of tcp_rmem.
_WINDOW_SHARE = 0.625
_OVERSHOOT = "Stock ns-3 recovers from the overshoot of slow start without RACK-TLP."


@dataclass(frozen=True)
class _Condition:
    """A path with a buffer of 1 BDP, and whether the receive window lets it overflow."""

    cc: str
    rate: int  # Mbit/s
    rtt: int  # ms
    drops: bool

    @property
    def buffer(self) -> int:
        """1 BDP in packets."""
        return round(self.rate * 1e3 * self.rtt / 8 / 1500)

    @property
    def window(self) -> int:
        """Receive window, bytes: 1.5 BDP of payload where nothing is to be dropped."""
        return _LARGE_WINDOW if self.drops else self.buffer * 1448 * 3 // 2


def group(program: Path = PROGRAM) -> Group:
    """Return the checks against ``program``, which is run for what to expect.

    Raises RunError if it does not run, or tells no goodput.
    """
    return Group(
        "ns3",
        "stock ns-3's TCP without loss",
        tuple(_checks(program)),
        figure="The same algorithms in stock ns-3; after drops they recover apart",
    )


def _checks(program: Path) -> Iterator[Check]:
    for drops in (False, True):
        for cc in _ALGORITHMS:
            for rate, rtt in _WITH_DROPS if drops else _WITHOUT_DROPS:
                yield _check(_Condition(cc, rate, rtt, drops), program)


def _check(condition: _Condition, program: Path) -> Check:
    place = f"{condition.rate}Mbps-{condition.rtt}ms{'-drops' if condition.drops else ''}"
    limit = "" if condition.drops else ", window 1.5 BDP"
    return Check(
        name=f"ns3/{condition.cc.rpartition(':')[2]}/{place}",
        metric="goodput where slow start overfills the buffer" if condition.drops else "no loss",
        source="stock ns-3 3.44",
        condition=f"{condition.cc}, {condition.rate} Mbit/s × {condition.rtt} ms, "
        f"buffer 1 BDP{limit}",
        cases=(_case(condition),),
        measure=_whole_goodput,
        comparison=MeanNear(_stock_goodput(program, condition), 0.02, unit="Mbit/s", digits=3),
        kind=Kind.TOLD if condition.drops else Kind.MUST,
        cause=_OVERSHOOT if condition.drops else "",
    )


def _case(condition: _Condition) -> Case:
    experiment = Experiment.parse(
        {
            "path": {
                "rate": f"{condition.rate}Mbps",
                "rtt": f"{condition.rtt}ms",
                "phase": "0",  # as stock ns-3's
                "buffer": f"{condition.buffer}p",
            },
            "flows": {"cc": condition.cc},
            "hosts": {"tcp_rmem": f"{condition.window / _WINDOW_SHARE:.0f}B"},
            "duration": f"{_DURATION}s",
            "start_jitter": "0s",
        }
    )
    key = f"{condition.cc} {condition.rate} {condition.rtt} {condition.window}"
    return Case(key, (experiment,), 1, fixed=True)


def _whole_goodput(runs: Sequence[Sequence[Measurement]]) -> list[float]:
    """Goodput from the start, as stock-ns3 counts it."""
    return [float(run.flows[0].series.goodput.mean()) for run in runs[0]]


def _stock_goodput(program: Path, condition: _Condition) -> float:
    """Goodput of the whole run, Mbit/s."""
    command = [
        str(program.resolve()),
        f"--cc={condition.cc}",
        f"--rate={condition.rate * 1e6:.0f}",
        f"--rtt={condition.rtt * 1e-3}",
        f"--buffer={condition.buffer}",
        f"--window={condition.window}",
        f"--duration={_DURATION}",
        f"--cpu-limit={_CPU_LIMIT}",
    ]
    try:
        output = subprocess.run(command, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise RunError(f"{program} failed: {error}; `make models` builds it") from None
    try:
        return float(json.loads(output)["goodput_bps"]) / 1e6
    except (ValueError, TypeError, KeyError):
        told = f"{program} did not tell a goodput: is it stock-ns3, which `make models` builds?"
        raise RunError(told) from None
