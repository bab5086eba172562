# SPDX-License-Identifier: GPL-2.0-only
"""GOST's relays against what the real program did: first replies and bytes on the wire."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tunnelcc as tc
from helpers import ROOT

MEASURED = json.loads((ROOT / "tests" / "reference" / "gost-times.json").read_text())
TUNNELS = {
    "direct": "none",
    **{kind: f"gost-relay-{kind}" for kind in ("ws", "wss", "mws", "mwss")},
}


def _first_replies(kind):
    """First replies (ms) of flows that come one after the other, at the RTT that was measured."""
    rtt = np.median(MEASURED["second_exchange_ms"][kind]) / 1e3
    flows = [{"start": f"{start}s", "bytes": 100} for start in (0, 1, 2)]
    result = tc.run(
        tc.Experiment(
            path={"rate": "1Gbps", "rtt": f"{rtt}s"},
            tunnel=TUNNELS[kind],
            flows=flows,
            duration="3s",
            start_jitter="0s",
        )
    )
    # The request has arrived; its answer needs half a round trip.
    return [
        1e3 * (flow["flow_first_byte_at"] - flow["flow_start"] + rtt / 2)
        for flow in result.to_dict()["flows"]
    ]


@pytest.mark.parametrize("kind", ["direct", "ws", "wss"])
def test_first_reply_of_each_flow(kind):
    measured = np.median(MEASURED["first_reply_ms"][kind])
    for reply in _first_replies(kind):
        assert reply == pytest.approx(measured, rel=0.02)


@pytest.mark.parametrize("kind", ["mws", "mwss"])
def test_only_the_first_stream_waits_for_the_carrier(kind):
    measured = MEASURED["first_reply_ms"][kind]
    first, *later = _first_replies(kind)
    assert first == pytest.approx(measured[0], rel=0.02)
    for reply in later:
        assert reply < min(measured[1:])
        assert min(measured[1:]) < reply + _time_of_programs("ws") < max(measured[1:])


def _time_of_programs(kind):
    """What a stream's first reply took beside its round trips (ms), which is not modelled."""
    return np.median(MEASURED["first_reply_ms"][kind]) - _first_replies(kind)[-1]


def test_half_of_what_opening_a_stream_takes_is_not_the_tunnels():
    without, through = _time_of_programs("direct"), _time_of_programs("ws")
    assert without == pytest.approx(2.3, abs=0.2)
    assert through == pytest.approx(4.5, abs=0.2)


@pytest.mark.parametrize("direction", ["up", "down"])
def test_ip_bytes_of_shared_carriers(direction):
    flows = {"cc": "bbr", "count": 4}
    ratios = []
    for duration in ("3s", "9s"):
        result = tc.run(
            tc.Experiment(
                path={"rate": "50Mbps", "rtt": "10ms"},
                tunnel="gost-relay-mws",
                flows=flows,
                direction=direction,
                duration=duration,
            )
        )
        (carrier,) = result.carriers
        ratios.append((carrier.wire_bytes, sum(flow.total_bytes for flow in result.flows)))
    wire, application = np.subtract(ratios[1], ratios[0])
    measured = MEASURED["ip_bytes_per_application_byte"]["gost-relay-mws"][direction]
    assert wire / application == pytest.approx(measured, rel=0.002)
