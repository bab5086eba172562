# SPDX-License-Identifier: GPL-2.0-only
"""Multipath QUIC as the carrier of relays and of tunnels of packets: streams and datagrams.

The router and the relay are gateways, with two paths between them. Tolerances were written down
before the first run: 5 % of the sum of both rates, and for TCP inside datagrams, which two paths
reorder, more than the better path alone where both are alike. How much more was found: packets in
turn keep the queues of both paths alike, and lowest RTT fills one after the other.
"""

from __future__ import annotations

import pytest

import tunnelcc as tc
from two_paths import FAR, PATHS, carriers_of, experiment_with, flow_with, links_with, run_with

ALIKE = (("20Mbps", "20ms"), ("20Mbps", "20ms"))

# Payload of a frame in a full packet: of 1441 bytes, the largest that quic-go's search finds, 23 of
# the packet and about 8 of the frame; with headers of IP and UDP it has 1469.
_PAYLOAD = 1410 / 1469


@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize("name", ["gost-quic", "hysteria2", "tuic"])
def test_carriers_of_relays_have_the_sum_of_both_rates(name, direction):
    result = run_with({"name": name, "mpquic": PATHS}, flow_with(direction=direction))
    assert 0.95 * 30 * _PAYLOAD < result.goodput / 1e6 < 1.005 * 30 * _PAYLOAD
    assert [leg.name for leg in carriers_of(result)] == ["carrier", "carrier-path2"]
    one, other = (leg.payload_bytes for leg in carriers_of(result))
    assert one / (one + other) == pytest.approx(2 / 3, abs=0.02)


def test_two_equal_paths_carry_twice_what_one_does():
    alone, both = (
        run_with({"name": "gost-quic", **it}, links=links_with(*ALIKE))
        for it in ({}, {"mpquic": PATHS})
    )
    assert both.goodput == pytest.approx(2 * alone.goodput, rel=0.03)


@pytest.mark.parametrize("scheduler", ["lowest-rtt", "round-robin", "blest"])
def test_all_bytes_arrive_and_none_twice(scheduler):
    flow, kept = flow_with(bytes="10MB"), {"duration": "30s", "warmup": "0s"}
    keys = {"mpquic": {**PATHS, "scheduler": scheduler}}
    one, both = (run_with({"name": "gost-quic", **it}, flow, **kept) for it in ({}, keys))
    for result in (one, both):
        assert result["flow_total_bytes"][0] == 10_000_000
    assert both["flow_completed_at"][0] < 0.8 * one["flow_completed_at"][0]
    came = sum(leg.payload_bytes for leg in carriers_of(both))
    duplicates = both["flow_paths_duplicates"][0]
    (held,) = (leg.payload_bytes for leg in carriers_of(one))
    assert came - duplicates == pytest.approx(held, rel=1e-3)  # messages of other sizes
    assert duplicates <= both["flow_paths_reinjected"][0]
    assert 0 < both["flow_paths_hol_delay_mean"][0] < both["flow_paths_hol_delay_max"][0]


def test_the_difference_of_both_delays_is_what_bytes_wait():
    """A byte of the faster path waits for those of the slower one that were sent before it."""
    found = []
    for rtt in ("20ms", "120ms"):
        links = links_with(("20Mbps", "20ms"), ("20Mbps", rtt))
        found.append(run_with({"name": "gost-quic", "mpquic": PATHS}, links=links))
    near, far = (it["flow_paths_hol_delay_mean"][0] for it in found)
    assert near < 0.02
    assert 0.02 < far < 0.12  # half of the bytes wait for up to 50 ms and what queues differ by
    assert found[1].goodput > 0.9 * found[0].goodput


def test_a_carrier_outlives_a_path():
    links = links_with(("10Mbps", "20ms"), ("10Mbps", "40ms"), loss_steps=[["8s", "100%"]])
    keys = {"links": links, "duration": "25s", "warmup": "11s"}
    result = run_with({"name": "gost-quic", "mpquic": PATHS}, **keys)
    assert 0.95 * 10 * _PAYLOAD < result.goodput / 1e6 < 10 * _PAYLOAD
    assert result["flow_paths_reinjected"][0] > 0


def test_a_path_that_comes_back_is_used_again():
    steps = [["6s", "100%"], ["8s", "0%"]]
    links = links_with(("10Mbps", "20ms"), ("10Mbps", "40ms"), loss_steps=steps)
    keys = {"links": links, "duration": "25s", "warmup": "15s"}
    result = run_with({"name": "gost-quic", "mpquic": PATHS}, **keys)
    assert 0.95 * 20 * _PAYLOAD < result.goodput / 1e6 < 20 * _PAYLOAD


def test_a_backup_carries_nothing_while_the_other_path_works():
    result = run_with({"name": "gost-quic", "mpquic": {**PATHS, "backup": ["lte"]}})
    assert carriers_of(result)[1].payload_bytes == 0
    assert 0.95 * 20 * _PAYLOAD < result.goodput / 1e6 < 20 * _PAYLOAD


@pytest.mark.parametrize("cc", ["bbr", "cubic", "lia", "balia"])
def test_the_congestion_control_of_a_carrier_is_of_each_path(cc):
    result = run_with({"name": "gost-quic", "mpquic": PATHS, "cc": cc})
    assert [leg.cc for leg in carriers_of(result)] == [cc, cc]
    assert result.goodput / 1e6 > 0.85 * 30 * _PAYLOAD


def test_paths_of_coupled_windows_share_a_bottleneck_with_one_flow():
    """RFC 6356: two paths over the same link take about what one connection would."""
    shares = {}
    for cc in ("reno", "lia"):
        links = {
            "lan": {"between": ["pc", "router"], **FAR},
            "one": {"between": ["router", "a"], **FAR},
            "other": {"between": ["router", "b"], **FAR},
            "a-far": {"between": ["a", "pop"], **FAR},
            "b-far": {"between": ["b", "pop"], **FAR},
            "shared": {"between": ["pop", "relay"], "rate": "20Mbps", "rtt": "40ms"},
            "core": {"between": ["relay", "server"], **FAR},
        }
        paths = {"paths": ["one", "other"]}
        flows = [flow_with(), flow_with(cc="reno", tunnel="none", count=2)]
        result = run_with(
            {"name": "gost-quic", "mpquic": paths, "cc": cc},
            *flows, links=links, duration="120s", warmup="20s",
        )  # fmt: skip
        delivered = result["flow_delivered_bytes"]
        shares[cc] = delivered[0] / delivered[1:].mean()
    assert shares["reno"] > 1.4 * shares["lia"]


def test_flows_that_share_a_carrier_share_its_paths():
    flows = [flow_with(direction="up"), flow_with(direction="down")]
    result = run_with({"name": "gost-quic", "mpquic": PATHS}, *flows)
    names = [[leg.name for leg in result.legs[flow]] for flow in range(2)]
    assert names == [["app", "carrier", "carrier-path2", "target"]] * 2
    assert result["flow_carrier"].tolist() == [0, 0]
    assert min(result["flow_delivered_bytes"]) * 8 / 10e6 > 0.85 * 30 * _PAYLOAD


# Over one path and at 0.7 of its rate, BBR makes hysteria2-udp lose 1.4 % at the link's queue.
@pytest.mark.parametrize(
    ("name", "share"), [("connect-ip", 0.99), ("connect-udp", 0.99), ("hysteria2-udp", 0.97)]
)
def test_datagrams_go_over_both_paths_once(name, share):
    # Larger ones hysteria2-udp splits, and puts together one at a time.
    flow = flow_with(transport="udp", rate="24Mbps", write_size=1000)
    result = run_with({"name": name, "mpquic": PATHS}, flow)
    way = result.tunnels[0].forward
    assert share < result["flow_received"][0] / result["flow_sent"][0] <= 1
    assert (
        min(leg.payload_bytes for leg in carriers_of(result)) > 0.1 * result["flow_total_bytes"][0]
    )
    assert 0.05 < way.uplinks_reordered < 0.7
    assert way.uplinks_left_reordered == way.uplinks_reordered
    assert way.uplinks_hol_delay_mean == 0  # nothing puts them in order


def test_a_lost_datagram_is_not_sent_again():
    links = links_with(loss="2%")
    flow = flow_with(transport="udp", rate="15Mbps")
    result = run_with({"name": "connect-ip", "mpquic": PATHS}, flow, links=links)
    assert 0.96 < result["flow_received"][0] / result["flow_sent"][0] < 0.995
    assert sum(leg.retransmits for leg in carriers_of(result)) == 0


def test_tcp_in_datagrams_has_more_than_one_path_where_both_are_alike():
    in_turn = {"mpquic": {**PATHS, "scheduler": "round-robin"}}
    alone, lowest, turns = (
        run_with({"name": "connect-ip", **it}, links=links_with(*ALIKE)).goodput
        for it in ({}, {"mpquic": PATHS}, in_turn)
    )
    assert alone < lowest < turns < 2.02 * alone
    assert turns > 1.9 * alone


def test_redundant_sends_all_on_both_paths():
    links = links_with(*ALIKE, loss="2%")
    keys = {"mpquic": {**PATHS, "scheduler": "redundant"}}
    alone, both = (run_with({"name": "gost-quic", **it}, links=links) for it in ({}, keys))
    assert 0.9 * 20 * _PAYLOAD < both.goodput / 1e6 < 20.1 * _PAYLOAD  # of the path without loss
    assert alone.goodput < 0.6 * both.goodput
    assert both["flow_paths_duplicates"][0] > 0.2 * both["flow_delivered_bytes"][0]


def test_aggregation_compares_with_each_path_alone():
    found = tc.aggregation(experiment_with({"name": "gost-quic", "mpquic": PATHS}), jobs=1)
    assert [*found.alone] == ["router → isp → relay", "router → mast → relay"]
    assert found.benefit > 0.9


def test_what_is_shown_of_an_experiment_has_all_paths():
    network = experiment_with({"name": "gost-quic", "mpquic": PATHS}).resolved
    (placed,) = network.tunnels
    hosts = [network.topology.hosts_of(it.client, it.to_server) for it in placed.routes]
    assert hosts == [["router", "isp", "relay"], ["router", "mast", "relay"]]
    assert [step.link for step in network.bottlenecks] == ["dsl", "lte"]


@pytest.mark.parametrize(
    ("tunnel", "message"),
    [
        ({"name": "gost-relay-ws"}, "tunnel.mpquic.paths = ['dsl', 'lte']: expected no value"),
        ({"name": "wireguard"}, "expected no value with wireguard"),
        ({"chain": [{"host": "isp"}]}, "tunnel.mpquic.paths = ['dsl', 'lte']: expected no value"),
        ({"relays": 1}, "no value with relays"),
        ({"name": "connect-ip", "under": "wireguard"}, "no value with under"),
        ({"mpquic": {"paths": ["dsl", "wifi"]}}, "tunnel.mpquic.paths = 'wifi': expected a link"),
        ({"mpquic": {"paths": ["dsl", "dsl-far"]}}, "expected paths that differ"),
        ({"mpquic": {**PATHS, "backup": ["lan"]}}, "expected some of mpquic.paths (dsl, lte)"),
        ({"mpquic": {**PATHS, "backup": ["dsl", "lte"]}}, "not all of mpquic.paths"),
        (
            {"name": "connect-ip", "mpquic": {**PATHS, "scheduler": "redundant"}},
            "tunnel.mpquic.scheduler = 'redundant': expected another scheduler with connect-ip",
        ),
    ],
)
def test_what_does_not_fit_names_the_key(tunnel, message):
    with pytest.raises(tc.ConfigError) as error:
        _ = experiment_with({"name": "gost-quic", "mpquic": PATHS, **tunnel}).resolved
    assert message in str(error.value)


def test_a_flow_has_no_rtt_of_its_own():
    with pytest.raises(tc.ConfigError, match=r"flows\.0\.rtt = '90ms'.*tunnel\.mpquic"):
        _ = experiment_with({"name": "gost-quic", "mpquic": PATHS}, flow_with(rtt="90ms")).resolved
