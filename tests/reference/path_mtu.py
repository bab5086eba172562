# SPDX-License-Identifier: GPL-2.0-only
"""Measure what Linux's TCP does where a link on the way has a smaller MTU.

As root, on Linux, with g++, iproute2, iptables, wireguard-tools and wireguard-go::

    python tests/reference/path_mtu.py

writes ``tests/validation/data/linux/path_mtu.csv``, a row a run; runs that it has already are left
out. ``path_mtu.py remember`` prints what later connections know. linux-link.cc makes two network
namespaces and the link between them. The sender has a namespace of its own here, behind a router:
the namespace at the near end of the link, whose interface into the link has the MTU. One connection
sends some bytes, and the row tells when the receiver had them all.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import shlex
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path

from link import build_link

DATA = Path(__file__).resolve().parents[1] / "validation/data/linux/path_mtu.csv"
SERVER, PORT = "10.9.0.2", 5001
INNER = {"client": "10.8.0.1", "server": "10.8.0.2"}
TUNNEL_PORT = 51820
NEAR, ROUTER = "10.7.0.2", "10.7.0.1"
RATE, RTT, QUEUE = 10, 40, 100  # Mbit/s, ms, packets
BYTES = 4_000_000
LIMIT = 30.0  # s
SEEDS = 3


@dataclass(frozen=True)
class Cell:
    """A condition.

    ``mtu``: of the link; ``too_big``: whether the router's messages arrive; ``mtu_probing``: sysctl
    tcp_mtu_probing; ``clamp_mss``: MSS that the router writes into SYNs; ``tunnel_mtu``: of
    wireguard-go's devices, empty: no tunnel; ``tunnel_mss``: TCP_MAXSEG of the application, inside
    it; ``fragments``: whether the router's firewall drops them.
    """

    mtu: int
    too_big: str
    mtu_probing: int = 0
    clamp_mss: str = ""
    tunnel_mtu: str = ""
    tunnel_mss: str = ""
    fragments: str = "pass"


CELLS = (
    Cell(1400, "tell"),
    Cell(1400, "silent"),
    Cell(1400, "silent", 1),
    Cell(1400, "silent", 2),
    Cell(1400, "tell", 2),
    Cell(1500, "tell", 2),
    Cell(900, "tell"),
    Cell(900, "silent", 1),
    Cell(900, "silent", 2),
    Cell(1400, "silent", clamp_mss="pmtu"),
    Cell(1400, "silent", clamp_mss="1360"),
    Cell(1400, "silent", clamp_mss="1361"),
    Cell(1400, "tell", tunnel_mtu="1420"),
    Cell(1400, "silent", tunnel_mtu="1420"),
    Cell(1400, "silent", tunnel_mtu="1340"),
    Cell(1400, "tell", tunnel_mtu="1420", fragments="drop"),
    Cell(1400, "silent", 1, tunnel_mtu="1420"),
    Cell(1480, "silent", tunnel_mtu="1440", tunnel_mss="1350", fragments="drop"),
    Cell(1480, "silent", tunnel_mtu="1440", tunnel_mss="1400", fragments="drop"),
)
COLUMNS = (
    *(it.name for it in fields(Cell)), "run", "done_s", "first_s", "mss", "retransmits", "received",
    "kernel",
)  # fmt: skip


def send() -> None:
    """Send the bytes, and print what the socket says at the end."""
    connection = socket.socket()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    server, mss = sys.argv[2:]
    if mss:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, int(mss))
    began = time.monotonic()
    while connection.connect_ex((server, PORT)):  # refused until the receiver has started
        if time.monotonic() > began + LIMIT:
            raise TimeoutError
        time.sleep(0.05)
    began = time.monotonic()
    connection.settimeout(0.05)
    left, end = BYTES, began + LIMIT
    info = b""
    chunk = bytes(1 << 16)
    while time.monotonic() < end:
        if left:
            with contextlib.suppress(TimeoutError):
                left -= connection.send(chunk[: min(left, len(chunk))])
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
        acked = struct.unpack_from("=Q", info, 120)[0]
        if not left and acked >= BYTES:
            break
        if not left:
            time.sleep(0.002)
    mss = struct.unpack_from("=I", info, 16)[0]
    retransmits = struct.unpack_from("=I", info, 100)[0]
    print(json.dumps({"mss": mss, "retransmits": retransmits}), flush=True)


def receive() -> None:
    """Take the bytes, and print when the first and the last of them came."""
    listener = socket.create_server(("", PORT))
    listener.settimeout(LIMIT)
    connection, _ = listener.accept()
    began = time.monotonic()
    connection.settimeout(LIMIT)
    received, first, last = 0, None, None
    try:
        while received < BYTES:
            data = connection.recv(1 << 16)
            if not data:
                break
            last = time.monotonic() - began
            first = last if first is None else first
            received += len(data)
    except TimeoutError:
        pass
    done = last if received >= BYTES else None
    print(json.dumps({"done_s": done, "first_s": first, "received": received}), flush=True)


def script(*lines: str) -> str:
    """One command of several."""
    return "sh -c " + shlex.quote("set -e; " + "; ".join(lines))


def run(link: Path, folder: Path, cell: Cell) -> dict[str, object]:
    """Run one transfer."""
    this = shlex.quote(str(Path(__file__).resolve()))
    python = shlex.quote(sys.executable)
    rule = "iptables -t mangle -A FORWARD -p tcp --tcp-flags SYN,RST SYN -j TCPMSS"
    clamps = {"": [], "pmtu": [f"{rule} --clamp-mss-to-pmtu"]}.get(
        cell.clamp_mss, [f"{rule} --set-mss {cell.clamp_mss}"]
    )
    name = f"mtu{time.monotonic_ns() % 10**9}"
    inside = f"ip netns exec {name}"
    server = INNER["server"] if cell.tunnel_mtu else SERVER

    def tunnel(role: str, inside: str) -> list[str]:
        """Set up wireguard-go at an end, unless there is no tunnel."""
        if not cell.tunnel_mtu:
            return []
        other = "server" if role == "client" else "client"
        device = f"wg{role[0]}"
        public = (folder / f"{other}.pub").read_text().strip()
        to = f"endpoint {SERVER}:{TUNNEL_PORT}" if role == "client" else ""
        return [
            f"{inside} wireguard-go {device}",
            f"{inside} wg set {device} private-key {folder}/{role}.key listen-port {TUNNEL_PORT} "
            f"peer {public} allowed-ips 0.0.0.0/0 {to}",
            f"{inside} ip addr add {INNER[role]}/24 dev {device}",
            f"{inside} ip link set {device} mtu {cell.tunnel_mtu} up",
        ]

    sender = script(
        f"ip link set tun0 mtu {cell.mtu}",
        f"ip netns add {name}",
        f"ip link add veth0 type veth peer name veth1 netns {name}",
        f"ip addr add {ROUTER}/24 dev veth0",
        "ip link set veth0 up",
        f"{inside} ip addr add {NEAR}/24 dev veth1",
        f"{inside} ip link set veth1 up",
        f"{inside} ip route add default via {ROUTER}",
        "sysctl -qw net.ipv4.ip_forward=1",
        *clamps,
        *(["iptables -A OUTPUT -p icmp -j DROP"] if cell.too_big == "silent" else []),
        f"{inside} sysctl -qw net.ipv4.tcp_mtu_probing={cell.mtu_probing}",
        *(["iptables -A FORWARD -f -j DROP"] if cell.fragments == "drop" else []),
        *tunnel("client", inside),
        "sleep 0.3",
        f"{inside} {python} {this} send {server} '{cell.tunnel_mss}' > {folder}/sender.json "
        "|| true",
        *([f"{inside} ip link del wgc"] if cell.tunnel_mtu else []),
        f"ip netns del {name}",
    )
    receiver = script(
        "ip route add 10.7.0.0/24 dev tun0",
        *tunnel("server", ""),
        f"{python} {this} receive > {folder}/receiver.json",
        *(["ip link del wgs"] if cell.tunnel_mtu else []),
    )
    command = [str(link), "--rate", str(RATE), "--queue", str(QUEUE), "--rtt", str(RTT)]
    subprocess.run(
        [*command, "--sender", sender, "--receiver", receiver],
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=3 * LIMIT,
    )
    found: list[dict[str, object]] = [
        json.loads((folder / f"{end}.json").read_text()) for end in ("sender", "receiver")
    ]
    return found[0] | found[1]


def main() -> None:
    """Measure all cells."""
    kernel = subprocess.run(["uname", "-r"], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        link = build_link(folder)
        for role in INNER:
            keys = f"wg genkey > {role}.key; wg pubkey < {role}.key > {role}.pub"
            subprocess.run(["sh", "-c", f"umask 077; {keys}"], check=True, cwd=folder)
        done = set()
        if DATA.exists():
            with DATA.open() as file:
                done = {tuple(row.values())[:8] for row in csv.DictReader(file)}
        with DATA.open("a", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            if not done:
                writer.writeheader()
            for cell, seed in itertools.product(CELLS, range(1, SEEDS + 1)):
                if tuple(map(str, (*astuple(cell), seed))) in done:
                    continue
                row = (
                    asdict(cell) | {"run": seed, "kernel": kernel.strip()} | run(link, folder, cell)
                )
                writer.writerow({key: _short(value) for key, value in row.items()})
                file.flush()
                print(row, flush=True)


_REMEMBER = """
for n in near router far; do ip netns add mtu-$n; ip -n mtu-$n link set lo up; done
ip link add near0 netns mtu-near type veth peer name near1 netns mtu-router
ip link add far0 netns mtu-far type veth peer name far1 netns mtu-router
ip -n mtu-near addr add 10.7.0.2/24 dev near0
ip -n mtu-router addr add 10.7.0.1/24 dev near1
ip -n mtu-router addr add 10.9.0.1/24 dev far1
ip -n mtu-far addr add 10.9.0.2/24 dev far0
for it in near/near0 router/near1 router/far1 far/far0; do
    ip -n mtu-${it%/*} link set ${it#*/} up
    ip netns exec mtu-${it%/*} ethtool -K ${it#*/} tso off gso off gro off
done
ip -n mtu-router link set far1 mtu 1400
ip -n mtu-near route add default via 10.7.0.1
ip -n mtu-far route add default via 10.9.0.1
ip netns exec mtu-router sysctl -qw net.ipv4.ip_forward=1
tc -n mtu-router qdisc add dev far1 root tbf rate 10mbit burst 4kb limit 2mb
"""


def remember() -> None:
    """Open connections one after the other behind a router that tells, and print what they know."""
    this = [sys.executable, str(Path(__file__).resolve())]
    try:
        subprocess.run(["sh", "-ec", _REMEMBER], check=True)
        with subprocess.Popen(["ip", "netns", "exec", "mtu-far", *this, "take"]) as receiver:
            time.sleep(0.5)
            subprocess.run(["ip", "netns", "exec", "mtu-near", *this, "open"], check=True)
            receiver.kill()
    finally:
        for name in ("near", "router", "far"):
            subprocess.run(["ip", "netns", "del", f"mtu-{name}"], check=False)


def take() -> None:
    """Read from all connections."""
    listener = socket.create_server((SERVER, PORT))

    def read(connection: socket.socket) -> None:
        while connection.recv(1 << 16):
            pass

    while True:
        threading.Thread(target=read, args=(listener.accept()[0],), daemon=True).start()


def open_connections() -> None:
    """Send on an early connection, a later one, and one that was idle before both."""

    def tell(name: str, connection: socket.socket) -> None:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
        (mss,), (retransmits,) = (struct.unpack_from("=I", info, at) for at in (16, 100))
        print(f"{name}: MSS {mss}, {retransmits} retransmissions", flush=True)

    idle = socket.create_connection((SERVER, PORT))
    for name in ("first", "second", "idle before"):
        connection = idle if name == "idle before" else socket.create_connection((SERVER, PORT))
        tell(f"{name}, at the start", connection)
        connection.sendall(bytes(BYTES // 4))
        time.sleep(1)
        tell(name, connection)


def _short(value: object) -> object:
    return round(value, 4) if isinstance(value, float) else value


if __name__ == "__main__":
    actions = {
        "send": send,
        "receive": receive,
        "remember": remember,
        "take": take,
        "open": open_connections,
    }
    actions.get(sys.argv[1] if sys.argv[1:] else "", main)()
