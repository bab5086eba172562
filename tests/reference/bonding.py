# SPDX-License-Identifier: GPL-2.0-only
"""Measure TCP over two paths that MLVPN, Linux's bonding driver or MPTCP makes one of.

As root, on Linux, with iproute2, and with the programs ``linux`` (``waf-config/linux/build.py
kernel FOLDER`` compiles it) and ``mlvpn`` (b934d49) in a folder::

    python tests/reference/bonding.py FOLDER

adds a line of JSON to ``tests/validation/data/bonding/answers.jsonl``, with MPTCP to that of
``relays``, for each run that it does not have. The kernel's time is virtual, as for ``virtual.py``.
Each path is a namespace with three pairs of veth: packets go through `tbf` with a queue of packets
(the rate), then through `netem` (half the RTT, and loss towards the server). Nothing of it is
shared with the models. A packet in `tbf` still belongs to its socket, which TCP's small queues
(tcp_small_queue_check()) then let have only about two there, as on a host whose own device is the
bottleneck. Pairs `…/far-queue` have the rate in `netem`, too, which takes packets from their
sockets (netem_enqueue(): skb_orphan_partial()), and which a packet leaves at the end of its time
on the link, where `tbf` lets it go at the begin: so behave queues of routers.
MLVPN runs in clear text with an MTU of 1444, so that its packets have 1500
bytes; over the bonding driver (balance-rr) goes VXLAN with an MTU of 1450. MPTCP is the flow's own,
or that of a relay: two programs of this file, one at each end, copy 64 KiB at a time between
connections of TCP on their hosts and one of MPTCP.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from virtual import SECOND, Events, enter, now, sh

HERE = Path(__file__).resolve()
DATA = HERE.parents[1] / "validation/data"
SEEDS = (1, 2)
LEAD, WARMUP, DURATION = 4.0, 5.0, 25.0  # s
PORT = 5001
RELAY_PORT = 5002
MPTCP = 262  # IPPROTO_MPTCP
COPIED = 65536  # bytes that a relay reads at once, but where a pair has `copied`
ETHERNET = 14  # bytes of a packet that tc counts beside IP's
INNER = "10.9.0.1", "10.9.0.2"
LOCAL, ANY, FIRST = "127.0.0.1", "0.0.0.0", "10.1.0.2"  # the server's on the first path
TRUNKS = "10.8.0.1", "10.8.0.2"  # ends of the bonding driver's device


def pair(
    rates: tuple[float, float] = (10, 10), rtts: tuple[float, float] = (40, 40), loss: float = 0,
    reorder: int = 64, weights: tuple[float, float] | None = None, cc: str = "cubic",
    program: str = "mlvpn",
) -> dict[str, Any]:  # fmt: skip
    """Two paths: Mbit/s, ms, loss (%) on the second; MLVPN's reorder_buffer_size and weights."""
    return {
        "program": program, "rates": rates, "rtts": rtts, "loss": loss, "reorder": reorder,
        "weights": weights, "cc": cc,
    }  # fmt: skip


#: Name → what to measure.
PAIRS = {
    "equal": pair(),
    "equal/no-buffer": pair(reorder=0),
    "rates-10-5": pair((10, 5), weights=(10, 5)),
    "rates-10-2.5": pair((10, 2.5), weights=(4, 1)),
    "rates-10-5/in-turn": pair((10, 5)),
    "rates-10-5/no-buffer": pair((10, 5), weights=(10, 5), reorder=0),
    "rates-6-4": pair((6, 4), weights=(6, 4)),
    "rtts-20-60": pair(rtts=(20, 60)),
    "rtts-20-60/no-buffer": pair(rtts=(20, 60), reorder=0),
    "rtts-20-120": pair(rtts=(20, 120)),
    "rtts-20-120/buffer-512": pair(rtts=(20, 120), reorder=512),
    "near-20-5/no-buffer": pair((20, 5), (20, 60), reorder=0, weights=(4, 1)),
    "slow-20-1/no-buffer": pair((20, 1), (20, 60), reorder=0, weights=(20, 1)),
    "far-20-5/no-buffer": pair((20, 5), (20, 100), reorder=0, weights=(4, 1)),
    "far-20-5": pair((20, 5), (20, 100), weights=(4, 1)),
    "loss-0.5": pair(loss=0.5),
    "loss-2": pair(loss=2),
    "both": pair((10, 5), (30, 80), 0.2, 128, (10, 5)),
    "equal/bbr": pair(cc="bbr"),
    "rtts-20-60/bbr": pair(rtts=(20, 60), cc="bbr"),
    "loss-2/bbr": pair(loss=2, cc="bbr"),
    "driver/equal": pair(program="bonding"),
    "driver/rates-10-5": pair((10, 5), program="bonding"),
    "driver/rtts-20-60": pair(rtts=(20, 60), program="bonding"),
    "driver/rtts-20-60/bbr": pair(rtts=(20, 60), cc="bbr", program="bonding"),
    "driver/loss-0.5": pair(loss=0.5, program="bonding"),
    **{
        f"{program}/{name}": {**given, "program": program}
        for program in ("mptcp", "relay")
        for name, given in {
            "equal": pair(),
            "rates-10-5": pair((10, 5)),
            "rtts-20-60": pair(rtts=(20, 60)),
            "near-20-5": pair((20, 5), (20, 60)),
            "far-20-5": pair((20, 5), (20, 100)),
            "slow-20-1": pair((20, 1), (20, 60)),
            "loss-0.5": pair(loss=0.5),
            "rtts-20-60/bbr": pair(rtts=(20, 60), cc="bbr"),
        }.items()
    },
    "mptcp/equal/reno": pair(cc="reno", program="mptcp"),
    "mptcp/loss-2": pair(loss=2, program="mptcp"),
    "mptcp/loss-2/bbr": pair(loss=2, cc="bbr", program="mptcp"),
    "mptcp/both": pair((10, 5), (30, 80), 0.2, program="mptcp"),
    "mptcp/cut": pair(program="mptcp") | {"cut": 10},
    "relay/slow-20-1/16KB": pair((20, 1), (20, 60), program="relay") | {"copied": 16383},
    "relay/near-20-5/16KB": pair((20, 5), (20, 60), program="relay") | {"copied": 16383},
}
PAIRS |= {
    f"{name}/far-queue": {**PAIRS[name], "queue": "netem"}
    for name in (
        "slow-20-1/no-buffer", "far-20-5/no-buffer", "mptcp/far-20-5", "relay/far-20-5",
        "relay/near-20-5/16KB",
        *(
            f"mptcp/{it}"
            for it in (
                "equal", "equal/reno", "rates-10-5", "rtts-20-60", "near-20-5", "slow-20-1",
                "loss-0.5", "loss-2", "loss-2/bbr", "rtts-20-60/bbr", "both", "cut",
            )
        ),
    )
}  # fmt: skip


# ---------------------------------------------------------------------- in the kernel: as process 1


def queue_of(rate: float, rtt: float) -> int:
    """Return the packets that wait before a path: one BDP."""
    return max(4, round(rate * 1e3 * rtt / 8 / 1500))


def make_path(number: int, rate: float, rtt: float, loss: float, is_far: bool) -> None:
    """Join the client's device c NUMBER and the server's s NUMBER by a path."""
    way = f"way{number}"
    tbf = (
        f"stab overhead -{ETHERNET} linklayer ethernet "
        f"tbf rate {rate:g}mbit burst 1500 limit 10000000"
    )
    queue = queue_of(rate, rtt)
    lossy = f"loss {loss:g}%" if loss else ""
    sh(
        f"ip netns add {way}; "
        f"ip -n client link add c{number} type veth peer name left netns {way}; "
        f"ip -n server link add s{number} type veth peer name right netns {way}; "
        f"ip -n {way} link add near type veth peer name far; "
        + "".join(f"ip -n {way} link set {it} up; " for it in ("left", "right", "near", "far"))
        + f"ip -n client link set c{number} up; ip -n server link set s{number} up; "
        + "".join(
            f"tc -n {way} qdisc add dev {it} root netem rate {rate:g}mbit -{ETHERNET} "
            f"limit {queue + 1}; "
            if is_far
            else f"tc -n {way} qdisc add dev {it} root handle 1: {tbf}; "
            f"tc -n {way} qdisc add dev {it} parent 1: pfifo limit {queue}; "
            for it in ("near", "far")
        )
        + f"tc -n {way} qdisc add dev right root netem delay {rtt / 2:g}ms limit 100000 {lossy}; "
        f"tc -n {way} qdisc add dev left root netem delay {rtt / 2:g}ms limit 100000; "
        + "".join(
            f"tc -n {way} qdisc add dev {one} ingress; "
            f"tc -n {way} filter add dev {one} parent ffff: matchall "
            f"action mirred egress redirect dev {other}; "
            for one, other in (
                ("left", "near"), ("far", "right"), ("right", "far"), ("near", "left"),
            )
        )
    )  # fmt: skip
    for name, device in (("client", f"c{number}"), ("server", f"s{number}")):
        segment_in_software(name, device)


def cut(rtt: float) -> None:
    """Lose from now on all that goes to the server over the second path."""
    sh(f"tc -n way2 qdisc change dev right root netem delay {rtt / 2:g}ms limit 100000 loss 100%")


def segment_in_software(name: str, device: str) -> None:
    """Let a device send packets of its MTU, not of 64 KiB: without TSO and GSO."""
    import ctypes
    import fcntl

    enter(name)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for command in (0x1F, 0x24):  # ETHTOOL_STSO, ETHTOOL_SGSO
            value = ctypes.create_string_buffer(struct.pack("II", command, 0))
            request = struct.pack("16sP16x", device.encode(), ctypes.addressof(value))
            fcntl.ioctl(any_socket, 0x8946, request)  # SIOCETHTOOL


def start_mlvpn(given: Mapping[str, Any], program: str) -> None:
    """Start MLVPN at both ends."""
    for end, name in enumerate(("client", "server")):
        lines = [
            "[general]", 'statuscommand = "/run/none"', f'mode = "{name}"', 'tuntap = "tun"',
            'interface_name = "inside"', "timeout = 60", 'password = "secret"',
            "cleartext_data = 1", "mtu = 1444", f"reorder_buffer_size = {given['reorder']}",
        ]  # fmt: skip
        for number in (1, 2):
            sh(f"ip -n {name} address add 10.{number}.0.{end + 1}/24 dev {'cs'[end]}{number}")
            weight = 0 if given["weights"] is None else given["weights"][number - 1]
            lines += [
                f"[path{number}]", f'bindhost = "10.{number}.0.{end + 1}"',
                f"bindport = {5080 + number}", f"bandwidth_upload = {round(1000 * weight)}",
            ]  # fmt: skip
            if name == "client":
                lines += [f'remotehost = "10.{number}.0.2"', f"remoteport = {5080 + number}"]
        file = Path(f"/run/{name}.conf")
        file.write_text("\n".join(lines) + "\n")
        file.chmod(0o600)
        with open(f"/run/{name}.log", "w") as log:
            subprocess.Popen(
                ["ip", "netns", "exec", name, program, "-c", file, "--user", "root",
                 "--yes-run-as-root", "--debug"],
                stdout=log, stderr=log,
            )  # fmt: skip
    time.sleep(2.5)
    for end, name in enumerate(("client", "server")):
        sh(
            f"ip -n {name} address add {INNER[end]} peer {INNER[1 - end]} dev inside; "
            f"ip -n {name} link set inside up"
        )


def start_bonding() -> None:
    """Make a device of the bonding driver of both paths, and VXLAN over it."""
    for end, name in enumerate(("client", "server")):
        sh(
            f"ip -n {name} link add trunk type bond mode balance-rr; "
            + "".join(
                f"ip -n {name} link set {'cs'[end]}{number} down; "
                f"ip -n {name} link set {'cs'[end]}{number} master trunk; "
                for number in (1, 2)
            )
            + f"ip -n {name} link set trunk up; "
            f"ip -n {name} address add {TRUNKS[end]}/24 dev trunk; "
            f"ip -n {name} link add inside type vxlan id 7 local {TRUNKS[end]} "
            f"remote {TRUNKS[1 - end]} dstport 4789; "
            f"ip -n {name} link set inside mtu 1450 up; "
            f"ip -n {name} address add {INNER[end]}/24 dev inside; "
        )
        segment_in_software(name, "trunk")
        segment_in_software(name, "inside")


def prepare_mptcp() -> None:
    """Give both ends addresses on both paths; the server tells of the second."""
    for end, name in enumerate(("client", "server")):
        sh(
            "".join(
                f"ip -n {name} address add 10.{number}.0.{end + 1}/24 dev {'cs'[end]}{number}; "
                for number in (1, 2)
            )
            + f"ip -n {name} mptcp limits set subflow 8 add_addr_accepted 8"
        )
    sh("ip -n server mptcp endpoint add 10.2.0.2 dev s2 signal")


def start_relays(cc: str, copied: int) -> None:
    """Start a relay at each end, with MPTCP between them."""
    ways = (
        ("server", (ANY, RELAY_PORT), MPTCP, (LOCAL, PORT), 0),
        ("client", (LOCAL, PORT), 0, (FIRST, RELAY_PORT), MPTCP),
    )
    for name, here, protocol, there, onward in ways:
        enter(name)
        listener = socket.socket(proto=protocol)
        if protocol == MPTCP:
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
        listener.bind(here)
        listener.listen()
        threading.Thread(
            target=relay, args=(name, listener, there, onward, cc, copied), daemon=True
        ).start()


def relay(
    name: str,
    listener: socket.socket,
    there: tuple[str, int],
    protocol: int,
    cc: str,
    copied: int,
) -> None:
    """Carry the bytes of the first connection to ``there``, and back."""
    enter(name)
    near, _ = listener.accept()
    far = socket.socket(proto=protocol)
    if protocol == MPTCP:
        far.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
    far.connect(there)
    threading.Thread(target=copy, args=(far, near, copied), daemon=True).start()
    copy(near, far, copied)


def copy(source: socket.socket, target: socket.socket, copied: int) -> None:
    while data := source.recv(copied):
        target.sendall(data)


class Flow:
    """A flow over TCP from the client to the server.

    ``to``, ``at``: the addresses to which the client connects, and at which the server listens.
    """

    def __init__(
        self, events: Events, cc: str, begin: int, to: str, at: str, protocol: int = 0
    ) -> None:
        self._events, self._cc, self._to, self._protocol = events, cc, to, protocol
        self.arrivals: list[tuple[int, int]] = []
        self.sent = self.sent_again = 0
        enter("server")
        self._listener = socket.socket(proto=protocol)
        self._listener.bind((at, PORT))
        self._listener.listen()
        self._listener.setblocking(False)
        events.watch(self._listener.fileno(), select.EPOLLIN, self._accept)
        events.at(begin, self._connect)
        self._data = bytes(131072)

    def _accept(self, _: int) -> None:
        self._receiver, _ = self._listener.accept()
        self._receiver.setblocking(False)
        self._buffer = bytearray(1 << 20)
        self._events.watch(self._receiver.fileno(), select.EPOLLIN, self._receive)

    def _receive(self, _: int) -> None:
        self.arrivals.append((now(), self._receiver.recv_into(self._buffer)))

    def _connect(self) -> None:
        enter("client")
        self._sender = socket.socket(proto=self._protocol)
        self._sender.setblocking(False)
        self._sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self._cc.encode())
        self._sender.connect_ex((self._to, PORT))
        self._events.watch(self._sender.fileno(), select.EPOLLOUT, self._send)

    def _send(self, _: int) -> None:
        while True:
            try:
                self._sender.send(self._data)
            except BlockingIOError:
                return

    def count(self) -> tuple[int, int]:
        """Return the segments that were sent again, and all (tcp_info of Linux); not of MPTCP."""
        if self._protocol == MPTCP:
            return 0, 0
        info = self._sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
        return struct.unpack_from("I", info, 100)[0], struct.unpack_from("I", info, 136)[0]


def packets() -> list[int]:
    """Return the packets that the client has sent over each path."""
    return [
        int(
            subprocess.run(
                ["ip", "netns", "exec", "client", "cat",
                 f"/sys/class/net/c{number}/statistics/tx_packets"],
                capture_output=True, text=True, check=True,
            ).stdout
        )
        for number in (1, 2)
    ]  # fmt: skip


def inside(task: Path) -> None:
    """Run a pair of paths, and write what was measured."""
    given = json.loads(task.read_text())
    sh("mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t tmpfs run /run")
    sh("ip link set lo up; " + "".join(
        f"ip netns add {name}; ip -n {name} link set lo up; "
        f"ip netns exec {name} sysctl -qw net.ipv4.tcp_no_metrics_save=1 "
        "net.ipv4.tcp_rmem='4096 131072 33554432' net.ipv4.tcp_wmem='4096 16384 33554432'; "
        for name in ("client", "server")
    ))  # fmt: skip
    for number, (rate, rtt) in enumerate(zip(given["rates"], given["rtts"], strict=True), 1):
        loss = given["loss"] if number == 2 else 0
        make_path(number, rate, rtt, loss, given.get("queue") == "netem")
    if given["program"] == "mlvpn":
        start_mlvpn(given, given["mlvpn"])
    elif given["program"] == "bonding":
        start_bonding()
    else:
        prepare_mptcp()
    events = Events()
    begin = now() + round(LEAD * SECOND) + given["seed"] * 1_234_567
    way: tuple[Any, ...] = INNER[1], INNER[1]
    if given["program"] == "relay":
        start_relays(given["cc"], given.get("copied", COPIED))
        way = LOCAL, LOCAL
    elif given["program"] == "mptcp":
        way = FIRST, ANY, MPTCP
    flow = Flow(events, given["cc"], begin, *way)
    if "cut" in given:
        events.at(begin + round(given["cut"] * SECOND), partial(cut, given["rtts"][1]))
    counts: list[Any] = []
    for when in (WARMUP, DURATION):
        events.at(
            begin + round(when * SECOND), partial(lambda: counts.append((packets(), flow.count())))
        )
    events.run(begin + round((DURATION + 0.1) * SECOND))
    since, end = (begin + round(it * SECOND) for it in (WARMUP, DURATION))
    read = sum(size for when, size in flow.arrivals if since <= when < end)
    (first, tcp), (last, tcp_last) = counts
    sent = [b - a for a, b in zip(first, last, strict=True)]
    again, segments = (b - a for a, b in zip(tcp, tcp_last, strict=True))
    log = Path("/run/server.log")
    told = log.read_text(errors="replace") if log.exists() else ""
    task.with_suffix(".result").write_text(
        json.dumps(
            {
                "goodput": round(8e-6 * read / (DURATION - WARMUP), 4),
                "share": round(100 * sent[0] / max(1, sum(sent)), 2),
                "sent_again": round(100 * again / max(1, segments), 3),
                "full": told.count("freebuffer full"),
            }
        )
    )


# ------------------------------------------------------------------------------------------ outside


def run(folder: Path, given: Mapping[str, Any], seed: int) -> Any:
    """Measure a pair of paths in a kernel of its own."""
    with tempfile.TemporaryDirectory() as place:
        task = Path(place, "task.json")
        mlvpn = str(folder.resolve() / "mlvpn")
        task.write_text(json.dumps({**given, "seed": seed, "mlvpn": mlvpn}))
        init = Path(place, "init")
        init.write_text(
            "#!/bin/sh\nexport PATH=/usr/sbin:/usr/bin:/sbin:/bin\n"
            f"mount -t hostfs none {place} -o {place}\n"
            f"{sys.executable} -B {HERE} --inside {task} > {place}/log 2>&1\nsync\n"
            "halt -f || echo o > /proc/sysrq-trigger\n"
        )
        init.chmod(0o755)
        with Path(place, "console").open("wb") as console:
            subprocess.run(
            [folder / "linux", "mem=512M", "seccomp=on", "time-travel=inf-cpu", "root=/dev/root",
             "rootfstype=hostfs", "rootflags=/", "ro", f"init={init}", "con=null",
             "con0=null,fd:1", "stderr=1"],
            env={**os.environ, "UML_SEED": str(seed)}, stdin=subprocess.DEVNULL,
            stdout=console, stderr=subprocess.STDOUT, timeout=900,
            check=False,
        )  # fmt: skip
        result = task.with_suffix(".result")
        if not result.exists():
            log = Path(place, "log")
            raise RuntimeError(
                (log if log.exists() else Path(place, "console")).read_text()[-3000:]
            )
        return json.loads(result.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="which has the kernel and mlvpn")
    parser.add_argument("--only", default="", help="pairs whose names begin so")
    options = parser.parse_args()
    if shutil.which("ip") is None:
        raise SystemExit("install first: iproute2")
    files = {it: DATA / it / "answers.jsonl" for it in ("bonding", "relays")}
    lines = [line for it in files.values() for line in it.read_text().splitlines()]
    known = {(it["name"], it["seed"]) for it in map(json.loads, lines)}
    for seed in SEEDS:
        for name, given in PAIRS.items():
            if name.startswith(options.only) and (name, seed) not in known:
                line = {"name": name, "seed": seed, **run(options.folder, given, seed)}
                kind = "relays" if given["program"] in ("mptcp", "relay") else "bonding"
                with files[kind].open("a") as file:
                    file.write(json.dumps({**line, "pair": given}) + "\n")
                print(line, flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(Path(sys.argv[2]))
    else:
        main()
