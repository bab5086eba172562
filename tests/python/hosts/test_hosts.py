# SPDX-License-Identifier: GPL-2.0-only
"""Hosts with finite CPUs: profiles, switches between threads, machines that hosts share."""

from __future__ import annotations

import pytest

import tunnelcc as tc
from tunnelcc import ConfigError
from tunnelcc.hosts import costs
from tunnelcc.network.resolve import resolve
from tunnelcc.specification import experiment_spec

PATH = {"rate": "10Gbps", "rtt": "200us", "buffer": "4MB"}
REFERENCE = costs.load(costs.REFERENCE)


def _experiment(**keys):
    table = {"path": PATH, "duration": "300ms", "warmup": "100ms", "probe_interval": "10ms"}
    return tc.Experiment(**{**table, **keys})


def test_applications_pay_for_their_system_calls_with_a_profile():
    hosts = {"profile": costs.REFERENCE, "app_cost": 0.5}
    experiment = _experiment(hosts=hosts, tcp={"mss": 1000})
    send, receive = costs.of(REFERENCE, ["tcp-send"]), costs.of(REFERENCE, ["tcp-receive"])
    assert resolve(experiment).first.app_cost("client") == pytest.approx(0.5 + send(1000) / 1000)
    assert resolve(experiment).first.app_cost("server") == pytest.approx(0.5 + receive(1000) / 1000)
    down = _experiment(hosts=hosts, tcp={"mss": 1000}, direction="down")
    assert resolve(down).first.app_cost("server") == resolve(experiment).first.app_cost("client")
    assert resolve(_experiment()).first.app_cost("client") == 0


def test_small_segments_cost_the_sender_its_rate():
    goodput = {}
    for mss in (256, 1448):
        hosts = {"profile": costs.REFERENCE}
        experiment = _experiment(hosts=hosts, tcp={"mss": mss})
        goodput[mss] = tc.run(experiment).goodput
        limit = 8e9 / resolve(experiment).first.app_cost("client")
        assert goodput[mss] == pytest.approx(limit, rel=0.05)
    assert goodput[256] < goodput[1448] / 3


def _switch_costs(experiment):
    """Of the client and the server, ns."""
    return [host["switch_cost"] for host in experiment_spec(experiment)["hosts"]]


def test_switches_cost_what_the_profile_says_unless_told():
    with_profile = _experiment(hosts={"profile": costs.REFERENCE, "speed": 0.5})
    cost = REFERENCE.operation("context-switch").per_call
    assert _switch_costs(with_profile)[0] == pytest.approx(2 * cost, abs=0.5)
    assert _switch_costs(_experiment())[0] == 0
    told = _experiment(hosts={"profile": costs.REFERENCE, "switch_cost": 7})
    assert _switch_costs(told)[1] == 7


def test_what_was_measured_of_relays_contains_their_switches():
    hosts = {"profile": costs.REFERENCE}
    assert _switch_costs(_experiment(hosts=hosts, tunnel="gost-relay-ws")) == [0, 0]
    told = _experiment(hosts={**hosts, "switch_cost": 7}, tunnel="gost-relay-ws")
    assert _switch_costs(told)[0] == 7


def test_small_messages_cost_a_relay_its_rate(tmp_path):
    # Each is read, and written on, by a system call of its own: 3.6 us and what its bytes take.
    call = REFERENCE.operation("tcp-receive").per_call + REFERENCE.operation("tcp-send").per_call
    seconds = {}
    for size in (64, 4096):
        experiment = _experiment(
            tunnel="gost-relay-wss",
            flows={"count": 16, "rate": "1Mbps", "write_size": size},
            duration="1s",
            warmup="0s",
        )
        result = tc.run(experiment)
        messages = 16 * 1e6 / 8 / size
        seconds[size] = result.hosts[0].cpu_time / messages * 1e9
        # The rest goes by byte, with 6 or 8 bytes of WebSocket's and 22 of TLS.
        assert call < seconds[size] < call + 1.2 * (size + 34)
    assert seconds[64] / 64 > 20 * seconds[4096] / 4096


@pytest.fixture(scope="module")
def by_streams():
    """Goodput of a relay whose CPU is the limit, by streams and cost of switching (ns)."""

    def goodput(streams, switch_cost):
        experiment = _experiment(
            tunnel="gost-relay-ws",
            flows={"count": streams},
            hosts={"switch_cost": switch_cost, "speed": 0.5},
            duration="600ms",
            warmup="300ms",
        )
        return tc.run(experiment).goodput

    return {(n, cost): goodput(n, cost) for n in (1, 32) for cost in (0, 20_000)}


def test_many_streams_lose_to_switches(by_streams):
    # Each message of 32 KiB costs the server 2 * 32 KiB * 2.0 ns, and a switch.
    assert by_streams[1, 20_000] == pytest.approx(by_streams[1, 0], rel=0.02)
    assert by_streams[32, 20_000] < 0.93 * by_streams[32, 0]


def test_hosts_of_one_machine_share_its_cores():
    def run(one_machine):
        experiment = _experiment(
            tunnel="gost-relay-ws", flows={"count": 4}, hosts={"one_machine": one_machine}
        )
        return tc.run(experiment)

    apart, together = run(False), run(True)
    # Alone, the receiving relay keeps its two cores busy; then the sending one takes its part.
    assert together.goodput < 0.9 * apart.goodput
    busy = [together.to_dict()["hosts"][side]["host_cpu"] for side in ("client", "server")]
    assert sum(busy) == pytest.approx(1, abs=0.02)


def test_one_machine_has_one_number_of_cores():
    hosts = {"one_machine": True, "cores": 4, "server": {"cores": 2}}
    with pytest.raises(ConfigError, match=r"hosts\.cores = 2: expected equal values"):
        _experiment(hosts=hosts)


def test_a_profile_without_an_operation_of_the_tunnel_is_refused(tmp_path):
    path = tmp_path / "mine.toml"
    cost = 'per_call = 1\nper_byte = 1\nlabel = "stated"\nsource = "here"\n'
    names = ("context-switch", "tcp-send", "tcp-receive", "tun-read", "tun-write", "udp-receive")
    path.write_text('summary = "mine"\n' + "".join(f"[operations.{it}]\n{cost}" for it in names))
    _experiment(hosts={"profile": str(path)})
    with pytest.raises(ConfigError, match=r"hosts\.profile = 'mine': .* the cost of udp-send"):
        _experiment(hosts={"profile": str(path)}, tunnel="ethudp")
