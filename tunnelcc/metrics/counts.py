# SPDX-License-Identifier: GPL-2.0-only
"""Ratios of counts."""

from __future__ import annotations

import math

NAN = float("nan")


def goodput(delivered_bytes: float, seconds: float) -> float:
    """Return application bytes that the receiver read per time, 8·B/t, in bit/s.

    RFC 2647, section 3.17: bits forwarded to the correct destination, without retransmissions.
    """
    return 8 * delivered_bytes / seconds if seconds > 0 else NAN


def ratio(part: float, whole: float) -> float:
    """Return part / whole, or NaN if the whole is 0."""
    return part / whole if whole > 0 else NAN


def retransmission_ratio(retransmits: float, segments: float) -> float:
    """Return retransmitted segments per data segment sent (retransmissions included), 0 to 1."""
    return ratio(retransmits, segments)


def loss_rate(lost: float, offered: float) -> float:
    """Return lost packets per packet offered to the path, 0 to 1 (RFC 7680, ratio form)."""
    return ratio(lost, offered)


def link_loss_rate(
    queue_drops: float, policer_drops: float | None, random_losses: float, offered: float
) -> float:
    """Return loss_rate() of a link. ``policer_drops``: None or NaN if it has no policer."""
    policed = 0 if policer_drops is None or math.isnan(policer_drops) else policer_drops
    return loss_rate(queue_drops + policed + random_losses, offered)


def efficiency(application_bytes: float, wire_bytes: float) -> float:
    """Return application bytes read per IP byte sent across the path, 0 to 1."""
    return ratio(application_bytes, wire_bytes)
