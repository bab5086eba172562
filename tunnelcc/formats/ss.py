# SPDX-License-Identifier: GPL-2.0-only
"""Logs of ``ss -ti``: a line with the time (seconds, ``date +%s.%N``), then the output of ss."""

from __future__ import annotations

import re

import numpy as np

from tunnelcc.formats.measurement import Stream

_TIME = re.compile(r"\s*(\d+(?:\.\d+)?)\s*")
_ADDRESSES = re.compile(r"(?:\S+\s+)?\d+\s+\d+\s+(\S+:\S+)\s+(\S+:\S+)")
_NUMBER = r"(\d+(?:\.\d+)?)"
_ACKED = re.compile(rf"\bbytes_acked:{_NUMBER}")
_RTT = re.compile(rf"\brtt:{_NUMBER}/")
_CWND = re.compile(rf"\bcwnd:{_NUMBER}")
_RETRANSMITS = re.compile(r"\bretrans:\d+/(\d+)")
# With less than this acknowledged, a connection is one of control: iperf3 has one, too.
_LEAST_ACKED = 100_000

Sample = tuple[float, float, float, float, float]


def read(text: str) -> list[Stream]:
    """Return the connections that send, each with samples of the acknowledged bytes since the last.

    Other text gives none.
    """
    samples: dict[str, list[Sample]] = {}
    moment, name = None, ""
    for line in text.splitlines():
        if match := _TIME.fullmatch(line):
            moment = float(match[1])
        elif match := _ADDRESSES.match(line):
            name = f"{match[1]} → {match[2]}"
        if moment is not None and name and (acked := _ACKED.search(line)):
            sample = (moment, float(acked[1]), *_details(line))
            samples.setdefault(name, []).append(sample)
            name = ""
    sending = {key: it for key, it in samples.items() if it[-1][1] >= _LEAST_ACKED and len(it) > 1}
    begin = min((it[0][0] for it in sending.values()), default=0.0)
    return [_stream(key, it, begin) for key, it in sending.items()]


def _details(line: str) -> tuple[float, float, float]:
    """Return RTT (s), window (segments) and retransmissions so far; NaN and 0 if missing."""
    rtt, cwnd, retransmits = (it.search(line) for it in (_RTT, _CWND, _RETRANSMITS))
    return (
        float(rtt[1]) / 1e3 if rtt else float("nan"),
        float(cwnd[1]) if cwnd else float("nan"),
        float(retransmits[1]) if retransmits else 0.0,
    )


def _stream(name: str, samples: list[Sample], begin: float) -> Stream:
    moment, acked, rtt, cwnd, retransmits = np.array(sorted(samples)).T
    spans = np.diff(moment)
    rates = np.divide(8 * np.diff(acked), spans, out=np.zeros_like(spans), where=spans > 0)
    return Stream(name, moment[1:] - begin, rates, rtt[1:], cwnd[1:], retransmits[1:])
