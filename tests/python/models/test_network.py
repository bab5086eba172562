# SPDX-License-Identifier: GPL-2.0-only
"""Networks and mixtures of tunnels: what is known of them from theory, and by hand."""

from __future__ import annotations

import numpy as np
import pytest

import tunnelcc as tc
from tunnelcc.specification import experiment_spec

PATH = {"rate": "100Mbps", "rtt": "40ms", "buffer": "1bdp"}
LARGE_BUFFERS = {"tcp_wmem": "64MB", "tcp_rmem": "64MB"}


def _run(**keys):
    return tc.run(tc.Experiment.parse(keys), progress=False)


def _goodputs(seeds, **keys):
    """Goodputs (bit/s) of the flows; shape (seed, flow)."""
    experiments = [tc.Experiment.parse({**keys, "seed": seed}) for seed in seeds]
    results = tc.run_many(experiments, progress=False)
    return np.array([[flow["flow_goodput"] for flow in it.to_dict()["flows"]] for it in results])


@pytest.mark.parametrize("tunnel", [None, "gost-relay-ws", "gost-relay-wss"])
def test_a_relay_whose_carrier_is_bbr_takes_what_bbr_takes(tunnel):
    """The carrier's algorithm decides, not that of the application behind it."""
    other = {"cc": "cubic", "tunnel": "relay"} if tunnel else {"cc": "bbr"}
    goodputs = _goodputs(
        range(1, 4),
        path=PATH,
        flows=[{"cc": "cubic"}, other],
        tunnels={"relay": {"name": tunnel, "cc": "bbr"}} if tunnel else {},
        duration="60s",
        warmup="10s",
    )
    share = np.mean(goodputs[:, 1] / goodputs.sum(axis=1))
    assert share == pytest.approx(0.88, abs=0.03)


def test_loss_on_three_links_costs_what_the_square_root_law_says():
    """RTT and loss are three times as large, so that the rate is 1/(3√3): Mathis et al., 1997."""
    single = {"l1": {"between": ["h0", "h1"]}}
    row = {f"l{i}": {"between": [f"h{i}", f"h{i + 1}"]} for i in range(3)}

    def goodput(links):
        last = f"h{len(links)}"
        return _goodputs(
            (1, 2, 3),
            path={"rate": "10Gbps", "rtt": "20ms", "loss": "0.1%"},
            network={"links": links},
            flows=[{"cc": "reno", "from": "h0", "to": last}],
            hosts=LARGE_BUFFERS,
            duration="400s",
            warmup="5s",
            probe_interval="1s",
        ).mean()

    assert goodput(row) / goodput(single) == pytest.approx(1 / (3 * 3**0.5), rel=0.1)


def _download_with_slow_acks(buffer):
    return _run(
        path={**PATH, "buffer": "64MB", "reverse_rate": "1Mbps", "reverse_buffer": buffer},
        direction="down",
        flows=[{"cc": "reno"}],
        hosts=LARGE_BUFFERS,
        duration="40s",
        warmup="20s",
    )


def test_slow_acks_clock_a_download():
    """Goodput is that of the ACKs that fit, times the segments that each acknowledges."""
    totals = _download_with_slow_acks("100MB").to_dict()
    acks = totals["links"]["path"]["reverse"]
    assert totals["metrics"]["drops"] == acks["link_queue_drops"] == 0
    segments = totals["flows"][0]["flow_delivered_bytes"] / 1448
    per_second = 1e6 / (8 * acks["link_bytes_sent"] / acks["link_packets"])
    expected = 1448 * 8 * per_second / (acks["link_packets"] / segments)
    assert totals["metrics"]["goodput"] == pytest.approx(expected, rel=0.01)


def test_acks_that_are_dropped_cost_little_as_they_are_cumulative():
    slow, dropping = (_download_with_slow_acks(buffer) for buffer in ("100MB", "1bdp"))
    assert dropping.links["path"].reverse.queue_drops > 1000
    assert dropping.goodput > 1.5 * slow.goodput


@pytest.mark.parametrize(
    "tunnel", ["gost-relay-wss", pytest.param("wireguard", marks=pytest.mark.slow)]
)
def test_two_equal_tunnels_share_alike(tunnel):
    keys = {"path": PATH, "tunnels": {"a": tunnel, "b": tunnel}, "warmup": "20s"}
    flows = [{"cc": "bbr", "tunnel": "a"}, {"cc": "bbr", "tunnel": "b"}]
    goodputs = _goodputs(range(1, 6), **keys, flows=flows, duration="120s")
    jain = goodputs.sum(axis=1) ** 2 / (2 * (goodputs**2).sum(axis=1))
    assert min(jain) >= 0.99
    flows = [{"cc": "cubic", "tunnel": "a"}, {"cc": "cubic", "tunnel": "b"}]
    goodputs = _goodputs(range(1, 21), **keys, flows=flows, duration="70s")
    shares = goodputs[:, 0] / goodputs.sum(axis=1)
    assert abs(shares.mean() - 0.5) < 2 * shares.std(ddof=1) / 20**0.5


def test_uploads_and_downloads_share_each_link():
    """Data of one cross with the ACKs of the other, in one queue."""
    flows = [{"cc": "cubic"}, {"cc": "cubic", "direction": "down"}]
    result = _run(path=PATH, flows=flows, duration="30s", warmup="5s")
    forward, reverse = result.bottleneck
    for direction in (forward, reverse):
        assert 0.6 < direction.utilisation < 1
        assert direction.queue_delay_mean > 1e-3, "both wait, the ACKs behind data"
    alone = [_run(path=PATH, flows=[flow], duration="30s", warmup="5s").goodput for flow in flows]
    shared = [flow["flow_goodput"] for flow in result.to_dict()["flows"]]
    assert all(got < 0.95 * solo for got, solo in zip(shared, alone, strict=True))


def test_the_other_direction_is_as_fast_where_data_cross_it_and_nothing_else_is_said():
    flows = [{}, {"direction": "down"}]
    spec = experiment_spec(tc.Experiment.parse({"path": PATH, "flows": flows}))
    assert spec["links"][0]["reverse"]["rate"] == 100e6
    one_way = experiment_spec(tc.Experiment.parse({"path": PATH}))
    assert "rate" not in one_way["links"][0]["reverse"], "ACKs alone are not limited"
    path = {**PATH, "reverse": {"rate": "3Mbps", "queue": "codel", "jitter": "1ms"}}
    reverse = experiment_spec(tc.Experiment.parse({"path": path, "flows": flows}))["links"][0]
    assert reverse["reverse"]["rate"] == 3e6
    assert reverse["reverse"]["queue"]["kind"] == "codel"
    assert reverse["reverse"]["jitter"] == 1_000_000
    assert reverse["forward"]["jitter"] == 0


def test_flows_that_name_one_tunnel_share_it_and_tunnels_of_one_kind_are_two():
    flows = [{"tunnel": "a"}, {"tunnel": "a"}, {"tunnel": "b"}, {"tunnel": "none"}, {}]
    keys = {"tunnels": {"a": "wireguard", "b": "wireguard"}, "tunnel": "openvpn-tcp"}
    totals = _run(path=PATH, flows=flows, duration="3s", **keys).to_dict()
    assert [it["tunnel"] for it in totals["tunnels"]] == ["a", "b", "tunnel"]
    assert [it["flows"] for it in totals["tunnels"]] == [[0, 1], [2], [4]]
    assert all(it["forward"]["tunnel_packets"] > 0 for it in totals["tunnels"])
    assert [len(flow["legs"]) for flow in totals["flows"]] == [1, 1, 1, 1, 2]


def test_a_chain_of_a_network_stands_on_its_hosts():
    links = {f"l{i}": {"between": [f"h{i}", f"h{i + 1}"]} for i in range(3)}
    tunnel = {"name": "gost-relay-ws", "cc": "bbr"}
    by_name = {**tunnel, "chain": [{"host": "h1"}, {"host": "h2", "cc": "cubic"}]}
    flow = {"from": "h0", "to": "h3", "bytes": "2MB"}
    keys = {"path": PATH, "network": {"links": links}, "flows": [flow], "duration": "10s"}
    result = _run(**keys, tunnel=by_name)
    legs = result.to_dict()["flows"][0]["legs"]
    assert [leg["leg_cc"] for leg in legs] == ["cubic", "bbr", "bbr", "cubic", "cubic"]
    assert result.flows[0].total_bytes == 2_000_000
    assert all(host["host_cpu_time"] > 0 for host in result.to_dict()["hosts"].values())
    divided = _run(**keys, tunnel={**tunnel, "relays": 2})
    assert [leg.name for leg in divided.legs[0]] == [leg["leg_name"] for leg in legs]


@pytest.mark.parametrize("tunnel", [None, "gost-relay-wss", "wireguard", "openvpn-tcp"])
@pytest.mark.parametrize("shape", ["dumbbell", "parking-lot", "line", "star", "ring", "mesh"])
def test_every_shape_carries_every_kind_of_tunnel(shape, tunnel):
    """Finite flows both ways end with all their bytes; equal seeds give equal results."""
    keys = {
        "path": {"rate": "20Mbps", "rtt": "10ms", "loss": "0.2%"},
        "network": {"shape": shape, "size": 4},
        "flows": [
            {"count": 3, "bytes": "300kB"},
            {"count": 2, "bytes": "200kB", "direction": "down", "cc": "bbr"},
        ],
        "tunnel": tunnel or "none",
        "duration": "60s",
    }
    first, second = _run(**keys), _run(**keys)
    assert [flow.total_bytes for flow in first.flows] == [
        300_000, 300_000, 300_000, 200_000, 200_000,
    ]  # fmt: skip
    assert first.digests() == second.digests()


def test_hosts_of_a_network_are_on_machines_of_their_own_or_on_one():
    def machines(**keys):
        spec = experiment_spec(tc.Experiment.parse(keys))
        return [host["machine"] for host in spec["hosts"]]

    line = {"network": {"shape": "line", "size": 2}}
    chain = {"tunnel": {"name": "gost-relay-ws", "relays": 1}}
    together = {"hosts": {"one_machine": True}}
    assert machines(**line) == [0, 1, 2]
    assert machines(**line, **together) == [0, 0, 0]
    assert machines(**chain, **together) == [0, 0, 2], "a relay between them is apart"


def test_a_flows_own_rtt_is_behind_its_routes_last_link():
    links = {"near": {"between": ["a", "b"]}, "far": {"between": ["b", "c"]}}
    flows = [{"from": "a", "to": "c"}, {"from": "a", "to": "c", "rtt": "200ms"}]
    keys = {"path": {**PATH, "phase": "0"}, "network": {"links": links}, "flows": flows}
    spec = experiment_spec(tc.Experiment.parse(keys))
    assert [flow["extra_delay"]["client"] for flow in spec["flows"]] == [0, 60_000_000]
    result = _run(**keys, duration="2s")
    assert result.metric("flow_base_rtt", flow=0) == pytest.approx(0.08)
    assert result.metric("flow_base_rtt", flow=1) == pytest.approx(0.2)
    srtt = [np.nanmin(leg.srtt[leg.srtt > 0]) for leg in result.connections]
    assert srtt[0] == pytest.approx(0.08, rel=0.05)
    assert srtt[1] == pytest.approx(0.2, rel=0.05)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"flows": [{"tunnel": "wiregard"}]}, "flows.0.tunnel = 'wiregard': expected"),
        ({"flows": [{"from": "a", "to": "b"}]}, "flows.0.from = 'a': expected a host"),
        ({"network": {"shape": "rong", "size": 4}}, "network.shape"),
        ({"network": {"shape": "ring"}}, "network.size: expected the number of hosts"),
        ({"network": {"shape": "mesh", "size": 4000}}, "network.size = 4000"),
        (
            {
                "network": {"shape": "ring", "size": 4},
                "flows": [{"route": ["host1", "host2", "host1", "host3"]}],
            },
            "flows.0.route",
        ),
        (
            {
                "network": {"shape": "ring", "size": 4},
                "flows": [{"from": "host1", "to": "host2", "rtt": "10ms"}],
            },
            "flows.0.rtt = '10ms': expected",
        ),
        (
            {"network": {"shape": "line", "size": 1}, "tunnel": {"name": "gost-ws", "relays": 1}},
            "tunnel",
        ),
        (
            {
                "network": {"shape": "line", "size": 2},
                "tunnel": {"name": "gost-relay-ws", "chain": [{}]},
            },
            "tunnel.chain.0.host: expected a host",
        ),
        (
            {
                "network": {"shape": "line", "size": 2},
                "tunnel": {"name": "gost-relay-ws", "chain": [{"host": "host2"}]},
            },
            "tunnel.chain.0.host = 'host2': expected another host",
        ),
        (
            {
                "network": {"shape": "line", "size": 2},
                "tunnels": {"a": {"name": "gost-relay-ws", "chain": [{"host": "host0"}]}},
                "flows": [{"tunnel": "a"}],
            },
            "tunnels.a.chain.0.host = 'host0': expected another host",
        ),
        (
            {
                "network": {"shape": "line", "size": 3},
                "tunnel": {"name": "gost-relay-ws", "chain": [{"host": "host1"}] * 2},
            },
            "tunnel.chain.0.host = 'host1': expected another host",
        ),
        (
            {"tunnel": {"name": "gost-relay-ws", "chain": [{"host": "h1"}]}},
            "tunnel.chain.0.host = 'h1': expected no value: it needs network",
        ),
        (
            {
                "network": {"shape": "line", "size": 2},
                "tunnel": {"name": "gost-relay-ws", "relays": 3},
            },
            "tunnel.relays = 3: expected at most 1",
        ),
        (
            {"tunnel": "gost-http2", "flows": [{}, {"rtt": "100ms"}]},
            "flows.1.rtt = '100ms': expected the same value for all flows on one carrier",
        ),
        (
            {
                "network": {"shape": "line", "size": 2, "hosts": {"host1": {"cores": 1}}},
                "hosts": {"one_machine": True},
            },
            "network.hosts.host1.cores = 1: expected no value, because all hosts",
        ),
        (
            {"network": {"shape": "ring", "size": 4, "links": {"ring2": {"buffer": "100B"}}}},
            "network.links.ring2.buffer",
        ),
    ],
)
def test_what_cannot_be_is_told_with_its_key(keys, message):
    with pytest.raises(tc.ConfigError) as refusal:
        tc.Experiment.parse(keys)
    assert message in str(refusal.value)


def test_equal_sources_of_cross_traffic_have_pairs_of_their_own():
    source = {"rate": "1Mbps"}
    keys = {"network": {"shape": "dumbbell", "size": 2}, "cross_traffic": [source, source]}
    spec = experiment_spec(tc.Experiment.parse(keys))
    first, second = (spec["routes"][it["route"]]["hosts"] for it in spec["flows"][-2:])
    assert first != second


def test_the_bottleneck_is_the_slowest_link_whichever_way_it_is_crossed():
    """Both links are crossed from their second host to their first."""
    fast = {"between": ["b", "a"], "rate": "100Mbps"}
    slow = {"between": ["c", "b"], "rate": "10Mbps"}
    keys = {"network": {"links": {"fast": fast, "slow": slow}}, "flows": [{"from": "a", "to": "c"}]}
    result = _run(**keys, duration="2s")
    assert result.network.bottleneck == ("slow", True)
