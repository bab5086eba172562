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
    """A mean over seeds and half the width of its 95 % interval; NaN: unknown.

    ``is_signed``: values may be below 0, else the text of an interval that goes there begins at 0.
    """

    mean: float
    half: float
    is_signed: bool = False

    @property
    def parts(self) -> tuple[str, str]:
        """Both as texts. The interval has two digits, and the mean ends where it does."""
        if not math.isfinite(self.mean):
            return "", ""
        if not self.half > _ROUNDING * abs(self.mean):
            return f"{self.mean:.4g}", ""
        return f"{self.mean:.{self._decimals}f}", f"{self.half:.{self._decimals}f}"

    @property
    def _decimals(self) -> int:
        return max(1 - math.floor(math.log10(float(f"{self.half:.1e}"))), 0)

    def __str__(self) -> str:
        mean, half = self.parts
        if half and not self.is_signed and self.half > self.mean:
            return f"{mean} [0, {self.mean + self.half:.{self._decimals}f}]"
        return f"{mean} ± {half}" if half else mean or "–"


def label(results: xarray.Dataset, key: str, at: Mapping[str, int]) -> str:
    """Return the value of an axis at a place along each dimension."""
    it = results.coords[key]
    value = it.isel({dim: at[str(dim)] for dim in it.dims}).item()
    return text(key, value, it.attrs.get("units", ""))
