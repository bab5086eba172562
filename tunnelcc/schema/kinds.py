# SPDX-License-Identifier: GPL-2.0-only
"""Kinds of values: how to read, check and write each one.

A user gives text or a number. The model stores an SI value, and writes text. Each Kind describes
what it expects. The type of a key is ``Annotated`` with its Kind.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from tunnelcc.errors import nearest
from tunnelcc.schema import units
from tunnelcc.schema.units import UnitError


@dataclass(frozen=True)
class Kind:
    """The quantity of a key. ``parse`` raises UnitError; ``format`` writes what ``parse`` reads.

    ``unit``: unit of the stored value; "" if it has none or depends on the value. ``in_percent``:
    whether tables and figures show it in percent.
    """

    parse: Callable[[Any], Any]
    format: Callable[[Any], Any]
    expected: str
    unit: str = ""
    in_percent: bool = False

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.parse,
            serialization=core_schema.plain_serializer_function_ser_schema(self.format),
        )


@dataclass(frozen=True)
class Relaxed:
    """How a key is relaxed: a run with it so tells whether it limits.

    ``to``: what it becomes then; None: a larger amount. ``lowers``: whether less may help, too, as
    of a rate that is set.
    """

    to: Any = None
    lowers: bool = False


#: Twice as much.
MORE = Relaxed()
#: Twice as much, or less.
EITHER = Relaxed(lowers=True)
#: Nothing of it.
GONE = Relaxed(to=0)


def quantity(
    parse: Callable[[object], Any],
    format_: Callable[[Any], str],
    expected: str,
    least: float = 0,
    most: float = float("inf"),
    at_zero: bool = False,
    unit: str = "",
) -> Kind:
    """Return the Kind of a quantity with units between ``least`` and ``most`` (or 0)."""
    low = "0" if at_zero and not least else format_(least)
    bounds = f"from {low} to {format_(most)}"
    if least and at_zero:
        bounds = f"0, or {bounds}"
    expected = f"{expected}, {bounds}"

    def parse_bounded(value: object) -> Any:
        try:
            number = parse(value)
        except UnitError as error:
            hint = error.hint
            if hint == units.NO_UNIT and (text := units.likely(value, unit, least, most)):
                hint = f"{hint}, did you mean {text!r}?"
            raise UnitError(expected, hint) from None
        if not (least <= number <= most or (at_zero and number == 0)):
            raise UnitError(expected)
        return number

    return Kind(parse_bounded, format_, expected, unit)


def whole(least: int, most: int, at_zero: bool = False) -> Kind:
    """Return the Kind of whole numbers from ``least`` to ``most``. ``at_zero``: or 0."""
    expected = f"{'0, or ' if at_zero else ''}a whole number from {least} to {most}"

    def parse(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise UnitError(expected)
        if not (least <= value <= most or (at_zero and value == 0)):
            raise UnitError(expected)
        return value

    return Kind(parse, int, expected, "1")


def number(least: float, most: float, above: bool = False, unit: str = "") -> Kind:
    """Return the Kind of numbers from ``least`` (``above``: excluded) to ``most``."""
    expected = f"a number {'above' if above else 'from'} {least:g} to {most:g}{unit}"

    def parse(value: object) -> float:
        fits = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not fits or not least <= value <= most or (above and value == least):  # type: ignore[operator]
            raise UnitError(expected)
        return float(value)  # type: ignore[arg-type]

    return Kind(parse, float, expected, unit.strip() or "1")


def choice(*names: str) -> Kind:
    """Return the Kind of one name from a list."""
    expected = "one of " + ", ".join(repr(name) for name in names)

    def parse(value: object) -> str:
        if isinstance(value, str) and value in names:
            return value
        raise UnitError(expected, nearest(value, names) if isinstance(value, str) else "")

    return Kind(parse, str, expected)


def choice_of(*values: int) -> Kind:
    """Return the Kind of one whole number from a list."""
    expected = "one of " + ", ".join(map(str, values))

    def parse(value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and value in values:
            return value
        raise UnitError(expected)

    return Kind(parse, int, expected)


def _parse_switch(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise UnitError(SWITCH.expected)


def _parse_text(value: object) -> str:
    if isinstance(value, str) and len(value) <= 200 and value.isprintable():
        return value
    raise UnitError(TEXT.expected)


def _parse_prose(value: object) -> str:
    if isinstance(value, str) and value.strip():
        return value
    raise UnitError(PROSE.expected)


_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def _parse_name(value: object) -> str:
    if isinstance(value, str) and _NAME.fullmatch(value):
        return value
    raise UnitError(NAME.expected)


def _parse_route(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or len(value) < 2:
        raise UnitError(ROUTE.expected)
    try:
        return tuple(_parse_name(name) for name in value)
    except UnitError:
        raise UnitError(ROUTE.expected) from None


def _parse_buffer(value: object) -> units.Buffer:
    buffer = units.parse_buffer(value)
    sizes = (buffer.bdp, buffer.packets, buffer.bytes, buffer.seconds)
    size = next(size for size in sizes if size is not None)
    if not 0 < size <= 2**40 or (buffer.bdp or 0) > 1000 or (buffer.seconds or 0) > 100:
        raise UnitError(BUFFER.expected)
    return buffer


def _parse_carriers(value: object) -> str | int:
    if isinstance(value, str) and value in ("all", "user", "flow"):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 4096:
        return value
    hint = nearest(value, ("all", "user", "flow")) if isinstance(value, str) else ""
    raise UnitError(CARRIERS.expected, hint)


CARRIERS = Kind(
    _parse_carriers, lambda value: value, "'all', 'user', 'flow' or a whole number from 1 to 4096"
)
NAME = Kind(_parse_name, str, "a name of at most 64 letters, digits, '-' and '_'")
ROUTE = Kind(_parse_route, list, "a list of at least two host names")
SWITCH = Kind(_parse_switch, bool, "true or false")
TEXT = Kind(_parse_text, str, "one line of text")
PROSE = Kind(_parse_prose, str, "some text")
BUFFER = Kind(
    _parse_buffer, str, f"{units.BUFFER_EXPECTED}, more than 0, at most 1000bdp, 1TiB or 100s"
)
PROBABILITY = Kind(
    units.parse_probability, units.format_probability, units.PROBABILITY_EXPECTED, "1", True
)
SHARE = Kind(
    units.parse_share, units.format_probability, f"{units.SHARE_EXPECTED}, from 0", in_percent=True
)


def _parse_positive_share(value: object) -> float:
    try:
        share = units.parse_share(value)
    except UnitError as error:
        raise UnitError(POSITIVE_SHARE.expected, error.hint) from None
    if share == 0:
        raise UnitError(POSITIVE_SHARE.expected)
    return share


POSITIVE_SHARE = Kind(
    _parse_positive_share,
    units.format_probability,
    f"{units.SHARE_EXPECTED}, more than 0",
    in_percent=True,
)


#: What a mean is known to where nothing else is asked: a part of it.
SETTLED = 0.05
_LEAST_PRECISION, _MOST_PRECISION = 0.001, 0.5


def _parse_precision(value: object) -> float:
    if value == "settled":
        return SETTLED
    try:
        part = units.parse_probability(value)
    except UnitError as error:
        hint = error.hint or (nearest(value, ["settled"]) if isinstance(value, str) else "")
        raise UnitError(PRECISION.expected, hint) from None
    if not _LEAST_PRECISION <= part <= _MOST_PRECISION:
        raise UnitError(PRECISION.expected)
    return part


PRECISION = Kind(
    _parse_precision,
    units.format_probability,
    f"'settled', which is {units.format_probability(SETTLED)}, or a part from "
    f"{units.format_probability(_LEAST_PRECISION)} to {units.format_probability(_MOST_PRECISION)}",
    "1",
    in_percent=True,
)


def rate(least: float, most: float) -> Kind:
    """Return the Kind of rates, in bit/s."""
    return quantity(
        units.parse_rate, units.format_rate, units.RATE_EXPECTED, least, most, unit="bit/s"
    )


def time(least: float, most: float, at_zero: bool = False) -> Kind:
    """Return the Kind of times, in seconds. ``at_zero``: 0 is also allowed."""
    return quantity(
        units.parse_time, units.format_time, units.TIME_EXPECTED, least, most, at_zero, "s"
    )


def size(least: int, most: int, at_zero: bool = False) -> Kind:
    """Return the Kind of sizes, in bytes. ``at_zero``: 0 is also allowed."""
    return quantity(
        units.parse_size, lambda value: units.format_size(int(value)), units.SIZE_EXPECTED,
        least, most, at_zero, "byte",
    )  # fmt: skip


def _parse_spans(value: object) -> tuple[tuple[float, float], ...]:
    parsed: list[tuple[float, float]] = []
    for span in value if isinstance(value, (list, tuple)) else [value]:
        if not isinstance(span, (list, tuple)) or len(span) not in (1, 2):
            raise UnitError(_SPANS)
        try:
            times = [units.parse_time(moment) for moment in span]
        except UnitError as error:
            raise UnitError(_SPANS, error.hint) from None
        begin, end = times[0], times[1] if len(times) > 1 else math.inf
        if not (parsed[-1][1] if parsed else 0.0) <= begin < end or max(times) > 100_000:
            raise UnitError(_SPANS)
        parsed.append((begin, end))
    return tuple(parsed)


def _write_spans(value: Sequence[tuple[float, float]]) -> list[list[str]]:
    return [[units.format_time(it) for it in span if it < math.inf] for span in value]


_SPANS = (
    "a list of [begin, end] such as [['10s', '25s'], ['40s', '41s']], in order of time, where the "
    "last one may have no end"
)
#: Spans of time: tuples of begin and end (s). The last end may be infinite.
SPANS = Kind(_parse_spans, _write_spans, _SPANS)


def steps(of: Kind, example: str) -> Kind:
    """Return the Kind of values over time: tuples of a time (s) and the value from then on."""
    expected = (
        f"a list of [time, value] such as {example} with rising times above 0s, and values that "
        f"are {of.expected}"
    )

    def parse(value: object) -> tuple[tuple[float, Any], ...]:
        parsed: list[tuple[float, Any]] = []
        for step in value if isinstance(value, (list, tuple)) else [value]:
            if not isinstance(step, (list, tuple)) or len(step) != 2:
                raise UnitError(expected)
            try:
                moment, then = units.parse_time(step[0]), of.parse(step[1])
            except UnitError as error:
                raise UnitError(expected, error.hint) from None
            if not (parsed[-1][0] if parsed else 0.0) < moment <= 100_000:
                raise UnitError(expected)
            parsed.append((moment, then))
        return tuple(parsed)

    def write(value: Sequence[tuple[float, Any]]) -> list[list[Any]]:
        return [[units.format_time(moment), of.format(then)] for moment, then in value]

    return Kind(parse, write, expected)
