# SPDX-License-Identifier: GPL-2.0-only
"""Measure kcptun and GOST's relay+kcp: what they carry, and the bytes of each of their layers.

As root, on Linux, with g++ and util-linux, given a folder with ``kcptun-client``, ``kcptun-server``
and ``gost``, built from their source, and Debian 12's kcptun as ``kcptun-2021-client`` and
``kcptun-2021-server``::

    python tests/reference/kcp.py FOLDER [--part rates] [--part wire] [--seed N]...

writes ``kcp-rates.csv`` and ``kcp-wire.csv`` beside this file; README.md says what is in them. Rows
of ``kcp-rates.csv`` are added as they come; of those that are there, the ones in which the link was
late are measured again.
forwarding.py says how a run goes.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shlex
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from forwarding import CLIENT_PORT, FAR, NEAR, START, TARGET_PORT, TUNNEL_PORT, Cell, measure
from link import build_link

HERE = Path(__file__).resolve().parent
RATES = HERE / "kcp-rates.csv"
WIRE = HERE / "kcp-wire.csv"

RTTS = (50, 200)  # ms
LOSSES = (0.0, 0.03, 0.15, 0.30)  # in either direction
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Setup:
    """A program and how it is run; ``client`` and ``server`` are its options."""

    name: str
    program: str  # kcptun, kcptun-2021 or gost
    upload: bool = True
    options: str = ""  # of both ends
    flows: int = 1

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
            return [f"{folder}/{self.program}-client", *ends, *options]
        ends = ["-l", f":{TUNNEL_PORT}", "-t", f"127.0.0.1:{TARGET_PORT}"]
        return [f"{folder}/{self.program}-server", *ends, *options]


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
    Setup("kcptun 2021, up", "kcptun-2021"),
    Setup("kcptun 2021, down", "kcptun-2021", upload=False),
)


# ------------------------------------------------------------------------------------------- rates


def cells(seeds: Sequence[int]) -> Iterator[Cell]:
    for seed in seeds:
        for setup in SETUPS:
            for rtt in RTTS:
                for loss in LOSSES:
                    index = SETUPS.index(setup) * 100 + RTTS.index(rtt) * 10
                    number = seed * 1000 + index + LOSSES.index(loss)
                    yield Cell(setup, rtt, loss, seed, number)


# -------------------------------------------------------------------------------------------- wire

NONCE_AND_CRC = 20  # bytes; with the cipher "none" what follows is plain
FEC_HEADER = struct.Struct("<IH")  # number, kind; then, of data, its size 2
KINDS = {0xF1: "data", 0xF2: "parity"}
SEGMENT = struct.Struct("<IBBHIIII")  # conversation, command … length
COMMANDS = {81: "push", 82: "ack", 83: "ask", 84: "tell"}
CHUNKS = {0x00: "compressed", 0x01: "plain", 0xFF: "identifier"}
FRAME = struct.Struct("<BBHI")  # version, command, length, stream
FRAMES = ("open", "close", "data", "keepalive", "credit")
SO_RCVBUFFORCE = 33  # <asm-generic/socket.h>
UPLOAD, REPLY = 400_000, 50_000  # bytes
WIRES = {
    "kcptun": Setup("kcptun", "kcptun", options="--crypt none"),
    "kcptun 2021": Setup("kcptun 2021", "kcptun-2021", options="--crypt none"),
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
        # Room for a window of 1024 datagrams: parity repairs what is lost, and it is missing here.
        for it in (self._near, self._far):
            it.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
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
    parser.add_argument("--capture", choices=WIRES, help=argparse.SUPPRESS)
    given = parser.parse_args()
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
            measure(RATES, build_link(Path(name)), folder, cells(given.seed or SEEDS))


if __name__ == "__main__":
    main()
