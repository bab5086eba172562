# SPDX-License-Identifier: GPL-2.0-only
"""Axes of a sweep: a key of the scenario, and its values.

Values are a list or a range: ``{ from = "1ms", to = "1s", steps = 7, scale = "log" }``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tunnelcc import core, modules, scenario
from tunnelcc.config import CongestionControl
from tunnelcc.config.keys import key_info
from tunnelcc.core.parameters import parse_parameter
from tunnelcc.errors import MISSING, ConfigError, Problem, nearest, unknown_name
from tunnelcc.network.draws import uniform
from tunnelcc.schema import BUFFER, Kind, Model
from tunnelcc.schema.units import Buffer, UnitError

#: A scenario's nested tables, with the first value of each listed axis.
Table = Mapping[str, Any]

SEED = "seed"
SCALES = ("linear", "log")
#: What is no parameter in the table of a congestion control.
_NAMES = ("name", "code")
_MAX_STEPS = 1_000_000
_RANGE_EXPECTED = (
    'a list of values, or a range such as { from = "1ms", to = "300ms", steps = 12, scale = "log" }'
)


@dataclass(frozen=True)
class Axis:
    """A key by its dotted path, and its values, as in TOML."""

    key: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Coordinate:
    """The values of an axis as numbers with a unit, or as texts if they are not numbers."""

    values: tuple[float, ...] | tuple[int, ...] | tuple[str, ...]
    units: str
    long_name: str


def check_has_effect(where: str, key: str, values: object) -> None:
    """Raise ConfigError for a key that an axis cannot be of: it repeats runs, or changes none."""
    expected = {
        SEED: "seeds = … (--seeds), to repeat runs",
        "title": "no axis, because this key changes no result",
    }
    if key in expected:
        raise ConfigError(Problem(where, values, expected[key]))


def parse_axis(key: str, values: object, table: Table) -> Axis:
    """Return the axis ``key`` of a declaration. Raises ConfigError.

    ``table``: the scenario; its algorithms define the unit of a parameter's range.
    """
    if isinstance(values, Mapping):
        return Axis(key, _range(key, values, table))
    if not isinstance(values, list):
        raise ConfigError(Problem(f"sweep.{key}", values, _RANGE_EXPECTED))
    if not values:
        raise ConfigError(Problem(f"sweep.{key}", values, "at least one value"))
    return Axis(key, tuple(values))


def axis_length(key: str, values: object, table: Table) -> int:
    """Return the number of values that the axis ``key`` will have. Raises ConfigError."""
    if not isinstance(values, Mapping):
        return len(values) if isinstance(values, list) else 1
    interval, steps = _steps(key, values, table)
    if not interval.is_whole:
        return steps
    if interval.scale == "log":  # how many coincide, only they tell
        return len(_range(key, values, table))
    return min(steps, round(interval.high) - round(interval.low) + 1)


def parse_interval(key: str, values: object, table: Table) -> Interval:
    """Return the interval ``{ from, to, scale }`` of a sampled axis. Raises ConfigError."""
    if not isinstance(values, Mapping):
        expected = 'an interval such as { from = "1ms", to = "300ms", scale = "log" }'
        raise ConfigError(Problem(f"sweep.sample.{key}", values, expected))
    return _interval(key, f"sweep.sample.{key}", values, table, ("from", "to", "scale"))


def sample(
    intervals: Mapping[str, Interval], points: int, method: str, seed: int
) -> tuple[Axis, ...]:
    """Return zipped axes of ``points`` values in ``intervals``.

    ``method``: random, or latin-hypercube: each interval has ``points`` equal parts, and each part
    holds one value (McKay, Beckman, Conover, Technometrics 21, 1979). Each axis is drawn
    independently.
    """
    axes = []
    for key, interval in intervals.items():
        draws = [uniform(seed, f"sample {key}", point) for point in range(points)]
        if method == "latin-hypercube":
            order = sorted(range(points), key=lambda i, key=key: uniform(seed, f"order {key}", i))  # type: ignore[misc]
            draws = [(part + draw) / points for part, draw in zip(order, draws, strict=True)]
        axes.append(Axis(key, tuple(interval.drawn(draw) for draw in draws)))
    return tuple(axes)


@dataclass(frozen=True)
class Interval:
    """Values between two limits of one kind, in its unit."""

    kind: Kind
    low: float
    high: float
    scale: str
    like: Any  # a parsed value, which tells the type

    @property
    def is_whole(self) -> bool:
        """Whether the values between low and high are whole numbers."""
        return isinstance(self.like, int) or _unit_of(self.like) in ("packet", "byte")

    def at(self, part: float) -> Any:
        """Return the value ``part`` (0 to 1) of the way from low to high, as in TOML."""
        return self.kind.format(_like(self.like, self._between(part)))

    def drawn(self, part: float) -> Any:
        """Return the value, as in TOML, that a uniform draw ``part`` from [0, 1) stands for.

        Whole numbers stand for what is rounded to them, so that both ends have their full weight.
        """
        if not self.is_whole:
            return self.at(part)
        wide = replace(self, low=self.low - 0.5, high=self.high + 0.5)
        number = min(max(round(wide._between(part)), self.low), self.high)
        return self.kind.format(_like(self.like, number))

    def rounded(self, part: float, digits: int = 4) -> Any:
        """Return the value, as drawn() does, with at most so many significant digits."""
        if self.is_whole:
            return self.drawn(part)
        number = float(f"{self._between(part):.{digits}g}")
        return self.kind.format(_like(self.like, min(max(number, self.low), self.high)))

    def _between(self, part: float) -> float:
        if part in (0, 1):
            return (self.low, self.high)[int(part)]
        if self.scale == "log":
            return self.low * float((self.high / self.low) ** part)
        return self.low + (self.high - self.low) * part


def _range(key: str, values: Mapping[str, Any], table: Table) -> tuple[Any, ...]:
    interval, steps = _steps(key, values, table)
    points = [interval.at(step / (steps - 1)) for step in range(steps)]
    # Whole numbers may coincide: 1 to 4 in ten steps are four values.
    return tuple(dict.fromkeys(points)) if interval.is_whole else tuple(points)


def _steps(key: str, values: Mapping[str, Any], table: Table) -> tuple[Interval, int]:
    where = f"sweep.{key}"
    interval = _interval(key, where, values, table, ("from", "to", "steps", "scale"))
    steps = values.get("steps", MISSING)
    if isinstance(steps, bool) or not isinstance(steps, int) or not 2 <= steps <= _MAX_STEPS:
        expected = f"a whole number from 2 to {_MAX_STEPS}"
        raise ConfigError(Problem(f"{where}.steps", steps, expected))
    return interval, steps


def _interval(
    key: str, where: str, values: Mapping[str, Any], table: Table, known: Sequence[str]
) -> Interval:
    for name in values:
        if name not in known:
            expected = "one of " + ", ".join(known)
            problem = Problem(f"{where}.{name}", values[name], expected, nearest(name, known))
            raise ConfigError(problem)
    scale = values.get("scale", "linear")
    if scale not in SCALES:
        raise unknown_name(f"{where}.scale", scale, SCALES)
    kind = _kind(key, table)
    if kind is None:
        scenario.apply(table, {key: 0})  # it may be that there is no such key
        raise ConfigError(
            Problem(where, MISSING, "a list of values, because this key takes no numbers")
        )
    ends = []
    for name in ("from", "to"):
        if name not in values:
            raise ConfigError(Problem(f"{where}.{name}", MISSING, "a value"))
        ends.append(_parsed(kind, f"{where}.{name}", values[name]))
    if _unit_of(ends[0]) != _unit_of(ends[1]):
        expected = "a value in the unit of 'from'"
        raise ConfigError(Problem(f"{where}.to", values["to"], expected))
    low, high = (_number(end) for end in ends)
    if not low < high:
        raise ConfigError(Problem(f"{where}.to", values["to"], "more than the value of 'from'"))
    if scale == "log" and low <= 0:
        raise ConfigError(Problem(f"{where}.from", values["from"], "more than 0 on a log scale"))
    return Interval(kind, low, high, scale, ends[0])


def _kind(key: str, table: Table) -> Kind | None:
    """Return how to read and write numbers at ``key``; None if the key takes none."""
    info = key_info(key)
    if info is not None and info.kind is not None:
        return info.kind if info.kind.unit or info.kind is BUFFER else None
    parameter = _parameter(key, table)
    if parameter is None or parameter.kind in ("switch", "choice"):
        return None
    return Kind(lambda value: parse_parameter(parameter, value), float, "", parameter.unit or "1")


def _parsed(kind: Kind, where: str, value: object) -> Any:
    try:
        return kind.parse(value)
    except UnitError as error:
        raise ConfigError(Problem(where, value, error.expected, error.hint)) from None


def _number(value: object) -> float:
    if isinstance(value, Buffer):
        return float(value.bdp or value.packets or value.bytes or value.seconds or 0)
    return float(value) if isinstance(value, (int, float)) else math.nan


def _unit_of(value: object) -> str:
    if not isinstance(value, Buffer):
        return ""
    units = {"bdp": value.bdp, "packet": value.packets, "s": value.seconds}
    return next((unit for unit, size in units.items() if size is not None), "byte")


def _like(example: object, value: float) -> Any:
    if isinstance(example, Buffer):
        unit = _unit_of(example)
        if unit == "bdp":
            return Buffer(bdp=value)
        if unit == "s":
            return Buffer(seconds=value)
        return Buffer(packets=round(value)) if unit == "packet" else Buffer(bytes=round(value))
    return round(value) if isinstance(example, int) else value


def plain(value: Any) -> Any:
    """Return a value from Python (a model, a numpy array or number) as in TOML."""
    if isinstance(value, Model):
        return value.table()
    if modules.is_own(value):
        return modules.table_of(value)
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [plain(item) for item in value]
    return "none" if value is None else value


# What the values are, once they are part of an experiment


def coordinate(axis: Axis, table: Table, base: Table, *, lenient: bool = False) -> Coordinate:
    """Return the values of ``axis``. Raises ConfigError for an impossible one.

    ``base``: the scenario alone. ``lenient``: if one value is impossible, return all as written.
    """
    try:
        return _coordinate(axis, table, base)
    except ConfigError:
        if not lenient:
            raise
        return Coordinate(tuple(map(_label, axis.values)), "", axis.key)


def _coordinate(axis: Axis, table: Table, base: Table) -> Coordinate:
    info, parameter = key_info(axis.key), _parameter(axis.key, table)
    doc = info.doc if info else parameter.doc if parameter else ""
    name = _title(doc) or axis.key
    kind = _kind(axis.key, table)
    if kind is None:
        labels = (_label(_read(axis.key, value, base)) for value in axis.values)
        return Coordinate(tuple(labels), "", name)
    values = [_parsed(kind, axis.key, value) for value in axis.values]
    units = {_unit_of(value) or kind.unit for value in values}
    if len(units) > 1:  # buffers in packets and in BDP have no common scale
        return Coordinate(tuple(str(value) for value in values), "", name)
    numbers = tuple(_number(value) if isinstance(value, Buffer) else value for value in values)
    return Coordinate(numbers, units.pop(), name)


def _read(key: str, value: object, base: Table) -> Any:
    """Return ``value`` at a key that takes no numbers. Raises ConfigError."""
    info = key_info(key)
    if info is not None and info.kind is not None:
        return _parsed(info.kind, key, value)
    if key.rpartition(".")[2] == "cc":
        if modules.is_file(_algorithm(["cc"], {"cc": value})):
            return value  # a stored sweep may name a file that is gone, or somebody else's
        try:
            return CongestionControl.parse(value)
        except ConfigError as error:
            raise error.below(key) from None
    node: Any = scenario.build(base, {key: value})
    for part in key.split("."):
        if isinstance(node, tuple):
            node = node[int(part) if part.isdecimal() else 0]
            if part.isdecimal():
                continue
        if isinstance(node, dict):
            node = node.get(part, node.get(f"{part}1"))  # the first one of what repeats
        else:
            node = getattr(node, part, None)
    return node


def _title(doc: str) -> str:
    """Return the start of a description, short enough for a plot's axis."""
    for mark in (";", ":", ",", "("):
        doc = doc.partition(mark)[0]
    return doc.strip()


def _label(value: object) -> str:
    if isinstance(value, CongestionControl):
        value = value.model_dump()
    elif isinstance(value, Model):
        value = value.model_dump(mode="json", exclude_defaults=True, by_alias=True)
    elif isinstance(value, tuple):
        return ", ".join(_label(item) for item in value)
    if value is None:
        return "none"
    if isinstance(value, dict) and "name" in value:
        rest = " ".join(f"{key}={_label(item)}" for key, item in value.items() if key not in _NAMES)
        return f"{value['name']} {rest}".strip()
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _parameter(key: str, table: Table) -> core.Parameter | None:
    """Return the parameter of a congestion control of the scenario that ``key`` names."""
    parent, _, name = key.rpartition(".")
    if parent.rpartition(".")[2] != "cc":
        return None
    algorithm = _algorithm(parent.split("."), table)
    if modules.is_file(algorithm):
        module = modules.find(algorithm)
        parameters = module.parameters if module else ()
    elif core.has_congestion_control(algorithm):
        parameters = core.congestion_parameters(algorithm)
    else:
        return None
    return next((parameter for parameter in parameters if parameter.name == name), None)


def _algorithm(parts: Sequence[str], node: Any) -> str:
    """Return the name of the congestion control at a key of nested tables."""
    for part in parts:
        if isinstance(node, list):
            index = int(part) if part.isdecimal() else 0
            if index >= len(node):
                return ""
            node = node[index]
            if part.isdecimal():
                continue
        node = node.get(part, {}) if isinstance(node, Mapping) else {}
    name = node.get("name") if isinstance(node, Mapping) else node
    return name if isinstance(name, str) else ""
