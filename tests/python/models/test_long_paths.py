# SPDX-License-Identifier: GPL-2.0-only
"""Paths so long that the handshake takes longer than the initial RTO of one second."""

from __future__ import annotations

import pytest

import tunnelcc as tc


@pytest.mark.parametrize("rtt", ["1s", "1500ms", "4s"])
def test_a_repeated_syn_does_not_spoil_the_first_rtt(rtt):
    experiment = tc.Experiment(path=tc.Path(rate="10Mbps", rtt=rtt), duration="20s")
    result = tc.run(experiment, progress=False)
    leg = result.dataset.isel(flow=0).sel(leg="app")
    base = experiment.path.rtt
    first = float(leg.srtt.dropna("time")[0])
    assert base - 0.001 <= first < base + 0.05
    # A time-out that is too short would send again what the queue did not drop.
    assert float(leg.retransmits_series[-1]) <= result.links["path"].forward.queue_drops
