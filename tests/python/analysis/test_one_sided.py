# SPDX-License-Identifier: GPL-2.0-only
"""A queue discipline of one direction, where data cross both, is told."""

from __future__ import annotations

import pytest

import tunnelcc as tc
from tunnelcc.analysis import one_sided
from tunnelcc.network.resolve import resolve
from tunnelcc.words import warnings

_PATH = {"rate": "20Mbps", "rtt": "30ms", "buffer": "300kB"}
_BOTH = [{"direction": "up", "cc": "cubic"}, {"direction": "down", "cc": "cubic"}]


def _told(path, flows=_BOTH, **keys):
    table = {"path": {**_PATH, **path}, "flows": flows, **keys}
    return [*map(warnings.one_sided, one_sided.of_links(resolve(tc.Experiment.parse(table))))]


@pytest.mark.words
def test_a_discipline_of_one_direction_is_told_with_the_key_of_the_other():
    (sentence,) = _told({"queue": "cake"})
    assert sentence == (
        "path.queue = cake holds for data to server. Data to client wait in a drop-tail queue "
        "(path.reverse.queue changes it)."
    )
    (sentence,) = _told({"reverse": {"queue": "cake"}})
    assert "path.reverse.queue = cake holds for data to client" in sentence
    assert "(path.queue changes it)" in sentence


@pytest.mark.parametrize(
    ("path", "flows"),
    [
        ({}, _BOTH),
        ({"queue": "cake"}, _BOTH[:1]),
        ({"queue": "cake", "reverse": {"queue": "codel"}}, _BOTH),
        ({"queue": "cake", "reverse": {"queue": "drop-tail"}}, _BOTH),
    ],
)
def test_what_is_stated_or_crossed_by_no_data_is_not_told(path, flows):
    assert _told(path, flows) == []


@pytest.mark.parametrize(
    ("flows", "is_told"), [(_BOTH, True), (_BOTH[:1], False), (_BOTH[1:], False)]
)
def test_data_that_cross_one_direction_alone_have_the_queue_that_is_given_or_need_none(
    flows, is_told
):
    """Each direction has a rate of its own, so that ACKs alone could wait in the other one, too."""
    path = {"queue": "cake", "reverse": {"rate": "10Mbps"}}
    assert bool(_told(path, flows)) is is_told


@pytest.mark.parametrize(("use", "is_told"), [("fail-over", False), ("packets", True)])
def test_an_uplink_that_waits_for_a_failure_carries_no_data(use, is_told):
    """The first uplink has CAKE in both directions; the second one, which may stand by, in one."""
    ends = {"first-1": ("a", "isp-1"), "first-2": ("isp-1", "b")}
    ends |= {"second-1": ("a", "isp-2"), "second-2": ("isp-2", "b")}
    links = {
        name: {"between": pair, "rtt": "10ms", "rate": "10Mbps"} for name, pair in ends.items()
    }
    links["first-1"] |= {"queue": "cake", "reverse": {"queue": "cake"}}
    links["second-1"] |= {"queue": "cake"}
    uplinks = {"routes": [["a", "isp-2", "b"]], "use": use}
    tunnel = {"name": "ethudp", "between": ["a", "b"], "mtu": 1458, "uplinks": uplinks}
    flows = [{"from": "a", "to": "b"}, {"from": "b", "to": "a"}]
    table = {"network": {"links": links}, "tunnel": tunnel, "flows": flows}
    found = one_sided.of_links(resolve(tc.Experiment.parse(table)))
    assert [it.key for it in found] == (["network.links.second-1.queue"] if is_told else [])


@pytest.mark.words
def test_a_link_of_a_network_is_told_by_its_key():
    links = {
        "wan": {"between": ["a", "b"], "rate": "10Mbps", "rtt": "20ms", "queue": "fq-codel"},
        "lan": {"between": ["b", "c"], "rate": "1Gbps", "rtt": "1ms"},
    }
    flows = [{"from": "a", "to": "c"}, {"from": "c", "to": "a"}]
    (sentence,) = _told({}, flows, network={"links": links})
    assert "network.links.wan.queue = fq-codel holds for data to b" in sentence
    assert "(network.links.wan.reverse.queue changes it)" in sentence
    links["wan"]["reverse"] = {"queue": "fq-codel"}
    assert _told({}, flows, network={"links": links}) == []


@pytest.mark.words
def test_the_other_direction_has_its_queue_without_a_rate_of_its_own():
    """It has the same rate where data cross it, and is refused where it has none."""
    path = {**_PATH, "queue": "cake", "reverse": {"queue": "cake"}}
    table = {"path": path, "duration": "6s", "warmup": "1s", "pings": [{}]}
    result = tc.run({**table, "flows": _BOTH}, progress=False)
    assert result.to_dict()["pings"][0]["ping_delay_p95"] < 0.045
    deep = tc.run({**table, "flows": _BOTH, "path": {**path, "reverse": None}}, progress=False)
    assert deep.to_dict()["pings"][0]["ping_delay_p95"] > 0.055
    with pytest.raises(tc.ConfigError, match=r"path\.reverse\.queue = 'cake': expected no value"):
        tc.Experiment.parse({**table, "flows": _BOTH[:1]})


def test_a_run_says_so(run):
    options = ["--set", "path.queue=cake", "--set", "flows.0.direction=up", "--duration", "1s"]
    both = ["--set", "cross_traffic.0.rate=1Mbps", "--set", "cross_traffic.0.direction=down"]
    assert "holds for data to server" in " ".join(run("run", *options, *both)[1].split())
    assert "holds for data" not in run("run", *options)[1]
