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


#: Discipline, key → the least and the greatest value, and others that are out of range.
LIMITS = [
    ("codel", "target", ["1us", "60s"], ["0.9us", "61s", 0]),
    ("codel", "interval", ["0.1ms", "60s"], ["0.09ms", "61s"]),
    ("fq-codel", "quantum", [64, 2**20], [63, 2**20 + 1]),
    ("fq-codel", "queues", [1, 65536], [0, 65537]),
    ("pie", "alpha", [0, 100], [-0.1, 100.1]),
    ("pie", "beta", [0, 100], [-0.1, 100.1]),
    ("pie", "burst", ["0s", "1us", "60s"], ["0.9us", "61s"]),
    ("dualpi2", "step", ["1us", "60s"], ["0.9us", "61s", 0]),
    ("dualpi2", "coupling", [0.1, 100], [0.09, 100.1]),
    ("dualpi2", "classic_share", [0.001, 1], [0, 1.01]),
    ("red", "weight", [1e-9, 1], [0, 1.01]),
    ("red", "max_probability", [0.001, 1], [0, 1.01]),
    ("cake", "mpu", [0, 256], [257, -1]),
    ("cake", "rtt", ["1us", "60s"], ["0.9us", "61s", 0]),
]


@pytest.mark.parametrize(("name", "key", "allowed", "refused"), LIMITS)
def test_each_key_takes_its_limits_and_nothing_beyond(name, key, allowed, refused):
    for value in allowed:
        queue(name, **{key: value})
    for value in refused:
        with pytest.raises(tc.ConfigError, match=key):
            queue(name, **{key: value})


@pytest.mark.parametrize(
    ("least", "most", "fits"),
    [("5p", "15p", True), ("5p", "5p", False), ("6p", "5p", False), ("1B", "1kB", True)],
)
def test_thresholds_of_red_rise(least, most, fits):
    if fits:
        queue("red", min_threshold=least, max_threshold=most)
    else:
        with pytest.raises(tc.ConfigError, match="min_threshold"):
            queue("red", min_threshold=least, max_threshold=most)


def test_what_is_stated_of_cake_counts_before_its_keyword():
    raw = queue("cake")
    assert (raw.rtt, raw.isolation) == (0.1, "triple-isolate")  # tc-cake(8)
    assert raw.counted == (14, 0, "none")  # Ethernet's header, which the kernel counts
    stated = queue("cake", overhead="ethernet", mpu=0, cells="ptm")
    assert stated.counted == (38, 0, "ptm")
    assert queue("cake", overhead="docsis", mpu=100).shaped_bytes(40) == 100
    assert stated.shaped_bytes(26) == 64 + 1  # just one part of 64
    assert stated.shaped_bytes(27) == 65 + 2
