# SPDX-License-Identifier: GPL-2.0-only
"""Sizes of compressed packets: what is recorded is what the libraries make of the samples.

``pytest tests/python/test_payloads.py --update`` measures all of them again, with python-lzo.
"""

from __future__ import annotations

import importlib.util
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest
from lz4 import block as lz4

import tunnelcc as tc
from tunnelcc import catalog, costs, payloads, spec
from tunnelcc.calibrate import timing
from tunnelcc.catalog.layers import Surroundings, wrap
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
# of liblzo2 2.10. effort: CPU time over that of prose, packets of 1500 bytes. Measured by
# `pytest tests/python/test_payloads.py --update`.

"""


def _sizes(corpus: str, compress: Callable[[bytes], bytes], ip_bytes: list[int]) -> list[float]:
    return [
        round(mean(len(compress(it)) for it in payloads.packets(corpus, size, PACKETS)), 1)
        for size in ip_bytes
    ]


def _efforts(compress: Callable[[bytes], bytes], rounds: int) -> dict[str, float]:
    """CPU time of compressing full packets of each corpus, over that of prose; least of rounds."""

    def taken(corpus: str) -> float:
        packets = payloads.packets(corpus, 1500, PACKETS)
        calls = timing.repeated(lambda: [compress(packet) for packet in packets])
        return min(calls(1) for _ in range(rounds))

    times = {corpus: taken(corpus) for corpus in payloads.CORPORA}
    return {corpus: round(time / times["text"], 2) for corpus, time in times.items()}


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
    table["effort"] = {name: _efforts(compress, 60) for name, compress in COMPRESSORS.items()}
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


@pytest.mark.parametrize("algorithm", COMPRESSORS)
def test_compression_takes_as_much_longer_or_shorter_as_recorded(algorithm):
    efforts = _efforts(COMPRESSORS[algorithm], 9)
    assert payloads.effort("text", algorithm) == 1
    for corpus, found in efforts.items():
        recorded = payloads.effort(corpus, algorithm)
        assert recorded / 2 <= found <= 2 * recorded, corpus  # processors and releases differ


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


def test_between_the_measured_sizes_compression_is_linear():
    (low, at_low), (high, at_high) = payloads.compressed("text", "lz4")[-2:]
    assert payloads.after("text", "lz4", low) == at_low
    assert payloads.after("text", "lz4", high) == at_high
    assert payloads.after("text", "lz4", 2 * high - low) == pytest.approx(2 * at_high - at_low)
    assert payloads.after("text", "lz4", (low + high) // 2) == pytest.approx((at_low + at_high) / 2)


AROUND = Surroundings(device_mtu=1500, path_mtu=1500)


@pytest.mark.parametrize("payload", payloads.CORPORA)
def test_ethudp_sends_what_lz4_makes_of_the_frame_unless_that_is_longer(payload):
    layers = catalog.load("ethudp").layers("lz4")
    around = replace(AROUND, payload=payload)
    for size, after in payloads.compressed(payload, "lz4"):
        if size <= 1400:  # that 1500 bytes hold
            frame = min(size, round(after)) + 14
            assert wrap(layers, size, around) == [frame + 1 + 28], size


@pytest.mark.parametrize(
    ("name", "mode", "algorithm", "around_it"),
    [
        ("vtun-udp", "lzo-999", "lzo-999", 2 + 28),
        ("vtun-udp", "ether-lzo-999", "lzo-999", 14 + 2 + 28),
        ("tinc", "lzo-999", "lzo-999", 14 + 4 + 28),
        ("tinc", "zlib-9", "zlib-9", 14 + 4 + 28),
    ],
)
def test_other_programs_send_it_in_any_case(name, mode, algorithm, around_it):
    layers = catalog.load(name).layers(mode)
    for payload in ("digits", "web", "text"):
        for size, after in payloads.compressed(payload, algorithm):
            sizes = wrap(layers, size, replace(AROUND, payload=payload))
            assert sizes == [round(after) + around_it], (payload, size)


@pytest.fixture(scope="module")
def by_payload() -> dict[str, tc.Result]:
    """A flow through EthUDP with LZ4 on a slow path."""
    tunnel = {"name": "ethudp", "mode": "lz4"}
    path = {"rate": "10Mbps", "rtt": "10ms", "buffer": "50kB"}
    return {
        payload: tc.run(
            tc.Experiment(
                path=path,
                tunnel=tunnel,
                flows={"payload": payload, "cc": "reno"},
                duration="4s",
                warmup="1s",
            )
        )
        for payload in ("random", "text", "digits")
    }


def test_what_compresses_crosses_a_slow_path_sooner(by_payload):
    for payload, result in by_payload.items():
        mss = result.experiment.tcp.mss
        packets = wrap(
            catalog.load("ethudp").layers("lz4"), mss + 52, replace(AROUND, payload=payload)
        )
        expected = 10e6 * mss / sum(packets)
        assert result.goodput == pytest.approx(expected, rel=0.02), payload
    assert by_payload["digits"].goodput > 8 * by_payload["random"].goodput


def test_operations_behind_compression_cost_less():
    def per_byte(payload: str) -> float:
        experiment = tc.Experiment(
            tunnel={"name": "ethudp", "mode": "lz4-aes-256-cbc"}, flows={"payload": payload}
        )
        encapsulate = spec.experiment_spec(experiment).datagram_tunnel.end.encapsulate
        return float(encapsulate.per_byte)

    profile = costs.load(costs.REFERENCE)
    cipher = profile.operation("aes-256-cbc-encrypt").per_byte
    after = payloads.after("digits", "lz4", 1500) + 1
    expected = profile.operation("tun-read").per_byte
    expected += profile.operation("lz4-compress").per_byte * payloads.effort("digits", "lz4")
    expected += after / 1500 * (cipher + profile.operation("udp-send").per_byte)
    assert per_byte("digits") == pytest.approx(expected, rel=1e-3)
    assert per_byte("random") > expected + 0.9 * cipher


def test_flows_of_one_tunnel_carry_the_same():
    flows = [{"payload": "text"}, {"payload": "iso"}]
    with pytest.raises(tc.ConfigError, match=r"flows\.1\.payload = 'iso': expected the payload of"):
        tc.Experiment(flows=flows)
