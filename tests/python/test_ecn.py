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
    forward = result.raw.forward
    assert forward.drops == 0
    assert sum(leg.retransmits for leg in result.raw.legs) == 0
    # The threshold is 20 ms of queue; without marks the queue fills its 160 ms.
    assert forward.queue_delay_p95 < 0.045


def test_cubic_keeps_the_link_busy():
    # Not asked of Reno: a threshold marks the packet that announces a reduction, too, which then
    # counts as a second one, and Reno takes long to recover from a quarter.
    result = run(flows=[tc.Flow(cc="cubic", count=2)], tcp=tc.Tcp(ecn=True), warmup="5s")
    assert result.raw.forward.utilisation > 0.95


def test_without_ecn_the_threshold_does_nothing():
    result = run(flows=[tc.Flow(cc="cubic", count=2)], warmup="5s")
    assert result.raw.forward.queue_delay_p95 > 0.1


def test_one_reduction_for_each_window_of_marks():
    result = run(flows=[tc.Flow(cc="reno")], tcp=tc.Tcp(ecn=True))
    cwnd = result.dataset.cwnd.isel(flow=0).sel(leg="app").values
    falls = (cwnd[1:] < 0.8 * cwnd[:-1]).sum()
    # Reno swings between half and all of 1.5 BDP, 250 segments: a fall every 125 round trips
    # of 50 ms, so 4 or 5 in 30 s, and one at the end of slow start.
    assert 3 <= falls <= 8
