# SPDX-License-Identifier: GPL-2.0-only
"""Search for the paths whose simulations look like a measurement.

Paths are simulated, each with its own seed, and an emulator learns from the runs how features of
flows follow from the values of a path: thin-plate splines that smooth, whose strengths and errors
cross-validation tells. A path is as likely as the distribution of these errors says (a
synthetic likelihood: Wood, Statistical inference for noisy nonlinear ecological dynamic systems,
2010), noise of the runs included. Each round simulates paths that are likely after the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Confidence of the intervals.
CONFIDENCE = 0.95
# Strengths of smoothing that are tried, in features of unit variance.
_SMOOTHINGS = (1e-3, 1e-2, 0.1, 1.0, 10.0)
_FOLDS = 6
# Walkers of the sampler, its stages as powers of the likelihood, and the steps of each.
_WALKERS, _STAGES, _STEPS = 200, (0.003, 0.01, 0.03, 0.1, 0.3, 1.0), 25
# A round draws from the likelihood to this power, so that it looks around.
_TEMPERED = 0.25
# This part of the runs, those most like the measurement, tells how large the errors are there.
_NEAREST = 1 / 3
# What the covariance of errors takes from its diagonal alone (shrinkage).
_SHRUNK = 0.3
# Errors are larger where the emulator has not looked, and some are far out: their variance is taken
# as larger, and their distribution as Student's with so many degrees of freedom. Few runs tell it.
_INFLATED, _FREEDOM = 4.0, 5.0
# An emulator of few runs is no better than this part of a feature's spread.
_LEAST_ERROR = 0.01


def search(
    simulate: Callable[[Floats, int], Sequence[Floats | None]],
    measured: Floats,
    draw: Callable[[Floats], Floats],
    bounds: Floats,
    runs: int,
    rounds: int,
    seed: int = 1,
) -> Floats:
    """Return values that fit ``measured``, the features: shape (point, value), in log units.

    ``simulate``: values (log units), shape (run, value), and the number of the first run → features
    of each, None for a run that failed. ``draw``: uniform numbers of the first round → values.
    ``bounds``: the widest intervals, shape (value, 2). Raises ValueError if nearly all runs fail.
    """
    generator = np.random.default_rng(seed)
    values, results = np.empty((0, len(bounds))), list[Floats | None]()
    first = max(runs // 3, 8)
    counts = [first, *np.diff(np.linspace(first, runs, rounds).round().astype(int))]
    drawn = draw(_latin(generator, first, len(bounds)))
    for number, count in enumerate(counts):
        results += simulate(drawn[:count], len(values))
        values = np.vstack([values, drawn[:count]])
        likelihood = _likelihood(values, results, measured, bounds, generator)
        is_last = number == len(counts) - 1
        walkers = _sampled(likelihood, bounds, generator, 1.0 if is_last else _TEMPERED)
        drawn = generator.permutation(walkers)
    return walkers


def interval(points: Floats) -> Floats:
    """Return the low end, the median and the high end of each value. Shape (3, value)."""
    tail = (1 - CONFIDENCE) / 2
    ends: Floats = np.quantile(points, [tail, 0.5, 1 - tail], axis=0)
    return ends


def _latin(generator: np.random.Generator, count: int, size: int) -> Floats:
    """Return uniform numbers, one in each of ``count`` equal parts of each axis."""
    places = np.array([generator.permutation(count) for _ in range(size)]).T
    found: Floats = (places + generator.random((count, size))) / count
    return found


def _likelihood(
    values: Floats,
    results: Sequence[Floats | None],
    measured: Floats,
    bounds: Floats,
    generator: np.random.Generator,
) -> Callable[[Floats], Floats]:
    """Return a function: values, shape (point, value) → log of their likelihood."""
    has_run = np.array([it is not None for it in results])
    if has_run.sum() < 2 * len(bounds):
        raise ValueError("too few runs")
    runs = np.array([it for it in results if it is not None])
    usable = np.isfinite(measured) & np.isfinite(runs).all(axis=0) & (runs.std(axis=0) > 1e-9)
    runs, target = runs[:, usable], measured[usable]
    at = values[has_run]
    # Far runs say little of what is near the measurement: the nearest half of them learn.
    spread = runs.std(axis=0)
    distance = np.sqrt((((runs - target) / spread) ** 2).mean(axis=1))
    kept = np.argsort(distance)[: max(len(distance) * 2 // 3, min(30, len(distance)))]
    at, runs = at[kept], runs[kept]
    centre, spread = runs.mean(axis=0), runs.std(axis=0) + 1e-9
    scaled, goal = (runs - centre) / spread, (target - centre) / spread
    middle, width = at.mean(axis=0), at.std(axis=0) + 1e-6
    points = (at - middle) / width
    folds = generator.permutation(len(points)) % _FOLDS
    # Some features follow from the values nearly without noise, others hardly: each has the
    # strength that tells it best.
    size = len(goal)
    near = max(round(_NEAREST * len(points)), min(20, len(points)))
    least, smoothing = np.full(size, np.inf), np.zeros(size)
    errors = np.zeros((near, size))
    for strength in _SMOOTHINGS:
        found = np.empty_like(scaled)
        for fold in range(_FOLDS):
            own = folds == fold
            others = _splines(points[~own], scaled[~own], strength)
            found[own] = _terms(points[own], points[~own]) @ others
        error = np.mean(np.abs(found - scaled)[:near], axis=0)
        better = error < least
        least[better], smoothing[better] = error[better], strength
        errors[:, better] = (found - scaled)[:near, better]
    emulator = np.empty((len(points) + 1 + points.shape[1], size))
    for strength in np.unique(smoothing):
        columns = smoothing == strength
        emulator[:, columns] = _splines(points, scaled[:, columns], strength)
    covariance = errors.T @ errors / near
    diagonal = np.diag(np.diag(covariance) + _LEAST_ERROR**2)
    spread_of_errors = _INFLATED * ((1 - _SHRUNK) * covariance + _SHRUNK * diagonal)
    inverse = np.linalg.inv(spread_of_errors)

    def likelihood(there: Floats) -> Floats:
        away = _terms((there - middle) / width, points) @ emulator - goal
        squares = np.einsum("ij,jk,ik->i", away, inverse, away)
        found: Floats = -0.5 * (_FREEDOM + size) * np.log1p(squares / _FREEDOM)
        return found

    return likelihood


def _splines(points: Floats, values: Floats, smoothing: float) -> Floats:
    """Return the factors of thin-plate splines' terms, shape (term, feature).

    The splines of Duchon with a linear polynomial, which smooth as those of Wahba (Spline models
    for observational data, 1990, chapter 2) do.
    """
    size, terms = len(points), _terms(points, points)
    system = np.zeros((terms.shape[1], terms.shape[1]))
    system[:size] = terms
    system[size:, :size] = terms[:, size:].T
    system[range(size), range(size)] += smoothing
    right = np.zeros((len(system), values.shape[1]))
    right[:size] = values
    found: Floats = np.asarray(np.linalg.solve(system, right), dtype=np.float64)
    return found


def _terms(places: Floats, points: Floats) -> Floats:
    """Return r² log r of the distances to ``points``, 1, and the values; shape (place, term)."""
    away = places[:, None] - points
    squares = np.einsum("ijk,ijk->ij", away, away)
    curved = 0.5 * squares * np.log(np.maximum(squares, np.finfo(float).tiny))
    found: Floats = np.hstack([curved, np.ones((len(places), 1)), places])
    return found


def _sampled(
    likelihood: Callable[[Floats], Floats],
    bounds: Floats,
    generator: np.random.Generator,
    power: float,
) -> Floats:
    """Return points within ``bounds`` that are drawn from a likelihood to a power.

    The power grows in stages, so that all places that fit have their share (Del Moral et al.,
    Sequential Monte Carlo samplers, 2006). In each, walkers move by differences of others (ter
    Braak, A Markov Chain Monte Carlo version of the genetic algorithm Differential Evolution,
    2006).
    """
    low, high = bounds.T
    here = low + _latin(generator, _WALKERS, len(bounds)) * (high - low)
    now = likelihood(here)
    scale, before = 2.38 / np.sqrt(2 * len(bounds)), 0.0
    for stage in power * np.array(_STAGES):
        weights = np.exp((stage - before) * (now - now.max()))
        kept = generator.choice(_WALKERS, _WALKERS, p=weights / weights.sum())
        here, now, before = here[kept], now[kept], stage
        for step in range(_STEPS):
            one, other = generator.permutation(_WALKERS), generator.permutation(_WALKERS)
            jump = (1.0 if step % 10 == 9 else scale) * (here[one] - here[other])
            there = here + jump + 1e-4 * generator.normal(size=here.shape)
            is_inside = ((there >= low) & (there <= high)).all(axis=1)
            then = np.full(_WALKERS, -np.inf)
            if is_inside.any():
                then[is_inside] = likelihood(there[is_inside])
            moves = np.log(generator.random(_WALKERS)) < stage * (then - now)
            here, now = np.where(moves[:, None], there, here), np.where(moves, then, now)
    found: Floats = here
    return found
