# SPDX-License-Identifier: GPL-2.0-only
"""Output of ``ping`` (iputils, BusyBox, macOS): RTTs, and which answers are missing."""

from __future__ import annotations

import re

import numpy as np

from tunnelcc.formats.measurement import Pings

_ANSWER = re.compile(r"seq=(\d{1,9})\b.*?\btime[=<](\d{1,9}(?:\.\d{1,9})?) ?ms")
_COUNTS = re.compile(r"^(\d{1,9}) packets transmitted, \d{1,9} (?:packets )?received", re.M)
_LONGEST_LINE = 4096


def read(text: str) -> Pings | None:
    """Return the pings of a text; None if it has fewer than two answers.

    Duplicates count once. Without the last lines of ping, what is missing between the first and the
    last answer is lost.
    """
    rtts: dict[int, float] = {}
    for line in text.splitlines():
        if len(line) <= _LONGEST_LINE and (match := _ANSWER.search(line)):
            rtts.setdefault(int(match[1]), float(match[2]) / 1e3)
    if len(rtts) < 2:
        return None
    counts = _COUNTS.search(text[-_LONGEST_LINE:])
    sent = int(counts[1]) if counts else max(rtts) - min(rtts) + 1
    return Pings(np.array([*rtts.values()]), max(sent, len(rtts)))
