# SPDX-License-Identifier: GPL-2.0-only
"""Contents of flows for compression: corpora, and the compressed sizes of their packets.

The simulator has sizes, not bytes. ``sizes.toml`` has the results of the real libraries on packets
from samples of each corpus, one packet at a time, as tunnels compress. ``sample`` makes these
samples, so that tests can measure again. The corpora follow the four payloads of the EthUDP paper.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tunnelcc.schema.toml import read_toml

#: Corpora, and what each is.
CORPORA = {
    "random": "incompressible data, such as encrypted or compressed files (pseudo-random bytes)",
    "digits": "iperf's own payload: the digits 0 to 9, repeated",
    "iso": "an installation image: compressed packages, some headers and directories (synthetic)",
    "web": "HTML of news pages (synthetic)",
    "text": "English prose (Alice's Adventures in Wonderland, chapters 1 to 5)",
}
#: Compression algorithms that packets were measured with.
ALGORITHMS = ("lz4", "zlib-1", "zlib-9", "lzo-1", "lzo-999")
#: What left the prose whose expansion profiles measure: library → algorithm.
EXPANDED = {"lz4": "lz4", "zlib": "zlib-9", "lzo": "lzo-999"}
#: Bytes of TCP/IPv4 headers with timestamps in front of each payload that was measured.
HEADER_BYTES = 52
#: Bytes of the packets whose times ``effort`` compares.
FULL_BYTES = 1500


def sample(corpus: str, size: int) -> bytes:
    """Return ``size`` bytes of ``corpus``, always the same."""
    return _MAKERS[corpus](size)[:size]


def headers(number: int) -> bytes:
    """Return the TCP/IPv4 headers of a connection's packet (RFC 791, 9293, 7323).

    Counters count. Checksums and constant fields are arbitrary.
    """
    draw = random.Random(number)
    sequence = (0x5A170000 + 1448 * number) & 0xFFFFFFFF
    clock = 0x01F37A00 + number // 100
    ip = struct.pack(
        "!BBHHHBBH", 0x45, 0, 1500, number & 0xFFFF, 0x4000, 64, 6, draw.getrandbits(16)
    )
    addresses = bytes((192, 168, 1, 2, 192, 168, 1, 1))
    ports = struct.pack("!HH", 50161, 5001)
    rest = struct.pack("!IIBBHHH", sequence, 0x7B21C4E8, 0x80, 0x10, 58, draw.getrandbits(16), 0)
    options = struct.pack("!BBBBII", 1, 1, 8, 10, clock, clock ^ 0x5C0000)
    return ip + addresses + ports + rest + options


def packets(corpus: str, ip_bytes: int, count: int) -> list[bytes]:
    """Return ``count`` IP packets of ``ip_bytes`` that carry ``corpus``."""
    payload = ip_bytes - HEADER_BYTES
    data = sample(corpus, payload * count)
    return [
        headers(number) + data[number * payload : (number + 1) * payload]
        for number in range(count)
    ]  # fmt: skip


@cache
def recorded() -> dict[str, Any]:
    """Return the tables of ``sizes.toml``."""
    return read_toml(Path(__file__).with_name("sizes.toml"))


def compressed(corpus: str, algorithm: str) -> list[tuple[int, float]]:
    """Return (IP bytes of a packet, mean bytes after ``algorithm``) for packets of ``corpus``.

    In rising order of sizes; between them, interpolate.
    """
    table = recorded()
    return list(zip(table["ip_bytes"], table[corpus][algorithm], strict=True))


@cache
def after(corpus: str, algorithm: str, ip_bytes: int) -> float:
    """Return the mean size in bytes of an IP packet of ``corpus`` after ``algorithm``.

    It is linear between the measured sizes, and beyond them.
    """
    known = compressed(corpus, algorithm)
    above = next((i for i, (size, _) in enumerate(known) if i and size >= ip_bytes), len(known) - 1)
    (low, at_low), (high, at_high) = known[above - 1], known[above]
    return at_low + (at_high - at_low) * (ip_bytes - low) / (high - low)


def effort(corpus: str, algorithm: str, expands: bool = False) -> float:
    """Return the time factor of ``corpus`` for compression, relative to the profiles' data.

    It applies to FULL_BYTES, for compressing or expanding. Profiles measure prose, and expand what
    ``EXPANDED`` left.
    """
    table = recorded()["expanding" if expands else "compressing"]
    return float(table[algorithm][corpus])


def _random_bytes(size: int) -> bytes:
    return random.Random(1).randbytes(size)


def _digits(size: int) -> bytes:
    return b"0123456789" * (size // 10 + 1)


def _iso(size: int) -> bytes:
    """Compressed packages, and one sector of 2 KiB in 64 of directory records and padding."""
    draw = random.Random(2)
    sectors = []
    for sector in range(size // 2048 + 1):
        if sector % 64 == 63:
            record = b"\x2e\0" + draw.randbytes(4) + b"PACKAGE%04d.RPM;1" % draw.randrange(10_000)
            sectors.append((record * 40).ljust(2048, b"\0")[:2048])
        else:
            sectors.append(draw.randbytes(2048))
    return b"".join(sectors)


def _text(size: int) -> bytes:
    prose = Path(__file__).with_name("text.txt").read_bytes()
    return prose * (size // len(prose) + 1)


def _web(size: int) -> bytes:
    """Lists of links with headlines, like news pages, between scripts and styles."""
    draw = random.Random(3)
    words = sorted({word for word in _text(1).decode().split() if word.isalpha()})
    parts: list[str] = []
    length = 0
    while length < size:
        parts.append(_web_item(draw, words))
        length += len(parts[-1])
    return "".join(parts).encode()


def _web_item(draw: random.Random, words: Sequence[str]) -> str:
    headline = " ".join(draw.choices(words, k=draw.randrange(4, 12)))
    day = f"2017-{draw.randrange(1, 13):02d}-{draw.randrange(1, 29):02d}"
    page = "".join(draw.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=12))
    number = draw.randrange(10**8)
    kind = draw.choice(("picture", "heading", "script", "link", "link", "link", "link", "link"))
    return {
        "picture": f'<img src="http://n.example.cn/{page}.jpg" width="{number % 600}" '
        f'alt="{headline}" />\n',
        "heading": f'<div class="blk_{number % 40}" id="{page[:6]}"><h2><a href="/{page[:5]}/">'
        f'{headline}</a></h2>\n<ul class="list-a">\n',
        "script": f"<script>var {page[:4]}={{id:{number},t:'{headline}'}};</script>\n",
        "link": f'<li><a href="http://news.example.cn/c/{day}/doc-{page}.shtml" '
        f'target="_blank">{headline}</a></li>\n',
    }[kind]


_MAKERS = {
    "random": _random_bytes, "digits": _digits, "iso": _iso, "web": _web, "text": _text,
}  # fmt: skip
