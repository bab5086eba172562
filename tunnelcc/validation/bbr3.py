# SPDX-License-Identifier: GPL-2.0-only
"""Checks of BBRv3 against its draft."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tunnelcc import core
from tunnelcc.validation.bbr import against_cubic, first_share, plain
from tunnelcc.validation.check import Case, Check, not_run
from tunnelcc.validation.compare import Between, MeanNear
from tunnelcc.validation.measure import Measurement

_DRAFT = "draft-ietf-ccwg-bbr"
_CAPACITY = 50 * 1448 / 1500  # Mbit/s
_SEEDS = 8
# The draft's BBRPacingMarginPercent: pacing is 1 % below the bandwidth.
_PACING_MARGIN = 0.99


def checks() -> Iterator[Check]:
    """Yield the checks of the group."""
    if not core.has_congestion_control("bbr3"):
        yield not_run("bbr3", "BBRv3", _DRAFT, "bbr3", "no congestion control bbr3 yet")
        return
    for loss in (0, 0.005, 0.01):
        yield _goodput(loss, "near the full rate up to 1 % loss", Between(low=0.9))
    for loss in (0.05, 0.1):
        yield _goodput(loss, "falls above 2 % loss", Between(high=0.75))
    yield _room_for_cubic()
    yield _bandwidth()


def _goodput(loss: float, what: str, comparison: Between) -> Check:
    return Check(
        f"bbr3/loss/{100 * loss:g}%",
        f"BBRv3: {what}",
        _DRAFT,
        f"bbr3, 50 Mbit/s × 40 ms, loss {100 * loss:g} %: goodput / (1 − p) of the capacity",
        (Case(f"bbr3 {loss:g}", (plain("bbr3", loss),), _SEEDS),),
        lambda runs: [run.goodput / ((1 - loss) * _CAPACITY) for run in runs[0]],
        comparison,
    )


def _room_for_cubic() -> Check:
    return Check(
        "bbr3/coexistence",
        "BBRv3: leaves room for CUBIC where v1 does not",
        _DRAFT,
        "against cubic, 100 Mbit/s × 40 ms, 1 BDP: points of share that v3 takes less than v1",
        (against_cubic("bbr", 1), against_cubic("bbr3", 1)),
        _less_than_version_1,
        Between(low=10, unit="points", digits=1),
    )


def _less_than_version_1(runs: Sequence[Sequence[Measurement]]) -> list[float]:
    version_1, version_3 = ([first_share(run) for run in case] for case in runs)
    return [float(np.mean(version_1)) - share for share in version_3]


def _bandwidth() -> Check:
    return Check(
        "bbr3/max-bw",
        "BBRv3: bandwidth estimate",
        _DRAFT,
        "bbr3, 50 Mbit/s × 40 ms: median pacing rate / 0.99, in CRUISE that is max_bw",
        (Case("bbr3 0", (plain("bbr3", 0),), _SEEDS),),
        lambda runs: [_median_pacing(run) / _PACING_MARGIN for run in runs[0]],
        MeanNear(_CAPACITY, 0.02, unit="Mbit/s"),
    )


def _median_pacing(run: Measurement) -> float:
    series = run.flows[0].series
    return float(np.median(series.pacing[series.time > 5]))
