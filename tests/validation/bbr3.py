# SPDX-License-Identifier: GPL-2.0-only
"""Checks of BBRv3 against its draft and Google's code."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from tunnelcc.scenario import Experiment
from validation import causes
from validation.bbr import against_cubic, first_share, plain
from validation.check import Case, Check, Group, Kind
from validation.compare import Between, MeanNear
from validation.measure import Measurement
from validation.reference import RandomLoss, bbr3_random_loss

_DRAFT = "draft-ietf-ccwg-bbr"
_CAPACITY = 50 * 1448 / 1500  # Mbit/s
_SEEDS = 32  # at 1 % loss one run in ten or so keeps 0.6, the others 0.8
# The draft's BBRPacingMarginPercent: pacing is 1 % below the bandwidth.
_PACING_MARGIN = 0.99
# The draft's T_reno_bound and the mean of T_bbr: the longest time between probes.
_PROBE_ROUNDS, _PROBE_WAIT = 63, 2.5
# What the reference of random loss leaves out of its runs, and how long they are, s.
_SETTLED, _DURATION = 10, 70


def group() -> Group:
    """Return the checks against BBRv3's draft and Google's code."""
    checks = causes.read("bbr3").attach(_checks())
    return Group("bbr3", "BBRv3's draft and Google's code", checks)


def _checks() -> Iterator[Check]:
    yield _goodput(0, "near the full rate without loss", Between(low=0.9))
    # Google's code does not keep that either (data/README.md); it is what decides, below.
    for loss in (0.005, 0.01):
        yield _goodput(loss, "near the full rate up to 1 % loss", Between(low=0.9), Kind.TOLD)
    for loss in (0.02, 0.03, 0.05, 0.1):
        yield _goodput(loss, "falls from 2 % loss on", Between(high=0.75))
    yield from _random_loss()
    yield _room_for_cubic()
    yield _bandwidth()


def _goodput(loss: float, what: str, comparison: Between, kind: Kind = Kind.MUST) -> Check:
    return Check(
        f"bbr3/loss/{100 * loss:g}%",
        f"BBRv3: {what}",
        _DRAFT,
        f"bbr3, 50 Mbit/s × 40 ms, loss {100 * loss:g} %: goodput / (1 − p) of the capacity",
        (Case(f"bbr3 {loss:g}", (plain("bbr3", loss),), _SEEDS),),
        lambda runs: [run.goodput / ((1 - loss) * _CAPACITY) for run in runs[0]],
        comparison,
        kind,
    )


def _random_loss() -> Iterator[Check]:
    for reference in bbr3_random_loss():
        # Above 1 % the draft promises nothing.
        is_promised = reference.loss <= 0.01
        if is_promised and reference.loss:
            yield _settled(
                "draft-model",
                "BBRv3: rate that the draft's model of random loss leaves",
                f"{_DRAFT}, 5.3.3.8.3",
                reference,
                MeanNear(_model_share(reference), 0.1),
            )
        yield _settled(
            "google",
            "BBRv3: random loss, as Google's code",
            "Google's v3 branch, losses judged as in the draft",
            reference,
            # Three standard errors of a difference, ours being as large.
            MeanNear(reference.share, 0.03, round(3 * math.sqrt(2) * reference.error, 3)),
            Kind.MUST if is_promised else Kind.TOLD,
        )


def _settled(
    name: str,
    metric: str,
    source: str,
    reference: RandomLoss,
    comparison: MeanNear,
    kind: Kind = Kind.MUST,
) -> Check:
    rate, rtt, loss = reference.rate, reference.rtt, reference.loss
    capacity = (1 - loss) * rate * 1448 / 1500
    condition = f"{rate:g} Mbit/s × {1e3 * rtt:g} ms, loss {100 * loss:g} %"
    experiment = Experiment.parse(
        {
            "path": {
                "rate": f"{rate:g}Mbps",
                "rtt": f"{1e3 * rtt:g}ms",
                "loss": f"{100 * loss:g}%",
            },
            "flows": {"cc": "bbr3"},
            "hosts": {"tcp_rmem": "256MiB", "tcp_wmem": "256MiB"},
            "duration": f"{_DURATION}s",
            "warmup": f"{_SETTLED}s",
        }
    )
    return Check(
        f"bbr3/{name}/{1e3 * rtt:g}ms/{100 * loss:g}%",
        metric,
        source,
        f"bbr3, {condition}: goodput / (1 − p) of the capacity, after {_SETTLED} s",
        (Case(f"bbr3 settled {condition}", (experiment,), _SEEDS),),
        lambda runs: [_settled_goodput(run) / capacity for run in runs[0]],
        comparison,
        kind,
        slow=True,
    )


def _model_share(reference: RandomLoss) -> float:
    """Return the remaining rate, as the mean of the rounds between two probes.

    This is the draft's simplified model: a round with loss p takes p of the rate, and probing
    restores it. It leaves out the pacing margin, DOWN and PROBE_RTT.
    """
    rounds = min(_PROBE_ROUNDS, round(_PROBE_WAIT / reference.rtt))
    return float(np.mean((1 - reference.loss) ** np.arange(rounds)))


def _settled_goodput(run: Measurement) -> float:
    series = run.flows[0].series
    return float(np.mean(series.goodput[series.time > _SETTLED]))


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
