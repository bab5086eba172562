# SPDX-License-Identifier: GPL-2.0-only
"""Captures of several paths at once: MPTCP and Multipath QUIC, as tshark and dpkt read them."""

from __future__ import annotations

import struct
from collections import Counter

import dpkt
import pytest

import tunnelcc as tc
from captures import log_of, numbers_of, packets_of
from two_paths import PATHS, experiment_with, flow_with, links_with


def _over_two_paths(file, tunnel=None, **flow):
    """Run over two paths, one of which loses, and capture whole packets at the client's end."""
    keys = {
        "links": links_with(("20Mbps", "20ms"), ("10Mbps", "40ms"), loss="0.3%"),
        "duration": "3s",
        "warmup": "0s",
    }
    if tunnel is None:
        ends = {"from": "router", "to": "relay", "mptcp": PATHS}
        table = {"network": {"links": keys.pop("links")}, "flows": [ends | flow], **keys}
        experiment = tc.Experiment.parse(table)
    else:
        experiment = experiment_with(tunnel, flow_with(**flow), **keys)
    result = tc.run(experiment, capture=tc.Capture(file, at=["router"], snap="full"))
    assert result.to_json() == tc.run(experiment).to_json()
    return result


@pytest.fixture(scope="module", params=["up", "down"])
def subflows(request, tmp_path_factory):
    """A flow of MPTCP and its capture."""
    file = tmp_path_factory.mktemp("capture") / "subflows.pcapng"
    return _over_two_paths(file, direction=request.param, bytes="2MB"), file


def test_tshark_puts_subflows_together(subflows, tshark):
    _, file = subflows
    ids = Counter(map(tuple, tshark(file, "mptcp.stream", "tcp.stream")))
    assert {stream for stream, _ in ids} <= {"0", ""}
    for subflow in "01":
        assert ids["0", subflow] > 100
        assert ids["", subflow] <= 1, "a SYN comes before tshark knows the connection"
    wrong = (
        "_ws.malformed", "tcp.checksum.status == 0", "ip.checksum.status == 0",
        "mptcp.connection.echoed_key_mismatch", "mptcp.dss.missing_mapping",
        "mptcp.dss.infinite_mapping",
    )  # fmt: skip
    assert tshark(file, "frame.number", only=" or ".join(wrong)) == []


def test_handshakes_of_subflows_have_the_options_of_rfc_8684(subflows, tshark):
    """Sections 3.1 and 3.2: 4, 12 and 20 bytes, 22 with data, then 12, 16 and 24."""
    _, file = subflows
    fields = ("tcp.options.mptcp.subtype", "tcp.flags.syn", "tcp.hdr_len")
    rows = [it for it in tshark(file, *fields) if it[0] in ("0", "1")]
    first, joined = ([int(size) for kind, _, size in rows if kind == it] for it in "01")
    # Besides: 20 bytes of the header, and 20 in a SYN or 12.
    assert first == [44, 52, 32 + 20, 32 + 24]
    assert joined == [52, 56, 32 + 24]
    (key,) = {it[0] for it in tshark(file, "mptcp.expected_token", only="tcp.flags.syn == 1 and "
                                     "tcp.flags.ack == 1 and mptcp.expected_token")}  # fmt: skip
    (token,) = {it[0] for it in tshark(file, "tcp.options.mptcp.recvtok", only="tcp.flags.syn == 1")
                if it[0]}  # fmt: skip
    assert token == key


def test_mappings_cover_the_stream_once_and_data_acks_follow(subflows, tshark):
    result, file = subflows
    is_down = result.experiment.flows[0].direction == "down"
    data, acks = (f"tcp.{it}port == 5201" for it in (("src", "dst") if is_down else ("dst", "src")))
    fields = (
        "tcp.stream", "tcp.seq", "tcp.len", "tcp.options.mptcp.rawdataseqno",
        "tcp.options.mptcp.subflowseqno", "tcp.options.mptcp.datalvllen",
    )  # fmt: skip
    only = f"{data} and tcp.len > 0 and tcp.options.mptcp.rawdataseqno"
    first, covered = None, []
    for _, seq, length, dsn, ssn, level in tshark(file, *fields, only=only):
        begin, offset = int(dsn), int(seq) - int(ssn)
        assert 0 <= offset < int(level), "it begins in its mapping"
        assert offset + int(length) <= int(level), "and ends in it"
        assert int(length) <= 1500 - 52 - 24, "its data ACK has 32 bits"
        covered.append((begin + offset, begin + offset + int(length)))
        first = begin if first is None else min(first, begin)
    covered.sort()
    end = first
    for low, high in covered:
        assert low <= end
        end = max(end, high)
    delivered = int(result["flow_total_bytes"][0])
    assert delivered == 2_000_000
    assert end - first == pytest.approx(delivered, abs=1500)
    rows = tshark(file, "tcp.options.mptcp.rawdataack", only=acks)
    assert max(int(it[0]) for it in rows if it[0]) - first == pytest.approx(delivered, abs=1500)


def test_the_stream_of_a_relay_over_mptcp_has_its_records(tmp_path):
    """Put together by data sequence numbers, the bytes of both subflows are TLS."""
    file = tmp_path / "relay.pcapng"
    _over_two_paths(file, {"name": "gost-relay-wss", "mptcp": PATHS}, bytes="1MB")
    begins, carried, mappings, lengths = {}, {}, set(), set()
    for packet in packets_of(file):
        segment = packet.data
        if not isinstance(segment, dpkt.tcp.TCP) or segment.dport != 443 or not segment.data:
            continue
        port = segment.sport
        begin = segment.seq - begins.setdefault(port, segment.seq)
        lengths.add(len(segment.data))
        subflow = carried.setdefault(port, bytearray(2_000_000))
        subflow[begin : begin + len(segment.data)] = segment.data
        ((_, option),) = (it for it in dpkt.tcp.parse_opts(segment.opts) if it[0] == 30)
        if option[0] >> 4 == 2:
            behind_ack = 2 + (8 if option[1] & 2 else 4)
            mappings.add((port, *struct.unpack_from(">QIH", option, behind_ack)))
        else:
            initial = port  # MP_CAPABLE: of the first segment of all
    stream = bytearray(2_000_000)
    ssn, dsn = min((ssn, dsn) for port, dsn, ssn, _ in mappings if port == initial)
    first = dsn - (ssn - 1)
    mappings.add((initial, first, 1, ssn - 1))
    for port, dsn, ssn, length in mappings:
        stream[dsn - first : dsn - first + length] = carried[port][ssn - 1 : ssn - 1 + length]
    place, records = 0, 0
    while stream[place] in (20, 22, 23):
        assert stream[place + 1] == 3, "TLS"
        place += 5 + int.from_bytes(stream[place + 3 : place + 5], "big")
        records += 1
    assert place > 1_000_000, "all of what was sent"
    assert records > 50
    assert max(lengths) == 1500 - 52 - 28, "data ACKs have 64 bits, because both ends send"


def test_paths_of_quic_have_connection_ids_and_logs_of_their_own(tmp_path, tshark):
    tunnel = {"name": "gost-quic", "mpquic": PATHS}
    file = tmp_path / "quic.pcapng"
    result = _over_two_paths(file, tunnel, bytes="1MB")
    rows = tshark(file, "ip.src", "quic.dcid", "quic.short", only="udp.dstport == 443")
    assert {it[0] for it in rows} == {"10.0.0.2", "10.1.0.2"}
    assert tshark(file, "frame.number", only="udp.checksum.status == 0") == []
    capture = tc.Capture(qlog=tmp_path / "logs")
    tc.run(result.experiment, capture=capture)
    legs = [leg for leg in result.connections if leg.name.startswith("carrier")]
    for name, leg in zip(("carrier0", "carrier0-path2"), legs, strict=True):
        sent = log_of(tmp_path / "logs" / f"{name}-client.sqlog", "client")
        assert len(numbers_of(sent, "transport:packet_sent", "stream")) == leg.segments > 50
    assert numbers_of(sent, "transport:packet_sent", "path_challenge")[0] == 0
