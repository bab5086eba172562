# SPDX-License-Identifier: GPL-2.0-only
"""Output of iperf 2 (``iperf -c``, ``iperf -s``; also ``-e``): what it wrote or read over time."""

from __future__ import annotations

import re

import numpy as np

from tunnelcc.formats.measurement import Measurement, Stream, segment_size

_NUMBER = r"(\d{1,12}(?:\.\d{1,9})?)"
_INTERVAL = re.compile(
    rf"^\[ *(\*?\d{{1,6}})\] +{_NUMBER} ?- ?{_NUMBER} sec +{_NUMBER} ([KMG]?)Bytes +"
    rf"{_NUMBER} ([KMG]?)bits/sec(.*)$"
)
# Of -e, a sender over TCP: writes, retransmissions, window and smoothed RTT.
_DETAILS = re.compile(r"^ +\d+/\d+ +(\d{1,9}) +(\d{1,9})K/(\d{1,9})(?:\(\d+\))? us")
_MSS = re.compile(r"icwnd/mss/irtt=\d+/(\d{1,5})/(\d{1,9})")
_SCALE = {"": 1.0, "K": 1024.0, "M": 1024.0**2, "G": 1024.0**3}
_LOST = re.compile(rf"{_NUMBER} ms +(\d{{1,9}})/ *(\d{{1,9}}) ")


def read(source: str, text: str) -> Measurement:
    """Return the streams of an output; none if the text is something else."""
    if "connected with" not in text or "bits/sec" not in text:
        return Measurement(source)
    rows: dict[str, list[tuple[float, float, float, float, float, float]]] = {}
    counts: dict[str, tuple[float, float]] = {}
    for line in text.splitlines():
        if len(line) > 4096 or not (match := _INTERVAL.match(line)):
            continue
        name, first, last = match[1], float(match[2]), float(match[3])
        if told := _LOST.search(match[8]):
            counts[name] = float(told[2]), float(told[3])
        more = _DETAILS.match(match[8])
        details = (float(more[1]), 1024 * float(more[2]), float(more[3]) / 1e6) if more else (
            np.nan, np.nan, np.nan)  # fmt: skip
        size = float(match[4]) * _SCALE[match[5]]
        if last > first:
            rows.setdefault(name, []).append((first, last, size, *details))
    is_server = "Server listening" in text
    is_datagrams = "UDP port" in text
    sizes = _MSS.search(text)
    mss = segment_size(float(sizes[1])) if sizes else segment_size(np.nan)
    streams = []
    for name, samples in rows.items():
        # The last line is of the whole.
        steps = [it for it in samples if it[0] > 0 or it is samples[0]]
        if len(steps) < 2:
            continue
        first, last, size, resent, cwnd, rtt = np.array(steps).T
        kept = np.concatenate([[True], np.diff(last) > 0])
        if kept.sum() < 2:
            continue
        lost, sent = counts.get(name, (np.nan, np.nan))
        offered = 8 * np.sum(size) / last[-1] if is_datagrams and not is_server else np.nan
        streams.append(
            Stream(
                name, last[kept], (8 * size / (last - first))[kept],
                np.where(rtt > 0, rtt, np.nan)[kept], (cwnd / mss)[kept], np.cumsum(resent)[kept],
                mss=mss, counted="received" if is_server else "written",
                is_datagrams=is_datagrams, offered=offered,
                lost=lost / sent if sent > 0 else np.nan,
                grain=131072.0,  # of iperf 2, by default
            )
        )  # fmt: skip
    return Measurement(source, streams, knows_way=True)
