# SPDX-License-Identifier: GPL-2.0-only
"""Keys of experiments: each is documented and refuses what it cannot be."""

from __future__ import annotations

import pytest

import tunnelcc as tc
from helpers import discipline_with
from tunnelcc import scenario
from tunnelcc.catalog.datagram import DatagramEntry
from tunnelcc.config import HostOverrides, LinkDirection
from tunnelcc.scenario import Experiment
from tunnelcc.schema import keys_of
from tunnelcc.schema.toml import parse_value

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
    "path.trace": ["", "nofile.csv", ".", 5, True, ["a.csv"], {"file": "a.csv"}],
    "path.rtt": NOT_A_RTT,
    "path.rtt_steps": [[["1s"]], [["1s", "5"]], [["0s", "1ms"]], [["1s", "0ms"]], "far", 7],
    "path.outages": [
        [["2s", "1s"]],
        [["1s", "1s"]],
        [["1s"], ["2s"]],
        [["1s", "3s"], ["2s", "4s"]],
        [[]],
        [["1s", "2s", "3s"]],
        ["1s", "2s"],
        "1s",
        7,
        [["-1s"]],
        [["1s", "200000s"]],
    ],
    "path.handover": ["reorder", "drop", 1, True],
    "path.loss_steps": [[["1s"]], [["1s", "101%"]], [["0s", "1%"]], [["1s", "-1%"]], "much", 7],
    "path.buffer_steps": [[["1s"]], [["1s", "5"]], [["0s", "9kB"]], [["1s", "1B"]], "deep", 7],
    "path.loss": NOT_A_PROBABILITY,
    "path.buffer": [*NOT_A_BUFFER, "1499B", "0.0001bdp"],
    "path.queue.name": ["cobalt", "fq_codel", "CoDel", 5, ""],
    "path.queue.target": NOT_A_TIMER,
    "path.queue.interval": [*NOT_A_TIMER, "1us"],
    "path.queue.alpha": [-1, 101, "fast", "nan"],
    "path.queue.beta": [-1, 101, "fast", "nan"],
    "path.queue.step": ["-1ms", "61s", "5", True],
    "path.queue.coupling": [0, 101, "twice", "nan"],
    "path.queue.classic_share": ["0%", "101%", "half", "nan"],
    "path.queue.burst": ["-1ms", "61s", "5", True],
    "path.queue.min_threshold": [*NOT_A_BUFFER, "15p", "1000p"],
    "path.queue.max_threshold": NOT_A_BUFFER,
    "path.queue.max_probability": NOT_A_POSITIVE_SHARE,
    "path.queue.weight": [0, -1, 1.1, "nan", "1%"],
    "path.queue.gentle": NOT_A_SWITCH,
    "path.queue.ecn": NOT_A_SWITCH,
    "path.queue.bandwidth": NOT_A_RATE,
    "path.queue.overhead": ["dsl", "-1B", 257, "1Mbps", True],
    "path.queue.mpu": ["257B", -1, "small", True],
    "path.queue.cells": ["ATM", 53, True],
    "path.queue.rtt": NOT_A_RTT,
    "path.queue.isolation": ["host", "triple", 3, True],
    "path.queue.ack_filter": ["on", True, 1],
    "path.queue.ingress": NOT_A_SWITCH,
    "path.reverse_rate": NOT_A_RATE,
    "path.reverse_buffer": NOT_A_BUFFER,
    "path.reverse_loss": NOT_A_PROBABILITY,
    "path.ecn_threshold": NOT_A_BUFFER,
    "path.ip": [0, 5, 46, "4", "IPv6", 4.0, True],
    "path.mtu": [575, 65536, "1500", 1400.5, True],
    "path.too_big": ["drop", "Tell", 5, True],
    "path.fragments": ["reassemble", "dropped", 5, False],
    "path.reassembly_delay": ["-1ms", "11s", "5", True],
    "path.clamp_mss": [87, 65496, "mtu", "1350", 1350.5, True],
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
    "path.jitter_distribution": ["pareto", "log-normal", 1],
    "path.jitter_deviation": ["-1ms", "101s", "5", "0s", True],
    "path.jitter_reorders": NOT_A_SWITCH,
    "path.reorder": NOT_A_PROBABILITY,
    "path.reorder_delay": NOT_A_TIMER,
    "flows.transport": ["sctp", "QUIC", 5, ""],
    "flows.traffic": ["fax", 5, "call"],
    "flows.gaps": ["random", 5, "exponential"],
    "flows.playout": [*NOT_A_TIMER, "20ms"],
    "flows.cc": NOT_A_NAME,
    "flows.count": NOT_A_COUNT,
    "flows.start": [*NOT_A_TIME, "30s", "40s"],
    "flows.stop": [*NOT_A_TIME, "0s"],
    "flows.rtt": NOT_A_RTT,
    "flows.bytes": [*NOT_A_SIZE, 0],
    "flows.bytes_shape": [1, 0.9, 11, "1.2", True],
    "flows.bytes_most": [*NOT_A_SIZE, 0],
    "flows.rate": NOT_A_RATE,
    "flows.preamble": [*NOT_A_SIZE, "2MiB"],
    "flows.stream_window": [*NOT_A_SIZE, 0, "2GiB"],
    "flows.first_stream_window": [*NOT_A_SIZE, 0, "2GiB", "7MiB"],
    "flows.connection_window": [*NOT_A_SIZE, 0, "4GiB"],
    "flows.first_connection_window": [*NOT_A_SIZE, 0, "4GiB", "16MiB"],
    "flows.window": [*NOT_A_SIZE, 0, "4095B", "2GiB"],
    "flows.data_start": [*NOT_A_TIME, "31s"],
    "flows.payload": ["txt", 5, ""],
    "flows.write_size": [*NOT_A_SIZE, 0, "17MiB"],
    "flows.writes": ["often", True, 1],
    "flows.from": NOT_A_HOST,
    "flows.to": NOT_A_HOST,
    "flows.direction": ["left", "UP", 1],
    "flows.route": NOT_A_ROUTE,
    "flows.ack_route": NOT_A_ROUTE,
    "flows.mptcp.paths": ["a", [], ["a"], ["a", 5], ["a", ["b"]], 5],
    "flows.mptcp.backup": ["a", ["a"], [5], 5],
    "flows.mptcp.scheduler": ["fastest", "", 5],
    "flows.tunnel": [5, "two\nlines", ["wireguard"]],
    "cross_traffic.from": NOT_A_HOST,
    "cross_traffic.to": NOT_A_HOST,
    "cross_traffic.direction": ["left", "UP", 1],
    "cross_traffic.route": NOT_A_ROUTE,
    "flows.interarrival": [*NOT_A_TIME, "0s", "2h"],
    "flows.user": [5, "two\nlines", "x" * 201],
    "cross_traffic.rate": NOT_A_RATE,
    "cross_traffic.packet": [*NOT_A_SIZE, 27, 65536],
    "cross_traffic.start": [*NOT_A_TIME, "31s"],
    "cross_traffic.stop": [*NOT_A_TIME, "0s"],
    "cross_traffic.on": NOT_A_TIMER,
    "cross_traffic.off": NOT_A_TIMER,
    "cross_traffic.tunnel": [5, "two\nlines", "wiregard", "ssh-forward"],
    "pings.from": NOT_A_HOST,
    "pings.to": NOT_A_HOST,
    "pings.direction": ["left", "UP", 1],
    "pings.route": NOT_A_ROUTE,
    "pings.interval": [*NOT_A_TIME, "0s", "2h"],
    "pings.size": [*NOT_A_SIZE, 1473],
    "pings.start": [*NOT_A_TIME, "31s"],
    "pings.stop": [*NOT_A_TIME, "0s"],
    "pings.tunnel": [5, "two\nlines", "wiregard", "kcptun"],
    "tunnel.name": ["gost", "gost-relay-wws", 5, "nofile.toml", ""],
    "tunnel.between": [*NOT_A_ROUTE, ["a", "a"], ["client", "a"], ["client", "server", "a"]],
    "tunnel.uplinks.routes": [*NOT_A_ROUTE, [[]], [["client", "server"], 5], [["server", "a"]]],
    "tunnel.uplinks.use": ["fail_over", "", 5],
    "tunnel.mptcp.paths": ["a", [], ["a"], ["a", 5], ["a", ["b"]], 5],
    "tunnel.mptcp.backup": ["a", ["a"], [5], 5],
    "tunnel.mptcp.scheduler": ["fastest", "", 5],
    "tunnel.mpquic.paths": ["a", [], ["a"], ["a", 5], ["a", ["b"]], 5],
    "tunnel.mpquic.backup": ["a", ["a"], [5], 5],
    "tunnel.mpquic.scheduler": ["default", "", 5],
    "tunnel.uplinks.rates": [[], ["0bps", "1Mbps"], [1e6], "1Mbps", ["1Mbps"], [["1Mbps"]], 5],
    "tunnel.uplinks.weights": [[], [0, 1], [-1, 1], ["1", "2"], 2, [[1, 1]], [1, 1e7], [True, 1]],
    "tunnel.uplinks.reorder_size": [-1, 65537, "64", 1.5, True],
    "tunnel.uplinks.reorder_time": [*NOT_A_TIME, "0s", "61s"],
    "tunnel.uplinks.probe_interval": [*NOT_A_TIME, "0s", "2h"],
    "tunnel.uplinks.fail_after": [0, 1001, "5", 1.5, True],
    "tunnel.uplinks.return_after": [0, 1001, "5", 1.5, True],
    "tunnel.cc": NOT_A_NAME,
    "tunnel.nodelay": NOT_A_SWITCH,
    "tunnel.send_buffer": [*NOT_A_SIZE, 0, "2GiB"],
    "tunnel.receive_buffer": [*NOT_A_SIZE, 0, "2GiB"],
    "tunnel.copy_buffer": [*NOT_A_SIZE, 0, "17MiB"],
    "tunnel.mode": ["aes", "", 5, "two\nlines"],
    "tunnel.ip": [0, 5, 46, "4", "IPv6", 4.0, True],
    "tunnel.mtu": [575, 65536, "1500B", 1400.5, True],
    "tunnel.mss": [127, 65536, "1448", 1400.5],
    "tunnel.queue": [0, -1, 2**21, "500p"],
    "tunnel.version": ["", "2.7", "v0.2.0", 2, 0.2, "0.2.0.1"],
    "tunnel.fec": ["20", "20:10,10:5", "250:6", "a:b", "", 5, "4:2", "none"],
    "tunnel.rate": [*NOT_A_RATE, "9kbps", "269Mbps"],
    "tunnel.kcp.mtu": [127, 1501, "1350B", 1350.5, True],
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
    "tunnel.under.ip": [0, 5, 46, "4", "IPv6", 4.0, True],
    "tunnel.under.mtu": [575, 65536, "1500B", 1400.5, True],
    "tunnel.under.mss": [127, 65536, "1448", 1400.5],
    "tunnel.under.queue": [0, -1, 2**21, "500p"],
    "tunnel.under.version": ["", "2.7", 2],
    "tunnel.under.fec": ["20", "250:6", "4:2"],
    "tunnel.under.fec_timeout": [*NOT_A_TIME, "0s", "31s"],
    "tunnel.carriers": ["flows", 0, 4097, 1.5, True, "all", "user", 2],
    "tunnel.stream_window": [*NOT_A_SIZE, 0, "2GiB", "64KiB"],
    "tunnel.first_stream_window": [*NOT_A_SIZE, 0, "2GiB", "7MiB"],
    "tunnel.connection_window": [*NOT_A_SIZE, 0, "4GiB", "64KiB"],
    "tunnel.first_connection_window": [*NOT_A_SIZE, 0, "4GiB", "16MiB"],
    "tunnel.vlan_tags": [0, 3, -1, "1", 1.5, True],
    "tunnel.session_buffer": [*NOT_A_SIZE, 0, "2GiB"],
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
    "tcp.mtu_probing": [-1, 3, "1", True, 1.0],
    "tcp.base_mss": [87, 65484, "1024", 512.5, True],
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
    "until": ["0%", "51%", "0.01%", 1, "setled", True, "5s"],
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
    # path.ip is of all links.
    for _key in [key for key in BAD_VALUES if key.startswith("path.") and key != "path.ip"]:
        BAD_VALUES[_key.replace("path.", _group, 1)] = [
            value for value in BAD_VALUES[_key] if value not in (*_TOO_SMALL, "0ms")
        ]
    BAD_VALUES[f"{_group}between"] = [*NOT_A_ROUTE, ["a", "a"], ["a", "b", "c"]]
    BAD_VALUES[f"{_group}count"] = NOT_A_COUNT
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
for _info in keys_of(Experiment):
    if _info.kind:
        BAD_VALUES.setdefault(_info.key, ["no quantity", [], -1e300])


def _tunnel_with(key: str) -> str:
    """A tunnel that knows the key."""
    name = key.removeprefix("tunnel.").removeprefix("tunnels.NAME.")
    if name in ("fec", "fec_timeout"):
        return "sdwan-fec"
    if name.startswith("kcp."):
        return "kcptun"
    if name == "rate":
        return "finalspeed"
    if name.startswith("first_"):
        return "gost-quic"
    if name == "session_buffer":
        return "kcptun"
    if name.startswith("uplinks."):
        return "ethudp"
    return "ethudp" if name in DatagramEntry.OVERRIDES else "gost-relay-ws"


def _settings_around(key: str) -> dict[str, object]:
    """What a key of the path needs beside it."""
    group, _, name = key.rpartition(".")
    where, _, table = group.rpartition(".")
    around: dict[str, object] = {}
    if table == "queue" and where and name != "name":
        around = {group: discipline_with(name)}
    needs: dict[str, dict[str, object]] = {
        "gilbert_elliott": {"p": "1%", "r": "20%", "k": "100%"},
        "policer": {"rate": "50Mbps"},
    }
    around |= {f"{group}.{other}": value for other, value in needs.get(table, {}).items()}
    if ".under." in key:
        around = {f"{group}.name": "sdwan-fec" if name.startswith("fec") else "ethudp"}
    if key == "path.reverse_buffer":
        around = {"path.reverse_rate": "10Mbps"}
    if table == "uplinks":
        around |= {
            f"{where}.between": ["client", "server"],
            f"{group}.routes": [["client", "server"]],
        }
    if table in ("mptcp", "mpquic"):
        around |= {f"{group}.paths": ["b", "c"]}
    if key in ("flows.stream_window", "flows.connection_window") or name.startswith("first_"):
        around |= {"flows.transport": "quic"}
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


def _refusal(key: str, value: object) -> tc.ConfigError | None:
    if isinstance(value, str) and value.startswith("{"):
        value = parse_value(value)
    try:
        _experiment(key, value)
    except tc.ConfigError as error:
        return error
    return None


@pytest.mark.parametrize("key", BAD_VALUES)
def test_bad_values_are_refused(key):
    last = "tunnel" if key in ("tunnel.name", "tunnels.NAME.name") else key.rpartition(".")[2]
    for value in BAD_VALUES[key]:
        error = _refusal(key, value)
        assert error is not None, value
        assert any(last in problem.key for problem in error.problems), value
        assert "expected" in str(error)


def _on_command_line(key: str) -> list[object]:
    """A bad value of each type, if a command line can say it.

    There, `5` is a number and a title is always text.
    """
    can_say = (
        value
        for value in BAD_VALUES[key]
        if (
            parse_value(value) == value
            if isinstance(value, str)
            else key not in ("title", "hosts.kernel")
        )
    )
    return list({type(value): value for value in can_say}.values())


@pytest.mark.parametrize("key", BAD_VALUES)
def test_bad_values_on_the_command_line(key, run):
    for value in _on_command_line(key):
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
        assert code == 2, value
        assert message.startswith("tunnelcc: ")
        assert "expected" in message
        assert "Traceback" not in message
