# SPDX-License-Identifier: GPL-2.0-only
"""Logs of ``ss -ti``: a line with the time (seconds, ``date +%s.%N``), then the output of ss."""

from __future__ import annotations

import re

import numpy as np

from tunnelcc.formats.measurement import Stream, segment_size

_TIME = re.compile(r"\s*(\d{1,12}(?:\.\d{1,9})?)\s*")
_ADDRESSES = re.compile(r"(?:\S+\s+)?\d+\s+\d+\s+(\S+:\S+)\s+(\S+:\S+)")
_NUMBER = r"(\d{1,18}(?:\.\d{1,9})?)"
_ACKED = re.compile(rf"\bbytes_acked:{_NUMBER}")
_RTT = re.compile(rf"\brtt:{_NUMBER}/")
_CWND = re.compile(rf"\bcwnd:{_NUMBER}")
_RETRANSMITS = re.compile(r"\bretrans:\d+/(\d+)")
_WINDOW = re.compile(rf"\bsnd_wnd:{_NUMBER}")
_MIN_RTT = re.compile(rf"\bminrtt:{_NUMBER}")
_MSS = re.compile(rf"\bmss:{_NUMBER}")
# The name of the congestion control is the first word of the line, behind flags.
_CONGESTION = re.compile(r"^\s+(?:(?:ts|sack|ecn|ecnseen|fastopen|cookie)\s+)*([a-z]\w*)\s+wscale:")
_WAITS = {
    "receive_window": re.compile(rf"\brwnd_limited:\d+ms\({_NUMBER}%\)"),
    "send_buffer": re.compile(rf"\bsndbuf_limited:\d+ms\({_NUMBER}%\)"),
}
# Longer lines and numbers are none of ss.
_LONGEST_LINE = 4096
# With less than this acknowledged, a connection is one of control: iperf3 has one, too.
_LEAST_ACKED = 100_000

Sample = tuple[float, float, float, float, float, float]


def read(text: str) -> list[Stream]:
    """Return the connections that send, each with samples of the acknowledged bytes since the last.

    Other text gives none.
    """
    samples: dict[str, list[Sample]] = {}
    last: dict[str, str] = {}
    moment, name = None, ""
    for line in text.splitlines():
        if len(line) > _LONGEST_LINE:
            continue
        if match := _TIME.fullmatch(line):
            moment = float(match[1])
        elif match := _ADDRESSES.match(line):
            name = f"{match[1]} → {match[2]}"
        if moment is not None and name and (acked := _ACKED.search(line)):
            sample = (moment, float(acked[1]), *_details(line))
            samples.setdefault(name, []).append(sample)
            last[name] = line
            name = ""
    sending = {key: it for key, it in samples.items() if it[-1][1] >= _LEAST_ACKED and len(it) > 1}
    begin = min((it[0][0] for it in sending.values()), default=0.0)
    return [_stream(key, it, begin, last[key]) for key, it in sending.items()]


def _found(pattern: re.Pattern[str], line: str, otherwise: float = float("nan")) -> float:
    match = pattern.search(line)
    return float(match[1]) if match else otherwise


def _details(line: str) -> tuple[float, float, float, float]:
    """Return RTT (s), window (segments), retransmissions so far, and the receiver's window (bytes).

    NaN and 0 if missing.
    """
    return (
        _found(_RTT, line) / 1e3, _found(_CWND, line), _found(_RETRANSMITS, line, 0.0),
        _found(_WINDOW, line),
    )  # fmt: skip


def _stream(name: str, samples: list[Sample], begin: float, line: str) -> Stream:
    """Return a connection. ``line``: the last of ss, whose totals count from the start."""
    moment, acked, rtt, cwnd, retransmits, window = np.array(sorted(samples)).T
    spans = np.diff(moment)
    rates = np.divide(8 * np.diff(acked), spans, out=np.zeros_like(spans), where=spans > 0)
    congestion = _CONGESTION.match(line)
    waits = {it: _found(pattern, line, 0.0) / 100 for it, pattern in _WAITS.items()}
    return Stream(
        name, moment[1:] - begin, rates, rtt[1:], cwnd[1:], retransmits[1:], window[1:],
        _found(_MIN_RTT, line) / 1e3, waits, congestion[1] if congestion else "",
        segment_size(_found(_MSS, line)),
    )  # fmt: skip
