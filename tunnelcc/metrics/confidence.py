# SPDX-License-Identifier: GPL-2.0-only
"""Confidence intervals of means over seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray


def confidence_interval(
    data: xarray.DataArray, dim: str = "seed", level: float = 0.95
) -> xarray.Dataset:
    """Return ``mean``, ``low`` and ``high``: the mean over ``dim`` and its confidence interval.

    Student's t: mean ± t·s/√n with n − 1 degrees of freedom (Student, The Probable Error of a Mean,
    1908), as for independent, about normally distributed runs. Runs that are NaN do not count; low
    and high are NaN where fewer than two remain. Shape: that of ``data`` without ``dim``; its unit.
    """
    import xarray
    from scipy.special import stdtrit

    count = data.notnull().sum(dim)
    several = count > 1
    freedom = (count - 1).where(several)
    mean = data.mean(dim)
    error = data.std(dim, ddof=1).where(several) / count**0.5
    half = xarray.apply_ufunc(stdtrit, freedom, 0.5 + level / 2) * error
    interval = xarray.Dataset({"mean": mean, "low": mean - half, "high": mean + half})
    for variable in interval.values():
        variable.attrs.update(data.attrs)
    return interval
