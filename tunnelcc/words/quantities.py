# SPDX-License-Identifier: GPL-2.0-only
"""How quantities are written for people."""

from __future__ import annotations

from collections.abc import Callable, Collection

from tunnelcc.analysis.values import Quantity
from tunnelcc.schema.units import format_rate, format_size

_WRITTEN: dict[str, Callable[[float], str]] = {
    "bit/s": format_rate,
    "byte": lambda amount: format_size(round(amount)),
    "packet": lambda amount: f"{amount} packets",
    "segment": lambda amount: f"{amount} segments",
    "speed": lambda amount: f"speed {amount:g}",
}


def as_given(value: Quantity | str | None) -> str:
    """Return a value as a scenario writes it; of one that changes, both ends. "": none."""
    if value is None or isinstance(value, str):
        return value or ""
    write = _WRITTEN[value.unit]
    if value.most is None:
        return write(value.amount)
    least, most = (write(float(f"{it:.3g}")) for it in (value.amount, value.most))
    return f"{least} to {most}"


def percent(part: float | None) -> str:
    """Return a share in percent, with three digits; –: there is none."""
    return "–" if part is None else f"{part * 100:.3g} %"


def percents(parts: Collection[float]) -> str:
    """Return the least and the largest of some shares, if they differ."""
    ends = list(dict.fromkeys(percent(it) for it in (min(parts), max(parts))))
    return " to ".join([*(it.removesuffix(" %") for it in ends[:-1]), ends[-1]])
