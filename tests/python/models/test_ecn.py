# SPDX-License-Identifier: GPL-2.0-only
"""Explicit congestion notification: marks in place of drops."""

from __future__ import annotations

import pytest

import tunnelcc as tc


def run(**keys: object) -> tc.Result:
    path = tc.Path(rate="50Mbps", rtt="40ms", buffer="4bdp", ecn_threshold="0.5bdp")
    experiment = tc.Experiment(
        path=path, hosts=tc.Hosts(tcp_rmem="64MiB", tcp_wmem="64MiB"), duration="30s", **keys
    )
    return tc.run(experiment, progress=False)


@pytest.mark.parametrize("cc", ["cubic", "reno"])
def test_marks_hold_the_queue_without_loss(cc):
    result = run(flows=[tc.Flow(cc=cc, count=2)], tcp=tc.Tcp(ecn=True), warmup="5s")
    forward = result.links["path"].forward
    assert forward.queue_drops == 0
    assert sum(leg.retransmits for leg in result.connections) == 0
    # The threshold is 20 ms of queue; without marks the queue fills its 160 ms.
    assert forward.queue_delay_p95 < 0.045


def test_cubic_keeps_the_link_busy():
    # Not asked of Reno: a threshold marks the packet that announces a reduction, too, which then
    # counts as a second one, and Reno takes long to recover from a quarter.
    result = run(flows=[tc.Flow(cc="cubic", count=2)], tcp=tc.Tcp(ecn=True), warmup="5s")
    assert result.links["path"].forward.utilisation > 0.95


def test_without_ecn_the_threshold_does_nothing():
    result = run(flows=[tc.Flow(cc="cubic", count=2)], warmup="5s")
    assert result.links["path"].forward.queue_delay_p95 > 0.1


def test_one_reduction_for_each_window_of_marks():
    result = run(flows=[tc.Flow(cc="reno")], tcp=tc.Tcp(ecn=True))
    cwnd = result.dataset.cwnd.isel(flow=0).sel(leg="app").values
    falls = (cwnd[1:] < 0.8 * cwnd[:-1]).sum()
    # Reno swings between half and all of 1.5 BDP, 250 segments: a fall every 125 round trips
    # of 50 ms, so 4 or 5 in 30 s, and one at the end of slow start.
    assert 3 <= falls <= 8


@pytest.mark.parametrize("segments", [20, 60])
def test_dctcp_of_ns3_holds_the_queue_near_a_step_of_marks(segments):
    # RFC 8257: the queue swings below and little above the threshold K. K here is above the
    # seventh of a BDP that keeps the link busy (section 4.4 of Alizadeh et al., SIGCOMM 2010).
    path = tc.Path(rate="100Mbps", rtt="10ms", buffer="500p", ecn_threshold=f"{segments}p")
    flows = [tc.Flow(cc="ns3::TcpDctcp", count=2)]
    result = tc.run(
        tc.Experiment(path=path, flows=flows, duration="20s", warmup="5s"), progress=False
    )
    forward = result.links["path"].forward
    threshold = segments * 1500 * 8 / 100e6
    assert forward.queue_drops == 0
    assert forward.utilisation > 0.97
    assert 0.7 * threshold < forward.queue_delay_mean < threshold
    assert forward.queue_delay_p95 < 1.2 * threshold


def test_marks_need_no_switch_for_dctcp_alone():
    path = tc.Path(rate="50Mbps", rtt="20ms", buffer="4bdp", ecn_threshold="0.5bdp")
    runs = {
        cc: tc.run(tc.Experiment(path=path, flows=[tc.Flow(cc=cc)], duration="10s"), progress=False)
        for cc in ("ns3::TcpDctcp", "ns3::TcpLinuxReno")
    }
    delays = {cc: result.links["path"].forward.queue_delay_p95 for cc, result in runs.items()}
    assert delays["ns3::TcpDctcp"] < 0.02
    assert delays["ns3::TcpLinuxReno"] > 0.05
