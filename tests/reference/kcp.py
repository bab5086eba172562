# SPDX-License-Identifier: GPL-2.0-only
"""Measure kcptun and GOST's relay+kcp: what they carry, and the bytes of each of their layers.

As root, on Linux, with g++ and util-linux, given a folder with ``kcptun-client``, ``kcptun-server``
and ``gost``, built from their source::

    python tests/reference/kcp.py FOLDER [--part rates] [--part wire] [--seed N]...

writes ``kcp-rates.csv`` and ``kcp-wire.csv`` beside this file; README.md says what is in them. Rows
of ``kcp-rates.csv`` are added as they come; of those that are there, the ones in which the link was
late are measured again. A
client and a server of the program with an application beside each run in two network namespaces
that linux-link.cc joins. The namespaces have no names and go with the runs, which come one after
another. The link and the applications are real-time (SCHED_FIFO), the programs less so.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import shlex
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from link import APPLICATION_PRIORITY, PROGRAM_PRIORITY, be_real_time, build_link

HERE = Path(__file__).resolve().parent
SECOND = 1_000_000_000
RATES = HERE / "kcp-rates.csv"
WIRE = HERE / "kcp-wire.csv"

TUNNEL_PORT = 4096
CLIENT_PORT = 3333  # where the program's client accepts
TARGET_PORT = 7777
NEAR, FAR = "10.9.0.1", "10.9.0.2"  # as linux-link has them; data go from the first to the second

RATE = 100.0  # Mbit/s, of the link
QUEUE = 2000  # packets
RTTS = (50, 200)  # ms
LOSSES = (0.0, 0.03, 0.15, 0.30)  # in either direction
SEEDS = (1, 2, 3)
START = 1.5  # s that the programs are given
WARMUP = 2.0  # s of sending that are left out
DURATION = 20.0  # s of sending
CHUNK = 1 << 17  # bytes of a write
LATE = 0.5  # ms; in which 99 % of the packets of a good run leave the link
POOL = 1 << 22  # bytes that differ, longer than any program's memory


@dataclass(frozen=True)
class Setup:
    """A program and how it is run; ``client`` and ``server`` are its options."""

    name: str
    program: str  # kcptun or gost
    upload: bool = True
    options: str = ""  # of both ends

    def command(self, folder: str, is_client: bool) -> list[str]:
        """Return the command of an end. The client is at NEAR in an upload, else at FAR."""
        options = shlex.split(self.options)
        server = FAR if self.upload else NEAR
        if self.program == "gost":
            query = "?" + "&".join(options) if options else ""
            relay = ["-L", f"relay+kcp://:{TUNNEL_PORT}{query}"]
            if is_client:
                entry = f"tcp://127.0.0.1:{CLIENT_PORT}/127.0.0.1:{TARGET_PORT}"
                relay = ["-L", entry, "-F", f"relay+kcp://{server}:{TUNNEL_PORT}{query}"]
            return [f"{folder}/gost", *relay]
        if is_client:
            ends = ["-l", f"127.0.0.1:{CLIENT_PORT}", "-r", f"{server}:{TUNNEL_PORT}"]
            return [f"{folder}/kcptun-client", *ends, *options]
        ends = ["-l", f":{TUNNEL_PORT}", "-t", f"127.0.0.1:{TARGET_PORT}"]
        return [f"{folder}/kcptun-server", *ends, *options]


FAST2 = "--mode fast2 --sndwnd 1024 --rcvwnd 1024"
#: What GOST's config.go has, and what it does not take unless it is told.
GOST_DEFAULTS = "kcp.mode=fast kcp.sndwnd=1024 kcp.rcvwnd=1024 kcp.mtu=1350"
SETUPS = (
    Setup("kcptun, up", "kcptun"),
    Setup("kcptun, down", "kcptun", upload=False),
    Setup("kcptun fast2 1024", "kcptun", options=FAST2),
    Setup("kcptun fast2 1024, no FEC", "kcptun", options=f"{FAST2} --datashard 0 --parityshard 0"),
    Setup("gost relay+kcp", "gost"),
    Setup(
        "gost relay+kcp fast 1024",
        "gost",
        options=GOST_DEFAULTS,
    ),
)


@dataclass(frozen=True)
class Task:
    """What an end does: the program, and an application that sends or receives."""

    setup: Setup
    folder: str  # of the programs
    sends: bool
    begin: float  # when the application connects, of time.monotonic()
    output: str
    captures: bool = False

    @staticmethod
    def parse(text: str) -> Task:
        fields = json.loads(text)
        return Task(**{**fields, "setup": Setup(**fields["setup"])})

    @property
    def is_client(self) -> bool:
        return self.sends == self.setup.upload

    def shell(self) -> str:
        command = [sys.executable, str(Path(__file__).resolve()), "--end", json.dumps(asdict(self))]
        return shlex.join(command)


# ------------------------------------------------------------------------------------- one of two


class Running:
    """The program while it runs."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: be_real_time(PROGRAM_PRIORITY),
        )

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
    """Sends or receives as much as it can over one connection."""

    def __init__(self, task: Task) -> None:
        self.bytes = 0
        self._task = task
        self._listener: socket.socket | None = None
        if not task.is_client:
            self._listener = socket.create_server(("127.0.0.1", TARGET_PORT))
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        be_real_time(APPLICATION_PRIORITY)
        with contextlib.suppress(ConnectionResetError):  # at the end
            self._carry(self._connect())

    def _carry(self, connection: socket.socket) -> None:
        if self._task.sends:
            pool = memoryview(os.urandom(POOL))
            at = 0
            while True:
                self.bytes += connection.send(pool[at : at + CHUNK])
                at = (at + CHUNK) % POOL
        buffer = bytearray(1 << 20)
        while count := connection.recv_into(buffer):
            self.bytes += count

    def _connect(self) -> socket.socket:
        if self._listener:
            return self._listener.accept()[0]
        wait_until(self._task.begin)
        return socket.create_connection(("127.0.0.1", CLIENT_PORT))


def wait_until(moment: float) -> None:
    while (wait := moment - time.monotonic()) > 0:
        time.sleep(wait)


def run_end(task: Task) -> dict[str, Any]:
    """Run the program and the application; return what changed between WARMUP and DURATION."""
    program = Running(task.setup.command(task.folder, task.is_client))
    application = Application(task)
    be_real_time(APPLICATION_PRIORITY)
    looks = []
    for moment in (WARMUP, DURATION):
        wait_until(task.begin + moment)
        looks.append({"bytes": application.bytes, **program.look(), **counters()})
    # Not real-time: what the kernel waits for when a process goes may have to run here.
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    time.sleep(0.2)  # until both ends have looked
    program.stop()
    return {key: looks[1][key] - looks[0][key] for key in looks[0]}


# ------------------------------------------------------------------------------------------- rates


@dataclass(frozen=True)
class Cell:
    setup: Setup
    rtt: float
    loss: float
    seed: int

    @property
    def key(self) -> tuple[str, str, str, str]:
        return (self.setup.name, f"{self.rtt:g}", f"{self.loss:g}", str(self.seed))

    @property
    def number(self) -> int:
        """Of its losses: no two cells have the same."""
        index = SETUPS.index(self.setup) * 100 + RTTS.index(int(self.rtt)) * 10
        return self.seed * 1000 + index + LOSSES.index(self.loss)


def across(link: Path, folder: str, cell: Cell) -> dict[str, object]:
    """Run across the emulated link and return the row."""
    begin = time.monotonic() + START
    outputs = {sends: link.with_name(f"sends-{sends}.json") for sends in (True, False)}
    ends = {
        sends: Task(cell.setup, folder, sends, begin, str(output))
        for sends, output in outputs.items()
    }
    conditions = {
        "rate": RATE,
        "queue": QUEUE,
        "rtt": cell.rtt,
        "loss": cell.loss,
        "ack-loss": cell.loss,
        "seed": cell.number,
    }
    command = [str(link), "--header"]
    for name, value in conditions.items():
        command += [f"--{name}", f"{value:g}"]
    command += ["--sender", ends[True].shell(), "--receiver", ends[False].shell()]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    (row,) = csv.DictReader(printed.splitlines())
    sender, receiver = (json.loads(outputs[sends].read_text()) for sends in (True, False))
    client, server = (sender, receiver) if cell.setup.upload else (receiver, sender)
    seconds = DURATION - WARMUP
    return {
        "setup": cell.setup.name,
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
        **{key: row[key] for key in ("late_p50_ms", "late_p99_ms", "late_p999_ms", "late_max_ms")},
    }


def cells(seeds: Sequence[int]) -> Iterator[Cell]:
    for seed in seeds:
        for setup in SETUPS:
            for rtt in RTTS:
                for loss in LOSSES:
                    yield Cell(setup, rtt, loss, seed)


def measured() -> dict[tuple[str, ...], dict[str, str]]:
    """Return the rows that are there."""
    if not RATES.exists():
        return {}
    with RATES.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {(row["setup"], row["rtt_ms"], row["loss"], row["seed"]): row for row in rows}


def write(rows: Iterable[dict[str, str]]) -> None:
    first, *others = rows
    with RATES.open("w", newline="") as file:
        table = csv.DictWriter(file, list(first), lineterminator="\n")
        table.writeheader()
        table.writerows([first, *others])


def lateness(row: dict[str, str]) -> float:
    """How late the link was, ms."""
    return float(row["late_p99_ms"])


def rates(link: Path, folder: str, seeds: Sequence[int]) -> None:
    """Measure what is not there, or was when the link was late; then the better row is kept.

    Rows are written at once: a run that is stopped leaves what it has measured.
    """
    for cell in cells(seeds):
        before = measured().get(cell.key)
        if before and lateness(before) <= LATE:
            continue
        row = {
            key: f"{value:.5g}" if isinstance(value, float) else str(value)
            for key, value in across(link, folder, cell).items()
        }
        if not before or lateness(row) < lateness(before):
            write({**measured(), cell.key: row}.values())
        print(
            f"{cell.key}: {row['goodput_mbps']} Mbit/s, "
            f"CPU {row['client_cpu_s']} + {row['server_cpu_s']} s, "
            f"waited {row['client_wait_s']} + {row['server_wait_s']} s, "
            f"late {row['late_p99_ms']} {row['late_p999_ms']} {row['late_max_ms']} ms, "
            f"dropped {row['run_dropped']}, by sockets {row['socket_drops']}",
            flush=True,
        )


# -------------------------------------------------------------------------------------------- wire

NONCE_AND_CRC = 20  # bytes; with the cipher "none" what follows is plain
FEC_HEADER = struct.Struct("<IH")  # number, kind; then, of data, its size 2
KINDS = {0xF1: "data", 0xF2: "parity"}
SEGMENT = struct.Struct("<IBBHIIII")  # conversation, command … length
COMMANDS = {81: "push", 82: "ack", 83: "ask", 84: "tell"}
CHUNKS = {0x00: "compressed", 0x01: "plain", 0xFF: "identifier"}
FRAME = struct.Struct("<BBHI")  # version, command, length, stream
FRAMES = ("open", "close", "data", "keepalive", "credit")
UPLOAD, REPLY = 400_000, 50_000  # bytes
WIRES = {
    "kcptun": Setup("kcptun", "kcptun", options="--crypt none"),
    "gost": Setup("gost", "gost", options="kcp.crypt=none"),
    "gost fast 1024": Setup("gost", "gost", options=f"kcp.crypt=none {GOST_DEFAULTS}"),
}


class Wire:
    """Between a program's client and server over a loopback: notes each datagram."""

    def __init__(self) -> None:
        self.datagrams: list[tuple[str, bytes]] = []
        self._near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._near.bind(("127.0.0.1", TUNNEL_PORT + 1))
        self._far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._far.connect(("127.0.0.1", TUNNEL_PORT))
        threading.Thread(target=self._carry_up, daemon=True).start()

    def _carry_up(self) -> None:
        is_first = True
        while True:
            datagram, client = self._near.recvfrom(4096)
            if is_first:
                self._near.connect(client)
                threading.Thread(target=self._carry_down, daemon=True).start()
                is_first = False
            self.datagrams.append(("to_server", datagram))
            self._far.send(datagram)

    def _carry_down(self) -> None:
        while True:
            datagram = self._far.recv(4096)
            self.datagrams.append(("to_client", datagram))
            self._near.send(datagram)


def capture(setup: Setup, folder: str) -> list[tuple[str, str]]:
    """Send UPLOAD bytes and take REPLY bytes; return the datagrams, in hexadecimal."""
    wire = Wire()
    programs = []
    for is_client in (False, True):
        command = setup.command(folder, is_client)
        if is_client:
            # Its server is the wire, whose port is another one.
            there = f"127.0.0.1:{TUNNEL_PORT + 1}"
            command = [it.replace(f"{FAR}:{TUNNEL_PORT}", there) for it in command]
        programs.append(
            subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        )
        time.sleep(START)
    target = socket.create_server(("127.0.0.1", TARGET_PORT))
    with socket.create_connection(("127.0.0.1", CLIENT_PORT)) as application:
        application.sendall(os.urandom(UPLOAD))
        with target.accept()[0] as server:
            read(server, UPLOAD)
            server.sendall(os.urandom(REPLY))
            read(application, REPLY)
            time.sleep(START)  # for acknowledgements
    for program in programs:
        program.kill()
        program.wait()
    return [(direction, datagram.hex()) for direction, datagram in wire.datagrams]


def read(connection: socket.socket, count: int) -> None:
    while count > 0:
        count -= len(connection.recv(count))


def layers(datagrams: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, str, int]]:
    """Yield direction, layer, kind and bytes of everything in datagrams that have FEC."""
    streams: dict[str, dict[int, bytes]] = {"to_server": {}, "to_client": {}}
    for direction, text in datagrams:
        datagram = bytes.fromhex(text)
        _, number = FEC_HEADER.unpack_from(datagram, NONCE_AND_CRC)
        kind = KINDS[number]
        yield direction, "datagram", kind, len(datagram)
        if kind == "parity":
            continue
        at = NONCE_AND_CRC + FEC_HEADER.size
        end = at + int.from_bytes(datagram[at : at + 2], "little")
        if end != len(datagram):
            raise RuntimeError(f"a datagram of {len(datagram)} bytes says {end}")
        at += 2
        while at < end:
            _, command, _, _, _, segment, _, length = SEGMENT.unpack_from(datagram, at)
            at += SEGMENT.size
            yield direction, "segment", COMMANDS[command], length
            if COMMANDS[command] == "push":
                streams[direction][segment] = datagram[at : at + length]
                at += length
    for direction, segments in streams.items():
        stream = b"".join(segments[number] for number in sorted(segments))
        frames = b""
        while stream:
            kind, length = CHUNKS[stream[0]], int.from_bytes(stream[1:4], "little")
            yield direction, "snappy", kind, 4 + length
            if kind == "plain":
                frames += stream[8 : 4 + length]
            elif kind == "compressed":
                frames += decompress(stream[8 : 4 + length])
            stream = stream[4 + length :]
        while frames:
            _, command, length, _ = FRAME.unpack_from(frames)
            yield direction, "smux", FRAMES[command], FRAME.size + length
            frames = frames[FRAME.size + length :]


def decompress(block: bytes) -> bytes:
    """Return what a block of snappy holds."""
    at = shift = size = 0
    while True:
        size |= (block[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if block[at - 1] < 0x80:
            break
    out = bytearray()
    while at < len(block):
        tag = block[at]
        kind, value = tag & 3, tag >> 2
        if kind == 0:
            extra = max(0, value - 59)
            length = 1 + (int.from_bytes(block[at + 1 : at + 1 + extra], "little") or value)
            at += 1 + extra
            out += block[at : at + length]
            at += length
            continue
        extra = (0, 1, 2, 4)[kind]
        offset = int.from_bytes(block[at + 1 : at + 1 + extra], "little")
        length = 1 + value
        if kind == 1:
            length, offset = 4 + (value & 7), offset | (tag >> 5) << 8
        at += 1 + extra
        for _ in range(length):
            out.append(out[-offset])
    if len(out) != size:
        raise RuntimeError(f"a block of {size} bytes has {len(out)}")
    return bytes(out)


def wire(folder: str) -> None:
    """Capture each program in a namespace of its own; write how often each layer had which."""
    with WIRE.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("setup", "direction", "layer", "kind", "bytes", "count"))
        for name in WIRES:
            own = [sys.executable, str(Path(__file__).resolve()), folder, "--capture", name]
            command = f"ip link set lo up; exec {shlex.join(own)}"
            run = subprocess.run(
                ["unshare", "--net", "sh", "-ec", command], check=True, stdout=subprocess.PIPE
            )
            found = Counter(layers(json.loads(run.stdout)))
            for row, count in sorted(found.items()):
                table.writerow((name, *row, count))
            print(f"{name}: {sum(found.values())}", flush=True)


# --------------------------------------------------------------------------------------------- run


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="of the programs")
    parser.add_argument("--seed", type=int, choices=SEEDS, action="append")
    parser.add_argument("--part", choices=("wire", "rates"), action="append")
    parser.add_argument("--end", type=Task.parse, help=argparse.SUPPRESS)
    parser.add_argument("--capture", choices=WIRES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.end:
        Path(given.end.output).write_text(json.dumps(run_end(given.end)))
        os._exit(0)  # the application's thread waits in the kernel
    if given.folder is None:
        parser.error("the folder of kcptun-client, kcptun-server and gost is expected")
    folder = str(given.folder.resolve())
    if given.capture:
        print(json.dumps(capture(WIRES[given.capture], folder)), flush=True)
        os._exit(0)
    parts = given.part or ("wire", "rates")
    if "wire" in parts:
        wire(folder)
    if "rates" in parts:
        with tempfile.TemporaryDirectory() as name:
            rates(build_link(Path(name)), folder, given.seed or SEEDS)


if __name__ == "__main__":
    main()
