# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc identify``: relays that nobody knows, because their numbers are drawn here."""

from __future__ import annotations

import random
import shlex
import subprocess
import sys

import pytest

from tunnelcc import catalog
from tunnelcc.apps.identify import compare, entry, framing, questions, wire
from tunnelcc.errors import TunnelccError
from tunnelcc.measure import virtual

#: Not that of a virtual environment, which may be in the home that the programs do not see.
PYTHON = "/usr/bin/python3"

PROXY = """
import json, socket, sys, threading, time
side, listen, to, given = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
def exactly(s, n):
    d = b""
    while len(d) < n:
        x = s.recv(n - len(d))
        if not x: raise OSError
        d += x
    return d
def wrap(app, carrier, first):
    try:
        while d := app.recv(given["buffer"]):
            time.sleep(given["pause"])
            out = first
            first = b""
            for at in range(0, len(d), given["frame"]):
                part = d[at:at + given["frame"]]
                out += len(part).to_bytes(4, "big") + bytes(given["header"] - 4) + part
            carrier.sendall(out)
            if given["rate"] and len(d) == given["buffer"]: time.sleep(len(d) / given["rate"])
    except OSError: pass
    end(app, carrier)
def unwrap(carrier, app, skip):
    try:
        exactly(carrier, skip)
        while True:
            size = int.from_bytes(exactly(carrier, given["header"])[:4], "big")
            app.sendall(exactly(carrier, size))
    except OSError: pass
    end(app, carrier)
def end(*sockets):
    for s in sockets:
        try: s.shutdown(socket.SHUT_RDWR)
        except OSError: pass
def serve(one):
    two = socket.create_connection(to.split(":"))
    for s in (one, two): s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    app, carrier = (one, two) if side == "client" else (two, one)
    for mine, theirs in given["turns"]:
        if side == "client":
            carrier.sendall(bytes(mine)); exactly(carrier, theirs)
        else:
            exactly(carrier, mine); carrier.sendall(bytes(theirs))
    own, other = (given["request"], given["response"])[::1 if side == "client" else -1]
    threading.Thread(target=unwrap, args=(carrier, app, other)).start()
    wrap(app, carrier, bytes(own))
host, port = listen.split(":")
s = socket.create_server((host, int(port)), backlog=64)
while True: threading.Thread(target=serve, args=(s.accept()[0],)).start()
"""


@pytest.fixture
def linux():
    """Skip where there is no kernel with a virtual clock, or no Python that it sees."""
    try:
        virtual.kernel()
        subprocess.run([PYTHON, "-c", ""], check=True)
    except (TunnelccError, OSError) as error:
        pytest.skip(str(error))


def drawn():
    """Return the numbers of a relay; the seed is told, so that it can be drawn again."""
    seed = random.SystemRandom().randrange(2**32)
    draw = random.Random(seed)
    print(f"seed {seed}")
    frame = draw.randrange(1000, 20000)
    turns = [[draw.randrange(20, 1400) for _ in range(2)] for _ in range(draw.randrange(3))]
    return {
        "header": draw.randrange(5, 60), "frame": frame,
        "buffer": draw.randrange(frame + 1, 4 * frame),
        "turns": turns, "request": draw.randrange(1, 200), "response": draw.randrange(1, 200),
        "pause": 0, "rate": 0,
    }  # fmt: skip


def lines(given):
    """Return the command lines of both ends of the relay."""
    import json

    code, told = shlex.quote(PROXY), shlex.quote(json.dumps(given))
    server = f"exec {PYTHON} -c {code} server SERVER:4000 TARGET {told}"
    return server, f"exec {PYTHON} -c {code} client 127.0.0.1:PORT SERVER:4000 {told}"


def silently(_: str) -> None:
    """Tell nobody."""


@pytest.mark.slow
def test_the_numbers_of_a_relay_are_found(linux, tmp_path):
    given = drawn()
    server, client = lines(given)
    found = questions.ask(server, client, silently)
    assert found.notes == []
    assert (found.protocol, found.carriers, found.is_early) == ("tcp", "flow", False)
    assert found.first_trips == pytest.approx(2 + len(given["turns"]), abs=0.01)
    for law in found.laws.values():
        assert (law.overhead, law.most, law.buffer) == (
            given["header"], given["frame"], given["buffer"]
        )  # fmt: skip
    turns = [[sum(it.client), sum(it.server)] for it in found.handshake]
    if given["turns"]:  # what ends a handshake leaves with the first data
        assert turns == [*given["turns"], [given["request"], 0]]
    else:
        assert (turns, found.request) == ([], given["request"])
    assert found.response == given["response"]
    file = tmp_path / "drawn.toml"
    file.write_text(entry.text(entry.tables(found, "a proxy of the tests"), server, client))
    assert catalog.load(str(file)).copy_buffer.bytes == given["buffer"]
    rows = compare.compare(server, client, file, silently, paths=2)
    assert max(row.miss for row in rows) < compare.MOST_MISS


@pytest.mark.slow
def test_what_no_entry_tells_is_not_identified(linux):
    given = drawn() | {"pause": 0.01}
    found = questions.ask(*lines(given), silently)
    assert any("hang on no round trip" in it for it in found.notes)


@pytest.mark.slow
def test_an_entry_that_misses_is_not_written(linux, run, tmp_path):
    given = drawn() | {"rate": 1_000_000, "turns": []}
    server, client = lines(given)
    file = tmp_path / "slow.toml"
    arguments = ("--server", server, "--client", client, "--software", "slow", "-o", file)
    code, out, _ = run("identify", *arguments)
    assert code == 1
    assert "not identified" in out
    assert "misses by" in out
    assert not file.exists()


@pytest.mark.slow
def test_a_program_that_does_not_start_is_told(linux):
    with pytest.raises(TunnelccError, match="nothing-like-it"):
        questions.ask("exec nothing-like-it SERVER TARGET", "sleep 1000 # PORT SERVER", silently)


def _rows(*of):
    return [
        wire.Packet(time, is_up, 6, port, is_syn, size) for time, is_up, port, is_syn, size in of
    ]


def test_turns_are_those_of_both_ends():
    packets = _rows(
        (1.0, True, 5, True, 0), (1.1, False, 5, True, 0), (1.1, True, 5, False, 100),
        (1.2, False, 5, False, 1448), (1.2, False, 5, False, 52), (1.2, True, 5, False, 30),
        (1.2, True, 5, False, 20), (1.3, False, 5, False, 7),
    )  # fmt: skip
    first, last = wire.turns(packets, 0.9, 2)
    assert (first.client, first.server) == ([100], [1448, 52])
    assert (last.client, last.server) == ([30, 20], [7])
    assert wire.dialled(packets, 0.9, 2) == [5]
    assert wire.dialled(packets, 1.05, 2) == []


@pytest.mark.parametrize(
    "law",
    [
        framing.Law(34, 16383),
        framing.Law(22, 16384, 18432),
        framing.Law(7, 1000, 3300),
        framing.Law(0),
        framing.Law(16, 32768, block=8),
    ],
)
def test_a_law_is_found_from_what_writes_add(law):
    sizes = {*range(1, 41), *range(64, 60_000, 9973)}
    steps = law.buffer or law.most
    for part in (law.most, law.buffer):
        sizes |= {it for k in range(1, 14) for it in (k * part, k * part + 1) if 0 < it < 200_000}
    if law.buffer:
        for read in range(0, 8 * steps, steps):
            sizes |= {read + k * law.most + i for k in range(20) for i in (0, 1)} - {0}
    added = {size: law.added(size) for size in sorted(sizes)}
    found = framing.fit(added)
    assert found.is_exact
    assert (found.overhead, found.block) == (law.overhead, law.block)
    assert all(found.added(it) == law.added(it) for it in range(1, 50_000, 997))


def test_the_packets_of_ssh_are_padded_to_blocks():
    """What writes through OpenSSH 9.2p1 added (chacha20-poly1305@openssh.com)."""
    small = [35, 34, 41, 40, 39, 38, 37, 36] * 5
    added = dict(enumerate(small, 1)) | {
        64: 36, 125: 39, 126: 38, 500: 40, 1000: 36, 20000: 36, 32768: 36, 50000: 72, 65536: 72,
        100000: 144, 150000: 180, 200000: 252,
    }  # fmt: skip
    assert framing.fit(added) == framing.Law(16, 32768, block=8, seen=len(added))


def test_writes_that_no_law_tells_are_counted():
    added = {size: 20 + size % 7 for size in range(1, 400)}
    assert framing.fit(added).misses > 100


@pytest.mark.skipif(sys.platform == "linux", reason="there it is asked of the kernel")
def test_it_needs_linux(run):
    code, _, err = run(
        "identify", "--server", "a", "--client", "b", "--software", "c", "-o", "d.toml"
    )
    assert code == 1
    assert "Linux" in err
