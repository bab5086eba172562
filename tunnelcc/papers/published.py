# SPDX-License-Identifier: GPL-2.0-only
"""``published.csv``: the numbers that a paper prints, one per line, with their place in it.

The columns are ``metric``, ``value``, ``unit`` and any others. They say what was measured
(``tunnel``, ``cc``, ``streams``, …) and where it is printed (``figure``, ``section``). A value is
written as the paper prints it: ``900``, ``~100``, ``>900``, ``<1`` or ``0.95-0.99``.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tunnelcc.errors import MISSING, ConfigError, Problem, unknown_name

#: Units of published values → factor to SI.
UNITS = {
    "bit/s": 1.0,
    "kbit/s": 1e3,
    "Mbit/s": 1e6,
    "Gbit/s": 1e9,
    "s": 1.0,
    "ms": 1e-3,
    "byte": 1.0,
    "KB": 1e3,
    "MB": 1e6,
    "segments": 1.0,
    "packets": 1.0,
    "1": 1.0,
    "%": 1e-2,
}
#: Units of published values → the SI unit.
SI = {
    **{unit: unit for unit in UNITS},
    **dict.fromkeys(("kbit/s", "Mbit/s", "Gbit/s"), "bit/s"),
    **dict.fromkeys(("KB", "MB"), "byte"),
    "ms": "s",
    "%": "1",
}
_COLUMNS = ("metric", "value", "unit")
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?"
_VALUE = re.compile(rf"([<>~]?)({_NUMBER})|({_NUMBER})-({_NUMBER})")


def written(value: float, unit: str = "1") -> str:
    """Write a value (SI) in a unit, with four significant digits; one that there is not as ``–``.

    Large values have no power of ten: readers compare counts of packets with published ones.
    """
    if math.isnan(value):
        return "–"
    text = f"{value / UNITS[unit]:.4g}"
    return f"{float(text):.0f}" if "e+" in text else text


@dataclass(frozen=True)
class Range:
    """A published value: one number (``low`` = ``high``), a bound, or a range. SI units."""

    text: str  # as printed
    low: float
    high: float

    @property
    def is_number(self) -> bool:
        """Whether it is one number, which is compared with a tolerance."""
        return self.low == self.high

    @property
    def middle(self) -> float:
        """The number, the bound, or the middle of the range."""
        if math.isinf(self.high):
            return self.low
        return self.high if self.text.startswith("<") else (self.low + self.high) / 2

    def distance(self, value: float) -> float:
        """Return the distance of ``value`` from it; 0 inside."""
        return max(self.low - value, value - self.high, 0.0)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Row:
    """One published number."""

    line: int
    columns: Mapping[str, str]  # all but metric, value and unit
    metric: str
    published: Range  # SI
    unit: str  # as published

    @property
    def value(self) -> float:
        """The number, the bound, or the middle of the range; SI."""
        return self.published.middle

    def matches(self, where: Mapping[str, str]) -> bool:
        """Whether the row has all values of ``where``. An empty cell matches any value."""
        return all(self.columns.get(column, "") in ("", value) for column, value in where.items())


def parse_range(text: str, scale: float = 1.0) -> Range:
    """Return a value in the notation of papers. Raises ValueError."""
    match = _VALUE.fullmatch(text.strip())
    if match is None:
        raise ValueError(text)
    sign, single, *bounds = match.groups()
    if single is None:
        low, high = (float(bound) * scale for bound in bounds)
    else:
        low = high = float(single) * scale
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(text)
    if sign == ">":
        high = math.inf
    if sign == "<":
        low = 0.0
    return Range(text.strip(), low, high)


def read(file: Path) -> tuple[Row, ...]:
    """Return the rows of a CSV file. Raises ConfigError with file and line."""
    try:
        text = file.read_bytes().decode()
    except OSError as error:
        reason = error.strerror or ""
        raise ConfigError(Problem("file", str(file), "a readable CSV file", reason)) from None
    except UnicodeDecodeError:
        raise ConfigError(Problem("file", str(file), "a CSV file", "it is not UTF-8")) from None
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        columns = list(reader.fieldnames or ())
        for name in _COLUMNS:
            if name not in columns:
                expected = f"a first line with the column {name}"
                raise ConfigError(Problem(f"{file}: line 1", ",".join(columns), expected))
        rows = tuple(_row(file, reader.line_num, line) for line in reader)
    except csv.Error as error:
        raise ConfigError(Problem("file", str(file), "valid CSV", str(error))) from None
    return rows


def _row(file: Path, number: int, line: dict[str | None, str | None]) -> Row:
    where = f"{file}: line {number}"
    values = {name: value for name, value in line.items() if name is not None}
    if None in line or None in values.values():
        raise ConfigError(Problem(where, MISSING, "one value for each column"))
    cells = {name: value or "" for name, value in values.items()}
    unit = cells.pop("unit")
    if unit not in UNITS:
        raise unknown_name(f"{where}: unit", unit, UNITS, "one of the units")
    text = cells.pop("value")
    try:
        published = parse_range(text, UNITS[unit])
    except ValueError:
        expected = "a number of at least 0, a bound such as >900, or a range such as 0.9-0.95"
        raise ConfigError(Problem(f"{where}: value", text, expected)) from None
    return Row(number, cells, cells.pop("metric"), published, unit)
