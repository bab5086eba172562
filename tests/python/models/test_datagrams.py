# SPDX-License-Identifier: GPL-2.0-only
"""Flows of datagrams and pings, against arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

import tunnelcc as tc

# As fast as a call: a datagram of 80 bytes every 20 ms.
PACED = {"transport": "udp", "rate": "32kbps", "write_size": 80}


def run(**keys: object) -> tc.Result:
    return tc.run(tc.Experiment.parse({"duration": "10s", **keys}), progress=False)


def test_an_empty_link_delays_by_transmission_and_propagation():
    result = run(path={"rate": "1Mbps", "rtt": "40ms"}, flows=PACED)
    expected = 108 * 8 / 1e6 + 0.020
    for name in ("mean", "p50", "p95", "p99"):
        assert result.metric(f"flow_delay_{name}") == pytest.approx(expected, rel=0.008)
    assert result.metric("flow_loss") == 0
    assert result.metric("flow_jitter") < 1e-8
    assert result.goodput == pytest.approx(32e3, rel=0.01)


def test_random_loss_is_counted_and_what_is_under_way_is_not():
    result = run(
        path={"rate": "10Mbps", "rtt": "4s", "loss": "25%", "loss_pattern": "periodic"}, flows=PACED
    )
    assert result["flow_sent"][0] == 500
    assert result["flow_expected"][0] <= 400
    assert result.metric("flow_loss") == pytest.approx(0.25, abs=0.01)


def test_a_ping_behind_a_full_queue_waits_for_the_buffer():
    """What waits is the buffer, in packets of 1500 bytes, at the rate of the link."""
    result = run(
        path={"rate": "10Mbps", "rtt": "20ms", "buffer": "100p"},
        flows={"transport": "udp", "rate": "20Mbps"},
        pings=[{"interval": "50ms"}],
        warmup="2s",
    )
    full = 100 * 1500 * 8 / 10e6
    # The ACKs' way has no limit. Half the pings that come to a full queue are dropped, too.
    assert result.metric("ping_rtt_p99") == pytest.approx(full + 0.020, rel=0.02)
    assert result.metric("responsiveness") == pytest.approx(60 / (full + 0.020), rel=0.02)


def test_the_wait_of_random_arrivals_is_that_of_m_d_1():
    """Mean wait: ρ / (2 (1 - ρ)) services; Kleinrock, Queueing Systems, volume 1, section 5.6."""
    load, packet, rate = 0.7, 1028, 10e6
    result = run(
        path={"rate": "10Mbps", "rtt": "2ms", "buffer": "10000p"},
        flows={
            "transport": "udp", "gaps": "exponential", "write_size": 1000,
            "rate": f"{load * rate * 1000 / packet / 1e6}Mbps",
        },
        duration="120s",
    )  # fmt: skip
    service = packet * 8 / rate
    wait = result.metric("flow_delay_mean") - 0.001 - service
    assert wait == pytest.approx(load / (2 * (1 - load)) * service, rel=0.03)


def test_a_lost_segment_holds_up_the_datagrams_behind_it():
    """In a tunnel over TCP, every hundredth segment is lost, and sent again after a round trip.

    The next datagram, 20 ms later, is acknowledged selectively after one RTT of 40 ms. RACK then
    knows of the loss (20 ms > RTT / 4), and the segment arrives 20 ms + RTT + RTT / 2 after it was
    sent first. Three datagrams behind it wait for it.
    """
    result = run(
        path={"rate": "100Mbps", "rtt": "40ms", "loss": "1%", "loss_pattern": "periodic"},
        tunnel="openvpn-tcp",
        flows=PACED,
        duration="120s",
        warmup="2s",
    )
    late = [0.020 + 0.040 + 0.020, 0.060, 0.040]
    mean = 0.020 + sum(it - 0.020 for it in late) / 100
    assert result.metric("flow_loss") == 0
    assert result.metric("flow_delay_mean") == pytest.approx(mean, rel=0.05)
    # Resent segments count, too: of a hundred datagrams a little more than one is lost.
    assert result.metric("flow_delay_p99") == pytest.approx(0.080, rel=0.05)


@pytest.mark.parametrize(
    "tunnel",
    ["wireguard", "openvpn-tcp", "gost-relay-wss", "gost-relay-mws", "gost-kcp", "gost-quic",
     "gost-socks5", "udpspeeder", "sdwan-fec", "ethudp"],
)  # fmt: skip
@pytest.mark.parametrize("direction", ["up", "down"])
def test_tunnels_deliver_what_is_sent(tunnel, direction):
    result = run(
        path={"rate": "10Mbps", "rtt": "40ms"},
        tunnel=tunnel,
        flows=[{"transport": "udp", "traffic": "call", "direction": direction}],
        pings=[{}],
        duration="3s",
        warmup="500ms",
    )
    assert result["flow_sent"][0] > 20
    assert result.metric("flow_loss") == 0
    assert 0.020 < result.metric("flow_delay_p50") < 0.060
    assert 0.040 < result.metric("ping_rtt_p50") < 0.100


@pytest.mark.parametrize(("downloads", "loss", "wait"), [(1, 0.0, 0.6), (4, 0.78, 12.3)])
def test_a_call_in_a_shared_carrier_has_more_turns_than_a_transfer(downloads, loss, wait):
    """As GOST's mwss had (tests/validation/data/programs/calls.csv: 20 Mbit/s, 40 ms, 4 BDP).

    Its datagrams are two frames each. With strictly equal turns, it would lose 30 % beside one
    transfer, and wait for 4 s.
    """
    result = run(
        duration="27s",
        warmup="7s",
        path={"rate": "20Mbps", "rtt": "40ms", "buffer": "267p"},
        tunnel="gost-relay-mwss",
        flows=[
            {"transport": "udp", "rate": "2Mbps", "write_size": 1200},
            {**PACED, "start": "1s"},
            {"cc": "cubic", "count": downloads, "start": "2s"},
        ],
    )
    call = {"flow": 1}
    assert result.metric("flow_loss", **call) == pytest.approx(loss, abs=0.05)
    assert result.metric("flow_delay_p50", **call) == pytest.approx(wait, rel=0.2)


def test_a_tunnel_over_tcp_never_reorders_and_a_link_may():
    keys = {"path": {"rate": "10Mbps", "rtt": "40ms", "reorder": "20%", "reorder_delay": "30ms"}}
    plain, inside = run(flows=PACED, **keys), run(flows=PACED, tunnel="openvpn-tcp", **keys)
    assert plain.metric("flow_reordered_share") == pytest.approx(0.17, abs=0.05)
    assert inside.metric("flow_reordered_share") == 0


def test_requests_without_an_answer_are_repeated():
    result = run(
        path={"rate": "10Mbps", "rtt": "40ms", "loss": "50%"},
        flows={"transport": "udp", "traffic": "dns"},
        duration="400s",
    )
    # Two attempts, and answers are not lost.
    assert result.metric("flow_loss") == pytest.approx(0.25, abs=0.07)
    assert result.metric("flow_delay_p99") == pytest.approx(5.04, rel=0.01)
    assert 120 < result["flow_resent"][0] < 280


def test_cross_traffic_and_pings_share_a_tunnel_with_flows():
    result = run(
        path={"rate": "20Mbps", "rtt": "40ms", "buffer": "1bdp"},
        tunnel="wireguard",
        cross_traffic=[{"rate": "5Mbps", "packet": 1000, "tunnel": "wireguard"}],
        pings=[{}, {"tunnel": "none"}],
        flows={"tunnel": "wireguard"},
    )
    assert result.goodput < 15e6
    assert result.cross_traffic[0].delay_mean > 0.020
    assert len(result.tunnels) == 2  # that of the experiment, which a ping takes, and the flows'


def test_streams_do_not_depend_on_pings_beside_them():
    """A ping through another network of links changes nothing."""
    base = {
        "path": {"rate": "20Mbps", "rtt": "10ms"},
        "network": {"shape": "ring", "size": 4},
        "flows": [{"from": "host1", "to": "host2"}],
        "duration": "3s",
    }
    alone = tc.run(base, progress=False)
    beside = tc.run({**base, "pings": [{"from": "host3", "to": "host4"}]}, progress=False)
    assert np.array_equal(alone["flow_goodput_series"], beside["flow_goodput_series"])
    assert "ping_sent" not in alone.measured


def test_late_datagrams_and_the_opinion_of_a_call():
    quiet = run(
        path={"rate": "10Mbps", "rtt": "40ms"}, flows={"transport": "udp", "traffic": "call"}
    )
    assert quiet.metric("flow_late_share") == 0
    assert quiet.metric("flow_mos") == pytest.approx(4.40, abs=0.02)  # delay below 0.11 s, no loss
    shaky = run(
        path={"rate": "10Mbps", "rtt": "40ms", "jitter": "50ms"},
        flows={"transport": "udp", "traffic": "call", "playout": "20ms"},
    )
    assert shaky.metric("flow_late_share") > 0.2
    assert shaky.metric("flow_mos") < 2.5


def test_pings_of_equal_size_are_the_same_as_by_hand():
    result = run(path={"rate": "1Mbps", "rtt": "40ms"}, flows=PACED, pings=[{"interval": "1s"}])
    assert result.metric("ping_rtt_mean") == pytest.approx(0.040 + 84 * 8 / 1e6, rel=0.02)
    assert result["ping_sent"][0] == 10
