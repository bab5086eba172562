# SPDX-License-Identifier: GPL-2.0-only
"""What an experiment's seed draws: when its flows start, and how many bytes they send."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from tunnelcc.config.flow import Flow
from tunnelcc.config.keys import ExperimentKeys


class SingleFlow(NamedTuple):
    """One of the ``count`` flows of an entry of ``flows``.

    ``group``: number of the entry; ``start``: s, jitter included; ``bytes``: what it sends, None:
    until the end.
    """

    group: int
    flow: Flow
    start: float
    bytes: int | None


def single_flows(experiment: ExperimentKeys) -> Iterator[SingleFlow]:
    """Yield each single flow, in the order of ``flows``."""
    seed = experiment.seed
    for group, flow in enumerate(experiment.flows):
        arrival = flow.start
        for member in range(flow.count):
            if flow.interarrival is not None and member > 0:
                arrival -= flow.interarrival * math.log1p(-uniform(seed, "arrival", group, member))
            jitter = experiment.start_jitter * uniform(seed, "start", group, member)
            size = flow.bytes
            if size is not None and flow.bytes_shape is not None:
                drawn = uniform(seed, "bytes", group, member)
                # Without a byte, a flow would have no end.
                size = max(1, round(pareto(drawn, size, flow.bytes_shape, flow.largest)))
            yield SingleFlow(group, flow, arrival + jitter, size)


def pareto(drawn: float, mean: float, shape: float, most: float) -> float:
    """Return the value of a bounded Pareto distribution of which the part ``drawn`` is smaller.

    The distribution has this ``mean`` and the bound ``most`` > ``mean``. Below the bound, the part
    of values that exceed x falls as x^-``shape``, ``shape`` > 1.
    """
    least = _least(mean, shape, most)
    value: float = least * (1 - drawn + drawn * (least / most) ** shape) ** (-1 / shape)
    return value


@lru_cache(maxsize=64)
def _least(mean: float, shape: float, most: float) -> float:
    """Return the least value of pareto(). Without a bound it would be ``low``."""
    low, high = mean * (shape - 1) / shape, mean
    for _ in range(60):  # halves the interval each time
        least = (low + high) / 2
        # 1 - (least / most)^n is exact for small n, too.
        of_one, of_shape = (-math.expm1(n * math.log(least / most)) / n for n in (shape - 1, shape))
        low, high = (least, high) if least * of_one / of_shape < mean else (low, least)
    return low


def uniform(seed: int, component: str, *index: int) -> float:
    """Return a number in [0, 1) that depends on its arguments alone.

    It is counter-based: one more flow or component does not change the draws of the others.
    """
    text = "/".join(map(str, (seed, component, *index)))
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / 2**53
