# SPDX-License-Identifier: GPL-2.0-only
"""The CSV files of a paper: published numbers, evidence, comparisons, notes.

In published.csv, a value is written as the paper prints it: ``900``, ``~100``, ``>900``, ``<1`` or
``0.95-0.99``. Where other files have ``where``, it selects points: ``cc=bbr; rtt=10ms``.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tunnelcc import system
from tunnelcc.errors import MISSING, ConfigError, Problem, unknown_name
from tunnelcc.scenario import parse_setting
from tunnelcc.schema.toml import MAX_BYTES

#: Units of published values → the SI unit, and the factor to it.
SI = {
    **{unit: (unit, 1.0) for unit in ("bit/s", "s", "byte", "segments", "packets", "1")},
    "kbit/s": ("bit/s", 1e3),
    "Mbit/s": ("bit/s", 1e6),
    "Gbit/s": ("bit/s", 1e9),
    "ms": ("s", 1e-3),
    "KB": ("byte", 1e3),
    "MB": ("byte", 1e6),
    "%": ("1", 1e-2),
}
UNITS = {unit: factor for unit, (_, factor) in SI.items()}
LABELS = ("stated", "inferred", "calibrated", "choice")
KINDS = ("text", "limit", "miss")
ROLES = ("baseline", "cause", "counterfactual", "question", "reading")
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?"
# How near a number must be: 10 %, 5 (in the published unit), within the runs' range, or unjudged.
_WITHIN = re.compile(rf"(?:(?P<number>{_NUMBER})(?P<percent> ?%)?|runs)?")
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
    def trials(self) -> Range | None:
        """The least and the largest of the published trials (column ``trials``), SI."""
        least, _, most = self.columns.get("trials", "").partition(" to ")
        return parse_range(f"{least}-{most}", UNITS[self.unit]) if most else None

    def matches(self, where: Mapping[str, str]) -> bool:
        """Whether the row has all values of ``where``. An empty cell matches any value."""
        return all(self.columns.get(column, "") in ("", value) for column, value in where.items())


def parse_range(text: str, scale: float = 1.0) -> Range:
    """Return a value in the notation of papers. Raises ValueError."""
    match = _VALUE.fullmatch(text.strip())
    if match is None:
        raise ValueError(text)
    sign, single, *bounds = match.groups()
    low, high = (float(bound) * scale for bound in (bounds if single is None else [single] * 2))
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(text)
    if sign == ">":
        high = math.inf
    if sign == "<":
        low = 0.0
    return Range(text.strip(), low, high)


@dataclass(frozen=True)
class Sheet:
    """A line of a file that speaks of figures: of those with these ids, or of all."""

    line: int
    figures: Sequence[str]
    reason: str

    def concerns(self, figure: str) -> bool:
        """Whether it applies to the figure with this id."""
        return not self.figures or figure in self.figures


@dataclass(frozen=True)
class Parameter(Sheet):
    """A key of the scenario, or another fact, and its evidence."""

    name: str
    value: str  # "": that of the scenario
    label: str


@dataclass(frozen=True)
class Compare(Sheet):
    """Published numbers, and the quantity to compare them with.

    Rows are judged if there is a ``tolerance`` (of |simulated / published − 1|), a ``margin`` (of
    the difference, in the published unit) or ``within_runs`` (between the smallest and the largest
    run). Otherwise they are only shown.
    """

    published: str  # a metric of published.csv
    quantity: str
    where: Mapping[str, str]
    tolerance: float | None = None
    margin: float | None = None
    within_runs: bool = False

    @property
    def is_judged(self) -> bool:
        """Whether there is a verdict."""
        return self.tolerance is not None or self.margin is not None or self.within_runs


@dataclass(frozen=True)
class Note(Sheet):
    """What readers must know of figures.

    ``kind``: ``text`` on the whole, ``limit`` of the comparison, or known cause of a ``miss``.
    """

    kind: str
    where: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Other(Sheet):
    """An experiment with other settings: what if, a single cause, or a reading of a question.

    ``role``: one of ROLES. A question has no settings, and its readings follow; the scenarios use
    the reading that has none. Other roles with one ``id`` are one variant.
    """

    role: str
    id: str
    title: str
    where: Mapping[str, str]
    settings: Mapping[str, Any]


def published(file: Path) -> list[Row]:
    """Return the published numbers. Raises ConfigError with file and line."""
    rows = []
    for number, cells in _lines(file, "metric", "value", "unit"):
        unit, text = cells.pop("unit"), cells.pop("value")
        _known(file, number, "unit", unit, UNITS)
        try:
            found = parse_range(text, UNITS[unit])
        except ValueError:
            expected = "a number of at least 0, a bound such as >900, or a range such as 0.9-0.95"
            raise ConfigError(Problem(f"{file}: line {number}: value", text, expected)) from None
        rows.append(Row(number, cells, cells.pop("metric"), found, unit))
    return rows


def parameters(file: Path) -> list[Parameter]:
    """Return the parameters with their labels. Raises ConfigError with file and line."""
    found = []
    for number, it in _lines(file, "parameter", "value", "label", "figures", "reason"):
        _known(file, number, "label", it["label"], LABELS)
        for column in ("parameter", "reason"):
            if not it[column]:
                raise ConfigError(Problem(f"{file}: line {number}: {column}", MISSING, "a text"))
        about = (number, it["figures"].split(), it["reason"])
        found.append(Parameter(*about, it["parameter"], it["value"], it["label"]))
    return found


def compared(file: Path) -> list[Compare]:
    """Return what is compared, and how. Raises ConfigError with file and line."""
    found = []
    columns = ("figures", "published", "quantity", "where", "within", "reason")
    for number, it in _lines(file, *columns) if file.exists() else ():
        match = _WITHIN.fullmatch(it["within"])
        limit = float(match["number"]) if match and match["number"] else None
        if match is None or limit == 0:
            expected = (
                "a tolerance such as 10 %, a margin such as 5 (in the published unit), or runs"
            )
            raise ConfigError(Problem(f"{file}: line {number}: within", it["within"], expected))
        tolerance = limit / 100 if limit and match["percent"] else None
        margin = None if match["percent"] else limit
        about = (number, it["figures"].split(), it["reason"], it["published"])
        quantity = it["quantity"] or it["published"]
        where = _where(file, number, it["where"])
        found.append(Compare(*about, quantity, where, tolerance, margin, it["within"] == "runs"))
    return found


def notes(file: Path) -> list[Note]:
    """Return the notes on figures. Raises ConfigError with file and line."""
    found = []
    for number, it in _lines(file, "figures", "kind", "where", "note") if file.exists() else ():
        _known(file, number, "kind", it["kind"], KINDS)
        where = _where(file, number, it["where"])
        found.append(Note(number, it["figures"].split(), it["note"], it["kind"], where))
    return found


def others(file: Path) -> list[Other]:
    """Return other settings, as ``--set`` takes them. Raises ConfigError with file and line."""
    found: list[Other] = []
    columns = ("figures", "role", "id", "title", "where", "settings", "reason")
    for number, it in _lines(file, *columns) if file.exists() else ():
        _known(file, number, "role", it["role"], ROLES)
        where = _where(file, number, it["where"])
        place = f"{file}: line {number}: settings"
        given = filter(None, map(str.strip, it["settings"].split(";")))
        settings = dict(parse_setting(place, setting) for setting in given)
        about = (number, it["figures"].split(), it["reason"])
        found.append(Other(*about, it["role"], it["id"], it["title"], where, settings))
    return found


def _lines(file: Path, *columns: str) -> list[tuple[int, dict[str, str]]]:
    """Return number and cells of each line of a file, which has at least these ``columns``."""
    try:
        text = system.read(file, MAX_BYTES).decode()
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        found = list(reader.fieldnames or ())
        for name in columns:
            if name not in found:
                expected = f"a first line with the column {name}"
                raise ConfigError(Problem(f"{file}: line 1", ",".join(found), expected))
        lines = [(reader.line_num, line) for line in reader]
    except OSError as error:
        reason = error.strerror or ""
        raise ConfigError(Problem("file", str(file), "a readable CSV file", reason)) from None
    except UnicodeDecodeError:
        raise ConfigError(Problem("file", str(file), "a CSV file", "it is not UTF-8")) from None
    except csv.Error as error:
        raise ConfigError(Problem("file", str(file), "valid CSV", str(error))) from None
    for number, line in lines:
        if None in line or None in line.values():
            problem = Problem(f"{file}: line {number}", MISSING, "one value for each column")
            raise ConfigError(problem)
    return [(number, {name: it.strip() for name, it in line.items()}) for number, line in lines]


def _where(file: Path, number: int, text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in filter(None, text.split(";"))]
    if not all(equals for _, equals, _ in pairs):
        expected = "axes with their values, such as cc=bbr; rtt=10ms"
        raise ConfigError(Problem(f"{file}: line {number}: where", text, expected))
    return {name.strip(): value.strip() for name, _, value in pairs}


def _known(file: Path, number: int, column: str, cell: str, known: Iterable[str]) -> None:
    if cell not in known:
        raise unknown_name(f"{file}: line {number}: {column}", cell, known)
