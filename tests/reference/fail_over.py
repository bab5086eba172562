# SPDX-License-Identifier: GPL-2.0-only
"""Measure how long EthUDP sends into an uplink that is cut.

As root, on Linux, with iproute2 and ifconfig, and given the program EthUDP::

    python tests/reference/fail_over.py PATH/TO/EthUDP

writes ``tests/reference/fail-over.csv``. Two network namespaces, joined by two links, exist as long
as the command runs, three minutes. A packet goes through the tunnel each 10 ms. Again and again the
first link is cut for 10 to 11 s, and works for as long.
"""

from __future__ import annotations

import csv
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from nested import call

DATA = Path(__file__).with_name("fail-over.csv")
ENDS = ("fail-over-a", "fail-over-b")
INNER = ("10.7.0.1", "10.7.0.2")
CUTS, INTERVAL, PORT = 8, 0.01, 9000


def inside(end: int, *command: str) -> list[str]:
    return ["ip", "netns", "exec", ENDS[end], *command]


def connect() -> None:
    """Make the hosts and both links: 10.9.1.0/24 and 10.9.2.0/24."""
    for name in ENDS:
        call("ip", "netns", "add", name)
    for link in ("1", "2"):
        call(
            "ip", "link", "add", f"uplink{link}", "netns", ENDS[0], "type", "veth",
            "peer", "name", f"uplink{link}", "netns", ENDS[1],
        )  # fmt: skip
        for end in (0, 1):
            device = f"uplink{link}"
            call(*inside(end, "ip", "addr", "add", f"10.9.{link}.{end + 1}/24", "dev", device))
            call(*inside(end, "ip", "link", "set", device, "up"))


def cut(is_cut: bool) -> None:
    """Cut the first link, or mend it: frames go to an address that nobody has, as both ends know
    nothing of a cut further away.
    """
    for end in (0, 1):
        peer, device = f"10.9.1.{2 - end}", "uplink1"
        if is_cut:
            way = ["replace", peer, "lladdr", "02:00:00:00:00:99", "nud", "permanent"]
        else:
            way = ["del", peer]
        call(*inside(end, "ip", "neighbour", *way, "dev", device))


def tunnel(end: int, program: str) -> list[str]:
    """Return what runs a tunnel's end. The shell ends with it what puts itself into background."""
    here, there = end + 1, 2 - end
    ends = [f"10.9.1.{here}", "6000", f"10.9.1.{there}", "6000", INNER[end], "24"]
    slave = [f"10.9.2.{here}", "6001", f"10.9.2.{there}", "6001"]
    stays = ["sh", "-c", '"$@"; sleep 1000', "sh", program, "-i", *ends, *slave]
    return ["unshare", "--fork", "--pid", "--kill-child", *inside(end, *stays)]


def send() -> None:
    """Send a packet each interval, for ever."""
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    due = time.monotonic()
    while True:
        sender.sendto(struct.pack("!d", due), (INNER[1], PORT))
        due += INTERVAL
        time.sleep(max(0.0, due - time.monotonic()))


def receive() -> None:
    """Print when packets arrive, s."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind((INNER[1], PORT))
    while True:
        listener.recv(2048)
        print(time.monotonic(), flush=True)


def measure(program: str) -> list[float]:
    """Return the longest pause after each cut, s."""
    running: list[subprocess.Popen[bytes]] = []
    me = [sys.executable, __file__]
    with tempfile.TemporaryFile("w+") as arrivals:
        try:
            connect()
            running += [subprocess.Popen(tunnel(end, program)) for end in (0, 1)]
            time.sleep(8)
            running.append(subprocess.Popen(inside(1, *me, "receive"), stdout=arrivals))
            time.sleep(1)
            running.append(subprocess.Popen(inside(0, *me, "send")))
            moments = []
            for _ in range(CUTS):
                time.sleep(10 + random.random())
                moments.append(time.monotonic())
                cut(True)
                time.sleep(10 + random.random())
                cut(False)
        finally:
            for it in running:
                it.kill()
            for name in ENDS:
                subprocess.run(["ip", "netns", "del", name], check=False)
        arrivals.seek(0)
        times = [float(line) for line in arrivals]
    return [
        max(after - before for before, after in pairwise(times) if moment - 1 < before < moment + 9)
        for moment in moments
    ]


def main() -> None:
    if sys.argv[1:] in (["send"], ["receive"]):
        {"send": send, "receive": receive}[sys.argv[1]]()
    if len(sys.argv) != 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit("the program EthUDP is expected")
    pauses = measure(str(Path(sys.argv[1]).resolve()))
    with DATA.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("pause_s",))
        writer.writerows((f"{it:.2f}",) for it in pauses)


if __name__ == "__main__":
    main()
