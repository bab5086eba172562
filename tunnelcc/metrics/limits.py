# SPDX-License-Identifier: GPL-2.0-only
"""What limits a sender: shares of time, like Linux's tcpi_*_limited."""

from __future__ import annotations

from collections.abc import Mapping

#: Limit → in words. Names are those of LimitTimes in models/probe/experiment-result.h.
LIMITS = {
    "handshake": "handshake",
    "application": "application",
    "cpu": "CPU",
    "send_buffer": "send buffer",
    "receive_window": "receive window",
    "congestion_window": "congestion window",
    "pacing": "pacing",
}

#: Those that congestion control sets.
CONGESTION_CONTROL = frozenset({"congestion_window", "pacing"})


def shares(times: Mapping[str, float], measured_time: float) -> dict[str, float]:
    """Return the share of ``measured_time`` (s) of each limit (``times``, s)."""
    return {name: times[name] / measured_time for name in LIMITS}


def largest(shares: Mapping[str, float]) -> tuple[str, float]:
    """Return the limit with the longest time, and its share."""
    name = max(LIMITS, key=lambda name: shares[name])
    return name, shares[name]
