# SPDX-License-Identifier: GPL-2.0-only
"""Stream tunnels: TCP over TCP."""

from __future__ import annotations

import statistics

import pytest

import tunnelcc as tc

PATH = {"rate": "50Mbps", "rtt": "40ms"}


def _run(tunnel, **changes):
    table = {"path": PATH, "flows": {"cc": "cubic"}, "duration": "5s", "tunnel": tunnel}
    return tc.run(tc.Experiment(**{**table, **changes}))


def test_one_carrier_for_all_flows():
    result = _run("vtun", flows={"cc": "cubic", "count": 4})
    totals = result.to_dict()
    assert [[leg["leg_name"] for leg in flow["legs"]] for flow in totals["flows"]] == [
        ["app", "carrier"]
    ] * 4
    assert len(result.carriers) == 1


def test_bytes_are_conserved():
    result = _run("vtun", flows={"cc": "cubic", "count": 3, "bytes": "1MB"}, duration="10s")
    totals = result.to_dict()
    apps = [flow["legs"][0] for flow in totals["flows"]]
    carrier = totals["flows"][0]["legs"][1]
    assert [flow["flow_total_bytes"] for flow in totals["flows"]] == [1_000_000] * 3
    assert totals["tunnels"][0]["forward"]["tunnel_device_drops"] == 0
    # Each packet with a length of 2 bytes before it: nothing else, nothing twice.
    packets = totals["tunnels"][0]["forward"]["tunnel_packets"]
    assert carrier["payload_bytes"] == sum(leg["wire_bytes"] for leg in apps) + 2 * packets


@pytest.mark.parametrize("tunnel", ["vtun", "openvpn-tcp", "gost-tun-wss", "ssh-tun", "tinc-tcp"])
def test_each_of_them_fills_the_path(tunnel):
    result = _run(tunnel, warmup="2s", duration="10s", flows={"cc": "cubic", "count": 2})
    assert 0.85 * 50e6 < result.goodput < 50e6


def test_the_inner_flows_see_delay_in_place_of_loss():
    path = {**PATH, "loss": "1%", "buffer": "4bdp"}
    tunnel = {"name": "vtun", "cc": "bbr"}
    result = _run(tunnel, path=path, duration="10s", flows={"cc": "cubic", "count": 2})
    totals = result.to_dict()
    carrier = totals["flows"][0]["legs"][1]
    assert carrier["retransmits"] > 0.005 * carrier["segments"]
    inner = sum(flow["legs"][0]["retransmits"] for flow in totals["flows"])
    # What is lost inside was dropped at the device, or sent again by a timer that did not wait.
    assert (
        inner
        <= totals["tunnels"][0]["forward"]["tunnel_device_drops"]
        + 0.002 * totals["tunnels"][0]["forward"]["tunnel_packets"]
    )


@pytest.mark.parametrize("name", ["openvpn-tcp", "openvpn-2.6-tcp"])
def test_nagles_rule_on_the_carrier_makes_slow_start_slow(name):
    """The packets that an ACK lets an inner connection send wait for the carrier's own ACKs."""

    def time(**changes):
        path = {"rate": "100Mbps", "rtt": "180ms"}
        tunnel, flows = {"name": name, **changes}, {"cc": "cubic", "bytes": "500kB"}
        result = _run(tunnel, path=path, flows=flows, warmup="0s", duration="6s")
        return result.metric("flow_completion_time")

    own, by_key = time(), {it: time(nodelay=it) for it in (True, False)}
    assert by_key[False] > 2 * by_key[True]
    assert own == by_key[name == "openvpn-tcp"]


def test_the_device_queue_drops_when_the_carrier_is_full():
    result = _run({"name": "vtun", "queue": 100}, flows={"cc": "cubic", "count": 8})
    tunnel = result.to_dict()["tunnels"][0]
    assert tunnel["forward"]["tunnel_device_drops"] > 0
    assert tunnel["forward"]["tunnel_device_packets_max"] == 100


def test_a_slow_program_on_the_far_side_closes_the_window():
    result = _run("vtun", hosts={"server": {"speed": 0.005}})
    totals = result.to_dict()
    assert totals["tunnels"][0]["forward"]["tunnel_socket_drops"] == 0
    assert totals["metrics"]["drops"] == 0
    assert totals["hosts"]["server"]["host_cpu"] > 0.45
    assert result.goodput < 0.5 * 50e6


def test_congestion_controls_inside_and_outside_are_chosen_apart():
    result = _run({"name": "openvpn-tcp", "cc": "bbr"}, flows=[{"cc": "cubic"}, {"cc": "reno"}])
    legs = [[leg["leg_cc"] for leg in flow["legs"]] for flow in result.to_dict()["flows"]]
    assert legs == [["cubic", "bbr"], ["reno", "bbr"]]


def test_downloads_go_through_as_well():
    result = _run("gost-tun-wss", direction="down", flows={"cc": "cubic", "count": 2})
    assert result.goodput > 0.7 * 50e6
    assert len(result.carriers) == 1


def test_the_carrier_keeps_its_full_segments():
    # vtun's device takes 1450 bytes, its carrier's segments 1448 of the stream.
    legs = _run("vtun", tcp={"nodelay": True}).to_dict()["flows"][0]["legs"]
    assert legs[0]["wire_bytes"] / legs[0]["segments"] == pytest.approx(1450, rel=0.01)
    assert legs[1]["wire_bytes"] / legs[1]["segments"] < 1500


def test_flows_have_no_rtt_of_their_own():
    with pytest.raises(tc.ConfigError, match=r"flows\.0\.rtt"):
        tc.Experiment(tunnel="vtun", flows=[{"rtt": "10ms"}])


@pytest.mark.slow
def test_sixteen_flows_in_one_carrier_get_what_one_flow_gets():
    """Under random loss a carrier limits them all; a datagram tunnel leaves each its own share."""
    table = {"path": {"rate": "1Gbps", "rtt": "50ms", "loss": "0.5%"}, "duration": "60s"}

    def goodput(tunnel, count):
        """Mean over seeds, of which each has some hundred losses."""
        experiment = {**table, "flows": {"cc": "cubic", "count": count}, "tunnel": tunnel}
        runs = tc.run_many([tc.Experiment(**experiment, seed=seed) for seed in range(1, 7)])
        return statistics.mean(run.goodput for run in runs)

    one = goodput(None, 1)
    stream, datagram = goodput("vtun", 16), goodput("vtun-udp", 16)
    assert stream == pytest.approx(one, rel=0.15)
    assert datagram == pytest.approx(16 * one, rel=0.15)
