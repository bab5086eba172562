# SPDX-License-Identifier: GPL-2.0-only
"""Programs that read datagrams more slowly than these arrive lose them at their UDP socket."""

from __future__ import annotations

import tunnelcc as tc


def _run(speed, tunnel, **hosts):
    """Download with eight flows over Brutal of 45 Mbit/s, where a link has 100."""
    return tc.run(
        tc.Experiment(
            path={"rate": "100Mbps", "rtt": "50ms", "buffer": "1bdp"},
            tunnel=tunnel,
            flows=[{"cc": "bbr", "count": 8}],
            direction="down",
            hosts={"kernel": "5.10", "client": {"speed": speed}, **hosts},
            duration="12s",
            warmup="4s",
        )
    )


def _carrier(result):
    legs = result.to_dict()["flows"][0]["legs"]
    return next(leg for leg in legs if leg["leg_name"] == "carrier")


BRUTAL = {"name": "hysteria2", "rate": "45Mbps"}


def test_a_fast_reader_loses_nothing():
    result = _run(1, BRUTAL)
    assert _carrier(result)["udp_socket_drops"] == 0
    assert result.goodput > 42e6


def test_a_slow_reader_loses_at_its_socket_and_brutal_goes_on_at_its_rate():
    result = _run(0.01, BRUTAL)  # 600 s/GB: 13.3 Mbit/s of IP bytes
    carrier = _carrier(result)
    on_the_wire = 8 * carrier["wire_bytes"] / 12
    assert result.goodput < 13.3e6
    assert on_the_wire > 43e6
    assert carrier["udp_socket_drops"] > 0.5 * carrier["segments"]
    assert {it.thing for it in result.limited} == {"udp_socket"}
    assert all(it.keys[0].path == "hosts.client.speed" for it in result.limited)


def test_tcp_has_no_such_socket():
    carrier = _carrier(_run(0.01, "gost-relay-wss"))
    assert carrier.get("udp_socket_drops") is None


def test_flows_over_quic_pay_where_they_read():
    result = tc.run(
        tc.Experiment(
            path={"rate": "1Gbps", "rtt": "20ms"},
            flows=[{"transport": "quic", "cc": "bbr"}],
            hosts={"profile": "reference-host", "server": {"speed": 0.05}, "kernel": "5.10"},
            duration="4s",
            warmup="2s",
        )
    )
    assert result["leg_name"] is not None
    assert int(result["udp_socket_drops"].sum()) > 0
