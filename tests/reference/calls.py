# SPDX-License-Identifier: GPL-2.0-only
"""Measure calls, ``iperf3 -u`` and ``ping`` in tunnel programs, beside a transfer over TCP.

As root, on Linux, with g++, openssl, wireguard-tools, OpenVPN, iperf3 and iputils' ping, and given
a folder that has the programs ``wireguard-go`` and ``gost``::

    python tests/reference/calls.py FOLDER

writes ``tests/validation/data/programs/calls.csv``, a row a run; the README of the data says what
is in it. Runs that the table has already are left out.

A run is one of tunnels.py, with other applications. All send in the same direction: ``iperf3 -u``,
a call (a datagram of 92 bytes each 20 ms, whose one-way delay is known, since both ends have one
clock), and flows over TCP without end. ``ping`` runs beside them. A relay carries no ping; there,
datagrams of UDP are echoed.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import random
import re
import shlex
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import tunnels
from link import APPLICATION_PRIORITY, be_real_time, build_link
from tunnels import (
    DATA,
    INNER_SERVER,
    LATE,
    RMEM,
    SECOND,
    SEEDS,
    SERVER,
    TUNNEL_PORT,
    WMEM,
    WRITE,
    Running,
    Table,
    Tunnel,
    algorithms,
    as_text,
    connect,
    wait_until,
)

RATE = 20.0  # Mbit/s, of the link
DURATION = 27.0  # s
STEADY = 7.0  # s after which all counts
CALL_START, PING_START, FLOWS_START = 1.0, 1.05, 2.0  # s; iperf3 begins at 0
APART = 0.1  # s between the starts of two flows

DATAGRAM = struct.Struct("!BIq")  # kind, number, when due (ns)
CALL, ECHO = 1, 2
CALL_BYTES, CALL_INTERVAL = 92, 0.02
PING_BYTES, PING_INTERVAL = 56, 0.1
IPERF_RATE, IPERF_BYTES = "2M", 1200

FLOW_PORT, CALL_PORT, IPERF_PORT = 5001, 5001, 5203
FORWARDED = 1000  # a relay's client has the port of the application more this


# --------------------------------------------------------------------------------------- conditions


@dataclass(frozen=True)
class Cell:
    """A condition: ms, BDP, a part, the number of flows and their algorithm."""

    tunnel: str
    rtt: float
    buffer_bdp: float
    loss: float
    flows: int
    cc: str

    @property
    def buffer(self) -> int:
        """Packets that may wait."""
        return round(self.buffer_bdp * RATE * 1e3 * self.rtt / 8 / 1500)

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(
            f"{value:g}" if isinstance(value, float) else str(value)
            for value in asdict(self).values()
        )


_CONDITIONS = (
    (40, 4, 0, 1, "cubic"), (40, 1, 0, 1, "cubic"), (40, 1, 0.01, 0, "cubic"),
    (100, 1, 0.01, 2, "bbr"), (40, 4, 0, 4, "cubic"),
)  # fmt: skip


def _gost(kind: str) -> Tunnel:
    def client(folder: Path) -> list[str]:
        # Without `keepalive`, the first datagram back ends the client's session, and the next one
        # to the server begins another, from another port (x, internal/net/udp/listener.go).
        listen = [
            f"{protocol}://127.0.0.1:{port + FORWARDED}/127.0.0.1:{port}{options}"
            for protocol, options in (("tcp", ""), ("udp", "?keepalive=true"))
            for port in sorted({FLOW_PORT, CALL_PORT, IPERF_PORT})
        ]
        given = [part for it in listen for part in ("-L", it)]
        return [f"{folder}/bin/gost", *given, "-F", f"relay+{kind}://{SERVER}:{TUNNEL_PORT}"]

    def server(folder: Path) -> list[str]:
        return [f"{folder}/bin/gost", "-L", f"relay+{kind}://:{TUNNEL_PORT}"]

    return Tunnel(server, client, ("127.0.0.1", FLOW_PORT + FORWARDED), is_relay=True)


TUNNELS: Mapping[str, Tunnel] = {
    # A client that began before its server tries again after 5 s.
    **{
        name: replace(tunnels.TUNNELS[name], lead=8.0)
        for name in ("wireguard", "openvpn-udp", "openvpn-2.6-tcp")
    },
    **{f"gost-relay-{kind}": _gost(kind) for kind in ("ws", "wss", "mwss")},
    "gost-quic": _gost("quic"),
}
CELLS = tuple(
    Cell(tunnel, *condition) for condition in _CONDITIONS for tunnel in ("none", *TUNNELS)
)


# ------------------------------------------------------------------------ processes in a namespace


@dataclass(frozen=True)
class Task:
    """What a process in a namespace does; ``begin``: when the run does, ns of CLOCK_MONOTONIC."""

    cell: Cell
    folder: str
    begin: int
    output: str

    @staticmethod
    def parse(text: str) -> Task:
        fields = json.loads(text)
        return Task(**{**fields, "cell": Cell(**fields["cell"])})

    def shell(self, role: str) -> str:
        """Return the command of the process."""
        command = [sys.executable, str(Path(__file__).resolve()), f"--{role}"]
        return shlex.join([*command, json.dumps(asdict(self))])

    def at(self, seconds: float) -> int:
        return self.begin + round(seconds * SECOND)

    @property
    def tunnel(self) -> Tunnel | None:
        return TUNNELS.get(self.cell.tunnel)

    def address(self, port: int) -> tuple[str, int]:
        """Return where an application at the client sends, for the server's port."""
        if self.tunnel is None:
            return SERVER, port
        return ("127.0.0.1", port + FORWARDED) if self.tunnel.is_relay else (INNER_SERVER, port)

    def start(self, role: str) -> Running | None:
        """Start the tunnel's program, after setting what is the namespace's."""
        Path("/proc/sys/net/ipv4/tcp_congestion_control").write_text(self.cell.cc)
        Path("/proc/sys/net/ipv4/tcp_no_metrics_save").write_text("1")
        if self.tunnel is None:
            return None
        folder = Path(self.folder)
        command = self.tunnel.server(folder) if role == "server" else self.tunnel.client(folder)
        return Running(command, Path(self.output).with_suffix(".log"))


def send(task: Task) -> dict[str, Any]:
    """Start the tunnel's client, then the applications, on time."""
    program = task.start("client")
    try:
        tunnels.wait_for_tunnel(_as_tunnels_task(task), program)
        wait_until(task.begin - SECOND // 5)
        gc.disable()
        be_real_time(APPLICATION_PRIORITY)
        host, port = task.address(IPERF_PORT)
        iperf = Application(
            task.at(0), "iperf3", "-c", host, "-p", str(port), "-u", "-b", IPERF_RATE,
            "-l", str(IPERF_BYTES), "-t", f"{DURATION:g}",
        )  # fmt: skip
        echoes: list[tuple[float, float]] = []
        work: list[Callable[[], None]] = [lambda: _call(task)]
        is_relay = task.tunnel is not None and task.tunnel.is_relay
        if is_relay:
            work.append(lambda: _echo(task, echoes))
        for index in range(task.cell.flows):
            work.append(partial(_flow, task, FLOWS_START + index * APART))
        for it in work:
            threading.Thread(target=it, daemon=True).start()
        if not is_relay:
            count = round((DURATION - PING_START) / PING_INTERVAL)
            ping = Application(
                task.at(PING_START), "ping", "-D", "-n", "-i", str(PING_INTERVAL), "-c", str(count),
                "-s", str(PING_BYTES), "-W", "1", host,
            )  # fmt: skip
            to_monotonic = time.monotonic_ns() - time.time_ns()
            printed = ping.finish(task.at(DURATION + 3))
            echoes = list(_pings(printed, to_monotonic - task.begin))
        wait_until(task.at(DURATION + 1))
        if program:
            program.check()
        iperf.finish(task.at(DURATION + 6))
        return {"pings": echoes}
    finally:
        if program:
            program.stop()


def _as_tunnels_task(task: Task) -> Any:
    """Return what wait_for_tunnel() asks of a task of tunnels.py."""
    return tunnels.Task(
        tunnels.Cell(task.cell.tunnel, 40.0, 1, 0, "cubic", "cubic", 0),
        task.folder, task.begin, task.output,
    )  # fmt: skip


class Application:
    """A program that starts on time."""

    def __init__(self, when: int, *command: str) -> None:
        wait_until(when)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=lambda: be_real_time(APPLICATION_PRIORITY),
        )

    def finish(self, until: int) -> str:
        """Return what it printed; it is ended if it still runs then."""
        try:
            left = max(0.0, (until - time.monotonic_ns()) / SECOND)
            return str(self._process.communicate(timeout=left)[0])
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.communicate()[0]


def _pings(printed: str, offset: int) -> Iterator[tuple[float, float]]:
    """Yield when a request was sent, s, and its RTT, ms; −1: no answer."""
    found = {}
    for line in printed.splitlines():
        match = re.match(r"\[([0-9.]+)\] .*icmp_seq=(\d+) .*time=([0-9.]+) ms", line)
        if match:
            at, number, rtt = float(match[1]), int(match[2]), float(match[3])
            found[number] = (at + offset / SECOND - rtt / 1e3, rtt)
    for number in range(1, max(found, default=0) + 1):
        yield found.get(number, (PING_START + (number - 1) * PING_INTERVAL, -1.0))


def _call(task: Task) -> None:
    be_real_time(APPLICATION_PRIORITY)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(task.address(CALL_PORT))
        for number in range(round((DURATION - CALL_START) / CALL_INTERVAL)):
            due = task.at(CALL_START + number * CALL_INTERVAL)
            wait_until(due)
            with contextlib.suppress(OSError):
                sender.send(DATAGRAM.pack(CALL, number, due).ljust(CALL_BYTES, b"\0"))


def _echo(task: Task, echoes: list[tuple[float, float]]) -> None:
    be_real_time(APPLICATION_PRIORITY)
    count = round((DURATION - PING_START) / PING_INTERVAL)
    found: dict[int, float] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(task.address(CALL_PORT))

        def receive() -> None:
            be_real_time(APPLICATION_PRIORITY)
            while True:
                data = sender.recv(2048)
                _, number, due = DATAGRAM.unpack_from(data)
                found[number] = (time.monotonic_ns() - due) / 1e6

        threading.Thread(target=receive, daemon=True).start()
        for number in range(count):
            due = task.at(PING_START + number * PING_INTERVAL)
            wait_until(due)
            sender.send(DATAGRAM.pack(ECHO, number, due).ljust(PING_BYTES, b"\0"))
        wait_until(task.at(DURATION + 0.9))
        for number in range(max(found, default=-1) + 1):
            echoes.append((PING_START + number * PING_INTERVAL, found.get(number, -1.0)))


def _flow(task: Task, start: float) -> None:
    be_real_time(APPLICATION_PRIORITY)
    wait_until(task.at(start))
    block = bytes(WRITE)
    with contextlib.suppress(OSError):
        connection = connect(task.address(FLOW_PORT), task.cell.cc)
        # what still waits at the end is thrown away
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        while time.monotonic_ns() < task.at(DURATION):
            connection.sendall(block)
        connection.close()


def receive(task: Task) -> dict[str, Any]:
    """Start the tunnel's server and read what comes."""
    program = task.start("server")
    listener = socket.create_server(("0.0.0.0", FLOW_PORT), backlog=64)
    ready = socket.create_server(("0.0.0.0", tunnels.READY_PORT), backlog=64)
    iperf = Application(
        time.monotonic_ns(), "iperf3", "-s", "-4", "-1", "-J", "-i", "1", "-p", str(IPERF_PORT)
    )
    try:
        threading.Thread(target=_accept_only, args=(ready,), daemon=True).start()
        reader = Reader(task)
        datagrams: list[tuple[int, float, float]] = []
        threading.Thread(target=_take_datagrams, args=(task, datagrams), daemon=True).start()
        threading.Thread(target=_accept, args=(listener, reader), daemon=True).start()
        wait_until(task.at(DURATION))
        if program:
            program.check()
        printed = iperf.finish(task.at(DURATION + 6))
        return {
            "flows_mbps": reader.goodputs(),
            "call": datagrams,
            "iperf": json.loads(printed or "{}").get("intervals", []),
        }
    finally:
        if program:
            program.stop()


def _accept_only(listener: socket.socket) -> None:
    while True:
        listener.accept()[0].close()


class Reader:
    """Counts what comes over TCP from STEADY to DURATION."""

    def __init__(self, task: Task) -> None:
        self._from, self._to = task.at(STEADY), task.at(DURATION)
        self._bytes: dict[int, int] = {}

    def read(self, name: int, connection: socket.socket) -> None:
        be_real_time(APPLICATION_PRIORITY)
        self._bytes[name] = 0
        buffer = bytearray(1 << 18)
        with contextlib.suppress(OSError):
            while size := connection.recv_into(buffer):
                if self._from <= time.monotonic_ns() < self._to:
                    self._bytes[name] += size

    def goodputs(self) -> list[float]:
        return [it * 8e-6 / (DURATION - STEADY) for it in self._bytes.values()]


def _accept(listener: socket.socket, reader: Reader) -> None:
    name = 0
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=reader.read, args=(name, connection), daemon=True).start()
        name += 1


def _take_datagrams(task: Task, found: list[tuple[int, float, float]]) -> None:
    """Answer echoes; note the number, when due (s) and the delay (ms) of a call's datagrams."""
    be_real_time(APPLICATION_PRIORITY)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("0.0.0.0", CALL_PORT))
        while True:
            data, peer = receiver.recvfrom(2048)
            now = time.monotonic_ns()
            kind, number, due = DATAGRAM.unpack_from(data)
            if kind == ECHO:
                receiver.sendto(data, peer)
            elif now < task.at(DURATION):
                found.append((number, (due - task.begin) / SECOND, (now - due) / 1e6))


# --------------------------------------------------------------------------------------------- runs


def measure(folder: Path, cell: Cell, seed: int, keep: Path | None) -> dict[str, object]:
    """Run once and return the row."""
    with tempfile.TemporaryDirectory() as name:
        outputs = [Path(name, f"{role}.json") for role in ("send", "receive")]
        tunnel = TUNNELS.get(cell.tunnel)
        begin = time.monotonic_ns() + round((1.5 + (tunnel.lead if tunnel else 0)) * SECOND)
        sender, receiver = (Task(cell, str(folder), begin, str(it)) for it in outputs)
        window = ",".join(str(sender.at(it)) for it in (0, STEADY, DURATION))
        conditions = {
            "rate": RATE, "queue": cell.buffer, "rtt": cell.rtt, "loss": cell.loss, "rmem": RMEM,
            "wmem": WMEM,
            "seed": random.Random("/".join((*cell.key, str(seed)))).randrange(1, 1 << 19),
        }  # fmt: skip
        commands = (sender.shell("send"), receiver.shell("receive"))
        link = tunnels.run_link(folder, window, conditions, commands)
        sent, received = (json.loads(it.read_text()) for it in outputs)
        if keep:
            stem = "_".join((*cell.key, f"s{seed}"))
            (keep / f"{stem}.json").write_text(json.dumps([link, sent, received]))
    return row(cell, seed, link, sent, received)


def row(
    cell: Cell, seed: int, link: Mapping[str, str], sent: dict[str, Any], received: dict[str, Any]
) -> dict[str, object]:
    call = [it for it in received["call"] if it[1] >= STEADY]
    pings = [it for it in sent["pings"] if it[0] >= STEADY]
    rtts = sorted(rtt for _, rtt in pings if rtt >= 0)
    steady = [it["sum"] for it in received["iperf"] if it["sum"]["start"] >= STEADY]
    if not call or not rtts or not steady or len(received["flows_mbps"]) != cell.flows:
        raise ValueError(
            f"something broke off: {len(call)} of the call, {len(rtts)} pings, "
            f"{len(steady)} s of iperf3, {len(received['flows_mbps'])} flows"
        )
    delays = sorted(it[2] for it in call)
    first = round((STEADY - CALL_START) / CALL_INTERVAL)
    return {
        **asdict(cell),
        "buffer_pkts": cell.buffer,
        "seed": seed,
        "goodput_mbps": sum(received["flows_mbps"]),
        "call_loss": 1 - len(call) / (max(it[0] for it in call) - first + 1),
        "call_delay_mean_ms": statistics.fmean(delays),
        "call_delay_p50_ms": quantile(delays, 0.5),
        "call_delay_p95_ms": quantile(delays, 0.95),
        "call_delay_p99_ms": quantile(delays, 0.99),
        "call_jitter_ms": jitter(call),
        "iperf_loss": sum(it["lost_packets"] for it in steady)
        / sum(it["packets"] for it in steady),
        "iperf_jitter_ms": statistics.fmean(it["jitter_ms"] for it in steady),
        "ping_loss": 1 - len(rtts) / len(pings),
        "ping_p50_ms": quantile(rtts, 0.5),
        "ping_p95_ms": quantile(rtts, 0.95),
        "queue_ms": link["soj_mean_ms"],
        "packets": link["packets"],
        "lost": link["random_drops"],
        "dropped": link["queue_drops"],
        **{key: link[key] for key in ("late_p50_ms", "late_p99_ms", "late_max_ms")},
    }


def quantile(values: Sequence[float], part: float) -> float:
    return values[min(len(values) - 1, int(part * len(values)))]


def jitter(call: Sequence[tuple[int, float, float]]) -> float:
    """Return the mean over all datagrams of RTP's jitter (RFC 3550, section 6.4.1), ms."""
    value, total = 0.0, 0.0
    for before, it in pairwise(call):
        value += (abs(it[2] - before[2]) - value) / 16
        total += value
    return total / max(1, len(call) - 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("programs", type=Path, nargs="?", help="folder with wireguard-go and gost")
    parser.add_argument("--tunnel", action="append", help="only this one; none: without a tunnel")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--output", type=Path, default=DATA, help="folder of the table")
    parser.add_argument("--keep", type=Path, help="folder for what each run measured")
    for role in ("send", "receive"):  # what this script starts in the namespaces
        parser.add_argument(f"--{role}", type=Task.parse, help=argparse.SUPPRESS)
    given = parser.parse_args()
    for task, act in ((given.send, send), (given.receive, receive)):
        if task:
            Path(task.output).write_text(json.dumps(act(task)))
            os._exit(0)  # threads may wait in the kernel
    if given.programs is None or not all(
        os.access(given.programs / name, os.X_OK) for name in ("wireguard-go", "gost")
    ):
        parser.error("a folder with wireguard-go and gost, to be run, is expected")
    given.output.mkdir(parents=True, exist_ok=True)
    table = Table(given.output / "calls.csv")
    plan = [
        (cell, seed)
        for seed in given.seeds
        for cell in CELLS
        if not given.tunnel or cell.tunnel in given.tunnel
        if not table.has(cell, seed)
    ]
    with tempfile.TemporaryDirectory() as name, algorithms():
        folder = Path(name)
        build_link(folder)
        tunnels.prepare(folder, given.programs)
        for cell, seed in plan:
            for attempt in (1, 2, 3):
                try:
                    result = measure(folder, cell, seed, given.keep)
                    late = float(str(result["late_p99_ms"]))
                    if late > LATE:
                        raise ValueError(f"1 % of the packets were late by {late} ms")
                except (subprocess.SubprocessError, OSError, ValueError) as error:
                    print(f"attempt {attempt}: {'/'.join(cell.key)}: {error}", flush=True)
                    continue
                table.add(result)
                told = list(result)[8:22]
                values = " ".join(f"{key}={as_text(result[key])}" for key in told)
                print(f"{'/'.join(cell.key)} s{seed}: {values}", flush=True)
                break


if __name__ == "__main__":
    main()
