# SPDX-License-Identifier: GPL-2.0-only
"""Logs of ``ss -ti``: a line with the time (seconds, ``date +%s.%N``), then the output of ss."""

from __future__ import annotations

import re

import numpy as np

from tunnelcc.formats.measurement import LARGEST, Stream, check_clock, segment_size

_TIME = re.compile(r"\s*(\d{1,12}(?:\.\d{1,9})?)\s*")
_ADDRESSES = re.compile(r"(?:\S+\s+)?\d+\s+\d+\s+(\S+:(\S+))\s+(\S+:(\S+))")
_NUMBER = r"(\d{1,18}(?:\.\d{1,9})?)"
# Columns of a sample, and what a total is at the end.
_FIELDS = {
    "acked": re.compile(rf"\bbytes_acked:{_NUMBER}"),
    "received": re.compile(rf"\bbytes_received:{_NUMBER}"),
    "delivered": re.compile(rf"\bdelivered:{_NUMBER}"),
    "rtt": re.compile(rf"\brtt:{_NUMBER}/"),
    "heard": re.compile(rf"\brcv_rtt:{_NUMBER}"),
    "cwnd": re.compile(rf"\bcwnd:{_NUMBER}"),
    "resent": re.compile(r"\bretrans:\d+/(\d+)"),
    "window": re.compile(rf"\bsnd_wnd:{_NUMBER}"),
    "rate": re.compile(rf"\bdelivery_rate {_NUMBER}(?=bps)"),
}  # fmt: skip
_MIN_RTT = re.compile(rf"\bminrtt:{_NUMBER}")
_MSS = re.compile(rf"\bmss:{_NUMBER}")
_BYTES_SENT = re.compile(rf"\bbytes_sent:{_NUMBER}")
_SEGMENTS_SENT = re.compile(rf"\bdata_segs_out:{_NUMBER}")
_RECEIVED_MSS = re.compile(rf"\brcvmss:{_NUMBER}")
# The name of the congestion control is the first word of the line, behind flags.
_CONGESTION = re.compile(r"^\s+(?:(?:ts|sack|ecn|ecnseen|fastopen|cookie)\s+)*([a-z]\w*)\s+wscale:")
_WAITS = {
    "receive_window": re.compile(rf"\brwnd_limited:\d+ms\({_NUMBER}%\)"),
    "send_buffer": re.compile(rf"\bsndbuf_limited:\d+ms\({_NUMBER}%\)"),
}
# Longer lines and numbers are none of ss.
_LONGEST_LINE = 4096
# With less than this, a connection is one of control: iperf3 has one, too.
_LEAST_BYTES = 100_000
# Data begin after more than this: iperf3's cookie is less.
_FIRST_BYTES = 1000

Sample = dict[str, float]


def read(text: str) -> tuple[list[Stream], float, bool]:
    """Return the connections that send or receive, when their log began (s since 1970; NaN), and
    whether it is plain which end is the server. Raises ClockError.

    A sender's samples have what was delivered since the last, a receiver's what has arrived. Other
    text gives none.
    """
    samples: dict[str, list[Sample]] = {}
    last: dict[str, str] = {}
    ports: dict[str, tuple[str, str]] = {}
    moment, name = None, ""
    for place, line in enumerate(text.splitlines(), 1):
        if len(line) > _LONGEST_LINE:
            continue
        if match := _TIME.fullmatch(line):
            moment = float(match[1])
        elif match := _ADDRESSES.match(line):
            name = f"{match[1]} → {match[3]}"
            ports[name] = match[2], match[4]
        if moment is not None and name and re.search(r"\bbytes_(?:acked|received):", line):
            found = {key: _found(pattern, line) for key, pattern in _FIELDS.items()}
            rows = samples.setdefault(name, [])
            if rows:
                check_clock(f"line {place}", rows[-1]["time"], moment)
            rows.append({"time": moment, **found})
            last[name] = line
            name = ""
    of_ways = {"acked": list[str](), "received": list[str]()}
    for key, rows in samples.items():
        if len(rows) > 1:
            for way, names in of_ways.items():
                if np.nan_to_num(rows[-1][way]) >= _LEAST_BYTES:
                    names.append(key)
    # One end sends what the other receives: a file of both is one of the sender.
    way = "acked" if of_ways["acked"] else "received"
    names = of_ways[way]
    begin = min((_begin(samples[key], way) for key in names), default=np.nan)
    servers = {_is_server(*ports[key]) for key in names}
    is_server = servers == {True}
    streams = [
        _stream(key, samples[key], begin, last[key], way, is_down=is_server is (way == "acked"))
        for key in names
    ]
    return streams, float(begin), None not in servers and len(servers) == 1


def _is_server(local: str, peer: str) -> bool | None:
    """Return whether this end has the server's port: the lower one. None: it is not plain."""
    if not (local.isdecimal() and peer.isdecimal()):
        return None if local.isdecimal() == peer.isdecimal() else peer.isdecimal()
    ours, theirs = int(local), int(peer)
    return None if min(ours, theirs) >= 32768 else ours < theirs


def _found(pattern: re.Pattern[str], line: str, otherwise: float = float("nan")) -> float:
    match = pattern.search(line)
    return float(match[1]) if match else otherwise


def _begin(rows: list[Sample], way: str) -> float:
    """Return the time of the last sample before data."""
    times = [it["time"] for it in rows if not it[way] > _FIRST_BYTES]
    return max(times) if times else min(it["time"] for it in rows)


def _stream(
    name: str, rows: list[Sample], begin: float, line: str, way: str, *, is_down: bool
) -> Stream:
    """Return a connection. ``line``: the last of ss, whose totals count from the start."""
    moment = np.array([it["time"] for it in rows])
    columns = {key: np.array([it[key] for it in rows]) for key in _FIELDS}
    kept = np.concatenate([[True], np.diff(moment) > 0]) & (moment >= begin)
    moment = moment[kept]
    columns = {key: it[kept] for key, it in columns.items()}
    count = columns[way]
    delivered = columns["delivered"]
    if way == "acked" and np.isfinite(delivered).all() and delivered[-1] > 0:
        # Segments that were acknowledged or SACKed: ACKs alone stand still while a hole is filled.
        sent, segments = _found(_BYTES_SENT, line), _found(_SEGMENTS_SENT, line)
        size = sent / segments if segments > 0 else count[-1] / delivered[-1]
        if 0 < size <= LARGEST:
            count = delivered * size
    spans = np.diff(moment)
    rates = np.divide(8 * np.diff(count), spans, out=np.zeros_like(spans), where=spans > 0)
    rates = np.maximum(np.nan_to_num(rates), 0.0)
    least = _found(_MIN_RTT, line) / 1e3
    if way == "received":
        nothing = np.full(len(rates), np.nan)
        return Stream(
            name, moment[1:] - begin, rates, columns["heard"][1:] / 1e3, nothing, nothing,
            min_rtt=least,
            mss=segment_size(_found(_RECEIVED_MSS, line)), counted="received", is_down=is_down,
            start=float(moment[0] - begin),
        )  # fmt: skip
    congestion = _CONGESTION.match(line)
    waits = {it: _found(pattern, line, 0.0) / 100 for it, pattern in _WAITS.items()}
    return Stream(
        name, moment[1:] - begin, rates, columns["rtt"][1:] / 1e3, columns["cwnd"][1:],
        np.nan_to_num(columns["resent"][1:]), columns["window"][1:], least, waits,
        congestion[1] if congestion else "", segment_size(_found(_MSS, line)), is_down=is_down,
        start=float(moment[0] - begin), delivery=columns["rate"][1:],
    )  # fmt: skip
