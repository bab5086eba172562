# SPDX-License-Identifier: GPL-2.0-only
"""Both applications at the ends of a relay that nobody knows, inside a measurement.

One process has the sockets of both hosts, so it knows what arrived when it writes the next byte.
``inside.py`` runs it, as ``traffic.py``. Answers have times in s, from the beginning, and sizes in
bytes. What crosses the path is what the client's device counts, or, where times matter, what a
capture has.
"""

from __future__ import annotations

import json
import select
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import contextlib

from inside import SECOND, enter, now, sleep_until  # type: ignore[import-not-found]

_PAUSE = 3 * SECOND  # between what must not be taken for one another
_PATIENCE = 30 * SECOND  # for what a path may delay
_MOST = 200_000
#: Sizes of writes that a law of frames has to tell, beside those where they begin.
_SIZES = (64, 125, 126, 500, 1000, 2000, 4096, 8192, 16384, 20000, 32768, 50000, 65536, 100000,
          150000, _MOST)  # fmt: skip
_SMALL = range(1, 41)
_EDGES = 14  # enough for reads of a dozen frames


def run(part: dict[str, Any], begin: int, end: int, answer: Path) -> None:
    """Answer the questions of ``part``, and write what was found."""
    probe = _Probe(part, begin)
    sleep_until(begin)
    questions: dict[str, Callable[[], Any]] = {
        "start": probe.start, "sizes": probe.sizes, "hold": probe.hold, "bulk": probe.bulk,
        "message": probe.message,
    }  # fmt: skip
    found = {}
    for name in part["ask"]:
        found[name] = questions[name]()
        answer.write_text(json.dumps(found))


class _Probe:
    def __init__(self, part: dict[str, Any], begin: int) -> None:
        self._part, self._begin = part, begin
        enter("server")
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", part["target"]))
        self._listener.listen(64)

    def _now(self) -> float:
        since: float = (now() - self._begin) / SECOND
        return since

    def _connect(self) -> socket.socket:
        """Return a connection of the client's application with the relay beside it."""
        enter("client")
        made = socket.socket()
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.connect(("127.0.0.1", self._part["port"]))
        return made

    def _accept(self, patience: int = _PATIENCE) -> socket.socket | None:
        if not _readable(self._listener, patience):
            return None
        made, _ = self._listener.accept()
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def _pair(self) -> tuple[socket.socket, socket.socket]:
        """Return both ends of a flow whose first byte has crossed."""
        client = self._connect()
        client.sendall(b"a")
        server = self._accept()
        if server is None:
            raise ConnectionError("nothing arrived at TARGET from what connected to PORT")
        server.recv(1)
        return client, server

    def start(self) -> dict[str, Any]:
        """Four flows one after another: when each connected, arrived and was answered."""
        sleep_until(now() + _PAUSE)
        idle, flows, pairs = self._now(), [], []
        for _ in range(4):
            at = self._now()
            client = self._connect()
            connected = self._now()
            client.sendall(b"a")
            server = self._accept()
            if server is None or not _readable(server, _PATIENCE):
                raise ConnectionError("nothing arrived at TARGET from what connected to PORT")
            server.recv(1)
            arrived = self._now()
            server.sendall(b"b")
            if not _readable(client, _PATIENCE):
                raise ConnectionError("no answer of TARGET came back to what connected to PORT")
            client.recv(1)
            flows.append([at, connected, arrived, self._now()])
            pairs.append((client, server))
            sleep_until(now() + _PAUSE)
        client, server = pairs[0]
        at = self._now()
        client.sendall(b"a")
        _readable(server, _PATIENCE)
        server.recv(1)
        again = self._now() - at
        for pair in pairs:
            for it in pair:
                it.close()
        sleep_until(now() + _PAUSE)
        at = self._now()
        client = self._connect()
        silent = self._accept(_PAUSE)
        reached = self._now() - at if silent is not None else None
        client.close()
        sleep_until(now() + _PAUSE)
        return {"idle": idle, "flows": flows, "again": again, "silent": reached}

    def _sent(self) -> tuple[int, int]:
        """Return the payload (bytes) that left the client across the path, and that arrived."""
        (sent, packets), (arrived, others) = self._counts()
        head = self._part["header"]
        return sent - head * packets, arrived - head * others

    def _counts(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the IP bytes and the packets that left the client, and those that arrived."""
        enter("client")
        for line in Path("/proc/thread-self/net/dev").read_text().splitlines():
            name, _, counts = line.partition(":")
            if name.strip() == "wire":
                values = list(map(int, counts.split()))
                return (values[8], values[9]), (values[0], values[1])
        raise OSError("no device wire")

    def sizes(self) -> dict[str, Any]:
        """What a write of n bytes adds on the wire, in both directions, once much was sent."""
        client, server = self._pair()
        found = {}
        for way, (writer, reader) in enumerate(((client, server), (server, client))):
            for _ in range(3):
                _transfer(writer, reader, _MOST)
            sleep_until(now() + _PAUSE)
            found[("to_server", "to_client")[way]] = self._added(writer, reader, way)
        client.close()
        server.close()
        sleep_until(now() + _PAUSE)
        return found

    def _added(self, writer: socket.socket, reader: socket.socket, way: int) -> dict[str, int]:
        seen: dict[int, int] = {}
        quiet = 2 * self._part["rtt"] + SECOND // 2

        def added(size: int) -> int:
            if size not in seen:
                before = self._sent()[way]
                _transfer(writer, reader, size)
                sleep_until(now() + quiet)
                seen[size] = self._sent()[way] - before - size
            return seen[size]

        for size in (*_SMALL, *_SIZES):
            added(size)
        if len({seen[it] for it in _SMALL}) > 1:
            return {str(size): it for size, it in sorted(seen.items())}  # padded to blocks
        # The first sizes after which a write adds more: of frames, or of reads.
        low, gap = _SMALL[-1], 64
        for _ in range(_EDGES):
            high = low + gap
            while high < _MOST and added(high) == added(low):
                high = low + 2 * (high - low)
            high = min(high, _MOST)
            if added(high) == added(low):
                break
            first = low
            while high - low > 1:
                middle = (low + high) // 2
                if added(middle) == added(first):
                    low = middle
                else:
                    high = middle
            gap, low = max(low - first, 64), high
        return {str(size): it for size, it in sorted(seen.items())}

    def hold(self) -> list[dict[str, int]]:
        """What the programs take of one flow and of eight whose reader does not read."""
        found = []
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for count in (1, 8):
            pairs = [self._pair() for _ in range(count)]
            sleep_until(now() + _PAUSE)
            before, at = self._sent()[0], now()
            sent = [0] * count
            for client, _ in pairs:
                client.setblocking(False)
            while now() - at < 20 * SECOND:
                writable = select.select([], [it for it, _ in pairs], [], 0.5)[1]
                for number, (client, _) in enumerate(pairs):
                    if client in writable:
                        try:
                            sent[number] += client.send(bytes(65536))
                            at = now()
                        except BlockingIOError:
                            pass
            ports = {self._part["port"], self._part["target"]}
            found.append(
                {
                    "flows": count,
                    "accepted": sum(sent),
                    "wire": self._sent()[0] - before,
                    "client_kernel": _queued("client", ports),
                    "client_carrier": _queued("client", ports, others=True),
                    "server_kernel": _queued("server", ports),
                    "server_carrier": _queued("server", ports, others=True),
                }
            )
            for pair in pairs:
                for it in pair:
                    it.close()
            sleep_until(now() + 2 * _PAUSE)
        return found

    def bulk(self) -> dict[str, Any]:
        """A flow without end: what arrived of it, and what crossed the path for it."""
        (before, _), _ = self._counts()
        at = now()
        client = self._connect()
        client.setblocking(False)
        server, read = None, 0
        marks: list[tuple[float, int]] = []
        end, data = at + self._part["lasts"] * SECOND, bytes(131072)
        files: list[socket.socket] = [self._listener]
        while now() < end:
            ready, writable, _ = select.select(files, [client], [], 0.1)
            if self._listener in ready:
                server, _ = self._listener.accept()
                server.setblocking(False)
                files = [server]
            elif server in ready and server is not None:
                read += len(server.recv(1 << 20))
            if client in writable:
                with contextlib.suppress(BlockingIOError):
                    client.send(data)
            if not marks or (now() - at) / SECOND - marks[-1][0] >= 0.5:
                marks.append(((now() - at) / SECOND, read))
        (wire, _), _ = self._counts()
        marks.append(((now() - at) / SECOND, read))
        client.close()
        if server is not None:
            server.close()
        sleep_until(now() + _PAUSE)
        return {"marks": marks, "read": read, "wire": wire - before}

    def message(self) -> float:
        """Return the time (s) from the connection until a message was read."""
        at, size = self._now(), self._part["message"]
        client = self._connect()
        client.sendall(bytes(size))
        server = self._accept()
        if server is None:
            raise ConnectionError("nothing arrived at TARGET from what connected to PORT")
        _read(server, size)
        took = self._now() - at
        client.close()
        server.close()
        sleep_until(now() + _PAUSE)
        return took


def _readable(file: socket.socket, patience: int) -> bool:
    return bool(select.select([file], [], [], patience / SECOND)[0])


def _read(reader: socket.socket, size: int) -> None:
    while size:
        if not _readable(reader, _PATIENCE):
            raise ConnectionError(f"the last {size} bytes of a write did not arrive")
        size -= len(reader.recv(min(size, 1 << 20)))


def _transfer(writer: socket.socket, reader: socket.socket, size: int) -> None:
    """Write at once, and read all."""
    view = memoryview(bytes(size))
    writer.setblocking(False)
    left = size
    while view or left:
        ready, writable, _ = select.select([reader], [writer] if view else [], [], 30)
        if not ready and not writable:
            raise ConnectionError(f"the last {left} bytes of a write of {size} did not arrive")
        if writable:
            view = view[writer.send(view) :]
        if ready:
            left -= len(reader.recv(1 << 20))
    writer.setblocking(True)


def _queued(host: str, ports: set[int], others: bool = False) -> int:
    """Return the bytes in the queues of a host's TCP sockets: of ``ports``, or of ``others``."""
    enter(host)
    found = 0
    for name in ("tcp", "tcp6"):
        file = Path("/proc/thread-self/net", name)
        for line in file.read_text().splitlines()[1:] if file.exists() else ():
            _, near, far, state, queues, *_ = line.split()
            ends = {int(it.rpartition(":")[2], 16) for it in (near, far)}
            if state != "0A" and bool(ends & ports) != others:  # 0A: it listens
                found += sum(int(it, 16) for it in queues.split(":"))
    return found
