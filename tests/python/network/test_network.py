# SPDX-License-Identifier: GPL-2.0-only
"""Networks of links: what the keys mean."""

from __future__ import annotations

import itertools
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tunnelcc as tc
from tunnelcc import scenario
from tunnelcc.config import LinkDirection
from tunnelcc.config.keys import ExperimentKeys
from tunnelcc.network.checks import problems_of_names
from tunnelcc.network.resolve import resolve
from tunnelcc.network.topology import (
    ResolvedLink,
    Route,
    Step,
    Topology,
    of_network,
    of_path,
)
from tunnelcc.scenario import Experiment
from tunnelcc.schema.toml import write_toml
from tunnelcc.sweeps import axes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


# Hosts of flows


def test_from_is_a_key_in_toml_and_from_an_argument_in_python():
    ways = {"route": ["a", "c", "d"], "ack_route": ["d", "b", "a"]}
    flow = tc.Flow(from_="a", to="d", **ways)
    network = {"network": {"links": LINKS}}
    assert flow == Experiment.parse({**network, "flows": [flow.table()]}).flows[0]
    assert flow == tc.Flow(**{"from": "a"}, to="d", **ways)
    assert (flow.from_, flow.table()["from"]) == ("a", "a")
    told = scenario.build(network, {"flows.0.from": "a", "flows.to": "d"}).flows[0]
    assert (told.from_, told.to) == ("a", "d")
    assert scenario.parse_setting("--set", "flows.0.from=5") == ("flows.0.from", "5")


@pytest.mark.parametrize("group", ["flows", "cross_traffic", "pings"])
@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"from": "a"}, "0.to: expected a host, because from"),
        ({"to": "a"}, "0.from: expected a host, because to"),
        ({"from": "a", "to": "a"}, "0.to = 'a': expected another host"),
        ({"from": "a.b", "to": "a"}, "0.from = 'a.b': expected a name of at most"),
        ({"from_": "a", "to": "b"}, "0.from_ = 'a': expected one of the keys from, to"),
        ({"fro": "a"}, "unknown key, did you mean 'from'?"),
        ({"route": ["a"]}, "0.route = ['a']: expected a list of at least two host"),
        ({"direction": "dwn"}, "expected one of 'up', 'down' (did you mean 'down'?)"),
    ],
)
def test_ends_are_checked(group, keys, message, refusal):
    table = {"rate": "1Mbps", **keys} if group == "cross_traffic" else keys
    assert message in refusal({group: [table]})


# Networks


def _experiment(**table) -> ExperimentKeys:
    return ExperimentKeys.parse(table)


def _flow_routes(experiment: ExperimentKeys) -> list[Route]:
    found = resolve(experiment)
    return [placed.traffic.route for placed in found.flows]


def _topology(**network) -> Topology:
    experiment = _experiment(network=network)
    return of_network(experiment.network, experiment.path)


def _problems(**table) -> str:
    return "\n".join(map(str, problems_of_names(_experiment(**table))))


#: Two ways from a to d, one of which is fast; e is alone with f.
LINKS = {
    "ab": {"between": ["a", "b"], "rtt": "10ms"},
    "bd": {"between": ["d", "b"], "rtt": "10ms"},
    "ac": {"between": ["a", "c"], "rtt": "30ms"},
    "cd": {"between": ["c", "d"], "rtt": "30ms"},
    "ef": {"between": ["e", "f"]},
}


def test_one_path_is_a_network_of_two_hosts():
    path = tc.Path(reverse_rate="1Mbps")
    for direction, ends in (("up", ("client", "server")), ("down", ("server", "client"))):
        network = of_path([path], direction)
        assert network.hosts == ("client", "server")
        assert network.links == {"path": ResolvedLink(ends, path, "path")}
        assert network.pair(7) == ("client", "server")
        assert network.route("client", "server") == (Step("path", direction == "down"),)
        assert network.route("server", "client") == (Step("path", direction == "up"),)


def test_routes_have_the_least_delay():
    network = _topology(links=LINKS)
    assert network.hosts == ("a", "b", "d", "c", "e", "f")
    assert network.route("a", "d") == (("ab", False), ("bd", True))
    assert network.route("d", "a") == (("bd", False), ("ab", True))
    assert network.route("a", "d", ["a", "c", "d"]) == (("ac", False), ("cd", False))
    assert network.delay(network.route("a", "d")) == pytest.approx(0.010)


def test_of_equal_delays_fewer_links_and_then_earlier_ones_are_taken():
    equal = {name: {**link, "rtt": "10ms"} for name, link in LINKS.items()}
    assert [step.link for step in _topology(links=equal).route("a", "d")] == ["ab", "bd"]
    swapped = {name: equal[name] for name in ("cd", "ac", "bd", "ab")}
    assert [step.link for step in _topology(links=swapped).route("a", "d")] == ["ac", "cd"]
    direct = {**equal, "ad": {"between": ["a", "d"], "rtt": "20ms"}}
    assert [step.link for step in _topology(links=direct).route("a", "d")] == ["ad"]


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        (
            {"route": ["a", "c", "x", "d"]},
            "flows.1.route = ['a', 'c', 'x', 'd']: expected hosts from a, b, d, c, e, f (unknown "
            "host 'x')",
        ),
        ({"route": ["a", "c"]}, "flows.1.route = ['a', 'c']: expected a route from a to d"),
        ({"route": ["d", "c", "a"]}, "expected a route from a to d"),
        ({"ack_route": ["a", "c", "d"]}, "flows.1.ack_route = ['a', 'c', 'd']: expected a route "),
        (
            {"route": ["a", "b", "a", "c", "d"]},
            "flows.1.route = ['a', 'b', 'a', 'c', 'd']: expected a route that visits each host "
            "once (a is in it twice)",
        ),
        (
            {"route": ["a", "b", "c", "d"]},
            "flows.1.route = ['a', 'b', 'c', 'd']: expected a route along links (no link joins b",
        ),
        ({"to": "f"}, "flows.1.route: expected links that lead from a to f"),
        ({"from": "A"}, "flows.1.from = 'A': expected a host: a, b, d, c, e, f (did you mean 'a'?"),
        ({"to": "g"}, "flows.1.to = 'g': expected a host"),
        ({"tunnel": "wirguard"}, "flows.1.tunnel = 'wirguard': expected a name from tunnels, a"),
    ],
)
def test_routes_that_are_none_are_told_with_their_key(flow, message):
    table = {"network": {"links": LINKS}}
    good = {"from": "a", "to": "d", "route": ["a", "c", "d"]}
    assert _problems(**table, flows=[good, good]) == ""
    told = _problems(**table, flows=[good, {"from": "a", "to": "d", **flow}])
    assert message in told
    assert told.count("expected") == 1


def test_a_network_of_more_hosts_needs_ends():
    assert _problems(network={"links": LINKS}).startswith("flows.0.from: expected a host here and")
    one = {"ab": LINKS["ab"]}
    assert _problems(network={"links": one}) == ""
    assert _topology(links=one).pair(3) == ("a", "b")


def test_ends_without_a_network_are_client_and_server():
    assert _problems(flows=[{"from": "server", "to": "client"}]) == ""
    assert "flows.0.to = 'serve': expected a host: client, server (did you mean 'server'?)" in (
        _problems(flows=[{"from": "client", "to": "serve"}])
    )


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ({}, "network.links: expected at least one link, or network.shape"),
        ({"links": {"a": {}}}, "network.links.a.between: expected two hosts"),
        (
            {"links": {"a": {"between": ["x", "x"]}}},
            "links.a.between = ['x', 'x']: expected a list",
        ),
        ({"links": {"a b": LINKS["ab"]}}, "network.links = 'a b': expected a name of at most"),
        (
            {"links": {"a": LINKS["ab"], "b": {"between": ["b", "a"]}}},
            "network.links.b.between = ['b', 'a']: expected two hosts that no other link joins (a "
            "joins these)",
        ),
        (
            {"links": LINKS, "hosts": {"bb": {"cores": 1}}},
            "network.hosts.bb: expected a host of a link: a, b, d, c, e, f (did you mean",
        ),
        (
            {"links": LINKS, "bottleneck": "b"},
            "network.bottleneck = 'b': expected a link: ab, bd, ac, cd, ef",
        ),
        (
            {"links": LINKS, "size": 3},
            "network.size = 3: expected no value: it needs network.shape",
        ),
        (
            {"links": LINKS, "access": {}},
            "network.access: expected no value: it needs network.shape",
        ),
        ({"shape": "star"}, "network.size: expected the number of hosts in a star"),
        ({"shape": "ring", "size": 2}, "network.size = 2: expected at least 3 hosts in a ring"),
        (
            {"shape": "mesh", "size": 92},
            "network.size = 92: expected a mesh with at most 4096 links (this one has 4186)",
        ),
        ({"shape": "ring", "size": 4096, "links": LINKS}, "network.links = 4101: expected at most"),
        (
            {"shape": "line", "size": 2, "access": {"rate": "1Mbps"}},
            "network.access: expected no value, because a line has no",
        ),
        (
            {"shape": "line", "size": 2, "links": {"hop3": {"rate": "1Mbps"}}},
            "network.links.hop3.between: expected two hosts, or the name of a link of the line "
            "(did you mean 'hop2'?)",
        ),
        (
            {"shape": "line", "size": 2, "links": {"hop1": {"between": ["host0", "host1"]}}},
            "network.links.hop1.between = ['host0', 'host1']: expected no value",
        ),
        (
            {"shape": "dumbbell", "size": 2, "access": {"between": ["a", "b"]}},
            "network.access.between = ['a', 'b']: expected no value",
        ),
        ({"shap": "line"}, "network.shap = 'line': expected one of the keys shape, size, access"),
        ({"links": {"a": {**LINKS["ab"], "rat": 5}}}, "links.a.rat = 5: expected one of the keys"),
        (
            {"links": {"a": {**LINKS["ab"], "rate": "5"}}},
            "network.links.a.rate = '5': expected a r",
        ),
    ],
)
def test_wrong_networks_are_refused(network, message, refusal):
    assert message in refusal({"network": network})


# Links, and what differs on them


def _link(link: dict, path: dict | None = None):
    network = {"links": {"ab": {"between": ["a", "b"], **link}}}
    experiment = _experiment(network=network, path=path or {})
    return of_network(experiment.network, experiment.path).links["ab"].path


def test_a_link_is_as_path_but_for_what_it_says():
    path = {"rate": "7Mbps", "loss": "1%", "queue": "codel", "mtu": 1400, "jitter": "1ms"}
    assert _link({}, path) == tc.Path(**path)
    assert _link({"rate": "9Mbps"}, path) == tc.Path(**{**path, "rate": "9Mbps"})
    # What is as the default, but not as in path
    assert _link({"loss": "0%", "queue": "drop-tail"}, path).queue.name == "drop-tail"
    assert _link({"loss": "0%"}, path).loss == 0


@pytest.mark.parametrize(
    ("path", "link", "expected"),
    [
        ({"rate_steps": [["1s", "1Mbps"]]}, {"rate": "9Mbps"}, {"rate": "9Mbps"}),
        ({"gilbert_elliott": {"p": 0.1, "r": 0.1}}, {"loss": "1%"}, {"loss": "1%"}),
        (
            {"loss": "1%"},
            {"gilbert_elliott": {"p": 0.1, "r": 0.1}},
            {"gilbert_elliott": {"p": 0.1, "r": 0.1}},
        ),
        ({"ecn_threshold": "9p"}, {"queue": "codel"}, {"queue": "codel"}),
        ({"ecn_threshold": "9p"}, {"ecn_threshold": "8p"}, {"ecn_threshold": "8p"}),
    ],
)
def test_what_a_link_says_takes_the_place_of_what_excludes_it(path, link, expected):
    assert _link(link, path) == tc.Path(**expected)
    directions = {"path": {"reverse": {"rate": "9Mbps", **path}}, "link": {"reverse": link}}
    reverse = _link(directions["link"], directions["path"]).backward
    assert reverse == LinkDirection(**{"rate": "9Mbps", **expected})


@pytest.mark.parametrize("long", [True, False])
@pytest.mark.parametrize("over_long", [True, False])
def test_both_forms_of_the_other_direction_may_meet(long, over_long):
    path = {"reverse": {"rate": "3Mbps", "loss": "2%"}}
    path = path if long else {"reverse_rate": "3Mbps", "reverse_loss": "2%"}
    link = {"reverse": {"rate": "5Mbps"}} if over_long else {"reverse_rate": "5Mbps"}
    backward = _link(link, path).backward
    assert (backward.rate, backward.loss) == (5e6, 0.02)


def test_a_link_conflicts_with_path_under_its_own_key():
    links = {"ab": {"between": ["a", "b"], "ecn_threshold": "9p"}}
    told = _problems(path={"queue": "codel"}, network={"links": links})
    assert told == (
        "network.links.ab.ecn_threshold = '9p': expected no threshold with codel, which marks "
        "packets itself"
    )
    told = _problems(network={"shape": "dumbbell", "size": 1, "access": {"queue": "codel"}})
    assert told.startswith("network.access.queue = 'codel': expected no value without a rate")


def test_networks_survive_toml_with_what_is_not_given():
    network = {
        "shape": "dumbbell",
        "size": 2,
        "access": {"rtt": "0s", "reverse": {"loss": "0%"}},
        "links": {
            "bottleneck": {"loss": "0%", "reverse": {"rate": "1Mbps"}},
            "side": {"between": ["left", "other"], "queue": "drop-tail"},
        },
        "hosts": {"client1": {"cores": 1}},
        "bottleneck": "client1",
    }
    experiment = _experiment(network=network, path={"loss": "1%"})
    table = experiment.table()
    assert table["network"] == network
    assert Experiment.parse(tomllib.loads(write_toml(Experiment.parse(table).table()))) == (
        Experiment.parse(table)
    )
    assert "network" not in tc.Experiment().table()


def test_links_that_say_the_default_differ_from_those_that_say_nothing():
    assert tc.Link(loss="0%") != tc.Link()
    assert tc.Link(loss="0%") == tc.Link(loss=0)


def test_settings_and_files_reach_links(tmp_path):
    (tmp_path / "down.csv").write_text("time_s,rate_Mbps\n0,4\n")
    (tmp_path / "scenario.toml").write_text("""
        [network]
        shape = "parking-lot"
        size = 3
        links.hop2.trace = "down.csv"
        links.hop3.reverse.trace = "down.csv"
        """)
    table = scenario.read_scenario(tmp_path / "scenario.toml")
    settings = {"network.links.hop1.rate": "5Mbps", "network.access.rtt": "4ms"}
    settings |= {"network.links.hop1.queue": "codel", "network.links.hop1.queue.target": "9ms"}
    experiment = scenario.build(table, settings)
    links = of_network(experiment.network, experiment.path).links
    assert [links[f"hop{i}"].path.rate for i in (1, 2, 3)] == [5e6, 4e6, 100e6]
    assert links["hop3"].path.backward.rate == 4e6
    assert links["hop1"].path.queue.target == 0.009
    assert links["client2"].path.rtt == 0.004
    axis = axes.parse_axis(
        "network.links.hop1.rate", {"from": "1Mbps", "to": "3Mbps", "steps": 3}, table
    )
    assert axes.coordinate(axis, table, table).values == (1e6, 2e6, 3e6)


# Hosts


def test_hosts_of_a_network_differ_by_name():
    keys = _experiment(
        network={"links": LINKS, "hosts": {"b": {"cores": 7}}}, hosts={"speed": 2, "cores": 3}
    )
    assert [keys.network.host(name, keys.hosts).cores for name in "ab"] == [3, 7]
    assert keys.network.host("b", keys.hosts).speed == 2


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"hosts": {"client": {"cores": 1}}}, "hosts.client: expected no value with network"),
        (
            {"network": {"hosts": {"a": {"tcp_adv_win_scale": 1}}}},
            "network.hosts.a.tcp_adv_win_scale = 1: expected no value with kernel 6.18",
        ),
    ],
)
def test_hosts_that_cannot_be(table, message):
    network = {"links": {"ab": LINKS["ab"]}, **table.pop("network", {})}
    assert message in _problems(network=network, **table)
    assert _problems(network={"links": {"ab": LINKS["ab"]}}) == ""


# Shapes


@pytest.mark.parametrize(
    ("shape", "size", "hosts", "links", "pairs"),
    [
        (
            "dumbbell", 2, {"client1", "client2", "left", "right", "server1", "server2"}, 5,
            [("client1", "server1"), ("client2", "server2"), ("client1", "server1")],
        ),
        (
            "parking-lot", 2,
            {f"{kind}{i}" for kind in ("client", "server", "router") for i in range(3)}, 8,
            [("client0", "server0"), ("client1", "server1"), ("client2", "server2")],
        ),
        ("line", 3, {"host0", "host1", "host2", "host3"}, 3, [("host0", "host3")] * 2),
        (
            "star", 3, {"hub", "host1", "host2", "host3"}, 3,
            [("host1", "host2"), ("host2", "host3"), ("host3", "host1"), ("host1", "host2")],
        ),
        ("star", 2, {"hub", "host1", "host2"}, 2, [("host1", "host2"), ("host2", "host1")]),
        (
            "ring", 4, {f"host{i}" for i in range(1, 5)}, 4,
            [("host1", "host3"), ("host2", "host4"), ("host3", "host1"), ("host4", "host2")],
        ),
        ("mesh", 5, {f"host{i}" for i in range(1, 6)}, 10, [("host1", "host3")]),
    ],
)  # fmt: skip
def test_shapes(shape, size, hosts, links, pairs):
    network = _topology(shape=shape, size=size)
    assert set(network.hosts) == hosts
    assert len(network.links) == links
    assert [network.pair(index) for index in range(len(pairs))] == pairs
    assert all(network.route(*pair) for pair in pairs)


@pytest.mark.parametrize(
    ("shape", "pair", "links"),
    [
        ("dumbbell", 2, ["client3", "bottleneck", "server3"]),
        ("parking-lot", 0, ["client0", "hop1", "hop2", "hop3", "server0"]),
        ("parking-lot", 2, ["client2", "hop2", "server2"]),
        ("line", 0, ["hop1", "hop2", "hop3"]),
        ("star", 0, ["spoke1", "spoke2"]),
        ("ring", 2, ["ring3"]),
        ("mesh", 1, ["host2-host3"]),
    ],
)
def test_routes_in_shapes(shape, pair, links):
    network = _topology(shape=shape, size=3)
    start, end = network.pair(pair)
    there, back = network.route(start, end), network.route(end, start)
    assert [step.link for step in there] == links
    assert back == tuple(Step(link, not is_reverse) for link, is_reverse in reversed(there))


def test_access_links_delay_nothing_and_have_no_rate_unless_they_say_so():
    path = {"rate": "5Mbps", "loss": "1%", "mtu": 9000, "framing": "ethernet"}
    network = {"shape": "dumbbell", "size": 2, "links": {"server2": {"rtt": "8ms"}}}

    def links(**access):
        keys = _experiment(network=network | access, path=path)
        return of_network(keys.network, keys.path).links

    plain = links()
    assert plain["bottleneck"].path == tc.Path(**path)
    access = plain["client1"].path
    assert (access.rate, access.rtt, access.loss, access.mtu) == (None, 0, 0, 9000)
    assert (access.framing, access.backward.rate) == ("ethernet", None)
    assert plain["server2"].path.rtt == 0.008
    slow = links(access={"rate": "1Mbps", "rtt": "2ms"})
    assert (slow["client1"].path.rate, slow["client1"].path.rtt) == (1e6, 0.002)
    assert (slow["server2"].path.rate, slow["server2"].path.rtt) == (1e6, 0.008)


def test_a_route_takes_time():
    links = {"spare": {"between": ["client1", "server1"], "rtt": "0s"}}
    network = {"shape": "dumbbell", "size": 1}
    assert _problems(network=network) == ""
    told = _problems(network={**network, "links": links})
    assert told == "flows.0.route: expected a route with an rtt above 0 (spare have none)"


def test_links_beside_a_shape_are_added():
    extra = {"short": {"between": ["host1", "host3"], "rtt": "1ms"}}
    network = _topology(shape="ring", size=4, links=extra)
    assert network.route("host1", "host3") == (("short", False),)
    assert network.pair(0) == ("host1", "host3")


def test_large_shapes_are_quick():
    experiment = _experiment(network={"shape": "dumbbell", "size": 2047}, flows=[{"count": 4000}])
    before = time.process_time()
    assert not list(problems_of_names(experiment))
    routes = _flow_routes(experiment)
    assert time.process_time() - before < 3
    assert routes[2047].client == "client1"
    assert [step.link for step in routes[3999].to_client] == [
        "server1953",
        "bottleneck",
        "client1953",
    ]


# Routes of an experiment


def test_flows_without_ends_take_pairs_in_turn():
    experiment = _experiment(
        network={"shape": "dumbbell", "size": 3},
        flows=[{"count": 2}, {"from": "client1", "to": "client2"}, {"count": 2}],
    )
    ends = [(it.client, it.server) for it in _flow_routes(experiment)]
    assert ends == [
        ("client1", "server1"), ("client2", "server2"), ("client1", "client2"),
        ("client1", "server1"), ("client2", "server2"),
    ]  # fmt: skip


def test_data_and_acks_may_take_different_ways():
    flow = {"from": "a", "to": "d", "route": ["a", "c", "d"]}
    experiment = _experiment(network={"links": LINKS}, flows=[flow])
    (route,) = _flow_routes(experiment)
    assert [step.link for step in route.to_server] == ["ac", "cd"]
    assert [step.link for step in route.to_client] == ["cd", "ac"], "the same way back"
    flow["ack_route"] = ["d", "b", "a"]
    experiment = _experiment(network={"links": LINKS}, flows=[flow])
    (route,) = _flow_routes(experiment)
    assert [step.link for step in route.to_client] == ["bd", "ab"]


@pytest.mark.parametrize(
    ("source", "steps"),
    [
        ({}, [("ab", False), ("bd", True)]),
        ({"route": ["a", "c", "d"]}, [("ac", False), ("cd", False)]),
    ],
)
def test_cross_traffic_goes_its_way(source, steps):
    source = {"rate": "1Mbps", "from": "a", "to": "d", **source}
    experiment = _experiment(
        network={"links": LINKS}, flows=[{"from": "e", "to": "f"}], cross_traffic=[source]
    )
    route = resolve(experiment).cross_traffic[0].traffic.route
    assert list(route.to_server) == steps
    assert not list(problems_of_names(experiment))
    wrong = _experiment(
        network={"links": LINKS}, flows=[{"from": "e", "to": "f"}],
        cross_traffic=[{**source, "route": ["a", "d"]}],
    )  # fmt: skip
    (problem,) = problems_of_names(wrong)
    assert problem.key == "cross_traffic.0.route"


@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize("shape", ["dumbbell", "parking-lot", "line"])
def test_keys_of_a_shape_describe_the_direction_of_the_data(shape, direction):
    """A download through a dumbbell meets the loss of path, as one on a single path does."""
    path = {"loss": "1%", "queue": "codel", "reverse_rate": "5Mbps"}
    network = {"shape": shape, "size": 2, "hosts": {}}
    found = resolve(_experiment(path=path, network=network, direction=direction))
    assert not any(step.is_reverse for step in found.first.loads)
    met = found.direction(found.bottleneck)
    assert (met.loss, met.queue.name, met.rate) == (0.01, "codel", 100e6)
    back = found.topology.links[found.bottleneck.link].backward
    assert (back.loss, back.queue.name, back.rate) == (0, "drop-tail", 5e6)


def test_a_network_whose_flows_all_go_down_is_one_of_downloads():
    network = {"shape": "dumbbell", "size": 2}
    found = resolve(
        _experiment(path={"loss": "1%"}, network=network, flows=[{"direction": "down"}])
    )
    assert found.experiment.direction == "down"
    assert found.direction(found.bottleneck).loss == 0.01


@pytest.mark.parametrize(
    ("network", "flow", "link"),
    [
        (None, {}, "path"),
        ({"shape": "dumbbell", "size": 2}, {}, "bottleneck"),
        ({"shape": "dumbbell", "size": 2, "bottleneck": "client2"}, {}, "client2"),
        ({"shape": "parking-lot", "size": 3}, {}, "hop1"),
        ({"shape": "parking-lot", "size": 3, "links": {"hop2": {"rate": "1Mbps"}}}, {}, "hop2"),
        (
            {"shape": "line", "size": 3, "links": {"hop3": {"reverse_rate": "1Mbps"}}},
            {"direction": "up"}, "hop1",
        ),
        (
            {"shape": "line", "size": 3, "links": {"hop3": {"reverse_rate": "1Mbps"}}},
            {"direction": "down"}, "hop3",
        ),
    ],
)  # fmt: skip
def test_the_bottleneck_is_the_slowest_link_of_the_first_flow(network, flow, link):
    experiment = _experiment(network=network, flows=[flow])
    assert resolve(experiment).bottleneck.link == link


# Random graphs


@st.composite
def graphs(draw):
    """Connected graphs: a tree, and some more links; few different delays, so that many tie."""
    size = draw(st.integers(2, 9))
    pairs = {frozenset((host, draw(st.integers(0, host - 1)))) for host in range(1, size)}
    others = [frozenset(pair) for pair in itertools.combinations(range(size), 2)]
    pairs |= draw(st.sets(st.sampled_from(others), max_size=size))
    links = {}
    for index, pair in enumerate(draw(st.permutations(sorted(map(sorted, pairs))))):
        one, other = draw(st.permutations(pair))
        rtt = draw(st.sampled_from([1, 2, 3]))
        links[f"l{index}"] = {"between": [f"h{one}", f"h{other}"], "rtt": f"{rtt}ms"}
    return links


def _simple_routes(links: dict, start: str, end: str):
    """Every route that passes no host twice, as hosts and the numbers of links."""
    stack = [([start], [])]
    while stack:
        hosts, taken = stack.pop()
        if hosts[-1] == end:
            yield taken
            continue
        for number, link in enumerate(links.values()):
            if hosts[-1] in link["between"]:
                (other,) = set(link["between"]) - {hosts[-1]}
                if other not in hosts:
                    stack.append(([*hosts, other], [*taken, number]))


@settings(deadline=None, max_examples=150)
@given(graphs(), st.data())
def test_routes_are_the_best_of_all(links, data):
    network = _topology(links=links)
    start, end = data.draw(st.permutations(network.hosts))[:2]
    route = network.route(start, end)
    here, passed = start, [start]
    for link, is_reverse in route:
        ends = network.links[link].ends
        assert ends[is_reverse] == here
        here = ends[not is_reverse]
        passed.append(here)
    assert here == end
    assert len(set(passed)) == len(passed)

    def cost(numbers):
        delays = [int(list(links.values())[number]["rtt"].removesuffix("ms")) for number in numbers]
        return sum(delays), len(numbers), numbers

    names = list(links)
    best = min(_simple_routes(links, start, end), key=cost)
    assert [names.index(step.link) for step in route] == best
    assert network.route(start, end, passed) == route == _topology(links=links).route(start, end)


@settings(deadline=None, max_examples=60)
@given(graphs(), st.data())
def test_networks_are_written_as_they_are_read(links, data):
    keys = st.fixed_dictionaries(
        {},
        optional={
            "rate": st.sampled_from(["100Mbps", "5Mbps"]),
            "loss": st.sampled_from(["0%", "1%"]),
            "queue": st.sampled_from(["drop-tail", "pie"]),
            "reverse_loss": st.sampled_from(["0%", "3%"]),
            "reverse": st.fixed_dictionaries({}, optional={"rate": st.just("8Mbps")}),
        },
    )
    links = {name: {**link, **data.draw(keys)} for name, link in links.items()}
    path = data.draw(keys)
    experiment = _experiment(path=path, network={"links": links})
    again = ExperimentKeys.parse(tomllib.loads(write_toml(experiment.table())))
    assert again == experiment
    assert of_network(again.network, again.path) == of_network(experiment.network, experiment.path)


def test_a_queue_of_an_access_link_is_told_by_its_own_key():
    table = {
        "path": {"rate": "20Mbps", "rtt": "30ms"},
        "network": {"shape": "dumbbell", "size": 2, "access": {"rate": "1Mbps"}},
        "flows": [{}],
    }
    with pytest.raises(tc.ConfigError, match=r"network\.access\.buffer") as caught:
        tc.Experiment.parse(table)
    assert "path.buffer" not in str(caught.value)


@pytest.mark.parametrize(("size", "rtt", "whole"), [(3, "20ms", "60ms"), (8, "0.1ms", "800us")])
def test_a_flow_may_have_exactly_the_rtt_of_its_links(size, rtt, whole):
    table = {"network": {"shape": "line", "size": size}, "path": {"rtt": rtt, "buffer": "9p"}}
    Experiment.parse({**table, "flows": [{"rtt": whole}]})
    with pytest.raises(tc.ConfigError, match=f"expected {whole} or more"):
        Experiment.parse({**table, "flows": [{"rtt": "10us"}]})


@pytest.mark.parametrize("traffic", ["flows", "pings"])
@pytest.mark.parametrize("host", ["host1", "host2"])
def test_a_relay_on_the_host_of_an_end_is_refused_whatever_goes_through_it(traffic, host):
    through = {"pings": [{"interval": "10ms"}]} if traffic == "pings" else {}
    with pytest.raises(tc.ConfigError, match=rf"chain\.0\.host = '{host}': expected another host"):
        tc.run(
            {
                "duration": "1s",
                "network": {"shape": "mesh", "size": 2},
                "tunnel": {"name": "gost-relay-ws", "chain": [{"host": host}]},
                "flows": [{"tunnel": "none"}] if traffic == "pings" else [{}],
                **through,
            },
            progress=False,
        )
