# SPDX-License-Identifier: GPL-2.0-only
"""Rates of a link over time, read from files.

There are two formats:

- A ``.csv`` file. Its header has two columns with units, such as ``time_s,rate_Mbps``. Times rise
  from 0. A rate holds until the next time, and the last rate holds for ever.
- Any other file is a mahimahi trace (Netravali et al., USENIX ATC 2015). Each line is a whole
  number: the millisecond in which one packet of 1500 bytes can be delivered. The trace repeats
  after its last millisecond. Here the packets give the rate during that millisecond; mahimahi
  delivers them at its end.
"""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from tunnelcc.errors import nearest
from tunnelcc.schema import Kind
from tunnelcc.schema.units import UnitError

EXPECTED = "a .csv file of times and rates (time_s,rate_Mbps) or a mahimahi trace (milliseconds)"

MAX_BYTES = 64 * 2**20
_MAX_TIME = 100_000.0  # s, as the longest run
_RATES = (1e3, 400e9)  # bit/s, besides 0
_MAHIMAHI_PACKET = 1500 * 8  # bits

_TIME_UNITS = {"time_s": 1.0, "time_ms": 1e-3, "time_us": 1e-6}
_RATE_UNITS = {"rate_bps": 1.0, "rate_kbps": 1e3, "rate_Mbps": 1e6, "rate_Gbps": 1e9}


@dataclass(frozen=True)
class RateTrace:
    """The rates in a file, identified by its name and its contents.

    ``steps`` are (time in s, rate in bit/s from then on); the first time is 0. They repeat after
    ``period`` (s). If ``period`` is 0, the last rate stays.
    """

    file: str
    sha256: str
    steps: tuple[tuple[float, float], ...] = field(compare=False, repr=False)
    period: float = field(compare=False)

    def __str__(self) -> str:
        return self.file

    @property
    def mean_rate(self) -> float:
        """Mean rate (bit/s) over the period, or over all but the last step."""
        end = self.period or self.steps[-1][0]
        if end == 0:
            return self.steps[0][1]
        ends = [time for time, _ in self.steps[1:]] + [end]
        bits = sum(
            rate * (after - time) for (time, rate), after in zip(self.steps, ends, strict=True)
        )
        return bits / end


def parse_trace(value: Any) -> RateTrace:
    """Return the trace of a file's name, or of a table of name and SHA-256. Raises UnitError."""
    if isinstance(value, RateTrace):
        return value
    known = None
    if isinstance(value, dict) and set(value) == {"file", "sha256"}:
        value, known = value["file"], value["sha256"]
    if not isinstance(value, str) or not value or "\0" in value:
        raise UnitError(EXPECTED)
    trace = _load(value)
    if known not in (None, trace.sha256):
        raise UnitError(EXPECTED, f"{value} has changed: its SHA-256 is {trace.sha256}")
    return trace


def format_trace(trace: RateTrace) -> dict[str, str]:
    """Write ``trace`` so that parse_trace() returns it, or notices that the file has changed."""
    return {"file": trace.file, "sha256": trace.sha256}


TRACE = Kind(parse_trace, format_trace, EXPECTED)


def _load(file: str) -> RateTrace:
    path = Path(file)
    try:
        if not path.is_file():
            raise UnitError(EXPECTED, f"the file {file} does not exist")
        status = path.stat()
        if status.st_size > MAX_BYTES:
            raise UnitError(
                EXPECTED, f"it has {status.st_size} bytes; the limit is {MAX_BYTES // 2**20} MiB"
            )
        contents = path.read_bytes()
    except OSError as error:
        raise UnitError(EXPECTED, f"it cannot be read: {error.strerror}") from None
    digest, steps, period = _parsed(contents, is_csv=path.suffix.lower() == ".csv")
    return RateTrace(file, digest, steps, period)


@lru_cache(maxsize=16)
def _parsed(contents: bytes, *, is_csv: bool) -> tuple[str, tuple[tuple[float, float], ...], float]:
    """Return SHA-256, steps and period of a file's contents (cached)."""
    try:
        lines = contents.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise UnitError(EXPECTED, "it is not UTF-8 text") from None
    if not any(line.strip() for line in lines):
        raise UnitError(EXPECTED, "it is empty")
    if is_csv:
        steps, period = _parse_csv(lines), 0.0
    else:
        steps, period = _parse_mahimahi(lines)
    digest = hashlib.sha256(contents).hexdigest()
    return digest, tuple(_without_repeats(steps)), period


def _parse_csv(lines: list[str]) -> list[tuple[float, float]]:
    rows = csv.reader(lines, strict=True)
    try:
        time_unit, rate_unit = _units(next(rows))
        steps: list[tuple[float, float]] = []
        for row in rows:
            if not row:
                continue
            where = f"line {rows.line_num}"
            if len(row) != 2:
                raise UnitError(EXPECTED, f"{where}: {len(row)} columns instead of 2")
            time = _number(where, row[0]) * time_unit
            rate = _number(where, row[1]) * rate_unit
            _check(where, time, rate, steps[-1][0] if steps else None)
            steps.append((time, rate))
    except csv.Error as error:
        raise UnitError(EXPECTED, f"line {rows.line_num}: {error}") from None
    if not steps:
        raise UnitError(EXPECTED, "it has no rows")
    if steps[-1][1] == 0:
        raise UnitError(EXPECTED, f"line {rows.line_num}: the last rate stays, so it must not be 0")
    return steps


def _units(header: list[str]) -> tuple[float, float]:
    names = [name.strip() for name in header]
    if len(names) != 2:
        raise UnitError(EXPECTED, f"line 1: a header of {len(names)} columns instead of 2")
    for name, units in zip(names, (_TIME_UNITS, _RATE_UNITS), strict=True):
        if name not in units:
            expected = f"line 1: {name[:40]!r} is none of {', '.join(units)}"
            hint = nearest(name[:40], units)
            raise UnitError(EXPECTED, expected + (f"; {hint}" if hint else ""))
    return _TIME_UNITS[names[0]], _RATE_UNITS[names[1]]


def _number(where: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UnitError(EXPECTED, f"{where}: {text[:40]!r} is not a number")
    return number


def _check(where: str, time: float, rate: float, latest: float | None) -> None:
    if latest is None and time != 0:
        raise UnitError(EXPECTED, f"{where}: the first time is {time:g} s; it must be 0")
    if latest is not None and round(time * 1e9) <= round(latest * 1e9):
        raise UnitError(EXPECTED, f"{where}: {time:g} s is not later than {latest:g} s")
    if time > _MAX_TIME:
        raise UnitError(EXPECTED, f"{where}: {time:g} s is later than {_MAX_TIME:g} s")
    if rate != 0 and not _RATES[0] <= rate <= _RATES[1]:
        raise UnitError(
            EXPECTED, f"{where}: {rate:g} bit/s is neither 0 nor from 1 kbit/s to 400 Gbit/s"
        )


def _parse_mahimahi(lines: list[str]) -> tuple[list[tuple[float, float]], float]:
    packets: dict[int, int] = {}
    latest = 0
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text:
            continue
        where = f"line {number}"
        if not text.isascii() or not text.isdigit() or len(text) > 12:
            raise UnitError(EXPECTED, f"{where}: {text[:40]!r} is not a whole number of ms")
        moment = int(text)
        if moment < latest:
            raise UnitError(EXPECTED, f"{where}: {moment} ms is earlier than {latest} ms")
        if moment > _MAX_TIME * 1e3:
            raise UnitError(EXPECTED, f"{where}: {moment} ms is later than {_MAX_TIME:g} s")
        latest = moment
        # The packets of 0 ms, which has no millisecond before it, join those of the first.
        begin = max(moment - 1, 0)
        packets[begin] = packets.get(begin, 0) + 1
    if latest == 0:
        raise UnitError(EXPECTED, "its last time is 0 ms, so it has no period to repeat")
    return list(_rates(packets, latest)), latest * 1e-3


def _rates(packets: dict[int, int], end: int) -> Iterator[tuple[float, float]]:
    """Yield each millisecond in which the rate changes, and the new rate."""
    moment = 0
    for begin in sorted(packets):
        if begin > moment:
            yield moment * 1e-3, 0.0
        rate = packets[begin] * _MAHIMAHI_PACKET * 1e3
        if rate > _RATES[1]:
            raise UnitError(EXPECTED, f"{packets[begin]} packets in one ms exceed 400 Gbit/s")
        yield begin * 1e-3, rate
        moment = begin + 1
    if moment < end:
        yield moment * 1e-3, 0.0


def _without_repeats(steps: Iterable[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    latest: Any = None
    for time, rate in steps:
        if rate != latest:
            yield time, rate
        latest = rate
