# SPDX-License-Identifier: GPL-2.0-only
"""What cells of tables show: a mean with its interval, a value of an axis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tunnelcc.sweeps.table import text

if TYPE_CHECKING:
    import xarray


# A part of the mean: a smaller spread is that of sums of numbers, not of runs.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Cell:
    """A mean over seeds and half the width of its 95 % interval; NaN: unknown."""

    mean: float
    half: float

    @property
    def parts(self) -> tuple[str, str]:
        """Both as texts. The interval has two digits, and the mean ends where it does."""
        if not math.isfinite(self.mean):
            return "", ""
        if not self.half > _ROUNDING * abs(self.mean):
            return f"{self.mean:.4g}", ""
        decimals = max(1 - math.floor(math.log10(float(f"{self.half:.1e}"))), 0)
        return f"{self.mean:.{decimals}f}", f"{self.half:.{decimals}f}"

    def __str__(self) -> str:
        mean, half = self.parts
        return f"{mean} ± {half}" if half else mean or "–"


def label(results: xarray.Dataset, key: str, at: Mapping[str, int]) -> str:
    """Return the value of an axis at a place along each dimension."""
    it = results.coords[key]
    value = it.isel({dim: at[str(dim)] for dim in it.dims}).item()
    return text(key, value, it.attrs.get("units", ""))
