# SPDX-License-Identifier: GPL-2.0-only
"""Overviews of tunnels: layers, round trips and bytes on the wire."""

from __future__ import annotations

import pytest

import tunnelcc as tc
from helpers import tunnel_named
from tunnelcc import catalog
from tunnelcc.report.overview import WRITE_SIZES, overview


def _view(name):
    return overview(catalog.load(name))


@pytest.mark.parametrize("name", catalog.names())
def test_every_tunnel_has_an_overview(name):
    view = _view(name)
    assert [layer.name for layer in view.stack].count("IPv4") >= 1
    assert list(view.wire_bytes) == list(WRITE_SIZES)
    has_parity = any(layer.name in ("fec", "Reed–Solomon") for layer in view.stack)
    for ratios in zip(*view.wire_bytes.values(), strict=True):
        assert ratios[0] > 1.5
        assert (1.8 if has_parity else 1.2) > ratios[-1] > (1.2 if has_parity else 1.035)
        assert ratios[0] > ratios[-1]


def test_round_trips_are_those_of_the_protocols():
    assert _view("gost-relay-ws").round_trips == {"each flow": 2}
    assert _view("gost-relay-wss").round_trips == {"each flow": 3}
    assert _view("gost-relay-mwss").round_trips == {"the first flow": 3, "later ones": 0}
    assert _view("gost-socks5").round_trips == {"each flow": 4}
    assert _view("finalspeed").round_trips == {"each flow": 1}
    assert _view("kcptun").round_trips == {"the first flow": 0, "later ones": 0}
    assert _view("gost-http2").round_trips == {"the first flow": 3, "later ones": 1}
    assert _view("ssh-forward").round_trips["each flow"] == 1


@pytest.mark.parametrize(
    ("name", "count", "simulated", "flow"),
    [
        ("wireguard", 1, 0, 1), ("ipsec-esp", 2, 0, 1), ("openvpn-udp", 3, 0, 1),
        ("openvpn-2.6-tcp", 4, 1, 2), ("openvpn-tcp", 4, 1, 1),
        ("ssh-tun", 8, 1, 1),
    ],
)  # fmt: skip
def test_round_trips_of_key_exchange_are_told(name, count, simulated, flow):
    assert _view(name).round_trips == {
        "the tunnel, before any flow": count, "of these simulated": simulated, "each flow": flow,
    }  # fmt: skip


@pytest.mark.parametrize(
    "name", [it for it in catalog.names() if not catalog.load(it).refuses_streams]
)
def test_round_trips_are_those_of_a_run(name):
    trips = _view(name).round_trips
    result = tc.run(
        tc.Experiment(
            path={"rate": "100Gbps", "rtt": "1s"},
            tunnel=tunnel_named(name),
            # The third, too: a congestion window of KCP has grown by then.
            flows=[{"bytes": 1}, {"bytes": 1, "start": "30s"}, {"bytes": 1, "start": "60s"}],
            hosts={"speed": 1000},
            duration="90s",
            start_jitter="0s",
        )
    )
    first, _, later = (
        flow["flow_first_byte_at"] - flow["flow_start"] for flow in result.to_dict()["flows"]
    )
    own = trips.get("of these simulated", trips.get("the tunnel, before any flow", 0))
    flow = trips.get("each flow", trips.get("later ones"))
    # The last half is the byte's own; a delayed ACK may take part.
    assert first == pytest.approx(trips.get("the first flow", own + flow) + 0.5, abs=0.05)
    assert later == pytest.approx(flow + 0.5, abs=0.05)


@pytest.mark.parametrize("name", catalog.names())
def test_what_the_tunnel_takes_is_told_before_what_its_flows_take(name):
    moments = list(_view(name).round_trips)
    order = [
        "the tunnel, before any flow", "of these simulated", "the first flow", "later ones",
        "each flow",
    ]  # fmt: skip
    assert moments == [moment for moment in order if moment in moments]


def test_ssh_logs_in_alike_for_channels_and_for_packets():
    before = "the tunnel, before any flow"
    assert _view("ssh-tun").round_trips[before] == _view("ssh-forward").round_trips[before] + 1


def test_layers_of_packets_tell_their_bytes():
    layers = {layer.name: layer.to_server for layer in _view("openvpn-udp").stack}
    assert layers["aead"] == "20 B per packet; cipher aes-256-gcm, nonce 4"
    assert (layers["openvpn"], layers["udp"], layers["IPv4"]) == (
        "4 B per packet", "8 B per packet", "20 B",
    )  # fmt: skip
    modes = overview(catalog.load("ethudp"), "aes-128-cbc")
    cbc = next(layer for layer in modes.stack if layer.name == "cbc")
    assert cbc.to_server.startswith("1 to 16 B per packet; ")
    # An AES-CBC block at most; L + 42 becomes 28 + 16 * ceil((L + 15) / 16).
    assert modes.wire_bytes[64][0] == (28 + 16 * 9) / 64


def test_modes_are_shown_one_at_a_time(run):
    _, text, _ = run("show", "tunnel", "ethudp", "--mode", "lz4")
    assert "mode lz4; --mode shows plain, aes-128-cbc" in text
    assert "│ lz4 " in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tunnel", "ethudp", "--mode", "lz5"], "a mode of ethudp"),
        (["tunnel", "gost-relay-ws", "--mode", "x"], "gost-relay-ws has no modes"),
        (["cc", "bbr", "--mode", "x"], "only `show tunnel` has modes"),
    ],
)
def test_modes_that_there_are_not_are_refused(arguments, message, run):
    code, _, err = run("show", *arguments)
    assert code == 2
    assert message in " ".join(err.split())


@pytest.mark.parametrize(
    ("name", "worst"), [("gost-relay-ws", 1.0400390625), ("gost-relay-wss", 1.04541015625)]
)
def test_writes_that_leave_at_once_cost_what_was_worked_out(name, worst):
    # Frames of 4104 or 4126 bytes leave as 1448 + 1448 and a short segment.
    assert _view(name).wire_bytes[32768][0] == worst


def test_a_wireguard_packet_is_60_bytes_longer_and_padded():
    assert _view("wireguard").wire_bytes[64][0] == (60 + 128) / 64


def test_a_packet_in_a_stream_has_the_headers_of_two_connections():
    assert _view("vtun").wire_bytes[64][0] == (64 + 52 + 2 + 52) / 64
    assert [layer.name for layer in _view("vtun").stack].count("TCP") == 2
    assert _view("gost-tun-wss").round_trips["the tunnel, before any flow"] == 3


@pytest.mark.parametrize("name", ["gost-relay-mws", "ssh-forward", "openvpn-udp"])
def test_the_command_draws_the_layers(name, run):
    _, text, _ = run("show", "tunnel", name)
    for layer in _view(name).stack:
        assert f"│ {layer.name} " in text
    assert "round trips before the first byte leaves" in text
    assert "128KiB" in text
