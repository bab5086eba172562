# SPDX-License-Identifier: GPL-2.0-only
"""Checks of KCP's carriers against kcptun and GOST: tests/reference/kcp-rates.csv.

Goodput and IP bytes for each byte read: means of the runs within 10 % where up to a tenth of the
datagrams is lost, within 20 % beyond. Nothing is fitted: the entries of the catalogue have what the
programs' source has.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from tunnelcc.config import Experiment
from tunnelcc.validation.check import Case, Check
from tunnelcc.validation.compare import MeanNear
from tunnelcc.validation.measure import Measurement

TABLE = Path(__file__).parents[1] / "reference" / "kcp-rates.csv"

_WINDOWS = {"client_send_window": 1024, "client_receive_window": 1024}
_FAST2 = {"name": "kcptun", "mode": "fast2", "kcp": _WINDOWS}
#: Setup of the table → direction and tunnel.
SETUPS: dict[str, tuple[str, dict[str, Any]]] = {
    "kcptun, up": ("up", {"name": "kcptun"}),
    "kcptun, down": ("down", {"name": "kcptun"}),
    "kcptun fast2 1024": ("up", _FAST2),
    "kcptun fast2 1024, no FEC": ("up", {**_FAST2, "fec": "none"}),
    "gost relay+kcp": ("up", {"name": "gost-kcp-unset"}),
    "gost relay+kcp fast 1024": ("up", {"name": "gost-kcp"}),
}
# As kcp.py has the link.
_RATE, _QUEUE, _WARMUP, _DURATION = "100Mbps", "2000p", "2s", "20s"
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
    "programs/kcp-goodput/gost-relay-kcp/50ms/0%": 30,
    "programs/kcp-goodput/gost-relay-kcp/50ms/3%": 40,
    "programs/kcp-goodput/gost-relay-kcp/200ms/0%": 75,
    "programs/kcp-goodput/gost-relay-kcp/200ms/15%": 30,
    "programs/kcp-goodput/gost-relay-kcp/200ms/30%": 55,
    "programs/kcp-bytes/gost-relay-kcp/200ms/30%": 90,
}


@dataclass(frozen=True)
class Cell:
    """A setup under a condition; ``loss``: in either direction. Its runs' rows."""

    setup: str
    rtt: float  # ms
    loss: float
    rows: tuple[dict[str, str], ...]

    @property
    def name(self) -> str:
        setup = re.sub(r"[^a-z0-9]+", "-", self.setup.lower()).strip("-")
        return f"{setup}/{self.rtt:g}ms/{100 * self.loss:g}%"

    @property
    def is_unset(self) -> bool:
        """Whether GOST was not given KCP's options."""
        return self.setup == "gost relay+kcp"

    @property
    def goodput(self) -> float:
        """Mbit/s."""
        return fmean(float(row["goodput_mbps"]) for row in self.rows)

    @property
    def ip_bytes(self) -> float:
        """For each byte read."""
        return fmean(float(row["ip_bytes"]) / float(row["bytes"]) for row in self.rows)


def cells() -> list[Cell]:
    """Return what was measured."""
    found: dict[tuple[str, float, float], list[dict[str, str]]] = {}
    with TABLE.open(newline="") as file:
        for row in csv.DictReader(file):
            key = (row["setup"], float(row["rtt_ms"]), float(row["loss"]))
            found.setdefault(key, []).append(row)
    return [Cell(*key, tuple(rows)) for key, rows in found.items()]


def checks() -> Iterator[Check]:
    """Yield a check of the goodput and one of the bytes of each cell."""
    for cell in cells():
        case = _case(cell)
        tolerance = _TOLERANCES[cell.loss > _LITTLE]
        for what, measure, target, unit in (
            ("goodput", _goodput, cell.goodput, "Mbit/s"),
            ("bytes", _ip_bytes, cell.ip_bytes, "IP bytes a byte"),
        ):
            name = f"programs/kcp-{what}/{cell.name}"
            yield Check(
                name,
                f"{what} of KCP's carriers",
                "GOST" if cell.setup.startswith("gost") else "kcptun",
                f"{cell.setup}, {cell.rtt:g} ms, {100 * cell.loss:g} % lost in either direction",
                (case,),
                measure,
                MeanNear(target, tolerance, unit=unit),
                cause=_UNSET if cell.is_unset else "",
                known_off=_KNOWN_OFF.get(name),
            )


def _case(cell: Cell) -> Case:
    direction, tunnel = SETUPS[cell.setup]
    experiment = Experiment.parse(
        {
            "path": {
                "rate": _RATE,
                "rtt": f"{cell.rtt:g}ms",
                "buffer": _QUEUE,
                "loss": cell.loss,
                "reverse_loss": cell.loss,
            },
            "flows": {"cc": "cubic"},
            "tunnel": tunnel,
            "direction": direction,
            "warmup": _WARMUP,
            "duration": _DURATION,
            "hosts": {"speed": 50},  # the CPU was no limit
        }
    )
    return Case(f"kcp {cell.name}", (experiment,), _UNSET_SEEDS if cell.is_unset else _SEEDS)


def _goodput(runs: Sequence[Sequence[Measurement]]) -> list[float]:
    return [run.goodput for run in runs[0]]


def _ip_bytes(runs: Sequence[Sequence[Measurement]]) -> list[float]:
    return [run.ip_bytes for run in runs[0]]
