# SPDX-License-Identifier: GPL-2.0-only
"""Checks of KCP's carriers against kcptun and GOST: tests/reference/kcp-rates.csv.

Goodput and IP bytes for each byte read: means of the runs within 10 % where up to a tenth of the
datagrams is lost, within 20 % beyond. Nothing is fitted: the entries of the catalogue have what the
programs' source has.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from validation.carriers import REFERENCE, Comparison, Known, cells
from validation.check import Check

TABLE = REFERENCE / "kcp-rates.csv"

_WINDOWS = {"client_send_window": 1024, "client_receive_window": 1024}
_FAST2 = {"name": "kcptun", "mode": "fast2", "kcp": _WINDOWS}
#: Setup of the table → direction and tunnel.
SETUPS: dict[str, tuple[str, dict[str, Any]]] = {
    "kcptun, up": ("up", {"name": "kcptun"}),
    "kcptun, down": ("down", {"name": "kcptun"}),
    "kcptun 2021, up": ("up", {"name": "kcptun-2021"}),
    "kcptun fast2 1024": ("up", _FAST2),
    "kcptun fast2 1024, no FEC": ("up", {**_FAST2, "fec": "none"}),
    "gost relay+kcp": ("up", {"name": "gost-kcp-unset"}),
    "gost relay+kcp fast 1024": ("up", {"name": "gost-kcp"}),
}
# Without GOST's options, a run with losses reads a few blocks only: its mean needs more runs.
_SEEDS, _UNSET_SEEDS = 5, 25
# Up to this loss the tolerance is the first, beyond it the second.
_LITTLE = 0.1
_TOLERANCES = (0.1, 0.2)
_UNSET = """\
A window of 32 packets leaves as one burst and is acknowledged as one: here by one datagram a \
round trip, with which the next burst leaves. The real program's threads are late by some \
milliseconds, which spreads the bursts over the clock's ticks of 10 ms: it sends three to four \
times as many acknowledgements, with each of which its congestion window grows. At 200 ms they \
vary the RTT by more than the 10 ms that the time-out has above it, and time-outs shrink the \
window. A path that is late by 3 ms in the mean (half-normal) has 5.2 Mbit/s here at 50 ms \
(measured: 5.9) and 0.3 to 1.1 at 200 ms (measured: 0.4), with 0.015 and 0.018 bytes of \
acknowledgements a byte (measured: 0.013 and 0.014). With 30 % lost at 200 ms, all that comes in \
18 s are 50 to 100 kB."""

#: Check → how far off (%) it is known to be, for that reason.
_KNOWN_OFF = {
    "programs/kcp-goodput/gost-relay-kcp/50ms/0%": 28,
    "programs/kcp-goodput/gost-relay-kcp/50ms/3%": 34,
    "programs/kcp-goodput/gost-relay-kcp/200ms/0%": 41,
    "programs/kcp-goodput/gost-relay-kcp/200ms/30%": 38,
    "programs/kcp-bytes/gost-relay-kcp/200ms/30%": 42,
}


def checks() -> Iterator[Check]:
    """Yield a check of the goodput and one of the bytes of each cell."""
    for cell in cells(TABLE):
        direction, tunnel = SETUPS[cell.setup]
        is_unset = cell.setup == "gost relay+kcp"  # GOST was not given KCP's options
        yield from Comparison(
            cell,
            {"tunnel": tunnel, "direction": direction},
            _UNSET_SEEDS if is_unset else _SEEDS,
            _TOLERANCES[cell.loss > _LITTLE],
        ).checks(
            "KCP",
            "GOST" if cell.setup.startswith("gost") else "kcptun",
            {name: Known(off, _UNSET) for name, off in _KNOWN_OFF.items()},
        )
