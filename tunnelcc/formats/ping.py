# SPDX-License-Identifier: GPL-2.0-only
"""Output of ``ping`` (Linux, macOS, Windows), ``fping``, ``mtr``: RTTs, and what is missing."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from tunnelcc.formats.measurement import Pings, check_clock, list_of, number, table_of

_NUMBER = r"(\d{1,9}(?:\.\d{1,9})?)"
_AT = r"^(?:\[(?P<at>\d{1,12}(?:\.\d{1,9})?)\] )?"
_ANSWER = re.compile(rf"{_AT}.*?seq=(?P<seq>\d{{1,9}})\b.*?\btime[=<](?P<ms>{_NUMBER}) ?ms")
_FPING = re.compile(rf"{_AT}\S+ +: \[(?P<seq>\d{{1,9}})\], \d+ bytes, (?P<ms>{_NUMBER}) ms")
_MISSING = re.compile(r"^(?:\[[\d.]+\] )?\S+ +: \[(?P<seq>\d{1,9})\], timed out")
_COUNTS = re.compile(r"^(\d{1,9}) packets transmitted, \d{1,9} (?:packets )?received", re.M)
_FPING_COUNTS = re.compile(r"xmt/rcv/%loss = (\d{1,9})/(\d{1,9})/")
# A hop of `mtr --report`: loss, sent, last, mean, best, worst.
_HOP = re.compile(
    rf"^\s*\d+\.\|-- \S+ +{_NUMBER}% +(\d{{1,9}}) +{_NUMBER} +{_NUMBER} +{_NUMBER} +{_NUMBER} "
)
_RAW = re.compile(r"^p (\d{1,3}) (\d{1,9}) \d+$")
# Windows' answers have no number, and are in the user's language, if not in its code page.
_WINDOWS = re.compile(r": .*[=<](\d{1,9}) ?(?:\S{1,6} TTL=\d{1,3}|ms)\s*$")
_WINDOWS_COUNTS = re.compile(
    r"= ?(\d{1,9})\D{1,40}= ?(\d{1,9})\D{1,40}= ?\d{1,9}\s{1,9}\([^)]{0,40}%"
)
_ALL_COUNTS = _COUNTS, _FPING_COUNTS, _WINDOWS_COUNTS
_LONGEST_LINE = 4096


def read(text: str) -> Pings | None:
    """Return the pings of a text; None if it has fewer than two answers.

    Duplicates count once. Without the last lines of ping, what is missing between the first and the
    last answer is lost. Raises ClockError.
    """
    latest = math.nan
    rtts: dict[int, float] = {}
    times: dict[int, float] = {}
    hop: re.Match[str] | None = None
    raw: dict[int, list[float]] = {}
    missing: set[int] = set()
    for row, line in enumerate(text.splitlines(), 1):
        if len(line) > _LONGEST_LINE:
            continue
        if match := _ANSWER.search(line) or _FPING.search(line):
            place = int(match["seq"])
            rtts.setdefault(place, float(match["ms"]) / 1e3)
            if match["at"]:
                at = float(match["at"])
                if times:
                    check_clock(f"line {row}", latest, at)
                latest = at
                times.setdefault(place, at)
        elif match := _MISSING.search(line):
            missing.add(int(match["seq"]))
        elif match := _HOP.search(line):
            hop = match
        elif match := _WINDOWS.search(line):
            rtts[len(rtts)] = float(match[1]) / 1e3
        elif match := _RAW.search(line):
            raw.setdefault(int(match[1]), []).append(float(match[2]) / 1e6)
    if len(rtts) >= 2:
        tail = text[-_LONGEST_LINE:]
        counts = next(filter(None, (it.search(tail) for it in _ALL_COUNTS)), None)
        sent = int(counts[1]) if counts else max({*rtts} | missing) - min({*rtts} | missing) + 1
        known = np.array([*times.values()]) if times.keys() == rtts.keys() else np.empty(0)
        return Pings(np.array([*rtts.values()]), max(sent, len(rtts)), known)
    if hop is not None:  # the last one is the other end
        _, sent_, _, mean, best, worst = hop.groups()
        return _summary([float(best), float(mean), float(worst)], int(sent_))
    if answered := [hop_ for hop_, it in raw.items() if len(it) >= 2]:
        last = raw[max(answered)]
        return Pings(np.array(last), len(last))
    return None


def of_mtr(table: Any) -> Pings | None:
    """Return what ``mtr --json`` tells of its last hop; None if the table is something else."""
    hubs = list_of(table_of(table_of(table).get("report")).get("hubs"))
    if not hubs:
        return None
    hub = table_of(hubs[-1])
    sent = number(hub.get("Snt"), 0)
    return _summary([number(hub.get(key)) for key in ("Best", "Avg", "Wrst")], int(max(sent, 0)))


def _summary(milliseconds: list[float], sent: int) -> Pings | None:
    rtts = np.array(milliseconds) / 1e3
    if sent < 2 or not np.isfinite(rtts).all() or not rtts[0] > 0 or not rtts[0] <= rtts[2]:
        return None
    return Pings(rtts, sent, is_summary=True)
