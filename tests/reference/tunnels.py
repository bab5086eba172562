# SPDX-License-Identifier: GPL-2.0-only
"""Measure tunnel programs across the emulated link, and the same flows without a tunnel.

As root, on Linux, with g++, openssl, iproute2, wireguard-tools, OpenVPN, OpenSSH, tinc and vtun,
and given a folder that has the programs ``wireguard-go`` and ``gost``::

    python tests/reference/tunnels.py FOLDER

writes ``tests/validation/data/programs/tunnels.csv``, a row a run; the README of the data says
what is in it. Runs that the table has already are left out, so that the same command goes on where
it was interrupted.

A run: linux-link.cc makes two network namespaces and the link between them. In one the tunnel's
client and the applications that send run, in the other the tunnel's server and those that read. All
connections start at the same times on both sides of the comparison. Besides the flows, one
connection sends a message of 96 bytes each 100 ms; how late those arrive is the latency inside.
The link, the applications and the programs are real-time (SCHED_FIFO), in this order.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import gc
import json
import os
import random
import select
import shlex
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from link import APPLICATION_PRIORITY, PROGRAM_PRIORITY, be_real_time, build_link

HERE = Path(__file__).resolve().parent
DATA = HERE.parent.parent / "tests/validation/data/programs"
SECOND = 1_000_000_000

RATE = 50.0  # Mbit/s, of the link
RMEM, WMEM = 6, 4  # MiB, maxima of tcp_rmem and tcp_wmem: Linux's own
DURATION = 20.0  # s
STEADY = 5.0  # s after which goodput, latency, RTT and queueing delay count
APART = 0.1  # s between the starts of two flows
SEEDS = (1, 2, 3)
SAMPLES = 0.1  # s between looks at sockets
LATE = 2.0  # ms; a run is repeated once in which 1 % of the packets were later than that

SERVER = "10.9.0.2"
INNER_CLIENT, INNER_SERVER = "10.8.0.1", "10.8.0.2"
PORT = 5001  # of the applications that read
READY_PORT = 5002
FORWARD_PORT = 6001  # of relays' clients
TUNNEL_PORT = 4096

WRITE = 128 << 10  # bytes at once
MESSAGE = struct.Struct("!Bq87x")  # the connection, when due (ns)
MESSAGE_INTERVAL = 0.1  # s
# When messages begin, s, by the RTT (ms). Where GOST's mwss opens its session, a connection that
# comes meanwhile opens another one, and the first is closed ("unrecognized connection").
MESSAGE_START = {40: 0.05, 100: 0.85}
MESSAGES, BESIDE = 254, 255  # connections that are no flows through the tunnel, by their first byte


# --------------------------------------------------------------------------------------- conditions


@dataclass(frozen=True)
class Cell:
    """A condition; ``beside``: one flow more, which does not take the tunnel."""

    tunnel: str
    rtt: float  # ms
    buffer_bdp: float
    loss: float
    cc: str
    carrier_cc: str
    flows: int
    beside: bool = False

    @property
    def buffer(self) -> int:
        """Packets that may wait."""
        return round(self.buffer_bdp * RATE * 1e3 * self.rtt / 8 / 1500)

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(f"{value:g}" if isinstance(value, float) else str(value) for value in self.row)

    @property
    def row(self) -> tuple[object, ...]:
        values = asdict(self) | {"beside": int(self.beside)}
        return tuple(values.values())


#: RTT (ms), buffer (BDP), loss, algorithm of the flows, of the carrier, flows, one beside.
_PLAIN = (
    (40, 1, 0, "cubic", 1), (40, 1, 0, "bbr", 1), (40, 4, 0, "cubic", 2), (40, 1, 0, "cubic", 8),
    (40, 1, 0.001, "cubic", 1), (40, 1, 0.01, "cubic", 2), (40, 1, 0.01, "bbr", 2),
    (100, 1, 0.05, "bbr", 8),
)  # fmt: skip
_DATAGRAMS = (
    (40, 1, 0, "cubic", 1), (40, 4, 0, "cubic", 2), (40, 1, 0, "cubic", 8),
    (40, 1, 0.01, "bbr", 2),
)  # fmt: skip
_MORE_DATAGRAMS = ((100, 1, 0, "bbr", 1), (40, 1, 0.001, "cubic", 1))
_OPENVPN_TCP = (
    (40, 1, 0, "cubic", "cubic", 1), (40, 1, 0, "cubic", "cubic", 2),
    (40, 4, 0, "cubic", "cubic", 8), (40, 1, 0.001, "cubic", "cubic", 1),
    (40, 1, 0.01, "cubic", "cubic", 2), (40, 1, 0, "bbr", "cubic", 1),
    (100, 1, 0.001, "bbr", "cubic", 2), (40, 1, 0.01, "cubic", "bbr", 1),
    (40, 1, 0.05, "cubic", "bbr", 2), (40, 1, 0.01, "bbr", "bbr", 2),
    (40, 1, 0, "cubic", "cubic", 1, True),
)  # fmt: skip
_VTUN = (
    (40, 1, 0, "cubic", "cubic", 1), (40, 4, 0, "cubic", "cubic", 8),
    (40, 1, 0.01, "cubic", "cubic", 2), (40, 1, 0.01, "cubic", "bbr", 1),
    (40, 1, 0.01, "bbr", "bbr", 2), (40, 1, 0, "cubic", "cubic", 1, True),
)  # fmt: skip
_RELAYS = (
    (40, 1, 0, "cubic", "cubic", 1), (40, 4, 0, "cubic", "cubic", 2),
    (40, 1, 0, "cubic", "cubic", 8), (40, 1, 0.01, "cubic", "bbr", 2),
)  # fmt: skip
_MORE_RELAYS = ((100, 1, 0.05, "cubic", "bbr", 8), (40, 1, 0.001, "cubic", "cubic", 1))
_SHARED = (
    (40, 1, 0, "cubic", "cubic", 1), (40, 4, 0, "cubic", "cubic", 2),
    (40, 1, 0, "cubic", "cubic", 8), (100, 4, 0, "cubic", "cubic", 1),
    (40, 1, 0.001, "cubic", "cubic", 2), (40, 1, 0.01, "cubic", "bbr", 2),
    (100, 1, 0.01, "cubic", "bbr", 8), (40, 1, 0.05, "cubic", "bbr", 1),
)  # fmt: skip


def _cells(tunnels: Sequence[str], conditions: Sequence[tuple[Any, ...]]) -> list[Cell]:
    """Return the conditions in each tunnel; flows have their carrier's algorithm if not told."""
    full = [it if len(it) > 5 else (*it[:4], it[3], it[4]) for it in conditions]
    return [Cell(tunnel, *it) for tunnel in tunnels for it in full]


_ALL_DATAGRAMS = ("wireguard", "openvpn-udp", "tinc")
_ALL_RELAYS = ("gost-relay-wss", "gost-relay-ws")
#: What tells most comes first: all runs of these, then those of MORE_CELLS.
CELLS = (
    *_cells(("none",), _PLAIN),
    *_cells(("openvpn-2.6-tcp",), _OPENVPN_TCP),
    *_cells(("gost-relay-mwss", "ssh-forward"), _SHARED),
    *_cells(("vtun",), _VTUN),
    *_cells(_ALL_RELAYS, _RELAYS),
    *_cells(_ALL_DATAGRAMS, _DATAGRAMS),
)
MORE_CELLS = (
    *_cells(_ALL_RELAYS, _MORE_RELAYS),
    *_cells(_ALL_DATAGRAMS, _MORE_DATAGRAMS),
)


# ----------------------------------------------------------------------------------------- programs


@dataclass(frozen=True)
class Tunnel:
    """How a tunnel's programs are started.

    ``server``, ``client``: commands to run, which stay; ``ready``: what tells that it is up, a
    connection through it, or the client's port; ``lead``: s that it is given for that.
    """

    server: Callable[[Path], Sequence[str]]
    client: Callable[[Path], Sequence[str]]
    target: tuple[str, int] = (INNER_SERVER, PORT)
    is_relay: bool = False
    lead: float = 4.0


def shell(*lines: str) -> list[str]:
    return ["sh", "-ec", "\n".join(lines)]


def _wireguard(role: str) -> Callable[[Path], list[str]]:
    own, other = (INNER_SERVER, INNER_CLIENT) if role == "server" else (INNER_CLIENT, INNER_SERVER)
    peer = "client" if role == "server" else "server"

    def command(folder: Path) -> list[str]:
        # The name is that of a socket in /run, which all namespaces see.
        name = f"wg{os.getpid()}{role[0]}"
        endpoint = f"endpoint {SERVER}:{TUNNEL_PORT}" if role == "client" else ""
        port = f"listen-port {TUNNEL_PORT}" if role == "server" else ""
        return shell(
            f"{folder}/bin/wireguard-go -f {name} & program=$!",
            "trap 'kill $program; wait; exit 0' TERM",
            f"until [ -S /run/wireguard/{name}.sock ]; do sleep 0.05; done",
            f"wg set {name} private-key {folder}/{role}.wg {port} "
            f"peer $(cat {folder}/{peer}.wgpub) {endpoint} allowed-ips {other}/32",
            f"ip addr add {own} peer {other} dev {name}",
            f"ip link set {name} mtu 1420 up",
            "wait",
        )

    return command


def _openvpn(role: str, protocol: str) -> Callable[[Path], list[str]]:
    own, other = (INNER_SERVER, INNER_CLIENT) if role == "server" else (INNER_CLIENT, INNER_SERVER)
    peer = "client" if role == "server" else "server"

    def command(folder: Path) -> list[str]:
        given = ["openvpn", "--dev", "tun1", "--disable-dco", "--ifconfig", own, other]
        given += ["--cert", f"{folder}/{role}.crt", "--key", f"{folder}/{role}.key"]
        given += ["--peer-fingerprint", (folder / f"{peer}.fingerprint").read_text()]
        given += ["--port", str(TUNNEL_PORT), "--verb", "1"]
        if role == "server":
            proto = "udp" if protocol == "udp" else "tcp-server"
            return [*given, "--proto", proto, "--tls-server", "--dh", "none"]
        proto = "udp" if protocol == "udp" else "tcp-client"
        return [*given, "--proto", proto, "--remote", SERVER, "--tls-client"]

    return command


def _tinc(role: str) -> Callable[[Path], list[str]]:
    def command(folder: Path) -> list[str]:
        return ["tincd", "-c", f"{folder}/tinc-{role}", "-D", f"--pidfile={folder}/tinc-{role}.pid"]

    return command


def _vtun(role: str) -> Callable[[Path], list[str]]:
    def command(folder: Path) -> list[str]:
        given = ["vtund", "-n", "-f", f"{folder}/vtun-{role}.conf", "-P", str(TUNNEL_PORT)]
        return [*given, "-s"] if role == "server" else [*given, "tunnel", SERVER]

    return command


def _ssh_server(folder: Path) -> list[str]:
    # sshd wants to be called by its whole path.
    return ["/usr/sbin/sshd", "-D", "-f", f"{folder}/sshd_config"]


def _ssh_client(folder: Path) -> list[str]:
    given = ["ssh", "-N", "-F", "none", "-i", f"{folder}/ssh", "-p", str(TUNNEL_PORT)]
    given += ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
    given += ["-o", "Ciphers=chacha20-poly1305@openssh.com", "-o", "LogLevel=ERROR"]
    return [*given, "-L", f"{FORWARD_PORT}:127.0.0.1:{PORT}", f"root@{SERVER}"]


def _gost(kind: str) -> tuple[Callable[[Path], list[str]], Callable[[Path], list[str]]]:
    def server(folder: Path) -> list[str]:
        return [f"{folder}/bin/gost", "-L", f"relay+{kind}://:{TUNNEL_PORT}"]

    def client(folder: Path) -> list[str]:
        local = f"tcp://127.0.0.1:{FORWARD_PORT}/127.0.0.1:{PORT}"
        return [
            f"{folder}/bin/gost", "-L", local, "-F", f"relay+{kind}://{SERVER}:{TUNNEL_PORT}"
        ]  # fmt: skip

    return server, client


_FORWARDED = ("127.0.0.1", FORWARD_PORT)
TUNNELS: Mapping[str, Tunnel] = {
    "wireguard": Tunnel(_wireguard("server"), _wireguard("client")),
    "openvpn-udp": Tunnel(_openvpn("server", "udp"), _openvpn("client", "udp")),
    "openvpn-2.6-tcp": Tunnel(_openvpn("server", "tcp"), _openvpn("client", "tcp")),
    # tinc looks for the path's MTU first.
    "tinc": Tunnel(_tinc("server"), _tinc("client"), lead=9.0),
    "vtun": Tunnel(_vtun("server"), _vtun("client"), lead=5.0),
    "ssh-forward": Tunnel(_ssh_server, _ssh_client, _FORWARDED, is_relay=True, lead=5.0),
    **{
        f"gost-relay-{kind}": Tunnel(*_gost(kind), _FORWARDED, is_relay=True)
        for kind in ("ws", "wss", "mwss")
    },
}


def call(*command: str, **options: Any) -> str:
    done: subprocess.CompletedProcess[str] = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **options
    )
    return done.stdout


def prepare(folder: Path, programs: Path) -> None:
    """Write the programs' keys and settings; only what is needed, the rest is by default."""
    (folder / "bin").symlink_to(programs.resolve())
    Path("/var/lock/vtund").mkdir(parents=True, exist_ok=True)  # without it vtund does not start
    for role in ("server", "client"):
        key = call("wg", "genkey")
        (folder / f"{role}.wg").write_text(key)
        (folder / f"{role}.wgpub").write_text(call("wg", "pubkey", input=key))
        crt = folder / f"{role}.crt"
        call(
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-nodes", "-subj", f"/CN={role}", "-days", "30",
            "-keyout", str(crt.with_suffix(".key")), "-out", str(crt),
        )  # fmt: skip
        printed = call("openssl", "x509", "-in", str(crt), "-noout", "-fingerprint", "-sha256")
        (folder / f"{role}.fingerprint").write_text(printed.strip().partition("=")[2])
    for name in ("ssh", "hostkey"):
        call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name))
    (folder / "sshd_config").write_text(
        f"Port {TUNNEL_PORT}\nHostKey {folder}/hostkey\nAuthorizedKeysFile {folder}/ssh.pub\n"
        f"PidFile none\nPermitRootLogin yes\nStrictModes no\nUsePAM no\nUseDNS no\n"
    )
    Path("/run/sshd").mkdir(exist_ok=True)
    for role, own, other in (
        ("server", INNER_SERVER, INNER_CLIENT),
        ("client", INNER_CLIENT, INNER_SERVER),
    ):
        _write_tinc(folder / f"tinc-{role}", role, own, other)
        up = f"addr add {own} peer {other} dev %%"
        (folder / f"vtun-{role}.conf").write_text(
            f"options {{\n  port {TUNNEL_PORT};\n  syslog daemon;\n}}\n"
            "default {\n  type tun;\n  proto tcp;\n  compress no;\n  encrypt no;\n"
            "  keepalive yes;\n  stat no;\n}\n"
            "tunnel {\n  passwd secret;\n  up {\n"
            f'    program "{shutil.which("ip")} link set %% mtu 1450 up" wait;\n'
            f'    program "{shutil.which("ip")} {up}" wait;\n  }};\n}}\n'
        )
    for role, peer in (("server", "client"), ("client", "server")):
        hosts = folder / f"tinc-{role}" / "hosts"
        shutil.copy(hosts / role, folder / f"tinc-{peer}" / "hosts" / role)


def _write_tinc(folder: Path, role: str, own: str, other: str) -> None:
    (folder / "hosts").mkdir(parents=True)
    connect = "ConnectTo = server\n" if role == "client" else ""
    (folder / "tinc.conf").write_text(f"Name = {role}\nInterface = tinc0\n{connect}")
    address = f"Address = {SERVER}\n" if role == "server" else ""
    (folder / "hosts" / role).write_text(f"{address}Port = {TUNNEL_PORT}\nSubnet = {own}/32\n")
    up = folder / "tinc-up"
    up.write_text(f"#!/bin/sh\nip addr add {own} peer {other} dev tinc0\nip link set tinc0 up\n")
    up.chmod(0o755)
    call("tincd", "-c", str(folder), "-K2048", stdin=subprocess.DEVNULL)


class Running:
    """A program with all that it starts; its CPU time is taken between two looks."""

    def __init__(self, command: Sequence[str], log: Path, real_time: bool = True) -> None:
        def prepare_child() -> None:
            os.setsid()
            if real_time:
                be_real_time(PROGRAM_PRIORITY)

        with log.open("w") as file:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                preexec_fn=prepare_child,
            )
        self._log = log

    def check(self) -> None:
        if self._process.poll() is not None:
            raise RuntimeError(f"the program ended: {self._log.read_text()[-800:]}")

    def cpu(self) -> float:
        """CPU seconds of it and of all that it started, their own and the kernel's for them."""
        total = 0.0
        for pid in self._processes():
            with contextlib.suppress(OSError):
                for task in Path(f"/proc/{pid}/task").iterdir():
                    total += int((task / "schedstat").read_text().split()[0]) / SECOND
        return total

    def stop(self) -> None:
        processes = self._processes()
        for sig in (signal.SIGTERM, signal.SIGKILL):
            for pid in processes:
                with contextlib.suppress(OSError):
                    os.kill(pid, sig)
            time.sleep(0.2)
        self._process.wait()

    def _processes(self) -> list[int]:
        """Return it and what it started, what these started, and so on."""
        parents = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                text = path.read_text()
                parents[int(path.parent.name)] = int(text[text.rindex(")") :].split()[2])
        found = [self._process.pid]
        for pid in found:  # grows meanwhile
            found += [child for child, parent in parents.items() if parent == pid]
        return found


# ------------------------------------------------------------------------------------------ sockets


@dataclass(frozen=True)
class Socket:
    """A TCP socket of the namespace: its connection, and what its tcp_info says."""

    local: tuple[str, int]
    peer: tuple[str, int]
    state: int
    info: bytes

    def word(self, offset: int) -> int:
        """Return a 32-bit field of struct tcp_info."""
        return int(struct.unpack_from("=I", self.info, offset)[0])


# Offsets in struct tcp_info (include/uapi/linux/tcp.h).
LOST, RTT, CWND, RETRANSMITTED, SEGMENTS = 32, 68, 80, 100, 156


def sockets() -> list[Socket]:
    """Return the namespace's TCP sockets over IPv4 and IPv6 that have a peer (sock_diag(7))."""
    found = []
    for family in (socket.AF_INET, socket.AF_INET6):
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as netlink:
            # inet_diag_req_v2: all states but LISTEN, with INET_DIAG_INFO
            body = struct.pack(
                "=BBBBI", family, socket.IPPROTO_TCP, 1 << 1, 0, 0xFFF & ~(1 << 10)
            ) + bytes(48)
            netlink.send(struct.pack("=IHHII", 16 + len(body), 20, 0x301, 1, 0) + body)
            is_over = False
            while not is_over:
                data = netlink.recv(1 << 18)
                while len(data) >= 16:
                    length, kind = struct.unpack_from("=IH", data)
                    if kind in (2, 3):  # an error, or the end
                        is_over = True
                        break
                    found.append(_socket(data[16:length]))
                    data = data[(length + 3) & ~3 :]
    return found


def _socket(message: bytes) -> Socket:
    """Read a struct inet_diag_msg and its attributes."""
    family, state = message[0], message[1]
    sport, dport = struct.unpack_from("!HH", message, 4)
    addresses = []
    for offset in (8, 24):
        text = socket.inet_ntop(family, message[offset : offset + (4 if family == 2 else 16)])
        addresses.append(text.removeprefix("::ffff:"))
    info = b""
    attributes = message[72:]
    while len(attributes) >= 4:
        length, kind = struct.unpack_from("=HH", attributes)
        if kind == 2:  # INET_DIAG_INFO
            info = attributes[4:length]
        attributes = attributes[(length + 3) & ~3 :] if length else b""
    return Socket((addresses[0], sport), (addresses[1], dport), state, info.ljust(256, b"\0"))


class Sampler(threading.Thread):
    """Looks at all sockets again and again: the flows', and those of the carriers."""

    def __init__(self, target: tuple[str, int], begin: int, keeps: bool) -> None:
        super().__init__(daemon=True)
        self._target = target
        self._begin = begin
        self._is_over = threading.Event()
        self._keeps = keeps
        self.series: list[tuple[float, str, int, int, int, int, int]] = []
        self._last: dict[str, dict[int, tuple[int, int]]] = {"flow": {}, "carrier": {}}
        self._rtts: dict[str, dict[int, list[float]]] = {"flow": {}, "carrier": {}}
        self.own: set[int] = set()  # local ports of the flows

    def run(self) -> None:
        be_real_time(PROGRAM_PRIORITY)
        number = 1
        while not self._is_over.is_set():
            wait_until(self._begin + round(number * SAMPLES * SECOND))
            at = (time.monotonic_ns() - self._begin) / SECOND
            for it in sockets():
                kind = self._kind(it)
                if kind:
                    self._take(kind, it, at)
            number = max(number + 1, int(at / SAMPLES))

    def _kind(self, it: Socket) -> str:
        if it.peer == self._target and it.local[1] in self.own:
            return "flow"
        return "carrier" if it.peer == (SERVER, TUNNEL_PORT) else ""

    def _take(self, kind: str, it: Socket, at: float) -> None:
        port = it.local[1]
        self._last[kind][port] = (it.word(RETRANSMITTED), it.word(SEGMENTS))
        if at >= STEADY and it.word(RTT):
            self._rtts[kind].setdefault(port, []).append(it.word(RTT) / 1e3)
        if self._keeps:
            values = [it.word(offset) for offset in (RTT, CWND, RETRANSMITTED, SEGMENTS)]
            self.series.append((at, kind, port, values[0], values[1], values[2], values[3]))

    def stop(self) -> dict[str, Any]:
        self._is_over.set()
        self.join()
        result: dict[str, Any] = {}
        for kind, last in self._last.items():
            rtts = [statistics.fmean(it) for it in self._rtts[kind].values()]
            result[f"{kind}_sockets"] = len(last)
            result[f"{kind}_rtt_ms"] = statistics.fmean(rtts) if rtts else None
            result[f"{kind}_retransmitted"] = sum(it[0] for it in last.values())
            result[f"{kind}_segments"] = sum(it[1] for it in last.values())
        return result


# ------------------------------------------------------------------------ processes in a namespace


@dataclass(frozen=True)
class Task:
    """What a process in a namespace does; ``begin``: when the run does, ns of CLOCK_MONOTONIC."""

    cell: Cell
    folder: str
    begin: int
    output: str
    duration: float = DURATION
    keeps: bool = False

    @staticmethod
    def parse(text: str) -> Task:
        fields = json.loads(text)
        return Task(**{**fields, "cell": Cell(**fields["cell"])})

    def shell(self, role: str) -> str:
        """Return the command of the process."""
        command = [sys.executable, str(Path(__file__).resolve()), f"--{role}"]
        return shlex.join([*command, json.dumps(asdict(self))])

    @property
    def end(self) -> int:
        return self.begin + round(self.duration * SECOND)

    @property
    def tunnel(self) -> Tunnel | None:
        return TUNNELS.get(self.cell.tunnel)

    def at(self, seconds: float) -> int:
        return self.begin + round(seconds * SECOND)

    def start(self, role: str) -> Running | None:
        """Start the tunnel's program, after setting what is the namespace's."""
        Path("/proc/sys/net/ipv4/tcp_congestion_control").write_text(self.cell.carrier_cc)
        Path("/proc/sys/net/ipv4/tcp_no_metrics_save").write_text("1")
        if self.tunnel is None:
            return None
        folder = Path(self.folder)
        command = self.tunnel.server(folder) if role == "server" else self.tunnel.client(folder)
        return Running(command, Path(self.output).with_suffix(".log"))


def wait_until(when: int) -> None:
    while (left := when - time.monotonic_ns()) > 0:
        time.sleep(left / SECOND)


def connect(address: tuple[str, int], cc: str) -> socket.socket:
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.connect(address)
    return connection


def send(task: Task) -> dict[str, Any]:
    """Start the tunnel's client, then the flows, on time."""
    cell, tunnel = task.cell, task.tunnel
    program = task.start("client")
    target = tunnel.target if tunnel else (SERVER, PORT)
    try:
        wait_for_tunnel(task, program)
        wait_until(task.begin - SECOND // 5)
        gc.disable()
        be_real_time(APPLICATION_PRIORITY)
        sampler = Sampler(target, task.begin, task.keeps)
        sampler.start()
        cpu = program.cpu() if program else 0.0

        def flow(name: int, address: tuple[str, int], start: float) -> None:
            be_real_time(APPLICATION_PRIORITY)
            wait_until(task.at(start))
            block = bytes([name]) * WRITE
            with contextlib.suppress(OSError):
                connection = connect(address, cell.cc)
                if name != BESIDE:
                    sampler.own.add(connection.getsockname()[1])
                while time.monotonic_ns() < task.end:
                    connection.sendall(block)

        def messages() -> None:
            be_real_time(APPLICATION_PRIORITY)
            start = MESSAGE_START[round(cell.rtt)]
            wait_until(task.at(start))
            with contextlib.suppress(OSError):
                connection = connect(target, cell.cc)
                for number in range(round(task.duration / MESSAGE_INTERVAL)):
                    due = task.at(start + number * MESSAGE_INTERVAL)
                    wait_until(due)
                    connection.sendall(MESSAGE.pack(MESSAGES, due))

        plan = [(i, target, i * APART) for i in range(cell.flows)]
        if cell.beside:
            plan.append((BESIDE, (SERVER, PORT), cell.flows * APART))
        threads = [threading.Thread(target=flow, args=it, daemon=True) for it in plan]
        threads.append(threading.Thread(target=messages, daemon=True))
        for thread in threads:
            thread.start()
        wait_until(task.end)
        result = sampler.stop()
        if program:
            program.check()
            result["cpu_s"] = program.cpu() - cpu
        result["series"] = sampler.series
        return result
    finally:
        if program:
            program.stop()


def wait_for_tunnel(task: Task, program: Running | None) -> None:
    """Raise TimeoutError if it is not up in time."""
    if task.tunnel is None or program is None:
        return
    while time.monotonic_ns() < task.begin - SECOND // 2:
        program.check()
        if task.tunnel.is_relay:
            # a connection would open the carrier
            ports = [
                int(line.split()[1].rpartition(":")[2], 16)
                for name in ("tcp", "tcp6")
                for line in Path("/proc/net", name).read_text().splitlines()[1:]
                if line.split()[3] == "0A"
            ]
            if FORWARD_PORT in ports:
                return
        else:
            with contextlib.suppress(OSError):
                socket.create_connection((INNER_SERVER, READY_PORT), timeout=0.5).close()
                return
        time.sleep(0.05)
    raise TimeoutError(f"{task.cell.tunnel} is not up")


def receive(task: Task) -> dict[str, Any]:
    """Start the tunnel's server and read what comes."""
    program = task.start("server")
    listeners = []
    for port in (PORT, READY_PORT):
        listener = socket.create_server(("0.0.0.0", port), backlog=64)
        listeners.append(listener)
    try:
        threading.Thread(target=_accept_only, args=(listeners[1],), daemon=True).start()
        wait_until(task.begin - SECOND // 2)
        gc.disable()
        be_real_time(APPLICATION_PRIORITY)
        cpu = program.cpu() if program else 0.0
        reader = Reader(task, listeners[0])
        reader.run()
        result = reader.result()
        if min(result["flows_mbps"]) == 0 or not result["messages"]:
            raise RuntimeError("a connection broke off")
        if program:
            program.check()
            result["cpu_s"] = program.cpu() - cpu
        return result
    finally:
        if program:
            program.stop()


def _accept_only(listener: socket.socket) -> None:
    while True:
        listener.accept()[0].close()


class Reader:
    """Reads all connections until the end of the run."""

    def __init__(self, task: Task, listener: socket.socket) -> None:
        self._task = task
        self._listener = listener
        self._poll = select.epoll()
        self._poll.register(listener, select.EPOLLIN)
        self._names: dict[int, int] = {}  # of connections, by descriptor
        self._connections: dict[int, socket.socket] = {}
        self._bytes: dict[int, int] = {}  # by name
        self._at_steady: dict[int, int] | None = None
        self._part = b""
        self._latencies: list[tuple[int, float]] = []  # when due (s), ms
        self._buffer = memoryview(bytearray(1 << 20))
        self._series: list[tuple[float, dict[int, int]]] = []

    def run(self) -> None:
        steady = self._task.at(STEADY)
        number = 0
        while (left := self._task.end - time.monotonic_ns()) > 0:
            for descriptor, _ in self._poll.poll(min(left / SECOND, 0.05)):
                if self._at_steady is None and time.monotonic_ns() >= steady:
                    self._at_steady = dict(self._bytes)
                self._handle(descriptor)
            if self._task.keeps and time.monotonic_ns() >= self._task.at(number * SAMPLES):
                self._series.append((number * SAMPLES, dict(self._bytes)))
                number += 1

    def _handle(self, descriptor: int) -> None:
        if descriptor == self._listener.fileno():
            connection, _ = self._listener.accept()
            connection.setblocking(False)
            self._connections[connection.fileno()] = connection
            self._poll.register(connection, select.EPOLLIN)
            return
        connection = self._connections[descriptor]
        try:
            size = connection.recv_into(self._buffer)
        except BlockingIOError:
            return
        except OSError:
            size = 0
        if size == 0:
            self._poll.unregister(connection)
            return
        name = self._names.setdefault(descriptor, self._buffer[0])
        if name == MESSAGES:
            self._take_messages(bytes(self._buffer[:size]))
        self._bytes[name] = self._bytes.get(name, 0) + size

    def _take_messages(self, data: bytes) -> None:
        now = time.monotonic_ns()
        self._part += data
        while len(self._part) >= MESSAGE.size:
            _, due = MESSAGE.unpack_from(self._part)
            self._part = self._part[MESSAGE.size :]
            self._latencies.append((due, (now - due) / 1e6))

    def result(self) -> dict[str, Any]:
        first = self._at_steady or {}
        seconds = self._task.duration - STEADY

        def goodput(name: int) -> float:
            return (self._bytes.get(name, 0) - first.get(name, 0)) * 8e-6 / seconds

        steady = self._task.at(STEADY)
        latencies = sorted(ms for due, ms in self._latencies if due >= steady)
        return {
            "flows_mbps": [goodput(name) for name in range(self._task.cell.flows)],
            "beside_mbps": goodput(BESIDE) if self._task.cell.beside else None,
            "messages": len(latencies),
            "latency_mean_ms": statistics.fmean(latencies) if latencies else None,
            "latency_p95_ms": latencies[int(0.95 * len(latencies))] if latencies else None,
            "read": self._series,
        }


# --------------------------------------------------------------------------------------------- runs


def measure(folder: Path, cell: Cell, seed: int, keep: Path | None = None) -> dict[str, object]:
    """Run once and return the row."""
    with tempfile.TemporaryDirectory() as name:
        outputs = [Path(name, f"{role}.json") for role in ("send", "receive")]
        tunnel = TUNNELS.get(cell.tunnel)
        begin = time.monotonic_ns() + round((1.5 + (tunnel.lead if tunnel else 0)) * SECOND)
        sender, receiver = (
            Task(cell, str(folder), begin, str(output), keeps=keep is not None)
            for output in outputs
        )
        window = ",".join(str(time_) for time_ in (begin, sender.at(STEADY), sender.end))
        conditions = {
            "rate": RATE, "queue": cell.buffer, "rtt": cell.rtt, "loss": cell.loss,
            "rmem": RMEM, "wmem": WMEM, "seed": losses_seed(cell, seed),
        }  # fmt: skip
        commands = (sender.shell("send"), receiver.shell("receive"))
        link = run_link(folder, window, conditions, commands)
        sent, received = (json.loads(output.read_text()) for output in outputs)
        if keep:
            stem = "_".join((*cell.key, f"s{seed}"))
            (keep / f"{stem}.json").write_text(json.dumps([link, sent, received]))
    return row(cell, seed, link, sent, received)


def run_link(
    folder: Path, window: str, conditions: Mapping[str, float], commands: tuple[str, str]
) -> dict[str, str]:
    """Run the commands of sender and receiver across the link, and return the link's row."""
    command = [str(folder / "linux-link"), "--header", "--window", window]
    for key, value in conditions.items():
        command += [f"--{key}", f"{value:g}"]
    command += ["--sender", commands[0], "--receiver", commands[1]]
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=120)
    (link,) = csv.DictReader(run.stdout.splitlines())
    return link


def losses_seed(cell: Cell, seed: int) -> int:
    """Return a seed of its own for each run: its losses are independent of all others'."""
    return random.Random("/".join((*cell.key, str(seed)))).randrange(1, 1 << 19)


def row(
    cell: Cell, seed: int, link: Mapping[str, str], sent: dict[str, Any], received: dict[str, Any]
) -> dict[str, object]:
    is_plain = cell.tunnel == "none"
    carrier = "flow" if is_plain else "carrier"
    is_relay = not is_plain and TUNNELS[cell.tunnel].is_relay
    is_tcp = cell.tunnel not in ("wireguard", "openvpn-udp", "tinc")
    return {
        **asdict(cell),
        "beside": int(cell.beside),
        "buffer_pkts": cell.buffer,
        "seed": seed,
        "goodput_mbps": sum(received["flows_mbps"]),
        "flows_mbps": " ".join(f"{it:.4g}" for it in received["flows_mbps"]),
        "beside_mbps": received["beside_mbps"],
        "messages": received["messages"],
        "latency_mean_ms": received["latency_mean_ms"],
        "latency_p95_ms": received["latency_p95_ms"],
        # a relay's client is on the loopback
        "inner_rtt_ms": None if is_relay else sent["flow_rtt_ms"],
        "inner_retransmitted": None if is_relay else sent["flow_retransmitted"],
        "inner_segments": None if is_relay else sent["flow_segments"],
        **{
            f"outer_{key}": sent[f"{carrier}_{key}"] if is_tcp else None
            for key in ("rtt_ms", "retransmitted", "segments")
        },
        "packets": link["packets"],
        "ip_bytes": link["ip_bytes"],
        "lost": link["random_drops"],
        "dropped": link["queue_drops"],
        "back_packets": link["back_packets"],
        "back_ip_bytes": link["back_ip_bytes"],
        "queue_ms": link["soj_mean_ms"],
        "client_cpu_s": sent.get("cpu_s"),
        "server_cpu_s": received.get("cpu_s"),
        **{key: link[key] for key in ("late_p50_ms", "late_p99_ms", "late_p999_ms", "late_max_ms")},
    }


class Table:
    """A CSV file to which rows are added as they come."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self.rows: list[dict[str, str]] = []
        if path.exists():
            self.rows = list(csv.DictReader(path.read_text().splitlines()))

    def has(self, cell: Any, seed: int) -> bool:
        """Whether there is a row of a dataclass with a key, and a seed."""
        names = list(asdict(cell))
        return any(
            tuple(row[name] for name in names) == cell.key and row["seed"] == str(seed)
            for row in self.rows
        )

    def add(self, row: Mapping[str, object]) -> None:
        texts = {key: as_text(value) for key, value in row.items()}
        with self._lock, self._path.open("a", newline="") as file:
            table = csv.DictWriter(file, list(texts), lineterminator="\n")
            if file.tell() == 0:
                table.writeheader()
            table.writerow(texts)
            self.rows.append(texts)


def as_text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.5g}" if isinstance(value, float) else str(value)


@contextlib.contextmanager
def algorithms() -> Iterator[None]:
    """Let namespaces have any congestion control by default, as long as this takes."""
    allowed = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
    before = allowed.read_text()
    allowed.write_text(allowed.with_name("tcp_available_congestion_control").read_text())
    try:
        yield
    finally:
        allowed.write_text(before)


@contextlib.contextmanager
def turns(lock: str) -> Iterator[None]:
    """Hold a lock that others on this machine respect, if one is named."""
    if not lock:
        yield
        return
    import fcntl

    with open(lock, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def measure_all(
    folder: Path, table: Table, cells: Sequence[Cell], given: argparse.Namespace
) -> None:
    """Measure what the table does not have; each seed's runs before the next one's."""
    plan = [
        (cell, seed)
        for part in (CELLS, MORE_CELLS)
        for seed in given.seeds
        for cell in interleaved([cell for cell in part if cell in cells])
    ]
    plan = [it for it in plan if not table.has(*it)]
    print(f"{len(plan)} runs", flush=True)

    def one(it: tuple[Cell, int]) -> None:
        cell, seed = it
        for attempt in (1, 2):
            try:
                result = measure(folder, cell, seed, given.keep)
                late = float(str(result["late_p99_ms"]))
                if late < LATE:
                    break
                raise ValueError(f"1 % of the packets were late by {late} ms")
            except (subprocess.SubprocessError, OSError, ValueError) as error:
                print(f"attempt {attempt}: {'/'.join(cell.key)}: {error}", flush=True)
                if attempt == 2:
                    return
        table.add(result)
        told = ("flows_mbps", "beside_mbps", "latency_mean_ms", "inner_rtt_ms", "queue_ms")
        values = " ".join(f"{key}={as_text(result[key])}" for key in (*told, "late_p99_ms"))
        print(f"{'/'.join(cell.key)} s{seed}: {values}", flush=True)

    while plan:
        with turns(given.lock):
            until = time.monotonic() + 60 * given.batch
            with ThreadPoolExecutor(given.at_once) as pool:

                def work(until: float = until) -> None:
                    while plan and time.monotonic() < until:
                        one(plan.pop(0))

                for future in [pool.submit(work) for _ in range(given.at_once)]:
                    future.result()
        time.sleep(1)


def interleaved(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells so that those without a tunnel come between the others."""
    plain = [cell for cell in cells if cell.tunnel == "none"]
    others = [cell for cell in cells if cell.tunnel != "none"]
    step = max(1, len(others) // max(1, len(plain)))
    order: list[Cell] = []
    for index, cell in enumerate(others):
        if index % step == 0 and plain:
            order.append(plain.pop(0))
        order.append(cell)
    return [*order, *plain]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("programs", type=Path, nargs="?", help="folder with wireguard-go and gost")
    parser.add_argument("--tunnel", action="append", help="only this one; none: without a tunnel")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--output", type=Path, default=DATA, help="folder of the table")
    parser.add_argument("--at-once", type=int, default=1, help="runs at the same time")
    parser.add_argument("--lock", default="", help="file to lock while measuring")
    parser.add_argument("--batch", type=float, default=1e6, help="minutes after which it is let go")
    parser.add_argument("--keep", type=Path, help="folder for the samples of each run")
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
    cells = [
        cell for cell in (*CELLS, *MORE_CELLS) if not given.tunnel or cell.tunnel in given.tunnel
    ]
    given.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, algorithms():
        folder = Path(name)
        build_link(folder)
        prepare(folder, given.programs)
        measure_all(folder, Table(given.output / "tunnels.csv"), cells, given)


if __name__ == "__main__":
    main()
