# SPDX-License-Identifier: GPL-2.0-only
"""What was identified, simulated beside the program on paths that no question used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import tunnelcc as tc

#: Rate, RTT and buffer.
PATHS = (
    ("5Mbps", "60ms", "1bdp"), ("20Mbps", "40ms", "1bdp"), ("50Mbps", "30ms", "2bdp"),
    ("10Mbps", "160ms", "1bdp"), ("100Mbps", "10ms", "4bdp"), ("20Mbps", "80ms", "0.5bdp"),
)  # fmt: skip
#: An entry that misses by more is not identified.
MOST_MISS = 0.1
_SECONDS, _WARMUP, _MESSAGE = 8, 2, 20_000


@dataclass(frozen=True)
class Row:
    """One number on one path: of the program, and simulated."""

    path: str
    name: str
    program: float
    simulated: float

    @property
    def miss(self) -> float:
        """How much the simulation differs, as a part of the program's number."""
        return abs(self.simulated / self.program - 1)


def compare(
    server: str, client: str, file: Path, tell: Callable[[str], object], paths: int = len(PATHS)
) -> list[Row]:
    """Return goodput, the time of a message and IP bytes per byte, of both, on six paths."""
    rows = []
    for rate, rtt, buffer in PATHS[:paths]:
        name = f"{rate} × {rtt}, {buffer}"
        tell(f"beside the program: {name}")
        path = tc.Path(rate=rate, rtt=rtt, buffer=buffer)
        asked = tc.ask_program(
            path, server, client, ["message", "bulk"], seconds=60, lasts=_SECONDS, message=_MESSAGE
        ).found
        bulk = asked["bulk"]
        since = next((time, read) for time, read in bulk["marks"] if time >= _WARMUP)
        until = bulk["marks"][-1]
        goodput = 8 * (until[1] - since[1]) / (until[0] - since[0]) / 1e6
        # Computing takes no time on a virtual clock.
        hosts = tc.Hosts(speed=1000)
        common = {"path": path, "hosts": hosts, "tunnel": str(file), "direction": "up"}
        endless = tc.run(
            tc.Experiment(duration=f"{_SECONDS}s", warmup=f"{_WARMUP}s", **common)  # type: ignore[arg-type]
        )
        short = tc.run(
            tc.Experiment(duration="10s", flows=[tc.Flow(bytes=_MESSAGE)], **common)  # type: ignore[arg-type]
        )
        rows += [
            Row(name, "goodput, Mbit/s", goodput, float(endless.metric("goodput")) / 1e6),
            Row(name, f"{_MESSAGE // 1000} kB after, ms", 1e3 * asked["message"],
                1e3 * float(short.metric("flow_completion_time", flow=0))),
            Row(name, "IP bytes per byte", bulk["wire"] / bulk["read"],
                1 / float(endless.metric("efficiency"))),
        ]  # fmt: skip
    return rows
