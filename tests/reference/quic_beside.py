# SPDX-License-Identifier: GPL-2.0-only
"""Measure how a flow over quic-go shares a bottleneck with a TCP flow of the kernel.

As root, on Linux, with g++, util-linux and the modules of the congestion controls, given a folder
with ``quic-bulk`` (of quic-bulk/main.go), built from its source::

    python tests/reference/quic_beside.py FOLDER [--part shares] [--part answers] [--run N]...

writes ``quic-beside.csv`` and ``quic-beside-answers.csv`` beside this file; README.md says what is
in them. Runs come one after another, as their programs share the cores. Rows of shares are added as
they come; of those that are there, the ones in which the link was late are measured again. Each run
has two namespaces of its own, as forwarding.py says.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shlex
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, quantiles
from typing import Any

from forwarding import (
    CLIENT_PORT,
    FAR,
    LATE,
    SECOND,
    START,
    TARGET_PORT,
    TUNNEL_PORT,
    Application,
    Packets,
    Running,
    Task,
    counters,
    lateness,
    wait_until,
    write,
)
from link import APPLICATION_PRIORITY, be_real_time, build_link

TABLE = Path(__file__).with_name("quic-beside.csv")
ANSWERS = Path(__file__).with_name("quic-beside-answers.csv")
RUNS = (1, 3, 5)
MIDDLE = 3
WARMUP, DURATION = 5.0, 30.0  # s after the first flow has connected: what counts
STAGGER = 0.1  # s
PACKET = 1500  # bytes, of those that a BDP is counted in
QUIC = "quic"

Row = dict[str, str]
Key = tuple[str, ...]

#: Rate in Mbit/s, RTT in ms, buffer in BDP → flows.
CONDITIONS: dict[tuple[float, float, float], tuple[tuple[str, str], ...]] = {
    (20, 20, 1): ((QUIC, "cubic"), (QUIC, "reno"), (QUIC, "bbr")),
    (20, 20, 3): ((QUIC, "cubic"), (QUIC, "reno"), (QUIC, "bbr")),
    (20, 50, 0.5): ((QUIC, "cubic"), (QUIC, "reno"), (QUIC, "bbr")),
    (20, 50, 1): (
        (QUIC, "cubic"),
        (QUIC, "reno"),
        (QUIC, "bbr"),
        (QUIC, QUIC),
        ("reno", "cubic"),
    ),
    (20, 100, 1): ((QUIC, "cubic"),),
    (50, 20, 1): ((QUIC, "cubic"), (QUIC, "reno"), (QUIC, "bbr")),
}
#: The same of ANSWERS.
ANSWER_CONDITIONS = (
    (20, 20, 1, (QUIC, "cubic")),
    (20, 50, 1, (QUIC, "reno")),
    (50, 20, 1, (QUIC, "cubic")),
)


@dataclass(frozen=True)
class Cell:
    """A run of two flows: congestion controls of TCP, or ``quic``."""

    rate: float  # Mbit/s
    rtt: float  # ms
    buffer: float  # BDP
    flows: tuple[str, str]
    run: int

    @property
    def packets(self) -> int:
        """How many may wait."""
        return round(self.buffer * self.rate * 1e3 * self.rtt / 8 / PACKET)

    @property
    def starts(self) -> tuple[float, float]:
        """When the flows connect, s: another one first in other runs, or both at once."""
        later = STAGGER * (self.run - MIDDLE)
        return max(0.0, -later), max(0.0, later)

    @property
    def named(self) -> Row:
        return {
            "rate_mbps": f"{self.rate:g}",
            "rtt_ms": f"{self.rtt:g}",
            "buffer_bdp": f"{self.buffer:g}",
            "first": self.flows[0],
            "second": self.flows[1],
            "run": str(self.run),
        }


def cells(runs: Sequence[int]) -> Iterator[Cell]:
    for run in runs:
        for (rate, rtt, buffer), pairs in CONDITIONS.items():
            for flows in pairs:
                yield Cell(rate, rtt, buffer, flows, run)


# ------------------------------------------------------------------------------------- one of two


@dataclass(frozen=True)
class End:
    """What an end does: a program for each flow over QUIC, and an application for each flow."""

    folder: str
    flows: tuple[str, ...]
    sends: bool
    begins: tuple[float, ...]  # when they connect, of time.monotonic()
    output: str
    notes_answers: bool = False

    def shell(self) -> str:
        return shlex.join([sys.executable, str(Path(__file__).resolve()), json.dumps(asdict(self))])

    def command(self, flow: int) -> list[str]:
        """Return the command of a flow over QUIC."""
        if self.sends:
            ends = ["client", f"127.0.0.1:{CLIENT_PORT + flow}", f"{FAR}:{TUNNEL_PORT + flow}"]
        else:
            ends = ["server", f":{TUNNEL_PORT + flow}", f"127.0.0.1:{TARGET_PORT + flow}"]
        return [f"{self.folder}/quic-bulk", *ends]

    def application(self, flow: int) -> Application:
        target = ("0.0.0.0", TARGET_PORT + flow)
        entry, cc = (FAR, TARGET_PORT + flow), self.flows[flow]
        if cc == QUIC:
            entry, cc = ("127.0.0.1", CLIENT_PORT + flow), ""
        task = Task([], self.sends, self.sends, 1, self.begins[flow], "")
        return Application(task, target, entry, cc)


def retransmits(application: Application) -> int:
    """Return how many segments its connection has sent again."""
    (connection,) = application.connections
    size, place = 104, 100  # of struct tcp_info up to tcpi_total_retrans, and of this
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, size)
    return int(struct.unpack_from("I", info, place)[0])


class Answers:
    """Notes when packets pass the outer device, by the kernel's clock of its sockets."""

    TIMESTAMPS = 35  # SO_TIMESTAMPNS, and the type of what it adds
    PROTOCOLS = (("tcp", socket.IPPROTO_TCP), (QUIC, socket.IPPROTO_UDP))

    def __init__(self) -> None:
        self._seen: list[tuple[float, bool, int]] = []  # us, whether it left, protocol
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(Packets.ALL))
        self._socket.setsockopt(socket.SOL_SOCKET, Packets.BUFFER, 1 << 26)
        self._socket.setsockopt(socket.SOL_SOCKET, self.TIMESTAMPS, 1)
        self._socket.bind(("tun0", Packets.ALL))
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            packet, ((_, _, stamp),), _, address = self._socket.recvmsg(64, 64)
            seconds, ns = struct.unpack("qq", stamp)
            is_outgoing = address[2] == Packets.OUTGOING
            self._seen.append((1e6 * seconds + 1e-3 * ns, is_outgoing, packet[9]))

    def times(self) -> dict[str, list[float]]:
        """Return, us: from the last packet that came to the first that left after it."""
        found = {}
        for name, protocol in self.PROTOCOLS:
            own = sorted(it for it in self._seen if it[2] == protocol)
            found[name] = [
                time - before
                for (before, left, _), (time, leaves, _) in pairwise(own)
                if leaves and not left
            ]
        return found


def run_end(end: End) -> dict[str, Any]:
    """Run an end; return what changed between WARMUP and DURATION, of each flow or of all."""
    programs = [Running(end.command(i)) for i, flow in enumerate(end.flows) if flow == QUIC]
    applications = [end.application(i) for i in range(len(end.flows))]
    answers = Answers() if end.notes_answers else None
    be_real_time(APPLICATION_PRIORITY)
    looks: list[dict[str, list[float]]] = []
    for moment in (WARMUP, DURATION):
        wait_until(min(end.begins) + moment)
        looks.append(
            {
                "bytes": [it.bytes for it in applications],
                "retransmits": [retransmits(it) for it in applications],
                "cpu": [sum(it.look()["cpu"] for it in programs)],
                "wait": [sum(it.look()["wait"] for it in programs)],
                "socket_drops": [counters()["socket_drops"]],
            }
        )
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))  # as in forwarding.py
    time.sleep(0.2)  # until both ends have looked
    for program in programs:
        program.stop()
    changes = {
        key: [last - first for first, last in zip(looks[0][key], looks[1][key], strict=True)]
        for key in looks[0]
    }
    return {**changes, "answers": answers.times() if answers else {}}


# --------------------------------------------------------------------------------------------- run


def across(
    link: Path, folder: str, cell: Cell, notes_answers: bool = False
) -> tuple[Row, list[dict[str, list[float]]]]:
    """Run across the emulated link; return the row, and how long each end took to answer."""
    begin = time.monotonic() + START
    begins = tuple(begin + it for it in cell.starts)
    window = ",".join(str(round(SECOND * (begin + it))) for it in (0, WARMUP, DURATION))
    with tempfile.TemporaryDirectory() as name:
        outputs = [Path(name, it) for it in ("sender", "receiver")]
        ends = [
            End(folder, cell.flows, sends, begins, str(output), notes_answers).shell()
            for sends, output in zip((True, False), outputs, strict=True)
        ]
        command = [str(link), "--header", "--rate", f"{cell.rate:g}", "--rtt", f"{cell.rtt:g}"]
        command += ["--queue", str(cell.packets), "--window", window]
        command += ["--sender", ends[0], "--receiver", ends[1]]
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        sender, receiver = (json.loads(it.read_text()) for it in outputs)
    (row,) = csv.DictReader(printed.splitlines())
    first, second = (8e-6 * it / (DURATION - WARMUP) for it in receiver["bytes"])
    if not first or not second:
        raise RuntimeError(f"{cell}: nothing was read")
    again = [
        "" if flow == QUIC else str(count)
        for flow, count in zip(cell.flows, sender["retransmits"], strict=True)
    ]
    found = {
        **cell.named,
        "buffer_packets": str(cell.packets),
        "first_start_s": f"{cell.starts[0]:g}",
        "second_start_s": f"{cell.starts[1]:g}",
        "first_share_percent": f"{100 * first / (first + second):.2f}",
        "goodput_mbps": f"{first + second:.3f}",
        "first_retransmitted_segments": again[0],
        "second_retransmitted_segments": again[1],
        "run_dropped_packets": row["queue_drops"],
        "run_dropped_packets_of_udp": row["udp_queue_drops"],
        "queue_ms": row["soj_mean_ms"],
        "programs_cpu_s": f"{sender['cpu'][0] + receiver['cpu'][0]:.3f}",
        "programs_wait_s": f"{sender['wait'][0] + receiver['wait'][0]:.3f}",
        "socket_drops": str(sender["socket_drops"][0] + receiver["socket_drops"][0]),
        **{key: row[key] for key in ("late_p50_ms", "late_p99_ms", "late_p999_ms", "late_max_ms")},
        **{key: value for key, value in row.items() if key.endswith("_us")},
    }
    return found, [sender["answers"], receiver["answers"]]


def key(row: Row) -> Key:
    return tuple(row[it] for it in ("rate_mbps", "rtt_ms", "buffer_bdp", "first", "second", "run"))


def measured() -> dict[Key, Row]:
    """Return the rows that are there."""
    if not TABLE.exists():
        return {}
    with TABLE.open(newline="") as file:
        return {key(row): row for row in csv.DictReader(file)}


def measure(link: Path, folder: str, wanted: Iterator[Cell]) -> None:
    """Measure what is not there, or was when the link was late; then the better row is kept."""
    rows = measured()
    order = {key(it.named): i for i, it in enumerate(cells(RUNS))}
    for cell in wanted:
        before = rows.get(key(cell.named))
        if before and lateness(before) <= LATE:
            continue
        row, _ = across(link, folder, cell)
        if not before or lateness(row) < lateness(before):
            rows[key(row)] = row
            write(TABLE, (rows[it] for it in sorted(rows, key=order.__getitem__)))
        print(row, flush=True)


def measure_answers(link: Path, folder: str) -> None:
    """Write how long the ends took to answer, in a run of each condition."""
    found = []
    for rate, rtt, buffer, flows in ANSWER_CONDITIONS:
        cell = Cell(rate, rtt, buffer, flows, MIDDLE)
        _, ends = across(link, folder, cell, notes_answers=True)
        for name, times_of in zip(("sender", "receiver"), ends, strict=True):
            for protocol, times in times_of.items():
                parts = quantiles(times, n=100)
                row = cell.named | {"end": name, "transport": protocol, "answers": str(len(times))}
                row |= {f"p{it}_us": f"{parts[it - 1]:.1f}" for it in (1, 10, 25, 50, 75, 90, 99)}
                found.append(row | {"mean_us": f"{fmean(times):.1f}"})
                print(found[-1], flush=True)
    write(ANSWERS, found)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="of the program")
    parser.add_argument("--run", type=int, choices=RUNS, action="append")
    parser.add_argument("--part", choices=("shares", "answers"), action="append")
    given = parser.parse_args()
    folder, parts = str(given.folder.resolve()), given.part or ("shares", "answers")
    with tempfile.TemporaryDirectory() as name:
        link = build_link(Path(name))
        if "answers" in parts:
            measure_answers(link, folder)
        if "shares" in parts:
            measure(link, folder, cells(given.run or RUNS))


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        own = End(**json.loads(sys.argv[1]))
        Path(own.output).write_text(json.dumps(run_end(own)))
        os._exit(0)  # the application's threads wait in the kernel
    main()
