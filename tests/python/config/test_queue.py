# SPDX-License-Identifier: GPL-2.0-only
"""The defaults of queue disciplines are those of their sources."""

from __future__ import annotations

import pytest

import tunnelcc as tc

#: Discipline → defaults of its source, SI.
SOURCES = {
    # RFC 8289, section 4.4; ECN as in Linux's fq_codel, tc-fq_codel(8)
    "codel": {"target": 0.005, "interval": 0.1, "ecn": True},
    # RFC 8290, sections 5.2.1 to 5.2.4
    "fq-codel": {"target": 0.005, "interval": 0.1, "quantum": 1514, "queues": 1024, "ecn": True},
    # RFC 8033, section 4 (target, burst) and 4.2 (weights). Its 15 ms between updates are 16 in
    # Linux, whose ticks have 4 ms (usecs_to_jiffies()).
    "pie": {
        "target": 0.015, "interval": 0.016, "alpha": 0.125, "beta": 1.25, "burst": 0.15,
        "ecn": True,
    },
    # tc-dualpi2(8): target 15 ms, tupdate 16 ms, alpha 0.16 and beta 3.2 Hz, step 1 ms, coupling 2,
    # classic_protection 10 %
    "dualpi2": {
        "target": 0.015, "interval": 0.016, "alpha": 0.16, "beta": 3.2, "step": 0.001,
        "coupling": 2, "classic_share": 0.1,
    },
    # Floyd 1997: max_p of 0.1, a weight of 0.002; gentle: Floyd 2000
    "red": {"max_probability": 0.1, "weight": 0.002, "gentle": True, "ecn": True},
    # tc-cake(8): no-ack-filter and egress are the defaults
    "cake": {"ack_filter": "none", "ingress": False},
}  # fmt: skip


def queue(name, **keys):
    return tc.Experiment(path={"queue": {"name": name, **keys}}).path.queue


@pytest.mark.parametrize("name", SOURCES)
def test_defaults_are_those_of_the_source(name):
    made = queue(name)
    assert {key: getattr(made, key) for key in SOURCES[name]} == SOURCES[name]


def test_thresholds_of_red():
    """Floyd 1997: 5 packets, and three times as many."""
    made = queue("red")
    assert (made.min_threshold.packets, made.max_threshold.packets) == (5, 15)


#: Keyword of tc-cake(8) → overhead and least size in bytes, cells.
CAKE_OVERHEADS = {
    "conservative": (48, 0, "atm"),
    "ethernet": (38, 84, "none"),
    "docsis": (18, 64, "none"),
    "pppoe-ptm": (30, 0, "ptm"),
    "bridged-ptm": (22, 0, "ptm"),
    "pppoa-vcmux": (10, 0, "atm"),
    "pppoa-llc": (14, 0, "atm"),
    "pppoe-vcmux": (32, 0, "atm"),
    "pppoe-llcsnap": (40, 0, "atm"),
    "bridged-vcmux": (24, 0, "atm"),
    "bridged-llcsnap": (32, 0, "atm"),
    "ipoa-vcmux": (8, 0, "atm"),
    "ipoa-llcsnap": (16, 0, "atm"),
    28: (28, 0, "none"),  # bytes: no keyword, so no cells
}


@pytest.mark.parametrize("keyword", CAKE_OVERHEADS)
def test_keywords_of_cake(keyword):
    assert queue("cake", overhead=keyword).counted == CAKE_OVERHEADS[keyword]


@pytest.mark.parametrize(
    ("overhead", "packet", "counted"),
    [
        ("pppoe-vcmux", 1500, 32 * 53),  # 1532 bytes take 32 cells of 48 bytes
        ("pppoe-vcmux", 1504, 32 * 53),  # just 32
        ("pppoe-vcmux", 1505, 33 * 53),
        ("pppoe-ptm", 1500, 1530 + 24),  # one byte more for each 64 or part of them
        ("ethernet", 40, 84),
        ("ethernet", 1500, 1538),
    ],
)
def test_bytes_that_cake_counts(overhead, packet, counted):
    assert queue("cake", overhead=overhead).shaped_bytes(packet) == counted


@pytest.mark.parametrize(("target", "fits"), [("60s", True), ("60.5s", False), ("1us", True)])
def test_targets_are_up_to_a_minute(target, fits):
    if fits:
        queue("codel", target=target)
    else:
        with pytest.raises(tc.ConfigError, match="target"):
            queue("codel", target=target)


@pytest.mark.parametrize(("overhead", "fits"), [(0, True), (256, True), (257, False), (-1, False)])
def test_bytes_of_cakes_overhead_are_from_0_to_256(overhead, fits):
    """tc-cake(8): from -64 to 256. Packets that the link makes smaller are left out."""
    if fits:
        assert queue("cake", overhead=overhead).counted == (overhead, 0, "none")
    else:
        with pytest.raises(tc.ConfigError, match="overhead"):
            queue("cake", overhead=overhead)


def test_a_discipline_with_defaults_is_written_as_its_name():
    assert queue("codel").model_dump() == "codel"
    written = queue("codel", target="7ms").model_dump()
    assert written.keys() == {"name", "target"}


def test_limits_of_keys_are_allowed():
    assert queue("codel", interval="60s").interval == 60
    with pytest.raises(tc.ConfigError, match="interval"):
        queue("codel", interval="60.5s")
    assert queue("red", min_threshold="1B", max_threshold="2B").min_threshold.bytes == 1
