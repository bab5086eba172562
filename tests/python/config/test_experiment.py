# SPDX-License-Identifier: GPL-2.0-only
"""Experiments: what their keys mean together, messages about wrong ones, and their TOML."""

from __future__ import annotations

import dataclasses
import math
import re
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tunnelcc as tc
from tunnelcc import core, scenario
from tunnelcc.errors import nearest
from tunnelcc.network.draws import pareto, single_flows, uniform
from tunnelcc.network.resolve import resolve
from tunnelcc.running import harm
from tunnelcc.scenario import Experiment
from tunnelcc.schema.toml import write_toml
from tunnelcc.schema.units import Buffer

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.mark.parametrize(
    ("table", "key", "hint"),
    [
        ({"pth": {}}, "pth", "did you mean 'path'?"),
        ({"loss": "1%"}, "loss", "did you mean 'path.loss'?"),
        ({"los": "1%"}, "los", "did you mean 'path.loss'?"),
        ({"tcp_rmem": "1MB"}, "tcp_rmem", "did you mean 'hosts.tcp_rmem'?"),
        ({"path": {"rat": "1Mbps"}}, "path.rat", "did you mean 'rate'?"),
        ({"flows": [{"ccc": "bbr"}]}, "flows.0.ccc", "did you mean 'cc'?"),
        ({"tcp": {"timestamp": True}}, "tcp.timestamp", "did you mean 'timestamps'?"),
        # What other tools call so.
        ({"path": {"bandwidth": "1Mbps"}}, "path.bandwidth", "did you mean 'rate'?"),
        ({"delay": "20ms"}, "delay", "did you mean 'path.rtt'?"),
        ({"flows": [{"congestion_control": "bbr"}]}, "flows.0.congestion_control", "'cc'?"),
        (
            {"network": {"links": {"a": {"from": "x"}}}},
            "network.links.a.from",
            "did you mean 'between'?",
        ),
        ({"hosts": {"client": {"core": 1}}}, "hosts.client.core", "did you mean 'cores'?"),
        ({"tunnel": {"name": "gost-relay-ws", "c": 1}}, "tunnel.c", "did you mean 'cc'?"),
        ({"tunnel": "gost-relay-sw"}, "tunnel", "did you mean 'gost-relay-ws'?"),
        ({"flows": [{"cc": "cubik"}]}, "flows.0.cc", "did you mean 'cubic'?"),
        ({"flows": [{"cc": "ns3::TcpBrb"}]}, "flows.0.cc", "did you mean 'ns3::TcpBbr'?"),
        ({"flows": [{"cc": {"name": "bbr", "cwnd_gian": 2}}]}, "cwnd_gian", "'cwnd_gain'"),
    ],
)
def test_unknown_names_are_told_with_the_nearest(table, key, hint, refusal):
    told = refusal(table)
    assert key in told
    assert hint in told


def test_newreno_is_reno():
    flow = {"cc": {"name": "newreno", "pacing": True}}
    experiment = Experiment.parse({"flows": [flow]})
    assert experiment.flows[0].cc.name == "reno"
    assert experiment == Experiment.parse({"flows": [{"cc": {"name": "reno", "pacing": True}}]})


@pytest.mark.parametrize("kernel", [5.10, 6.18])
def test_a_version_that_is_a_number_needs_quotes(kernel, refusal):
    assert "in quotes" in refusal({"hosts": {"kernel": kernel}})
    assert "in quotes" in refusal({"hosts": {"server": {"kernel": kernel}}})
    assert "quotes" not in refusal({"hosts": {"kernel": "5.11"}})


@pytest.mark.parametrize(
    ("hop", "path"),
    [
        ({"buffer": "100B"}, {}),
        ({"rtt": "10us"}, {}),
        ({"rate": "100kbps"}, {}),
        ({"rtt": "10us"}, {"buffer": "9p", "reverse_rate": "1Mbps"}),
    ],
)
def test_a_queue_beyond_a_relay_has_room_for_a_packet(hop, path, refusal):
    tunnel = {"name": "gost-relay-ws", "chain": [{}, hop]}
    key = "reverse_buffer" if path.get("reverse_rate") else "buffer"
    assert f"tunnel.chain.1.{key}" in refusal({"path": path, "tunnel": tunnel})
    assert "room for one packet" in refusal({"path": path, "tunnel": tunnel})
    Experiment.parse({"path": path, "tunnel": {**tunnel, "chain": [{}]}})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"path": {"jitter": "1ms"}}, "path.jitter"),
        ({"path": {"reorder": "1%"}}, "path.reorder"),
        ({"path": {"gilbert_elliott": {"p": "1%", "r": "20%"}}}, "path.gilbert_elliott"),
        ({"path": {"policer": {"rate": "9Mbps"}}}, "path.policer"),
        ({"flows": [{"rtt": "1ms"}]}, "flows.0.rtt"),
        ({"path": {"rtt": "130us"}}, "path.buffer"),
    ],
)
def test_relays_divide_what_can_be_divided(table, message, refusal):
    assert message in refusal({**table, "tunnel": {"name": "gost-relay-ws", "relays": 1}})
    Experiment.parse({**table, "tunnel": {"name": "gost-relay-ws", "relays": 0}})


def test_relays_are_not_beside_a_chain(refusal):
    tunnel = {"name": "gost-relay-ws", "relays": 1, "chain": [{}]}
    assert "because chain is given" in refusal({"tunnel": tunnel})
    assert "no value with wireguard" in refusal({"tunnel": {"name": "wireguard", "relays": 1}})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"flows": [{"cc": {"probe_rtt_interval": "5s"}}]},
            "flows.0.cc.name: expected the name of the congestion control",
        ),
        ({"tunnel": "nofile.toml"}, "tunnel = 'nofile.toml': expected a readable TOML file (No"),
        (
            {"tunnel": {"name": "nofile.toml", "mtu": 1400}},
            "tunnel.name = 'nofile.toml': expected a readable TOML file (No such file",
        ),
        (
            {"hosts": {"profile": "nofile.toml"}},
            "hosts.profile = 'nofile.toml': expected a readable TOML file (No such file or dir",
        ),
        (
            {"tunnel": {"name": "ethudp", "chain": [{"rtt": "10ms"}]}},
            "tunnel.chain.0.rtt = '10ms': expected no value with ethudp",
        ),
        (
            {"tunnel": {"name": "ethudp", "cc": {"name": "bbr", "cwnd_gain": 2}}},
            "tunnel.cc = 'bbr': expected no value with ethudp",
        ),
        ({"pth": {"rate": "1Mbps", "rtt": "1ms"}}, "pth: expected one of the keys title, path"),
        ({"flow": [{"cc": "bbr"}]}, "flow: expected one of the keys title, path"),
        ({"tcp": {"mss_": [1]}}, "tcp.mss_ = [1]: expected one of the keys"),
        (
            {"tunnel": {"name": "gost-relay-ws", "chain": [{"name": "x"}]}},
            "tunnel.chain.0.name = 'x': expected one of the keys host, rate, rtt, loss, buffer, cc "
            "(unknown key)",
        ),
        ({"path": {"ip": 5}}, "path.ip = 5: expected one of 4, 6"),
        ({"path": {"ip": "IPv6"}}, "path.ip = 'IPv6': expected one of 4, 6"),
        (
            {"path": {"ip": 6, "mtu": 1000}},
            "path.mtu = 1000: expected at least 1280 if path.ip is 6",
        ),
        (
            {"path": {"ip": 6}, "network": {"links": {"a": {"between": ["x", "y"], "mtu": 600}}}},
            "network.links.a.mtu = 600: expected at least 1280 if path.ip is 6",
        ),
        (
            {"path": {"ip": 6}, "cross_traffic": {"rate": "1Mbps", "packet": 40}},
            "cross_traffic.0.packet = 40: expected at least 48 if path.ip is 6",
        ),
        (
            {"tunnel": {"name": "wireguard", "ip": 6, "mtu": 1200}},
            "tunnel.mtu = 1200: expected at least 1280 if tunnel.ip is 6",
        ),
        (
            {"tunnel": {"name": "ipsec-esp", "ip": 6}, "path": {"mtu": 1000}},
            "tunnel.mtu = 1000: expected at least 1280 if tunnel.ip is 6",
        ),
        (
            {
                "tunnel": {
                    "name": "gost-relay-ws",
                    "under": {"name": "wireguard", "ip": 6, "mtu": 1200},
                }
            },
            "tunnel.under.mtu = 1200: expected at least 1280 if tunnel.under.ip is 6",
        ),
    ],
)
def test_messages_say_what_is_wrong(table, message, refusal):
    assert message in refusal(table)


def test_files_in_which_something_is_wrong_are_named(tmp_path):
    file = tmp_path / "mine.toml"
    for text, problem in (("kind = ", "valid TOML"), ("kind = 'relais'", "one of relay")):
        file.write_text(text)
        with pytest.raises(tc.ConfigError) as caught:
            Experiment.parse({"tunnel": str(file)})
        assert problem in str(caught.value)
        assert str(caught.value).count(str(file)) == 1
        assert "tunnel.file" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "known", "suggested"),
    [
        ("name", ["rate", "rtt"], None),
        ("rat", ["rate", "rtt"], "rate"),
        ("rtt", ["path.rtt", "path.rate"], "path.rtt"),
        ("", ["path.rtt", "x"], None),
        ("CUBIK", ["cubic", "bbr"], "cubic"),
    ],
)
def test_suggestions_are_near(name, known, suggested):
    assert nearest(name, known) == (f"did you mean {suggested!r}?" if suggested else "")


@pytest.mark.parametrize(
    "table",
    [
        {"path": 5}, {"path": []}, {"flows": 5}, {"flows": []}, {"flows": [5]},
        {"tcp": "x"}, {"hosts": None}, {"tunnel": 5}, {"tunnel": []}, {"tunnel": {}}, [], 5,
        {"flows": [{"cc": None}]}, {"flows": [{"cc": []}]}, None, {"flows": {}, "x": 1},
        {"flows": [{"cc": {"name": "bbr", "parameters": 5}}]},
    ],
)  # fmt: skip
def test_wrong_structure_is_refused(table):
    with pytest.raises(tc.ConfigError, match="expected"):
        Experiment.parse(table)


@pytest.mark.parametrize("gain", ["big", True, float("nan"), float("inf"), -1, 1e9])
def test_bad_parameters_are_refused(gain):
    with pytest.raises(tc.ConfigError, match="cwnd_gain"):
        tc.Flow(cc={"name": "bbr", "cwnd_gain": gain})


@pytest.mark.parametrize(
    ("name", "key", "value", "number"),
    [
        ("bbr", "probe_rtt_interval", "5s", 5.0),
        ("bbr", "probe_rtt_duration", "150ms", 0.15),
        ("bbr", "probe_rtt_interval", 5, 5.0),
        ("bbr", "min_tso_rate", "1.2Mbps", 150000.0),
        ("bbr", "min_tso_rate", "150kB/s", 150000.0),
        ("bbr", "policer_detection", False, False),
        ("bbr3", "loss_threshold", "1%", 0.01),
        ("bbr3", "startup_gain", "289%", 2.89),
        ("bbr3", "reno_max_rounds", 31.0, 31),
        ("cubic", "hystart_plus_plus", True, True),
        ("vegas", "alpha", 4, 4),
        ("westwood", "rtt_min", "20ms", 0.02),
        ("ns3::TcpBbr", "RttWindowLength", "5s", 5.0),
    ],
)
def test_parameters_have_units(name, key, value, number):
    flow = tc.Flow(cc={"name": name, key: value})
    assert flow.cc.parameters == {key: number}
    assert type(flow.cc.parameters[key]) is type(number)
    assert tc.Flow(cc=flow.table()["cc"]) == flow


def test_every_parameter_can_be_set_from_a_scenario():
    for name in core.congestion_controls():
        parameters = core.congestion_parameters(name)
        required = {item.name: item.minimum for item in parameters if item.is_required}
        for parameter in parameters:
            number = required.get(parameter.name, parameter.default)
            value = f"{number}s" if parameter.unit == "s" else number
            flow = tc.Flow(cc={"name": name, **required, parameter.name: value})
            assert flow.cc.parameters == {**required, parameter.name: number}


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("probe_rtt_interval", "5", "the unit is missing"),
        ("probe_rtt_interval", "5sec", "unknown unit 'sec'"),
        ("probe_rtt_interval", "5Mbps", "a time such as"),
        ("probe_rtt_interval", "0s", "a number from 0.001 to 1e+06 (s)"),
        ("cwnd_gain", "2s", "unknown unit 's'"),
        ("min_tso_rate", "5s", "a rate such as"),
        ("policer_detection", 1, "true or false"),
        ("policer_detection", "yes", "true or false"),
        ("min_cwnd", 2.5, "a whole number from 1 to 1e+06 (segments)"),
        ("min_cwnd", "4p", "a whole number"),
        ("min_cwnd", True, "a whole number"),
    ],
)
def test_bad_values_of_parameters_are_explained(key, value, expected):
    with pytest.raises(tc.ConfigError, match=key) as caught:
        tc.Flow(cc={"name": "bbr", key: value})
    assert expected in str(caught.value)


def test_flows_are_counted_over_all_groups():
    with pytest.raises(tc.ConfigError, match="at most 16384 flows"):
        tc.Experiment(flows=[tc.Flow(count=16_384), tc.Flow()])


def test_a_server_needs_a_request():
    with pytest.raises(tc.ConfigError, match=r"flows\.0\.preamble = 0.*waits for a request"):
        Experiment.parse({"flows": [{"preamble": 0}], "direction": "down"})


def test_writes_are_not_for_free():
    hosts = {"app_cost": 1, "speed": 100}
    with pytest.raises(tc.ConfigError, match=r"flows\.0\.write_size = 100: .*1us"):
        Experiment.parse({"flows": [{"write_size": 100}], "hosts": hosts})
    Experiment.parse({"flows": [{"write_size": "128KiB"}], "hosts": hosts})


def test_datagrams_do_not_come_faster_than_a_run_can_count():
    traffic = {"rate": "400Gbps", "packet": 28}
    with pytest.raises(tc.ConfigError, match=r"cross_traffic\.0\.packet = 28: .*10ns"):
        Experiment.parse({"path": {"rate": "400Gbps"}, "cross_traffic": traffic})
    Experiment.parse({"path": {"rate": "400Gbps"}, "cross_traffic": {"rate": "400Gbps"}})


def test_data_do_not_start_before_the_connection():
    with pytest.raises(tc.ConfigError, match=r"flows\.0\.data_start"):
        Experiment.parse({"flows": [{"start": "2s", "data_start": "1s"}]})


def test_several_problems_are_told_at_once():
    with pytest.raises(tc.ConfigError) as caught:
        Experiment.parse({"path": {"rate": "0bps", "rtt": "0s"}, "seed": -1})
    assert len(caught.value.problems) == len(str(caught.value).splitlines()) == 3


def test_the_short_forms_of_the_readme():
    path = tc.Path(rate="100Mbps", rtt="100ms", loss="1%", buffer="1bdp")
    flows = [tc.Flow(cc="bbr", count=4)]
    experiment = tc.Experiment(
        path=path, flows=flows, tunnel="gost-relay-wss", duration="30s", seed=1
    )
    assert experiment.path.rate == 100e6
    assert experiment.path.rtt == 0.1
    assert experiment.path.loss == 0.01
    assert experiment.path.buffer == Buffer(bdp=1)
    assert experiment.flows[0].cc.name == "bbr"
    assert experiment.tunnel.name == "gost-relay-wss"
    assert experiment == tc.Experiment(
        path={"rate": "100Mbps", "rtt": "100ms", "loss": 0.01},
        flows={"cc": {"name": "bbr"}, "count": 4},
        tunnel={"name": "gost-relay-wss"},
    )


_FRAGMENTED = {"name": "wireguard", "mtu": 4000}  # 1500, 1500 and 1100 bytes


@pytest.mark.parametrize("queue", ["drop-tail", "codel", "fq-codel", "pie", "red"])
@pytest.mark.parametrize(
    ("tunnel", "framing", "least"),
    [
        ("none", "ip", "1500B"),
        ("none", "tc", "1514B"),
        ("none", "ethernet", "1538B"),
        ("gost-relay-ws", "ethernet", "1538B"),
        ("vtun", "ethernet", "1538B"),
        ("wireguard", "ethernet", "1518B"),
        (_FRAGMENTED, "ip", "2600B"),
        (_FRAGMENTED, "ethernet", "2676B"),
        (_FRAGMENTED, "ip", "2p"),
    ],
)
def test_a_queue_has_room_for_what_a_full_segment_becomes(queue, tunnel, framing, least, refusal):
    unit = least[-1]
    less = f"{int(least[:-1]) - 1}{unit}"

    def experiment(buffer):
        return {
            "path": {"buffer": buffer, "framing": framing, "rate": "5Mbps", "queue": queue},
            "tunnel": tunnel,
            "tcp": {"mss": 1448 if isinstance(tunnel, str) else 8948},
            "flows": {"bytes": "20kB"},
            "duration": "60s",
        }

    assert f"path.buffer = '{less}': expected room for " in refusal({**experiment(less)})
    result = tc.run(Experiment.parse(experiment(least)))
    assert result.flows[0].total_bytes == 20_000


def test_no_tunnel():
    assert tc.Experiment(tunnel="none") == tc.Experiment(tunnel=None) == tc.Experiment()


@pytest.mark.parametrize(("key", "value"), [("mtu", 1400), ("cc", "bbr"), ("nmae", 1)])
def test_no_tunnel_has_no_keys(key, value, refusal):
    expected = f"tunnel.{key} = {value!r}: expected no value, because tunnel none has no keys"
    assert expected in refusal({"tunnel": {"name": "none", key: value}})
    assert tc.Experiment(tunnel={"name": "none", key: None}) == tc.Experiment()


def test_experiments_cannot_be_changed():
    for group, key, value in ((tc.Experiment(), "seed", 2), (tc.Path(), "rate", "9Mbps")):
        with pytest.raises(tc.ConfigError, match=rf"{key} = .*with_\(\{{key: value\}}\)"):
            setattr(group, key, value)


def test_values_have_keys():
    with pytest.raises(tc.ConfigError, match=r"Flow = 'bbr': expected .*Flow\(key=value\)"):
        tc.Flow("bbr")


def test_the_segment_size_follows_timestamps():
    assert (tc.Tcp().mss, tc.Tcp().header_bytes(4), tc.Tcp().syn_bytes(4)) == (1448, 52, 60)
    assert (tc.Tcp().header_bytes(6), tc.Tcp().syn_bytes(6)) == (72, 80)
    without = tc.Tcp(timestamps=False)
    assert (without.mss, without.header_bytes(4), without.syn_bytes(4)) == (1460, 40, 52)
    assert tc.Tcp(timestamps=False, mss=536).mss == 536


def test_hosts_may_differ():
    hosts = tc.Hosts(tcp_rmem="8MiB", cores=4, server={"cores": 1, "kernel": "5.10"})
    assert hosts.of("client").cores == 4
    assert hosts.of("server").cores == 1
    assert hosts.of("server").kernel == "5.10"
    assert hosts.of("server").tcp_rmem == 8 * 2**20


def _quantities(*values):
    return st.sampled_from(values)


EXPERIMENTS = st.fixed_dictionaries(
    {},
    optional={
        "title": st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp", "Zs"])),
        "path": st.fixed_dictionaries(
            {},
            optional={
                "rate": st.integers(10**8, 10**10).map("{}bps".format),
                "rtt": st.floats(1e-3, 10).map(lambda x: f"{x:.6f}s"),
                "loss": st.floats(1e-12, 0.99) | st.just(0.0),
                "buffer": _quantities("1bdp", "0.7bdp", "200p", "3MiB"),
                "reverse_rate": _quantities("10Mbps", "1Gbps"),
                "framing": _quantities("ip", "tc", "ethernet"),
                "queue": _quantities("codel", {"name": "red", "weight": 0.01}, "drop-tail"),
                "policer": _quantities({"rate": "5Mbps", "position": "after"}),
                "jitter": _quantities("0s", "1.5ms"),
            },
        ),
        "flows": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "cc": _quantities("bbr", "cubic", {"name": "bbr", "cwnd_gain": 2.5}),
                    "count": st.integers(1, 200),
                    "start": _quantities("0s", "1.25s"),
                    "bytes": st.integers(1, 10**12),
                    "rtt": _quantities("10ms", "333us"),
                },
            ),
            min_size=1,
            max_size=4,
        ),
        "tunnel": _quantities("gost-relay-ws", {"name": "gost-relay-wss", "cc": "bbr"}),
        "tcp": _quantities({"timestamps": False}, {"mss": 1000, "pacing_quantum": "0s"}),
        "hosts": _quantities(
            {"kernel": "5.10", "tcp_adv_win_scale": -2}, {"client": {"cores": 1}, "memory": "4GB"}
        ),
        "seed": st.integers(0, 2**63 - 1),
    },
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(EXPERIMENTS)
def test_experiments_survive_toml(table):
    experiment = Experiment.parse(table)
    text = write_toml(experiment.table())
    assert Experiment.parse(tomllib.loads(text)) == experiment
    assert Experiment(**experiment.table()) == experiment


def test_start_times_depend_on_the_seed_and_on_nothing_else():
    def starts(**changes):
        return [it.start for it in single_flows(tc.Experiment(**changes))]

    one = starts(flows=[{"count": 3}, {"count": 2}])
    assert one == starts(flows=[{"count": 3}, {"count": 2}], path={"rate": "1Gbps"})
    assert len(set(one)) == 5
    assert all(0 <= start < 0.005 for start in one)
    assert one[3:] == starts(flows=[{"count": 7}, {"count": 2}])[7:]
    assert one[:3] == starts(flows=[{"count": 4}])[:3]
    assert one != starts(flows=[{"count": 3}, {"count": 2}], seed=2)
    assert starts(flows=[{"start": "2s"}], start_jitter="0s") == [2.0]


def test_flows_arrive_as_a_poisson_process():
    def starts(**flow):
        table = {"flows": [{"count": 4000, "interarrival": "10ms", **flow}], "start_jitter": "0s"}
        return np.array([it.start for it in single_flows(tc.Experiment(**table))])

    arrivals = starts(start="1s")
    assert arrivals[0] == 1.0
    between = np.sort(np.diff(arrivals))
    # Kolmogorov and Smirnov: of so many exponential times, one set in a thousand is farther away.
    expected, measured = 1 - np.exp(-between / 0.01), np.arange(1, 4000) / 3999
    assert np.abs(expected - measured).max() < 1.95 / math.sqrt(3999)
    # Counts of 100 ms have the variance of their mean: 10.
    counts = np.histogram(arrivals, np.arange(1, 40, 0.1))[0]
    assert counts.var() == pytest.approx(10, rel=0.25)
    assert (starts(start="1s", count=7) == arrivals[:7]).all()
    assert starts(start="1s", interarrival="20ms") - 1 == pytest.approx(2 * (arrivals - 1))


def _sizes(count=4000, **flow):
    table = {"flows": [{"count": 2}, {"count": count, **flow}], "seed": 3}
    return np.array([it.bytes for it in single_flows(tc.Experiment(**table))][2:])


@pytest.mark.parametrize(
    ("shape", "most"), [(1.05, "100MB"), (1.2, None), (1.5, "1MB"), (3, "2GB")]
)
def test_sizes_of_flows_follow_a_bounded_pareto_distribution(shape, most):
    sizes = np.sort(_sizes(bytes="100kB", bytes_shape=shape, bytes_most=most))
    bound = {"100MB": 1e8, None: 1e8, "1MB": 1e6, "2GB": 2e9}[most]
    assert sizes.max() <= bound
    # The mean, as the integral over all values that can be drawn, by equal steps of x^(-1 / shape).
    steps = (np.arange(200_000) + 0.5) / 200_000
    low, high = (pareto(drawn, 1e5, shape, bound) for drawn in (0.0, 1.0))
    assert high == pytest.approx(bound)
    values = low * (bound / low) ** steps
    density = shape * low**shape * values ** (-shape - 1) / (1 - (low / bound) ** shape)
    assert np.mean(density * values**2) * math.log(bound / low) == pytest.approx(1e5, rel=1e-6)
    # Kolmogorov and Smirnov: of so many sizes, one set in a thousand is farther away.
    expected = (1 - (low / sizes) ** shape) / (1 - (low / bound) ** shape)
    assert np.abs(expected - (np.arange(4000) + 0.5) / 4000).max() < 1.95 / math.sqrt(4000)
    # The tail: how many exceed five means, within three standard deviations.
    part = ((low / 5e5) ** shape - (low / bound) ** shape) / (1 - (low / bound) ** shape)
    deviation = 3 * math.sqrt(4000 * part * (1 - part))
    assert (sizes > 5e5).sum() == pytest.approx(4000 * part, abs=deviation)


def test_a_sample_of_sizes_has_their_mean():
    sizes = _sizes(16_000, bytes="100kB", bytes_shape=2.5)
    assert sizes.mean() == pytest.approx(1e5, rel=4 * 0.9 / math.sqrt(16_000))  # 0.9: σ / mean


def test_sizes_depend_on_the_seed_and_the_flow_alone():
    varied = {"bytes": "100kB", "bytes_shape": 1.2}
    sizes = _sizes(**varied)
    assert (_sizes(7, **varied, interarrival="10ms", cc="bbr") == sizes[:7]).all()
    assert _sizes(**{**varied, "bytes": "1MB"}) == pytest.approx(10 * sizes, abs=6)
    assert len(set(sizes[:20])) == 20
    experiment = tc.Experiment(flows={**varied, "count": 20})
    other = experiment.with_({"seed": 2})
    drawn = [[it.bytes for it in single_flows(run)] for run in (experiment, other)]
    assert not set(drawn[0]) & set(drawn[1])
    assert [it.bytes for it in single_flows(experiment)] == drawn[0]
    assert set(_sizes(20, bytes="100kB")) == {100_000}
    assert _sizes(bytes="1B", bytes_shape=1.2).min() == 1


def test_flows_send_the_bytes_that_were_drawn():
    flow = {"bytes": "20kB", "bytes_shape": 1.5, "bytes_most": "200kB", "count": 12}
    table = {"path": {"rate": "50Mbps"}, "flows": [{**flow, "interarrival": "50ms"}, {}]}
    run = tc.run(tc.Experiment.parse({**table, "duration": "4s"}), progress=False)
    sizes = [it.bytes for it in single_flows(run.experiment)]
    assert sizes[-1] is None
    assert [flow.total_bytes for flow in run.flows][:12] == sizes[:12]
    assert run.dataset.flow_bytes.values[:12].tolist() == sizes[:12]
    alone = harm.part(run.experiment, [7])
    assert [it.bytes for it in single_flows(alone)] == [sizes[7]]
    found = tc.harm(tc.Experiment.parse({**table, "duration": "4s"}))
    assert len(set(found.flow_completion_time_alone.values[:12])) == 12


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        ({"bytes_shape": 1.2}, "flows.0.bytes: expected the mean of the sizes, because"),
        (
            {"bytes": "1MB", "bytes_most": "2MB"},
            "flows.0.bytes_shape: expected a number above 1, because",
        ),
        (
            {"bytes": "1MB", "bytes_shape": 1.2, "bytes_most": "1MB"},
            r"flows.0.bytes_most = '1MB': expected more than the mean, bytes \(1MB\)",
        ),
        (
            {"bytes": "1MB", "bytes_shape": 1},
            "flows.0.bytes_shape = 1: expected a number above 1 to 10",
        ),
        (
            {"bytes": "1024TiB", "bytes_shape": 1.2},
            "flows.0.bytes_most = .*: expected more than the mean",
        ),
    ],
)
def test_sizes_that_cannot_be_are_refused(refusal, flow, message):
    assert re.search(message, refusal({"flows": [flow]}))


def test_flows_that_arrive_later_have_all_their_times_later():
    flow = {"count": 20, "interarrival": "100ms", "stop": "0.5s"}
    flow |= {"rate": "100kbps", "write_size": 1000}
    run = tc.run({"duration": "4s", "flows": [flow], "path": {"rate": "10Mbps"}})
    ends = np.array([flow["flow_completed_at"] for flow in run.to_dict()["flows"]])
    starts = np.array([flow["flow_start"] for flow in run.to_dict()["flows"]])
    assert ends - starts == pytest.approx(0.5, abs=0.15)
    alone = harm.part(run.experiment, [7])
    assert [it.start for it in single_flows(alone)] == [starts[7]]


def test_harm_of_flows_that_arrive_later_is_what_it_is_of_flows_that_start_then():
    table = {"path": {"rate": "10Mbps"}, "duration": "6s", "start_jitter": "0s"}
    experiment = tc.Experiment.parse({**table, "flows": [{"count": 4, "interarrival": "2s"}]})
    arriving = tc.harm(experiment)
    starts = [it.start for it in single_flows(experiment)]
    assert starts[-1] < 6
    entries = [{"start": f"{start:.9f}s"} for start in starts]
    starting = tc.harm(tc.Experiment.parse({**table, "flows": entries}))
    assert arriving.flow_harm.values == pytest.approx(starting.flow_harm.values)


def test_harm_of_flows_that_complete_is_that_of_their_times():
    flows = [{"cc": "cubic"}, {"cc": "cubic", "bytes": "2MB", "start": "2s"}]
    table = {"path": {"rate": "20Mbps", "rtt": "40ms"}, "duration": "12s"}
    found = tc.harm(tc.Experiment.parse({**table, "flows": flows}))
    here, alone = found.flow_completion_time.values, found.flow_completion_time_alone.values
    assert found.flow_goodput[1] == found.flow_goodput_alone[1] > 0  # all of its bytes, late or not
    assert 2 * alone[1] < here[1] < 10
    assert found.flow_harm[1] == pytest.approx(1 - alone[1] / here[1])
    assert np.isnan([here[0], alone[0]]).all()
    assert found.flow_harm[0] == pytest.approx(
        1 - found.flow_goodput[0] / found.flow_goodput_alone[0]
    )
    # Both runs have the whole flow, also if it starts in the warm-up.
    later = tc.harm(tc.Experiment.parse({**table, "flows": flows, "warmup": "3s"}))
    assert later.flow_harm[1] == found.flow_harm[1]
    # A flow that completes only without the others loses goodput.
    short = tc.harm(tc.Experiment.parse({**table, "flows": flows, "duration": "3.5s"}))
    assert np.isnan(short.flow_completion_time[1])
    assert short.flow_harm[1] == pytest.approx(
        1 - short.flow_goodput[1] / short.flow_goodput_alone[1]
    )


def test_draws_are_uniform():
    draws = [uniform(1, "start", 0, member) for member in range(10_000)]
    assert 0.49 < sum(draws) / len(draws) < 0.51
    assert min(draws) >= 0
    assert max(draws) < 1


def test_derived_numbers_of_the_defaults():
    numbers = resolve(tc.Experiment(path={"rate": "100Mbps", "rtt": "100ms"})).numbers
    assert numbers["bdp_bytes"] == numbers["buffer_bytes"] == 1_250_000


def test_problems_can_be_pickled():
    import pickle

    with pytest.raises(tc.ConfigError) as caught:
        Experiment.parse({"path": {"rate": "0bps"}})
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
    assert dataclasses.asdict(copy.problems[0])["key"] == "path.rate"


@pytest.mark.parametrize("number", [10**400, -(10**400), 10**5000], ids=["e400", "-e400", "e5000"])
@pytest.mark.parametrize("key", ["path.rate", "path.loss", "seed", "path.buffer", "cc"])
def test_whole_numbers_of_any_length_are_refused(key, number):
    value = {"name": "bbr", "probe_rtt_interval": number} if key == "cc" else number
    with pytest.raises(tc.ConfigError, match="expected"):
        scenario.build({}, {key: value})


def test_a_user_is_not_called_as_flows_without_one():
    with pytest.raises(tc.ConfigError, match=r"flows\.0\.user = 'flow 1': expected another name"):
        tc.Experiment.parse({"flows": [{"user": "flow 1"}, {}]})
    tc.Experiment.parse({"flows": [{"user": "flow one"}, {}]})


def test_an_interval_that_a_short_run_needs_is_told(refusal):
    message = refusal({"duration": "20ms"})
    assert "probe_interval = '100ms': expected at most the duration" in message
    assert "set it, too: probe_interval = '2ms'" in message
    tc.Experiment.parse({"duration": "1ms", "probe_interval": "100us"})
    assert "set it" not in refusal({"duration": "1s", "probe_interval": "2s"})


def test_a_flow_names_its_tunnel_and_gives_it_no_ends(refusal):
    for tunnel in ({"from": "gw1"}, {"name": "wireguard", "mtu": 1400}):
        message = refusal({"flows": [{"tunnel": tunnel}]})
        assert "flows.0.tunnel = " in message
        assert "its keys are those of tunnels.NAME, and its ends are the flow's own" in message


def test_jumbo_frames_need_a_larger_segment_too():
    alone = tc.Experiment.parse({"path": {"mtu": 9000}})
    assert resolve(alone).first.links.mss == 1448
    both = tc.Experiment.parse({"path": {"mtu": 9000}, "tcp": {"mss": 8948}})
    assert resolve(both).first.links.mss + both.tcp.header_bytes(4) == 9000
    assert "also set tcp.mss to 8948" in tc.Path.model_fields["mtu"].description


def test_datagrams_have_no_congestion_control():
    call = {"transport": "udp", "traffic": "call"}
    with pytest.raises(tc.ConfigError, match=r"flows\.1\.cc = 'bbr': expected no value"):
        tc.Experiment(flows=[{}, {**call, "cc": "bbr"}])
    both = tc.Experiment(flows=[{}, call])
    assert both.with_({"cc": "bbr"}).flows[0].cc.name == "bbr"
    assert tc.Experiment.parse(both.table()) == both
    with pytest.raises(tc.ConfigError, match="a flow over tcp or quic"):
        tc.Experiment(flows=[call]).with_({"cc": "bbr"})


def test_a_flow_of_datagrams_comes_back_from_its_table():
    given = tc.Experiment(flows=[{"transport": "udp", "rate": "1Mbps"}])
    assert "write_size" not in given.table()["flows"][0]
    assert tc.Experiment.parse(given.table()) == given
