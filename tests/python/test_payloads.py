# SPDX-License-Identifier: GPL-2.0-only
"""Sizes of compressed packets: what is recorded is what the libraries make of the samples.

``pytest tests/python/test_payloads.py --update`` measures all of them again, with python-lzo.
"""

from __future__ import annotations

import importlib.util
import zlib
from collections.abc import Callable
from pathlib import Path
from statistics import mean

import pytest
from lz4 import block as lz4

from tunnelcc import payloads
from tunnelcc.toml import write_toml

IP_BYTES = [52, 64, 96, 128, 180, 256, 384, 512, 768, 1024, 1280, 1400, 1500]
PACKETS = 128

COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "lz4": lambda data: lz4.compress(data, store_size=False),
    "zlib-1": lambda data: zlib.compress(data, 1),
    "zlib-9": lambda data: zlib.compress(data, 9),
}
HAS_LZO = importlib.util.find_spec("lzo") is not None
if HAS_LZO:
    import lzo

    COMPRESSORS["lzo-1"] = lambda data: lzo.compress(data, 1, False)
    COMPRESSORS["lzo-999"] = lambda data: lzo.compress(data, 9, False)

HEADING = f"""\
# Mean bytes of {PACKETS} TCP/IPv4 packets, each compressed by itself, by the packets' IP bytes, of
# which 52 are headers. lz4: LZ4_compress_default() of lz4 1.10; zlib-1, zlib-9: compress2() of
# zlib 1.2.13, with header and checksum; lzo-1, lzo-999: lzo1x_1_compress(), lzo1x_999_compress()
# of liblzo2 2.10. Measured by `pytest tests/python/test_payloads.py --update`.

"""


def _sizes(corpus: str, compress: Callable[[bytes], bytes], ip_bytes: list[int]) -> list[float]:
    return [
        round(mean(len(compress(it)) for it in payloads.packets(corpus, size, PACKETS)), 1)
        for size in ip_bytes
    ]


@pytest.fixture(scope="module", autouse=True)
def _updated(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--update"):
        return
    assert HAS_LZO, "pip install python-lzo (needs liblzo2's headers)"
    table: dict[str, object] = {"ip_bytes": IP_BYTES}
    for corpus in payloads.CORPORA:
        table[corpus] = {
            name: _sizes(corpus, compress, IP_BYTES) for name, compress in COMPRESSORS.items()
        }
    path = Path(payloads.__file__).with_name("sizes.toml")
    path.write_text(HEADING + write_toml(table))
    payloads.recorded.cache_clear()


@pytest.mark.parametrize("algorithm", COMPRESSORS)
@pytest.mark.parametrize("corpus", payloads.CORPORA)
def test_sizes_are_those_of_the_libraries(corpus, algorithm):
    recorded = dict(payloads.compressed(corpus, algorithm))
    assert list(recorded) == IP_BYTES
    # Releases of a library differ by a few bytes.
    expected = _sizes(corpus, COMPRESSORS[algorithm], [180, 512, 1500])
    assert [recorded[size] for size in (180, 512, 1500)] == pytest.approx(expected, rel=0.01, abs=1)


@pytest.mark.parametrize("corpus", payloads.CORPORA)
def test_another_lzo_agrees(corpus):
    lzallright = pytest.importorskip("lzallright", reason="needs Python 3.11")
    compressor = lzallright.LZOCompressor()
    recorded = dict(payloads.compressed(corpus, "lzo-999"))
    expected = _sizes(corpus, compressor.compress, [512, 1500])
    assert [recorded[512], recorded[1500]] == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("algorithm", payloads.ALGORITHMS)
def test_random_bytes_expand(algorithm):
    # LZ4: one byte per 255 literals; LZO: 4 or 5 bytes and that; zlib: 6 and 5 of a stored block.
    more = {"lz4": (1, 8), "lzo": (4, 11), "zlib": (11, 13)}[algorithm.split("-")[0]]
    for size, after in payloads.compressed("random", algorithm):
        if size >= 128:
            assert more[0] <= after - size <= more[1], size


def test_small_packets_compress_less_than_large_ones():
    for algorithm in payloads.ALGORITHMS:
        shares = [after / size for size, after in payloads.compressed("text", algorithm)]
        assert shares == sorted(shares, reverse=True), algorithm


@pytest.mark.parametrize("corpus", payloads.CORPORA)
def test_samples_are_the_same_every_time(corpus):
    sample = payloads.sample(corpus, 5000)
    assert len(sample) == 5000
    assert payloads.sample(corpus, 5000) == sample
    assert payloads.sample(corpus, 7000)[:5000] == sample


def test_packets_have_headers():
    packets = payloads.packets("digits", 1500, 3)
    assert [len(packet) for packet in packets] == [1500] * 3
    assert packets[1][payloads.HEADER_BYTES :][:10] == b"8901234567"
    assert packets[0][:4] == packets[1][:4] == bytes.fromhex("450005dc")
    assert packets[0][: payloads.HEADER_BYTES] != packets[1][: payloads.HEADER_BYTES]
