# SPDX-License-Identifier: GPL-2.0-only
"""Measure UDPspeeder: its datagrams, the loss it leaves, its delay, and the CPU time it takes.

As root, on Linux, with g++ and util-linux, given a program built from UDPspeeder's source::

    python tests/reference/udpspeeder.py speederv2 [--part wire] [--part loss] [--part cpu]

writes ``udpspeeder-wire.csv``, ``udpspeeder-loss.csv`` and ``udpspeeder-cpu.csv`` beside this
file; README.md says what is in them. A client of the program with a sender of UDP, and a server of
it with a receiver, run in two network namespaces that linux-link.cc joins; to measure CPU time, all
run in one, over its loopback. The namespaces have no names and go with the runs, which come one
after another. The link, sender and receiver are real-time (SCHED_FIFO), the program less so.
"""

from __future__ import annotations

import argparse
import csv
import gc
import json
import os
import shlex
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from link import APPLICATION_PRIORITY, be_real_time, build_link, start

HERE = Path(__file__).resolve().parent
SECOND = 1_000_000_000
HEAD = struct.Struct("!QQ")  # of our packets: their number, when they were sent (ns)

TUNNEL_PORT = 4096
CLIENT = ("127.0.0.1", 3333)  # where the program's client takes packets
RECEIVER_PORT = 7777

RTT = 40.0  # ms
RATE = 100.0  # Mbit/s, of the link
QUEUE = 1000  # packets
FECS = ("20:10", "10:3")
MODES = (0, 1)
SIZE = 1000  # bytes of UDP payload
LOSSES = (0.01, 0.05, 0.15, 0.30)
# Packets a second; with what losses, and how often. Of 5000 all groups fill, of 200 none; of 2500,
# those of 10:3 and, just so, those of 20:10 in mode 1.
LOADS = {5000: (LOSSES, 3), 200: (LOSSES, 3), 2500: (LOSSES[-2:], 1)}

FEC_HEADER = struct.Struct("!IBBBB")  # group, mode, data shards, parity shards, index
IP_HEADER = 20


# --------------------------------------------------------------------------- what a run is made of


@dataclass(frozen=True)
class Program:
    """How the program is run; without ``fec``, none runs or, by ``has_no_fec``, one without FEC."""

    path: str = ""
    fec: str = ""
    mode: int = 0
    has_no_fec: bool = False
    is_obscure: bool = True
    key: str = ""

    @property
    def runs(self) -> bool:
        return bool(self.fec) or self.has_no_fec

    def command(self, role: str, here: tuple[str, int], there: tuple[str, int]) -> list[str]:
        """Return the command of the client (``-c``) or the server (``-s``)."""
        command = [self.path, role, "-l", "{}:{}".format(*here), "-r", "{}:{}".format(*there)]
        command += ["--disable-fec"] if self.has_no_fec else ["-f", self.fec]
        command += ["--mode", str(self.mode), "--log-level", "1"]
        command += [] if self.is_obscure else ["--disable-obscure"]
        return command + (["-k", self.key] if self.key else [])


@dataclass(frozen=True)
class Traffic:
    """Bursts of packets, and for how long (s)."""

    size: int
    per_second: float  # bursts
    duration: float
    burst: int = 1
    second_size: int = 0  # of every second packet, if it has another one

    @property
    def bursts(self) -> int:
        return round(self.per_second * self.duration)


@dataclass(frozen=True)
class Task:
    """What a process in a namespace does."""

    program: Program
    traffic: Traffic
    output: str
    server: str = "10.9.0.2"  # where the other end is
    captures: bool = False

    @staticmethod
    def parse(text: str) -> Task:
        fields = json.loads(text)
        fields["program"] = Program(**fields["program"])
        fields["traffic"] = Traffic(**fields["traffic"])
        return Task(**fields)

    def shell(self, role: str) -> str:
        """Return the command of the process."""
        command = [sys.executable, str(Path(__file__).resolve()), f"--{role}"]
        return shlex.join([*command, json.dumps(asdict(self))])


START = 0.5  # s that the program's server is given, then its client
REST = 0.8  # s that what is under way is given


class Running:
    """The program while it runs; its CPU time is taken between two looks."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = start(command)
        time.sleep(START)
        self._first = self._look()

    def stop(self) -> float:
        """Return the CPU seconds, its own and the kernel's for it, since it was ready."""
        cpu = self._look() - self._first
        if self._process.poll() is not None:
            raise RuntimeError(f"the program ended with {self._process.returncode}")
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()
        return cpu

    def _look(self) -> float:
        # In ns; the parts that /proc/PID/stat tells apart are counted in ticks, too coarse here.
        schedstat = Path("/proc", str(self._process.pid), "schedstat")
        return float(schedstat.read_text().split()[0]) / SECOND


# ------------------------------------------------------------------------ processes in a namespace


class Capture:
    """What leaves the outer device: when, and the IP packet."""

    SO_TIMESTAMPNS = 35
    ALL = 3  # ETH_P_ALL: incoming packets alone are seen otherwise

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(self.ALL))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self._socket.setsockopt(socket.SOL_SOCKET, self.SO_TIMESTAMPNS, 1)
        self._socket.bind(("tun0", self.ALL))
        self._socket.setblocking(False)

    def read(self) -> Iterator[tuple[int, bytes]]:
        """Yield what has come, with its time since the epoch (ns)."""
        while True:
            try:
                packet, ancillary, _, address = self._socket.recvmsg(4096, 64)
            except BlockingIOError:
                return
            is_outgoing = address[2] == socket.PACKET_OUTGOING
            if is_outgoing and packet[0] >> 4 == 4 and packet[9] == socket.IPPROTO_UDP:
                seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
                yield seconds * SECOND + nanoseconds, packet


def send(task: Task) -> dict[str, Any]:
    """Send bursts on time, through the program's client if there is one."""
    traffic = task.traffic
    time.sleep(START)  # for the server
    client = None
    target = (task.server, RECEIVER_PORT)
    if task.program.runs:
        client = Running(task.program.command("-c", CLIENT, (task.server, TUNNEL_PORT)))
        target = CLIENT
    capture = Capture() if task.captures else None
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.connect(target)
    paddings = [
        bytes(size - HEAD.size) for size in (traffic.size, traffic.second_size or traffic.size)
    ]
    interval = SECOND / traffic.per_second
    late = []
    bursts = []
    gc.disable()
    be_real_time(APPLICATION_PRIORITY)
    begin = time.monotonic_ns()
    for burst in range(traffic.bursts):
        due = begin + round(burst * interval)
        while (wait := due - time.monotonic_ns()) > 0:
            time.sleep(wait / SECOND)
        late.append((time.monotonic_ns() - due) / 1e6)
        started = time.time_ns()
        for number in range(burst * traffic.burst, (burst + 1) * traffic.burst):
            out.send(HEAD.pack(number, time.monotonic_ns()) + paddings[number % 2])
        if capture:
            time.sleep(interval / 2 / SECOND)
            packets = [(at - started, packet.hex()) for at, packet in capture.read()]
            bursts.append(packets)
    time.sleep(REST / 2)
    late.sort()
    result: dict[str, Any] = {
        "sent": traffic.bursts * traffic.burst,
        "late_p99_ms": late[int(0.99 * len(late))],
        "bursts": bursts,
    }
    return result | {"cpu_s": client.stop() if client else 0.0}


def receive(task: Task) -> dict[str, Any]:
    """Take what comes, from the program's server if there is one."""
    own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    own.bind(("0.0.0.0", RECEIVER_PORT))
    server = None
    end = time.monotonic() + 2 * START + task.traffic.duration + REST
    if task.program.runs:
        here, there = (task.server, TUNNEL_PORT), ("127.0.0.1", RECEIVER_PORT)
        server = Running(task.program.command("-s", here, there))
    arrivals = []
    gc.disable()
    be_real_time(APPLICATION_PRIORITY)
    while (left := end - time.monotonic()) > 0:
        own.settimeout(left)
        try:
            packet = own.recv(4096)
        except TimeoutError:
            break
        arrivals.append((packet[: HEAD.size], time.monotonic_ns()))
    result = summarize([(*HEAD.unpack(head), at) for head, at in arrivals])
    return result | {"cpu_s": server.stop() if server else 0.0}


def summarize(arrivals: Iterable[tuple[int, int, int]]) -> dict[str, Any]:
    """Count packets (number, sent, received): out of order as RFC 4737, one-way delays in ms."""
    seen: set[int] = set()
    delays = []
    duplicates = reordered = 0
    highest = -1
    for number, sent, received in arrivals:
        if number in seen:
            duplicates += 1
            continue
        seen.add(number)
        reordered += number < highest
        highest = max(highest, number)
        delays.append((received - sent) / 1e6)
    delays.sort()
    return {
        "received": len(seen),
        "duplicates": duplicates,
        "out_of_order": reordered,
        "delay_mean_ms": statistics.fmean(delays) if delays else 0.0,
        **{
            f"delay_p{100 * share:g}_ms": delays[int(share * len(delays))] if delays else 0.0
            for share in (0.5, 0.95, 0.99)
        },
        "delay_max_ms": delays[-1] if delays else 0.0,
    }


# -------------------------------------------------------------------------------------------- runs


@dataclass(frozen=True)
class Outcome:
    sender: dict[str, Any]
    receiver: dict[str, Any]
    link: dict[str, str] = field(default_factory=dict)


def across(
    link: Path,
    program: Program,
    traffic: Traffic,
    loss: float = 0,
    seed: int = 1,
    captures: bool = False,
) -> Outcome:
    """Run across the emulated link."""
    outputs = [link.with_name(f"{role}.json") for role in ("send", "receive")]
    sender, receiver = (Task(program, traffic, str(output)) for output in outputs)
    conditions = {"rate": RATE, "queue": QUEUE, "rtt": RTT, "loss": loss, "seed": seed}
    command = [str(link), "--header"]
    for name, value in conditions.items():
        command += [f"--{name}", f"{value:g}"]
    command += ["--sender", replace(sender, captures=captures).shell("send")]
    command += ["--receiver", receiver.shell("receive")]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    (row,) = csv.DictReader(printed.splitlines())
    sent, received = (json.loads(output.read_text()) for output in outputs)
    return Outcome(sent, received, row)


def over_loopback(folder: Path, program: Program, traffic: Traffic) -> Outcome:
    """Run in one namespace of its own."""
    outputs = [folder / f"{role}.json" for role in ("send", "receive")]
    sender, receiver = (Task(program, traffic, str(output), "127.0.0.1") for output in outputs)
    both = f"ip link set lo up; {receiver.shell('receive')} & {sender.shell('send')} && wait $!"
    subprocess.run(["unshare", "--net", "sh", "-ec", both], check=True)
    sent, received = (json.loads(output.read_text()) for output in outputs)
    return Outcome(sent, received)


def write_table(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(
            {
                key: f"{value:.5g}" if isinstance(value, float) else value
                for key, value in row.items()
            }
            for row in rows
        )
    print(f"wrote {path}: {len(rows)} rows", flush=True)


# -------------------------------------------------------------------------------------------- wire


@dataclass(frozen=True)
class Datagram:
    """One that left: its FEC header, and its IP bytes without the random bytes behind it."""

    at: int  # ns after its burst began
    group: int
    mode: int
    data: int  # shards; 0 where a data shard does not say
    parity: int
    index: int
    ip_bytes: int
    random_bytes: int
    ip_packets: int
    blob_packets: int  # in the group, where the shard says it

    @property
    def is_parity(self) -> bool:
        return self.index >= self.data > 0


def reassemble(packets: Iterable[tuple[int, str]]) -> Iterator[tuple[int, bytes, int, int]]:
    """Yield what left of each datagram: when, its UDP payload, its IP bytes and IP packets."""
    parts: dict[int, list[tuple[int, int, bytes]]] = defaultdict(list)
    for at, text in packets:
        packet = bytes.fromhex(text)
        identification, fragment = struct.unpack_from("!HH", packet, 4)
        is_whole = fragment & 0x3FFF == 0
        key = identification if not is_whole else -1 - len(parts)
        parts[key].append(((fragment & 0x1FFF) * 8, at, packet))
    for part in parts.values():
        part.sort()
        payload = b"".join(packet[IP_HEADER:] for _, _, packet in part)[8:]
        ip_bytes = sum(len(packet) for _, _, packet in part)
        yield max(at for _, at, _ in part), payload, ip_bytes, len(part)


def read_datagrams(program: Program, packets: Iterable[tuple[int, str]]) -> Iterator[Datagram]:
    """Yield datagrams whose CRC is right; others are an error."""
    for at, payload, ip_bytes, ip_packets in reassemble(packets):
        text = payload
        if program.key:
            key = program.key.encode()
            text = bytes(byte ^ key[i % len(key)] for i, byte in enumerate(text))
        random = 0
        if program.is_obscure:
            random = text[-1] + 1
            vector = text[-random:-1]
            text = bytes(byte ^ vector[i % len(vector)] for i, byte in enumerate(text[:-random]))
        if zlib.crc32(text[:-4]) != int.from_bytes(text[-4:], "big"):
            raise ValueError(f"a datagram of {len(payload)} bytes that is not the program's")
        group, mode, data, parity, index = FEC_HEADER.unpack_from(text)
        tells = mode == 0 and index == 0
        blob = int.from_bytes(text[FEC_HEADER.size :][:4], "big") if tells else 0
        yield Datagram(
            at, group, mode, data, parity, index, ip_bytes - random, random, ip_packets, blob
        )


def sizes(datagrams: Sequence[Datagram]) -> str:
    """Return their different sizes."""
    return " ".join(str(size) for size in sorted({item.ip_bytes for item in datagrams}))


def spread(name: str, unit: str, values: Sequence[float]) -> dict[str, object]:
    """Return columns of the least, the mean and the most."""
    functions: dict[str, Callable[[Sequence[float]], float]]
    functions = {"min": min, "mean": statistics.fmean, "max": max}
    return {
        f"{name}_{key}{unit}": function(values) if values else ""
        for key, function in functions.items()
    }


def wire_rows(program: Program, traffic: Traffic, outcome: Outcome) -> list[dict[str, object]]:
    """Return a row per shape of group."""
    shapes: dict[tuple[object, ...], list[float]] = defaultdict(list)
    random: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for packets in outcome.sender["bursts"]:
        groups: dict[int, list[Datagram]] = defaultdict(list)
        for datagram in read_datagrams(program, packets):
            groups[datagram.group].append(datagram)
        for group in groups.values():
            parity = [item for item in group if item.is_parity]
            data = [item for item in group if not item.is_parity]
            inner = max(item.blob_packets for item in group) if program.mode == 0 else len(data)
            shape: tuple[object, ...] = (
                inner,
                len(data),
                len(parity),
                sizes(data),
                sizes(parity),
                max(item.ip_packets for item in group),
            )
            closed = min((item.at for item in parity), default=group[-1].at)
            shapes[shape].append(closed / 1e6)
            random[shape] += [item.random_bytes for item in group]
    if not shapes:  # the program took nothing
        shapes[0, 0, 0, "", "", 0] = []
    rows: list[dict[str, object]] = []
    for shape, closed_ms in sorted(shapes.items(), key=lambda item: -len(item[1])):
        names = ("packets", "data", "parity", "data_ip_bytes", "parity_ip_bytes", "ip_packets")
        rows.append(
            {
                "mode": program.mode,
                "fec": program.fec,
                "obscure": int(program.is_obscure),
                "key": int(bool(program.key)),
                "size": traffic.size,
                "second_size": traffic.second_size or traffic.size,
                "burst": traffic.burst,
                "bursts": traffic.bursts,
                "received": outcome.receiver["received"],
                "groups": len(closed_ms),
                **dict(zip(names, shape, strict=True)),
                **spread("random", "", random[shape]),
                **spread("closed", "_ms", closed_ms),
            }
        )
    return rows


def wire(link: Path, program: Program) -> list[dict[str, object]]:
    """Capture groups that fill at once and ones that the timer closes."""
    plain = replace(program, is_obscure=False)
    cases: list[tuple[Program, Traffic]] = []

    def add(variant: Program, size: int, burst: int, count: int, second: int = 0) -> None:
        cases.append((variant, Traffic(size, 20, count / 20, burst, second)))

    for mode in MODES:
        for fec in FECS:
            variant = replace(plain, mode=mode, fec=fec)
            for size in (100, 500, 1200):
                add(variant, size, 1, 40)
                add(variant, size, 1000 if mode == 0 and size == 100 else 200, 5)
        for size in (1250, 1300, 1400, 1444, 1460, 2000, 3500, 3600, 3601):
            for burst in (1, 60):
                add(replace(plain, mode=mode, fec="20:10"), size, burst, 5)
        for burst in (2, 3, 5, 8):
            add(replace(plain, mode=mode, fec="20:10"), 1000, burst, 5)
        for key in ("", "secret"):
            for is_obscure in (True, False):
                variant = replace(plain, mode=mode, fec="20:10", key=key, is_obscure=is_obscure)
                add(variant, 500, 200, 10)
        # Parity by the size of the group, between two given.
        add(replace(plain, mode=mode, fec="1:3,5:5,20:10"), 1000, 3, 5)
        add(replace(plain, mode=mode, fec="1:3,5:5,20:10"), 1000, 12, 5)
        # Packets of two sizes.
        add(replace(plain, mode=mode, fec="20:10"), 100, 60, 5, 1200)
        add(replace(plain, mode=mode, fec="20:10"), 1200, 2, 5, 100)
        # As many shards as the program takes, and one more.
        add(replace(plain, mode=mode, fec="20:234"), 1000, 60, 5)
        add(replace(plain, mode=mode, fec="20:235"), 1000, 60, 5)
    # Shards longer than the program's mtu, alone and behind a shorter packet.
    for burst in (1, 3):
        add(replace(plain, mode=0, fec="1:1"), 1300, burst, 5)
        add(replace(plain, mode=0, fec="2:1"), 2600, burst, 5)
    add(replace(plain, mode=0, fec="1:1"), 500, 4, 5, 1300)
    rows = []
    for variant, traffic in cases:
        rows += wire_rows(variant, traffic, across(link, variant, traffic, captures=True))
    return rows


# -------------------------------------------------------------------------------------------- loss


def loss_row(
    program: Program, traffic: Traffic, loss: float, seed: int, outcome: Outcome
) -> dict[str, object]:
    link, received, sent = outcome.link, outcome.receiver, outcome.sender
    return {
        "mode": program.mode if program.runs else "",
        "fec": program.fec,
        "size": traffic.size,
        "per_second": traffic.per_second,
        "loss": loss,
        "seed": seed,
        "sent": sent["sent"],
        "received": received["received"],
        "duplicates": received["duplicates"],
        "out_of_order": received["out_of_order"],
        "datagrams": link["packets"],
        "ip_bytes": link["ip_bytes"],
        "lost": link["random_drops"],
        "dropped": link["queue_drops"],
        **{key: value for key, value in received.items() if key.startswith("delay_")},
        "client_cpu_s": sent["cpu_s"],
        "server_cpu_s": received["cpu_s"],
        "sender_late_p99_ms": sent["late_p99_ms"],
        **{key: link[key] for key in ("late_p50_ms", "late_p99_ms", "late_p999_ms", "late_max_ms")},
    }


def residual(link: Path, program: Program, duration: float) -> Iterator[dict[str, object]]:
    """Send at constant rates across losses; without the program first, then without loss."""
    seed = 0
    for per_second, (losses, runs) in LOADS.items():
        traffic = Traffic(SIZE, per_second, duration)
        variants = [Program()]
        variants += [replace(program, mode=mode, fec=fec) for mode in MODES for fec in FECS]
        for variant in variants:
            for loss in (0.0, *(losses if variant.runs else ())):
                for _ in range(runs if loss else 1):
                    seed += 1
                    outcome = across(link, variant, traffic, loss, seed)
                    row = loss_row(variant, traffic, loss, seed, outcome)
                    print(
                        f"mode {row['mode']} {row['fec']} {per_second}/s loss {loss}: "
                        f"{row['received']} of {row['sent']}, {row['delay_mean_ms']:.2f} ms",
                        flush=True,
                    )
                    yield row


# --------------------------------------------------------------------------------------------- CPU


def cpu(folder: Path, program: Program) -> Iterator[dict[str, object]]:
    """Take CPU times over loopback, without loss, with and without FEC."""
    variants = [replace(program, has_no_fec=True)]
    variants += [replace(program, mode=mode, fec=fec) for mode in MODES for fec in FECS]
    for size in (SIZE, 100):
        for per_second in (2500, 20000):
            traffic = Traffic(size, per_second, 5)
            for variant in variants:
                outcome = over_loopback(folder, variant, traffic)
                sent = outcome.sender["sent"]
                row: dict[str, object] = {
                    "mode": "" if variant.has_no_fec else variant.mode,
                    "fec": variant.fec or "none",
                    "size": size,
                    "per_second": per_second,
                    "sent": sent,
                    "received": outcome.receiver["received"],
                }
                for name, end in (("client", outcome.sender), ("server", outcome.receiver)):
                    row[f"{name}_us_a_packet"] = 1e6 * end["cpu_s"] / sent
                print(row, flush=True)
                yield row


# --------------------------------------------------------------------------------------------- run


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("program", type=Path, nargs="?", help="UDPspeeder's speederv2")
    parser.add_argument("--part", choices=("wire", "loss", "cpu"), action="append")
    parser.add_argument("--duration", type=float, default=12, help="of a run with loss, s")
    parser.add_argument("--output", type=Path, default=HERE, help="folder of the tables")
    for role in ("send", "receive"):  # what this script starts in the namespaces
        parser.add_argument(f"--{role}", type=Task.parse, help=argparse.SUPPRESS)
    given = parser.parse_args()
    for task, act in ((given.send, send), (given.receive, receive)):
        if task:
            Path(task.output).write_text(json.dumps(act(task)))
            return
    if given.program is None or not os.access(given.program, os.X_OK):
        parser.error("the path of a speederv2 that can be run is expected")
    program = Program(path=str(given.program.resolve()))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        link = build_link(folder)
        for part in given.part or ("wire", "loss", "cpu"):
            rows = {
                "wire": lambda: wire(link, program),
                "loss": lambda: list(residual(link, program, given.duration)),
                "cpu": lambda: list(cpu(folder, program)),
            }[part]()
            write_table(given.output / f"udpspeeder-{part}.csv", rows)


if __name__ == "__main__":
    main()
