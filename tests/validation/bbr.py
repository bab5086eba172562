# SPDX-License-Identifier: GPL-2.0-only
"""Checks of BBRv1 against its design and models, and against CUBIC."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tunnelcc.metrics.formulas import bbr_share_of_capacity, ware_share
from tunnelcc.scenario import Experiment
from validation.check import Case, Check, Group, Measure
from validation.compare import Between, MeanNear
from validation.linux import goodputs
from validation.measure import START_UP, FlowSeries, Measurement

_CARDWELL = "Cardwell et al. 2016"
_WARE = "Ware et al., IMC 2019"
_PAYLOAD_SHARE = 1448 / 1500
_RATE = 50.0  # Mbit/s
CAPACITY = _RATE * _PAYLOAD_SHARE
_SEEDS = 8
# 10 s without a new minimum, a round trip to drain, 0.2 s at 4 segments, a round trip to end it.
_PROBE_INTERVAL = 10 + 0.04 + 0.2 + 0.04
LOSSES = (0, 0.001, 0.01, 0.02, 0.05, 0.1)
ROOMS = (0.5, 1, 1.5, 2, 3, 4, 6, 8, 16)  # BDP
SHARED_RATE, SHARED_RTT = 100e6, 0.04


def group() -> Group:
    """Return the checks against the design and models of BBRv1."""
    return Group("bbr", "BBRv1's design and models of it", tuple(_checks()))


def _checks() -> Iterator[Check]:
    for loss in LOSSES:
        for position in ("after", "before") if loss else ("after",):
            yield _goodput(loss, position)
    yield from _knee()
    yield _probe_rtt()
    yield _startup()
    yield _step()
    yield _crossover()
    for room in ROOMS:
        if room >= 4:
            yield _ware_bound(room)


def plain(cc: str, loss: float, position: str = "after", **changes: object) -> Experiment:
    """Return one flow over 50 Mbit/s × 40 ms with a buffer of 1 BDP for 30 s."""
    path = {
        "rate": f"{_RATE:g}Mbps",
        "rtt": "40ms",
        "loss": f"{100 * loss:g}%",
        "loss_position": position,
    }
    table: dict[str, object] = {
        "path": path,
        "flows": {"cc": cc},
        "duration": "33s",
        "warmup": f"{START_UP:g}s",
    }
    experiment: Experiment = Experiment.parse({**table, **changes})
    return experiment


def against_cubic(cc: str, room: float) -> Case:
    """Return one flow of ``cc`` and one of CUBIC over 100 Mbit/s × 40 ms, ``room`` in BDP."""
    experiment = Experiment.parse(
        {
            "path": {"rate": "100Mbps", "rtt": "40ms", "buffer": f"{room:g}bdp"},
            "flows": [{"cc": cc}, {"cc": "cubic"}],
            "hosts": {"tcp_rmem": "64MiB", "tcp_wmem": "64MiB"},
            "duration": "120s",
            "warmup": "20s",
            "start_jitter": "200ms",
        }
    )
    # BBRv3's share has a spread of four points.
    seeds, fewest = (16, 16) if cc == "bbr3" else (4, 1)
    return Case(f"{cc} against cubic {room:g}", (experiment,), seeds, fewest=fewest)


def first_share(run: Measurement) -> float:
    """Return the first flow's share of the goodput, percent."""
    return 100 * run.flows[0].goodput / run.goodput


def _goodput(loss: float, position: str) -> Check:
    expected = bbr_share_of_capacity(loss, position == "before") * CAPACITY
    if not loss:
        expected = 0.99 * CAPACITY
    place = f"loss {100 * loss:g} % {position} the bottleneck" if loss else "no loss"
    return Check(
        f"bbr/goodput/{position}/{100 * loss:g}%",
        "goodput under loss",
        _CARDWELL,
        f"bbr, 50 Mbit/s × 40 ms, {place}",
        (Case(f"bbr {position} {loss:g}", (plain("bbr", loss, position),), _SEEDS),),
        goodputs,
        MeanNear(expected, 0.05, unit="Mbit/s"),
    )


def _knee() -> Iterator[Check]:
    for loss, bounds in (
        (0.15, Between(low=0.5, median=True)),
        (0.2, Between(high=0.5, median=True)),
    ):
        yield Check(
            f"bbr/knee/{100 * loss:g}%",
            "knee between 15 and 20 % loss",
            _CARDWELL + ", figure 8",
            f"bbr, 50 Mbit/s × 40 ms, loss {100 * loss:g} %: goodput / (1 − p)² of the capacity",
            (Case(f"bbr after {loss:g}", (plain("bbr", loss),), 16),),
            _relative_to((1 - loss) ** 2 * CAPACITY),
            bounds,
        )


def _relative_to(goodput: float) -> Measure:
    def measure(runs: Sequence[Sequence[Measurement]]) -> list[float]:
        return [run.goodput / goodput for run in runs[0]]

    return measure


def _probe_rtt() -> Check:
    experiment = plain("bbr", 0, duration="65s", probe_interval="10ms")
    return Check(
        "bbr/probe-rtt",
        "ProbeRTT",
        _CARDWELL + "; Linux tcp_bbr.c",
        "bbr, 50 Mbit/s × 40 ms: time from one ProbeRTT to the next: 10 s after the last one ended",
        (Case("bbr probe-rtt", (experiment,), 2),),
        lambda runs: [_probe_interval(run.flows[0].series) for run in runs[0]],
        MeanNear(_PROBE_INTERVAL, 0.05, unit="s"),
    )


def _probe_interval(series: FlowSeries) -> float:
    """Mean time between the moments at which the window falls to 4 segments, s."""
    small = (series.cwnd <= 4) & (series.time > 1)
    begins = series.time[1:][small[1:] & ~small[:-1]]
    return float(np.mean(np.diff(begins))) if len(begins) > 1 else float("inf")


def _startup() -> Check:
    path = {"rate": "1Gbps", "rtt": "100ms"}
    experiment = Experiment.parse(
        {
            "path": path,
            "flows": {"cc": "bbr"},
            "hosts": {"tcp_rmem": "256MiB", "tcp_wmem": "256MiB"},
            "duration": "2s",
            "probe_interval": "100ms",
        }
    )
    return Check(
        "bbr/startup",
        "STARTUP",
        _CARDWELL,
        "bbr, 1 Gbit/s × 100 ms: growth of the delivery per round trip",
        (Case("bbr startup", (experiment,), 4),),
        lambda runs: [_growth(run.flows[0].series) for run in runs[0]],
        MeanNear(2, 0.1),
    )


def _growth(series: FlowSeries) -> float:
    """Geometric mean of the growth per sample, from 1 to 50 % of 1 Gbit/s."""
    rising = series.goodput[: int(np.argmax(series.goodput > 500)) + 1]
    rising = rising[(rising > 10) & (rising <= 500)]
    return float((rising[-1] / rising[0]) ** (1 / (len(rising) - 1)))


def _step() -> Check:
    step = 10.0
    path = {"rate": "10Mbps", "rtt": "40ms", "rate_steps": [[f"{step:g}s", "20Mbps"]]}
    flows = {"cc": "bbr"}
    experiment = Experiment.parse({"path": path, "flows": flows, "duration": "15s"})

    def measure(runs: Sequence[Sequence[Measurement]]) -> list[float]:
        return [
            _time_to_reach(run.flows[0].series, 0.9 * 20 * _PAYLOAD_SHARE, step) for run in runs[0]
        ]

    return Check(
        "bbr/step",
        "bottleneck that doubles",
        _CARDWELL + ", figure 3: three gain cycles, 1.25³ ≈ 2, about 1 s",
        "bbr, 10 to 20 Mbit/s at 40 ms: time until 90 % of the new rate",
        (Case("bbr step", (experiment,), 16, fewest=16),),
        measure,
        Between(0.5, 1.5, unit="s"),
    )


def _time_to_reach(series: FlowSeries, goodput: float, since: float) -> float:
    """Time from ``since`` (s) to the first sample of at least ``goodput``."""
    reached = series.time[(series.time > since) & (series.goodput >= goodput)]
    return float(reached[0]) - since if len(reached) else float("inf")


def _crossover() -> Check:
    return Check(
        "bbr/crossover",
        "crossover with CUBIC",
        _CARDWELL + "; " + _WARE,
        "bbr against cubic, 100 Mbit/s × 40 ms: buffer at which both have one half",
        tuple(against_cubic("bbr", room) for room in ROOMS),
        _equal_shares,
        Between(1, 2, unit="BDP"),
    )


def _equal_shares(runs: Sequence[Sequence[Measurement]]) -> list[float]:
    """Return the buffer in BDP where BBR's mean share falls through 50 %, interpolated linearly."""
    shares = [float(np.mean([first_share(run) for run in case])) for case in runs]
    for i in range(1, len(shares)):
        if shares[i - 1] > 50 >= shares[i]:
            part = (shares[i - 1] - 50) / (shares[i - 1] - shares[i])
            return [ROOMS[i - 1] + part * (ROOMS[i] - ROOMS[i - 1])]
    return [float("inf")]


def _ware_bound(room: float) -> Check:
    bound = 100 * ware_share(room, SHARED_RATE, SHARED_RTT)
    return Check(
        f"bbr/ware/{room:g}bdp",
        "BBR's share in deep buffers",
        _WARE,
        f"bbr against cubic, 100 Mbit/s × 40 ms, {room:g} BDP: BBR's share",
        (against_cubic("bbr", room),),
        lambda runs: [first_share(run) for run in runs[0]],
        Between(high=bound, unit="%", digits=1),
    )
