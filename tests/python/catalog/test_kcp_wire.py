# SPDX-License-Identifier: GPL-2.0-only
"""The bytes of KCP's layers: the catalogue's numbers against captures of kcptun and GOST."""

from __future__ import annotations

import csv

import pytest

import tunnelcc as tc
from helpers import ROOT
from tunnelcc import catalog

TABLE = ROOT / "tests" / "reference" / "kcp-wire.csv"
ROWS = list(csv.DictReader(TABLE.read_text().splitlines()))
#: Setup of the captures → entry.
ENTRIES = {
    "kcptun": "kcptun",
    "kcptun 2021": "kcptun-2021",
    "gost": "gost-kcp-unset",
    "gost fast 1024": "gost-kcp",
}
#: Bytes that the applications sent.
SENT = {"to_server": 400_000, "to_client": 50_000}
CASES = [(setup, direction) for setup in ENTRIES for direction in SENT]
KCP_HEADER = 24
UDP_AND_IP = 28


def _found(setup: str, direction: str, layer: str, kind: str = "") -> list[int]:
    """Return the bytes of each of a layer."""
    return [
        int(row["bytes"])
        for row in ROWS
        if (row["setup"], row["direction"], row["layer"]) == (setup, direction, layer)
        and kind in ("", row["kind"])
        for _ in range(int(row["count"]))
    ]


@pytest.mark.parametrize(("setup", "direction"), CASES)
def test_datagrams_are_what_they_hold(setup, direction):
    entry = catalog.load(ENTRIES[setup])
    data = _found(setup, direction, "datagram", "data")
    segments = _found(setup, direction, "segment")
    headers = entry.kcp.session.cipher + entry.kcp.fec.header
    assert max(data) == entry.kcp.session.mtu
    assert sum(data) == headers * len(data) + sum(KCP_HEADER + it for it in segments)
    assert max(segments) == entry.kcp.session.mtu - headers - KCP_HEADER


@pytest.mark.parametrize(("setup", "direction"), CASES)
def test_parity_comes_with_each_whole_group(setup, direction):
    data = _found(setup, direction, "datagram", "data")
    parity = _found(setup, direction, "datagram", "parity")
    shards, extra = map(int, catalog.load(ENTRIES[setup]).kcp.fec.parity.split(":"))
    assert len(parity) == len(data) // shards * extra
    assert set(parity) <= set(data)  # as long as the longest of a group


@pytest.mark.parametrize(("setup", "direction"), CASES)
def test_chunks_and_frames_have_their_headers(setup, direction):
    entry = catalog.load(ENTRIES[setup])
    (snappy,) = entry.to_server
    chunks = _found(setup, direction, "snappy", "plain")
    frames = _found(setup, direction, "smux")
    assert _found(setup, direction, "snappy", "identifier") == [snappy.stream_header]
    assert sum(_found(setup, direction, "segment", "push")) == sum(chunks) + snappy.stream_header
    assert sorted(chunks) == sorted(snappy.header + it for it in frames)
    data = _found(setup, direction, "smux", "data")
    asked = {"to_server": entry.request.bytes, "to_client": entry.response.bytes}[direction]
    assert sum(data) == SENT[direction] + asked + entry.mux.frames.header * len(data)
    most = min(entry.copy_buffer.bytes, getattr(entry.mux, direction).max_frame)
    assert max(data) == entry.mux.frames.header + most
    for kind in ("open", "close", "credit"):
        assert set(_found(setup, direction, "smux", kind)) <= {getattr(entry.mux.frames, kind)}


@pytest.mark.parametrize("setup", ENTRIES)
def test_a_simulated_upload_has_the_captured_bytes(setup):
    experiment = tc.Experiment.parse(
        {
            "path": {"rate": "1Gbps", "rtt": "200us", "buffer": "5000p"},
            "flows": {"cc": "cubic", "bytes": SENT["to_server"]},
            "tunnel": ENTRIES[setup],
            "duration": "10s",
            "hosts": {"speed": 50},
        }
    )
    legs = tc.run(experiment, progress=False).connections
    (carrier,) = [leg for leg in legs if leg.name == "carrier"]
    datagrams = _found(setup, "to_server", "datagram")
    segments = _found(setup, "to_server", "segment", "push")
    captured = sum(it + UDP_AND_IP for it in datagrams)
    assert carrier.wire_bytes == pytest.approx(captured, rel=0.02)
    assert carrier.segments == pytest.approx(len(segments), rel=0.02)
