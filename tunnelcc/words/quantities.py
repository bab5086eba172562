# SPDX-License-Identifier: GPL-2.0-only
"""How quantities are written for people: in tables, sentences and figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite

from tunnelcc.analysis.values import Quantity
from tunnelcc.schema.units import format_rate, format_size

#: There is no value.
NONE = "–"


@dataclass(frozen=True)
class Scale:
    """``factor``: from SI to the shown unit. ``unit``: its name."""

    factor: float
    unit: str

    def text(self, value: float, most: float | None = None) -> str:
        """Write a value (SI) with its unit, or the ends of an interval."""
        ends = [short(self.factor * it) for it in (value, most) if it is not None]
        return self.heading(" to ".join(ends))

    def label(self, name: str) -> str:
        """Return the label of an axis."""
        return f"{name} ({self.unit})" if self.unit else name

    def heading(self, name: str) -> str:
        """Return the heading of a column; also a number with its unit."""
        return f"{name} {self.unit}" if self.unit else name


RATE, LARGE_RATE = Scale(1e-6, "Mbit/s"), Scale(1e-9, "Gbit/s")
TIME, LONG_TIME = Scale(1e3, "ms"), Scale(1, "s")
PERCENT, PLAIN, KIBIBYTES = Scale(100, "%"), Scale(1, ""), Scale(1 / 1024, "KiB")
_SHOWN = {"s": TIME, "bit/s": RATE, "1": PLAIN}


def shown(unit: str) -> Scale:
    """Return the scale in which tables show values in a unit of SI."""
    return _SHOWN.get(unit) or Scale(1, unit)


def short(number: float) -> str:
    """Write a number with three digits, or all digits of a large one."""
    return f"{number:.3g}" if abs(number) < 1000 else f"{number:.0f}"


def number(value: float | None, digits: int) -> str:
    """Write a number with so many decimals; –: there is none."""
    return NONE if value is None or not isfinite(value) else f"{value:.{digits}f}"


def ms(seconds: float | None) -> str:
    """Write a time (s) in ms with one decimal."""
    return number(None if seconds is None else TIME.factor * seconds, 1)


def mbit(rate: float | None) -> str:
    """Write a rate (bit/s) in Mbit/s with two decimals, or more if three digits need them."""
    if rate is None or not isfinite(rate):
        return NONE
    return f"{rate / 1e6:.{mbit_decimals(rate)}f}"


def mbit_decimals(rate: float) -> int:
    """Return the number of decimals of ``mbit(rate)``; at most 6, which is 1 bit/s."""
    place = Decimal(rate).adjusted() - 6 if rate else 0
    return min(max(2, 2 - place), 6)


def rate(value: float | None) -> str:
    """Write a rate (bit/s) as ``mbit()``, with the unit."""
    return RATE.heading(mbit(value))


def percent(part: float | None) -> str:
    """Return a share in percent, with three digits; –: there is none."""
    return NONE if part is None else PERCENT.heading(f"{part * 100:.3g}")


def percents(parts: Collection[float]) -> str:
    """Return the least and the largest of some shares, if they differ."""
    ends = dict.fromkeys(f"{it * 100:.3g}" for it in (min(parts), max(parts)))
    return PERCENT.heading(" to ".join(ends))


_WRITERS: dict[str, Callable[[float], str]] = {
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
    write = _WRITERS[value.unit]
    if value.most is None:
        return write(value.amount)
    least, most = (write(float(f"{it:.3g}")) for it in (value.amount, value.most))
    return f"{least} to {most}"


#: How scenarios write units → how figures do, a space behind the number.
_SPOKEN = {
    "kbps": "kbit/s", "Mbps": "Mbit/s", "Gbps": "Gbit/s", "bps": "bit/s", "bdp": "BDP",
    "p": "packets", "us": "µs",
    **{unit: unit for unit in ("ns", "ms", "s", "%", "B", "kB", "MB", "GB", "KiB", "MiB", "GiB")},
}  # fmt: skip
_WRITTEN = re.compile(rf"(?<![\w.:/-])(\d+(?:\.\d+)?)({'|'.join(_SPOKEN)})(?![\w/])")


def spaced(text: str) -> str:
    """Write the quantities in ``text`` as figures do: ``20 Mbit/s`` of ``20Mbps``.

    >>> spaced("2 × bbr, 20Mbps × 40ms, buffer 1bdp")
    '2 × bbr, 20 Mbit/s × 40 ms, buffer 1 BDP'
    """
    return _WRITTEN.sub(lambda found: f"{found[1]} {_SPOKEN[found[2]]}", text)
