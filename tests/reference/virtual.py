# SPDX-License-Identifier: GPL-2.0-only
"""Measure queue disciplines and tunnels in Linux, in a kernel whose time is virtual.

``waf-config/linux/build.py kernel FOLDER`` compiles it. Then, as root, on Linux, with iproute2,
wireguard-tools, openssl and OpenVPN, and with the program ``gost`` in the same folder::

    python tests/reference/virtual.py FOLDER

writes ``tests/validation/data/virtual/runs.csv``, a row a run; the README of the data says what is
in it. Runs that the table has already are left out. With ``--traces`` it writes the packets in
``tests/reference/queues`` instead. The kernel runs as a process (user-mode Linux).
Its clock stands still while anything computes, and jumps to the next timer when nothing does
(``time-travel=inf-cpu``): all times are those of the model of a host that computes for nothing.

The servers' namespace and the router's are joined by a wire: two TUN devices, and this program,
which writes to one what it read from the other half an RTT before. A packet that crosses it has
nothing of what the kernel knew of it before (``skb->hash``), as a packet that crosses a cable. The
router sends to the clients' namespace over veth, through the queue discipline. Data go to the
clients; ACKs meet no queue.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

SECOND = 1_000_000_000
HERE = Path(__file__).resolve()
TABLE = HERE.parents[1] / "validation/data/virtual/runs.csv"
RATE = 10.0  # Mbit/s, of the queue discipline
RTT = 40.0  # ms
DURATION, STEADY = 25.0, 5.0  # s
LEAD = 30 * SECOND  # until tunnels are up
APART = 0.1  # s between the starts of two flows, and up to 10 ms more
SEEDS = (1, 2)
WRITE = 131072  # bytes
PING_INTERVAL, PING_BYTES = 0.1, 56  # s
ETHERNET = 14  # bytes of a packet that Linux counts
QUEUE_OF_ONE_BDP = round(RATE * 1e3 * RTT / 8 / 1500)
PORT = 5001


# --------------------------------------------------------------------------------------- conditions


@dataclass(frozen=True)
class Cell:
    """A condition; flows are pairs of a server's host and a client's."""

    name: str
    queue: str  #: of tc; for the router
    flows: tuple[tuple[int, int], ...] = ((1, 1),)
    cc: tuple[str, ...] = ("cubic",)
    tunnel: str = "none"
    ecn: bool = False
    udp: float = 0.0  #: Mbit/s of UDP from server 1 to client 1
    loss: float = 0.0  #: probability, of packets from the servers, before the queue
    is_behind: bool = False  #: flows and pings come from a host for which the servers' forward

    @property
    def inner(self) -> tuple[str, str] | None:
        """The addresses in the tunnel, if there is one."""
        if self.tunnel == "none":
            return None
        ends = UPPER if self.tunnel.startswith(("vxlan", "openvpn")) else LOWER
        return (BEHIND[1], ends[1]) if self.is_behind else ends

    @property
    def source(self) -> str:
        """The namespace of what sends."""
        return "behind" if self.is_behind else "servers"

    @property
    def seeds(self) -> Sequence[int]:
        """Runs that lose packets differ more, and those in a relay."""
        return range(1, 9) if self.loss else range(1, 5) if self.tunnel == IN_A_RELAY else SEEDS


def _cake(options: str = "") -> str:
    return f"cake bandwidth {RATE:g}mbit besteffort {options}".strip()


def _shaped(child: str) -> str:
    # A bucket of one packet. Linux counts Ethernet's header, unless `stab` takes it away.
    table = f"stab overhead -{ETHERNET} linklayer ethernet"
    return f"{table} tbf rate {RATE:g}mbit burst 1500 limit 10000000 | {child}"


ONE_AND_EIGHT = (*((1, 1 + host) for host in range(8)), (2, 9))
TO_ONE_HOST = (*(((1, 1),) * 8), (2, 1))
TUNNELS = ("none", "wireguard", "esp")
NESTED = (
    "vxlan-1450/wireguard", "vxlan-1370/wireguard", "openvpn-1500/wireguard",
    "openvpn-1360/wireguard",
)  # fmt: skip
IN_A_RELAY = "wireguard/gost-relay-wss"
_PFIFO = f"pfifo limit {4 * QUEUE_OF_ONE_BDP}"
_DEEP = _shaped(_PFIFO)
CELLS = (
    Cell("cake/1-flow", _cake()),
    Cell("cake/4-flows", _cake(), ((1, 1),) * 4),
    Cell("cake/4-flows-ecn", _cake(), ((1, 1),) * 4, ecn=True),
    Cell("cake/pppoe-llcsnap", _cake("pppoe-llcsnap")),
    Cell("cake/flows/8-and-1", _cake("flows"), TO_ONE_HOST),
    Cell("cake/triple-isolate/8-and-1-to-one-host", _cake("triple-isolate"), TO_ONE_HOST),
    Cell("cake/triple-isolate/8-and-1", _cake("triple-isolate"), ONE_AND_EIGHT),
    Cell("cake/dual-srchost/8-and-1", _cake("dual-srchost"), ONE_AND_EIGHT),
    Cell("cake/dual-dsthost/8-and-1", _cake("dual-dsthost"), ONE_AND_EIGHT),
    Cell("cake/hosts/8-and-1", _cake("hosts"), ONE_AND_EIGHT),
    Cell("cake/flows/9-apart", _cake("flows"), ONE_AND_EIGHT),
    Cell("cake/1-flow-beside-udp", _cake(), udp=20.0),
    *(
        Cell(
            f"{queue}/{'-'.join(cc)}/{tunnel}",
            _shaped(tc),
            ((1, 1),) * len(cc),
            cc,
            tunnel,
        )
        for queue, tc in (
            ("fq_codel", "fq_codel"),
            ("pfifo", _PFIFO),
        )
        for cc in (("cubic",), ("bbr",), ("cubic", "bbr"))
        for tunnel in TUNNELS
    ),
    *(Cell(f"nested/{tunnel}", _DEEP, tunnel=tunnel) for tunnel in NESTED),
    Cell(
        "nested/vxlan-1450/wireguard/behind", _DEEP, tunnel="vxlan-1450/wireguard", is_behind=True
    ),
    Cell(f"nested/{IN_A_RELAY}", _DEEP, tunnel=IN_A_RELAY),
    *(
        Cell(f"nested/{IN_A_RELAY}/loss-{loss:g}", _DEEP, tunnel=IN_A_RELAY, loss=loss)
        for loss in (0.001, 0.01)
    ),
)


# ---------------------------------------------------------------------- in the kernel: as process 1

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
NAMESPACES = ("servers", "router", "clients")
IP_FREEBIND = 15  # programs give a tunnel its addresses later
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
SERVERS, CLIENTS = "10.1.0.{}", "10.2.0.{}"
LOWER, UPPER = ("10.3.0.1", "10.3.0.2"), ("10.4.0.1", "10.4.0.2")  #: inside tunnels
BEHIND = ("10.5.0.1", "10.5.0.2")  #: of the servers and the host behind them


def sh(command: str) -> None:
    """Run commands of a shell that have to succeed."""
    subprocess.run(["/bin/sh", "-ec", command], check=True)


def enter(namespace: str) -> None:
    """Put what this thread makes from now on into a namespace."""
    with open(f"/run/netns/{namespace}") as file:
        if LIBC.setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"setns {namespace}")


def make_tun(namespace: str, name: str) -> int:
    """Return the file of a new TUN device."""
    enter(namespace)
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(file, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return file


def now() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Events:
    """Files that are watched, and what is to be done later."""

    def __init__(self) -> None:
        self._poll = select.epoll()
        self._handlers: dict[int, Callable[[int], object]] = {}
        self._later: list[tuple[int, int, Callable[[], object]]] = []
        self._numbers = count()

    def watch(self, file: int, events: int, handler: Callable[[int], object]) -> None:
        self._handlers[file] = handler
        self._poll.register(file, events)

    def at(self, when: int, do: Callable[[], object]) -> None:
        heapq.heappush(self._later, (when, next(self._numbers), do))

    def run(self, until: int) -> None:
        """Run until a time, ns. A timer wakes it up: a time-out of epoll has whole ms."""
        timer = _Timer()
        self.watch(timer.file, select.EPOLLIN, lambda _: timer.clear())
        while (time_now := now()) < until:
            while self._later and self._later[0][0] <= time_now:
                heapq.heappop(self._later)[2]()
            timer.set(min(until, self._later[0][0]) if self._later else until)
            for file, events in self._poll.poll():
                self._handlers[file](events)


class _Timer:
    """A timerfd of CLOCK_MONOTONIC."""

    def __init__(self) -> None:
        self.file = LIBC.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK)

    def set(self, when: int) -> None:
        value = struct.pack("qqqq", 0, 0, *divmod(max(when, 1), SECOND))
        if LIBC.timerfd_settime(self.file, 1, value, None):  # TFD_TIMER_ABSTIME
            raise OSError(ctypes.get_errno(), "timerfd_settime")

    def clear(self) -> None:
        os.read(self.file, 8)


class Wire:
    """Two TUN devices; packets cross from one to the other after a delay, or are lost.

    ``loss``: the probability, from the first to the second.
    """

    def __init__(
        self,
        events: Events,
        ends: tuple[int, int],
        delay: int,
        loss: float,
        chance: random.Random,
    ) -> None:
        self._events, self._delay, self._chance = events, delay, chance
        for here, there, lost in ((*ends, loss), (*ends[::-1], 0.0)):
            events.watch(here, select.EPOLLIN, partial(self._carry, here, there, lost))

    def _carry(self, here: int, there: int, loss: float, _: int) -> None:
        while True:
            try:
                packet = os.read(here, 65536)
            except BlockingIOError:
                return
            if self._chance.random() >= loss:
                self._events.at(now() + self._delay, partial(os.write, there, packet))


class Flow:
    """A flow over TCP without end."""

    def __init__(self, events: Events, cell: Cell, index: int, begin: int) -> None:
        self._events = events
        server, client = (SERVERS, CLIENTS)
        source, destination = cell.flows[index]
        self._from, self._to = server.format(source), client.format(destination)
        if cell.inner:
            self._from, self._to = cell.inner
        self._cc = cell.cc[index % len(cell.cc)]
        self._source = cell.source
        self._port = PORT + index
        self.arrivals: list[tuple[int, int]] = []
        enter("clients")
        self._listener = socket.socket()
        self._listener.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
        self._listener.bind((self._to, self._port))
        self._listener.listen()
        self._listener.setblocking(False)
        events.watch(self._listener.fileno(), select.EPOLLIN, self._accept)
        events.at(begin, self._connect)
        self._data = bytes(WRITE)
        self._left = memoryview(b"")

    def _accept(self, _: int) -> None:
        self._receiver, _ = self._listener.accept()
        self._receiver.setblocking(False)
        self._buffer = bytearray(1 << 20)
        self._events.watch(self._receiver.fileno(), select.EPOLLIN, self._receive)

    def _connect(self) -> None:
        enter(self._source)
        self._sender = socket.socket()
        self._sender.setblocking(False)
        self._sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self._cc.encode())
        self._sender.bind((self._from, 0))
        self._sender.connect_ex((self._to, self._port))
        self._events.watch(self._sender.fileno(), select.EPOLLOUT, self._send)

    def _send(self, events: int) -> None:
        if events & (select.EPOLLERR | select.EPOLLHUP):
            raise ConnectionError(f"a flow from {self._from} to {self._to} ended")
        while True:
            if not self._left:
                self._left = memoryview(self._data)
            try:
                self._left = self._left[self._sender.send(self._left) :]
            except BlockingIOError:
                return

    def _receive(self, _: int) -> None:
        self.arrivals.append((now(), self._receiver.recv_into(self._buffer)))

    def goodput(self, since: int, until: int) -> float:
        """Return Mbit/s of the application between two times."""
        total = sum(size for when, size in self.arrivals if since < when <= until)
        return total * 8e3 / (until - since)


class Pings:
    """Echoes of ICMP each tenth of a second, from a server to a client."""

    def __init__(self, events: Events, cell: Cell, begin: int) -> None:
        self._events = events
        here, self._to = cell.inner or (SERVERS.format(1), CLIENTS.format(1))
        enter(cell.source)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
        self._socket.bind((here, 0))
        events.watch(self._socket.fileno(), select.EPOLLIN, self._receive)
        self._sent: list[int] = []
        self.times: dict[int, tuple[int, int]] = {}  # when sent, and the RTT, ns
        events.at(begin, self._send)

    def _send(self) -> None:
        number = len(self._sent)
        body = struct.pack("!BBHHH", 8, 0, 0, 77, number) + bytes(PING_BYTES)
        total = sum(struct.unpack(f"!{len(body) // 2}H", body))
        total = (total & 0xFFFF) + (total >> 16)
        checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
        time_now = now()
        self._sent.append(time_now)
        with contextlib.suppress(OSError):  # a program's tunnel is not up
            self._socket.sendto(body[:2] + struct.pack("!H", checksum) + body[4:], (self._to, 0))
        self._events.at(time_now + round(PING_INTERVAL * SECOND), self._send)

    def _receive(self, _: int) -> None:
        answer = self._socket.recv(2048)[20:]
        kind, _, _, identity, number = struct.unpack("!BBHHH", answer[:8])
        if kind == 0 and identity == 77:
            self.times[number] = (self._sent[number], now() - self._sent[number])

    def since(self, begin: int, until: int) -> tuple[list[float], int]:
        """Return the RTTs (ms) of pings sent between two times, and how many were sent."""
        sent = [number for number, when in enumerate(self._sent) if begin < when <= until]
        return [self.times[n][1] / 1e6 for n in sent if n in self.times], len(sent)


class Datagrams:
    """UDP of a constant rate, of 1400 bytes each."""

    def __init__(self, events: Events, rate: float, begin: int) -> None:
        self._events = events
        self._gap = round(1428 * 8e3 / rate)
        enter("clients")
        self._sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sink.bind((CLIENTS.format(1), PORT))
        self._sink.setblocking(False)
        events.watch(self._sink.fileno(), select.EPOLLIN, lambda _: self._sink.recv(2048))
        enter("servers")
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        events.at(begin, self._send)

    def _send(self) -> None:
        self._socket.sendto(bytes(1400), (CLIENTS.format(1), PORT))
        self._events.at(now() + self._gap, self._send)


@dataclass(frozen=True)
class Trace:
    """Packets that arrive at a queue discipline at times of their own, whatever it does.

    ``offers``: when (us), the flow, bytes of IP, and whether ECN is set; by time.
    """

    name: str
    queue: str
    offers: tuple[tuple[int, int, int, int], ...]


def _one_flow(ect: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield a flow at 1.25 times the rate, a pause, the flow again, and at half the rate."""
    for begin, end, gap in (
        (0, 1500, 0.8),
        (1800, 2500, 0.8),
        (2500, 3000, 2.0),
        (3000, 3600, 0.9),
    ):
        for number in range(int((end - begin) / gap)):
            yield round(1e3 * (begin + number * gap)), 0, 983, ect


def _several_flows() -> Iterator[tuple[int, int, int, int]]:
    """Yield three flows that fill the link, of different sizes, and one that does not."""
    chance = random.Random(1)
    for flow, size, gap in ((0, 986, 2.5), (1, 486, 1.2), (2, 1486, 3.5), (3, 86, 20.0)):
        when = 0.0
        while (when := when + chance.expovariate(1 / gap)) < 2500:
            yield round(1e3 * when), flow, size, 0


_RAW = "cake bandwidth 8mbit besteffort flows"
TRACES = tuple(
    Trace(name, queue, tuple(sorted(offers)))
    for name, queue, offers in (
        ("cobalt", _RAW, _one_flow(0)),
        ("cobalt-ecn", _RAW, _one_flow(2)),
        ("cake", _RAW, _several_flows()),
        ("fq_codel", "tbf rate 8mbit burst 1600 limit 10000000 | fq_codel", _several_flows()),
    )
)


def trace(given: Trace, events: Events) -> list[tuple[int, int]]:
    """Return when (ns) each packet left, 0 if it was dropped, and whether it was marked."""
    _set_up(Cell("", given.queue), events, random.Random(0))
    enter("router")
    entry = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
    entry.setsockopt(socket.SOL_SOCKET, 32, 1 << 28)  # SO_SNDBUFFORCE
    entry.bind(("out", 0x0800))
    enter("clients")
    leaving = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
    leaving.setsockopt(socket.SOL_SOCKET, 33, 1 << 28)  # SO_RCVBUFFORCE
    leaving.bind(("in", 0x0800))
    leaving.setblocking(False)
    macs = [
        bytes.fromhex(
            subprocess.run(
                ["ip", "-n", name, "-br", "link", "show", device],
                capture_output=True, text=True, check=True,
            ).stdout.split()[2].replace(":", "")
        )
        for name, device in (("clients", "in"), ("router", "out"))
    ]  # fmt: skip
    begin = now() + SECOND
    fates = [(0, 0)] * len(given.offers)

    def leave(_: int) -> None:
        packet = leaving.recv(2048)
        if packet[23] == socket.IPPROTO_UDP and packet[26:28] == bytes((10, 9)):
            (number,) = struct.unpack("!I", packet[42:46])
            fates[number] = now() - begin, int(packet[15] & 3 == 3)

    events.watch(leaving.fileno(), select.EPOLLIN, leave)
    for number, (when, flow, size, ect) in enumerate(given.offers):
        addresses = bytes((10, 9, 0, 1)) + socket.inet_aton(CLIENTS.format(1))
        ip = struct.pack("!BBHHHBBH", 0x45, ect, size, 0, 0, 64, socket.IPPROTO_UDP, 0) + addresses
        udp = struct.pack("!HHHHI", 1000 + flow, 2000, size - 20, 0, number)
        frame = b"".join((*macs, b"\x08\x00", ip, udp)).ljust(14 + size, b"\0")
        events.at(begin + 1000 * when, partial(entry.send, frame))
    events.run(begin + 1000 * given.offers[-1][0] + SECOND)
    return fates


def _set_up(cell: Cell, events: Events, chance: random.Random) -> None:
    sh("mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t tmpfs run /run")
    sh("".join(f"ip netns add {name}; ip -n {name} link set lo up; " for name in NAMESPACES))
    ends = make_tun("servers", "wire"), make_tun("router", "wire")
    hosts_of = [{pair[side] for pair in (*cell.flows, (1, 1))} for side in (0, 1)]
    sh(
        "ip -n router link add out type veth peer name in netns clients; "
        + "".join(
            f"ip -n {name} link set {device} up; "
            for name, device in (
                ("servers", "wire"), ("router", "wire"), ("router", "out"), ("clients", "in"),
            )
        )
        + "".join(
            f"ip -n {name} address add {address.format(host)}/16 dev {device}; "
            for name, address, device, hosts in (
                ("servers", SERVERS, "wire", hosts_of[0]), ("clients", CLIENTS, "in", hosts_of[1]),
            )
            for host in hosts
        )
        + "ip -n router address add 10.2.255.254/16 dev out; "
        "ip -n router route add 10.1.0.0/16 dev wire; "
        "ip -n servers route add 10.2.0.0/16 dev wire; "
        "ip -n clients route add default via 10.2.255.254; "
        "ip netns exec router sysctl -qw net.ipv4.ip_forward=1; "
    )  # fmt: skip
    for name in ("servers", "clients"):
        sh(
            f"ip netns exec {name} sysctl -qw net.ipv4.tcp_ecn={1 if cell.ecn else 2} "
            "net.ipv4.tcp_no_metrics_save=1 net.ipv4.tcp_rmem='4096 131072 33554432' "
            "net.ipv4.tcp_wmem='4096 16384 4194304'"
        )
    # A neighbour is known before anything is measured.
    sh(
        "mac() { ip -n $1 -br link show $2 | awk '{print $3}'; }; "
        + "".join(
            f"ip -n router neighbour add {CLIENTS.format(h)} lladdr $(mac clients in) dev out; "
            for h in hosts_of[1]
        )
        + "ip -n clients neighbour add 10.2.255.254 lladdr $(mac router out) dev in"
    )
    parent, _, child = cell.queue.partition("|")
    sh(f"tc -n router qdisc add dev out root handle 1: {parent}")
    if child:
        sh(f"tc -n router qdisc add dev out parent 1: handle 2: {child}")
    TUNNELS_OF[cell.tunnel]()
    if cell.is_behind:
        _add_host_behind()
    Wire(events, ends, round(RTT / 2 * 1e6), cell.loss, chance)


def _add_host_behind() -> None:
    """Add a host behind the servers, whose packets they forward into the upper tunnel."""
    near, far = BEHIND
    sh(
        "ip netns add behind; ip -n behind link set lo up; "
        "ip -n servers link add inner type veth peer name out netns behind; "
        "ip -n servers link set inner up; ip -n behind link set out up; "
        f"ip -n servers address add {near}/24 dev inner; "
        f"ip -n behind address add {far}/24 dev out; "
        f"ip -n behind route add default via {near}; "
        "ip netns exec servers sysctl -qw net.ipv4.ip_forward=1; "
        f"ip -n clients route add 10.5.0.0/24 via {UPPER[0]} dev upper"
    )


_PEER = "endpoint {}:51820"


def _wireguard(
    to_clients: str = _PEER.format(CLIENTS.format(1)),
    to_servers: str = _PEER.format(SERVERS.format(1)),
) -> None:
    """Add WireGuard. Without an endpoint, an end learns it from packets."""
    sh(
        "cd /run; for n in servers clients; do wg genkey > $n.key; wg pubkey < $n.key > $n.pub; "
        "ip -n $n link add inside type wireguard; "
        "ip netns exec $n wg set inside private-key $n.key listen-port 51820; done; "
        f"ip netns exec servers wg set inside peer $(cat clients.pub) "
        f"{to_clients} allowed-ips 0.0.0.0/0; "
        f"ip netns exec clients wg set inside peer $(cat servers.pub) "
        f"{to_servers} allowed-ips 0.0.0.0/0; "
        f"ip -n servers address add {LOWER[0]}/24 dev inside; "
        f"ip -n clients address add {LOWER[1]}/24 dev inside; "
        "for n in servers clients; do ip -n $n link set inside up; done"
    )


def _vxlan(mtu: int) -> None:
    _wireguard()
    for name, here, there, inner in (
        ("servers", LOWER[0], LOWER[1], UPPER[0]), ("clients", LOWER[1], LOWER[0], UPPER[1]),
    ):  # fmt: skip
        sh(
            f"ip -n {name} link add upper type vxlan id 7 local {here} remote {there} "
            "dstport 4789; "
            f"ip -n {name} link set upper mtu {mtu} up; "
            f"ip -n {name} address add {inner}/24 dev upper"
        )


def _openvpn(mtu: int) -> None:
    _wireguard()
    for name in ("servers", "clients"):
        sh(
            "cd /run; openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
            f"-subj /CN={name} -days 30 -keyout {name}.pem -out {name}.crt 2>/dev/null"
        )
    for index, (name, peer) in enumerate((("clients", "servers"), ("servers", "clients"))):
        printed = subprocess.run(
            ["openssl", "x509", "-in", f"/run/{peer}.crt", "-noout", "-fingerprint", "-sha256"],
            capture_output=True, text=True, check=True,
        ).stdout.strip().partition("=")[2]  # fmt: skip
        _start(
            name, "openvpn", "--dev", "upper", "--dev-type", "tun", "--disable-dco",
            "--tmp-dir", "/run", "--proto", "udp", "--remote", LOWER[index],
            "--ifconfig", UPPER[1 - index], UPPER[index],
            "--port", "1194", "--cert", f"/run/{name}.crt", "--key", f"/run/{name}.pem",
            "--peer-fingerprint", printed, "--verb", "1", "--tun-mtu", str(mtu),
            *(("--tls-server", "--dh", "none") if name == "clients" else ("--tls-client",)),
        )  # fmt: skip


def _wireguard_in_gost() -> None:
    _wireguard("endpoint 127.0.0.1:51821", "")
    _start("clients", "gost", "-L", "relay+wss://:8443")
    _start(
        "servers", "gost", "-L", "udp://127.0.0.1:51821/127.0.0.1:51820?keepalive=true",
        "-F", f"relay+wss://{CLIENTS.format(1)}:8443",
    )  # fmt: skip


def _start(namespace: str, *command: str) -> None:
    subprocess.Popen(["ip", "netns", "exec", namespace, *command])


def _esp() -> None:
    key = "0x" + "5a" * 20
    a, b = SERVERS.format(1), CLIENTS.format(1)
    for name, here, inside, there in (
        ("servers", a, *LOWER), ("clients", b, *LOWER[::-1]),
    ):  # fmt: skip
        ip = f"ip -n {name}"
        device = "wire" if name == "servers" else "in"
        via = "" if name == "servers" else "via 10.2.255.254"
        sh(
            f"{ip} address add {inside}/32 dev lo; "
            f"{ip} route add {there}/32 {via} dev {device} src {inside}; "
            + "".join(
                f"{ip} xfrm state add src {x} dst {y} proto esp spi {spi} reqid 1 mode tunnel "
                f"replay-window 64 aead 'rfc4106(gcm(aes))' {key} 128; "
                for x, y, spi in ((a, b, 0x101), (b, a, 0x102))
            )
            + f"{ip} xfrm policy add src {inside} dst {there} dir out "
            f"tmpl src {here} dst {b if here == a else a} proto esp reqid 1 mode tunnel; "
            f"{ip} xfrm policy add src {there} dst {inside} dir in "
            f"tmpl src {b if here == a else a} dst {here} proto esp reqid 1 mode tunnel"
        )


TUNNELS_OF: Mapping[str, Callable[[], None]] = {
    "none": lambda: None,
    "wireguard": _wireguard,
    "esp": _esp,
    "vxlan-1450/wireguard": lambda: _vxlan(1450),
    "vxlan-1370/wireguard": lambda: _vxlan(1370),
    "openvpn-1500/wireguard": lambda: _openvpn(1500),
    "openvpn-1360/wireguard": lambda: _openvpn(1360),
    IN_A_RELAY: _wireguard_in_gost,
}


def inside(task: Path) -> None:
    """Run a cell, and write what was measured."""
    given = json.loads(task.read_text())
    if "trace" in given:
        chosen = next(it for it in TRACES if it.name == given["trace"])
        task.with_suffix(".result").write_text(json.dumps(trace(chosen, Events())))
        return
    cell = next(it for it in CELLS if it.name == given["cell"])
    events = Events()
    chance = random.Random(given["seed"])
    _set_up(cell, events, chance)
    begin = now() + LEAD
    flows = [
        Flow(events, cell, index, begin + round((index * APART + chance.uniform(0, 0.01)) * SECOND))
        for index in range(len(cell.flows))
    ]
    pings = Pings(events, cell, begin - SECOND // 2 + round(chance.uniform(0, 0.1) * SECOND))
    if cell.udp:
        Datagrams(events, cell.udp, begin)
    end = begin + round(DURATION * SECOND)
    events.run(end)
    since = begin + round(STEADY * SECOND)
    rtts, sent = pings.since(since, end - SECOND)
    result = {
        "goodputs": [flow.goodput(since, end) for flow in flows],
        "rtts": rtts,
        "pings": sent,
    }
    task.with_suffix(".result").write_text(json.dumps(result))


# ------------------------------------------------------------------------------------------ outside


def run(kernel: Path, given: Mapping[str, Any], folder: Path) -> Any:
    """Run a cell or a trace in a kernel of its own. Return what was measured."""
    task = folder / "task.json"
    task.write_text(json.dumps(given))
    init = folder / "init"
    init.write_text(
        f"#!/bin/sh\nexport PATH={kernel.resolve()}:/usr/sbin:/usr/bin:/sbin:/bin\n"
        f"mount -t hostfs none {folder} "
        f"-o {folder}\n{sys.executable} -B {HERE} --inside {task} > {folder}/log 2>&1\nsync\n"
        "halt -f || echo o > /proc/sysrq-trigger\n"
    )
    init.chmod(0o755)
    subprocess.run(
        [kernel / "linux", "mem=512M", "time-travel=inf-cpu", "root=/dev/root", "rootfstype=hostfs",
         "rootflags=/", "ro", f"init={init}", "con=null", "con0=null,fd:1", "stderr=1"],
        stdin=subprocess.DEVNULL, stdout=(folder / "console").open("wb"), stderr=subprocess.STDOUT,
        timeout=600, check=False,
    )  # fmt: skip
    result = task.with_suffix(".result")
    if not result.exists():
        log = folder / "log"
        raise RuntimeError((log if log.exists() else folder / "console").read_text()[-3000:])
    return json.loads(result.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="which has the kernel")
    parser.add_argument("--only", default="", help="cells whose names begin so")
    parser.add_argument("--traces", action="store_true", help="write the traces instead")
    options = parser.parse_args()
    if options.traces:
        for it in TRACES:
            with tempfile.TemporaryDirectory() as folder:
                fates = run(options.folder, {"trace": it.name}, Path(folder))
            with (HERE.parent / "queues" / f"{it.name}.csv").open("w") as file:
                table = csv.writer(file, lineterminator="\n")
                table.writerow(("arrival_us", "flow", "bytes", "ect", "left_ns", "marked"))
                table.writerows(
                    (*offer, *fate) for offer, fate in zip(it.offers, fates, strict=True)
                )
        return
    for cell in CELLS:
        for seed in cell.seeds:
            if cell.name.startswith(options.only) and (cell.name, str(seed)) not in _known():
                with tempfile.TemporaryDirectory() as folder:
                    given = {"cell": cell.name, "seed": seed}
                    result = run(options.folder, given, Path(folder))
                _add(cell, seed, result)


def _known() -> set[tuple[str, str]]:
    if not TABLE.exists():
        return set()
    with TABLE.open() as file:
        return {(row["cell"], row["seed"]) for row in csv.DictReader(file)}


def _add(cell: Cell, seed: int, result: Mapping[str, Any]) -> None:
    """Add a run to the table."""
    rtts = sorted(result["rtts"])
    is_new = not TABLE.exists()
    with TABLE.open("a") as file:
        table = csv.writer(file, lineterminator="\n")
        if is_new:
            table.writerow(
                ("cell", "seed", "flows_mbps", "ping_p50_ms", "ping_p95_ms", "pings", "answers")
            )
        table.writerow(
            (
                cell.name, seed, " ".join(f"{it:.3f}" for it in result["goodputs"]),
                f"{statistics.median(rtts):.2f}", f"{rtts[int(0.95 * len(rtts))]:.2f}",
                result["pings"], len(rtts),
            )
        )  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(Path(sys.argv[2]))
    else:
        main()
