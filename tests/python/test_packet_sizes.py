# SPDX-License-Identifier: GPL-2.0-only
"""Outer packets of tunnels that carry packets: byte for byte what left real programs."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import pytest

from tunnelcc import catalog

CAPTURED = Path(__file__).parents[1] / "reference" / "packets.csv"
PATH_MTU = 1500

#: Label of a capture → entry and mode.
TUNNELS = {
    "ethudp-plain": ("ethudp", "plain"),
    "ethudp-aes128": ("ethudp", "aes-128-cbc"),
    "ethudp-aes128-mtu1500": ("ethudp", "aes-128-cbc-mtu-1500"),
    "ethudp-lz4": ("ethudp", "lz4"),
    "ethudp-aes256-lz4": ("ethudp", "lz4-aes-256-cbc"),
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
}
#: Inner bytes from which on what the packets contained shrank. What remains says nothing of them.
SHRINKS_FROM = {"ethudp-lz4": 500, "ethudp-aes256-lz4": 500}


def _captured() -> dict[str, list[tuple[int, list[int]]]]:
    """Label → (inner bytes, outer payloads) of the rows that are compared."""
    rows = defaultdict(list)
    with CAPTURED.open() as file:
        for row in csv.DictReader(file):
            label, inner = row["label"], int(row["inner_ip_bytes"])
            payloads = [int(size) for size in row["outer_payload_bytes"].split()]
            for other in OTHER_TRAFFIC.get((label, inner), ()):
                payloads.remove(other)
            if inner < SHRINKS_FROM.get(label, PATH_MTU + 1):
                rows[label].append((inner, payloads))
    return rows


ROWS = _captured()


@pytest.mark.parametrize("label", TUNNELS)
def test_outer_packets_are_those_captured(label):
    name, mode = TUNNELS[label]
    entry = catalog.load(name)
    headers = 28
    assert len(ROWS[label]) > 20
    for inner, payloads in ROWS[label]:
        outer = entry.outer(inner, PATH_MTU, mode)
        assert [size - headers for size in outer] == payloads, inner


def test_other_traffic_is_that_of_tunnels_compared():
    assert {label for label, _ in OTHER_TRAFFIC} <= set(TUNNELS)


@pytest.mark.parametrize("label", SHRINKS_FROM)
def test_packets_that_shrink_are_never_larger_than_modelled(label):
    name, mode = TUNNELS[label]
    entry = catalog.load(name)
    with CAPTURED.open() as file:
        rows = [row for row in csv.DictReader(file) if row["label"] == label]
    for row in rows:
        inner, other = int(row["inner_ip_bytes"]), len(row["outer_payload_bytes"].split()) - 1
        if inner >= SHRINKS_FROM[label] and not other:
            assert int(row["outer_ip_bytes_total"]) < sum(entry.outer(inner, PATH_MTU, mode))
