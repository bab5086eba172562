# SPDX-License-Identifier: GPL-2.0-only
"""``published.csv``: the numbers that a paper prints, one a line, with where it prints them.

Columns ``metric``, ``value``, ``unit`` and any others, which say what was measured (``tunnel``,
``cc``, ``streams``, …) and where it stands (``section``).
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tunnelcc.errors import MISSING, ConfigError, Problem, nearest

#: Units of published values → factor to SI.
UNITS = {
    "bit/s": 1.0,
    "kbit/s": 1e3,
    "Mbit/s": 1e6,
    "Gbit/s": 1e9,
    "s": 1.0,
    "ms": 1e-3,
    "segments": 1.0,
    "1": 1.0,
    "%": 1e-2,
}
_COLUMNS = ("metric", "value", "unit")


@dataclass(frozen=True)
class Row:
    """One published number."""

    line: int
    columns: Mapping[str, str]  # all but metric, value and unit
    metric: str
    value: float  # SI
    unit: str  # as published

    def matches(self, where: Mapping[str, str]) -> bool:
        """Whether the row has all the values of ``where``."""
        return all(self.columns.get(column) == value for column, value in where.items())


def read(file: Path) -> tuple[Row, ...]:
    """Return the rows of a CSV file. Raises ConfigError that names file and line."""
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
    if not rows:
        raise ConfigError(Problem("file", str(file), "at least one published value"))
    return rows


def _row(file: Path, number: int, line: dict[str | None, str | None]) -> Row:
    where = f"{file}: line {number}"
    values = {name: value for name, value in line.items() if name is not None}
    if None in line or None in values.values():
        raise ConfigError(Problem(where, MISSING, "as many values as there are columns"))
    cells = {name: value or "" for name, value in values.items()}
    unit = cells.pop("unit")
    if unit not in UNITS:
        expected = "one of the units " + ", ".join(UNITS)
        raise ConfigError(Problem(f"{where}: unit", unit, expected, nearest(unit, UNITS)))
    text = cells.pop("value")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise ConfigError(Problem(f"{where}: value", text, "a number, at least 0"))
    return Row(number, cells, cells.pop("metric"), value * UNITS[unit], unit)
