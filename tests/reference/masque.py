# SPDX-License-Identifier: GPL-2.0-only
"""Measure MASQUE: CONNECT-IP and CONNECT-UDP over quic-go, in Linux on a virtual clock.

With ``connect-ip`` and ``connect-udp`` on PATH, built from ``masque/`` (its README says how), and a
kernel (``make linux``, or TUNNELCC_LINUX)::

    python tests/reference/masque.py

adds to ``masque.csv`` the runs that it does not have. The programs and the kernel compute for
nothing. The link is ``models/path`` between TUN devices.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tunnelcc import measure
from tunnelcc.measure import beside
from tunnelcc.scenario import Experiment

TABLE = Path(__file__).with_name("masque.csv")
SEEDS = (1, 2)
COLUMNS = ("cell", "seed", "flow", "goodput_mbps", "retransmits", "loss_percent", "delay_ms",
           "ping_mean_ms", "ping_p95_ms", "queue_mean_ms", "drops")  # fmt: skip


def _path(rate: float, rtt: float, buffer: str, loss: str = "0") -> dict[str, Any]:
    return {"rate": f"{rate}Mbps", "rtt": f"{rtt}ms", "buffer": buffer, "loss": loss}


def _udp(rate: float) -> dict[str, Any]:
    return {"transport": "udp", "rate": f"{rate}Mbps", "write_size": "1000B"}


#: Name of a cell → path, tunnel, flows. Ten paths, the same for all that is inside.
PATHS = {
    "a": _path(20, 40, "1bdp"),
    "b": _path(20, 40, "1bdp", "0.5%"),
    "c": _path(10, 100, "2bdp"),
    "d": _path(10, 100, "2bdp", "1%"),
    "e": _path(40, 20, "0.5bdp"),
    "f": _path(40, 20, "4bdp", "0.1%"),
    "g": _path(5, 60, "1bdp"),
    "h": _path(15, 150, "1bdp"),
    "i": _path(30, 10, "2bdp", "2%"),
    "j": _path(8, 30, "8bdp"),
}
INSIDE: dict[str, tuple[str, Any]] = {
    "cubic": ("connect-ip", [{"cc": "cubic"}]),
    "bbr": ("connect-ip", [{"cc": "bbr"}]),
    "udp-over": ("connect-udp", 1.3),
}


def cells() -> Iterator[tuple[str, Experiment]]:
    """Yield the name of each cell and its experiment, without a seed."""
    for name, path in PATHS.items():
        for inside, (tunnel, given) in INSIDE.items():
            flows = given
            if not isinstance(given, list):
                flows = [_udp(round(given * float(path["rate"][:-4]), 3))]
            table = {"path": path, "tunnel": tunnel, "flows": flows, "duration": "12s",
                     "warmup": "3s"}  # fmt: skip
            if tunnel == "connect-ip":
                table["pings"] = {"interval": "100ms", "start": "500ms"}
            yield f"{name}/{inside}", Experiment.parse(table)


def rows(name: str, seed: int, values: dict[str, float]) -> Iterator[list[str]]:
    """Yield the row of each flow."""

    def text(key: str) -> str:
        value = values.get(key)
        return "" if value is None else f"{value * beside.factor(key):.5g}"

    flow = "flow 0: "
    keys = [*(flow + it for it in ("goodput", "retransmits", "loss", "delay")),
            "ping_mean", "ping_p95", "queue_mean", "drops"]  # fmt: skip
    yield [name, str(seed), "0", *map(text, keys)]


def main() -> None:
    known = set()
    if TABLE.exists():
        with TABLE.open() as file:
            known = {(row["cell"], row["seed"]) for row in csv.DictReader(file)}
    else:
        TABLE.write_text(",".join(COLUMNS) + "\n")
    for seed in SEEDS:
        for name, experiment in cells():
            if (name, str(seed)) in known:
                continue
            measured = measure.measure_virtually(experiment.with_({"seed": seed}), iperf=False)
            with TABLE.open("a") as file:
                csv.writer(file, lineterminator="\n").writerows(rows(name, seed, measured.values))


if __name__ == "__main__":
    main()
