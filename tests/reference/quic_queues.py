# SPDX-License-Identifier: GPL-2.0-only
"""Measure the queue that Hysteria 2 makes at a bottleneck, with BBR and at a fixed rate.

As root, on Linux, with g++, util-linux and openssl, given a folder with ``hysteria``, built from
its source::

    python tests/reference/quic_queues.py FOLDER [--seed N]...

writes ``quic-queues.csv`` and ``quic-queues-series.csv`` beside this file; README.md says what is
in them. Rows are added as they come; of those that are there, the ones in which the link was late
are measured again. forwarding.py says how a run goes.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from forwarding import LATE, RATE, WARMUP, Cell, Notes, across, lateness, write
from link import build_link
from quic import BBR, Setup, certify

HERE = Path(__file__).resolve().parent
TABLE = HERE / "quic-queues.csv"
SERIES = HERE / "quic-queues-series.csv"
INTERVAL = 0.1  # s
PACKET = 1500  # bytes, of those that a BDP is counted in

SEEDS = range(1, 6)
FEW_SEEDS = range(1, 4)
BBR_DOWN = Setup("hysteria2, down", "hysteria", upload=False)
BELOW = Setup("hysteria2, 80 Mbit/s", "hysteria", bandwidth="80 mbps")
ABOVE = Setup("hysteria2, 120 Mbit/s", "hysteria", bandwidth="120 mbps")

#: Setup → seeds, RTTs in ms, losses toward the receiver.
RUNS: dict[Setup, tuple[Sequence[int], tuple[float, ...], tuple[float, ...]]] = {
    BBR: (SEEDS, (20, 40, 100), (0, 0.01)),
    BBR_DOWN: (FEW_SEEDS, (40, 100), (0, 0.01)),
    BELOW: (FEW_SEEDS, (40, 100), (0, 0.01)),
    ABOVE: (FEW_SEEDS, (40, 100), (0, 0.01)),
}

Row = dict[str, str]
Key = tuple[str, ...]


def cells(seeds: Sequence[int]) -> Iterator[Cell]:
    for seed in seeds:
        number = 1000 * seed + 500
        for setup, (own, rtts, losses) in RUNS.items():
            for rtt in rtts:
                for loss in losses:
                    number += 1
                    bdp = round(RATE * 1e3 * rtt / 8 / PACKET)
                    if seed in own:
                        yield Cell(setup, rtt, loss, seed, number, bdp, is_one_way=True)


def key(row: Row) -> Key:
    return (row["setup"], row["rtt_ms"], row["loss"], row["seed"])


def stored(table: Path) -> dict[Key, list[Row]]:
    """Return the rows that are there, by run."""
    found: dict[Key, list[Row]] = {}
    if table.exists():
        with table.open(newline="") as file:
            for row in csv.DictReader(file):
                found.setdefault(key(row), []).append(row)
    return found


def run(link: Path, folder: str, cell: Cell) -> tuple[Row, list[Row]]:
    """Measure a cell: its row, and those of its series."""
    series = link.with_name("series.csv")
    whole = across(link, folder, cell, Notes(series=series, interval=INTERVAL))
    with series.open(newline="") as file:
        looks = list(csv.DictReader(file))
    own = dict(zip(("setup", "rtt_ms", "loss", "seed"), cell.key, strict=True))
    drops = [int(look["queue_drops"]) for look in looks]
    warmup = round(WARMUP / INTERVAL)
    row = own | {
        "buffer_pkts": str(cell.queue),
        "goodput_mbps": f"{whole['goodput_mbps']:.5g}",
        "queue_ms": str(whole["queue_ms"]),
        "start_drops": str(sum(drops[:warmup])),
        "drops": str(sum(drops[warmup:])),
        "packets": str(whole["run_datagrams"]),
        "lost": str(whole["run_lost"]),
        "socket_drops": str(whole["socket_drops"]),
        **{
            it: str(whole[it])
            for it in ("late_p50_ms", "late_p99_ms", "late_p999_ms", "late_max_ms")
        },
    }
    rows = [
        own
        | {
            "t": f"{float(look['t']):.1f}",
            "mbps": f"{8e-6 * int(look['ip_bytes']) / INTERVAL:.2f}",
            "queue_ms": f"{float(look['soj_mean_ms']):.2f}",
            "drops": look["queue_drops"],
        }
        for look in looks
    ]
    return row, rows


def save(table: Path, runs: dict[Key, list[Row]]) -> None:
    write(table, (row for rows in runs.values() for row in rows))


def measure(link: Path, folder: str, wanted: Iterable[Cell]) -> None:
    """Measure what is not there, or was when the link was late; then the better run is kept."""
    for cell in wanted:
        table, series = stored(TABLE), stored(SERIES)
        before = table.get(cell.key)
        if before and lateness(before[0]) <= LATE:
            continue
        row, rows = run(link, folder, cell)
        if not before or lateness(row) < lateness(before[0]):
            save(TABLE, {**table, cell.key: [row]})
            save(SERIES, {**series, cell.key: rows})
        print(row, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="of the program")
    parser.add_argument("--seed", type=int, choices=SEEDS, action="append")
    given = parser.parse_args()
    certify()
    with tempfile.TemporaryDirectory() as name:
        link = build_link(Path(name))
        measure(link, str(given.folder.resolve()), cells(given.seed or SEEDS))


if __name__ == "__main__":
    main()
