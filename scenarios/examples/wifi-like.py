#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write wifi-like.csv: when one of four stations sends that share an 802.11n channel.

All four always have data. Whoever draws the shortest backoff sends an aggregate of 64 frames, the
most that a block ACK acknowledges; then all draw again. The numbers are those of IEEE 802.11 for
best effort in 5 GHz, 20 MHz, two streams, short guard interval (MCS 15). Collisions, lost frames
and changes of the rate are left out.
"""

from __future__ import annotations

import random
from pathlib import Path

STATIONS, DURATION = 4, 30_000_000  # µs

PHY_RATE = 144.4  # Mbit/s
FRAMES, IP_BYTES = 64, 1500
# QoS header 26, LLC 8, FCS 4; in the aggregate, a delimiter of 4, and all is a multiple of 4.
FRAME_BYTES = (IP_BYTES + 26 + 8 + 4 + 4 + 3) // 4 * 4

# µs. AIFS is SIFS and three slots; a backoff is of 0 to 15 slots (CWmin).
SLOT, SIFS, BACKOFF = 9, 16, 15
AIFS = SIFS + 3 * SLOT
PREAMBLE, BLOCK_ACK = 40, 32
AGGREGATE = round(8 * FRAMES * FRAME_BYTES / PHY_RATE)

IP_RATE = 8 * FRAMES * IP_BYTES / AGGREGATE  # Mbit/s, while it sends


def rows(seed: int = 1) -> list[tuple[float, float]]:
    """Return times (ms) and rates (Mbit/s) of the first station. The last rate stays."""
    draw, now, found = random.Random(seed), 0, [(0.0, 0.0)]
    while now < DURATION:
        slots = [draw.randint(0, BACKOFF) for _ in range(STATIONS)]
        begin = now + AIFS + SLOT * min(slots) + PREAMBLE
        end = begin + AGGREGATE
        winners = [station for station, it in enumerate(slots) if it == min(slots)]
        if draw.choice(winners) == 0:
            found += [(begin / 1000, IP_RATE), (end / 1000, 0.0)]
        now = end + SIFS + BLOCK_ACK
    return found[:-1]


def text() -> str:
    """Return the file's text."""
    lines = [f"{time:.3f},{rate:.4g}" for time, rate in rows()]
    return "\n".join(["time_ms,rate_Mbps", *lines, ""])


if __name__ == "__main__":
    Path(__file__).with_suffix(".csv").write_text(text())
