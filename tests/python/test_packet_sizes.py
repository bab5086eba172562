# SPDX-License-Identifier: GPL-2.0-only
"""Outer packets of tunnels that carry packets: byte for byte what left real programs."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import pytest

from tunnelcc import catalog, core, spec
from tunnelcc.catalog import DatagramEntry

CAPTURED = Path(__file__).parents[1] / "reference" / "packets.csv"
PATH_MTU = 1500
MSS = 1448

#: Label of a capture → entry and mode.
TUNNELS = {
    "ethudp-plain": ("ethudp", "plain"),
    "ethudp-aes128": ("ethudp", "aes-128-cbc"),
    "ethudp-aes128-mtu1500": ("ethudp", "aes-128-cbc-mtu-1500"),
    "ethudp-lz4": ("ethudp", "lz4"),
    "ethudp-aes256-lz4": ("ethudp", "lz4-aes-256-cbc"),
    "ovpn-udp-gcm": ("openvpn-udp", "aes-256-gcm"),
    "ovpn-udp-gcm-stub": ("openvpn-udp", "aes-256-gcm"),
    "ovpn-udp-chacha": ("openvpn-udp", "chacha20-poly1305"),
    "ovpn-udp-cbc-sha1": ("openvpn-udp", "aes-256-cbc"),
    "ovpn-udp-secret-cbc": ("openvpn-udp", "aes-256-cbc-static"),
    "tinc-default": ("tinc", "aes-256-cbc"),
    "tinc-aes128": ("tinc", "aes-128-cbc"),
    "tinc-nocrypt": ("tinc", "none"),
    "vtun-udp-plain": ("vtun-udp", "plain"),
    "vtun-ether-udp": ("vtun-udp", "ether"),
    "vtun-udp-lzo": ("vtun-udp", "lzo"),
    "vtun-udp-aes256cbc": ("vtun-udp", "aes-256-cbc"),
    "vtun-udp-aes256ecb": ("vtun-udp", "aes-256-ecb"),
    "vtun-udp-aes128cfb": ("vtun-udp", "aes-128-cfb"),
    "vxlan": ("vxlan", "plain"),
    "wireguard-go": ("wireguard", "plain"),
    "ovpn-tcp-gcm": ("openvpn-tcp", "aes-256-gcm"),
    "tinc-tcponly": ("tinc-tcp", "plain"),
    "vtun-tcp-plain": ("vtun", "plain"),
    "vtun-tcp-lzo": ("vtun", "lzo"),
    "vtun-tcp-aes256cbc": ("vtun", "aes-256-cbc"),
}
#: Rows in which packets of other traffic were counted, too: (label, inner bytes) → their payloads.
OTHER_TRAFFIC = {
    ("ethudp-plain", 41): [90],  # neighbour discovery in a frame
    ("ethudp-plain", 1488): [10],  # EthUDP's PING: or PONG:
    ("ethudp-aes128", 92): [16],  # the same encrypted
    ("ethudp-aes128-mtu1500", 36): [16],
    ("ethudp-aes128-mtu1500", 64): [16],
    ("ethudp-aes128-mtu1500", 1428): [16],
    ("ethudp-aes256-lz4", 36): [16, 16],
    ("ethudp-aes256-lz4", 64): [16, 16],
    ("ethudp-lz4", 59): [11],  # PING: with LZ4's byte
    ("vtun-ether-udp", 43): [92, 72],  # neighbour discovery in frames
    ("vxlan", 55): [98],
}
#: Inner bytes from which on packets held something that compression found, which is not recorded;
#: what is modelled is a payload without repetitions.
REPEATS_FROM = {"ethudp-lz4": 500, "ethudp-aes256-lz4": 500, "vtun-udp-lzo": 63, "vtun-tcp-lzo": 63}


def _payloads(entry: catalog.PacketEntry, inner: int, mode: str) -> list[int]:
    """What the outer packets carry: of UDP, of fragments of it, of TCP segments."""
    outer = entry.outer(inner, PATH_MTU, mode)
    if isinstance(entry, DatagramEntry):
        return [size - 28 for size in outer]
    full, last = divmod(sum(outer), MSS)
    return [MSS] * full + [last] * (last > 0)


def _captured() -> dict[str, list[tuple[int, list[int]]]]:
    """Label → (inner bytes, outer payloads) of the rows that are compared."""
    rows = defaultdict(list)
    with CAPTURED.open() as file:
        for row in csv.DictReader(file):
            label, inner = row["label"], int(row["inner_ip_bytes"])
            payloads = [int(size) for size in row["outer_payload_bytes"].split()]
            for other in OTHER_TRAFFIC.get((label, inner), ()):
                payloads.remove(other)
            if inner < REPEATS_FROM.get(label, PATH_MTU + 1):
                rows[label].append((inner, payloads))
    return rows


ROWS = _captured()


@pytest.mark.parametrize("label", TUNNELS)
def test_outer_packets_are_those_captured(label):
    name, mode = TUNNELS[label]
    entry = catalog.load(name)
    assert len(ROWS[label]) >= 15
    for inner, payloads in ROWS[label]:
        assert _payloads(entry, inner, mode) == payloads, inner


def test_every_capture_is_compared():
    assert set(ROWS) == set(TUNNELS)
    assert {label for label, _ in OTHER_TRAFFIC} <= set(TUNNELS)


@pytest.mark.parametrize("label", REPEATS_FROM)
def test_packets_with_repetitions_are_hardly_ever_larger(label):
    name, mode = TUNNELS[label]
    entry = catalog.load(name)
    with CAPTURED.open() as file:
        rows = [row for row in csv.DictReader(file) if row["label"] == label]
    rows = [row for row in rows if int(row["inner_ip_bytes"]) >= REPEATS_FROM[label]]
    assert len(rows) > 10
    for row in rows:
        # LZO spends one byte more on a short repetition than on none.
        payloads = [int(size) for size in row["outer_payload_bytes"].split()]
        assert sum(payloads) <= sum(_payloads(entry, int(row["inner_ip_bytes"]), mode)) + 1


@pytest.mark.parametrize(("inner", "outer"), [(1446, 1500), (1447, 1504), (60, 116), (52, 108)])
def test_esp_by_the_rfcs(inner, outer):
    # IP 20, SPI and sequence number 8, IV 8, the packet with 2 more padded to 4, ICV 16.
    assert catalog.load("ipsec-esp").outer(inner, 9000) == [outer]
    assert catalog.load("ipsec-esp").outer(inner, 9000, "nat-t") == [outer + 8]


def test_ssh_tun_by_its_protocol():
    # Length 4; padding's length 1, message 13 + 1500 and at least 4 of padding, to 8; tag 16.
    entry = catalog.load("ssh-tun")
    (message,) = entry.outer(1500, PATH_MTU)
    layers = [spec.layer_spec(layer) for layer in entry.to_server]
    assert core.load().layer_wire_bytes(layers, message) == [4 + 1520 + 16]


def test_gost_tun_writes_a_packet_as_two_messages():
    entry = catalog.load("gost-tun-wss")
    layers = [spec.layer_spec(layer) for layer in entry.to_server]
    sizes = [core.load().layer_wire_bytes(layers, size, 2**20) for size in entry.outer(1420, 1500)]
    # WebSocket's header with a mask has 6 or 8 bytes, a TLS record 22.
    assert sizes == [[2 + 6 + 22], [1420 + 8 + 22]]


@pytest.mark.parametrize(
    ("name", "mode", "mss"),
    [
        ("openvpn-tcp", "aes-256-gcm", 1386),
        ("vtun", "plain", 1410),
        ("openvpn-udp", "aes-256-gcm", 1400),
        ("tinc", "aes-256-cbc", 1397),
        ("wireguard", "plain", 1380),
        ("vxlan", "plain", 1410),
        ("ipsec-esp", "esp", 1406),
        ("ethudp", "plain", 1460),
    ],
)
def test_segments_are_clamped_as_the_programs_do(name, mode, mss):
    assert catalog.load(name).clamped_mss(PATH_MTU, mode) == mss
