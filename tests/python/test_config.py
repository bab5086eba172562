# SPDX-License-Identifier: GPL-2.0-only
"""Experiments: every key refuses what it cannot be, and all of them survive TOML."""

from __future__ import annotations

import dataclasses
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tunnelcc as tc
from tunnelcc import core
from tunnelcc.catalog.datagram import DatagramEntry
from tunnelcc.config import Experiment, HostOverrides, LinkDirection, derived, scenario
from tunnelcc.errors import nearest
from tunnelcc.schema import keys_of
from tunnelcc.schema.toml import parse_value, write_toml
from tunnelcc.schema.units import Buffer

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WRONG_UNIT = {"rate": "10ms", "time": "10Mbps", "size": "10ms"}
NOT_A_RATE = ["0Mbps", "-1Mbps", "500Gbps", "100", "100ms", "fast", True, "1e99bps"]
NOT_A_RTT = ["0ms", "-1ms", "61s", "40", "40Mbps", "soon", False]
NOT_A_PROBABILITY = ["150%", "100%", "-1%", "1.5", "often", "1ms", True]
NOT_A_BUFFER = [
    "0bdp",
    "-1bdp",
    "0p",
    "0",
    "1e9bdp",
    "101s",
    "0s",
    "-1ms",
    "40Mbps",
    "1.5p",
    "deep",
    "2TiB",
]
NOT_A_COUNT = [0, -1, 10**9, 1.5, "many", True]
NOT_A_TIME = ["-1s", "30", "30Mbps", "later", "1e9s", True]
NOT_A_TIMER = ["0ms", "-1ms", "61s", "40", "40Mbps"]
NOT_A_SIZE = ["-1B", "4ms", "1.5B", "big", True]
NOT_A_SOCKET_BUFFER = [*NOT_A_SIZE, 0, "1KiB", "4GiB"]
NOT_A_WINDOW = [0, -1, 65536, "128", 1.5, True]
NOT_A_SWITCH = [0, 1, "yes", "1ms"]
NOT_A_NAME = ["", "bbrr", "ns3::TcpBogus", 5, True, "{ gain = 2 }"]
NOT_A_COST = [-1, "1ms", "nan", "inf", 1e7, True]
NOT_A_SHARE = ["101%", "-1%", "1.5", "often", "1ms", True]
NOT_A_POSITIVE_SHARE = [*NOT_A_SHARE, 0, "0%"]
NOT_A_HOST = ["", "a b", "a.b", "x" * 65]
NOT_A_ROUTE = ["a", [], ["a"], ["a", 5], ["a", "b c"], {"a": "b"}, 5]
NOT_MEMORY = [*NOT_A_SIZE, 0, "1KiB", "1e18B"]

#: Every key → values that it must refuse. A key that is missing here fails a test.
BAD_VALUES = {
    "title": [5, "two\nlines", "x" * 201],
    "path.rate": NOT_A_RATE,
    "path.rate_steps": [
        [["1s"]],
        [["1s", "5"]],
        [["0s", "1Mbps"]],
        [["2s", "1Mbps"], ["1s", "2Mbps"]],
        [["1s", "0Mbps"]],
        "fast",
        7,
    ],
    "path.rate_trace": ["", "nofile.csv", ".", 5, True, ["a.csv"], {"file": "a.csv"}],
    "path.rtt": NOT_A_RTT,
    "path.loss": NOT_A_PROBABILITY,
    "path.buffer": [*NOT_A_BUFFER, "1499B", "0.0001bdp"],
    "path.queue.name": ["cake", "fq_codel", "CoDel", 5, ""],
    "path.queue.target": NOT_A_TIMER,
    "path.queue.interval": [*NOT_A_TIMER, "1us"],
    "path.queue.quantum": [*NOT_A_SIZE, 0, 63, "2MiB"],
    "path.queue.queues": [0, 65537, 1.5, "many"],
    "path.queue.alpha": [-1, 101, "fast", "nan"],
    "path.queue.beta": [-1, 101, "fast", "nan"],
    "path.queue.burst": ["-1ms", "61s", "5", True],
    "path.queue.min_threshold": [*NOT_A_BUFFER, "15p", "1000p"],
    "path.queue.max_threshold": NOT_A_BUFFER,
    "path.queue.max_probability": NOT_A_POSITIVE_SHARE,
    "path.queue.weight": [0, -1, 1.1, "nan", "1%"],
    "path.queue.gentle": NOT_A_SWITCH,
    "path.queue.ecn": NOT_A_SWITCH,
    "path.reverse_rate": NOT_A_RATE,
    "path.reverse_buffer": NOT_A_BUFFER,
    "path.reverse_loss": NOT_A_PROBABILITY,
    "path.ecn_threshold": NOT_A_BUFFER,
    "path.mtu": [575, 65536, "1500", 1400.5, True],
    "path.framing": ["ethernets", "IP", 5, ""],
    "path.loss_pattern": ["burst", 1],
    "path.loss_position": ["between", 1],
    "path.gilbert_elliott.p": NOT_A_POSITIVE_SHARE,
    "path.gilbert_elliott.r": NOT_A_POSITIVE_SHARE,
    "path.gilbert_elliott.h": [*NOT_A_SHARE, 1, "100%"],
    "path.gilbert_elliott.k": NOT_A_SHARE,
    "path.policer.rate": NOT_A_RATE,
    "path.policer.burst": [*NOT_A_SIZE, 0, 1499, "2GiB"],
    "path.policer.position": ["between", 1, ""],
    "path.jitter": ["-1ms", "11s", "5", "1Mbps", True],
    "path.jitter_distribution": ["normal", "pareto", 1],
    "path.jitter_reorders": NOT_A_SWITCH,
    "path.reorder": NOT_A_PROBABILITY,
    "path.reorder_delay": NOT_A_TIMER,
    "flows.transport": ["udp", "QUIC", 5, ""],
    "flows.cc": NOT_A_NAME,
    "flows.count": NOT_A_COUNT,
    "flows.start": [*NOT_A_TIME, "30s", "40s"],
    "flows.stop": [*NOT_A_TIME, "0s"],
    "flows.rtt": NOT_A_RTT,
    "flows.bytes": [*NOT_A_SIZE, 0],
    "flows.rate": NOT_A_RATE,
    "flows.preamble": [*NOT_A_SIZE, "2MiB"],
    "flows.data_start": [*NOT_A_TIME, "31s"],
    "flows.payload": ["txt", 5, ""],
    "flows.write_size": [*NOT_A_SIZE, 0, "17MiB"],
    "flows.from": NOT_A_HOST,
    "flows.to": NOT_A_HOST,
    "flows.direction": ["left", "UP", 1],
    "flows.route": NOT_A_ROUTE,
    "flows.ack_route": NOT_A_ROUTE,
    "flows.tunnel": [5, "two\nlines", ["wireguard"]],
    "cross_traffic.from": NOT_A_HOST,
    "cross_traffic.to": NOT_A_HOST,
    "cross_traffic.direction": ["left", "UP", 1],
    "cross_traffic.route": NOT_A_ROUTE,
    "flows.user": [5, "two\nlines", "x" * 201],
    "cross_traffic.rate": NOT_A_RATE,
    "cross_traffic.packet": [*NOT_A_SIZE, 27, 65536],
    "cross_traffic.start": [*NOT_A_TIME, "31s"],
    "cross_traffic.stop": [*NOT_A_TIME, "0s"],
    "cross_traffic.on": NOT_A_TIMER,
    "cross_traffic.off": NOT_A_TIMER,
    "tunnel.name": ["gost", "gost-relay-wws", 5, "nofile.toml", ""],
    "tunnel.cc": NOT_A_NAME,
    "tunnel.copy_buffer": [*NOT_A_SIZE, 0, "17MiB"],
    "tunnel.mode": ["aes", "", 5, "two\nlines"],
    "tunnel.mtu": [575, 65536, "1500B", 1400.5, True],
    "tunnel.mss": [127, 65536, "1448", 1400.5],
    "tunnel.queue": [0, -1, 2**21, "500p"],
    "tunnel.fec": ["20", "20:10,10:5", "250:6", "a:b", "", 5, "4:2", "none"],
    "tunnel.rate": [*NOT_A_RATE, "9kbps", "269Mbps"],
    "tunnel.kcp.nodelay": NOT_A_SWITCH,
    "tunnel.kcp.interval": [*NOT_A_TIME, "9ms", "6s"],
    "tunnel.kcp.resend": [-1, 256, "2", 1.5],
    "tunnel.kcp.congestion": NOT_A_SWITCH,
    "tunnel.kcp.client_send_window": NOT_A_WINDOW,
    "tunnel.kcp.client_receive_window": NOT_A_WINDOW,
    "tunnel.kcp.server_send_window": NOT_A_WINDOW,
    "tunnel.kcp.server_receive_window": NOT_A_WINDOW,
    "tunnel.fec_timeout": [*NOT_A_TIME, "0s", "2h", "31s"],
    "tunnel.under.name": ["gost", "gost-relay-ws", "ssh-tun", 5, "nofile.toml", ""],
    "tunnel.under.mode": ["aes", "", 5, "two\nlines"],
    "tunnel.under.mtu": [575, 65536, "1500B", 1400.5, True],
    "tunnel.under.mss": [127, 65536, "1448", 1400.5],
    "tunnel.under.queue": [0, -1, 2**21, "500p"],
    "tunnel.under.fec": ["20", "250:6", "4:2"],
    "tunnel.under.fec_timeout": [*NOT_A_TIME, "0s", "31s"],
    "tunnel.carriers": ["flows", 0, 4097, 1.5, True, "all", "user", 2],
    "tunnel.stream_window": [*NOT_A_SIZE, 0, "2GiB", "64KiB"],
    "tunnel.chain.host": [5, "", "no host"],
    "tunnel.chain.rate": NOT_A_RATE,
    "tunnel.chain.rtt": NOT_A_RTT,
    "tunnel.chain.loss": NOT_A_PROBABILITY,
    "tunnel.chain.buffer": [*NOT_A_BUFFER, "1499B"],
    "tunnel.chain.cc": NOT_A_NAME,
    "tunnel.relays": [-1, 65, "1", 1.5, True],
    "direction": ["left", "UP", 1],
    "tcp.mss": [0, 87, 65484, "1448", 1448.5, True],
    "tcp.timestamps": NOT_A_SWITCH,
    "tcp.window_scaling": NOT_A_SWITCH,
    "tcp.initial_window": [0, 1001, "10"],
    "tcp.min_rto": NOT_A_TIMER,
    "tcp.delayed_ack": NOT_A_TIMER,
    "tcp.ack_every": [0, 65, "2"],
    "tcp.pacing_quantum": ["-1ms", "2s", "1", "1Mbps"],
    "tcp.ecn": NOT_A_SWITCH,
    "tcp.nodelay": NOT_A_SWITCH,
    "hosts.kernel": ["6.1", "5.1", 5.10, "linux"],
    "hosts.tcp_rmem": NOT_A_SOCKET_BUFFER,
    "hosts.tcp_wmem": NOT_A_SOCKET_BUFFER,
    "hosts.tcp_adv_win_scale": [-32, 32, 1.5, 1],
    "hosts.tcp_moderate_rcvbuf": NOT_A_SWITCH,
    "hosts.gro": ["-1us", "1ns", "11ms", "20", 2e-5],
    "hosts.cores": [0, -1, 1.5, 10**6],
    "hosts.speed": [0, -1, "nan", "fast"],
    "hosts.memory": NOT_MEMORY,
    "hosts.tcp_memory": NOT_MEMORY,
    "hosts.profile": [5, "", "reference-hosts", "nofile.toml"],
    "hosts.app_cost": NOT_A_COST,
    "hosts.switch_cost": NOT_A_COST,
    "hosts.one_machine": NOT_A_SWITCH,
    "duration": ["0s", "-1s", "30", "1e6s", "long"],
    "warmup": [*NOT_A_TIME, "30s", "31s"],
    "probe_congestion": [1, "yes", "cwnd"],
    "probe_interval": ["0s", "31s", "1us", "1"],
    "start_jitter": ["-1ms", "61s", "5"],
    "seed": [-1, 2**63, 1.5, "one"],
}
#: Bad with the default kernel, of which the network does not know.
_OLD_KERNEL_ONLY = ("tcp_adv_win_scale", 1)
#: Bad only beside other keys of the path, which are told of where a run is put together.
_TOO_SMALL = ("1499B", "0.0001bdp", 1499, "15p", "1000p")
for _name in LinkDirection.model_fields:
    for _key in [key for key in BAD_VALUES if f"{key}.".startswith(f"path.{_name}.")]:
        BAD_VALUES[_key.replace("path.", "path.reverse.")] = [
            value for value in BAD_VALUES[_key] if value not in _TOO_SMALL
        ]
for _key in [key for key in BAD_VALUES if key.startswith("tunnel.")]:
    BAD_VALUES[_key.replace("tunnel.", "tunnels.NAME.")] = [
        value for value in BAD_VALUES[_key] if value not in _TOO_SMALL
    ]
_LINKS = ("network.links.NAME.", "network.access.")
for _group in _LINKS:
    for _key in [key for key in BAD_VALUES if key.startswith("path.")]:
        BAD_VALUES[_key.replace("path.", _group, 1)] = [
            value for value in BAD_VALUES[_key] if value not in (*_TOO_SMALL, "0ms")
        ]
    BAD_VALUES[f"{_group}between"] = [*NOT_A_ROUTE, ["a", "a"], ["a", "b", "c"]]
BAD_VALUES |= {
    "network.shape": ["dumbell", "", 5],
    "network.size": [0, -1, 2048, 1.5, "2"],
    "network.bottleneck": [*NOT_A_HOST, "client"],
}
for _name in HostOverrides.model_fields:
    BAD_VALUES[f"network.hosts.NAME.{_name}"] = [
        value for value in BAD_VALUES[f"hosts.{_name}"] if (_name, value) != _OLD_KERNEL_ONLY
    ]
for _side in ("client", "server"):
    for _name in HostOverrides.model_fields:
        BAD_VALUES[f"hosts.{_side}.{_name}"] = BAD_VALUES[f"hosts.{_name}"]

CASES = [(key, value) for key, values in BAD_VALUES.items() for value in values]
#: Those that a command line can say: there, `5` is a number and a title is always text.
COMMAND_LINE_CASES = [
    (key, value)
    for key, value in CASES
    if (
        parse_value(value) == value
        if isinstance(value, str)
        else key not in ("title", "hosts.kernel")
    )
]


def _tunnel_with(key: str) -> str:
    """A tunnel that knows the key."""
    name = key.removeprefix("tunnel.").removeprefix("tunnels.NAME.")
    if name in ("fec", "fec_timeout"):
        return "sdwan-fec"
    if name.startswith("kcp."):
        return "kcptun"
    if name == "rate":
        return "finalspeed"
    return "ethudp" if name in DatagramEntry.OVERRIDES else "gost-relay-ws"


#: Disciplines that have the parameters of path.queue; red has the rest.
_DISCIPLINE = {
    **dict.fromkeys(["target", "interval", "quantum", "queues", "ecn"], "fq-codel"),
    **dict.fromkeys(["alpha", "beta", "burst"], "pie"),
}


def _settings_around(key: str) -> dict[str, object]:
    """What a key of the path needs beside it."""
    group, _, name = key.rpartition(".")
    where, _, table = group.rpartition(".")
    around: dict[str, object] = {}
    if table == "queue" and where and name != "name":
        around = {group: _DISCIPLINE.get(name, "red")}
    needs: dict[str, dict[str, object]] = {
        "gilbert_elliott": {"p": "1%", "r": "20%", "k": "100%"},
        "policer": {"rate": "50Mbps"},
    }
    around |= {f"{group}.{other}": value for other, value in needs.get(table, {}).items()}
    if ".under." in key:
        around = {f"{group}.name": "sdwan-fec" if name.startswith("fec") else "ethudp"}
    if key == "path.reverse_buffer":
        around = {"path.reverse_rate": "10Mbps"}
    if table == "kcp":
        around |= {f"{where}.mode": "manual"}
    if key.startswith("path.reverse."):
        around |= {"path.reverse.rate": "10Mbps"}
    if key.startswith(("network.shape", "network.size", "network.bottleneck", "network.access.")):
        around |= {"network.shape": "dumbbell", "network.size": 1}
    elif key.startswith("network."):
        around |= {"network.links.NAME.between": ["NAME", "b"]}
    return {other: value for other, value in around.items() if other != key}


def _experiment(key: str, value: object) -> Experiment:
    """An experiment with one key set, and what that key needs around it."""
    table: dict = {"tunnel": _tunnel_with(key)} if key.startswith("tunnel.") else {}
    if key.startswith("tunnels.NAME."):
        table = {"tunnels": {"NAME": _tunnel_with(key)}}
    if key.startswith("cross_traffic."):
        table = {"cross_traffic": [{"rate": "1Mbps", "on": "1s", "off": "1s"}]}
    return scenario.build(table, {**_settings_around(key), key: value})


def test_every_key_has_bad_values():
    assert set(BAD_VALUES) == {info.key for info in keys_of(Experiment)}


def test_every_key_is_documented():
    for info in keys_of(Experiment):
        if not info.key.startswith(("hosts.client.", "hosts.server.", "network.hosts.")):
            assert info.doc, info.key
        assert info.expected, info.key


_CC_AND_NAME = ("name", "cc", "chain.cc", "under.name")


def test_every_key_says_itself_what_it_expects():
    # A key of a bare type (bool, int) would take what pydantic can make one of, such as "yes".
    bare = {info.key for info in keys_of(Experiment) if info.expected == "a name"}
    tunnels = {f"{group}.{key}" for group in ("tunnel", "tunnels.NAME") for key in _CC_AND_NAME}
    assert bare == {"flows.cc", *tunnels}


@pytest.mark.parametrize(("key", "value"), CASES)
def test_bad_values_are_refused(key, value):
    if isinstance(value, str) and value.startswith("{"):
        value = parse_value(value)
    with pytest.raises(tc.ConfigError) as caught:
        _experiment(key, value)
    last = key.rpartition(".")[2]
    if key in ("tunnel.name", "tunnels.NAME.name"):
        last = "tunnel"
    assert any(last in problem.key for problem in caught.value.problems)
    assert "expected" in str(caught.value)


@pytest.mark.parametrize(("key", "value"), COMMAND_LINE_CASES)
def test_bad_values_on_the_command_line(key, value, run):
    text = value if isinstance(value, str) else str(value).lower()
    arguments = ["--set", f"{key}={text}"]
    if key.startswith("tunnel.") and key != "tunnel.name":
        arguments += ["--tunnel", _tunnel_with(key)]
    if key.startswith("tunnels.NAME."):
        arguments = ["--set", f"tunnels.NAME={_tunnel_with(key)}", *arguments]
    for other, needed in _settings_around(key).items():
        arguments += ["--set", f"{other}={needed}"]
    if key.startswith("network."):
        arguments = [text.replace("'", '"') for text in arguments]
    code, _, message = run("run", *arguments)
    assert code == 2
    assert message.startswith("tunnelcc: ")
    assert "expected" in message
    assert "Traceback" not in message


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
        ({"hosts": {"client": {"core": 1}}}, "hosts.client.core", "did you mean 'cores'?"),
        ({"tunnel": {"name": "gost-relay-ws", "c": 1}}, "tunnel.c", "did you mean 'cc'?"),
        ({"tunnel": "gost-relay-sw"}, "tunnel", "did you mean 'gost-relay-ws'?"),
        ({"flows": [{"cc": "cubik"}]}, "flows.0.cc", "did you mean 'cubic'?"),
        ({"flows": [{"cc": "ns3::TcpBrb"}]}, "flows.0.cc", "did you mean 'ns3::TcpBbr'?"),
        ({"flows": [{"cc": {"name": "bbr", "cwnd_gian": 2}}]}, "cwnd_gian", "'cwnd_gain'"),
    ],
)
def test_unknown_names_are_told_with_the_nearest(table, key, hint):
    with pytest.raises(tc.ConfigError) as caught:
        Experiment.parse(table)
    assert key in str(caught.value)
    assert hint in str(caught.value)


def test_newreno_is_reno():
    flow = {"cc": {"name": "newreno", "pacing": True}}
    experiment = Experiment.parse({"flows": [flow]})
    assert experiment.flows[0].cc.name == "reno"
    assert experiment == Experiment.parse({"flows": [{"cc": {"name": "reno", "pacing": True}}]})


@pytest.mark.parametrize("kernel", [5.10, 6.18])
def test_a_version_that_is_a_number_needs_quotes(kernel):
    assert "in quotes" in _refusal({"hosts": {"kernel": kernel}})
    assert "in quotes" in _refusal({"hosts": {"server": {"kernel": kernel}}})
    assert "quotes" not in _refusal({"hosts": {"kernel": "5.11"}})


def _refusal(table: dict) -> str:
    with pytest.raises(tc.ConfigError) as caught:
        Experiment.parse(table)
    return str(caught.value)


@pytest.mark.parametrize(
    ("hop", "path"),
    [
        ({"buffer": "100B"}, {}),
        ({"rtt": "10us"}, {}),
        ({"rate": "100kbps"}, {}),
        ({"rtt": "10us"}, {"buffer": "9p", "reverse_rate": "1Mbps"}),
    ],
)
def test_a_queue_beyond_a_relay_has_room_for_a_packet(hop, path):
    tunnel = {"name": "gost-relay-ws", "chain": [{}, hop]}
    key = "reverse_buffer" if path.get("reverse_rate") else "buffer"
    assert f"tunnel.chain.1.{key}" in _refusal({"path": path, "tunnel": tunnel})
    assert "room for one packet" in _refusal({"path": path, "tunnel": tunnel})
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
def test_relays_divide_what_can_be_divided(table, message):
    assert message in _refusal({**table, "tunnel": {"name": "gost-relay-ws", "relays": 1}})
    Experiment.parse({**table, "tunnel": {"name": "gost-relay-ws", "relays": 0}})


def test_relays_are_not_beside_a_chain():
    tunnel = {"name": "gost-relay-ws", "relays": 1, "chain": [{}]}
    assert "because chain is given" in _refusal({"tunnel": tunnel})
    assert "no value with wireguard" in _refusal({"tunnel": {"name": "wireguard", "relays": 1}})


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
            "tunnel.chain = [{'rtt': '10ms'}]: expected no value with ethudp",
        ),
        (
            {"tunnel": {"name": "ethudp", "cc": {"name": "bbr", "cwnd_gain": 2}}},
            "tunnel.cc = {'name': 'bbr', 'cwnd_gain': 2.0}: expected no value with ethudp",
        ),
        ({"pth": {"rate": "1Mbps", "rtt": "1ms"}}, "pth: expected one of the keys title, path"),
        ({"flow": [{"cc": "bbr"}]}, "flow: expected one of the keys title, path"),
        ({"tcp": {"mss_": [1]}}, "tcp.mss_ = [1]: expected one of the keys"),
        (
            {"tunnel": {"name": "gost-relay-ws", "chain": [{"name": "x"}]}},
            "tunnel.chain.0.name = 'x': expected one of the keys host, rate, rtt, loss, buffer, cc "
            "(unknown key)",
        ),
    ],
)
def test_messages_say_what_is_wrong(table, message):
    with pytest.raises(tc.ConfigError) as caught:
        Experiment.parse(table)
    assert message in str(caught.value)


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
        ("bbr", "policer_detection", False, 0.0),
        ("bbr3", "loss_threshold", "1%", 0.01),
        ("bbr3", "startup_gain", "289%", 2.89),
        ("bbr3", "reno_max_rounds", 31, 31.0),
        ("cubic", "hystart_plus_plus", True, 1.0),
        ("vegas", "alpha", 4, 4.0),
        ("westwood", "rtt_min", "20ms", 0.02),
        ("ns3::TcpBbr", "RttWindowLength", "5s", 5.0),
    ],
)
def test_parameters_have_units(name, key, value, number):
    flow = tc.Flow(cc={"name": name, key: value})
    assert flow.cc.parameters == {key: number}
    assert tc.Flow(cc=flow.table()["cc"]) == flow


def test_every_parameter_can_be_set_from_a_scenario():
    for name in core.congestion_controls():
        parameters = core.congestion_parameters(name)
        required = {item.name: item.minimum for item in parameters if item.is_required}
        for parameter in parameters:
            number = required.get(parameter.name, parameter.default)
            value = {"s": f"{number}s", "bool": bool(number)}.get(parameter.unit, number)
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
        ("policer_detection", 2, "true or false"),
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
        ("none", "ethernet", "1538B"),
        ("gost-relay-ws", "ethernet", "1538B"),
        ("vtun", "ethernet", "1538B"),
        ("wireguard", "ethernet", "1518B"),
        (_FRAGMENTED, "ip", "2600B"),
        (_FRAGMENTED, "ethernet", "2676B"),
        (_FRAGMENTED, "ip", "2p"),
    ],
)
def test_a_queue_has_room_for_what_a_full_segment_becomes(queue, tunnel, framing, least):
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

    assert f"path.buffer = '{less}': expected room for " in _refusal({**experiment(less)})
    result = tc.run(Experiment.parse(experiment(least)))
    assert result.raw.flows[0].total_bytes == 20_000


def test_no_tunnel():
    assert tc.Experiment(tunnel="none") == tc.Experiment(tunnel=None) == tc.Experiment()


@pytest.mark.parametrize(("key", "value"), [("mtu", 1400), ("cc", "bbr"), ("nmae", 1)])
def test_no_tunnel_has_no_keys(key, value):
    expected = f"tunnel.{key} = {value!r}: expected no value, because tunnel none has no keys"
    assert expected in _refusal({"tunnel": {"name": "none", key: value}})
    assert tc.Experiment(tunnel={"name": "none", key: None}) == tc.Experiment()


def test_experiments_cannot_be_changed():
    for group, key, value in ((tc.Experiment(), "seed", 2), (tc.Path(), "rate", "9Mbps")):
        with pytest.raises(tc.ConfigError, match=rf"{key} = .*with_\(\{{key: value\}}\)"):
            setattr(group, key, value)


def test_values_have_keys():
    with pytest.raises(tc.ConfigError, match=r"Flow = 'bbr': expected .*Flow\(key=value\)"):
        tc.Flow("bbr")


def test_the_segment_size_follows_timestamps():
    assert (tc.Tcp().mss, tc.Tcp().header_bytes, tc.Tcp().syn_bytes) == (1448, 52, 60)
    without = tc.Tcp(timestamps=False)
    assert (without.mss, without.header_bytes, without.syn_bytes) == (1460, 40, 52)
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
                "framing": _quantities("ip", "ethernet"),
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
        return [start for _, start in derived.flows(tc.Experiment(**changes))]

    one = starts(flows=[{"count": 3}, {"count": 2}])
    assert one == starts(flows=[{"count": 3}, {"count": 2}], path={"rate": "1Gbps"})
    assert len(set(one)) == 5
    assert all(0 <= start < 0.005 for start in one)
    assert one[3:] == starts(flows=[{"count": 7}, {"count": 2}])[7:]
    assert one[:3] == starts(flows=[{"count": 4}])[:3]
    assert one != starts(flows=[{"count": 3}, {"count": 2}], seed=2)
    assert starts(flows=[{"start": "2s"}], start_jitter="0s") == [2.0]


def test_draws_are_uniform():
    draws = [derived.uniform(1, "start", 0, member) for member in range(10_000)]
    assert 0.49 < sum(draws) / len(draws) < 0.51
    assert min(draws) >= 0
    assert max(draws) < 1


def test_derived_numbers_of_the_defaults():
    numbers = derived.numbers(tc.Experiment(path={"rate": "100Mbps", "rtt": "100ms"}))
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
