# SPDX-License-Identifier: GPL-2.0-only
"""Cost profiles: sourced, complete, and summed over what a tunnel does with a packet."""

from __future__ import annotations

import pytest

from tunnelcc import ConfigError
from tunnelcc.hosts import costs
from tunnelcc.hosts.costs import OPERATIONS, Operation, Profile

ROUND = Profile(
    name="round",
    summary="round numbers",
    operations={
        name: Operation(per_call=call, per_byte=byte, label="stated", source="this test")
        for name, call, byte in (
            ("tun-read", 1000, 0),
            ("lz4-compress", 500, 2),
            ("lz4-decompress", 300, 1),
            ("aes-128-cbc-encrypt", 0, 4),
            ("aes-128-cbc-decrypt", 0, 0.5),
            ("udp-send", 2000, 0),
        )
    },
)


def test_costs_add_up_over_operations():
    cost = costs.of(ROUND, ["tun-read", "aes-128-cbc-encrypt", "udp-send"])
    assert cost == (3000, 4)
    assert cost(1500) == 9000


def test_an_operation_may_be_done_twice():
    assert costs.of(ROUND, ["udp-send", "udp-send"]).per_call == 4000


def test_behind_compression_there_are_fewer_bytes():
    send = ["tun-read", "lz4-compress", "aes-128-cbc-encrypt", "udp-send"]
    assert costs.of(ROUND, send, compressed=0.25) == (3500, 2 + 4 / 4)


def test_some_payloads_take_more_effort_to_compress():
    send = ["tun-read", "lz4-compress", "udp-send"]
    prose = 500 + 2 * 1500
    for effort in (0.25, 1, 3):
        cost = costs.of(ROUND, send, effort=effort)
        assert cost(1500) == pytest.approx(3000 + effort * prose)


@pytest.mark.parametrize("effort", [0.25, 1, 1.2])
def test_headers_alone_take_the_same_before_any_payload(effort):
    cost = costs.of(ROUND, ["lz4-compress"], effort=effort)
    assert cost(52) == pytest.approx(500 + 2 * 52)


def test_effort_counts_where_packets_are_expanded_too():
    cost = costs.of(ROUND, ["aes-128-cbc-decrypt", "lz4-decompress"], compressed=0.5, effort=0.4)
    assert cost(1500) == pytest.approx(0.5 * 0.5 * 1500 + 0.4 * (300 + 1500))
    assert cost(52) == pytest.approx(0.5 * 0.5 * 52 + 300 + 52)


@pytest.mark.parametrize("effort", [0, 0.01, 3, 100])
def test_effort_makes_no_cost_negative(effort):
    cost = costs.of(ROUND, ["lz4-compress"], effort=effort)
    assert min(cost) >= 0


def test_before_expansion_there_are_fewer_bytes():
    assert costs.of(ROUND, ["aes-128-cbc-decrypt", "lz4-decompress"], 0.5) == (300, 0.25 + 1)


@pytest.mark.parametrize("name", costs.names())
def test_built_in_profiles_price_every_operation(name):
    profile = costs.load(name)
    assert profile.name == name
    for operation in OPERATIONS:
        cost = profile.operation(operation)
        assert cost.per_call > 0 or cost.per_byte > 0, operation
        assert len(cost.source) > 5


def test_the_reference_profile_was_measured():
    operations = costs.load(costs.REFERENCE).operations
    assert set(operations) == set(OPERATIONS)
    inferred = {name for name, operation in operations.items() if operation.label != "measured"}
    assert inferred == {
        name for name in OPERATIONS if name.startswith(("aes", "chacha", "cipher", "hmac"))
    }
    for name in inferred:
        assert operations[name].label == "inferred"
        assert "Xeon" in operations[name].source or "as the call of hmac" in operations[name].source


def test_a_profile_without_an_operation_says_so():
    with pytest.raises(ConfigError, match=r"round.*cost of aes-256-cbc-encrypt.*did you mean"):
        costs.of(ROUND, ["aes-256-cbc-encrypt"])


def test_a_profile_may_build_on_the_reference(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'summary = "mine"\nbase = "reference-host"\n'
        '[operations.syscall]\nper_call = 1\nper_byte = 2\nlabel = "measured"\nsource = "here"\n'
    )
    profile = costs.load(str(path))
    assert costs.of(profile, ["syscall"]) == (1, 2)
    reference = costs.load(costs.REFERENCE)
    assert costs.of(profile, ["udp-send"]) == costs.of(reference, ["udp-send"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('summary = ""', "summary = ''.*expected some text"),
        ('summary = "x"\nbase = "mine"', "base = 'mine'.*expected one of 'reference-host'"),
        (
            'summary = "x"\n[operations.lz4-compres]\nper_call = 1\nper_byte = 1\n'
            'label = "measured"\nsource = "x"',
            "operations.lz4-compres.*did you mean 'lz4-compress'",
        ),
        (
            'summary = "x"\n[operations.syscall]\nper_call = -1\nper_byte = 1\n'
            'label = "measured"\nsource = "x"',
            "operations.syscall.per_call = -1.*expected a number from 0",
        ),
        (
            'summary = "x"\n[operations.syscall]\nper_call = 1\nper_byte = 1\nsource = "x"',
            "operations.syscall.label.*expected a value",
        ),
    ],
)
def test_wrong_profiles_are_refused(tmp_path, text, message):
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message) as error:
        costs.load(str(path))
    assert str(path) in str(error.value)


def test_unknown_profiles_are_refused():
    with pytest.raises(ConfigError, match="did you mean 'reference-host'"):
        costs.load("reference")
