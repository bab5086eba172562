# SPDX-License-Identifier: GPL-2.0-only
"""MPTCP as the carrier of relays and of tunnels of packets: bytes are kept, and rates add up.

The router and the relay are gateways, with two paths between them. Tolerances were written down
before the first run: 5 % of the sum of both rates for carriers of relays, and half of what the
slower path adds for packets in a stream, which have TCP inside TCP.
"""

from __future__ import annotations

import pytest

import tunnelcc as tc
from helpers import ROOT
from two_paths import PATHS, carriers_of, experiment_with, flow_with, links_with, run_with

EXAMPLE = ROOT / "scenarios/examples/relay-over-two-uplinks.toml"

# Payload in 1500 bytes: TCP's header has 52, and options of MPTCP 28.
_PAYLOAD = 1420 / 1500


@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize(
    "name", ["gost-relay-ws", "gost-relay-wss", "gost-relay-mws", "shadowsocks"]
)
def test_carriers_of_relays_have_the_sum_of_both_rates(name, direction):
    result = run_with({"name": name, "mptcp": PATHS}, flow_with(direction=direction))
    # What waited in buffers when the warm-up ended counts, too.
    assert 0.95 * 30 * _PAYLOAD < result.goodput / 1e6 < 1.005 * 30 * _PAYLOAD
    assert [leg.name for leg in carriers_of(result)] == ["carrier", "carrier-path2"]
    one, other = (leg.payload_bytes for leg in carriers_of(result))
    assert one / (one + other) == pytest.approx(2 / 3, abs=0.02)


def test_packets_in_a_stream_have_more_than_the_better_path():
    alone, both = (run_with({"name": "openvpn-2.6-tcp", **it}) for it in ({}, {"mptcp": PATHS}))
    assert both.goodput > 1.25 * alone.goodput
    way = both.tunnels[0].forward
    assert way.outer_bytes > sum(leg.payload_bytes for leg in carriers_of(both))


@pytest.mark.parametrize("name", ["gost-relay-ws", "gost-relay-wss", "gost-relay-mws"])
def test_all_bytes_arrive_and_none_twice(name):
    """What carriers hold is the same stream as over TCP: to the byte, where writes are the same."""
    flow, kept = flow_with(bytes="10MB"), {"duration": "30s", "warmup": "0s"}
    one, both = (run_with({"name": name, **it}, flow, **kept) for it in ({}, {"mptcp": PATHS}))
    for result in (one, both):
        assert result["flow_total_bytes"][0] == 10_000_000
        assert result["flow_completed_at"][0] > 0
    assert both["flow_completed_at"][0] < 0.8 * one["flow_completed_at"][0]
    held, split = (sum(leg.payload_bytes for leg in carriers_of(it)) for it in (one, both))
    again = both["flow_paths_reinjected"][0]
    assert split - again == pytest.approx(held, rel=2e-3)  # reads of other sizes: other records
    assert both["flow_paths_duplicates"][0] <= again
    assert 0 < both["flow_paths_hol_delay_mean"][0] < both["flow_paths_hol_delay_max"][0]


def test_a_carrier_outlives_a_path():
    links = links_with(("10Mbps", "20ms"), ("10Mbps", "40ms"), loss_steps=[["8s", "100%"]])
    keys = {"links": links, "duration": "25s", "warmup": "11s"}
    result = run_with({"name": "gost-relay-ws", "mptcp": PATHS}, **keys)
    assert 0.9 * 10 * _PAYLOAD < result.goodput / 1e6 < 10 * _PAYLOAD
    assert result["flow_paths_reinjected"][0] > 0


def test_a_backup_carries_nothing_while_the_other_path_works():
    result = run_with({"name": "gost-relay-ws", "mptcp": {**PATHS, "backup": ["lte"]}})
    assert carriers_of(result)[1].payload_bytes == 0
    assert 0.93 * 20 * _PAYLOAD < result.goodput / 1e6 < 20 * _PAYLOAD


@pytest.mark.parametrize("cc", ["bbr", "lia", "balia"])
def test_the_congestion_control_of_a_carrier_is_of_each_path(cc):
    result = run_with({"name": "gost-relay-ws", "mptcp": PATHS, "cc": cc})
    assert [leg.cc for leg in carriers_of(result)] == [cc, cc]
    assert result.goodput / 1e6 > 0.85 * 30 * _PAYLOAD


def test_flows_that_share_a_carrier_share_its_paths():
    flows = [flow_with(direction="up"), flow_with(direction="down")]
    result = run_with({"name": "gost-relay-mws", "mptcp": PATHS}, *flows)
    names = [[leg.name for leg in result.legs[flow]] for flow in range(2)]
    assert names == [["app", "carrier", "carrier-path2", "target"]] * 2
    assert result["flow_carrier"].tolist() == [0, 0]
    assert min(result["flow_delivered_bytes"]) * 8 / 10e6 > 0.85 * 30 * _PAYLOAD


def test_datagrams_of_applications_arrive_over_both_paths():
    udp = flow_with(transport="udp", rate="1Mbps")
    result = run_with({"name": "gost-relay-ws", "mptcp": PATHS}, flow_with(), udp)
    assert result["flow_received"][1] > 0.99 * result["flow_sent"][1]
    assert min(leg.payload_bytes for leg in carriers_of(result, 1)) > 0


def test_paths_between_gateways_may_be_listed_from_either_end():
    ways = [["relay", "isp", "router"], ["router", "mast", "relay"]]
    named, listed = (
        experiment_with({"name": "gost-relay-ws", "mptcp": {"paths": it}})
        .resolved.tunnels[0]
        .routes
        for it in (["dsl", "lte"], ways)
    )
    assert named == listed


def test_aggregation_compares_with_each_path_alone():
    found = tc.aggregation(experiment_with({"name": "gost-relay-ws", "mptcp": PATHS}), jobs=1)
    assert [*found.alone] == ["router → isp → relay", "router → mast → relay"]
    assert found.benefit > 0.85


def test_what_is_shown_of_an_experiment_has_all_paths():
    network = tc.load(EXAMPLE).resolved
    (placed,) = network.tunnels
    hosts = [network.topology.hosts_of(it.client, it.to_server) for it in placed.routes]
    assert hosts == [["router", "isp", "relay"], ["router", "mast", "relay"]]
    loads = {step.link: share for step, share in network.flows[0].traffic.loads.items()}
    shares = {"isp-core": 2 / 3, "dsl": 2 / 3, "mast-core": 1 / 3, "lte": 1 / 3}
    assert loads == pytest.approx({"core": 1.0, **shares, "lan": 1.0})
    assert [step.link for step in network.bottlenecks] == ["dsl", "lte"]


def test_the_example_goes_on_over_lte_while_dsl_is_cut():
    result = tc.run(tc.load(EXAMPLE))
    time, goodput = result["time"], result["flow_goodput_series"].sum(axis=0) / 1e6
    assert goodput[(time > 5) & (time < 20)].mean() > 0.9 * 30 * _PAYLOAD
    assert 0.9 * 10 * _PAYLOAD < goodput[(time > 22) & (time < 25)].mean() < 10 * _PAYLOAD
    assert goodput[time > 32].mean() > 0.85 * 30 * _PAYLOAD


@pytest.mark.parametrize(
    ("tunnel", "message"),
    [
        ({"name": "kcptun"}, "tunnel.mptcp.paths = ['dsl', 'lte']: expected no value with kcptun"),
        ({"name": "wireguard"}, "expected no value with wireguard"),
        ({"chain": [{"host": "isp"}]}, "no value with chain"),
        ({"relays": 1}, "no value with relays"),
        ({"under": "wireguard"}, "no value with under"),
        ({"mptcp": {"paths": ["dsl", "wifi"]}}, "tunnel.mptcp.paths = 'wifi': expected a link"),
        ({"mptcp": {"paths": ["dsl", "dsl-far"]}}, "expected paths that differ"),
        ({"mptcp": {"paths": ["dsl", "core"]}}, "tunnel.mptcp.paths = 'core'"),
    ],
)
def test_what_does_not_fit_names_the_key(tunnel, message):
    with pytest.raises(tc.ConfigError) as error:
        _ = experiment_with({"name": "gost-relay-ws", "mptcp": PATHS, **tunnel}).resolved
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"tcp": {"timestamps": False}}, "tcp.timestamps = False: expected true with tunnel.mptcp"),
        ({"tcp": {"mtu_probing": 1}}, "tcp.mtu_probing = 1: expected 0 with tunnel.mptcp"),
    ],
)
def test_subflows_need_some_settings_of_tcp(keys, message):
    with pytest.raises(tc.ConfigError) as error:
        _ = experiment_with({"name": "gost-relay-ws", "mptcp": PATHS}, **keys).resolved
    assert message in str(error.value)


def test_a_flow_has_no_rtt_of_its_own():
    with pytest.raises(tc.ConfigError, match=r"flows\.0\.rtt = '90ms'.*tunnel\.mptcp"):
        _ = experiment_with(
            {"name": "gost-relay-ws", "mptcp": PATHS}, flow_with(rtt="90ms")
        ).resolved
