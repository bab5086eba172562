# SPDX-License-Identifier: GPL-2.0-only
"""Overviews of tunnels: layers, round trips and bytes on the wire."""

from __future__ import annotations

import pytest

from tunnelcc import catalog, cli
from tunnelcc.overview import WRITE_SIZES, overview


def _view(name):
    return overview(catalog.load(name))


@pytest.mark.parametrize("name", catalog.names())
def test_every_tunnel_has_an_overview(name):
    view = _view(name)
    assert [layer.name for layer in view.stack].count("IPv4") >= 1
    assert list(view.wire_bytes) == list(WRITE_SIZES)
    for ratios in zip(*view.wire_bytes.values(), strict=True):
        assert ratios[0] > 1.5 > 1.2 > ratios[-1] > 1.035


def test_round_trips_are_those_of_the_protocols():
    assert _view("gost-relay-ws").round_trips == {"each flow": 2}
    assert _view("gost-relay-wss").round_trips == {"each flow": 3}
    assert _view("gost-relay-mwss").round_trips == {"the first flow": 3, "later ones": 0}
    assert _view("gost-socks5").round_trips == {"each flow": 4}
    assert _view("gost-http2").round_trips == {"the first flow": 3, "later ones": 1}
    assert _view("ssh-forward").round_trips["each flow"] == 1


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
def test_the_command_draws_the_layers(name, capsys):
    cli.main(["show", "tunnel", name])
    text = capsys.readouterr().out
    for layer in _view(name).stack:
        assert f"│ {layer.name} " in text
    assert "round trips before the first byte leaves" in text
    assert "128KiB" in text
