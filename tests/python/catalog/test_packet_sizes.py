# SPDX-License-Identifier: GPL-2.0-only
"""Outer packets of tunnels that carry packets: byte for byte what left real programs."""

from __future__ import annotations

import csv
import random
import struct
from collections import Counter, defaultdict

import pytest

import tunnelcc as tc
from helpers import ROOT, edited_entry
from tunnelcc import catalog, payloads
from tunnelcc import specification as spec
from tunnelcc.apps.calibrate import compressors
from tunnelcc.catalog.datagram import DatagramEntry
from tunnelcc.catalog.layers import Surroundings, wrap
from tunnelcc.catalog.packets import PacketEntry
from tunnelcc.catalog.values import IpVersions, Use
from tunnelcc.network.resolve import resolve

CAPTURED = ROOT / "tests" / "reference" / "packets.csv"
PATH_MTU = 1500
MSS = 1448

#: Label of a capture → entry and mode.
TUNNELS = {
    "ethudp-plain": ("ethudp", "plain"),
    "ethudp-aes128": ("ethudp", "aes-128-cbc"),
    "ethudp-aes128-mtu1500": ("ethudp", "aes-128-cbc-mtu-1500"),
    "ethudp-lz4": ("ethudp", "lz4"),
    "ethudp-aes256-lz4": ("ethudp", "lz4-aes-256-cbc"),
    "mlvpn": ("mlvpn", "encrypted"),
    "mlvpn-cleartext": ("mlvpn", "cleartext"),
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
    "ovpn-tcp-gcm": ("openvpn-2.6-tcp", "aes-256-gcm"),
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
#: Captures of what compresses: the library's function, and the inner bytes from which on it found
#: something in ping's payload.
COMPRESSED = {
    "ethudp-lz4": ("lz4", 500),
    "ethudp-aes256-lz4": ("lz4", 500),
    "vtun-udp-lzo": ("lzo-1-15", 63),
    "vtun-tcp-lzo": ("lzo-1-15", 63),
}
DRAWS = 200
#: The one capture that few draws give: (label, inner bytes) → their least share.
RARE = {("vtun-udp-lzo", 1448): 0.05}


def _payloads(entry: PacketEntry, outer: list[int]) -> list[int]:
    """What the outer packets carry: of UDP, of fragments of it, of TCP segments."""
    if isinstance(entry, DatagramEntry):
        return [size - 28 for size in outer]
    full, last = divmod(sum(outer), MSS)
    return [MSS] * full + [last] * (last > 0)


def _captured() -> dict[str, list[tuple[int, list[int]]]]:
    """Label → (inner bytes, outer payloads) of all rows, less those of other traffic."""
    rows = defaultdict(list)
    with CAPTURED.open() as file:
        for row in csv.DictReader(file):
            label, inner = row["label"], int(row["inner_ip_bytes"])
            payloads = [int(size) for size in row["outer_payload_bytes"].split()]
            for other in OTHER_TRAFFIC.get((label, inner), ()):
                payloads.remove(other)
            rows[label].append((inner, payloads))
    return rows


ROWS = _captured()


@pytest.mark.parametrize("label", TUNNELS)
def test_outer_packets_are_those_captured(label):
    name, mode = TUNNELS[label]
    entry = catalog.load(name)
    _, shrinks_from = COMPRESSED.get(label, ("", PATH_MTU + 1))
    rows = [row for row in ROWS[label] if row[0] < shrinks_from]
    assert len(rows) >= 15
    for inner, captured in rows:
        assert _payloads(entry, entry.outer(inner, PATH_MTU, mode)) == captured, inner


def test_every_capture_is_compared():
    assert set(ROWS) == set(TUNNELS)
    assert {label for label, _ in OTHER_TRAFFIC} <= set(TUNNELS)
    assert set(COMPRESSED) <= set(TUNNELS)
    assert sum(map(len, ROWS.values())) == 1186
    # What the layers alone do not give: the library compresses it in the test below.
    shrunk = sum(
        inner >= shrinks_from
        for label, (_, shrinks_from) in COMPRESSED.items()
        for inner, _ in ROWS[label]
    )
    assert (shrunk, len(OTHER_TRAFFIC)) == (71, 11)


def _counting(size: int, draw: random.Random) -> bytes:
    """0, 1, 2 and so on, over again after 255."""
    return bytes(number & 0xFF for number in range(size))


def _pinged(size: int, draw: random.Random) -> bytes:
    """Payload of iputils' ping: counting, with the time as two 64-bit numbers where there is room.

    ping.c, pinger() and main(); 20221126 sends this, too.
    """
    payload = _counting(size, draw)
    if size < 16:
        return payload
    return struct.pack("<qq", draw.randrange(2**30, 2**31), draw.randrange(10**6)) + payload[16:]


def _zeros(size: int, draw: random.Random) -> bytes:
    return bytes(size)


def _noise(size: int, draw: random.Random) -> bytes:
    return draw.randbytes(size)


def _echo_request(ip_bytes, in_front, payload_of, draw):
    """A frame's ``in_front`` bytes and an echo request; what the capture does not tell is drawn."""
    ethernet = draw.randbytes(12) + b"\x08\x00"
    ip = struct.pack(
        "!BBHHHBB", 0x45, 0, ip_bytes, draw.getrandbits(16), 0x4000, 64, 1
    ) + draw.randbytes(2)
    network = draw.randbytes(3)
    addresses = network + draw.randbytes(1) + network + draw.randbytes(1)
    icmp = b"\x08\x00" + draw.randbytes(4) + struct.pack("!H", draw.randrange(1, 6))
    return ethernet[:in_front] + ip + addresses + icmp + payload_of(ip_bytes - 28, draw)


def _compressed(label, ip_bytes, payload_of, monkeypatch):
    """How often the outer payloads have which sizes, if the real library compresses requests."""
    name, mode = TUNNELS[label]
    entry = catalog.load(name)
    layers = entry.layers(mode)
    run = compressors.load()[COMPRESSED[label][0]].run
    in_front = 14 if layers[0].layer == "ethernet" else 0
    around = Surroundings(entry.device.mtu, PATH_MTU, payload="text")
    found = Counter()
    for number in range(DRAWS):
        packet = _echo_request(ip_bytes, in_front, payload_of, random.Random(number))
        assert len(packet) == in_front + ip_bytes
        after = run(packet) - in_front
        monkeypatch.setattr(payloads, "after", lambda *_, after=after: after)
        found[tuple(_payloads(entry, wrap(layers, ip_bytes, around)))] += 1
    return found


def _needs_library(label):
    if COMPRESSED[label][0] not in compressors.load():
        pytest.skip("liblzo2 is not installed")


@pytest.mark.parametrize("label", COMPRESSED)
def test_what_the_library_makes_of_pings_is_what_was_captured(label, monkeypatch):
    _needs_library(label)
    for inner, captured in ROWS[label]:
        found = _compressed(label, inner, _pinged, monkeypatch)
        share = found[tuple(captured)] / DRAWS
        # Where what is drawn makes entries of the library's table collide, it finds less or more.
        least = RARE.get((label, inner), 0.9)
        assert share > least, (inner, found)


@pytest.mark.parametrize("payload_of", [_counting, _zeros, _noise])
@pytest.mark.parametrize("label", COMPRESSED)
def test_no_other_payload_fits(label, payload_of, monkeypatch):
    _needs_library(label)
    rows = [row for row in ROWS[label] if row[0] >= 500]
    assert len(rows) >= 9
    for inner, captured in rows:
        assert _compressed(label, inner, payload_of, monkeypatch)[tuple(captured)] == 0, inner


@pytest.mark.parametrize(("inner", "outer"), [(1446, 1500), (1447, 1504), (60, 116), (52, 108)])
def test_esp_by_the_rfcs(inner, outer):
    # IP 20, SPI and sequence number 8, IV 8, the packet with 2 more padded to 4, ICV 16.
    assert catalog.load("ipsec-esp").outer(inner, 9000) == [outer]
    assert catalog.load("ipsec-esp").outer(inner, 9000, "nat-t") == [outer + 8]


def test_ssh_tun_by_its_protocol():
    # Length 4; padding's length 1, message 13 + 1500 and at least 4 of padding, to 8; tag 16.
    entry = catalog.load("ssh-tun")
    (message,) = entry.outer(1500, PATH_MTU)
    layers = entry.to_server
    assert spec.layer_wire_bytes(layers, message) == [4 + 1520 + 16]


def test_gost_tun_writes_a_packet_as_two_messages():
    entry = catalog.load("gost-tun-wss")
    layers = entry.to_server
    sizes = [spec.layer_wire_bytes(layers, size, 2**20) for size in entry.outer(1420, 1500)]
    # WebSocket's header with a mask has 6 or 8 bytes, a TLS record 22.
    assert sizes == [[2 + 6 + 22], [1420 + 8 + 22]]


@pytest.mark.parametrize(
    ("name", "mode", "mss"),
    [
        ("openvpn-2.6-tcp", "aes-256-gcm", 1386),
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
    assert catalog.load(name).clamped_mss(Use(PATH_MTU, mode)) == mss


V4, V6_OUTSIDE, V6_INSIDE, V6 = (
    IpVersions(inner, outer) for inner, outer in ((4, 4), (4, 6), (6, 4), (6, 6))
)


@pytest.mark.parametrize(
    ("name", "outside", "inside", "both"),
    [
        # mssfix counts the headers of IPv6, outside and inside.
        ("openvpn-udp", 1380, 1380, 1360),
        ("openvpn-2.6-tcp", 1366, 1366, 1346),
        ("tinc", 1397 - 16, 1377, 1377 - 16),  # AES's blocks
        ("ipsec-esp", 1406 - 20, 1386, 1386 - 20),
        ("wireguard", 1380, 1360, 1360),  # whose device has room for IPv6
        ("vxlan", 1390, 1390, 1370),
        ("vtun", 1410, 1390, 1390),
        ("tinyfecvpn", 1200, 1440, 1440),  # do_mssfix() knows IPv4 only
        ("udpspeeder", 1200, 1180, 1180),
    ],
)
def test_segments_follow_the_versions_of_ip(name, outside, inside, both):
    entry = catalog.load(name)
    mss = [entry.clamped_mss(Use(PATH_MTU, versions=it)) for it in (V6_OUTSIDE, V6_INSIDE, V6)]
    assert mss == [outside, inside, both]


@pytest.mark.parametrize(
    "name", [it for it in catalog.names() if not catalog.load(it).HAS_CARRIERS]
)
def test_a_datagram_has_20_bytes_more_over_ipv6(name):
    entry = catalog.load(name)
    for mode in entry.modes:
        for inner in (100, 600, 1200):
            (over_4,), (over_6,) = (
                entry.outer(inner, 9000, mode, versions=it) for it in (V4, V6_OUTSIDE)
            )
            assert over_6 == over_4 + 20, (mode, inner)


def test_fragments_of_ipv6_have_a_header_of_their_own():
    # RFC 8200, section 4.5: 40 + 8 in each, and all but the last a multiple of 8 of what is inside.
    inside = 1500 + 14 + 8  # Ethernet, UDP
    first, last = catalog.load("ethudp").outer(1500, 1500, versions=V6_OUTSIDE)
    assert first == 48 + 1448
    assert last == 48 + inside - 1448
    assert catalog.load("ethudp").outer(1460 - 22, 1500, versions=V6_OUTSIDE) == [1500]


def test_headers_of_ipv6_do_not_compress():
    entry = catalog.load("vtun-udp")
    inside, around = (
        entry.outer(size, 1500, "lzo-999", payload="text", versions=it)
        for size, it in ((1000, V4), (1020, V6_INSIDE))
    )
    assert around == [inside[0] + 20]


@pytest.mark.parametrize("path_mtu", [1300, 1400, 9000])
@pytest.mark.parametrize("name", ["tinc", "ipsec-esp"])
def test_tunnels_that_follow_the_path_fit_it(name, path_mtu):
    experiment = tc.Experiment(
        tunnel=name, path={"mtu": path_mtu, "buffer": "1MB"}, tcp={"mss": 8948}
    )
    full = resolve(experiment).first.full_packets
    assert len(full) == 1
    if name == "tinc":  # whose device has 1500 bytes
        assert full[0] <= min(path_mtu, 1600)
    assert path_mtu - 16 < full[0] <= path_mtu or (name == "tinc" and path_mtu == 9000)


@pytest.mark.parametrize(("name", "inner"), [("wireguard", 1420), ("vxlan", 1450)])
def test_devices_of_a_fixed_mtu_do_not(name, inner):
    for path_mtu, packets in ((1400, 2), (9000, 1)):
        experiment = tc.Experiment(
            tunnel=name, path={"mtu": path_mtu, "buffer": "1MB"}, tcp={"mss": 8948}
        )
        flow = resolve(experiment).first
        assert flow.below.mtu == inner
        assert len(flow.below.across(inner, "random")) == packets


def test_a_path_too_narrow_for_a_tunnel_is_told(tmp_path):
    wide = '[{ layer = "header", bytes = 500 }, "ip"]'
    tunnel = edited_entry(tmp_path, "ipsec-esp", '["esp", "ip"]', wide)
    with pytest.raises(tc.ConfigError, match=r"tunnel\.clamp = 576.*MSS of 128"):
        tc.Experiment(tunnel=tunnel, path={"mtu": 576})


CLAMPED = [
    (name, mode)
    for name in catalog.names()
    if isinstance(entry := catalog.load(name), PacketEntry)
    for mode in entry.modes
]


def _slowly_fitting(sizes: list[int], fit: int) -> int:
    """Inner bytes of the largest packet that has at most `fit` outer ones; 0 where none has."""
    return next((inner for inner in range(len(sizes) - 1, 167, -1) if sizes[inner] <= fit), 0)


@pytest.mark.parametrize(("name", "mode"), CLAMPED)
def test_the_largest_segment_that_fits_is_found(name, mode):
    entry, draw = catalog.load(name), random.Random(1)
    for mtu in (576, 1350, 1500, 9000):
        layers, around = entry.layers(mode), Surroundings(mtu, 65535)
        outer = [sum(wrap(layers, inner, around)) for inner in range(mtu + 1)]
        for fit in [576, 1500, *(draw.randint(576, mtu + 100) for _ in range(40))]:
            clamp = catalog.packets.MssClamp(fit=fit, label="inferred", source="test")
            mss = entry.model_copy(update={"clamp": clamp}).clamped_mss(Use(1500, mode, mtu))
            assert mss + 40 == _slowly_fitting(outer, fit), (mtu, fit)


@pytest.mark.parametrize(("name", "mode"), CLAMPED)
def test_a_larger_packet_does_not_become_smaller(name, mode):
    layers, around = catalog.load(name).layers(mode), Surroundings(65535, 65535)
    outer = [sum(wrap(layers, inner, around)) for inner in range(1, 65536, 7)]
    assert outer == sorted(outer)
