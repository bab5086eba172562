# SPDX-License-Identifier: GPL-2.0-only
"""What the laboratory's page says of the atlas holds in each cell of its table."""

from __future__ import annotations

import csv
import functools
import itertools
from pathlib import Path

from helpers import ROOT, load_script

RTTS, LOSSES, BUFFERS, CONTROLS = (0.01, 0.04, 0.1, 0.2), (0, 0.001, 0.01, 0.05), (0.5, 2), (
    "cubic", "bbr",
)  # fmt: skip
LINK = 10.0  # Mbit/s
ON_ONE = ("openvpn-2.6-tcp", "gost-relay-mwss")
REPAIR = ("kcptun", "udpspeeder")


@functools.cache
def goodputs() -> dict[tuple[str, str, float, float, float], float]:
    with (ROOT / "results/atlas/cells.csv").open(newline="", encoding="utf-8") as file:
        return {
            (
                row["tunnel"], row["flows.cc"], float(row["path.rtt (s)"]),
                float(row["path.loss"]), float(row["path.buffer (bdp)"]),
            ): float(row["goodput (Mbit/s)"])
            for row in csv.DictReader(file)
        }  # fmt: skip


def goodput(tunnel: str, cc: str, rtt: float, loss: float, buffer: float) -> float:
    return goodputs()[tunnel, cc, rtt, loss, buffer]


CELLS = [*itertools.product(CONTROLS, RTTS, LOSSES, BUFFERS)]
TUNNELS = {it[0] for it in goodputs()}


def test_all_cells_are_there() -> None:
    assert len(goodputs()) == len(TUNNELS) * len(CELLS) == 512


def test_without_loss_most_tunnels_cost_a_fifth_at_most() -> None:
    for tunnel in TUNNELS - set(REPAIR):
        assert all(goodput(tunnel, *it) >= 0.79 * LINK for it in CELLS if it[2] == 0), tunnel


def test_one_carrier_of_cubic_has_less_than_two_fifths_of_a_vpn_over_udp() -> None:
    cells = [it for it in CELLS if it[0] == "cubic" and it[1] >= 0.04 and it[2] >= 0.01]
    for tunnel in ON_ONE:
        assert all(goodput(tunnel, *it) < 0.4 * goodput("wireguard", *it) for it in cells)


def test_a_carrier_for_each_flow_costs_a_tenth_at_most() -> None:
    assert all(goodput("gost-relay-wss", *it) >= 0.9 * goodput("none", *it) for it in CELLS)


def test_bbr_stands_five_percent_of_loss() -> None:
    assert all(goodput("none", *it) >= 0.87 * LINK for it in CELLS if it[0] == "bbr")
    assert all(goodput("none", "cubic", 0.2, 0.05, it) < 0.1 * LINK for it in BUFFERS)


def test_repair_pays_where_much_is_lost_far_away_alone() -> None:
    for tunnel in REPAIR:
        for it in CELLS:
            ratio = goodput(tunnel, *it) / goodput("none", *it)
            if it[2] <= 0.001:
                assert ratio < 0.65
            elif it[0] == "cubic" and it[1] >= 0.1 and it[2] >= 0.05:
                assert ratio > 2


def test_some_tunnels_have_a_control_of_their_own() -> None:
    for tunnel in ("gost-quic", "kcptun"):
        for it in itertools.product(RTTS, LOSSES, BUFFERS):
            one, other = (goodput(tunnel, cc, *it) for cc in CONTROLS)
            assert abs(one / other - 1) < 0.01


def test_a_cell_is_the_mean_of_its_runs(tmp_path: Path) -> None:
    summarise = load_script(ROOT / "results/atlas/summarise.py")
    file = tmp_path / "sweep.csv"
    heading = [*summarise.CELL, "goodput (bit/s)", "queue_delay_p95 (s)", "flow_limited_by.0"]
    rows = [
        [*"abcde", "1e6", "0.01", "x"], [*"abcde", "3e6", "0.03", "x"], [*"abcdf", "4e6", "0", "y"]
    ]  # fmt: skip
    with file.open("w", newline="", encoding="utf-8") as target:
        csv.writer(target).writerows([heading, *rows])
    first, second = summarise.summarise(file)
    assert (first["goodput (Mbit/s)"], first["apart (Mbit/s)"]) == ("2.000", "2.000")
    assert first["queueing delay, p95 (ms)"] == "20.0"
    assert second["limited by"] == "y"
