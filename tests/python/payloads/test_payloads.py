# SPDX-License-Identifier: GPL-2.0-only
"""Sizes of compressed packets: what is recorded is what the libraries make of the samples.

``pytest tests/python/payloads/test_payloads.py --update`` measures all of them again, with liblzo2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import mean, median

import pytest

import tunnelcc as tc
from tunnelcc import catalog, payloads
from tunnelcc import specification as spec
from tunnelcc.apps.calibrate import compressors
from tunnelcc.apps.calibrate.libraries import over_packets
from tunnelcc.catalog.layers import Surroundings, wrap
from tunnelcc.hosts import costs
from tunnelcc.schema.toml import write_toml

IP_BYTES = [52, 64, 96, 128, 180, 256, 384, 512, 768, 1024, 1280, 1400, 1500]
PACKETS = 128

COMPRESSORS = {name: it for name, it in compressors.load().items() if name in payloads.ALGORITHMS}

HEADING = f"""\
# Mean bytes of {PACKETS} TCP/IPv4 packets, each compressed by itself, by the packets' IP bytes, of
# which 52 are headers. lz4: LZ4_compress_default() of lz4 1.9.4; zlib-1, zlib-9: compress2() of
# zlib 1.2.13, with header and checksum; lzo-1, lzo-999: lzo1x_1_compress(), lzo1x_999_compress()
# of liblzo2 2.10. compressing, expanding: CPU time of packets of 1500 bytes, over that of what
# profiles measure, which is prose, and prose of lzo-999 and zlib-9 to expand. Measured by
# `pytest tests/python/payloads/test_payloads.py --update`.

"""


def _sizes(corpus: str, run: compressors.Run, ip_bytes: list[int]) -> list[float]:
    return [
        round(mean(run(it) for it in payloads.packets(corpus, size, PACKETS)), 1)
        for size in ip_bytes
    ]


def _taken(
    corpus: str,
    run: compressors.Run,
    ip_bytes: int,
    before: Callable[[bytes], bytes] | None = None,
) -> float:
    """CPU time (ns) of a packet; the median, because virtual machines correct their clocks."""
    calls = over_packets(corpus, run, before)(ip_bytes)
    return median(calls(512) for _ in range(7)) / 512


def _full(corpus: str, algorithm: str, expands: bool) -> float:
    """CPU time (ns) of a full packet, the call of the library included."""
    it = COMPRESSORS[algorithm]
    run, before = (it.run_back, it.compress) if expands else (it.run, None)
    return _taken(corpus, run, payloads.FULL_BYTES, before)


def _measured(algorithm: str, expands: bool) -> tuple[float, float]:
    """CPU time (ns) of what profiles measure, and of a call that does nothing."""
    name = payloads.EXPANDED[algorithm.split("-")[0]] if expands else algorithm
    nothing = _taken("text", COMPRESSORS[algorithm].nothing, payloads.FULL_BYTES)
    return _full("text", name, expands) - nothing, nothing


def _efforts(algorithm: str, expands: bool) -> dict[str, float]:
    """CPU time of handling full packets of each corpus, over that of what profiles measure."""
    prose, nothing = _measured(algorithm, expands)
    return {
        corpus: round((_full(corpus, algorithm, expands) - nothing) / prose, 2)
        for corpus in payloads.CORPORA
    }


def _holds(check: Callable[[], bool]) -> bool:
    """Whether ``check``, of times that other programs disturb, holds once in five."""
    return any(check() for _ in range(5))


@pytest.fixture(scope="module", autouse=True)
def _updated(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--update"):
        return
    assert set(COMPRESSORS) == set(payloads.ALGORITHMS), "needs liblzo2"
    table: dict[str, object] = {"ip_bytes": IP_BYTES}
    for corpus in payloads.CORPORA:
        table[corpus] = {name: _sizes(corpus, it.run, IP_BYTES) for name, it in COMPRESSORS.items()}
    for verb in ("compressing", "expanding"):
        table[verb] = {name: _efforts(name, verb == "expanding") for name in COMPRESSORS}
    path = Path(payloads.__file__).with_name("sizes.toml")
    path.write_text(HEADING + write_toml(table))
    payloads.recorded.cache_clear()


@pytest.mark.parametrize("algorithm", COMPRESSORS)
@pytest.mark.parametrize("corpus", payloads.CORPORA)
def test_what_was_compressed_comes_back(corpus, algorithm):
    it = COMPRESSORS[algorithm]
    for packet in payloads.packets(corpus, 1500, 8):
        compressed = it.compress(packet)
        assert compressed != packet
        assert it.expand(compressed) == packet


@pytest.mark.parametrize("algorithm", COMPRESSORS)
@pytest.mark.parametrize("corpus", payloads.CORPORA)
def test_sizes_are_those_of_the_libraries(corpus, algorithm):
    recorded = dict(payloads.compressed(corpus, algorithm))
    assert list(recorded) == IP_BYTES
    # Releases of a library differ by a few bytes.
    expected = _sizes(corpus, COMPRESSORS[algorithm].run, [180, 512, 1500])
    assert [recorded[size] for size in (180, 512, 1500)] == pytest.approx(expected, rel=0.01, abs=1)


@pytest.mark.parametrize("corpus", payloads.CORPORA)
def test_another_lzo_agrees(corpus):
    lzallright = pytest.importorskip("lzallright", reason="needs Python 3.11")
    compressor = lzallright.LZOCompressor()
    recorded = dict(payloads.compressed(corpus, "lzo-999"))
    expected = _sizes(corpus, lambda data: len(compressor.compress(data)), [512, 1500])
    assert [recorded[512], recorded[1500]] == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("algorithm", payloads.ALGORITHMS)
def test_random_bytes_expand(algorithm):
    # LZ4: one byte per 255 literals; LZO: 4 or 5 bytes and that; zlib: 6 and 5 of a stored block.
    more = {"lz4": (1, 8), "lzo": (4, 11), "zlib": (11, 13)}[algorithm.split("-")[0]]
    for size, after in payloads.compressed("random", algorithm):
        if size >= 128:
            assert more[0] <= after - size <= more[1], size


@pytest.mark.parametrize("expands", [False, True])
@pytest.mark.parametrize("corpus", payloads.CORPORA)
@pytest.mark.parametrize("algorithm", COMPRESSORS)
def test_payloads_take_as_much_longer_or_shorter_as_recorded(algorithm, corpus, expands):
    recorded = payloads.effort(corpus, algorithm, expands)

    def near() -> bool:
        prose, nothing = _measured(algorithm, expands)
        expected = recorded * prose + nothing
        # Processors and releases differ.
        return expected / 2 <= _full(corpus, algorithm, expands) <= 2 * expected

    assert _holds(near)


def test_prose_takes_what_profiles_say():
    for algorithm in payloads.ALGORITHMS:
        assert payloads.effort("text", algorithm) == pytest.approx(1, abs=0.05)
    for algorithm in payloads.EXPANDED.values():
        assert payloads.effort("text", algorithm, expands=True) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("algorithm", COMPRESSORS)
@pytest.mark.parametrize("corpus", payloads.CORPORA)
def test_time_rises_in_a_line_from_headers_alone_to_full_packets(corpus, algorithm):
    run, between = COMPRESSORS[algorithm].run, 400
    share = (between - payloads.HEADER_BYTES) / (payloads.FULL_BYTES - payloads.HEADER_BYTES)
    # zlib builds a code for each packet: with random bytes 2.0 times the line (AMD EPYC).
    most = 2.5 if algorithm.startswith("zlib") else 1.5

    def near() -> bool:
        headers = _taken(corpus, run, payloads.HEADER_BYTES)
        expected = headers + share * (_taken(corpus, run, payloads.FULL_BYTES) - headers)
        return expected / 2 <= _taken(corpus, run, between) <= most * expected

    assert _holds(near)


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
        encapsulate = spec.experiment_spec(experiment)["tunnels"][0]["end"]["encapsulate"]
        return float(encapsulate["per_byte"])

    profile = costs.load(costs.REFERENCE)
    cipher = profile.operation("aes-256-cbc-encrypt").per_byte
    after = payloads.after("digits", "lz4", 1500) + 1
    expected = profile.operation("tun-read").per_byte
    compress = profile.operation("lz4-compress").cost
    full = compress(1500) * payloads.effort("digits", "lz4")
    expected += (full - compress(52)) / (1500 - 52)
    expected += after / 1500 * (cipher + profile.operation("udp-send").per_byte)
    assert per_byte("digits") == pytest.approx(expected, rel=1e-3)
    assert per_byte("random") > expected + 0.9 * cipher


def test_flows_of_one_tunnel_carry_the_same():
    flows = [{"payload": "text"}, {"payload": "iso"}]
    with pytest.raises(tc.ConfigError, match=r"flows\.1\.payload = 'iso': expected the payload of"):
        tc.Experiment(flows=flows, tunnel="ethudp")
    flows = [{"payload": "text"}, {"payload": "iso", "tunnel": "vtun"}]
    tc.Experiment(flows=flows, tunnel="ethudp")
