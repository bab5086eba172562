# SPDX-License-Identifier: GPL-2.0-only
"""L4S: Prague through the low-latency queue of DualPI2, alone, beside CUBIC, and in tunnels."""

from __future__ import annotations

import numpy as np
import pytest

import tunnelcc as tc
from tunnelcc import metrics

PATH = {"rate": "50Mbps", "rtt": "20ms", "buffer": "1000p", "queue": "dualpi2"}
STEP, TARGET = 0.001, 0.015  # waiting times that the two queues aim at, s


def run(path=None, flows=("prague",), **keys) -> tc.Result:
    keys = {"duration": "30s", "warmup": "10s", "tcp": {"ecn": True}, **keys}
    flows = [{"cc": cc} for cc in flows]
    return tc.run({"path": PATH | (path or {}), "flows": flows, **keys}, progress=False)


def waited(result: tc.Result) -> list[float]:
    """Mean waiting time of each flow's packets, s."""
    base = result.experiment.path.rtt
    return [float(rtt) - base for rtt in metrics.of_run(result.dataset).flow_rtt]


@pytest.mark.parametrize("rtt", ["5ms", "20ms", "40ms"])
def test_prague_fills_the_link_with_a_queue_of_a_millisecond(rtt):
    forward = run({"rtt": rtt}, warmup="15s").links["path"].forward
    assert forward.utilisation > 0.97
    assert forward.queue_delay_mean < STEP
    assert forward.queue_drops == 0


@pytest.mark.parametrize("rtt", ["10ms", "20ms", "40ms"])
def test_both_queues_keep_their_delays_and_share_the_rate(rtt):
    result = run({"rtt": rtt}, ["prague", "cubic"], duration="60s")
    low, classic = waited(result)
    assert low < 1.3 * STEP
    assert classic == pytest.approx(TARGET, rel=0.2)
    assert result.links["path"].forward.utilisation > 0.97
    rates = metrics.of_run(result.dataset).flow_goodput.values
    assert 1 / 3 < rates[1] / rates[0] < 1  # RFC 9332 aims at 1 with equal RTTs


def test_flows_with_the_same_control_share():
    rates = metrics.of_run(run(flows=["prague"] * 4, duration="60s").dataset).flow_goodput
    assert metrics.jain_index(rates.values) > 0.98


def test_short_rtts_leave_their_share_to_others():
    flows = [{"cc": "prague", "rtt": rtt} for rtt in ("5ms", "20ms")]
    result = tc.run({"path": PATH, "flows": flows, "duration": "60s", "warmup": "20s"})
    near, far = metrics.of_run(result.dataset).flow_goodput.values
    assert near / far < 2  # of windows alone, 4


@pytest.mark.parametrize(
    ("tunnel", "is_low"),
    [
        ("wireguard", True),  # copies the ECN field (RFC 6040)
        ("ipsec-esp", True),
        ("openvpn-udp", False),  # does not: all packets wait in the classic queue
        ("gost-relay-wss", True),  # its carrier is a Prague flow itself
    ],
)
def test_a_tunnel_keeps_low_latency_if_it_copies_the_ecn_field(tunnel, is_low):
    tunnels = {"of-prague": {"name": tunnel}}
    flows = [{"cc": "prague", "tunnel": "of-prague"}, {"cc": "cubic"}]
    result = tc.run(
        {
            "path": PATH, "tunnels": tunnels, "flows": flows, "tcp": {"ecn": True},
            "duration": "30s", "warmup": "10s",
        }
    )  # fmt: skip
    delay = waited(result)[0]
    assert delay < 2 * STEP if is_low else delay == pytest.approx(TARGET, rel=0.3)


def test_marks_of_an_ordinary_queue_are_heeded_too():
    path = {"queue": "drop-tail", "ecn_threshold": "20p", "buffer": "500p"}
    forward = run(path).links["path"].forward
    assert forward.queue_drops == 0
    assert forward.utilisation > 0.95
    assert forward.queue_delay_p95 < 0.0065


def test_without_marks_losses_halve_the_window():
    result = run({"queue": "drop-tail", "buffer": "1bdp"}, duration="60s")
    window = result.connections[0].cwnd[result["time"] > 20]
    falls = np.flatnonzero(window[1:] < 0.7 * window[:-1])
    assert result.links["path"].forward.queue_drops > 0
    assert falls.size > 0
