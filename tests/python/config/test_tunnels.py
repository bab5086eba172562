# SPDX-License-Identifier: GPL-2.0-only
"""Several tunnels in an experiment, and keys below their names as axes of sweeps."""

from __future__ import annotations

import itertools

import pytest

import tunnelcc as tc
from tunnelcc import catalog, scenario
from tunnelcc.scenario import Experiment
from tunnelcc.schema import listed_as
from tunnelcc.sweeps import axes

TUNNELS = {"fast": "wireguard", "slow": {"name": "gost-relay-ws", "cc": "bbr"}, "off": "none"}


@pytest.mark.parametrize(
    ("flow", "name"),
    [
        ({}, "vtun"),
        ({"tunnel": "none"}, None),
        ({"tunnel": "fast"}, "wireguard"),
        ({"tunnel": "slow"}, "gost-relay-ws"),
        ({"tunnel": "off"}, None),
        ({"tunnel": "ethudp"}, "ethudp"),
    ],
)
def test_flows_name_their_tunnels(flow, name):
    experiment = Experiment.parse({"tunnel": "vtun", "tunnels": TUNNELS, "flows": [flow]})
    tunnel = experiment.tunnel_of(experiment.flows[0])
    assert (tunnel and tunnel.name) == name
    assert Experiment.parse(experiment.table()) == experiment


def test_a_tunnel_of_the_scenario_comes_before_one_of_the_catalogue():
    experiment = Experiment.parse(
        {"tunnels": {"vtun": {"name": "vtun", "mtu": 1300}}, "flows": {"tunnel": "vtun"}}
    )
    assert experiment.tunnel_of(experiment.flows[0]).mtu == 1300


@pytest.mark.parametrize(
    ("tunnels", "message"),
    [
        (5, "tunnels = 5: expected a table with one entry"),
        ({"a b": "vtun"}, "tunnels = 'a b': expected a name of at most 64 letters"),
        ({"": "vtun"}, "tunnels = '': expected a name of at most 64 letters"),
        ({"none": "vtun"}, "tunnels = 'none': expected another name"),
        ({"a": "wiregard"}, "tunnels.a = 'wiregard': did you mean 'wireguard'?"),
        ({"a": {"name": "vtun", "mut": 5}}, "tunnels.a.mut = 5: expected one of the keys name"),
        ({"a": {"cc": "bbr"}}, "tunnels.a.name: expected the name of a tunnel"),
        ({"a": {"name": "none", "cc": "bbr"}}, "tunnels.a.cc = 'bbr': expected no value, because"),
        ({"a": {"name": "vtun", "mtu": 5}}, "tunnels.a.mtu = 5: expected a whole number"),
    ],
)
def test_wrong_tunnels_are_told_by_their_name(tunnels, message, refusal):
    assert message in refusal({"tunnels": tunnels})


def test_settings_reach_tunnels_by_name():
    table = {"tunnels": TUNNELS, "flows": [{}, {"tunnel": "fast"}]}
    settings = {"tunnels.fast.mtu": 1300, "tunnels.slow.name": "none", "flows.1.tunnel": "none"}
    experiment = scenario.build(table, settings)
    assert experiment.tunnels["fast"].mtu == 1300
    assert experiment.tunnels["slow"] is None
    assert [flow.tunnel for flow in experiment.flows] == [None, "none"]


def test_tunnels_and_traces_are_found_beside_the_scenario(tmp_path, monkeypatch):
    entry = catalog.DIRECTORY / "gost-relay-ws.toml"
    (tmp_path / "mine.toml").write_text(entry.read_text())
    (tmp_path / "up.csv").write_text("time_s,rate_Mbps\n0,4\n")
    (tmp_path / "scenario.toml").write_text("""
        path.reverse.trace = "up.csv"
        flows = [{ tunnel = "mine.toml" }, { tunnel = "b" }]
        [tunnels]
        a = "mine.toml"
        b = { name = "mine.toml", cc = "bbr" }
        c = "wireguard"
        [sweep]
        "tunnels.c" = ["mine.toml", "vtun"]
        "flows.0.tunnel" = ["mine.toml", "none"]
        """)
    monkeypatch.chdir("/")
    mine = str(tmp_path / "mine.toml")
    experiment = tc.Sweep(tmp_path / "scenario.toml").experiment(0)
    assert [it.name for it in experiment.tunnels.values()] == [mine] * 3
    assert [experiment.tunnel_of(flow).name for flow in experiment.flows] == [mine, mine]
    assert experiment.path.backward.rate == 4e6


def test_a_table_without_tunnels_says_nothing_of_them():
    table = tc.Experiment().table()
    assert "tunnels" not in table
    assert not {"from", "from_", "to", "route", "ack_route", "tunnel", "direction"} & {
        *table["flows"][0]
    }


# Axes of sweeps


@pytest.mark.parametrize(
    ("key", "values", "coordinate"),
    [
        ("tunnels.fast.mtu", [1300, 1400], (1300, 1400)),
        ("tunnels.1.mtu", [1300, 1400], (1300, 1400)),
        ("tunnels.slow.cc.cwnd_gain", [2, 2.5], (2.0, 2.5)),
        ("tunnels.slow.cc", ["bbr", "reno"], ("bbr", "reno")),
        ("tunnels.fast", ["vtun", "none", {"name": "vtun", "mtu": 1400}], None),
        ("flows.0.tunnel", ["fast", "none"], ("fast", "none")),
        ("flows.0.direction", ["up", "down"], ("up", "down")),
        ("flows.0.from", ["a", "b"], ("a", "b")),
        ("path.reverse.rate", ["1Mbps", "2Mbps"], (1e6, 2e6)),
    ],
)
def test_keys_are_axes_of_sweeps(key, values, coordinate):
    table = {"tunnels": {**TUNNELS, "1": "vtun"}, "flows": [{"from": "c", "to": "d"}]}
    pairs = itertools.combinations("abcd", 2)
    table["network"] = {"links": {"".join(pair): {"between": [*pair]} for pair in pairs}}
    axis = axes.parse_axis(key, values, table)
    found = axes.coordinate(axis, table, table).values
    assert found == (coordinate or ("vtun", "none", "vtun mtu=1400"))
    for value in values:
        assert scenario.build(table, {key: value}) == Experiment.parse(
            scenario.build(table, {key: value}).table()
        )


def test_ranges_of_keys_below_a_name():
    ends = {"from": 1280, "to": 1400, "steps": 3}
    axis = axes.parse_axis("tunnels.fast.mtu", ends, {"tunnels": TUNNELS})
    assert axis.values == (1280, 1340, 1400)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"kcp": {"client_send_window": 5}}, "tunnel.kcp.client_send_window = 5: expected no"),
        ({"chain": [{"rtt": "5ms"}]}, "tunnel.chain.0.rtt = '5ms': expected no value"),
        (
            {"between": ["a", "b"], "uplinks": {"routes": [["a", "b"]]}},
            "tunnel.uplinks.routes = [['a', 'b']]: expected no value",
        ),
        ({"under": {"name": "none", "mtu": 1300}}, "tunnel.under.mtu = 1300: expected no value"),
        ({"name": 3, "under": "none"}, "tunnel.name = 3: expected the name of a tunnel"),
    ],
)
def test_keys_that_a_tunnel_does_not_have_are_told_as_users_write_them(keys, message, refusal):
    assert message in refusal({"tunnel": {"name": "openvpn-tcp", **keys}})


def test_no_lower_tunnel():
    """None is an axis's value. It replaces the entry's, and is nothing where there is none."""
    axis = axes.parse_axis("tunnel.under", ["none", "wireguard"], {})
    plain, over = (
        scenario.build({"tunnel": "openvpn-udp"}, {"tunnel.under": it}) for it in axis.values
    )
    assert plain == Experiment(tunnel="openvpn-udp")
    assert over.tunnel.below.name == "wireguard"
    own = Experiment(tunnel={"name": "sdwan-tcp-opt", "under": "none"})
    assert Experiment(tunnel="sdwan-tcp-opt").tunnel.below.name == "ipsec-esp"
    assert own.tunnel.below is None
    assert Experiment(tunnel={"name": "sdwan-tcp-opt", "under": {"name": "none"}}) == own
    assert Experiment.parse(own.table()) == own


def test_a_first_window_of_the_connection_may_be_as_large_as_the_streams_makes_it():
    windows = {"stream_window": 2**27, "first_connection_window": 2**24 + 2**22}
    tunnel = Experiment(tunnel={"name": "gost-quic", **windows}).tunnel
    assert tunnel.entry is tunnel.entry
    connection = tunnel.entry.quic.connection
    assert (connection.first, connection.most) == (2**24 + 2**22, 1.5 * 2**27)


def test_a_changed_copy_of_a_tunnel_has_the_entry_of_its_own_keys():
    tunnel = Experiment(tunnel={"name": "gost-quic", "stream_window": 2**20}).tunnel
    assert tunnel.entry.quic.stream.most == 2**20
    assert tunnel.model_copy(update={"stream_window": 2**22}).entry.quic.stream.most == 2**22
    assert tunnel.model_copy(update={"name": "tuic"}).entry.name == "tuic"


def test_keys_of_a_lower_tunnel_beside_its_name():
    settings = {"tunnel.under": "wireguard", "tunnel.under.mtu": 1300}
    assert scenario.build({"tunnel": "vxlan"}, settings).tunnel.below.mtu == 1300


@pytest.mark.parametrize(
    ("key", "listed"),
    [
        ("flows.0.rtt", "flows.rtt"),
        ("tunnels.a.chain.1.rtt", "tunnels.NAME.chain.rtt"),
        ("tunnels.7.mtu", "tunnels.NAME.mtu"),
        ("tunnels", "tunnels"),
        ("path.queue.target", "path.queue.target"),
        ("flows.0.cc.cwnd_gain", "flows.cc.cwnd_gain"),
        ("nothing.0.of", "nothing.of"),
    ],
)
def test_keys_of_a_scenario_are_found_in_lists(key, listed):
    assert listed_as(Experiment, key) == listed
