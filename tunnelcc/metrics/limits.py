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
    "stream_window": "stream's window",
    "connection_window": "connection's window",
    "send_window": "send window",
    "receive_window": "receive window",
    "congestion_window": "congestion window",
    "pacing": "pacing",
}

#: Those that congestion control sets.
CONGESTION_CONTROL = frozenset({"congestion_window", "pacing"})


def shares(times: Mapping[str, float]) -> dict[str, float]:
    """Return the share of each limit (``times``, s) in the time that the sender was active.

    Some limit holds from its start to its end. Shares are 0 if it was never active.
    """
    active = sum(times[name] for name in LIMITS)
    return {name: times[name] / active if active > 0 else 0.0 for name in LIMITS}


def largest(shares: Mapping[str, float]) -> tuple[str, float]:
    """Return the limit with the longest time, the first of equal ones, and its share."""
    return max(shares.items(), key=lambda it: it[1])
