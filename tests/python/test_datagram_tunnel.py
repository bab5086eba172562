# SPDX-License-Identifier: GPL-2.0-only
"""Datagram tunnels: what they add, what they split, and where they drop."""

from __future__ import annotations

import pytest

import tunnelcc as tc

PATH = {"rate": "50Mbps", "rtt": "20ms"}
WHOLE = {"name": "ethudp", "mtu": 1458}  # outer packets of exactly 1500 bytes
SPLIT = {"name": "ethudp", "mtu": 1500}


def _run(tunnel, **changes):
    table = {"path": PATH, "flows": {"cc": "cubic"}, "duration": "5s", "tunnel": tunnel}
    return tc.run(tc.Experiment(**{**table, **changes}))


def test_every_packet_gets_the_headers():
    result = _run(WHOLE, flows={"cc": "cubic", "count": 4})
    totals = result.to_dict()
    tunnel, legs = totals["tunnel"], [flow["legs"][0] for flow in totals["flows"]]
    assert tunnel["fragmented"] == 0
    assert tunnel["outer_packets"] == tunnel["packets"] - tunnel["device_drops"]
    assert tunnel["outer_bytes"] == sum(leg["wire_bytes"] for leg in legs) + 42 * tunnel["packets"]
    back = tunnel["reverse"]
    inner = sum(leg["ack_wire_bytes"] for leg in legs)
    assert back["outer_bytes"] == inner + 42 * back["packets"]


def test_goodput_is_what_the_headers_leave():
    result = _run(WHOLE, warmup="2s")
    assert result.goodput == pytest.approx(50e6 * 1406 / 1500, rel=2e-3)
    # 1500 inner bytes leave in two packets of 1500 and 62 bytes.
    split = _run(SPLIT, warmup="2s")
    assert split.goodput == pytest.approx(50e6 * 1448 / 1562, rel=2e-3)


def test_small_packets_leave_whole():
    tunnel = _run(SPLIT).to_dict()["tunnel"]
    assert tunnel["outer_packets"] == tunnel["packets"] + tunnel["fragmented"]
    assert tunnel["reverse"]["fragmented"] == 0


@pytest.mark.parametrize(("tunnel", "lost"), [(WHOLE, 0.02), (SPLIT, 1 - 0.98**2)])
def test_a_packet_is_lost_with_any_of_its_fragments(tunnel, lost):
    result = _run(
        tunnel,
        path={**PATH, "loss": "2%", "buffer": "8bdp"},
        flows={"cc": "bbr", "count": 4},
        duration="20s",
    )
    totals = result.to_dict()
    retransmits = totals["aggregate"]["path_retransmits"]
    assert totals["path"]["drops"] == 0
    assert retransmits / result.path_segments == pytest.approx(lost, rel=0.06)


def test_fragments_that_overtake_each_other_are_put_together():
    path = {**PATH, "reorder": "5%", "reorder_delay": "2ms", "buffer": "4bdp"}
    result = _run(SPLIT, path=path, flows={"cc": "bbr"})
    totals = result.to_dict()
    assert totals["path"]["drops"] == 0
    # Nothing is lost: what is retransmitted was only late.
    assert totals["aggregate"]["path_retransmits"] < 0.05 * result.path_segments
    assert result.goodput > 0.8 * 50e6 * 1448 / 1562


def test_the_device_queue_drops_what_a_slow_program_leaves():
    result = _run({**WHOLE, "queue": 50}, hosts={"client": {"speed": 0.01}})
    tunnel = result.to_dict()["tunnel"]
    assert tunnel["device_drops"] > 0
    assert tunnel["device_queue_max_packets"] == 50
    assert tunnel["outer_packets"] == pytest.approx(
        tunnel["packets"] - tunnel["device_drops"], abs=51
    )
    assert result.to_dict()["path"]["drops"] == 0
    # One core encapsulates data without a break; the other has ACKs to decapsulate.
    assert 0.5 < result.to_dict()["hosts"]["client"]["utilisation"] < 0.8


def test_the_socket_drops_what_a_slow_receiver_leaves():
    result = _run(WHOLE, hosts={"server": {"speed": 0.01}})
    tunnel = result.to_dict()["tunnel"]
    assert tunnel["socket_drops"] > 0
    assert tunnel["device_drops"] == 0


def test_the_device_limits_segments_and_so_does_the_clamp():
    for change, payload in (({"mtu": 1400}, 1348), ({"mss": 1200}, 1188), ({}, 1448)):
        leg = _run({"name": "ethudp", **change}).to_dict()["flows"][0]["legs"][0]
        data = leg["wire_bytes"] - 60 - 52 * (leg["segments"] + 1)
        assert data / leg["segments"] == pytest.approx(payload, abs=1)


def test_finite_flows_arrive_whole_in_both_directions():
    for direction in ("up", "down"):
        result = _run(
            SPLIT,
            path={**PATH, "loss": "3%", "reverse_loss": "1%"},
            flows={"cc": "cubic", "count": 3, "bytes": "500kB"},
            direction=direction,
            duration="20s",
        )
        for flow in result.to_dict()["flows"]:
            assert flow["total_bytes"] == 500_000
            assert flow["completion_s"] is not None


def test_series_of_the_device():
    dataset = _run({**WHOLE, "queue": 50}, hosts={"client": {"speed": 0.01}}).dataset
    queue = dataset["tunnel_queue"].sel(direction="forward")
    assert float(queue.max()) <= 50
    assert float(dataset["tunnel_drops"].sel(direction="forward")[-1]) > 0
    assert "tunnel_queue" not in _run(None).dataset


def test_marks_stay_outside_a_program():
    path = {**PATH, "ecn_threshold": "20p"}
    result = _run(WHOLE, path=path, tcp={"ecn": True})
    assert result.to_dict()["aggregate"]["path_retransmits"] > 0
    plain = _run(None, path=path, tcp={"ecn": True})
    assert plain.to_dict()["aggregate"]["path_retransmits"] == 0
