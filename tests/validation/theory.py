# SPDX-License-Identifier: GPL-2.0-only
"""Checks of loss-based algorithms against their response functions.

The bottleneck is much faster than the flow, so there is no queue, and the window is goodput times
RTT. A run lasts for a number of loss events; the first ones are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tunnelcc.metrics.formulas import cubic_window, reno_window
from tunnelcc.scenario import Experiment
from validation import causes
from validation.check import Case, Check, Group, Kind, Measure
from validation.compare import MeanNear
from validation.measure import Measurement
from validation.reference import periodic_loss

SOURCE = "RFC 9438, section 5.1"

# RFC 9438's tables 1 and 2, but for what _LEFT_OUT says: four windows of 25 losses (below) each.
_PERIODIC = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
_LEFT_OUT = (
    "Not compared: the last row of RFC 9438's tables 1 and 2 (loss 1e-8). It has 100 "
    "million packets between losses, so four windows would need ten billion packets."
)
_RANDOM = (2e-2, 1e-2, 5e-3, 1e-3, 1e-4)
_RTTS = (0.01, 0.1)
# Loss events that a run leaves out and then measures; fewer where each takes ten million packets:
# there, quarters of what is measured are within 1 % of its mean.
_FIRST_EVENTS, _EVENTS = 20, 100
_FEW_FIRST_EVENTS, _FEW_EVENTS = 10, 15
_FEW_BELOW = 5e-7
_RANDOM_SEEDS = 4
# How much faster than the flow's mean the bottleneck is.
_HEADROOM = 20
_MSS, _PACKET = 1448, 1500
# Packets between losses from which on runs are long.
_SLOW_BELOW = 2e-4


def group() -> Group:
    """Return the checks against response functions."""
    return Group(
        "theory",
        "response functions of loss-based algorithms",
        causes.read("theory").attach(_checks()),
        _LEFT_OUT,
    )


def _checks() -> Iterator[Check]:
    for rtt in _RTTS:
        for loss in _PERIODIC:
            for cc in ("reno", "cubic"):
                yield _check(cc, rtt, loss, "periodic", 0.10, 1)
        for loss in _RANDOM:
            for cc in ("reno", "cubic"):
                yield _check(cc, rtt, loss, "random", 0.25, _RANDOM_SEEDS)


def window(cc: str, loss: float, rtt: float) -> float:
    """Return the average window in segments that theory gives an algorithm."""
    return reno_window(loss) if cc == "reno" else cubic_window(loss, rtt)


def _check(cc: str, rtt: float, loss: float, pattern: str, tolerance: float, seeds: int) -> Check:
    expected = window(cc, loss, rtt)
    # Where Linux was measured, it is what decides (linux/periodic).
    is_measured = pattern == "periodic" and (cc, 1e3 * rtt, round(1 / loss)) in periodic_loss()
    measured = ", where Linux was measured" if is_measured else ""
    return Check(
        name=f"theory/{pattern}/{cc}/{1e3 * rtt:g}ms/{loss:g}",
        metric=f"response function, {pattern} loss{measured}",
        source=SOURCE,
        condition=f"{cc}, RTT {1e3 * rtt:g} ms, {pattern} loss {loss:g}: mean window",
        cases=(case(cc, rtt, loss, pattern, seeds),),
        measure=_window_of(rtt),
        comparison=MeanNear(expected, tolerance, unit="segments", digits=1),
        kind=Kind.TOLD if is_measured else Kind.CELL,
        slow=is_slow(loss),
    )


def is_slow(loss: float) -> bool:
    """Whether losses are so rare that the run is long."""
    return loss < _SLOW_BELOW


def case(cc: str, rtt: float, loss: float, pattern: str, seeds: int = 1) -> Case:
    """Return a flow that only its losses (random or periodic) limit. ``rtt``: s."""
    expected = window(cc, loss, rtt)
    first_events, events = _FIRST_EVENTS, _EVENTS
    if loss < _FEW_BELOW:
        first_events, events = _FEW_FIRST_EVENTS, _FEW_EVENTS
    event = rtt / (loss * expected)  # s from one loss to the next
    warmup = max(10.0, first_events * event)
    experiment = Experiment.parse(
        {
            "path": {
                "rate": f"{_HEADROOM * expected * 8 * _PACKET / rtt:.0f}bps",
                "rtt": f"{1e3 * rtt:g}ms",
                "phase": "0",  # the formulas have this RTT
                "loss": f"{100 * loss:g}%",
                "loss_pattern": pattern,
            },
            "flows": {"cc": cc},
            "hosts": {"tcp_rmem": "1GiB", "tcp_wmem": "1GiB"},
            "warmup": f"{warmup:.3f}s",
            "duration": f"{warmup + max(30.0, events * event):.3f}s",
            "probe_interval": "1s",
        }
    )
    return Case(f"{pattern} {cc} {rtt:g} {loss:g}", (experiment,), seeds, pattern == "periodic")


def _window_of(rtt: float) -> Measure:
    def measure(runs: Sequence[Sequence[Measurement]]) -> list[float]:
        return [run.goodput * 1e6 * rtt / (8 * _MSS) for run in runs[0]]

    return measure
