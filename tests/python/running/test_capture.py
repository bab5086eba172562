# SPDX-License-Identifier: GPL-2.0-only
"""Captures: what tshark and dpkt read in them is what the run did."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import dpkt
import pytest

import tunnelcc as tc
from captures import log_of, numbers_of, packets_of
from helpers import flow_carried_by
from tunnelcc import catalog

OUTBOUND = "0x00000002"  # pcapng's epb_flags
_LOSSY = {
    "path": {"rate": "20Mbps", "rtt": "20ms", "loss": "1%"},
    "flows": [{"cc": "cubic"}],
    "duration": "1s",
    "warmup": "0s",
}


@pytest.fixture(scope="module")
def lossy(tmp_path_factory):
    """A run that loses segments, and its capture at the path with whole packets."""
    file = tmp_path_factory.mktemp("capture") / "lossy.pcapng"
    capture = tc.Capture(file, snap="full")
    return tc.run(_LOSSY, capture=capture), capture


def test_a_capture_changes_no_result(lossy):
    assert lossy[0].to_json() == tc.run(_LOSSY).to_json()


def test_segments_and_their_repairs_are_those_of_the_result(lossy, tshark):
    result, capture = lossy
    fields = ("tcp.srcport", "tcp.seq", "tcp.len", "frame.comment")
    data = [row for row in tshark(capture.file, *fields) if row[0] == "32768" and row[2] != "0"]
    flow = result.to_dict()["flows"][0]
    first = Counter(seq for _, seq, _, _ in data)
    assert len(data) - len(first) == flow["flow_socket_retransmits"]
    assert sum("lost" in row[3] for row in data) == result.links["path"].forward.random_losses > 0
    assert len(tshark(capture.file, "tcp.seq", only="tcp.analysis.retransmission or "
                      "tcp.analysis.out_of_order")) == flow["flow_socket_retransmits"]  # fmt: skip


def test_dpkt_reads_whole_packets_back(lossy):
    result, capture = lossy
    packets = packets_of(capture.file)
    assert len(packets) == capture.packets
    assert all(it.len == len(bytes(it)) for it in packets)
    syn = dpkt.tcp.parse_opts(packets[0].data.opts)
    assert [kind for kind, _ in syn] == [2, 4, 8, 1, 3]  # as Linux orders them
    sent = Counter(it.data.seq for it in packets if it.data.dport == 5201 and it.data.data)
    assert sum(sent.values()) == result.connections[0].segments


def test_dpkt_reads_ipv6_back(tmp_path):
    capture = tc.Capture(tmp_path / "6.pcapng", snap="full")
    result = tc.run(_LOSSY | {"path": _LOSSY["path"] | {"ip": 6}}, capture=capture)
    reader = dpkt.pcapng.Reader(io.BytesIO(Path(capture.file).read_bytes()))
    packets = [dpkt.ip6.IP6(data) for _, data in reader]
    assert all(40 + it.plen == len(bytes(it)) for it in packets)
    (mss,) = (value for kind, value in dpkt.tcp.parse_opts(packets[0].data.opts) if kind == 2)
    assert int.from_bytes(mss, "big") == 1440
    sent = [it.data for it in packets if it.data.dport == 5201 and it.data.data]
    assert len(sent) == result.connections[0].segments
    assert max(len(it.data) for it in sent) == 1428


@pytest.mark.parametrize("keys", [{"window_scaling": False}, {"timestamps": False}])
def test_tshark_reads_connections_without_options(keys, tmp_path, tshark):
    file = tmp_path / "plain.pcapng"
    tc.run(_LOSSY | {"tcp": keys}, capture=tc.Capture(file, snap="full"))
    syn, *_ = tshark(file, "tcp.options.wscale.shift", "tcp.options.timestamp.tsval")
    assert [bool(option) for option in syn] == [
        "window_scaling" not in keys, "timestamps" not in keys
    ]  # fmt: skip
    assert tshark(file, "frame.number", only="_ws.malformed or tcp.checksum.status == 0") == []


@pytest.mark.parametrize("queue", ["drop-tail", "codel", "red"])
def test_every_drop_of_a_queue_has_a_comment(queue, tmp_path, tshark):
    path = {"rate": "10Mbps", "rtt": "20ms", "buffer": "20p", "queue": queue}
    if queue == "red":
        path["queue"] = {"name": "red", "min_threshold": "5p", "max_threshold": "15p"}
    table = _LOSSY | {"path": path, "flows": [{"cc": "cubic", "count": 2}]}
    file = tmp_path / "drops.pcapng"
    result = tc.run(table, capture=file)
    comments = Counter(row[0] for row in tshark(file, "frame.comment"))
    assert comments["dropped by this queue"] == result.links["path"].forward.queue_drops > 0


def test_every_mark_of_a_queue_has_a_comment(tmp_path, tshark):
    path = {"rate": "10Mbps", "rtt": "20ms", "queue": "dualpi2"}
    table = _LOSSY | {"path": path, "flows": [{"cc": "prague"}]}
    file = tmp_path / "marks.pcapng"
    result = tc.run(table, capture=file)
    comments = Counter(row[0] for row in tshark(file, "frame.comment"))
    marks = [count for text, count in comments.items() if text.startswith("marked")]
    assert marks == [result.links["path"].forward.marks]


def _captured(name, file, outside, inside):
    """Run a tunnel over a version of IP, another one inside, and capture at the client."""
    # Without losses: tshark calls it malformed where a repair overlaps a record that it knows.
    path = {"rate": "20Mbps", "rtt": "20ms", "buffer": "10MiB", "ip": outside}
    rate = {"rate": "10Mbps"} if name == "finalspeed" else {}
    tunnel = {"name": name, "ip": inside, **rate}
    flow = flow_carried_by(name) or {"cc": "cubic"}
    table = _LOSSY | {"path": path, "duration": "0.3s", "tunnel": tunnel, "flows": [flow]}
    capture = tc.Capture(file, at=["client"], snap="full")
    return tc.run(table, capture=capture), capture, table


def _bytes_of_the_client(result):
    """The IP bytes that the client sends on the path, as the models count them."""
    if "tunnel_outer_bytes" in result.dataset:
        return int(result["tunnel_outer_bytes"].ravel()[0])
    legs = {leg.name: leg for leg in result.connections}
    return legs["carrier"].wire_bytes


def test_tshark_understands_every_tunnel(tmp_path, tshark):
    fields = (
        "frame.protocols", "_ws.malformed", "ip.checksum.status", "tcp.checksum.status",
        "udp.checksum.status", "frame.len", "ip.len", "ipv6.plen", "frame.interface_name",
        "frame.packet_flags_direction", "_ws.col.Info",
    )  # fmt: skip
    protocols = set()
    for name in catalog.names():
        # A file of two sections: the connections of both versions differ in their addresses. Those
        # of two tunnels would be one to tshark, which reads the second one as repairs of the first.
        files, counted, sent = [tmp_path / "4.pcapng", tmp_path / "6.pcapng"], 0, 0
        for file, outside in zip(files, (4, 6), strict=True):
            result, capture, table = _captured(name, file, outside, 10 - outside)
            assert capture.packets > 50, name
            counted += _bytes_of_the_client(result)
            if outside == 4:
                assert result.to_json() == tc.run(table).to_json(), name
        both = tmp_path / "both.pcapng"
        both.write_bytes(b"".join(file.read_bytes() for file in files))
        versions = Counter()
        for names, malformed, *checks, length, ip, ipv6, interface, way, info in tshark(
            both, *fields
        ):
            protocols.update(names.split(":"))
            assert not malformed, info
            assert "0" not in ",".join(checks).split(","), info
            is_ipv6 = names.split(":")[1] == "ipv6"
            written = int(ipv6.split(",")[0]) + 40 if is_ipv6 else int(ip.split(",")[0])
            assert written == int(length), info
            sent += int(length) if interface == "client" and way == OUTBOUND else 0
            versions[interface == "client", is_ipv6] += 1
        # Each version outside with the other one inside, or on the loopback.
        assert len(versions) == 4, name
        assert sent == counted > 0, name
    assert {"tls", "websocket", "ssh", "wg", "openvpn", "esp", "vxlan", "quic"} <= protocols


_SITES = {
    "network": {
        "links": {
            "lan-a": {"between": ["pc-a", "edge-a"], "rate": "1Gbps", "rtt": "1ms"},
            "wan": {"between": ["edge-a", "edge-b"], "rate": "20Mbps", "rtt": "20ms"},
            "lan-b": {"between": ["edge-b", "pc-b"], "rate": "1Gbps", "rtt": "1ms"},
        }
    },
    "duration": "1s",
}
_GATES = {"between": ["edge-a", "edge-b"]}
_NOT_CLEAN = "_ws.malformed or ip.checksum.status == 0 or udp.checksum.status == 0 or " \
    "tcp.checksum.status == 0"  # fmt: skip


@pytest.mark.parametrize(
    ("upper", "lower", "protocols"),
    [
        ("vxlan", "vxlan", "ip:udp:vxlan:eth:ethertype:ip:udp:vxlan:eth:ethertype:ip:tcp"),
        ("ipsec-esp", "vxlan", "ip:udp:vxlan:eth:ethertype:ip:esp"),
        ("openvpn-tcp", "wireguard", "ip:udp:wg"),
        ("wireguard", "gost-relay-ws", "ip:udp:wg"),
    ],
)
def test_tshark_understands_a_tunnel_in_a_tunnel(upper, lower, protocols, tmp_path, tshark):
    file = tmp_path / "nested.pcapng"
    table = _SITES | {"tunnel": {"name": upper, "under": lower, "mtu": 1300, **_GATES}}
    table |= {"flows": {"from": "pc-a", "to": "pc-b", "bytes": "50kB"}}
    tc.run(table, capture=tc.Capture(file, at=["edge-a"], snap="full"))
    seen = [row[0] for row in tshark(file, "frame.protocols")]
    assert any(protocols in it for it in seen)
    assert tshark(file, "frame.number", only=_NOT_CLEAN) == []


@pytest.mark.parametrize("name", ["wireguard", "openvpn-tcp"])
def test_a_capture_at_a_gateway_has_its_links_and_the_tunnels_device(name, tmp_path, tshark):
    """Each packet of the flow comes from the LAN, enters the device, and leaves in the tunnel."""
    file = tmp_path / "gate.pcapng"
    table = _SITES | {"tunnel": {"name": name, **_GATES}}
    table |= {"flows": {"from": "pc-a", "to": "pc-b", "bytes": "50kB"}}
    result = tc.run(table, capture=tc.Capture(file, at=["edge-a"]))
    fields = ("frame.interface_name", "frame.packet_flags", "ip.src", "frame.time_relative")
    seen = Counter(row[:3] for row in map(tuple, tshark(file, *fields)))
    there, back = result.tunnels[0]
    pc_a, edge_a, edge_b, pc_b = "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"
    inbound = "0x00000001"
    assert seen["edge-a", inbound, pc_a] == seen["edge-a tun", OUTBOUND, pc_a]
    assert seen["edge-a tun", OUTBOUND, pc_a] == there.inner_packets >= 40
    assert seen["edge-a tun", inbound, pc_b] == seen["edge-a", OUTBOUND, pc_b]
    assert seen["edge-a", OUTBOUND, pc_b] == back.inner_packets >= 20
    # The counts of a carrier over TCP leave its SYNs out.
    assert 0 <= seen["edge-a", OUTBOUND, edge_a] - there.outer_packets <= 2
    assert 0 <= seen["edge-a", inbound, edge_b] - back.outer_packets <= 2
    assert tshark(file, "frame.number", only="_ws.malformed") == []
    times = [float(row[3]) for row in tshark(file, *fields)]
    assert times == sorted(times)


def test_a_capture_at_a_router_has_what_it_forwards(tmp_path, tshark):
    file = tmp_path / "router.pcapng"
    links = {
        "one": {"between": ["client", "router"], "rate": "1Gbps", "rtt": "10ms"},
        "two": {"between": ["router", "server"], "rate": "20Mbps", "rtt": "10ms", "loss": "1%"},
    }
    flows = {"from": "client", "to": "server", "bytes": "500kB"}
    table = {"network": {"links": links}, "flows": flows, "duration": "2s"}
    plain = tc.run(table)
    result = tc.run(table, capture=tc.Capture(file, at=["router"]))
    assert result.to_json() == plain.to_json()
    seen = Counter(tuple(row) for row in tshark(file, "frame.packet_flags", "ip.src"))
    sent, acks = (way.packets for way in (result.links["two"].forward, result.links["two"].reverse))
    assert seen[OUTBOUND, "10.0.0.1"] == seen["0x00000001", "10.0.0.1"] == sent
    assert seen[OUTBOUND, "10.0.0.3"] == seen["0x00000001", "10.0.0.3"] == acks


@pytest.mark.parametrize("name", [*catalog.names()])
def test_tshark_understands_the_headers_that_a_capture_keeps(name, tmp_path, tshark):
    file = tmp_path / "headers.pcapng"
    tunnel = {"name": name} | ({"rate": "10Mbps"} if name == "finalspeed" else {})
    table = {"tunnel": tunnel, "path": {"rate": "10Mbps", "rtt": "20ms"}, "duration": "300ms"}
    flow = flow_carried_by(name) or {"bytes": "20kB"}
    tc.run(table | {"flows": flow}, capture=tc.Capture(file, at=["path", "client"]))
    assert tshark(file, "frame.number", only="_ws.malformed") == []
    if name == "wireguard":
        counters = [row[0] for row in tshark(file, "wg.counter", only="wg")]
        assert len(counters) > 20


def test_datagrams_to_a_relay_at_a_gateway_are_captured(tmp_path):
    file = tmp_path / "udp.pcapng"
    table = _SITES | {"tunnel": {"name": "gost-relay-ws", **_GATES}}
    table |= {"flows": {"from": "pc-a", "to": "pc-b", "transport": "udp", "rate": "1Mbps"}}
    result = tc.run(table, capture=tc.Capture(file, at=["lan-a"], snap="full"))
    assert len(packets_of(file)) == result.flows[0].sent > 0


def test_a_place_that_does_not_exist_gets_the_nearest_name(tmp_path, run):
    code, _, err = run("run", "--capture", tmp_path / "x.pcapng", "--at", "servr")
    assert code == 2
    assert "--at" in err
    assert "server" in err
    assert not (tmp_path / "x.pcapng").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--capture", "missing/x.pcapng"], "--capture"),
        (["--at", "path"], "--capture FILE"),
        (["--capture", "x.pcapng", "--snap", "all"], "--snap"),
        (["--capture", "x.pcapng", "--capture-limit", "much"], "--capture-limit"),
    ],
)
def test_wrong_options_are_refused(options, told, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run("run", "--duration", "1s", *options)
    assert code == 2
    assert told in err


def test_a_capture_ends_at_its_limit(tmp_path):
    capture = tc.Capture(tmp_path / "x.pcapng", limit="20kB")
    tc.run(_LOSSY, capture=capture)
    assert "limit" in capture.note
    assert Path(capture.file).stat().st_size == capture.bytes <= 20_000
    assert len(packets_of(capture.file)) == capture.packets > 100


def test_a_full_disk_leaves_a_file_that_opens(tmp_path):
    # A limit of the process stands for the disk's, and leaves the run alone.
    file = tmp_path / "full.pcapng"
    code = (
        "import resource, signal, tunnelcc as tc\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\n"
        f"capture = tc.Capture({str(file)!r}, snap='full')\n"
        f"print(tc.run({_LOSSY!r}, capture=capture, progress=False).to_json())\n"
        "assert capture.note, capture\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == json.loads(tc.run(_LOSSY).to_json())
    assert 0 < file.stat().st_size <= 300_000
    assert len(packets_of(file)) > 100


def test_a_pipe_that_closes_leaves_the_run_alone(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def read_a_little():
        with pipe.open("rb") as opened:
            opened.read(1000)

    reader = threading.Thread(target=read_a_little)
    reader.start()
    capture = tc.Capture(pipe, snap="full")
    result = tc.run(_LOSSY, capture=capture)
    reader.join()
    assert "pipe" in capture.note
    assert result.to_json() == tc.run(_LOSSY).to_json()


def _whole_blocks(data):
    """Return a pcapng file without a last block that is cut. Check the lengths of all others."""
    end = 0
    while end + 8 <= len(data):
        size = data[end + 4 : end + 8]
        following = end + int.from_bytes(size, "little")
        if following > len(data):
            break
        assert data[following - 4 : following] == size
        end = following
    return data[:end]


def test_a_killed_run_leaves_a_file_that_opens(tmp_path):
    file = tmp_path / "killed.pcapng"
    code = (
        f"import tunnelcc as tc; tc.run({_LOSSY | {'duration': '600s'}!r}, capture={str(file)!r})"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    while not file.exists() or file.stat().st_size < 1_000_000:
        time.sleep(0.01)
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    # The kernel may end a write of a killed process between two pages.
    data = file.read_bytes()
    whole = _whole_blocks(data)
    assert len(data) - len(whole) < 200, "no more than the last packet is cut"
    file.write_bytes(whole)
    assert len(packets_of(file)) > 1000


@pytest.mark.parametrize("tunnel", ["none", "gost-relay-ws", "hysteria2", "vtun", "quic"])
def test_logs_have_the_packets_of_the_result(tunnel, tmp_path):
    flow = {"cc": "cubic", "transport": "quic" if tunnel == "quic" else "tcp"}
    table = _LOSSY | {"flows": [flow], "tunnel": tunnel if tunnel != "quic" else "none"}
    capture = tc.Capture(qlog=tmp_path / "logs")
    result = tc.run(table, capture=capture)
    assert result.to_json() == tc.run(table).to_json()
    name, role = ("flow0", "app") if tunnel in ("none", "quic") else ("carrier0", "carrier")
    leg = next(it for it in result.connections if it.name == role)
    client, server = (
        log_of(tmp_path / "logs" / f"{name}-{side}.sqlog", side) for side in ("client", "server")
    )
    sent = numbers_of(client, "transport:packet_sent")
    received = numbers_of(server, "transport:packet_received")
    assert sent == sorted(set(sent))
    assert len(set(received)) == len(received)
    assert set(received) < set(sent)
    lost = numbers_of(client, "recovery:packet_lost")
    assert len(lost) == len(set(lost)) > 0
    assert set(lost).isdisjoint(received)
    data = numbers_of(client, "transport:packet_sent", "stream")
    assert len(data) == leg.segments
    acked = {
        number
        for it in client if it["name"] == "transport:packet_received"
        for frame in it["data"]["frames"] if frame["frame_type"] == "ack"
        for first, last in frame["acked_ranges"]
        for number in range(first, last + 1)
    }  # fmt: skip
    assert set(data) & acked <= set(received)
    in_flight_at_the_end = 100
    assert len(set(data) - acked - set(lost)) <= in_flight_at_the_end
    metrics = [it["data"] for it in client if it["name"] == "recovery:metrics_updated"]
    assert metrics[-1]["smoothed_rtt"] >= 20
    window = max(it["congestion_window"] for it in metrics)
    assert 0 < max(it["bytes_in_flight"] for it in metrics) <= window + 1500
    assert (capture.packets, capture.text()) == (0, f"logs of connections in {tmp_path / 'logs'}")


def test_logs_of_tcp_count_its_repairs(tmp_path):
    capture = tc.Capture(qlog=tmp_path)
    result = tc.run(_LOSSY, capture=capture)
    lost = numbers_of(log_of(tmp_path / "flow0-client.sqlog", "client"), "recovery:packet_lost")
    sender = result.connections[0]
    # Probes of the tail repeat what does not count as lost.
    assert sender.retransmits - sender.tail_loss_probes <= len(lost) <= sender.retransmits


def test_logs_end_at_their_limit(tmp_path):
    capture = tc.Capture(qlog=tmp_path, limit="20kB")
    tc.run(_LOSSY, capture=capture)
    assert capture.note == "a log ends early: its limit was reached"
    for side in ("client", "server"):
        file = tmp_path / f"flow0-{side}.sqlog"
        assert file.stat().st_size <= 20_000
        assert len(log_of(file, side)) > 50


def _narrow(tmp_path, at, too_big, **keys):
    """Return a run over a path whose MTU its hosts do not know, and its capture."""
    file = tmp_path / "narrow.pcapng"
    path = {"rate": "20Mbps", "rtt": "20ms", "mtu": 1400, "too_big": too_big} | keys.pop("path", {})
    keys = {"flows": [{"cc": "cubic"}], "duration": "500ms", "warmup": "0s"} | keys
    result = tc.run({"path": path} | keys, capture=tc.Capture(file, at=[at], snap="full"))
    return result.links["path"].forward, file


# Of the segment that a message quotes the end is missing, so that its checksum cannot be right.
_UNCLEAN = (
    "_ws.malformed or ip.checksum.status == 0 or "
    "(tcp.checksum.status == 0 and not icmp and not icmpv6) or "
    "udp.checksum.status == 0 or icmp.checksum.status == 0 or icmpv6.checksum.status == 0 or "
    "ip.fragment.error or ip.fragment.overlap or ip.fragment.toolongfragment"
)


@pytest.mark.parametrize(("ip", "name"), [(4, "icmp"), (6, "icmpv6")])
def test_a_router_tells_the_mtu(ip, name, tmp_path, tshark):
    link, file = _narrow(tmp_path, "client", "tell", path={"ip": ip})
    kind = [["3", "4"], ["2", "0"]][ip == 6]
    told = tshark(file, f"{name}.type", f"{name}.code", f"{name}.mtu", "tcp.dstport", only=name)
    assert told == [[*kind, "1400", "5201"]] * int(link.mtu_drops)
    assert link.mtu_drops == 10
    assert tshark(file, "frame.number", only=_UNCLEAN) == []


def test_fragments_that_a_router_made_are_put_together(tmp_path, tshark):
    link, file = _narrow(tmp_path, "path", "silent", tunnel="vxlan")
    assert link.fragmented > 100
    first = tshark(file, "ip.len", only="ip.flags.mf == 1")
    assert first == [["1396"]] * int(link.fragmented)
    whole = tshark(file, "vxlan.vni", "tcp.len", only="ip.fragment.count == 2")
    lost = len(tshark(file, "frame.number", only="frame.comment"))
    assert len(first) - lost <= len(whole) <= len(first)
    assert set(map(tuple, whole)) == {("1", "1398")}
    assert tshark(file, "frame.number", only=_UNCLEAN) == []


def test_segments_that_are_split_have_their_own_numbers(tmp_path, tshark):
    """The first window was too large: it is sent again in segments that fit."""
    _, file = _narrow(tmp_path, "path", "tell")
    sent = tshark(file, "tcp.seq", "tcp.len", only="tcp.len > 0 and tcp.dstport == 5201")
    ends = {int(number): int(number) + int(length) for number, length in sent}
    assert (ends[1], ends[1349], ends[1449]) == (1349, 1449, 2797)
    covered = 1
    while covered in ends:
        covered = ends[covered]
    assert covered > 14480
    assert tshark(file, "frame.number", only=_UNCLEAN) == []
