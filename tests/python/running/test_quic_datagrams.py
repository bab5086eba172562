# SPDX-License-Identifier: GPL-2.0-only
"""Tunnels that carry packets in datagrams of QUIC: two control loops, a queue, refusals."""

from __future__ import annotations

import pytest

import tunnelcc as tc

PATH = {"rate": "20Mbps", "rtt": "40ms", "buffer": "1bdp"}


def _run(tunnel, flow, loss="0"):
    return tc.run(
        tc.Experiment(
            path=PATH | {"loss": loss},
            tunnel=tunnel,
            flows=[flow],
            duration="15s",
            warmup="3s",
        )
    )


def _goodput(tunnel, cc, loss="0.5%"):
    return _run(tunnel, {"cc": cc}, loss).goodput / 1e6


def test_the_carriers_reno_holds_back_bbr_inside():
    plain, inside = _goodput("wireguard", "bbr"), _goodput("connect-ip", "bbr")
    assert plain > 17
    assert inside < 0.5 * plain


def test_with_bbr_outside_bbr_inside_fills_the_link():
    assert _goodput({"name": "connect-ip", "cc": "bbr"}, "bbr") > 16.5


def test_a_carrier_does_not_repair_what_cubic_inside_loses():
    inside = _goodput({"name": "connect-ip", "cc": "bbr"}, "cubic")
    assert inside == pytest.approx(_goodput("wireguard", "cubic"), rel=0.4)
    assert inside < 0.5 * _goodput({"name": "connect-ip", "cc": "bbr"}, "bbr")


def test_too_much_udp_waits_at_the_programs_socket_and_is_dropped_there():
    result = _run("connect-udp", {"transport": "udp", "rate": "30Mbps"})
    assert float(result.metric("flow_loss", flow=0)) == pytest.approx(0.36, abs=0.03)
    assert int(result["tunnel_device_drops"].sum()) > 20 * int(result.metric("drops"))


@pytest.mark.parametrize(("queue", "delay"), [(1, 0.08), (1000, 0.45)])
def test_a_longer_queue_of_datagrams_is_delay(queue, delay):
    tunnel = {"name": "connect-udp", "datagram_queue": queue}
    result = _run(tunnel, {"transport": "udp", "rate": "30Mbps"})
    found = float(result.metric("flow_delay_mean", flow=0))
    assert found > delay if queue > 1 else found < 0.2


def test_it_refuses_tcp_where_it_carries_udp():
    with pytest.raises(tc.ConfigError, match="it carries UDP only"):
        tc.Experiment(path=PATH, tunnel="connect-udp", flows=[{"cc": "cubic"}])


def test_quic_and_wireguard_go_through_a_relay_of_udp():
    assert _run("connect-udp", {"transport": "quic", "cc": "reno"}).goodput > 15e6
    assert (
        _run({"name": "wireguard", "under": "connect-udp", "mtu": 1200}, {"cc": "cubic"}).goodput
        > 15e6
    )
