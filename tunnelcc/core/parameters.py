# SPDX-License-Identifier: GPL-2.0-only
"""Parameters of congestion controls as users write them: numbers, or text with a unit.

``probe_rtt_interval = 5`` and ``"5s"`` are the same. The parameter's own unit decides which units
are valid: times for seconds, rates for bytes per second, percentages for ratios. Switches take
``true`` and ``false``, and choices take names.
"""

from __future__ import annotations

import math

from tunnelcc.core import Parameter, ParameterValue
from tunnelcc.schema import units
from tunnelcc.schema.units import UnitError


def parse_parameter(parameter: Parameter, value: object) -> ParameterValue:
    """Return ``value`` in the parameter's unit and of its kind's type. Raises UnitError."""
    if parameter.kind == "switch":
        if isinstance(value, bool):
            return value
    elif parameter.kind == "choice":
        if isinstance(value, str) and value in parameter.choices:
            return value
    else:
        return _parse_number(parameter, value)
    raise UnitError(expected(parameter))


def expected(parameter: Parameter) -> str:
    """Return a description of valid values of the parameter."""
    if parameter.kind == "switch":
        return "true or false"
    if parameter.kind == "choice":
        return "one of " + ", ".join(f"'{name}'" for name in parameter.choices)
    is_count = parameter.kind == "count"
    what = "a whole number" if is_count else "a number"
    unit = f" ({parameter.unit})" if parameter.unit else ""
    text = f"{what} from {parameter.minimum:g} to {parameter.maximum:g}{unit}"
    with_unit = {
        "s": units.TIME_EXPECTED,
        "bytes/s": units.RATE_EXPECTED,
        "": units.PERCENTAGE_EXPECTED,
    }.get(parameter.unit)
    return text if is_count or with_unit is None else f"{text}, or {with_unit}"


def _parse_number(parameter: Parameter, value: object) -> ParameterValue:
    number: int | float | None = None
    if isinstance(value, str):
        number = _parse_text(parameter, value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        number = value
    # Comparisons hold for an integer beyond all floats, and none does for what is not a number.
    if number is None or not parameter.minimum <= number <= parameter.maximum:
        raise UnitError(expected(parameter))
    if parameter.kind == "number":
        return float(number)
    if number != math.floor(number):
        raise UnitError(expected(parameter))
    return int(number)


def _parse_text(parameter: Parameter, text: str) -> float | None:
    """Return the number of a text with a unit. None: the parameter takes no such text."""
    if parameter.kind == "count":
        return None
    try:
        if parameter.unit == "s":
            return units.parse_time(text)
        if parameter.unit == "bytes/s":
            return units.parse_rate(text) / 8
        if parameter.unit == "":
            return units.parse_percentage(text)
    except UnitError as error:
        raise UnitError(expected(parameter), error.hint) from None
    return None
