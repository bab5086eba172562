# SPDX-License-Identifier: GPL-2.0-only
"""Kinds of values in papers."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from tunnelcc.papers import expression
from tunnelcc.papers.published import Range, parse_range
from tunnelcc.schema import PROSE, Kind, number, time
from tunnelcc.schema.units import UnitError


def _name(value: object) -> str:
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        text = str(value)
        if text and all(letter.isalnum() or letter in "-_." for letter in text):
            return text
    raise UnitError("a name of letters, digits, - and _")


def _strings(value: object) -> dict[str, str]:
    if isinstance(value, dict) and all(isinstance(item, (str, int)) for item in value.values()):
        return {str(key): str(item) for key, item in value.items()}
    raise UnitError("a table of columns of published.csv and their values")


def _settings(value: object) -> dict[str, Any]:
    if isinstance(value, dict) and value:
        return value
    raise UnitError("a table of keys of an experiment, such as { 'path.rtt' = '40ms' }")


def _points(value: object) -> dict[str, dict[str, Any] | None]:
    if isinstance(value, dict) and value:
        return {str(key): _settings(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and value:
        return {str(item): None for item in value}
    raise UnitError("a list of values, or a table from values to settings")


def _range(value: object) -> Range:
    try:
        return parse_range(str(value))
    except ValueError:
        raise UnitError("a number such as 0.95, a bound or a range such as '0.9-0.95'") from None


def _formula(value: object) -> str:
    text: str = PROSE.parse(value)
    try:
        expression.names(text)
    except ValueError as error:
        raise UnitError("a formula such as 'rate * min(1, window / bdp)'", str(error)) from None
    return text


Prose = Annotated[str, PROSE]
Name = Annotated[str, Kind(_name, str, "a name")]
Names = Annotated[tuple[Name, ...], Field(min_length=1)]
Where = Annotated[dict[str, str], Kind(_strings, dict, "columns and values")]
Settings = Annotated[dict[str, Any], Kind(_settings, dict, "keys of an experiment")]
Points = Annotated[dict[str, Any], Kind(_points, dict, "values of an axis")]
Values = Annotated[tuple[Any, ...], Field(min_length=1)]
Formula = Annotated[str, Kind(_formula, str, "a formula")]
Published = Annotated[Range, Kind(_range, str, "a number")]
Fraction = Annotated[float, number(0, 1, above=True)]
Moment = Annotated[float, time(0, 100_000)]
