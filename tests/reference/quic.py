# SPDX-License-Identifier: GPL-2.0-only
"""Measure what programs carry over QUIC, and the packets that they send: GOST, Hysteria 2, quic-go.

As root, on Linux, with g++, util-linux and openssl, given a folder with ``gost``, ``hysteria`` and
``quic-bulk`` (of quic-bulk/main.go), built from their source::

    python tests/reference/quic.py FOLDER [--part rates] [--part wire] [--seed N]...

writes ``quic-rates.csv`` and ``quic-wire.csv`` beside this file; README.md says what is in them.
Rows of ``quic-rates.csv`` are added as they come; of those that are there, the ones in which the
link was late are measured again. forwarding.py says how a run goes.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from forwarding import (
    CLIENT_PORT,
    FAR,
    NEAR,
    TARGET_PORT,
    TUNNEL_PORT,
    Cell,
    Notes,
    across,
    measure,
)
from link import build_link

HERE = Path(__file__).resolve().parent
RATES = HERE / "quic-rates.csv"
WIRE = HERE / "quic-wire.csv"
SEEDS = range(1, 4)
MORE_SEEDS = range(1, 9)  # where runs differ, because few losses set their rate
MOST_SEEDS = range(1, 25)  # where some runs leave start-up early
FIRST = 40  # runs of packets that are alike
RARE = 0.0005  # of all packets

Kind = tuple[object, ...]  # direction, header, bytes
Packet = tuple[float, Kind]


@dataclass(frozen=True)
class Setup:
    """A program and how it is run."""

    name: str
    program: str
    flows: int = 1
    bandwidth: str = ""  # of Hysteria's client
    upload: bool = True

    def command(self, folder: str, is_client: bool) -> list[str]:
        """Return the command of an end."""
        server = f"{FAR if self.upload else NEAR}:{TUNNEL_PORT}"
        target = f"127.0.0.1:{TARGET_PORT}"
        entry = f"127.0.0.1:{CLIENT_PORT}"
        if self.program == "gost":
            ends = ["-L", f"relay+quic://:{TUNNEL_PORT}"]
            if is_client:
                ends = ["-L", f"tcp://{entry}/{target}", "-F", f"relay+quic://{server}"]
            return [f"{folder}/gost", *ends]
        if self.program == "quic-bulk":
            ends = ["client", entry, server] if is_client else ["server", f":{TUNNEL_PORT}", target]
            return [f"{folder}/quic-bulk", *ends]
        settings: dict[str, Any] = {
            "listen": f":{TUNNEL_PORT}",
            "tls": {"cert": f"{CERTIFICATE}.crt", "key": f"{CERTIFICATE}.key"},
            "auth": {"type": "password", "password": "secret"},
        }
        if is_client:
            settings = {
                "server": server,
                "auth": "secret",
                "tls": {"insecure": True},
                "tcpForwarding": [{"listen": entry, "remote": target}],
            }
            if self.bandwidth:
                settings["bandwidth"] = {"up": self.bandwidth, "down": self.bandwidth}
        role = "client" if is_client else "server"
        file = CERTIFICATE.with_name(f"{role}.json")
        file.write_text(json.dumps(settings))
        return [f"{folder}/hysteria", role, "--config", str(file), "--disable-update-check"]


CERTIFICATE = Path(tempfile.gettempdir(), "quic-reference", "server")

GOST = Setup("gost relay+quic", "gost")
GOST_4 = Setup("gost relay+quic, 4 flows", "gost", flows=4)
BULK = Setup("quic-go", "quic-bulk")
BRUTAL = Setup("hysteria2, 50 Mbit/s", "hysteria", bandwidth="50 mbps")
BBR = Setup("hysteria2", "hysteria")

#: Setup → RTT in ms → losses in either direction.
RUNS: dict[Setup, dict[float, tuple[float, ...]]] = {
    GOST: {
        20: (0, 0.001, 0.01, 0.05, 0.1),
        100: (0, 0.001, 0.01, 0.05, 0.1, 0.2),
        200: (0, 0.01),
    },
    BRUTAL: {20: (0.05,), 100: (0, 0.05, 0.2)},
    BBR: {20: (0, 0.01, 0.1), 100: (0, 0.01, 0.1)},
    GOST_4: {100: (0, 0.01, 0.1)},
    BULK: {100: (0, 0.01)},
}


def cells(seeds: Sequence[int]) -> Iterator[Cell]:
    for seed in seeds:
        number = 1000 * seed
        for setup, rtts in RUNS.items():
            for rtt, losses in rtts.items():
                for loss in losses:
                    number += 1
                    is_rough = setup in (GOST, GOST_4) and rtt > 20 and loss > 0
                    is_bistable = setup == BBR and rtt > 20 and loss == 0.1
                    own = MORE_SEEDS if is_rough else MOST_SEEDS if is_bistable else SEEDS
                    if seed in own:
                        yield Cell(setup, rtt, loss, seed, number)


# -------------------------------------------------------------------------------------------- wire


def wire(link: Path, folder: str) -> None:
    """Write the first packets of a run of each program at 100 ms without loss, and all sizes."""
    with WIRE.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("setup", "part", "time_ms", "direction", "header", "bytes", "count"))
        for setup in (GOST, BULK, BRUTAL):
            packets = link.with_name("packets.json")
            across(link, folder, Cell(setup, 100, 0, 0, 0), Notes(packets=packets))
            seen = [(time, tuple(kind)) for time, *kind in json.loads(packets.read_text())]
            for part, found in (("first", islice(runs(seen), FIRST)), ("sizes", sizes(seen))):
                for time, kind, count in found:
                    table.writerow((setup.name, part, f"{1e3 * time:.1f}", *kind, count))


def runs(seen: Iterable[Packet]) -> Iterator[tuple[float, Kind, int]]:
    """Yield packets that follow each other and are alike: the time of the first, and how many."""
    for kind, group in groupby(seen, key=itemgetter(1)):
        times = [time for time, _ in group]
        yield times[0], kind, len(times)


def sizes(seen: Sequence[Packet]) -> Iterator[tuple[float, Kind, int]]:
    """Yield each kind that is not rare: the time of the first, and how many."""
    first = {kind: time for time, kind in reversed(seen)}
    for kind, count in sorted(Counter(kind for _, kind in seen).items()):
        if count > RARE * len(seen):
            yield first[kind], kind, count


# --------------------------------------------------------------------------------------------- run


def certify() -> None:
    """Make the certificate of Hysteria's server."""
    CERTIFICATE.parent.mkdir(exist_ok=True)
    command = ["openssl", "req", "-x509", "-nodes", "-days", "3650", "-subj", "/CN=example.org"]
    command += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    command += ["-keyout", f"{CERTIFICATE}.key", "-out", f"{CERTIFICATE}.crt"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="of the programs")
    parser.add_argument("--seed", type=int, choices=MOST_SEEDS, action="append")
    parser.add_argument("--part", choices=("wire", "rates"), action="append")
    given = parser.parse_args()
    folder = str(given.folder.resolve())
    parts = given.part or ("wire", "rates")
    certify()
    with tempfile.TemporaryDirectory() as name:
        link = build_link(Path(name))
        if "wire" in parts:
            wire(link, folder)
        if "rates" in parts:
            measure(RATES, link, folder, cells(given.seed or MOST_SEEDS))


if __name__ == "__main__":
    main()
