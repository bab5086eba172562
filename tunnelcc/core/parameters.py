# SPDX-License-Identifier: GPL-2.0-only
"""Parameters of congestion controls as users write them: numbers, or text with a unit.

``probe_rtt_interval = 5`` and ``"5s"`` are the same. The parameter's own unit decides which units
are valid: times for seconds, rates for bytes per second, percentages for ratios. Switches take
``true`` and ``false``, and choices take names.
"""

from __future__ import annotations

import contextlib
import math

from tunnelcc.core import Parameter
from tunnelcc.schema import units
from tunnelcc.schema.units import UnitError

# Units of parameters that are counts; the models refuse fractions of them.
_COUNTS = ("rounds", "segments", "samples", "integer", "bool")


def parse_parameter(parameter: Parameter, value: object) -> float:
    """Return ``value`` in the parameter's unit. Raises UnitError."""
    number = _parse(parameter, value)
    is_whole = parameter.unit not in _COUNTS or number == math.floor(number)
    if not parameter.minimum <= number <= parameter.maximum or not is_whole:
        raise UnitError(expected(parameter))
    return number


def expected(parameter: Parameter) -> str:
    """Return a description of valid values of the parameter."""
    if parameter.unit == "bool":
        return "true or false"
    if parameter.choices:
        return "one of " + ", ".join(f"'{name}'" for name in parameter.choices)
    what = "a whole number" if parameter.unit in _COUNTS else "a number"
    unit = f" ({parameter.unit})" if parameter.unit else ""
    text = f"{what} from {parameter.minimum:g} to {parameter.maximum:g}{unit}"
    with_unit = {
        "s": units.TIME_EXPECTED,
        "bytes/s": units.RATE_EXPECTED,
        "": units.PERCENTAGE_EXPECTED,
    }.get(parameter.unit)
    return f"{text}, or {with_unit}" if with_unit else text


def _parse(parameter: Parameter, value: object) -> float:
    if isinstance(value, bool):
        if parameter.unit == "bool":
            return float(value)
    elif isinstance(value, (int, float)):
        with contextlib.suppress(OverflowError):  # an integer beyond all floats
            if math.isfinite(value):
                return float(value)
    elif isinstance(value, str):
        return _parse_text(parameter, value)
    raise UnitError(expected(parameter))


def _parse_text(parameter: Parameter, text: str) -> float:
    if text in parameter.choices:
        return float(parameter.choices.index(text))
    try:
        if parameter.unit == "s":
            return units.parse_time(text)
        if parameter.unit == "bytes/s":
            return units.parse_rate(text) / 8
        if parameter.unit == "":
            return units.parse_percentage(text)
    except UnitError as error:
        raise UnitError(expected(parameter), error.hint) from None
    raise UnitError(expected(parameter))
