# SPDX-License-Identifier: GPL-2.0-only
"""Ratios of the measured part of a run: of the same packets, and of the same time."""

from __future__ import annotations

import pytest

import tunnelcc as tc

# A burst that fills the queue before the warm-up ends, and one short flow after it.
BURST = {
    "path": {"rate": "1Mbps", "rtt": "20ms", "buffer": "400p", "queue": "codel"},
    "flows": {"start": "2900ms", "bytes": "1kB"},
    "cross_traffic": {"rate": "10Mbps", "stop": "500ms"},
    "duration": "3s",
    "warmup": "600ms",
}


@pytest.mark.parametrize("queue", ["codel", "fq-codel", "pie"])
def test_what_was_offered_before_the_warm_up_ended_is_not_lost_after_it(queue):
    path = {**BURST["path"], "queue": queue, "loss": "50%"}
    result = tc.run(tc.Experiment.parse({**BURST, "path": path}), progress=False)
    link = result.bottleneck[0]
    lost = link.queue_drops + link.random_losses
    assert 0 < link.packets < 20
    assert lost <= link.packets
    assert result.metric("loss_rate") == lost / link.packets
    assert link.queue_drops_series[-1] + 1 > link.queue_drops


def test_cross_traffic_that_arrives_was_sent_in_the_same_time():
    source = {**BURST["cross_traffic"], "stop": "603ms"}
    result = tc.run(tc.Experiment.parse({**BURST, "cross_traffic": source}), progress=False)
    (counts,) = result.cross_traffic
    assert 0 < counts.sent < 3
    assert counts.received <= counts.sent


def test_cores_are_never_more_than_busy():
    experiment = tc.Experiment.parse(
        {
            "path": {"rate": "1Gbps", "rtt": "2ms"},
            "flows": {"count": 4},
            "tunnel": {"name": "gost-relay-wss", "copy_buffer": "1MiB"},
            "hosts": {"cores": 1, "speed": 0.02, "app_cost": 20},
            "duration": "1s",
            "probe_interval": "10ms",
        }
    )
    result = tc.run(experiment, progress=False)
    shares = [share for host in result.hosts for share in (*host.cpu_series, host.cpu)]
    assert max(shares) <= 1
    assert max(shares) > 0.99
