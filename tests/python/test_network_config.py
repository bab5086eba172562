# SPDX-License-Identifier: GPL-2.0-only
"""Both directions of a path, several tunnels, networks of links: what the keys mean."""

from __future__ import annotations

import pytest

import tunnelcc as tc
from tunnelcc import catalog
from tunnelcc.config import Experiment, LinkDirection, scenario
from tunnelcc.schema import listed_as
from tunnelcc.schema.units import Buffer
from tunnelcc.sweeps import axes


def _refusal(table: dict) -> str:
    with pytest.raises(tc.ConfigError) as caught:
        Experiment.parse(table)
    return str(caught.value)


# Both directions of a path


@pytest.mark.parametrize(
    "path",
    [
        {},
        {"reverse_rate": "5Mbps", "reverse_buffer": "9p", "reverse_loss": "2%"},
        {"reverse_loss": "2%", "loss_pattern": "periodic", "loss_position": "before"},
    ],
)
def test_the_short_forms_mean_what_the_keys_of_reverse_do(path):
    loss = {key: path[key] for key in ("loss_pattern", "loss_position") if key in path}
    long = {
        key.removeprefix("reverse_"): value for key, value in path.items() if key not in loss
    } | loss
    assert tc.Path(**path).backward == tc.Path(reverse=long).backward == LinkDirection(**long)


def test_short_forms_and_the_table_complete_each_other():
    path = tc.Path(
        reverse_rate="2Mbps", reverse_loss="1%", loss_pattern="periodic",
        reverse={"queue": "codel", "buffer": "50p", "jitter": "1ms"},
    )  # fmt: skip
    backward = path.backward
    assert (backward.rate, backward.buffer, backward.jitter) == (2e6, Buffer(packets=50), 1e-3)
    assert (backward.queue.name, backward.loss, backward.loss_pattern) == (
        "codel",
        0.01,
        "periodic",
    )
    assert tc.Path(**path.table()).backward == backward


def test_the_pattern_of_the_table_is_that_of_its_own_loss():
    path = tc.Path(loss_pattern="periodic", reverse={"loss": "1%"})
    assert path.backward.loss_pattern == "random"


@pytest.mark.parametrize(
    ("key", "value", "other"),
    [("rate", "5Mbps", "6Mbps"), ("buffer", "9p", "8p"), ("loss", "1%", "2%")],
)
@pytest.mark.parametrize("same", [True, False])
def test_a_quantity_is_given_once(key, value, other, same):
    path = {f"reverse_{key}": value, "reverse": {key: value if same else other}}
    message = f"path.reverse_{key} = '{value}': expected no value beside reverse.{key}"
    assert message in _refusal({"path": path})


@pytest.mark.parametrize(
    ("reverse", "message"),
    [
        ({"queue": "codel"}, "path.reverse.queue = 'codel': expected no value without a rate"),
        ({"ecn_threshold": "5p"}, "path.reverse.ecn_threshold = '5p': expected no value without"),
        ({"rate_steps": [["1s", "1Mbps"]]}, "path.reverse.rate_steps = 1: expected a rate"),
        (
            {"loss": "1%", "gilbert_elliott": {"p": "1%", "r": "9%"}},
            "path.reverse.loss = '1%': expected no independent loss",
        ),
        ({"rtt": "1ms"}, "path.reverse.rtt = '1ms': expected one of the keys rate"),
        ({"polcer": {}}, "unknown key, did you mean 'policer'?"),
    ],
)
def test_the_other_direction_is_checked_like_the_first(reverse, message):
    assert message in _refusal({"path": {"reverse": reverse}})


def test_a_trace_gives_the_rate_of_the_other_direction(tmp_path):
    trace = tmp_path / "uplink.csv"
    trace.write_text("time_s,rate_Mbps\n0,4\n1,8\n2,6\n")
    path = tc.Path(reverse={"rate_trace": str(trace), "queue": "codel"})
    assert path.backward.rate == 6e6


def test_parts_of_a_path_lose_as_much_together_in_both_directions():
    for path in (tc.Path(reverse_loss="19%"), tc.Path(reverse={"loss": "19%", "jitter": "1ms"})):
        part = path.part(2)
        assert part.backward.loss == pytest.approx(0.1)
        assert part.backward.jitter == path.backward.jitter


def test_what_is_not_set_is_not_in_the_table():
    table = tc.Experiment().table()
    assert "reverse" not in table["path"]


def test_settings_reach_the_other_direction():
    experiment = scenario.build({}, {"path.reverse.rate": "3Mbps", "path.reverse.queue": "pie"})
    assert experiment.path.backward.rate == 3e6
    assert experiment.path.backward.queue.name == "pie"
    assert Experiment.parse(experiment.table()) == experiment


# Several tunnels

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
        (5, "tunnels = 5: expected a table of tunnels by name"),
        ({"a b": "vtun"}, "tunnels = 'a b': expected a name of letters, digits"),
        ({"": "vtun"}, "tunnels = '': expected a name of letters, digits"),
        ({"none": "vtun"}, "tunnels = 'none': expected another name"),
        ({"a": "wiregard"}, "tunnels.a = 'wiregard': expected one of ethudp"),
        ({"a": {"name": "vtun", "mut": 5}}, "tunnels.a.mut = 5: expected one of the keys name"),
        ({"a": {"cc": "bbr"}}, "tunnels.a.name: expected a tunnel"),
        ({"a": {"name": "none", "cc": "bbr"}}, "tunnels.a.cc = 'bbr': expected no value with"),
        ({"a": {"name": "vtun", "mtu": 5}}, "tunnels.a.mtu = 5: expected a whole number"),
    ],
)
def test_wrong_tunnels_are_told_by_their_name(tunnels, message):
    assert message in _refusal({"tunnels": tunnels})


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
        path.reverse.rate_trace = "up.csv"
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


# Hosts of flows


def test_from_is_a_key_in_toml_and_from_an_argument_in_python():
    flow = tc.Flow(from_="a", to="b", route=["a", "x", "b"], ack_route=["b", "a"])
    assert flow == Experiment.parse({"flows": [flow.table()]}).flows[0]
    assert flow == tc.Flow(**{"from": "a"}, to="b", route=["a", "x", "b"], ack_route=["b", "a"])
    assert (flow.from_, flow.table()["from"]) == ("a", "a")
    assert scenario.build({}, {"flows.0.from": "a", "flows.to": "5"}).flows[0].from_ == "a"
    assert scenario.parse_setting("--set", "flows.0.from=5") == ("flows.0.from", "5")


@pytest.mark.parametrize("group", ["flows", "cross_traffic"])
@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"from": "a"}, "0.to: expected a host, as from is given"),
        ({"to": "a"}, "0.from: expected a host, as to is given"),
        ({"from": "a", "to": "a"}, "0.to = 'a': expected another host than from"),
        ({"from": "a.b", "to": "a"}, "0.from = 'a.b': expected a name of letters"),
        ({"from_": "a", "to": "b"}, "0.from_ = 'a': expected one of the keys from, to"),
        ({"fro": "a"}, "unknown key, did you mean 'from'?"),
        ({"route": ["a"]}, "0.route = ['a']: expected a list of names of hosts, two or more"),
        ({"direction": "dwn"}, "expected one of 'up', 'down' (did you mean 'down'?)"),
    ],
)
def test_ends_are_checked(group, keys, message):
    table = {"rate": "1Mbps", **keys} if group == "cross_traffic" else keys
    assert message in _refusal({group: [table]})


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
