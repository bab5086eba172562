# SPDX-License-Identifier: GPL-2.0-only
"""Measure MPTCP of a Linux on a virtual clock over pairs of paths, for tests/validation.

    multipath.py FILE [--only KIND]

Adds a line of JSON to FILE for each pair that it does not have: the experiment, the goodput
(Mbit/s) and the share (%) of the data packets that took the first path, both after the warm-up.
Links are the simulation's own; a link of 1 Gbit/s with 1 ms follows each. It needs the package
tunnelcc-linux.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tunnelcc.errors import TunnelccError
from tunnelcc.measure import answers, plan, virtual
from tunnelcc.scenario import Experiment

#: Kind → number of pairs.
KINDS = {
    "equal": 5, "rate": 6, "rtt": 6, "both": 6, "loss": 5, "cut": 5, "back": 3, "backup": 2,
    "down": 2,
}  # fmt: skip
_FAR = {"rate": "1Gbps", "rtt": "1ms", "buffer": "2000p"}
_ALGORITHMS = ("cubic", "cubic", "cubic", "bbr", "reno")


def pairs() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the table of each pair of paths."""
    for kind, count in KINDS.items():
        for number in range(count):
            yield f"{kind}-{number + 1}", _pair(kind, random.Random(f"{kind} {number}"))


def _pair(kind: str, draw: random.Random) -> dict[str, Any]:
    def log(least: float, most: float) -> float:
        return math.exp(draw.uniform(math.log(least), math.log(most)))

    rates = [log(3, 10)] * 2
    rtts = [log(15, 80)] * 2
    if kind not in ("equal", "rtt"):
        rates[draw.randrange(2)] *= draw.choice((0.25, 0.5))
    if kind not in ("equal", "rate"):
        rtts[draw.randrange(2)] *= draw.choice((2, 3))
    links: dict[str, Any] = {}
    for name, router, rate, rtt in zip("ab", "xy", rates, rtts, strict=True):
        links[name] = {
            "between": ["client", router], "rate": f"{rate:.2f}Mbps", "rtt": f"{rtt:.0f}ms",
            "buffer": f"{log(0.7, 3):.1f}bdp",
        }  # fmt: skip
        links[f"{name}-far"] = {"between": [router, "server"], **_FAR}
    mptcp: dict[str, Any] = {"paths": ["a", "b"]}
    if kind == "loss":
        links[draw.choice("ab")]["loss"] = draw.choice(("0.3%", "1%"))
    elif kind == "cut":
        links[draw.choice("ab")]["loss_steps"] = [["8s", "100%"]]
    elif kind == "back":
        links[draw.choice("ab")]["loss_steps"] = [["8s", "100%"], ["12s", "0%"]]
    elif kind == "backup":
        mptcp["backup"] = ["b"]
        links["a"]["loss_steps"] = [["8s", "100%"]]
    flow = {"from": "client", "to": "server", "cc": draw.choice(_ALGORITHMS), "mptcp": mptcp}
    return {
        "network": {"links": links}, "flows": [flow], "duration": "20s", "warmup": "5s",
        "direction": "down" if kind == "down" else "up",
    }  # fmt: skip


def measure(table: dict[str, Any]) -> tuple[float, float]:
    """Return the goodput (Mbit/s), and the share (%) of packets that took the first path."""
    experiment = Experiment.parse(table)
    plan.check(experiment)
    with virtual.folder() as folder:
        planned = plan.make(experiment)
        told = virtual.run(planned, folder, experiment.seed)
        found = answers.read(planned, told, experiment.warmup, experiment.duration)
    names = [*experiment.resolved.topology.links]
    way = "forward" if experiment.direction == "up" else "reverse"
    packets = [told.link[way][names.index(it)]["packets"] for it in "ab"]
    return found.flows[0].goodput / 1e6, 100 * packets[0] / sum(packets)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", help="a kind of pairs")
    options = parser.parse_args()
    lines = options.file.read_text().splitlines() if options.file.exists() else []
    known = {json.loads(line)["name"] for line in lines}
    for name, table in pairs():
        if name in known or options.only not in (None, name.split("-")[0]):
            continue
        try:
            goodput, share = measure(table)
        except TunnelccError as error:
            print(f"{name}: {error}", flush=True)
            continue
        line = {"name": name, "goodput": round(goodput, 4), "share": round(share, 2)}
        with options.file.open("a") as file:
            file.write(json.dumps({**line, "experiment": table}) + "\n")
        print(name, goodput, share, flush=True)


if __name__ == "__main__":
    main()
