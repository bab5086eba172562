# SPDX-License-Identifier: GPL-2.0-only
"""Simulate the pairs of paths that were measured, and what coupled algorithms leave to others.

``.venv/bin/python results/multipath/beside.py`` writes two tables beside this file:
``measured.csv`` has MLVPN, Linux's bonding driver, and MPTCP with and without a relay
(``tests/reference/bonding.py``), and MPTCP of Linux over the simulation's links
(``tests/reference/multipath.py``), beside the simulation, ``coupled.csv`` MPTCP's coupled
algorithms beside one flow of Reno.
"""

from __future__ import annotations

import csv
import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import tunnelcc as tc
from tunnelcc.metrics import METRICS, drift
from tunnelcc.plots import gallery

HERE = Path(__file__).parent
DATA = HERE.parents[1] / "tests/validation/data"
FAR = {"rate": "10Gbps", "rtt": "10us", "buffer": "10000p"}
SEEDS = (1, 2, 3, 4)
#: A goodput agrees within this part of the measured one.
TOLERANCE = 0.1
#: So does a share of packets within so many points.
POINTS = 10
COUPLED = ("lia", "balia", "olia")

Row = dict[str, Any]


def answers(kind: str) -> dict[str, list[dict[str, Any]]]:
    """Return what was measured of each pair, a line a run. ``kind``: a folder of the data."""
    found = defaultdict(list)
    for line in (DATA / kind / "answers.jsonl").read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        found[told["name"]].append(told)
    return dict(found)


def bonded(pair: dict[str, Any]) -> dict[str, Any]:
    """Return the experiment that does what was measured of a pair that something joins."""
    links: dict[str, Any] = {}
    for name, router, rate, rtt in zip("ab", "xy", pair["rates"], pair["rtts"], strict=True):
        queue = max(4, round(rate * 1e3 * rtt / 8 / 1500))
        links[name] = {
            "between": ["client", router], "rate": f"{rate}Mbps", "rtt": f"{rtt}ms",
            "buffer": f"{queue}p",
        }  # fmt: skip
        links[f"{name}-far"] = {"between": [router, "server"], **FAR}
    links["b"]["loss"] = f"{pair['loss']}%"
    if "cut" in pair:
        links["b"]["loss_steps"] = [[f"{pair['cut']}s", "100%"]]
    hosts = {"tcp_rmem": "32MiB", "tcp_wmem": "32MiB"}
    flow: dict[str, Any] = {"cc": pair["cc"], "from": "client", "to": "server"}
    table: dict[str, Any] = {"network": {"links": links}, "flows": flow, "hosts": hosts}
    table |= {"duration": "25s", "warmup": "5s"}
    if pair["program"] == "mptcp":
        flow["mptcp"] = {"paths": ["a", "b"]}
        return table
    if pair["program"] == "relay":
        copied = {"copy_buffer": pair["copied"]} if "copied" in pair else {}
        relay = {"name": str(DATA / "relays/relay.toml"), "mptcp": {"paths": ["a", "b"]}, **copied}
        return {**table, "tunnel": relay}
    uplinks: dict[str, Any] = {"routes": [["client", "y", "server"]]}
    flow["route"] = ["client", "x", "server"]
    if pair["program"] == "mlvpn":
        tunnel: dict[str, Any] = {"name": "mlvpn", "mode": "cleartext"}
        # The first turn is of the path that its file has last.
        flow["route"], uplinks["routes"] = uplinks["routes"][0], [flow["route"]]
        weights = (pair["weights"] or [1, 1])[::-1]
        uplinks |= {"use": "weights", "weights": weights, "reorder_size": pair["reorder"]}
    else:
        tunnel = {"name": "vxlan", "mtu": 1450}
        uplinks |= {"use": "packets"}
    tunnel |= {"between": ["client", "server"], "uplinks": uplinks}
    return {**table, "tunnel": tunnel}


def simulated(table: dict[str, Any]) -> Row:
    """Return goodput (Mbit/s), share of packets over the first path (%), and drift, of SEEDS."""
    goodputs, shares, drifts = [], [], []
    for seed in SEEDS:
        experiment = tc.Experiment.parse({**table, "seed": seed})
        result = tc.run(experiment, progress=False)
        names, way = [*experiment.resolved.topology.links], int(experiment.direction == "down")
        first, other = (float(result["link_packets"][names.index(it)][way]) for it in "ab")
        time = experiment.duration - experiment.warmup
        goodputs.append(8e-6 * float(result["flow_delivered_bytes"][0]) / time)
        shares.append(100 * first / (first + other))
        drifts.append(METRICS["flow_drift"](result))
    # Where a path is cut or comes back, nothing is steady.
    changes = any("loss_steps" in it for it in table["network"]["links"].values())
    return {
        "goodput": float(np.mean(goodputs)), "share": float(np.mean(shares)),
        "drift": "" if changes else f"{drift.at_point(drifts, goodputs):.2g}",
    }  # fmt: skip


def compared(kind: str, name: str, told: list[dict[str, Any]]) -> Row:
    """Return a row: measured and simulated goodput and share of a pair."""
    pair, is_own = told[0], kind == "multipath"
    here = simulated(pair["experiment"] if is_own else bonded(pair["pair"]))
    goodput, share = (float(np.mean([it[what] for it in told])) for what in ("goodput", "share"))
    ratio, off = here["goodput"] / goodput, abs(here["share"] - share)
    return {
        "kind": kind, "program": "mptcp" if is_own else pair["pair"]["program"],
        "pair": name, "runs": len(told),
        "measured_mbps": round(goodput, 3), "simulated_mbps": round(here["goodput"], 3),
        "ratio": round(ratio, 4), "agrees": int(abs(ratio - 1) <= TOLERANCE),
        "measured_percent": round(share, 2), "simulated_percent": round(here["share"], 2),
        "off_points": round(off, 2), "split_agrees": int(off <= POINTS),
        "log_lines": max(it.get("full", 0) for it in told), "drift": here["drift"],
    }  # fmt: skip


def table(name: str) -> list[dict[str, str]]:
    """Return the rows of a table that is kept."""
    with (HERE / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def written(row: Row) -> dict[str, str]:
    """Return a row as its table has it."""
    return {name: str(it) for name, it in row.items()}


def _link(near: str, far: str, **keys: Any) -> dict[str, Any]:
    return {"between": [near, far], "rate": "1Gbps", "rtt": "1ms", "buffer": "2000p", **keys}


def lossy(cc: str, seed: int) -> list[dict[str, Any]]:
    """Return MPTCP over two paths with random loss, and Reno over each alone.

    The paths have so much rate that loss limits all.
    """
    draw = random.Random(seed)
    links: dict[str, Any] = {}
    for name, router in (("a", "x"), ("b", "y")):
        keys = {"rtt": f"{draw.uniform(20, 60):.0f}ms", "loss": f"{draw.uniform(0.2, 0.6):.2f}%"}
        links[name] = _link("client", router, rate="100Mbps", **keys)
        links[f"{name}-far"] = _link(router, "server")
    flow = {"from": "client", "to": "server"}
    flows = [{**flow, "cc": cc, "mptcp": {"paths": ["a", "b"]}}]
    flows += [{**flow, "cc": "reno", "route": ["client", it, "server"]} for it in "xy"]
    table = {"network": {"links": links}, "duration": "320s", "warmup": "20s", "seed": seed}
    return [{**table, "flows": [it]} for it in flows]


def shared(cc: str, seed: int) -> dict[str, Any]:
    """Return two subflows beside two flows of Reno over one bottleneck."""
    draw = random.Random(seed)
    rate, rtt = f"{draw.uniform(8, 16):.1f}Mbps", f"{draw.uniform(20, 60):.0f}ms"
    links = {
        "near-a": _link("client", "x"), "near-b": _link("client", "y"),
        "x-r": _link("x", "r"), "y-r": _link("y", "r"),
        "shared": _link("r", "server", rate=rate, rtt=rtt, buffer="1bdp"),
    }  # fmt: skip
    flow = {"from": "client", "to": "server"}
    beside = {**flow, "cc": "reno", "route": ["client", "x", "r", "server"]}
    flows = [{**flow, "cc": cc, "mptcp": {"paths": ["x-r", "y-r"]}}, beside, beside]
    return {
        "network": {"links": links}, "flows": flows,
        "duration": "320s", "warmup": "20s", "seed": seed,
    }  # fmt: skip


def _of_best(cc: str, seed: int) -> Row:
    results = [tc.run(tc.Experiment.parse(it), progress=False) for it in lossy(cc, seed)]
    both, *alone = (it.goodput for it in results)
    change = max(drift.at_point([METRICS["flow_drift"](it)], [it.goodput]) for it in results)
    return {"quantity": "of_best", "value": both / max(alone), "drift": change}


def _of_share(cc: str, seed: int) -> Row:
    result = tc.run(tc.Experiment.parse(shared(cc, seed)), progress=False)
    mine, *others = (float(it) for it in result["flow_delivered_bytes"])
    change = drift.at_point([METRICS["flow_drift"](result)], [result.goodput])
    return {"quantity": "of_share", "value": mine / (sum(others) / 2), "drift": change}


def main() -> None:
    """Simulate all, and write the tables."""
    kinds = ("bonding", "relays", "multipath")
    pairs = [(kind, *it) for kind in kinds for it in answers(kind).items()]
    gallery.write_table([compared(*it) for it in pairs], HERE / "measured.csv")
    rows = []
    for cc in (*COUPLED, "reno"):
        for seed in SEEDS[:3]:
            found = [_of_share(cc, seed)] + ([_of_best(cc, seed)] if cc in COUPLED else [])
            rows += [
                {"cc": cc, "draw": seed, "quantity": it["quantity"],
                 "mean": round(it["value"], 4), "drift": f"{it['drift']:.2g}"}
                for it in found
            ]  # fmt: skip
    gallery.write_table(rows, HERE / "coupled.csv")


if __name__ == "__main__":
    main()
