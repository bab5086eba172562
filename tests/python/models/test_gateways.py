# SPDX-License-Identifier: GPL-2.0-only
"""Tunnels between gateways, and tunnels in tunnels: by hand, and what cannot be."""

from __future__ import annotations

import csv

import dpkt
import numpy as np
import pytest

import tunnelcc as tc
from helpers import ROOT
from tunnelcc.network.resolve import resolve
from tunnelcc.results import fair
from tunnelcc.specification import experiment_spec

LINKS = {
    "lan-a": {"between": ["pc-a", "edge-a"], "rate": "1Gbps", "rtt": "1ms"},
    "wan": {"between": ["edge-a", "edge-b"], "rate": "100Mbps", "rtt": "40ms", "buffer": "1bdp"},
    "lan-b": {"between": ["edge-b", "pc-b"], "rate": "1Gbps", "rtt": "1ms"},
}
GATES = {"between": ["edge-a", "edge-b"]}
FLOW = {"cc": "cubic", "from": "pc-a", "to": "pc-b"}


def _keys(tunnel, flows=FLOW, links=(), **keys):
    """Two sites, 100 Mbit/s and 40 ms apart, behind links of 1 Gbit/s and 1 ms."""
    merged = {name: {**it, **dict(links).get(name, {})} for name, it in LINKS.items()}
    return {
        "network": {"links": merged},
        "tunnel": tunnel,
        "flows": flows,
        "duration": "6s",
        **keys,
    }


def _run(*args, **keys):
    return tc.run(tc.Experiment.parse(_keys(*args, **keys)), progress=False)


def test_wireguard_between_two_sites():
    """1420 bytes in the tunnel are 1480 on the WAN (WireGuard: 32, UDP and IP: 28).

    40 of them are headers of TCP and IP, 12 are timestamps.
    """
    result = _run({"name": "wireguard", **GATES}, warmup="2s")
    assert experiment_spec(result.experiment)["tcp"][0]["mss"] == 1420 - 40 - 12
    assert result.goodput == pytest.approx(100e6 * 1368 / 1480, rel=2e-3)
    there, _ = result.tunnels[0]
    # A packet in the tunnel is a multiple of 16 bytes there, and 60 bytes more on the WAN.
    padding = there.outer_bytes - 60 * there.outer_packets - there.inner_bytes
    assert 0 <= padding < 16 * there.outer_packets
    # With a window that fills no queue, 1, 40 and 1 ms, and less than 1 ms of packets and costs.
    short = _run({"name": "wireguard", **GATES}, {**FLOW, "window": "32kB"}, duration="1s")
    assert 0.042 < float(short["srtt_mean"][0, 0]) < 0.043


def test_gateways_that_are_the_flows_hosts_are_tunnels_without_gateways():
    plain = tc.run(tc.Experiment.parse({"tunnel": "wireguard", "duration": "2s"}))
    named = {"name": "wireguard", "between": ["client", "server"]}
    same = tc.run(tc.Experiment.parse({"tunnel": named, "duration": "2s"}))
    for name in plain.dataset.data_vars:
        if plain.dataset[name].dtype.kind in "if":
            np.testing.assert_array_equal(plain[name], same[name], err_msg=name)


@pytest.mark.parametrize(
    "name", ["wireguard", "openvpn-tcp", "udpspeeder", "gost-relay-wss", "kcptun"]
)
def test_flows_of_both_directions_cross_any_tunnel(name):
    """Each byte that is sent arrives, also of a client behind the tunnel's server."""
    flows = [
        {**FLOW, "bytes": "300kB"},
        {**FLOW, "bytes": "200kB", "direction": "down"},
        {**FLOW, "from": "pc-b", "to": "pc-a", "bytes": "100kB"},
        {"from": "pc-a", "to": "edge-b", "bytes": "50kB"},
    ]
    result = _run({"name": name, **GATES}, flows, links={"wan": {"loss": "0.5%"}})
    times = [flow["flow_completion_time"] for flow in result.to_dict()["flows"]]
    assert all(time is not None and 0 < time < 6 for time in times)


def test_a_packet_tunnel_is_shared_and_relays_have_a_client_of_their_own():
    back = {**FLOW, "from": "pc-b", "to": "pc-a"}
    for name, count in (("wireguard", 1), ("gost-relay-ws", 2)):
        spec = experiment_spec(tc.Experiment.parse(_keys({"name": name, **GATES}, [FLOW, back])))
        assert len(spec["tunnels"]) == count


def test_a_relay_at_the_gateway_repairs_loss_of_the_access_link_over_that_link():
    """1 % of loss 1 ms away costs little if TCP ends there, and much over 42 ms (Mathis et al.)."""
    lossy = {"lan-a": {"loss": "1%"}}
    packets = _run({"name": "wireguard", **GATES}, {**FLOW, "cc": "reno"}, lossy, warmup="2s")
    relayed = _run({"name": "gost-relay-ws", **GATES}, {**FLOW, "cc": "reno"}, lossy, warmup="2s")
    segment, rtt = 1368 * 8, 0.042
    assert packets.goodput == pytest.approx(segment / rtt * np.sqrt(1.5 / 0.01), rel=0.25)
    assert relayed.goodput > 90e6


def test_costs_and_queues_are_the_gateways():
    """A gateway with half the speed forwards half as much, and its device's queue overflows."""

    def run_on(host, speed):
        network = {"links": LINKS, "hosts": {host: {"speed": speed}}}
        return _run({"name": "wireguard", "queue": 100, **GATES}, network=network, warmup="2s")

    slow, faster, beside = run_on("edge-a", 0.01), run_on("edge-a", 0.02), run_on("pc-a", 0.01)
    assert slow.tunnels[0][0].device_drops > 0
    assert slow.goodput < 0.25 * beside.goodput
    assert faster.goodput == pytest.approx(2 * slow.goodput, rel=0.01)
    assert beside.tunnels[0][0].device_drops == 0


@pytest.mark.parametrize(
    ("mtu", "inner", "wan"),
    [
        # VXLAN adds 50 bytes. 1450 + 50 do not fit into WireGuard's 1420: two fragments of 1420 and
        # 100 bytes, of which WireGuard makes 1480 and, with the second one padded to 112, 172.
        (None, 1450, 1480 + 172),
        (1370, 1370, 1480),
    ],
)
def test_vxlan_over_wireguard_with_the_mtu_wrong_and_right(mtu, inner, wan):
    keys = {"name": "vxlan", "under": "wg", **GATES} | ({"mtu": mtu} if mtu else {})
    result = _run(keys, tunnels={"wg": {"name": "wireguard", **GATES}}, warmup="2s")
    assert result.goodput == pytest.approx(100e6 * (inner - 52) / wan, rel=5e-3)
    upper, lower = (tunnel[0] for tunnel in result.tunnels)
    assert lower.inner_packets == pytest.approx(upper.outer_packets, rel=1e-3)
    assert (upper.fragmented > 0) == (mtu is None)


@pytest.mark.parametrize(
    ("ends", "transport", "segment"),
    [
        # WireGuard's 1420 bytes less VXLAN's 50, of which 52 are headers …
        (("edge-a", "edge-b"), "tcp", 1318),
        (("edge-a", "pc-b"), "tcp", 1318),
        # … or VXLAN's own 1450.
        (("pc-a", "pc-b"), "tcp", 1398),
        (("pc-a", "edge-b"), "tcp", 1398),
        (("edge-a", "edge-b"), "udp", 1398),
    ],
)
def test_vxlan_tells_tcp_on_its_own_host_what_fits(ends, transport, segment):
    """As Linux: skb_tunnel_check_pmtu() changes the route, which ip_forward() does not heed."""
    keys = {"name": "vxlan", "under": "wireguard", **GATES}
    flow = {**FLOW, "from": ends[0], "to": ends[1], "transport": transport}
    flow |= {"rate": "1Mbps"} if transport == "udp" else {}
    for direction in ("up", "down"):
        turned = {**flow, "direction": direction}
        if direction == "down":
            turned |= {"from": flow["to"], "to": flow["from"]}  # the same sender
        traffic = resolve(tc.Experiment.parse(_keys(keys, turned))).flows[0].traffic
        assert traffic.mss == segment, direction


def test_vxlan_tells_a_relays_carriers():
    keys = {"name": "gost-relay-ws", "under": {"name": "vxlan", "mtu": 1500}, **GATES}
    traffic = resolve(tc.Experiment.parse(_keys(keys))).flows[0].traffic
    assert traffic.carried_mss == 1450 - 52


@pytest.mark.parametrize(
    ("upper", "lower"),
    [
        ("openvpn-udp", "wireguard"),
        ("openvpn-tcp", "wireguard"),
        ("wireguard", "openvpn-tcp"),
        ("wireguard", "gost-relay-ws"),
        ("ipsec-esp", "vxlan"),
        ("udpspeeder", "wireguard"),
        ("wireguard", "udpspeeder"),
        ("gost-relay-ws", "wireguard"),
    ],
)
def test_each_byte_arrives_through_a_tunnel_in_a_tunnel(upper, lower):
    flows = [{**FLOW, "bytes": "300kB"}, {**FLOW, "bytes": "100kB", "direction": "down"}]
    keys = {"name": upper, "under": lower, **GATES}
    result = _run(keys, flows, links={"wan": {"loss": "0.5%"}})
    times = [flow["flow_completion_time"] for flow in result.to_dict()["flows"]]
    assert all(time is not None and 0 < time < 6 for time in times)


def test_wireguard_in_a_relay_sees_no_loss():
    """The relay's TCP repairs what the WAN loses; WireGuard's packets only come late.

    A window of 64 kB is less than the 128 datagrams that GOST's UDP listener holds, so that it
    drops none.
    """
    keys = {"links": {"wan": {"loss": "0.5%"}}, "flows": {**FLOW, "window": "64kB"}}
    nested = _run({"name": "wireguard", "under": "gost-relay-ws", **GATES}, **keys)
    direct = _run({"name": "wireguard", **GATES}, **keys)
    assert direct.flows[0].socket_retransmits > 10
    assert nested.flows[0].socket_retransmits == 0
    assert [way.relay_drops for way in nested.tunnels[0]] == [0, 0]
    assert direct.tunnels[0][0].relay_drops is None


def test_what_a_relays_full_queue_drops_is_counted():
    """30 Mbit/s of UDP into 10: the carrier's buffer fills, then 128 datagrams wait."""
    slow = {"wan": {"rate": "10Mbps", "buffer": "1bdp"}}
    flow = {**FLOW, "transport": "udp", "rate": "30Mbps", "stop": "3s"}
    keys = {"duration": "20s", "warmup": "2s", "hosts": {"tcp_wmem": "256KiB"}}
    nested = _run({"name": "wireguard", "under": "gost-relay-ws", **GATES}, flow, slow, **keys)
    way, back = nested.tunnels[0]
    # Some were under way to the relay when measuring began.
    assert way.relay_drops == pytest.approx(way.packets - nested.flows[0].received, abs=3)
    assert way.relay_drops > 1000
    assert back.relay_drops == 0
    direct = _run({"name": "gost-relay-ws", **GATES}, flow, slow, **keys)
    (counted,) = direct.flows
    assert counted.relay_drops == pytest.approx(counted.sent - counted.received, abs=3)
    assert counted.relay_drops > 1000


def test_packets_become_what_real_programs_make_of_them():
    """OpenVPN over wireguard-go between two routers, as captured (tests/reference/nested.py)."""
    keys = {"name": "openvpn-udp", "under": "wireguard", **GATES}
    traffic = resolve(tc.Experiment.parse(_keys(keys))).flows[0].traffic
    with (ROOT / "tests/reference/nested.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 16
    for row in rows:
        outer = traffic.below.across(int(row["ip_bytes"]), "random")
        assert " ".join(map(str, outer)) == row["on_the_wan"], row


UPLINKS = {
    "lan-a": LINKS["lan-a"],
    "isp-1a": {"between": ["edge-a", "isp-1"], "rate": "20Mbps", "rtt": "20ms"},
    "isp-1b": {"between": ["isp-1", "edge-b"], "rate": "1Gbps", "rtt": "1ms"},
    "isp-2a": {"between": ["edge-a", "isp-2"], "rate": "20Mbps", "rtt": "30ms"},
    "isp-2b": {"between": ["isp-2", "edge-b"], "rate": "1Gbps", "rtt": "1ms"},
    "lan-b": LINKS["lan-b"],
}


def _run_over_uplinks(uplinks, links=(), **keys):
    merged = {name: {**it, **dict(links).get(name, {})} for name, it in UPLINKS.items()}
    routes = [["edge-a", "isp-2", "edge-b"]]
    tunnel = {"name": "ethudp", "mtu": 1458, **GATES, "uplinks": {"routes": routes, **uplinks}}
    table = {"network": {"links": merged}, "tunnel": tunnel, **keys}
    return tc.run(tc.Experiment.parse(table), progress=False)


@pytest.mark.parametrize("seed", [1, 2])
def test_ethudp_leaves_a_cut_uplink_after_five_to_six_seconds(seed):
    """1 kbit/s from 3 s on stand for a cut. The last answer is up to 1 s older than the cut."""
    result = _run_over_uplinks(
        {"use": "fail-over"},
        {"isp-1a": {"rate_steps": [["3s", "1kbps"]]}},
        flows={**FLOW, "transport": "udp", "rate": "1Mbps"},
        duration="12s",
        seed=seed,
    )
    series = result["flow_goodput_series"][0]
    arrives = series > 0.5e6
    cut, back = np.flatnonzero(~arrives & (np.arange(len(arrives)) > 25))[[0, -1]] / 10
    assert 3 <= cut <= 3.2
    assert 3 + 5 <= back + 0.1 <= 3 + 6 + 0.2


def test_both_ends_leave_an_uplink_that_is_cut_in_both_directions():
    """Answers of the far host are lost, too, until both ends have taken the other route."""
    result = _run_over_uplinks(
        {"use": "fail-over"},
        {"isp-1a": {"outages": [["3s"]]}},
        flows=[
            {**FLOW, "transport": "udp", "rate": "1Mbps", "direction": way}
            for way in ("up", "down")
        ],
        duration="14s",
        warmup="0s",
    )
    for series in result["flow_goodput_series"]:
        still = np.flatnonzero(series[31:] < 0.2e6)
        assert 48 <= len(still) <= 61, "5 to 6 s"
        assert series[95:].min() > 0.8e6


def test_ways_that_fail_over_are_the_entrys_business():
    """WireGuard sends no probes; who watches its routes says how."""
    links = {name: {**it} for name, it in UPLINKS.items()}
    routes = {"routes": [["edge-a", "isp-2", "edge-b"]]}
    keys = {"network": {"links": links}, "flows": FLOW, "duration": "8s"}

    def parse(name, **uplinks):
        tunnel = {"name": name, **GATES, "uplinks": {**routes, **uplinks}}
        return tc.Experiment.parse({**keys, "tunnel": tunnel})

    for given in ({}, {"use": "fail-over"}, {"probe_interval": "1s", "fail_after": 3}):
        with pytest.raises(tc.ConfigError, match="wireguard has no probes") as refusal:
            parse("wireguard", **given)
        assert refusal.value.problems[0].key == "tunnel.uplinks.use"
    spec = experiment_spec(parse("wireguard", use="packets"))["tunnels"][0]["uplinks"]
    assert spec.keys() == {"routes", "use"}
    spec = experiment_spec(parse("ethudp"))["tunnels"][0]["uplinks"]
    assert (spec["interval"], spec["probe"], spec["fail_after"]) == (10**9, 38, 5)
    own = {"probe_interval": "100ms", "fail_after": 3, "return_after": 2}
    experiment = parse("wireguard", **own)
    assert tc.Experiment.parse(experiment.table()) == experiment
    spec = experiment_spec(experiment)["tunnels"][0]["uplinks"]
    assert (spec["interval"], spec["probe"], spec["return_after"]) == (10**8, 52, 2)


def test_ethudp_itself_left_a_cut_uplink_after_as_long():
    """Eight cuts (tests/reference/fail_over.py), and eight here: 5 to 6 s, evenly distributed."""
    with (ROOT / "tests/reference/fail-over.csv").open() as file:
        measured = [float(row["pause_s"]) for row in csv.DictReader(file)]
    simulated = []
    for seed in range(1, 9):
        result = _run_over_uplinks(
            {"use": "fail-over"},
            {"isp-1a": {"rate_steps": [["1s", "1kbps"]]}},
            flows={**FLOW, "transport": "udp", "rate": "100kbps"},
            duration="8s",
            probe_interval="50ms",
            seed=seed,
        )
        arrives = np.flatnonzero(result["flow_goodput_series"][0] > 0)
        simulated.append(np.diff(arrives).max() * 0.05)
    assert len(measured) == 8
    for pauses in (measured, simulated):
        assert 5 <= min(pauses) <= max(pauses) <= 6 + 0.2
    assert np.mean(simulated) == pytest.approx(np.mean(measured), abs=3 * np.sqrt(2 / 8 / 12))


def test_uplinks_are_shared_by_flow_and_by_packet():
    # Packets of EthUDP's default MTU become fragments, and all large ones would take one route.
    flow = {**FLOW, "transport": "udp", "rate": "14Mbps"}
    keys = {"duration": "4s", "warmup": "1s"}
    by_flow = _run_over_uplinks({"use": "flows"}, flows={**flow, "count": 2}, **keys)
    by_packet = _run_over_uplinks({"use": "packets"}, flows={**flow, "rate": "28Mbps"}, **keys)
    for result in (by_flow, by_packet):
        assert result.goodput == pytest.approx(28e6, rel=0.01)  # more than one uplink carries
    assert by_flow["flow_reordered"].sum() == 0
    # One in two is 10 ms late, which is more than between two packets of a flow.
    assert by_packet["flow_reordered"].sum() > 1000


@pytest.mark.parametrize("tags", [0, 1, 2])
def test_a_trunk_through_ethudp_has_four_bytes_more_for_each_tag(tags):
    """A frame of 14 bytes and its tags, UDP and IP: 42 bytes, or 46, or 50.

    They fit into 1500 bytes, or the second fragment of each full packet needs 20 bytes of IP.
    """
    vlan = {"vlan_tags": tags} if tags else {}
    whole = _run({"name": "ethudp", "mtu": 1450, **vlan, **GATES}, warmup="2s")
    assert whole.goodput == pytest.approx(100e6 * 1398 / (1450 + 42 + 4 * tags), rel=2e-3)
    split = _run({"name": "ethudp", "mtu": 1458, **vlan, **GATES}, warmup="2s")
    fragments = 20 if tags else 0
    assert split.goodput == pytest.approx(
        100e6 * 1406 / (1458 + 42 + 4 * tags + fragments), rel=2e-3
    )


def test_a_capture_shows_the_tags(tmp_path):
    file = tmp_path / "trunk.pcapng"
    tunnel = {"name": "ethudp", "mtu": 1450, "vlan_tags": 2, **GATES}
    experiment = tc.Experiment.parse(_keys(tunnel, {**FLOW, "bytes": "3kB"}, duration="1s"))
    tc.run(experiment, capture=file, progress=False)
    with file.open("rb") as capture:
        packets = [dpkt.ip.IP(data) for _, data in dpkt.pcapng.Reader(capture)]
    frames = [dpkt.ethernet.Ethernet(bytes(it.data.data)) for it in packets if it.p == 17]
    assert len(frames) > 4
    for frame in frames:
        assert len(frame.vlan_tags) == 2
        assert isinstance(frame.data.data, dpkt.tcp.TCP)


def test_tags_need_frames(refusal):
    for name in ("wireguard", "gost-relay-ws", "vtun-udp"):  # VTun's only in another mode
        assert "tunnel.vlan_tags = 1: expected no value" in refusal(
            {"tunnel": {"name": name, "vlan_tags": 1}}
        )


def _resolved(use, flows, **keys):
    tunnel = {"name": "ethudp", "mtu": 1458, **GATES, **keys}
    tunnel["uplinks"] = {"routes": [["edge-a", "isp-2", "edge-b"]], "use": use}
    table = {"network": {"links": UPLINKS}, "tunnel": tunnel, "flows": flows}
    return resolve(tc.Experiment.parse(table))


def test_the_network_knows_all_routes_and_the_share_of_each():
    """Two uplinks of 20 Mbit/s, of which three flows share each or take one in turn."""
    one = {step.link: share for step, share in _resolved("packets", FLOW).first.loads.items()}
    halves = dict.fromkeys(["isp-1a", "isp-1b", "isp-2a", "isp-2b"], 0.5)
    assert one == {"lan-a": 1, **halves, "lan-b": 1}
    # With EthUDP's own MTU, each full packet is a large and a small one, which take turns.
    loads = _resolved("packets", FLOW, mtu=1500).first.loads
    large, small = (loads[step] for step in loads if step.link in ("isp-1a", "isp-2a"))
    assert large + small == 1
    assert large > 20 * small
    waiting = _resolved("fail-over", FLOW).first.loads
    assert [step.link for step, share in waiting.items() if share == 0] == ["isp-2a", "isp-2b"]

    three, payload = {**FLOW, "count": 3}, 1448 / 1500
    for use, expected in (("packets", [40 / 3]), ("flows", [10, 20]), ("fail-over", [20 / 3])):
        rates = np.array(fair.shares(_resolved(use, three))) / 1e6
        np.testing.assert_allclose(rates, np.array(expected) * payload, err_msg=use)


def test_tunnels_that_go_through_one_with_several_routes_take_them_in_turn():
    """Two tunnels of a site each, over another one: their flows do not meet on the uplinks."""
    upper = {"name": "vxlan", "mtu": 1300, "under": "lower", **GATES}
    routes = [["edge-a", "isp-2", "edge-b"]]
    lower = {"name": "ethudp", "mtu": 1458, **GATES, "uplinks": {"routes": routes, "use": "flows"}}
    rate = {"transport": "udp", "rate": "14Mbps"}
    table = {
        "network": {"links": UPLINKS},
        "tunnels": {"one": upper, "other": upper, "lower": lower},
        "flows": [{**FLOW, **rate, "tunnel": "one"}, {**FLOW, **rate, "tunnel": "other"}],
        "duration": "3s",
        "warmup": "1s",
    }
    result = tc.run(tc.Experiment.parse(table), progress=False)
    assert result.goodput == pytest.approx(28e6, rel=0.01)
    taken = [{step.link for step in it.loads} for it in result.network.kinds]
    assert ["isp-1a" in links for links in taken] == [True, False]
    assert ["isp-2a" in links for links in taken] == [False, True]


def test_only_what_goes_through_a_tunnel_takes_turns_on_its_routes():
    """The other tunnels of an experiment do not count; a flow of the lower tunnel itself does."""
    upper = {"name": "vxlan", "mtu": 1300, "under": "lower", **GATES}
    routes = [["edge-a", "isp-2", "edge-b"]]
    lower = {"name": "ethudp", "mtu": 1458, **GATES, "uplinks": {"routes": routes, "use": "flows"}}
    beside = {"name": "wireguard", **GATES}
    names = ["one", "beside", "other", "lower", "one"]
    table = {
        "network": {"links": UPLINKS},
        "tunnels": {"one": upper, "beside": beside, "other": upper, "lower": lower},
        "flows": [{**FLOW, "tunnel": name} for name in names],
    }
    taken = [
        {step.link for step in it.traffic.loads} for it in resolve(tc.Experiment.parse(table)).flows
    ]
    takes = ["isp-2a" in links for links in taken]
    assert takes == [False, False, True, False, False]


def test_all_that_shares_a_tunnel_shares_its_route_below():
    """Two tunnels go through a third one, whose packets take one route of the lowest."""
    upper = {"name": "vxlan", "mtu": 1200, "under": "middle", **GATES}
    middle = {"name": "wireguard", "mtu": 1300, "under": "lower", **GATES}
    routes = [["edge-a", "isp-2", "edge-b"]]
    lower = {"name": "ethudp", "mtu": 1458, **GATES, "uplinks": {"routes": routes, "use": "flows"}}
    table = {
        "network": {"links": UPLINKS},
        "tunnels": {"one": upper, "other": upper, "middle": middle, "lower": lower},
        "flows": [{**FLOW, "tunnel": name} for name in ("one", "other")],
    }
    one, other = (it.traffic.loads for it in resolve(tc.Experiment.parse(table)).flows)
    assert one == other


def test_a_flow_on_another_route_than_the_first_is_limited_by_that_one():
    flows = [{**FLOW, "count": 2}]
    slower = {"isp-2a": {"rate": "5Mbps"}}
    result = _run_over_uplinks({"use": "flows"}, slower, flows=flows, duration="6s", warmup="2s")
    paths = [key.path for it in result.limited for key in it.keys]
    assert paths == ["network.links.isp-1a.rate", "network.links.isp-2a.rate"]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"uplinks": {"routes": [["edge-a", "edge-b"]]}}, "tunnel.uplinks.routes"),
        (
            {**GATES, "uplinks": {"routes": [["edge-b", "edge-a"]], "use": "flows"}},
            "expected a route from edge-a",
        ),
        ({"between": ["edge-a", "edge-c"]}, "tunnel.between = 'edge-c': expected a host"),
        (
            {"between": ["edge-a", "edge-a"]},
            "tunnel.between = ['edge-a', 'edge-a']: expected a list",
        ),
        ({"between": "edge-a"}, "tunnel.between = 'edge-a': expected a list of two"),
        ({"between": ["pc-c", "edge-b"]}, "expected hosts on the way of flows.0 (pc-a → edge-a"),
        (
            {"under": "a"},
            "tunnels.a.under.name = 'b': expected a tunnel that does not go through this one",
        ),
        ({"under": "wireguad"}, "(did you mean 'wireguard'?)"),
        (
            {**GATES, "uplinks": {"routes": [["edge-a", "edge-b"]], "use": "flows"}},
            "expected routes that differ from each other, and from the first one (edge-a → edge-b)",
        ),
        ({**GATES, "uplinks": {"routes": ["edge-a", "edge-b"]}}, "expected a list of routes"),
        (
            {
                "name": "ethudp",
                **GATES,
                "uplinks": {"routes": [["edge-a", "edge-b"]], "return_after": 9},
            },
            "return_after = 9: expected at most 6",
        ),
        (
            {"under": "ssh-forward"},
            "tunnel.under.name = 'ssh-forward': expected a tunnel that carries UDP",
        ),
        ({"name": "openvpn-tcp", "under": "gost-relay-ws"}, "expected a tunnel of packets below"),
        (
            {"name": "gost-relay-ws", "under": "openvpn-tcp"},
            "expected a datagram tunnel below relays",
        ),
    ],
)
def test_what_cannot_be_is_told_with_its_key(keys, message):
    tunnels = {"a": {"name": "wireguard", "under": "b"}, "b": {"name": "vxlan", "under": "a"}}
    tunnels = tunnels if keys.get("under") == "a" else {}
    spare = {"spur": {"between": ["pc-c", "edge-a"], "rate": "1Gbps", "rtt": "1ms"}}
    with pytest.raises(tc.ConfigError) as refusal:
        tc.Experiment.parse(
            _keys({"name": "wireguard", **keys}, tunnels=tunnels)
            | {"network": {"links": {**LINKS, **spare}}}
        )
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("lower", "message"),
    [
        (
            {"between": ["pc-c", "edge-b"]},
            "tunnels.low.between = ['pc-c', 'edge-b']: expected hosts on the way of the packets "
            "of vxlan",
        ),
        ({"between": ["edge-a", "edge-c"]}, "tunnels.low.between = 'edge-c': expected a host"),
        (
            {**GATES, "uplinks": {"routes": [["edge-a", "pc-c"]]}},
            "tunnels.low.uplinks.routes = ['edge-a', 'pc-c']: expected a route from edge-a",
        ),
        (
            {**GATES, "uplinks": {"routes": [["edge-a", "edge-b"]]}},
            "tunnels.low.uplinks.routes = ['edge-a', 'edge-b']: expected routes that differ",
        ),
    ],
)
def test_wrong_gateways_and_uplinks_of_a_lower_tunnel_are_told_with_its_keys(lower, message):
    spare = {"spur": {"between": ["pc-c", "edge-a"], "rate": "1Gbps", "rtt": "1ms"}}
    tunnels = {"low": {"name": "ethudp", **lower}}
    with pytest.raises(tc.ConfigError) as refusal:
        tc.Experiment.parse(
            _keys({"name": "vxlan", "under": "low", **GATES}, tunnels=tunnels)
            | {"network": {"links": {**LINKS, **spare}}}
        )
    assert message in str(refusal.value)


def test_a_circle_is_told_once_wherever_it_is_entered():
    tunnels = {
        "in": {"name": "vxlan", "under": "b"},
        "a": {"name": "wireguard", "under": "b"},
        "b": {"name": "vxlan", "under": "a"},
        "tunnel": {"name": "wireguard"},
    }
    with pytest.raises(tc.ConfigError) as refusal:
        tc.Experiment.parse(_keys({"name": "vxlan", "under": "in"}, tunnels=tunnels))
    assert [it.key for it in refusal.value.problems] == ["tunnels.a.under.name"]
    assert "a → b → a" in str(refusal.value)
    over = {"name": "vxlan", "under": "tunnel"}  # a name like the key's
    tc.Experiment.parse(_keys(over, tunnels={"tunnel": {"name": "wireguard"}}))
