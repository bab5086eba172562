# SPDX-License-Identifier: GPL-2.0-only
"""Confidence intervals of means over seeds."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import xarray


def confidence_interval(
    data: xarray.DataArray, dim: str = "seed", level: float = 0.95
) -> xarray.Dataset:
    """Return ``mean``, ``low`` and ``high``: the mean over ``dim`` and its confidence interval.

    See mean_and_half_width(). Where no run has a value below 0, ``low`` is not below 0. The
    shape is that of ``data`` without ``dim``; the unit is the same.
    """
    import xarray

    means = data.mean(dim)
    mean, half = mean_and_half_width(data.transpose(*means.dims, dim), level)
    least = np.where((data < 0).any(dim), -np.inf, 0.0)
    ends = {"mean": mean, "low": np.maximum(mean - half, least), "high": mean + half}
    return xarray.Dataset(
        {name: means.copy(data=values).assign_attrs(data.attrs) for name, values in ends.items()}
    )


def fewest_and_most(values: NDArray[np.float64]) -> tuple[int, int]:
    """Return how many runs the conditions have that have any; shape (…, seed). NaN: no run."""
    counts = np.isfinite(values).sum(axis=-1)
    known = counts[counts > 0]
    return (int(known.min()), int(known.max())) if known.size else (values.shape[-1],) * 2


def from_to(fewest: int, most: int) -> str:
    """Return both numbers as text, as ``3 to 5``, or the one number if they are equal."""
    return str(most) if fewest == most else f"{fewest} to {most}"


def mean_and_half_width(
    values: ArrayLike, level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean over the last dimension, and half the width of its confidence interval.

    Student's t: mean ± t·s/√n with n − 1 degrees of freedom (Student, The Probable Error of a Mean,
    1908). This assumes independent runs with about a normal distribution. NaN runs do not count.
    The width is NaN if fewer than two runs remain. Units of ``values``.
    """
    samples = np.asarray(values, dtype=float)
    count = np.sum(~np.isnan(samples), axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):  # where too few remain
        mean = np.nansum(samples, axis=-1) / count
        squares = np.nansum((samples - mean[..., np.newaxis]) ** 2, axis=-1)
        freedom = np.where(count > 1, count - 1, np.nan)
        half = student(freedom, level) * np.sqrt(squares / freedom / count)
    return mean, half


def student(freedom: ArrayLike, level: float) -> NDArray[np.float64]:
    """Return Student's t of an interval with two sides; ``freedom``: degrees of freedom.

    Computed here, because the import of scipy.special takes as long as a simulation.
    """
    found = [_student(float(it), float(level)) for it in np.ravel(freedom)]
    return np.array(found).reshape(np.shape(freedom))


@cache
def _student(freedom: float, level: float) -> float:
    """Solve P(|T| > t) = 1 − level with Newton's method.

    P is convex for t > 0, so that the steps from 0 never pass the solution.
    """
    if math.isnan(freedom):
        return math.nan
    outside = 1 - level
    if outside <= 0:
        return math.inf
    # Of the density, 2 Γ((ν + 1)/2) / (√(νπ) Γ(ν/2)).
    scale = 2 * math.exp(_gamma_ratio(freedom)) / math.sqrt(freedom * math.pi)
    t, step = 0.0, math.inf
    while abs(step) > 1e-14 * t:
        density = scale * math.exp(-(freedom + 1) / 2 * math.log1p(t * t / freedom))
        step = (_outside(t, freedom) - outside) / density
        t += step
        if step <= 0:  # as near as rounding lets it come
            break
    return t


def _outside(t: float, freedom: float) -> float:
    """Return P(|T| > t) = I_x(ν/2, 1/2), x = ν/(ν + t²) (NIST, Digital Library, 8.17)."""
    square = t * t
    x, y = freedom / (freedom + square), square / (freedom + square)
    if not square:
        return 1.0
    a, b = freedom / 2, 0.5
    log_x = -math.log1p(square / freedom)
    # B(a, 1/2) = √π Γ(a)/Γ(a + 1/2).
    front = math.exp(a * log_x + b * math.log(y) + _gamma_ratio(freedom)) / math.sqrt(math.pi)
    if x < (a + 1) / (a + b + 2):
        return front / a * _continued_fraction(x, a, b)
    return 1 - front / b * _continued_fraction(y, b, a)


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of I_x(a, b), 8.17.22 there, from its front (Lentz)."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value, factor, m = d, 0.0, 0
    while abs(factor - 1) > 1e-15:
        m += 1
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            c, d = 1 + term / c, 1 / (1 + term * d)
            factor = c * d
            value *= factor
    return value


def _gamma_ratio(freedom: float) -> float:
    """Return ln(Γ((ν + 1)/2) / Γ(ν/2)), without subtracting large terms that are alike."""
    a = freedom / 2
    if a < 100:
        return math.lgamma(a + 0.5) - math.lgamma(a)
    # The asymptotic series: Γ(a + 1/2)/Γ(a) = √a exp(−1/(8a) + 1/(192a³) − 1/(640a⁵) …).
    return math.log(a) / 2 - 1 / (8 * a) + 1 / (192 * a**3) - 1 / (640 * a**5)
