# SPDX-License-Identifier: GPL-2.0-only
"""Run a program that forwards TCP connections across the emulated link, and note what it carried.

A client and a server of the program with an application beside each run in two network namespaces
that linux-link.cc joins. The namespaces have no names and go with the runs, which come one after
another. The link and the applications are real-time (SCHED_FIFO), the programs less so.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from link import APPLICATION_PRIORITY, be_real_time, start

SECOND = 1_000_000_000

TUNNEL_PORT = 4096
CLIENT_PORT = 3333  # where the program's client accepts
TARGET_PORT = 7777
NEAR, FAR = "10.9.0.1", "10.9.0.2"  # as linux-link has them; data go from the first to the second

RATE = 100.0  # Mbit/s, of the link
QUEUE = 2000  # packets
START = 1.5  # s that the programs are given
WARMUP = 2.0  # s of sending that are left out
DURATION = 20.0  # s of sending
CHUNK = 1 << 17  # bytes of a write
LATE = 0.5  # ms; in which 99 % of the packets of a good run leave the link
POOL = 1 << 22  # bytes that differ, longer than any program's memory

Address = tuple[str, int]


class Setup(Protocol):
    """A program and how it is run."""

    @property
    def name(self) -> str: ...

    @property
    def upload(self) -> bool:
        """Whether the client sends."""

    @property
    def flows(self) -> int:
        """Connections of the application."""

    def command(self, folder: str, is_client: bool) -> list[str]:
        """Return the command of an end. The client is at NEAR in an upload, else at FAR."""


@dataclass(frozen=True)
class Cell:
    """A run of a setup; ``loss``: in either direction, or toward the receiver only."""

    setup: Setup
    rtt: float
    loss: float
    seed: int
    number: int  # of its losses: no two cells have the same
    queue: int = QUEUE  # packets that may wait
    is_one_way: bool = False

    @property
    def key(self) -> tuple[str, str, str, str]:
        return (self.setup.name, f"{self.rtt:g}", f"{self.loss:g}", str(self.seed))


@dataclass(frozen=True)
class Task:
    """What an end does: the program, and an application that sends or receives."""

    command: list[str]
    is_client: bool
    sends: bool
    flows: int
    begin: float  # when the application connects, of time.monotonic()
    output: str
    packets: str = ""  # where to note those of the outer device, if anywhere

    @staticmethod
    def parse(text: str) -> Task:
        return Task(**json.loads(text))

    def shell(self) -> str:
        return shlex.join([sys.executable, str(Path(__file__).resolve()), json.dumps(asdict(self))])


# ------------------------------------------------------------------------------------- one of two


class Running:
    """The program while it runs."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = start(command)

    def look(self) -> dict[str, float]:
        """Return its threads' CPU seconds, the kernel's for them, and how long they waited."""
        tasks = Path("/proc", str(self._process.pid), "task").glob("*/schedstat")
        times = [[int(it) for it in task.read_text().split()] for task in tasks]
        cpu, wait = (sum(time[i] for time in times) / SECOND for i in range(2))
        return {"cpu": cpu, "wait": wait}

    def stop(self) -> None:
        if self._process.poll() is not None:
            raise RuntimeError(f"the program ended with {self._process.returncode}")
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


def counters() -> dict[str, int]:
    """Return what went through the outer device, and what UDP's sockets dropped."""
    (device,) = (
        line.split(":")[1].split()
        for line in Path("/proc/net/dev").read_text().splitlines()
        if line.strip().startswith("tun0:")
    )
    names, values = (
        line.split()[1:]
        for line in Path("/proc/net/snmp").read_text().splitlines()
        if line.startswith("Udp:")
    )
    udp = dict(zip(names, values, strict=True))
    return {
        "out_bytes": int(device[8]),
        "out_packets": int(device[9]),
        "socket_drops": int(udp["RcvbufErrors"]) + int(udp["SndbufErrors"]),
    }


class Application:
    """Sends or receives as much as it can over its connections.

    It listens at ``target``, or connects to ``entry``, with a congestion control if one is given.
    """

    def __init__(
        self,
        task: Task,
        target: Address = ("127.0.0.1", TARGET_PORT),
        entry: Address = ("127.0.0.1", CLIENT_PORT),
        cc: str = "",
    ) -> None:
        self.connections: list[socket.socket] = []
        self._task = task
        self._entry = entry
        self._cc = cc
        self._bytes = [0] * task.flows
        self._pool = memoryview(os.urandom(POOL if task.sends else 0))  # before time counts
        self._listener: socket.socket | None = None
        if not task.is_client:
            self._listener = socket.create_server(target)
        for flow in range(task.flows):
            threading.Thread(target=self._run, args=(flow,), daemon=True).start()

    @property
    def bytes(self) -> int:
        return sum(self._bytes)

    def _run(self, flow: int) -> None:
        be_real_time(APPLICATION_PRIORITY)
        with contextlib.suppress(ConnectionResetError):  # at the end
            connection = self._connect()
            self.connections.append(connection)
            self._carry(connection, flow)

    def _carry(self, connection: socket.socket, flow: int) -> None:
        if self._task.sends:
            at = 0
            while True:
                self._bytes[flow] += connection.send(self._pool[at : at + CHUNK])
                at = (at + CHUNK) % POOL
        buffer = bytearray(1 << 20)
        while count := connection.recv_into(buffer):
            self._bytes[flow] += count

    def _connect(self) -> socket.socket:
        if self._listener:
            return self._listener.accept()[0]
        connection = socket.socket()
        if self._cc:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self._cc.encode())
        wait_until(self._task.begin)
        connection.connect(self._entry)
        return connection


class Packets:
    """Notes when UDP datagrams pass the outer device: s after `begin`, direction, header, bytes."""

    ALL = 3  # ETH_P_ALL
    OUTGOING = 4  # PACKET_OUTGOING
    BUFFER = 33  # SO_RCVBUFFORCE
    LONG_HEADER = 0x80  # in the first byte, of QUIC

    def __init__(self, begin: float) -> None:
        self.seen: list[tuple[float, str, str, int]] = []
        self._begin = begin
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(self.ALL))
        self._socket.setsockopt(socket.SOL_SOCKET, self.BUFFER, 1 << 26)
        self._socket.bind(("tun0", self.ALL))
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            packet, address = self._socket.recvfrom(2048)
            time_seen = time.monotonic() - self._begin
            if packet[0] != 0x45 or packet[9] != socket.IPPROTO_UDP:
                continue
            direction = "out" if address[2] == self.OUTGOING else "back"
            header = "long" if packet[28] & self.LONG_HEADER else "short"
            self.seen.append((time_seen, direction, header, len(packet) - 28))


def wait_until(moment: float) -> None:
    while (wait := moment - time.monotonic()) > 0:
        time.sleep(wait)


def run_end(task: Task) -> dict[str, Any]:
    """Run the program and the application; return what changed between WARMUP and DURATION."""
    program = Running(task.command)
    application = Application(task)
    packets = Packets(task.begin) if task.packets else None
    be_real_time(APPLICATION_PRIORITY)
    looks = []
    for moment in (WARMUP, DURATION):
        wait_until(task.begin + moment)
        looks.append({"bytes": application.bytes, **program.look(), **counters()})
    # Not real-time: what the kernel waits for when a process goes may have to run here.
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    time.sleep(0.2)  # until both ends have looked
    program.stop()
    if packets:
        Path(task.packets).write_text(json.dumps(packets.seen))
    return {key: looks[1][key] - looks[0][key] for key in looks[0]}


# ------------------------------------------------------------------------------------------- rates


@dataclass(frozen=True)
class Notes:
    """Files for more of a run: the sender's packets, and the link's series by ``interval`` (s)."""

    packets: Path | None = None
    series: Path | None = None
    interval: float = 0.1


def across(link: Path, folder: str, cell: Cell, notes: Notes = Notes()) -> dict[str, object]:
    """Run across the emulated link and return the row.

    With a series, the link's counts and losses are of the time from the application's connection to
    DURATION, and ``queue_ms`` of that after WARMUP. Without one they are of all.
    """
    begin = time.monotonic() + START
    outputs = {sends: link.with_name(f"sends-{sends}.json") for sends in (True, False)}
    setup = cell.setup
    ends = {}
    for sends, output in outputs.items():
        is_client = sends == setup.upload
        command = setup.command(folder, is_client)
        packets = str(notes.packets) if notes.packets and sends else ""
        ends[sends] = Task(command, is_client, sends, setup.flows, begin, str(output), packets)
    conditions = {
        "rate": RATE,
        "queue": cell.queue,
        "rtt": cell.rtt,
        "loss": cell.loss,
        "ack-loss": 0 if cell.is_one_way else cell.loss,
        "seed": cell.number,
    }
    run = [str(link), "--header"]
    for name, value in conditions.items():
        run += [f"--{name}", f"{value:g}"]
    if notes.series:
        times = [round(SECOND * (begin + it)) for it in (0, WARMUP, DURATION)]
        run += ["--window", ",".join(map(str, times))]
        run += ["--series", str(notes.series), "--interval", f"{notes.interval:g}"]
    run += ["--sender", ends[True].shell(), "--receiver", ends[False].shell()]
    printed = subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True).stdout
    (row,) = csv.DictReader(printed.splitlines())
    sender, receiver = (json.loads(outputs[sends].read_text()) for sends in (True, False))
    client, server = (sender, receiver) if setup.upload else (receiver, sender)
    if receiver["bytes"] == 0:
        raise RuntimeError(f"{cell.key}: nothing was read")
    seconds = DURATION - WARMUP
    return {
        "setup": setup.name,
        "rtt_ms": cell.rtt,
        "loss": cell.loss,
        "seed": cell.seed,
        "goodput_mbps": 8e-6 * receiver["bytes"] / seconds,
        "bytes": receiver["bytes"],
        "ip_bytes": sender["out_bytes"],
        "datagrams": sender["out_packets"],
        "back_ip_bytes": receiver["out_bytes"],
        "back_datagrams": receiver["out_packets"],
        "client_cpu_s": client["cpu"],
        "server_cpu_s": server["cpu"],
        "client_wait_s": client["wait"],
        "server_wait_s": server["wait"],
        "socket_drops": sender["socket_drops"] + receiver["socket_drops"],
        "run_datagrams": row["packets"],
        "run_lost": row["random_drops"],
        "run_dropped": row["queue_drops"],
        "run_back_datagrams": row["back_packets"],
        "run_back_lost": row["back_random_drops"],
        **({"queue_ms": row["soj_mean_ms"]} if notes.series else {}),
        **{key: row[key] for key in ("late_p50_ms", "late_p99_ms", "late_p999_ms", "late_max_ms")},
    }


def measured(table: Path) -> dict[tuple[str, ...], dict[str, str]]:
    """Return the rows that are there."""
    if not table.exists():
        return {}
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {(row["setup"], row["rtt_ms"], row["loss"], row["seed"]): row for row in rows}


def write(table: Path, rows: Iterable[dict[str, str]]) -> None:
    first, *others = rows
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(first), lineterminator="\n")
        writer.writeheader()
        writer.writerows([first, *others])


def lateness(row: dict[str, str]) -> float:
    """How late the link was, ms."""
    return float(row["late_p99_ms"])


def measure(table: Path, link: Path, folder: str, cells: Iterable[Cell]) -> None:
    """Measure what is not there, or was when the link was late; then the better row is kept.

    Rows are written at once: a run that is stopped leaves what it has measured.
    """
    for cell in cells:
        before = measured(table).get(cell.key)
        if before and lateness(before) <= LATE:
            continue
        row = {
            key: f"{value:.5g}" if isinstance(value, float) else str(value)
            for key, value in across(link, folder, cell).items()
        }
        if not before or lateness(row) < lateness(before):
            write(table, {**measured(table), cell.key: row}.values())
        print(
            f"{cell.key}: {row['goodput_mbps']} Mbit/s, "
            f"CPU {row['client_cpu_s']} + {row['server_cpu_s']} s, "
            f"waited {row['client_wait_s']} + {row['server_wait_s']} s, "
            f"late {row['late_p99_ms']} {row['late_p999_ms']} {row['late_max_ms']} ms, "
            f"dropped {row['run_dropped']}, by sockets {row['socket_drops']}",
            flush=True,
        )


if __name__ == "__main__":
    task = Task.parse(sys.argv[1])
    Path(task.output).write_text(json.dumps(run_end(task)))
    os._exit(0)  # the application's threads wait in the kernel
