# SPDX-License-Identifier: GPL-2.0-only
"""What limited a flow is named rightly: raising that limit raises goodput, another does not."""

from __future__ import annotations

import random

import pytest

import tunnelcc as tc
from tunnelcc.commands.compare import declare
from tunnelcc.commands.options import KEYS
from tunnelcc.store import Store
from tunnelcc.sweeps.results import variables
from tunnelcc.sweeps.table import limiting_defaults, print_results

FAST = {"rate": "100Mbps", "rtt": "100ms"}

#: Case → (keys, what limits, the key that changes it, a value that no longer limits).
CASES = {
    # Windows of streams that share a carrier.
    "smux over KCP": (
        {"tunnel": {"name": "kcptun", "stream_window": 16384}},
        "smux's stream window (16KiB)", "tunnel.stream_window", 65536,
    ),
    "smux over TLS": (
        {"tunnel": {"name": "gost-relay-mwss", "stream_window": 65536}},
        "smux's stream window (64KiB)", "tunnel.stream_window", 262144,
    ),
    "an SSH channel": (
        {"path": {"rate": "1Gbps", "rtt": "400ms"}, "tunnel": "ssh-forward", "duration": "8s"},
        "SSH's stream window (2MiB)", "tunnel.stream_window", 2**23,
    ),
    "HTTP/2": (
        {"tunnel": {"name": "gost-http2", "stream_window": 131072}},
        "HTTP/2's stream window (128KiB)", "tunnel.stream_window", 2**19,
    ),
    "all of HTTP/2": (
        {"tunnel": {"name": "gost-http2", "connection_window": 131072}},
        "HTTP/2's connection window (128KiB)", "tunnel.connection_window", 2**19,
    ),
    **{
        f"a stream of {name}": (
            {"tunnel": {"name": name, "stream_window": 131072}},
            "QUIC's stream window (128KiB)", "tunnel.stream_window", 2**19,
        )
        for name in ("tuic", "hysteria2", "gost-quic")
    },
    # Those of sessions that repair loss themselves.
    "KCP's send window": (
        {"tunnel": "kcptun"},
        "KCP's send window (128 segments)", "tunnel.kcp.client_send_window", 512,
    ),
    # Sockets of the hosts: of the flow, of the carrier, of the connection inside a tunnel.
    "a send buffer": (
        {"hosts": {"tcp_wmem": "256KiB"}},
        "the send buffer of client (256KiB)", "hosts.tcp_wmem", "1MiB",
    ),
    "a receive window": (
        {"hosts": {"tcp_rmem": "256KiB"}},
        "the receive window of server (256KiB)", "hosts.tcp_rmem", "1MiB",
    ),
    "a relay's send buffer": (
        {"tunnel": "gost-relay-wss", "hosts": {"tcp_wmem": "256KiB"}},
        "the send buffer of client (256KiB)", "hosts.tcp_wmem", "1MiB",
    ),
    "a connection inside vtun": (
        {"tunnel": "vtun", "hosts": {"tcp_rmem": "256KiB"}},
        "the receive window of server (256KiB)", "hosts.tcp_rmem", "1MiB",
    ),
    # The network, the CPU, the application.
    "the policer": (
        {"path": {**FAST, "rtt": "20ms", "policer": {"rate": "20Mbps", "burst": "100kB"}}},
        "the policer (20Mbps)", "path.policer.rate", "40Mbps",
    ),
    "the link": (
        {"path": {"rate": "20Mbps", "rtt": "20ms"}}, "the link (20Mbps)", "path.rate", "40Mbps",
    ),
    "the application": (
        {"flows": {"cc": "cubic", "rate": "5Mbps"}},
        "the application (5Mbps)", "flows.0.rate", "10Mbps",
    ),
    "a relay's CPU": (
        {"path": {"rate": "1Gbps", "rtt": "2ms"}, "tunnel": "gost-relay-wss",
         "hosts": {"speed": 0.05}, "duration": "2s"},
        "the CPU of server, gost-relay-wss (speed 0.05)", "hosts.speed", 0.2,
    ),
}  # fmt: skip


def _run(keys, changes=None):
    table = {"path": FAST, "flows": {"cc": "cubic"}, "duration": "4s", **keys}
    experiment = tc.config.scenario.build(table, changes or {})
    result = tc.run(experiment, progress=False)
    return result.to_dict()["flows"][0]


@pytest.mark.parametrize("case", CASES)
def test_the_limit_has_its_name_value_and_key(case):
    keys, text, key, value = CASES[case]
    flow = _run(keys)
    found = flow["limited_by"]
    told = f"{found['what']} ({found['value']})" if found["value"] else found["what"]
    assert (told, found["key"]) == (text, key)
    assert found["share"] > 0.5
    changed = {"flows.rate" if key == "flows.0.rate" else key: value}
    assert _run(keys, changed)["flow_goodput"] > 1.3 * flow["flow_goodput"]


#: Key of a window → its bytes or segments, from and to, and the tunnels that it is of.
WINDOWS = {
    "hosts.tcp_wmem": (2**16, 2**19, ("none", "gost-relay-wss", "wireguard")),
    "hosts.tcp_rmem": (2**17, 2**20, ("none", "gost-relay-ws", "wireguard")),
    "tunnel.stream_window": (2**14, 2**18, ("gost-relay-mws", "gost-http2", "tuic", "ssh-forward")),
    "tunnel.kcp.client_send_window": (32, 256, ("kcptun", "gost-kcp")),
}


def _check_random_windows(seed):
    """Check that the smallest of random windows is named, and that it alone matters."""
    draw = random.Random(seed)
    key = draw.choice([*WINDOWS])
    least, most, tunnels = WINDOWS[key]
    window = draw.randint(least, most)
    path = {"rate": f"{draw.choice([100, 200])}Mbps", "rtt": f"{draw.choice([50, 100, 200])}ms"}
    tunnel = draw.choice(tunnels)
    keys = {"path": path, "tunnel": tunnel}
    other = next(it for it in ("hosts.tcp_wmem", "hosts.tcp_rmem") if it != key)
    flow = _run(keys, {key: window})
    found = flow["limited_by"]
    assert (found["key"], found["share"] > 0.5) == (key, True), (seed, keys, key, window, found)
    assert _run(keys, {key: 2 * window})["flow_goodput"] > 1.2 * flow["flow_goodput"]
    same = _run(keys, {key: window, other: 2**26})["flow_goodput"]
    assert same < 1.03 * flow["flow_goodput"]


@pytest.mark.parametrize("seed", range(3))
def test_of_random_windows_the_one_that_limits_is_named(seed):
    _check_random_windows(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 60))
def test_of_many_random_windows_the_one_that_limits_is_named(seed):
    _check_random_windows(seed)


def _compared(tmp_path, settings=(), **options):
    options = {"rate": "50Mbps", "rtt": "40ms", "duration": "2s", **options}
    declared = declare(None, {**dict.fromkeys(KEYS), **options}, settings, None, None)
    tally = tc.sweeps.run(declared, tmp_path)
    return declared, *variables(declared, tally.ids, Store(tmp_path))


def test_a_table_tells_what_limited_each_row(tmp_path, capsys):
    _, data, coordinates = _compared(
        tmp_path, ("hosts.tcp_wmem=64KiB",), tunnel="none,wireguard"
    )  # fmt: skip
    print_results(data, coordinates)
    assert "send buffer of client (64KiB)" in capsys.readouterr().out


def test_a_table_tells_of_defaults_that_limit_points(tmp_path):
    long = {"rate": "1Gbps", "rtt": "300ms", "duration": "6s", "cc": "bbr", "tunnel": "none,kcptun"}
    _, data, coordinates = _compared(tmp_path, **long)
    assert limiting_defaults(data, coordinates, lambda key: False) == {"hosts.tcp_wmem": (1, 2)}
    assert limiting_defaults(data, coordinates, lambda key: True) == {}


def test_rows_that_differ_in_a_cc_without_effect_are_one(tmp_path, capsys):
    _, data, coordinates = _compared(tmp_path, tunnel="none,kcptun", cc="bbr,cubic")
    print_results(data, coordinates)
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.startswith(("bbr", "cubic"))]) == 2
    assert len([line for line in lines if line.startswith("any (kcp)")]) == 1
