# SPDX-License-Identifier: GPL-2.0-only
"""Run more seeds until the differences between conditions are known well enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tunnelcc.metrics import paired
from tunnelcc.metrics.paired import Difference

#: A condition: its place along each dimension but the seeds.
Point = tuple[int, ...]

#: Returns one value per condition and run, shape (…, seed), after conditions have so many seeds.
#: NaN: no such run.
Source = Callable[[Mapping[Point, int]], NDArray[np.float64]]


@dataclass(frozen=True)
class Known:
    """What looking found. ``seeds``: condition → its runs. ``open``: not known well enough."""

    found: dict[Point, Difference]
    seeds: dict[Point, int]
    open: frozenset[Point]
    looks: int


def look_until_known(
    source: Source,
    pairs: Mapping[Point, Point],
    precision: float,
    first: int,
    most: int,
    points: Sequence[Point] = (),
) -> Known:
    """Ask ``source`` for more runs until each difference is known to ± ``precision``.

    ``pairs``: condition → reference. ``precision``: half the width of an interval, as a part of the
    reference's mean. ``first``: seeds before the first look. ``most``: seeds that no condition
    passes. ``points``: conditions that also have the first seeds.

    All intervals together hold with paired.CONFIDENCE, at whatever look each of them ended: see
    each_of() and at_look().
    """
    seeds = dict.fromkeys([*points, *pairs, *pairs.values()], first)
    found: dict[Point, Difference] = {}
    open_ = set(pairs)
    look = 0
    while True:
        look += 1
        values = source(seeds)
        confidence, following = (
            paired.each_of(len(pairs), paired.at_look(number)) for number in (look, look + 1)
        )
        planned: dict[Point, int] = {}
        for point in sorted(open_):
            found[point] = it = paired.difference(values[point], values[pairs[point]], confidence)
            if it.pairs < 2 or (it.is_ratio and it.half_width <= precision):
                open_.remove(point)
                continue
            planned[point] = paired.next_pairs(it, precision, confidence, following)
        if all(seeds[point] >= most for point in open_):
            return Known(found, seeds, frozenset(open_), look)
        for point, count in planned.items():
            for condition in (point, pairs[point]):
                seeds[condition] = max(seeds[condition], min(count, most))


def wanted_runs(seeds: Mapping[Point, int], shape: Sequence[int]) -> Callable[[int], bool]:
    """Return which positions of a sweep of this shape, seeds last, are runs of these numbers."""

    def wanted(position: int) -> bool:
        point, seed = divmod(position, shape[-1])
        place = tuple(int(at) for at in np.unravel_index(point, shape[:-1])) if shape[:-1] else ()
        return seed < seeds.get(place, 0)

    return wanted
