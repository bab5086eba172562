# SPDX-License-Identifier: GPL-2.0-only
"""Datagram tunnels: what they add, what they split, and where they drop."""

from __future__ import annotations

import pytest

import tunnelcc as tc
from helpers import edited_entry

PATH = {"rate": "50Mbps", "rtt": "20ms"}
WHOLE = {"name": "ethudp", "mtu": 1458}  # outer packets of exactly 1500 bytes
SPLIT = {"name": "ethudp", "mtu": 1500}

PLAIN = 'layers = ["ethernet", "udp", "ip"]'


def _run(tunnel, **changes):
    table = {"path": PATH, "flows": {"cc": "cubic"}, "duration": "5s", "tunnel": tunnel}
    return tc.run(tc.Experiment(**{**table, **changes}))


def test_every_packet_gets_the_headers():
    result = _run(WHOLE, flows={"cc": "cubic", "count": 4})
    there, back = result.tunnels[0]
    assert there.fragmented == 0
    assert there.outer_packets == there.packets - there.device_drops
    sent = sum(leg.wire_bytes for leg in result.connections)
    assert there.outer_bytes == sent + 42 * there.packets
    inner = sum(leg.ack_wire_bytes for leg in result.connections)
    assert back.outer_bytes == inner + 42 * back.packets


def test_goodput_is_what_the_headers_leave():
    result = _run(WHOLE, warmup="2s")
    assert result.goodput == pytest.approx(50e6 * 1406 / 1500, rel=2e-3)
    # 1500 inner bytes leave in two packets of 1500 and 62 bytes.
    split = _run(SPLIT, warmup="2s")
    assert split.goodput == pytest.approx(50e6 * 1448 / 1562, rel=2e-3)


def test_small_packets_leave_whole():
    there, back = _run(SPLIT).tunnels[0]
    assert there.outer_packets == there.packets + there.fragmented
    assert back.fragmented == 0


@pytest.mark.parametrize(("tunnel", "lost"), [(WHOLE, 0.02), (SPLIT, 1 - 0.98**2)])
def test_a_packet_is_lost_with_any_of_its_fragments(tunnel, lost):
    result = _run(
        tunnel,
        path={**PATH, "loss": "2%", "buffer": "8bdp"},
        flows={"cc": "bbr", "count": 4},
        duration="20s",
    )
    totals = result.to_dict()
    retransmits = totals["metrics"]["path_retransmits"]
    assert totals["metrics"]["drops"] == 0
    assert retransmits / result["path_segments"] == pytest.approx(lost, rel=0.06)


def test_fragments_that_overtake_each_other_are_put_together():
    path = {**PATH, "reorder": "5%", "reorder_delay": "2ms", "buffer": "4bdp"}
    result = _run(SPLIT, path=path, flows={"cc": "bbr"})
    totals = result.to_dict()
    assert totals["metrics"]["drops"] == 0
    # Nothing is lost: what is retransmitted was only late.
    assert totals["metrics"]["path_retransmits"] < 0.05 * result["path_segments"]
    assert result.goodput > 0.8 * 50e6 * 1448 / 1562


def test_the_device_queue_drops_what_a_slow_program_leaves():
    result = _run({**WHOLE, "queue": 50}, hosts={"client": {"speed": 0.01}})
    tunnel = result.to_dict()["tunnels"][0]
    assert tunnel["forward"]["tunnel_device_drops"] > 0
    assert tunnel["forward"]["tunnel_device_packets_max"] == 50
    assert tunnel["forward"]["tunnel_outer_packets"] == pytest.approx(
        tunnel["forward"]["tunnel_packets"] - tunnel["forward"]["tunnel_device_drops"], abs=51
    )
    assert result.to_dict()["metrics"]["drops"] == 0
    # One core encapsulates data without a break; the other has ACKs to decapsulate.
    assert 0.5 < result.to_dict()["hosts"]["client"]["host_cpu"] < 0.8


def test_the_socket_drops_what_a_slow_receiver_leaves():
    result = _run({**WHOLE, "receive_buffer": "208KiB"}, hosts={"server": {"speed": 0.01}})
    tunnel = result.to_dict()["tunnels"][0]
    assert tunnel["forward"]["tunnel_socket_drops"] > 0
    assert tunnel["forward"]["tunnel_device_drops"] == 0


@pytest.mark.parametrize(
    ("tunnel", "change"),
    [
        ("wireguard", {}),
        ("wireguard", {"flows": {"rate": "1Mbps", "write_size": 100}, "tcp": {"nodelay": True}}),
        ("ethudp", {"path": {**PATH, "mtu": 576}}),  # three fragments
        ("sdwan-fec", {}),
        ("udpspeeder", {}),
    ],
)
def test_interface_efficiency_counts_what_went_in_and_out(tunnel, change):
    result = _run(tunnel, **change)
    (leg,), counts = result.connections, result.tunnels[0].forward
    assert counts.inner_packets == counts.packets - counts.device_drops
    assert counts.inner_bytes == leg.wire_bytes
    entered = counts.inner_bytes + 14 * counts.inner_packets
    left = counts.outer_bytes + 14 * counts.outer_packets
    assert result.metric("interface_efficiency") == pytest.approx(entered / left)
    assert 0.5 < entered / left < 1


def test_interface_efficiency_is_that_of_all_datagram_tunnels():
    tunnels = ("none", "wireguard", "vtun", "ethudp")
    result = _run(None, flows=[{"tunnel": name} for name in tunnels])
    tunnels = result.to_dict()["tunnels"]
    ways = [it["forward"] for it in tunnels if it["tunnel"] in ("wireguard", "ethudp")]
    total = [
        sum(it[f"tunnel_{way}_bytes"] + 14 * it[f"tunnel_{way}_packets"] for it in ways)
        for way in ("inner", "outer")
    ]
    assert result.metric("interface_efficiency") == pytest.approx(total[0] / total[1])


def test_the_device_limits_segments_and_so_does_the_clamp():
    for change, payload in (({"mtu": 1400}, 1348), ({"mss": 1200}, 1188), ({}, 1448)):
        leg = _run({"name": "ethudp", **change}).to_dict()["flows"][0]["legs"][0]
        data = leg["wire_bytes"] - 60 - 52 * (leg["segments"] + 1)
        assert data / leg["segments"] == pytest.approx(payload, abs=1)


def test_finite_flows_arrive_whole_in_both_directions():
    for direction in ("up", "down"):
        result = _run(
            SPLIT,
            path={**PATH, "loss": "3%", "reverse_loss": "1%"},
            flows={"cc": "cubic", "count": 3, "bytes": "500kB"},
            direction=direction,
            duration="20s",
        )
        for flow in result.to_dict()["flows"]:
            assert flow["flow_total_bytes"] == 500_000
            assert flow["flow_completed_at"] is not None


def test_series_of_the_device():
    dataset = _run({**WHOLE, "queue": 50}, hosts={"client": {"speed": 0.01}}).dataset
    queue = dataset["tunnel_device_packets"].sel(direction="forward")
    assert 0 < float(queue.max()) <= 50
    drops = dataset["tunnel_device_drops_series"].sel(direction="forward").isel(time=-1)
    assert float(drops.item()) > 0
    assert "tunnel_queue" not in _run(None).dataset


def test_series_of_every_device():
    flows = [
        {"count": 2, "tunnel": "small"},
        {},
        {"tunnel": "relay"},
        {"count": 2, "tunnel": "large"},
    ]
    result = _run(
        None,
        tunnels={
            "small": {**WHOLE, "queue": 10},
            "relay": "gost-relay-wss",
            "large": {**WHOLE, "queue": 30},
        },
        flows=flows,
        hosts={"client": {"speed": 0.01}},
    )
    series = result.dataset
    assert list(series.packet_tunnel.values) == ["small", "large"]
    for name, most in (("small", 10), ("large", 30)):
        here = series.sel(packet_tunnel=name, direction="forward")
        assert 0 < here.tunnel_device_packets.max() <= most
        assert int(here.tunnel_device_drops_series[-1]) == int(here.tunnel_device_drops) > 0


def test_marks_stay_outside_a_program():
    path = {**PATH, "ecn_threshold": "20p"}
    result = _run(WHOLE, path=path, tcp={"ecn": True})
    assert result.to_dict()["metrics"]["path_retransmits"] > 0
    plain = _run(None, path=path, tcp={"ecn": True})
    assert plain.to_dict()["metrics"]["path_retransmits"] == 0


def test_a_tunnel_of_ones_own_needs_no_code(tmp_path):
    layers = '[{ layer = "header", bytes = 6 }, { layer = "hmac", digest = "sha256", bytes = 16 }, '
    file = edited_entry(tmp_path, "ethudp", PLAIN, f'layers = {layers}"udp", "ip"]')
    result = _run({"name": file, "mtu": 1400})
    way, leg = result.tunnels[0].forward, result.legs[0][0]
    assert way.outer_bytes == leg.wire_bytes + (6 + 16 + 28) * way.packets


@pytest.mark.parametrize(
    ("before", "after", "key", "hint"),
    [
        (PLAIN, 'layers = ["etherned", "udp"]', "modes.plain.layers.0.layer", "'ethernet'"),
        (PLAIN, "layers = [{ bytes = 5 }]", "modes.plain.layers.0.layer", "one of 'aead'"),
        (PLAIN, "layers = 5", "modes.plain.layers", "a list"),
        (PLAIN, 'layers = [{ layer = "header" }]', "modes.plain.layers.0.bytes", "a value"),
        ('mode = "plain"', 'mode = "plane"', "mode", "'plain'"),
        ("mtu = 1500", "mtu = 100", "device.mtu", "576"),
        ("threads = 2", "threads = 3", "threads.threads", "from 1 to 2"),
        ('"tun-read"', '"tun-rread"', "cpu.encapsulate", "list of operations"),
        ("copied = false", "copied = 0", "ecn.copied", "true or false"),
    ],
)
def test_broken_entries_are_refused(tmp_path, before, after, key, hint, refusal):
    told = refusal({"tunnel": edited_entry(tmp_path, "ethudp", before, after)})
    assert key in told
    assert hint in told


@pytest.mark.parametrize(
    ("tunnel", "key"),
    [
        ({"name": "ethudp", "mode": "aes-128"}, "tunnel.mode"),
        ({"name": "ethudp", "cc": "bbr"}, "tunnel.cc"),
        ({"name": "ethudp", "copy_buffer": "32KiB"}, "tunnel.copy_buffer"),
        ({"name": "gost-relay-ws", "mtu": 1400}, "tunnel.mtu"),
        ({"name": "vtun", "copy_buffer": "32KiB"}, "tunnel.copy_buffer"),
    ],
)
def test_keys_of_another_kind_of_tunnel_are_refused(tunnel, key):
    with pytest.raises(tc.ConfigError, match=key):
        tc.Experiment(tunnel=tunnel)


def test_the_buffer_must_hold_an_outer_packet():
    with pytest.raises(tc.ConfigError, match=r"path\.buffer"):
        tc.Experiment(path={"buffer": "1490B"}, tcp={"mss": 1400}, tunnel=WHOLE)
