# SPDX-License-Identifier: GPL-2.0-only
"""Tunnels whose packets take turns over several routes: shares, order, and what TCP makes of it."""

from __future__ import annotations

import dpkt
import pytest

import tunnelcc as tc
from helpers import ROOT
from tunnelcc import cli
from tunnelcc.network.resolve import resolve
from tunnelcc.results import fair
from tunnelcc.specification import experiment_spec

LINKS = {
    "lan-a": {"between": ["pc-a", "edge-a"], "rate": "1Gbps", "rtt": "1ms"},
    "first": {"between": ["edge-a", "isp-1"], "rate": "20Mbps", "rtt": "20ms"},
    "first-far": {"between": ["isp-1", "edge-b"], "rate": "1Gbps", "rtt": "1ms"},
    "other": {"between": ["edge-a", "isp-2"], "rate": "10Mbps", "rtt": "50ms"},
    "other-far": {"between": ["isp-2", "edge-b"], "rate": "1Gbps", "rtt": "1ms"},
    "lan-b": {"between": ["edge-b", "pc-b"], "rate": "1Gbps", "rtt": "1ms"},
}
ROUTES = [["edge-a", "isp-2", "edge-b"]]
FLOW = {"cc": "cubic", "from": "pc-a", "to": "pc-b"}
UDP = {**FLOW, "transport": "udp"}
WIREGUARD = {"name": "wireguard", "mode": "plain"}
UPLINK_KEYS = "tunnel_uplinks_"


def parse(uplinks, flows=FLOW, links=(), tunnel=(), **keys):
    merged = {name: {**it, **dict(links).get(name, {})} for name, it in LINKS.items()}
    described = {"name": "mlvpn", "mode": "cleartext", "between": ["edge-a", "edge-b"]}
    described |= {**dict(tunnel), "uplinks": {"routes": ROUTES, **uplinks}}
    table = {"network": {"links": merged}, "tunnel": described, "flows": flows}
    return tc.Experiment.parse({**table, "duration": "4s", "warmup": "1s", **keys})


def run(*args, **keys):
    return tc.run(parse(*args, **keys), progress=False)


def link_packets(result, *names, way=0):
    known = [*result.network.topology.links]
    return [int(result["link_packets"][known.index(it)][way]) for it in names]


def bonded(result, name, way=0):
    return float(result[UPLINK_KEYS + name][0][way])


BUFFER = {"reorder_size": 1024, "reorder_time": "100ms"}


@pytest.mark.parametrize(
    ("weights", "share"), [(None, 2 / 3), ([1, 1], 1 / 2), ([3, 1], 3 / 4), ([5, 2], 5 / 7)]
)
def test_routes_have_the_shares_of_their_weights(weights, share):
    """By default those are the rates, here 2 to 1. `show experiment` tells the same shares."""
    given = {} if weights is None else {"weights": weights}
    experiment = parse({"use": "weights", **given}, {**UDP, "rate": "6Mbps"}, tunnel=WIREGUARD)
    first, other = link_packets(tc.run(experiment, progress=False), "first", "other")
    assert first / (first + other) == pytest.approx(share, abs=0.005)
    loads = {step.link: it for step, it in resolve(experiment).first.loads.items()}
    assert loads["first"] == pytest.approx(share, abs=1e-3)
    assert loads["other"] == pytest.approx(1 - share, abs=1e-3)


def test_weights_are_those_of_each_direction():
    links = {"first": {"reverse_rate": "4Mbps"}, "other": {"reverse_rate": "8Mbps"}}
    flows = [{**UDP, "rate": "3Mbps", "direction": it} for it in ("up", "down")]
    result = run({"use": "weights"}, flows, links)
    for way, share in ((0, 2 / 3), (1, 1 / 3)):
        first, other = link_packets(result, "first", "other", way=way)
        assert first / (first + other) == pytest.approx(share, abs=0.01)


def test_mlvpn_makes_halves_of_60_and_40_percent():
    """Its turns count down from 1 / share, less 1 for each packet: 1.67 and 2.5."""
    flows = {**UDP, "rate": "6Mbps"}
    experiment = parse({"use": "weights", "weights": [60, 40]}, flows)
    first, other = link_packets(tc.run(experiment, progress=False), "first", "other")
    assert first == pytest.approx(other, abs=2)
    assert resolve(experiment).tunnels[0].layer.uplinks_shares["client"] == [0.5, 0.5]


def test_the_fair_share_counts_all_routes():
    """20 and 10 Mbit/s, 2 to 1; less than three halves of it with equal weights."""
    payload = 1448 / 1500  # of a packet that fills the links
    for weights, rate in ((None, 30), ([1, 1], 20)):
        given = {} if weights is None else {"weights": weights}
        found = fair.shares(resolve(parse({"use": "weights", **given})))
        assert found == [pytest.approx(rate * 1e6 * payload, rel=1e-3)]


def test_a_buffer_restores_the_order_and_costs_time():
    """A packet comes each 2 ms, and over the slower route 15.6 ms later: behind 8 others.

    Of three packets, two take the fast route. They wait for the one before, or before that.
    """
    flows = {**UDP, "rate": "6Mbps"}
    plain = run({"use": "weights"}, flows, tunnel=WIREGUARD)
    kept = run({"use": "weights", **BUFFER}, flows, tunnel=WIREGUARD)
    for result in (plain, kept):
        assert bonded(result, "reordered") == pytest.approx(1 / 3, abs=0.01)
        assert bonded(result, "extent_mean") == bonded(result, "extent_max") == 8
    assert plain["flow_reordered"].sum() > 300
    assert bonded(plain, "left_reordered") == bonded(plain, "reordered")
    assert bonded(plain, "hol_delay_mean") == 0
    assert kept["flow_reordered"].sum() == bonded(kept, "left_reordered") == 0
    assert bonded(kept, "given_up") == bonded(kept, "late") == 0
    assert bonded(kept, "hol_delay_p95") == pytest.approx(13.6e-3, abs=0.5e-3)
    assert bonded(kept, "hol_delay_mean") == pytest.approx((13.6e-3 + 11.6e-3) / 3, abs=0.5e-3)


def test_a_lost_packet_is_given_up_after_the_time():
    flows = {**UDP, "rate": "6Mbps"}
    result = run(
        {"use": "weights", **BUFFER}, flows, {"other": {"loss": "2%"}}, WIREGUARD, duration="10s"
    )
    lost = float(result["link_random_losses"].sum())
    assert lost > 20
    assert bonded(result, "given_up") == pytest.approx(lost, abs=2)
    assert bonded(result, "late") == 0
    # Each makes what comes in 100 ms wait: 1 in 150 packets, of which 50 come then.
    assert 0.015 < bonded(result, "hol_delay_mean") < 0.04


def test_tcp_sees_no_reordering_behind_the_buffer():
    """Both directions are put into order. Without, RACK's window grows until it bears it.

    Until then, it takes late packets for lost ones.
    """
    links = {"other": {"rate": "20Mbps", "rtt": "80ms"}}
    keys = {"duration": "12s", "warmup": "4s", "tunnel": WIREGUARD}
    plain = run({"use": "weights"}, links=links, **keys)
    kept = run({"use": "weights", **BUFFER}, links=links, **keys)
    assert plain["retransmits"].sum() > 20
    assert kept["retransmits"].sum() == 0
    assert plain.goodput > 1.3 * 20e6 * 1368 / 1480, "more than one route carries"
    for way in (0, 1):
        assert bonded(kept, "reordered", way) > 0.2
        assert bonded(kept, "left_reordered", way) == 0
        assert bonded(plain, "left_reordered", way) > 0.2


def test_fragments_of_a_datagram_stay_together():
    """EthUDP's packets of 1500 bytes become two: by weights both take one route."""
    flows = {**UDP, "rate": "6Mbps"}
    tunnel = {"name": "ethudp", "mode": "plain", "mtu": 1500}
    result = run({"use": "weights", "weights": [1, 1]}, flows, tunnel=tunnel)
    there, _ = result.tunnels[0]
    assert there.outer_packets > 1.9 * there.inner_packets
    first, other = link_packets(result, "first", "other")
    assert first == pytest.approx(other, rel=0.01)
    assert bonded(result, "reordered") == pytest.approx(1 / 2, abs=0.02)
    assert result.goodput == pytest.approx(6e6, rel=0.01)


@pytest.mark.parametrize("use", ["packets", "weights"])
def test_a_route_that_fails_has_no_turn(use):
    probes = {"probe_interval": "100ms", "fail_after": 3, "return_after": 2}
    flows = {**UDP, "rate": "6Mbps"}
    links = {"other": {"outages": [["2s", "4s"]]}}
    result = run({"use": use, **probes}, flows, links, WIREGUARD, duration="7s")
    series = result["flow_goodput_series"][0] / 6e6
    assert series[21:23].mean() < 0.75  # a third or half is lost until the probes tell
    assert series[26:39].mean() == pytest.approx(1, abs=0.02)
    number = [*result.network.topology.links].index("other")
    used = result["link_utilisation_series"][number][0]
    assert used[26:38].max() < 0.01, "probes only"
    assert used[48:].min() > 0.15, "it is back"


def test_a_capture_at_the_gateway_shows_both_routes_and_at_a_link_its_own(tmp_path):
    """MLVPN in clear text: 28 bytes of IP and UDP, 28 of its own, and the packet inside."""
    flow = {**FLOW, "bytes": "40kB"}
    experiment = parse({"use": "weights", "reorder_size": 64}, flow, warmup="0s")

    def captured(at):
        file = tmp_path / f"{at}.pcapng"
        result = tc.run(experiment, capture=tc.Capture(file, at=[at]), progress=False)
        with file.open("rb") as capture:
            packets = [dpkt.ip.IP(data) for _, data in dpkt.pcapng.Reader(capture)]
        return result, packets

    result, packets = captured("other")
    assert len(packets) == sum(link_packets(result, "other", way=way)[0] for way in (0, 1)) > 20
    _, packets = captured("edge-a")
    outer = [it for it in packets if it.p == 17 and len(bytes(it.data.data)) >= 28 + 40]
    inner = [dpkt.ip.IP(bytes(it.data.data)[28:]) for it in outer]
    assert all(o.len == i.len + 28 + 28 for o, i in zip(outer, inner, strict=True))
    data = [it for it in inner if it.data.dport == inner[0].data.dport]
    assert sum(it.len - 20 - 4 * it.data.off for it in data) == 40_000


@pytest.mark.parametrize(
    ("uplinks", "message"),
    [
        ({"use": "weights", "weights": [1]}, "weights = [1.0]: expected 2 numbers, one for each"),
        ({"use": "packets", "weights": [1, 2]}, "expected no value without use = 'weights'"),
        ({"use": "flows", "reorder_size": 64}, "expected 0 with use = 'flows'"),
        ({"use": "weights", "reorder_time": "1s"}, "expected no value without reorder_size"),
        ({"use": "weights", "reorder_size": 100}, "expected a power of two, as mlvpn needs it"),
    ],
)
def test_keys_of_bonding_that_do_not_fit_are_refused(uplinks, message):
    with pytest.raises(tc.ConfigError) as error:
        parse(uplinks)
    assert f"tunnel.uplinks.{message}" in str(error.value) or message in str(error.value)
    assert error.value.problems[0].key.startswith("tunnel.uplinks.")


def test_what_a_program_has_not_has_to_be_given():
    with pytest.raises(tc.ConfigError, match="wireguard has no reorder buffer of its own"):
        parse({"use": "weights", "reorder_size": 64}, tunnel=WIREGUARD)
    with pytest.raises(tc.ConfigError, match="expected 0 with FEC"):
        parse({"use": "weights", **BUFFER}, tunnel={"name": "sdwan-fec", "mode": None})


def test_a_scenario_keeps_the_keys():
    given = {"use": "weights", "weights": [2, 1], "reorder_size": 64, "reorder_time": "30ms"}
    experiment = parse(given)
    assert tc.Experiment.parse(experiment.table()) == experiment
    spec = experiment_spec(experiment)["tunnels"][0]["uplinks"]
    assert spec["reorder"] == {"size": 64, "time": 30_000_000, "restarts": True, "places": 512}
    assert spec["weights"] == {"client": [2, 1], "server": [2, 1]}
    assert (spec["turns"], spec["interval"], spec["probe"]) == ("countdown", 10**9, 72)


def test_what_several_paths_bring_is_told_beside_each_alone():
    experiment = parse({"use": "weights"}, {**UDP, "rate": "40Mbps"}, duration="3s")
    found = tc.aggregation(experiment)
    assert [*found.alone] == ["edge-a → isp-1 → edge-b", "edge-a → isp-2 → edge-b"]
    fast, slow = found.alone.values()
    assert fast == pytest.approx(2 * slow, rel=0.02)
    assert found.goodput == pytest.approx(fast + slow, rel=0.02)
    assert found.benefit == pytest.approx(1, abs=0.05)
    halves = tc.aggregation(parse({"use": "weights", "weights": [1, 2]}, {**UDP, "rate": "10Mbps"}))
    assert halves.benefit == pytest.approx(0, abs=0.02), "each route alone carries all"
    mptcp = tc.load(ROOT / "scenarios/examples/wifi-and-lte.toml")
    assert len(tc.aggregation(mptcp).alone) == 2
    with pytest.raises(tc.ConfigError, match="expected several paths"):
        tc.aggregation(tc.Experiment())


# Measured rates ---------------------------------------------------------------------------------

MEASURED = {"use": "measured"}


def test_measured_rates_begin_with_the_most_and_keep_it_where_links_are_as_fast():
    experiment = parse(MEASURED, {**UDP, "rate": "6Mbps"}, tunnel=WIREGUARD)
    result = tc.run(experiment, progress=False)
    first, other = link_packets(result, "first", "other")
    assert first / (first + other) == pytest.approx(2 / 3, abs=0.03), "at random"
    assert result["flow_received"][0] == pytest.approx(result["flow_sent"][0], abs=20)
    spec = experiment_spec(experiment)["tunnels"][0]["uplinks"]
    assert spec["weights"] == {"client": [2.5e6, 1.25e6], "server": [2.5e6, 1.25e6]}
    assert (spec["turns"], spec["use"]) == ("random", "measured")
    assert (spec["interval"], spec["probe"], spec["fail_after"]) == (10**8, 147 + 28, 5)


def test_the_program_sends_no_faster_than_its_rates():
    """Its device's queue drops the rest: here 6 Mbit/s of 10, over links that carry 30."""
    rates = ["4Mbps", "2Mbps"]
    result = run({**MEASURED, "rates": rates}, {**UDP, "rate": "10Mbps"}, tunnel=WIREGUARD)
    way = result.tunnels[0].forward
    assert way.outer_bytes * 8 / 4 == pytest.approx(6e6, rel=0.02)
    assert way.device_drops > 0


def test_measured_rates_follow_a_link_that_carries_less():
    """Of two links of 20 Mbit/s, the first falls to 5: halves carry 10, and 25 are there."""
    equal = {"rate": "20Mbps", "rtt": "20ms"}
    links = {"first": {**equal, "rate_steps": [["4s", "5Mbps"]]}, "other": equal}
    keys = {"links": links, "tunnel": WIREGUARD, "duration": "20s", "warmup": "8s"}
    fixed, measured = (run({"use": it}, **keys) for it in ("weights", "measured"))
    shares = [link_packets(it, "first", "other") for it in (fixed, measured)]
    assert shares[0][0] / sum(shares[0]) == pytest.approx(0.5, abs=0.01)
    assert shares[1][0] / sum(shares[1]) < 0.35
    assert measured.goodput > 1.5 * fixed.goodput


def test_a_queue_that_stays_full_tells_measured_rates_nothing():
    """Probes then come as far apart as they were sent, so that the rate grows to the most again."""
    links = {"first": {"rate_steps": [["1s", "4Mbps"]]}}
    keys = {"links": links, "tunnel": WIREGUARD, "duration": "8s", "warmup": "4s"}
    result = run(MEASURED, {**UDP, "rate": "40Mbps"}, **keys)
    first, other = link_packets(result, "first", "other")
    assert first / (first + other) == pytest.approx(2 / 3, abs=0.03)


def test_the_same_seed_gives_the_same_turns():
    flows = {**UDP, "rate": "6Mbps"}
    one, again, other = (
        link_packets(run(MEASURED, flows, tunnel=WIREGUARD, seed=it), "first") for it in (1, 1, 2)
    )
    assert one == again != other


@pytest.mark.parametrize(
    ("uplinks", "message"),
    [
        ({**MEASURED, "weights": [1, 2]}, "weights = [1.0, 2.0]: expected no value without"),
        ({**MEASURED, "rates": ["1Mbps"]}, "rates = ['1Mbps']: expected 2 rates"),
        ({"use": "weights", "rates": ["1Mbps", "1Mbps"]}, "no value without use = 'measured'"),
    ],
)
def test_keys_of_measured_rates_that_do_not_fit_are_refused(uplinks, message):
    with pytest.raises(tc.ConfigError) as error:
        parse(uplinks)
    assert message in str(error.value)


def test_the_command_tells_what_became_of_the_order(capsys):
    file = ROOT / "scenarios/examples/bonded-uplinks.toml"
    cli.main(["run", str(file), "--set", "duration=8s"])
    line = next(it for it in capsys.readouterr().out.splitlines() if it.startswith("uplinks"))
    assert "33." in line.split("%")[0], "one in three takes the slower route"
    assert "left so; each waited" in line
