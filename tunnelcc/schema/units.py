# SPDX-License-Identifier: GPL-2.0-only
"""Quantities with units, written as in ns-3 (``100Mbps``, ``40ms``), with more units for networks.

Parsed values are in SI units: bit/s, seconds, bytes, probabilities in [0, 1). Decimal prefixes are
powers of 1000 (``k``, ``M``, ``G``), binary prefixes are powers of 1024 (``Ki``, ``Mi``, ``Gi``).
``b`` is a bit and ``B`` a byte, also in rates. A formatted value parses to the same value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from tunnelcc.errors import nearest

_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}

_BIT_SPELLINGS = ("bps", "b/s", "bit/s")
_BYTE_SPELLINGS = ("Bps", "B/s")

_RATE_UNITS = {
    prefix + spelling: scale * bits
    for bits, spellings in ((1, _BIT_SPELLINGS), (8, _BYTE_SPELLINGS))
    for spelling in spellings
    for prefix, scale in {**_DECIMAL, "K": 10**3, **_BINARY}.items()
}
_TIME_UNITS = {
    "h": Decimal(3600),
    "min": Decimal(60),
    "s": Decimal(1),
    "ms": Decimal("1e-3"),
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),
    "ns": Decimal("1e-9"),
}
# In what values are written, from the largest to the smallest.
_WRITTEN_RATES = {prefix + "bps": Decimal(_DECIMAL[prefix]) for prefix in ("T", "G", "M", "k", "")}
_WRITTEN_TIMES = {unit: _TIME_UNITS[unit] for unit in ("s", "ms", "us", "ns")}
_SIZE_UNITS = {prefix + "B": scale for prefix, scale in {**_DECIMAL, "K": 10**3, **_BINARY}.items()}
_WRITTEN_SIZES = {
    prefix + "B": {**_DECIMAL, **_BINARY}[prefix]
    for prefix in ("Ti", "Gi", "Mi", "Ki", "T", "G", "M", "k", "")
}
#: What is wrong with a number alone.
NO_UNIT = "the unit is missing"
# A number without a unit is more likely in ms than in s where no time is longer than this (s).
_LONGEST_IN_MS = 60

_QUANTITY = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([^\d\s].*?)?\s*")

RATE_EXPECTED = "a rate such as '100Mbps' or '2.03Gbps'"
TIME_EXPECTED = "a time such as '40ms' or '30s'"
SIZE_EXPECTED = "a size such as '4MiB', '64KiB' or 6291456 (bytes)"
PROBABILITY_EXPECTED = "a probability such as '1%' or 0.01, at least 0 and less than 1"
SHARE_EXPECTED = "a share such as '25%' or 0.25, at most 1"
PERCENTAGE_EXPECTED = "a percentage such as '2%'"
BUFFER_EXPECTED = "a buffer such as '1bdp', '200p' (packets), '64KiB' or '50ms' (at the rate)"


class UnitError(ValueError):
    """The text is not a valid quantity. ``expected`` describes a valid one."""

    def __init__(self, expected: str, hint: str = "") -> None:
        super().__init__(f"expected {expected}" + (f" ({hint})" if hint else ""))
        self.expected = expected
        self.hint = hint


def parse_rate(value: object) -> float:
    """Return bit/s of ``value`` (``100Mbps``, ``12.5MB/s``). Raises UnitError."""
    number, unit = _split(value, RATE_EXPECTED)
    scale = _lookup(unit, _RATE_UNITS, RATE_EXPECTED)
    return float(number * scale)


@lru_cache(maxsize=1024)
def format_rate(rate: float) -> str:
    """Write ``rate`` (bit/s) so that parse_rate() returns it."""
    return _format(rate, _WRITTEN_RATES, "bps")


def parse_time(value: object) -> float:
    """Return seconds of ``value`` (``40ms``, ``1.5s``, ``2min``). Raises UnitError."""
    if _is_number(value) and value == 0:
        return 0.0
    number, unit = _split(value, TIME_EXPECTED)
    if unit is None and number == 0:
        return 0.0
    return float(number * _lookup(unit, _TIME_UNITS, TIME_EXPECTED))


@lru_cache(maxsize=1024)
def format_time(seconds: float) -> str:
    """Write ``seconds`` so that parse_time() returns them."""
    return _format(seconds, _WRITTEN_TIMES, "s")


def parse_size(value: object) -> int:
    """Return bytes of ``value`` (``64KiB``, ``2.6MiB``, ``1500B`` or a whole number).

    With a prefix, a fraction of a byte is rounded. Raises UnitError.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    number, unit = _split(value, SIZE_EXPECTED)
    scale = 1 if unit is None else _lookup(unit, _SIZE_UNITS, SIZE_EXPECTED)
    size = number * scale
    if size != size.to_integral_value() and scale == 1:
        raise UnitError(SIZE_EXPECTED, f"{value!r} is not a whole number of bytes")
    return round(size)


def format_size(size: int) -> str:
    """Write ``size`` (bytes) so that parse_size() returns it."""
    if size:
        for unit, scale in _WRITTEN_SIZES.items():
            if size % scale == 0:
                return f"{size // scale}{unit}"
    return f"{size}B"


def parse_probability(value: object) -> float:
    """Return the probability of ``value`` (``1%`` or 0.01), in [0, 1). Raises UnitError."""
    number, unit = _split(value, PROBABILITY_EXPECTED)
    if unit not in (None, "%"):
        raise UnitError(PROBABILITY_EXPECTED, f"unknown unit {unit!r}")
    probability = number / 100 if unit else number
    # The rounded value is what counts: 0.99999999999999999 is 1 as a float.
    if not 0 <= probability or not float(probability) < 1:
        is_percentage = unit is None and 1 <= number < 100
        raise UnitError(
            PROBABILITY_EXPECTED, f"did you mean '{_plain(number)}%'?" if is_percentage else ""
        )
    return float(probability)


def parse_share(value: object) -> float:
    """Return the share of ``value`` (``25%`` or 0.25), in [0, 1]. Raises UnitError."""
    number, unit = _split(value, SHARE_EXPECTED)
    if unit not in (None, "%"):
        raise UnitError(SHARE_EXPECTED, f"unknown unit {unit!r}")
    share = float(number / 100 if unit else number)
    if not 0 <= share <= 1:
        raise UnitError(SHARE_EXPECTED)
    return share


def parse_percentage(value: object) -> float:
    """Return the ratio of ``value`` (``2%`` is 0.02, ``125%`` is 1.25). Raises UnitError."""
    number, unit = _split(value, PERCENTAGE_EXPECTED)
    if unit != "%":
        hint = NO_UNIT if unit is None else f"unknown unit {unit!r}"
        raise UnitError(PERCENTAGE_EXPECTED, hint)
    return float(number / 100)


def format_probability(probability: float) -> str:
    """Write ``probability`` so that parse_probability() returns it."""
    return _plain(Decimal(repr(probability)) * 100) + "%"


@dataclass(frozen=True)
class Buffer:
    """The size of a queue in BDP, packets, bytes or seconds. Exactly one is set.

    ``seconds``: the time in which the link sends a full queue at its first rate.
    """

    bdp: float | None = None
    packets: int | None = None
    bytes: int | None = None
    seconds: float | None = None

    def at(self, rate: float, rtt: float) -> int:
        """Return the bytes (0: limited in packets) at ``rate`` (bit/s) and ``rtt`` (s)."""
        if self.bdp is not None:
            return round(self.bdp * rate * rtt / 8)
        if self.seconds is not None:
            return round(self.seconds * rate / 8)
        return self.bytes or 0

    def times(self, factor: float) -> Buffer:
        """Return a buffer that is larger by a factor."""
        counted = {"packets", "bytes"}
        sizes = {name: it and factor * it for name, it in vars(self).items()}
        return Buffer(**{k: round(v) if v and k in counted else v for k, v in sizes.items()})

    def __str__(self) -> str:
        if self.bdp is not None:
            return f"{_plain(Decimal(repr(self.bdp)))}bdp"
        if self.packets is not None:
            return f"{self.packets}p"
        if self.seconds is not None:
            return format_time(self.seconds)
        return format_size(self.bytes or 0)


def parse_buffer(value: object) -> Buffer:
    """Return the Buffer of ``value`` (``1bdp``, ``200p``, ``64KiB``, ``50ms``).

    Raises UnitError.
    """
    if isinstance(value, Buffer):
        return value
    number, unit = _split(value, BUFFER_EXPECTED)
    if unit is None:  # packets in netem, and bytes in sizes here
        plain = _plain(number)
        hint = f"{NO_UNIT}, did you mean '{plain}p' (packets) or '{plain}B' (bytes)?"
        raise UnitError(BUFFER_EXPECTED, hint)
    if unit == "bdp":
        return Buffer(bdp=float(number))
    if unit.lower() == "bdp":
        raise UnitError(BUFFER_EXPECTED, f"did you mean '{_plain(number)}bdp'?")
    if unit == "p":
        if number != number.to_integral_value():
            raise UnitError(BUFFER_EXPECTED, f"{value!r} is not a whole number of packets")
        return Buffer(packets=int(number))
    if unit in _TIME_UNITS:
        return Buffer(seconds=parse_time(value))
    try:
        return Buffer(bytes=parse_size(value))
    except UnitError as error:
        raise UnitError(BUFFER_EXPECTED, error.hint) from None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _split(value: object, expected: str) -> tuple[Decimal, str | None]:
    """Split ``40ms`` into 40 and ``ms``."""
    if isinstance(value, int) and value.bit_length() > 200:
        raise UnitError(expected)
    if isinstance(value, float):
        value = float(value)  # of numpy's, repr() has the type, too
    text = repr(value) if _is_number(value) else value
    match = _QUANTITY.fullmatch(text) if isinstance(text, str) and len(text) < 64 else None
    if match is None:
        raise UnitError(expected)
    try:
        number = Decimal(match[1])
    except InvalidOperation:  # an exponent of more digits than a Decimal holds
        raise UnitError(expected) from None
    if number and not -40 < number.adjusted() < 40:
        raise UnitError(expected)
    return number, match[2]


def likely(value: object, unit: str, least: float, most: float) -> str:
    """Return the most likely text with a unit for a number without one, or "".

    ``unit``: bit/s or s. The quantity is from ``least`` to ``most``. Large rates and fractions of a
    second are taken as SI values.
    """
    known: Mapping[str, Decimal] = _WRITTEN_RATES if unit == "bit/s" else _WRITTEN_TIMES
    write = format_rate if unit == "bit/s" else format_time
    number, _ = _split(value, "")
    if unit == "bit/s":
        names = ("bps", "Mbps") if number >= 1000 else ("Mbps", "Gbps", "kbps", "bps")
    else:
        is_long = number < 1 or most > _LONGEST_IN_MS
        names = ("s", "ms", "us", "ns") if is_long else ("ms", "s", "us", "ns")
    quantities = (float(number * known[name]) for name in names)
    fitting = (write(quantity) for quantity in quantities if least <= quantity <= most)
    return next(fitting, "")


def _lookup(unit: str | None, units: dict[str, Decimal] | dict[str, int], expected: str) -> Decimal:
    if unit is None:
        raise UnitError(expected, NO_UNIT)
    if unit not in units:
        hint = nearest(unit, units)
        raise UnitError(expected, f"unknown unit {unit!r}" + (f", {hint}" if hint else ""))
    return Decimal(units[unit])


def _format(value: float, units: dict[str, Decimal], zero: str) -> str:
    """``units``: from the largest to the smallest."""
    if value == 0:
        return f"0{zero}"
    exact = Decimal(repr(float(value)))
    name = next((name for name, scale in units.items() if exact >= scale), [*units][-1])
    return _plain(exact / units[name]) + name


def _plain(number: Decimal) -> str:
    """Write without trailing zeros, and without an exponent unless the number is tiny."""
    if number and number.adjusted() < -9:
        return str(number.normalize())
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
