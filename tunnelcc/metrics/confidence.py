# SPDX-License-Identifier: GPL-2.0-only
"""Confidence intervals of means over seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import xarray


def confidence_interval(
    data: xarray.DataArray, dim: str = "seed", level: float = 0.95
) -> xarray.Dataset:
    """Return ``mean``, ``low`` and ``high``: the mean over ``dim`` and its confidence interval.

    See mean_and_half_width(). The shape is that of ``data`` without ``dim``; the unit is the same.
    """
    import xarray

    means = data.mean(dim)
    mean, half = mean_and_half_width(data.transpose(*means.dims, dim), level)
    ends = {"mean": mean, "low": mean - half, "high": mean + half}
    return xarray.Dataset(
        {name: means.copy(data=values).assign_attrs(data.attrs) for name, values in ends.items()}
    )


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
    """Return Student's t of an interval with two sides; ``freedom``: degrees of freedom."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(freedom, 0.5 + level / 2))
