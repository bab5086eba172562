# SPDX-License-Identifier: GPL-2.0-only
"""Read a measurement's file of any supported program, with limits of size and depth."""

from __future__ import annotations

import codecs
import errno
import json
import re
import zlib
from dataclasses import replace
from pathlib import Path

from tunnelcc import system
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.formats import capture, flent, iperf2, iperf3, ping, speedtest, ss
from tunnelcc.formats.measurement import ClockError, Measurement, Stream

#: An hour of iperf3 with 16 streams and 10 samples a second has 150 MB.
_MOST_BYTES = 2**28

_EXPECTED = (
    "iperf3's JSON (iperf3 -J), a log of repeated `date +%s.%N; ss -ti` with at least two samples "
    "of a connection, output of iperf, ping, fping, mtr or nstat, a flent file, a speed test's "
    "JSON, or a capture with TCP"
)


def read(file: Path, option: str = "--measured") -> Measurement:
    """Return the measurement in a file, of whatever program.

    Nothing of the file is executed. ``option``: what names it in errors. Raises ConfigError.
    """
    try:
        data = system.read_once(file, _MOST_BYTES)
        if capture.is_capture(data):
            found = capture.read(str(file), data, option)
        else:
            if data[:2] == b"\x1f\x8b":
                data = _unzipped(data)
            found = _of_text(str(file), _decoded(data), option)
    except ClockError as error:
        raise ConfigError(
            Problem(option, str(file), "times of one clock that only goes on", str(error))
        ) from None
    except (OSError, UnicodeDecodeError, zlib.error) as error:
        expected = "a text file or capture that can be read"
        hint = getattr(error, "strerror", None) or "it is neither text nor a capture"
        raise ConfigError(Problem(option, str(file), expected, hint)) from None
    found = replace(found, streams=_sampled(found.streams), reverse=_sampled(found.reverse))
    if not found.streams and found.pings is None and not found.counters:
        raise ConfigError(Problem(option, str(file), _EXPECTED, _reason(data)))
    return found


def _decoded(data: bytes) -> str:
    """Return text, of whichever Unicode its first bytes tell: PowerShell's > writes UTF-16.

    In text of a code page, only words are lost. Raises UnicodeDecodeError for what is none.
    """
    is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    is_text = b"\0" not in data
    return data.decode("utf-16" if is_wide else "utf-8-sig",
                       "replace" if is_text else "strict")  # fmt: skip


def _sampled(streams: list[Stream]) -> list[Stream]:
    """Return the connections that have a sample: of one moment, nothing is known over time."""
    return [it for it in streams if len(it.time)]


# What a file is that has no flow: a pattern → in words.
_REASONS = {
    r"\s*\Z": "the file is empty",
    r'\s*\{(?s:.*)"error":\s*"([^"\n]{1,120})': "iperf3 failed: {}",
    r'\s*\{(?s:.*)"intervals"': "it has less than two intervals of TCP: iperf3 -t 10",
    r"\s*\{": "it is JSON, but neither iperf3's nor flent's",
    r"(?s:.*)seq=\d+ .*\btime": "it has one answer to ping: at least two are needed",
    r"(?s:.*)\bbytes_acked:": (
        "it has one sample of a connection, or no line with the time before each: "
        "`while sleep 0.2; do date +%s.%N; ss -ti dst SERVER; done`"
    ),
    r"(?s:.*)\b(?:ESTAB|cubic|bbr|wscale:)": "no connection of it has sent 100 kB",
}


def _reason(data: bytes) -> str:
    """Return what is wrong with a file that has no flow and no pings, "" if it is not known."""
    if capture.is_capture(data):
        return "no connection over TCP of it has 100 kB of data with its ACKs, or it is cut off"
    whole = _decoded(data)
    text = whole[: 2**20]
    if text.lstrip()[:1] == "{":
        try:
            json.loads(whole)
        except json.JSONDecodeError as error:
            return f"its JSON ends, or is wrong, at line {text.count(chr(10), 0, error.pos) + 1}"
    for pattern, words in _REASONS.items():
        if match := re.match(pattern, text):
            return words.format(*match.groups())
    return ""


def _of_text(source: str, text: str, option: str) -> Measurement:
    try:
        table = json.loads(text)
    except RecursionError:
        expected = "iperf3's JSON, whose tables are a few deep"
        hint = "its brackets are nested too deeply"
        raise ConfigError(Problem(option, source, expected, hint)) from None
    except ValueError:
        found = iperf2.read(source, text)
        if found.streams:
            return found
        streams, epoch, knows_way = ss.read(text)
        is_down = bool(streams) and streams[0].is_down
        return Measurement(
            source, streams, ping.read(text), is_down=is_down, epoch=epoch, knows_way=knows_way,
            counters=_counters(text),
        )  # fmt: skip
    for reader in (iperf3.read, flent.read, speedtest.read):
        found = reader(source, table)
        if found.streams or found.reverse:
            return found
    return Measurement(source, [], ping.of_mtr(table))


def _counters(text: str) -> dict[str, float]:
    """Return what nstat counted of TCP."""
    found = re.findall(r"^(Tcp(?:OutSegs|RetransSegs))\s+(\d{1,15})\s", text, re.M)
    return {name: float(value) for name, value in found}


def _unzipped(data: bytes) -> bytes:
    """Return unpacked data. Raises OSError: a small file may unpack to one without an end."""
    unpacker = zlib.decompressobj(wbits=31)
    found = unpacker.decompress(data, _MOST_BYTES + 1)
    if len(found) > _MOST_BYTES:
        raise OSError(errno.EFBIG, f"unpacked, it has more than {_MOST_BYTES >> 20} MiB")
    return found
