# SPDX-License-Identifier: GPL-2.0-only
"""What a run is worth to its flows: the number that a limit keeps down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tunnelcc import metrics
from tunnelcc.analysis.values import Worth
from tunnelcc.results.parts import Parts

# Below this loss of datagrams, their delay is what counts.
_LOSSY = 0.01
# What is added to a share of lost datagrams: less is as good as none.
_LOSS_FLOOR = 0.005
# A sample of what a flow of 0 bytes is worth, so that gains stay numbers.
_LEAST = 1e-9


def of_entries(run: Parts, like: Sequence[Worth] = ()) -> list[Worth]:
    """Return what the run is worth for each entry of ``flows``, in their order.

    ``like``: of another run, whose metrics count.
    """
    placed = run.network.flows
    members: list[list[int]] = [[] for _ in run.experiment.flows]
    for number, flow in enumerate(placed):
        members[flow.group].append(number)
    return [
        _of(run, numbers, like[entry].metric if like else "")
        for entry, numbers in enumerate(members)
    ]


def _of(run: Parts, numbers: Sequence[int], metric: str) -> Worth:
    first = run.network.flows[numbers[0]]
    if first.flow.transport == "udp":
        return _of_datagrams(run, numbers, metric)
    if first.bytes is not None:
        return _of_ending(run, numbers)
    rate = 8 * sum(run.flows[it].delivered_bytes or 0 for it in numbers) / run.measured_time
    return Worth("goodput", max(rate, _LEAST), rate, _resent(run, numbers))


def _resent(run: Parts, numbers: Sequence[int]) -> float:
    """Return the share of packets that the flows' connections across the path sent again."""
    legs = {id(leg): leg for it in numbers if run.legs[it] for leg in [run.path_leg(it)]}
    sent = sum(leg.segments or 0 for leg in legs.values())
    return sum(leg.retransmits or 0 for leg in legs.values()) / sent if sent else 0.0


def _of_ending(run: Parts, numbers: Sequence[int]) -> Worth:
    """Of flows that end. One that does not takes as long as what is left takes at its pace."""
    times, end = [], run.duration
    warmup = run.experiment.warmup
    counted = [it for it in numbers if run.network.flows[it].start >= warmup] or list(numbers)
    for number in counted:
        placed, done = run.network.flows[number], run["flow_completed_at"][number]
        start = placed.start
        if np.isfinite(done):
            times.append(float(done) - start)
        elif start < end:
            share = (run.flows[number].total_bytes or 0) / (placed.bytes or 1)
            times.append((end - start) / min(max(share, 1e-3), 1.0))
    mean = float(np.mean(times)) if times else 1 / _LEAST
    return Worth("completion", 1 / mean, mean, _resent(run, numbers))


def _of_datagrams(run: Parts, numbers: Sequence[int], metric: str) -> Worth:
    if metric in ("", "mos"):
        found = np.asarray(metrics.METRICS["flow_mos"](run))[list(numbers)]
        is_known = bool(np.isfinite(found).all())
        if is_known or metric:
            mos = float(found.mean()) if is_known else 1.0
            return Worth("mos", mos, mos)
    counts: Any = [(run.flows[it].expected or 0, run.flows[it].received or 0) for it in numbers]
    expected, received = (sum(it) for it in zip(*counts, strict=True))
    loss = 1 - received / expected if expected else 1.0
    if metric == "loss" or (not metric and loss > _LOSSY):
        return Worth("loss", 1 / (loss + _LOSS_FLOOR), loss)
    delays = [it for number in numbers if (it := run.flows[number].delay_p95) is not None]
    delay = max(delays, default=1 / _LEAST)
    return Worth("delay", 1 / delay, delay)
