# SPDX-License-Identifier: GPL-2.0-only
"""Results of speed tests as JSON: Ookla's ``speedtest -f json``, speedtest-cli, librespeed-cli.

They tell means of several connections, so each direction is one stream of two equal samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tunnelcc.formats.measurement import Measurement, Pings, Stream, number, table_of

_SECONDS = 10.0  # where a file tells no length


def read(source: str, table: Any) -> Measurement:
    """Return both directions of a speed test, the download first; none if it is something else."""
    if isinstance(table, list) and table:
        table = table[0]
    table = table_of(table)
    down, up = table_of(table.get("download")), table_of(table.get("upload"))
    ping = table_of(table.get("ping"))
    if down or up:  # Ookla's: bytes per second, ms
        ways = [(it, 8 * number(it.get("bandwidth")), number(it.get("elapsed")) / 1e3)
                for it in (down, up)]  # fmt: skip
        loaded = [number(table_of(it.get("latency")).get("iqm")) for it in (down, up)]
        idle = [number(ping.get(key)) for key in ("low", "latency", "high")]
    else:  # Mbit/s (librespeed), or bit/s
        scale = 1e6 if "jitter" in table else 1.0
        ways = [({}, scale * number(table.get(key)), _SECONDS) for key in ("download", "upload")]
        loaded = [np.nan, np.nan]
        idle = [number(table.get("ping"))] * 3
    streams = []
    for (_, rate, seconds), latency, is_down in zip(ways, loaded, (True, False), strict=True):
        seconds = seconds if 1 <= seconds <= 3600 else _SECONDS
        if not rate > 0:
            continue
        nothing = np.full(2, np.nan)
        rtt = np.full(2, latency / 1e3 if latency > 0 else np.nan)
        time = np.array([seconds / 2, seconds])
        streams.append(
            Stream("download" if is_down else "upload", time, np.full(2, rate), rtt, nothing,
                   nothing, is_down=is_down, counted="mean")
        )  # fmt: skip
    rtts = np.array(idle) / 1e3
    known = np.isfinite(rtts).all() and rtts[0] > 0
    pings = Pings(rtts, 10, is_summary=True, is_loaded=False) if known else None
    if not streams:
        return Measurement(source)
    first, *more = streams
    return Measurement(source, [first], pings, is_down=first.is_down, knows_way=True, reverse=more)
