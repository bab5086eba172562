# SPDX-License-Identifier: GPL-2.0-only
"""The range of a metric over seeds, which bands and whiskers show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tunnelcc.metrics.confidence import fewest_and_most, from_to

if TYPE_CHECKING:
    import xarray


def spread(values: xarray.DataArray) -> xarray.Dataset:
    """Return ``mean``, and ``low`` and ``high``, the least and the most, over seeds.

    Few seeds allow no more: a confidence interval of two or three runs tells about their number and
    not about the runs. Of one seed, ``low`` and ``high`` are NaN.
    """
    import xarray

    several = values.notnull().sum("seed") > 1
    found = {"mean": values.mean("seed"), "low": values.min("seed"), "high": values.max("seed")}
    found |= {name: found[name].where(several) for name in ("low", "high")}
    return xarray.Dataset(found)


def explained(values: xarray.DataArray, what: str) -> str:
    """Return what bands or whiskers (``what``; "": none) are, for a figure's title.

    ``values``: goodputs of runs.
    """
    fewest, most = fewest_and_most(values.transpose(..., "seed").values)
    if most < 2:
        return ""
    return f"means of {from_to(fewest, most)} runs" + (f", {what}: least to most" if what else "")
