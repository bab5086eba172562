# SPDX-License-Identifier: GPL-2.0-only
"""What a link does over time, read from files.

There are two formats:

- A ``.csv`` file. Its header has a column of times and others, each with its unit, such as
  ``time_s,rate_Mbps,rtt_ms,loss_percent,buffer_kB``. Times rise from 0. Values hold until the next
  time, and the last ones hold for ever.
- Any other file is a mahimahi trace (Netravali et al., USENIX ATC 2015). Each line is a whole
  number: the millisecond in which one packet of 1500 bytes can be delivered. The trace repeats
  after its last millisecond. Here the packets give the rate during that millisecond; mahimahi
  delivers them at its end.
"""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from tunnelcc import system
from tunnelcc.errors import nearest
from tunnelcc.schema import Kind
from tunnelcc.schema.units import Buffer, UnitError

EXPECTED = (
    "a .csv file of times and values (time_s,rate_Mbps,rtt_ms,loss_percent,buffer_kB) or a "
    "mahimahi trace (milliseconds)"
)

MAX_BYTES = 64 << 20
_MAX_TIME = 100_000.0  # s, as the longest run
_RATES = (1e3, 400e9)  # bit/s, besides 0
_MAHIMAHI_PACKET = 1500 * 8  # bits

_TIMES = {"time_s": 1.0, "time_ms": 1e-3, "time_us": 1e-6}

#: Key → the columns that may give it, and the unit of each.
_COLUMNS = {
    "rate": {"rate_bps": 1.0, "rate_kbps": 1e3, "rate_Mbps": 1e6, "rate_Gbps": 1e9},
    "rtt": {"rtt_s": 1.0, "rtt_ms": 1e-3, "rtt_us": 1e-6},
    "loss": {"loss": 1.0, "loss_percent": 0.01},
    "buffer": {"buffer_bytes": 1.0, "buffer_kB": 1e3, "buffer_MB": 1e6, "buffer_packets": 1.0},
}

#: Values over time: (time in s, value from then on); the first time is 0.
Steps = tuple[tuple[float, Any], ...]


@dataclass(frozen=True)
class Trace:
    """What a file says of a link over time, identified by its name and its contents.

    ``rate`` (bit/s), ``rtt`` (s), ``loss`` (share) and ``buffer`` (Buffer) are Steps, empty if the
    file says nothing of them. They repeat after ``period`` (s). If ``period`` is 0, the last values
    stay.
    """

    file: str
    sha256: str
    rate: Steps = field(default=(), compare=False, repr=False)
    rtt: Steps = field(default=(), compare=False, repr=False)
    loss: Steps = field(default=(), compare=False, repr=False)
    buffer: Steps = field(default=(), compare=False, repr=False)
    period: float = field(default=0.0, compare=False)

    def __str__(self) -> str:
        return self.file

    @property
    def given(self) -> tuple[str, ...]:
        """The keys of a link of which the file says something."""
        return tuple(key for key in _COLUMNS if getattr(self, key))

    def only(self, *keys: str) -> Trace | None:
        """Return what the file says of ``keys``; None: nothing."""
        gone: dict[str, Any] = {key: () for key in _COLUMNS if key not in keys}
        left = replace(self, **gone)
        return left if left.given else None

    def mean(self, key: str) -> float:
        """Mean rate (bit/s) or RTT (s) over the period, or over all but the last step.

        It is the last value where that mean is 0: the link is cut before it has a rate.
        """
        steps: Steps = getattr(self, key)
        end = self.period or steps[-1][0]
        if end == 0:
            return float(steps[0][1])
        ends = [time for time, _ in steps[1:]] + [end]
        pairs = zip(steps, ends, strict=True)
        total = sum(value * (after - time) for (time, value), after in pairs)
        return float(total / end or steps[-1][1])


def parse_trace(value: Any) -> Trace:
    """Return the trace of a file's name, or of a table of name and SHA-256. Raises UnitError."""
    if isinstance(value, Trace):
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


def format_trace(trace: Trace) -> dict[str, str]:
    """Write ``trace`` so that parse_trace() returns it, or notices that the file has changed."""
    return {"file": trace.file, "sha256": trace.sha256}


TRACE = Kind(parse_trace, format_trace, EXPECTED)


def _load(file: str) -> Trace:
    path = Path(file)
    try:
        contents = system.read(path, MAX_BYTES)
    except FileNotFoundError:
        raise UnitError(EXPECTED, f"the file {file} does not exist") from None
    except OSError as error:
        raise UnitError(EXPECTED, f"it cannot be read: {error.strerror}") from None
    return replace(_parsed(contents, is_csv=path.suffix.lower() == ".csv"), file=file)


@lru_cache(maxsize=16)
def _parsed(contents: bytes, *, is_csv: bool) -> Trace:
    """Return a trace without a file's name (cached)."""
    try:
        lines = contents.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise UnitError(EXPECTED, "it is not UTF-8 text") from None
    if not any(line.strip() for line in lines):
        raise UnitError(EXPECTED, "it is empty")
    if is_csv:
        columns, period = _parse_csv(lines), 0.0
    else:
        steps, period = _parse_mahimahi(lines)
        columns = {"rate": steps}
    found = {key: tuple(_without_repeats(steps)) for key, steps in columns.items()}
    return Trace("", hashlib.sha256(contents).hexdigest(), period=period, **found)


def _parse_csv(lines: list[str]) -> dict[str, list[tuple[float, Any]]]:
    """Return the steps of each key."""
    rows = csv.reader(lines, strict=True)
    try:
        unit, columns = _header(next(rows))
        steps: dict[str, list[tuple[float, Any]]] = {key: [] for key, _ in columns}
        latest = None
        for row in rows:
            if not row:
                continue
            where = f"line {rows.line_num}"
            if len(row) != 1 + len(columns):
                raise UnitError(
                    EXPECTED, f"{where}: {len(row)} columns instead of {1 + len(columns)}"
                )
            time = _number(where, row[0]) * unit
            _check_time(where, time, latest)
            for (key, name), text in zip(columns, row[1:], strict=True):
                number = _number(where, text)
                steps[key].append((time, _value(where, key, name, number)))
            latest = time
    except csv.Error as error:
        raise UnitError(EXPECTED, f"line {rows.line_num}: {error}") from None
    if latest is None:
        raise UnitError(EXPECTED, "it has no rows")
    if "rate" in steps and steps["rate"][-1][1] == 0:
        raise UnitError(EXPECTED, f"line {rows.line_num}: the last rate stays, so it must not be 0")
    return steps


def _header(header: list[str]) -> tuple[float, list[tuple[str, str]]]:
    """Return the unit of times, and key and name of each other column."""
    names = [name.strip() for name in header]
    if len(names) < 2:
        raise UnitError(EXPECTED, f"line 1: a header of {len(names)} columns instead of 2 or more")
    _known(names[0], _TIMES)
    key_of = {name: key for key, units in _COLUMNS.items() for name in units}
    for name in names[1:]:
        _known(name, key_of)
    columns = [(key_of[name], name) for name in names[1:]]
    keys = [key for key, _ in columns]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise UnitError(EXPECTED, f"line 1: two columns of {twice}")
    return _TIMES[names[0]], columns


def _known(name: str, known: Collection[str]) -> None:
    if name not in known:
        expected = f"line 1: {name[:40]!r} is none of {', '.join(known)}"
        hint = nearest(name[:40], known)
        raise UnitError(EXPECTED, expected + (f"; {hint}" if hint else ""))


def _number(where: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UnitError(EXPECTED, f"{where}: {text[:40]!r} is not a number")
    return number


def _check_time(where: str, time: float, latest: float | None) -> None:
    if latest is None and time != 0:
        raise UnitError(EXPECTED, f"{where}: the first time is {time:g} s; it must be 0")
    if time > _MAX_TIME:
        raise UnitError(EXPECTED, f"{where}: {time:g} s is later than {_MAX_TIME:g} s")
    if latest is not None and (time < latest or round(time * 1e9) <= round(latest * 1e9)):
        raise UnitError(EXPECTED, f"{where}: {time:g} s is not later than {latest:g} s")


def _value(where: str, key: str, name: str, number: float) -> Any:
    """Return the value of ``key`` that a ``number`` in the column ``name`` means."""
    value = number * _COLUMNS[key][name]
    if key == "rate" and value != 0 and not _RATES[0] <= value <= _RATES[1]:
        raise UnitError(
            EXPECTED, f"{where}: {value:g} bit/s is neither 0 nor from 1 kbit/s to 400 Gbit/s"
        )
    if key == "rtt" and not 1e-6 <= value <= 60:
        raise UnitError(EXPECTED, f"{where}: an RTT of {value:g} s is not from 1 us to 60 s")
    if key == "loss" and not 0 <= value <= 1:
        raise UnitError(EXPECTED, f"{where}: a loss of {100 * value:g} % is not from 0 to 100 %")
    if key != "buffer":
        return value
    # What is infinite in this unit cannot be rounded.
    if not (math.isfinite(value) and 1 <= (whole := round(value)) <= 2**40):
        raise UnitError(EXPECTED, f"{where}: a buffer of {value:g} is not from 1 to 2^40")
    return Buffer(packets=whole) if name == "buffer_packets" else Buffer(bytes=whole)


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


def _without_repeats(steps: Iterable[tuple[float, Any]]) -> Iterator[tuple[float, Any]]:
    latest: Any = None
    for time, value in steps:
        if value != latest:
            yield time, value
        latest = value
