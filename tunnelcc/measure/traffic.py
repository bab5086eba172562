# SPDX-License-Identifier: GPL-2.0-only
"""Applications that iperf3 and ping are not, inside a measurement: one part of a plan each.

A stream writes messages at a rate, or sends bytes and closes; datagrams leave at exact times. Each
has both ends, so that times are of one clock. ``inside.py`` runs it; it needs nothing but Python's
own modules. Times are ns, sizes bytes.
"""

from __future__ import annotations

import contextlib
import json
import random
import select
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from inside import SECOND, enter, now, sleep_until  # type: ignore[import-not-found]

_MPTCP = 262  # IPPROTO_MPTCP
_FREE_BIND = 15  # IP_FREEBIND: a tunnel's addresses come later
_HEADER = struct.Struct("!QQ")  # number and time


def run(part: dict[str, Any], begin: int, end: int, answer: Path) -> None:
    """Run a part of the plan until ``end``, and write what came of it."""
    kinds = {"stream": _stream, "datagrams": _datagrams}
    answer.write_text(json.dumps(kinds[part["kind"]](part, begin, end)))


def _socket(host: str, kind: int, address: list[Any], protocol: int = 0) -> socket.socket:
    enter(host)
    made = socket.socket(socket.AF_INET, kind, protocol)
    made.setsockopt(socket.IPPROTO_IP, _FREE_BIND, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((address[0], address[1]))
    return made


def _stream(part: dict[str, Any], begin: int, end: int) -> dict[str, Any]:
    """A connection on which one end writes; ``answer``: when which bytes were read."""
    sending, receiving = part["sender"], part["receiver"]
    client, server = (receiving, sending) if part["is_down"] else (sending, receiving)
    protocol = _MPTCP if part.get("mptcp") else 0
    listener = _socket(
        server["host"], socket.SOCK_STREAM, [server["address"], part["port"]], protocol
    )
    if part["window"]:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, part["window"])
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, part["window"])
    listener.listen()
    listener.setblocking(False)
    sleep_until(begin + part["start"])
    caller = _socket(client["host"], socket.SOCK_STREAM, [client["address"], 0], protocol)
    for name in ("SO_RCVBUF", "SO_SNDBUF") if part["window"] else ():
        caller.setsockopt(socket.SOL_SOCKET, getattr(socket, name), part["window"])
    for it in (caller, listener):
        it.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, part["cc"].encode())
        it.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(part["nodelay"]))
    caller.setblocking(False)
    caller.connect_ex((server["address"], part["port"]))
    return _Transfer(part, caller, listener, begin, end).run()


class _Transfer:
    """Bytes from one socket to another, with one loop for both ends."""

    def __init__(
        self,
        part: dict[str, Any],
        caller: socket.socket,
        listener: socket.socket,
        begin: int,
        end: int,
    ) -> None:
        self._part, self._begin, self._end = part, begin, end
        self._caller, self._listener = caller, listener
        self._writer = None if part["is_down"] else caller
        self._reader = caller if part["is_down"] else None
        self._left: int | None = part["bytes"]
        self._interval = round(8e9 * part["write"] / part["rate"]) if part["rate"] else 0
        self._polls = part["mode"] == "polled"
        # Random, as the simulation's payloads are without a key: some tunnels compress.
        self._write = random.Random(part["seed"]).randbytes(part["write"])
        self._pending = memoryview(b"")
        self._began = -1  # when it could write first
        self._taken = self._read = 0  # messages, bytes
        self._is_open, self._done = True, -1
        self._is_blocked = False  # a write found no room
        self._buffer = bytearray(1 << 20)
        self._poll = select.epoll()
        self._arrivals: list[tuple[int, int]] = []
        self._samples: list[tuple[int, int, int, int]] = []

    def _sample(self) -> None:
        """Keep the time, and of the kernel the smoothed RTT (µs), cwnd, and retransmissions."""
        if self._writer is not None:
            info = self._writer.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
            rtt, cwnd, sent = (struct.unpack_from("=I", info, at)[0] for at in (68, 80, 100))
            self._samples.append((now() - self._begin, rtt, cwnd, sent))

    def run(self) -> dict[str, Any]:
        """Return when which bytes were read, and samples of the sender each tenth of a second."""
        self._poll.register(self._caller.fileno(), select.EPOLLIN | select.EPOLLOUT)
        self._poll.register(self._listener.fileno(), select.EPOLLIN)
        sample = now()
        while now() < self._end and self._done < 0:
            if now() >= sample:
                self._sample()
                sample += SECOND // 10
            due = min(self._end, sample, self._next_message())
            for file, events in self._wait(due):
                if file == self._listener.fileno():
                    self._accept()
                elif events & (select.EPOLLERR | select.EPOLLHUP) and self._began < 0:
                    raise ConnectionError(f"{self._part['name']}: no connection")
                elif self._writer is not None and file == self._writer.fileno():
                    self._is_blocked = self._is_blocked and not events & select.EPOLLOUT
                    if self._began < 0 and events & select.EPOLLOUT:
                        self._began = now()
            self._send()
            self._receive()
        self._sample()
        return {
            "began": self._began - self._begin, "arrivals": self._arrivals,
            "done": self._done - self._begin if self._done >= 0 else None,
            "samples": self._samples,
        }  # fmt: skip

    def _accept(self) -> None:
        accepted, _ = self._listener.accept()
        accepted.setblocking(False)
        self._poll.unregister(self._listener.fileno())
        self._poll.register(accepted.fileno(), select.EPOLLIN)
        if self._writer is None:
            self._writer, self._began = accepted, now()
            self._poll.modify(self._caller.fileno(), select.EPOLLIN)
        else:
            self._reader = accepted

    def _next_message(self) -> int:
        """Return when the next message is due, ns."""
        if self._interval == 0 or self._began < 0 or not self._is_open or self._pending:
            return self._end
        return self._began + self._taken * self._interval

    def _send(self) -> None:
        if self._writer is None or self._began < 0 or self._is_blocked:
            return
        offered = (now() - self._began) // self._interval + 1 if self._interval else 0
        while self._is_open:
            if not self._pending:
                if self._left == 0:
                    self._writer.shutdown(socket.SHUT_WR)
                    self._is_open = False
                    break
                if self._interval and self._taken >= offered:
                    break
                size = len(self._write)
                if self._left is not None:
                    size = min(size, self._left)
                    self._left -= size
                self._pending, self._taken = memoryview(self._write)[:size], self._taken + 1
            if self._polls and not select.select([], [self._writer], [], 0)[1]:
                self._is_blocked = True
                break
            try:
                self._pending = self._pending[self._writer.send(self._pending) :]
            except BlockingIOError:
                self._is_blocked = True
                break
        self._poll.modify(self._writer.fileno(), select.EPOLLOUT if self._is_blocked else 0)

    def _receive(self) -> None:
        while self._reader is not None and self._done < 0:
            try:
                size = self._reader.recv_into(self._buffer)
            except BlockingIOError:
                return
            if size == 0:
                self._done = now()
            else:
                self._read += size
                self._arrivals.append((now() - self._begin, self._read))
                if self._read == self._part["bytes"]:  # what ends the stream may come later
                    self._done = now()

    def _wait(self, due: int) -> list[tuple[int, int]]:
        """Wait for a socket, or a time to the nanosecond. Return the sockets that are ready."""
        # A time-out of epoll has whole ms; select(2) has µs.
        left = due - now()
        if left > 0:
            select.select([self._poll], [], [], left / SECOND)
        return self._poll.poll(0)


def _datagrams(part: dict[str, Any], begin: int, end: int) -> dict[str, Any]:
    """Datagrams as a DatagramSpec describes them; the answer has sizes, and times of both ends."""
    given, draw = part["datagrams"], random.Random(part["seed"])
    sending, receiving = part["sender"], part["receiver"]
    reader = _socket(receiving["host"], socket.SOCK_DGRAM, [receiving["address"], part["port"]])
    reader.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)  # SO_RCVBUFFORCE
    reader.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
    reader.setblocking(False)
    writer = _socket(sending["host"], socket.SOCK_DGRAM, [sending["address"], 0])
    wall = time.time_ns() - now()
    header = given["header"]
    sizes = [given["packet"] - header] * given["full"] + [given["last"] - header]
    interval = 8e9 * (sum(sizes) + header * len(sizes)) / given["rate"]
    until = min(end, begin + part["stop"]) if part["stop"] else end
    moment = float(begin + part["start"])
    talk_end = moment + _period(given, "on", draw) if given["on"] else float("inf")
    sent, arrivals = 0, []

    def read() -> None:
        while True:
            try:
                data, extra, _, _ = reader.recvmsg(_HEADER.size, 64)
            except BlockingIOError:
                return
            number, left = _HEADER.unpack(data)
            seconds, nanoseconds = struct.unpack("qq", extra[0][2])
            arrived = seconds * SECOND + nanoseconds - wall
            arrivals.append((number, left - begin, arrived - begin))

    to = (receiving["address"], part["port"])
    while moment < until:
        sleep_until(round(moment))
        for size in sizes:
            head = _HEADER.pack(sent, now())
            with contextlib.suppress(OSError):  # a tunnel is not up, or the device's queue is full
                writer.sendto(head + bytes(max(size - len(head), 0)), to)
            sent += 1
        if sent % 256 == 0:
            read()
        moment += draw.expovariate(1 / interval) if given["draws_gaps"] else interval
        if moment >= talk_end:
            moment = talk_end + _period(given, "off", draw)
            talk_end = moment + _period(given, "on", draw)
    sleep_until(end)
    read()
    return {"sent": sent, "payload": sum(sizes) / len(sizes), "arrivals": arrivals}


def _period(given: dict[str, Any], name: str, draw: random.Random) -> float:
    mean = float(given[name])
    return draw.expovariate(1 / mean) if given["draws_periods"] and mean else mean
