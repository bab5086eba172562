# SPDX-License-Identifier: GPL-2.0-only
"""Measure what packets become in OpenVPN over WireGuard between two routers.

As root, on Linux, with iproute2, openssl, wireguard-tools, wireguard-go and OpenVPN::

    python tests/reference/nested.py

writes ``tests/reference/nested.csv``: for each packet that a host behind one router sends to a host
behind the other, the IP packets that cross the link between the routers. Four network namespaces,
host, router, router and host, exist as long as the command runs.
"""

from __future__ import annotations

import contextlib
import csv
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

DATA = Path(__file__).with_name("nested.csv")
NAMES = ("pc-a", "edge-a", "edge-b", "pc-b")
SIZES = (28, 100, 576, 1000, 1300, 1341, 1342, 1343, 1344, 1345, 1360, 1380, 1400, 1420, 1460, 1500)
TUNNEL_MTU = 1420
ETH_P_IP = 0x0800
DATA_MESSAGE, KEEPALIVE = 4, 60  # WireGuard: type; IP bytes of a message without a packet


def call(*command: str, given: str = "") -> str:
    done = subprocess.run(command, check=True, capture_output=True, text=True, input=given)
    return done.stdout


def inside(name: str, *command: str) -> list[str]:
    return ["ip", "netns", "exec", f"nested-{name}", *command]


@contextlib.contextmanager
def namespaces() -> Iterator[None]:
    """Make the hosts and the links between them: 10.1.0.0/24, 10.9.0.0/24, 10.2.0.0/24."""
    try:
        for name in NAMES:
            call("ip", "netns", "add", f"nested-{name}")
            call(*inside(name, "sysctl", "-q", "net.ipv6.conf.default.disable_ipv6=1"))
            call(*inside(name, "ip", "link", "set", "lo", "up"))
        for (one, other), net in zip(pairwise(NAMES), ("10.1.0", "10.9.0", "10.2.0"), strict=True):
            call(
                "ip", "link", "add", f"to-{other}", "netns", f"nested-{one}", "type", "veth",
                "peer", "name", f"to-{one}", "netns", f"nested-{other}",
            )  # fmt: skip
            for number, (host, device) in enumerate(((one, f"to-{other}"), (other, f"to-{one}"))):
                call(*inside(host, "ip", "addr", "add", f"{net}.{number + 1}/24", "dev", device))
                call(*inside(host, "ip", "link", "set", device, "up"))
        call(*inside("pc-a", "ip", "route", "add", "default", "via", "10.1.0.2"))
        call(*inside("pc-b", "ip", "route", "add", "default", "via", "10.2.0.1"))
        for name in ("edge-a", "edge-b"):
            call(*inside(name, "sysctl", "-q", "net.ipv4.ip_forward=1"))
        yield
    finally:
        for name in NAMES:
            subprocess.run(["ip", "netns", "del", f"nested-{name}"], check=False)


@contextlib.contextmanager
def programs(folder: Path) -> Iterator[None]:
    """Run WireGuard on the routers, and OpenVPN between WireGuard's addresses 10.8.0.1 and .2."""
    roles = {"edge-a": ("10.8.0.1", "10.9.0.1"), "edge-b": ("10.8.0.2", "10.9.0.2")}
    for role in roles:
        key = call("wg", "genkey")
        (folder / role).write_text(key)
        (folder / f"{role}.pub").write_text(call("wg", "pubkey", given=key).strip())
        call(
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-nodes", "-subj", f"/CN={role}", "-days", "30",
            "-keyout", str(folder / f"{role}.key"), "-out", str(folder / f"{role}.crt"),
        )  # fmt: skip
    running: list[subprocess.Popen[bytes]] = []
    try:
        for role, peer in (("edge-a", "edge-b"), ("edge-b", "edge-a")):
            device = f"nwg-{role[-1]}"  # of a socket in /run, which all namespaces see
            running.append(subprocess.Popen(inside(role, "wireguard-go", "-f", device)))
            while not Path(f"/run/wireguard/{device}.sock").exists():
                time.sleep(0.05)
            call(
                *inside(role, "wg", "set", device, "private-key", str(folder / role)),
                "listen-port", "51820", "peer", (folder / f"{peer}.pub").read_text(),
                "endpoint", f"{roles[peer][1]}:51820", "allowed-ips", f"{roles[peer][0]}/32",
            )  # fmt: skip
            own = roles[role][0]
            call(*inside(role, "ip", "addr", "add", own, "peer", roles[peer][0], "dev", device))
            call(*inside(role, "ip", "link", "set", device, "mtu", str(TUNNEL_MTU), "up"))
        for role, peer in (("edge-b", "edge-a"), ("edge-a", "edge-b")):
            printed = call(
                "openssl", "x509", "-in", str(folder / f"{peer}.crt"), "-noout", "-fingerprint",
                "-sha256",
            ).strip().partition("=")[2]  # fmt: skip
            end = ["--tls-server", "--dh", "none"] if role == "edge-b" else ["--tls-client"]
            ends = ("10.7.0.1", "10.7.0.2") if role == "edge-a" else ("10.7.0.2", "10.7.0.1")
            running.append(
                subprocess.Popen(
                    inside(
                        role, "openvpn", "--dev", "tun9", "--disable-dco", "--proto", "udp",
                        "--remote", roles[peer][0], "--ifconfig", *ends, "--port", "1194",
                        "--cert", str(folder / f"{role}.crt"), "--key", str(folder / f"{role}.key"),
                        "--peer-fingerprint", printed, "--verb", "1", *end,
                    ),
                    stdout=subprocess.DEVNULL,
                )
            )  # fmt: skip
        for role, net in (("edge-a", "10.2.0.0/24"), ("edge-b", "10.1.0.0/24")):
            add = inside(role, "ip", "route", "add", net, "dev", "tun9")
            while subprocess.run(add, capture_output=True, check=False).returncode:
                time.sleep(0.2)
        ping = inside("pc-a", "ping", "-c", "1", "-W", "1", "10.2.0.2")
        while subprocess.run(ping, capture_output=True, check=False).returncode:
            time.sleep(0.2)
        time.sleep(3)  # until the rest of the handshakes is over
        yield
    finally:
        for program in running:
            program.terminate()
        for program in running:
            program.wait()


def watch(seconds: float) -> list[int]:
    """Return the sizes of WireGuard's packets with data that the far router gets in this time."""
    sizes = []
    listener = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP))
    listener.bind(("to-edge-a", ETH_P_IP))
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        listener.settimeout(left)
        with contextlib.suppress(TimeoutError):
            packet = listener.recv(65536)
            if packet[28] == DATA_MESSAGE and len(packet) > KEEPALIVE:
                sizes.append(len(packet))
    return sizes


def send(size: int) -> None:
    """Send one UDP packet of so many IP bytes, which routers may fragment, with random contents."""
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setsockopt(socket.IPPROTO_IP, 10, 0)  # IP_MTU_DISCOVER, IP_PMTUDISC_DONT
    sender.sendto(os.urandom(size - 28), ("10.2.0.2", 9))


def main() -> None:
    if sys.argv[1:2] == ["watch"]:
        print(*watch(float(sys.argv[2])))
        return
    if sys.argv[1:2] == ["send"]:
        send(int(sys.argv[2]))
        return
    me = [sys.executable, __file__]
    with tempfile.TemporaryDirectory() as folder, namespaces(), programs(Path(folder)):
        rows: list[tuple[str, ...]] = []
        for size in SIZES:
            found = ""
            while not found.strip():  # a busy machine may start to watch too late
                watching = subprocess.Popen(
                    inside("edge-b", *me, "watch", "3"), stdout=subprocess.PIPE, text=True
                )
                time.sleep(1.5)
                call(*inside("pc-a", *me, "send", str(size)))
                found, _ = watching.communicate()
            rows.append((str(size), *found.split()))
            print(*rows[-1])
    with DATA.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("ip_bytes", "on_the_wan"))
        writer.writerows((size, " ".join(found)) for size, *found in rows)


if __name__ == "__main__":
    main()
