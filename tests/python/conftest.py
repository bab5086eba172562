# SPDX-License-Identifier: GPL-2.0-only
"""Small runs that several tests look at."""

from __future__ import annotations

import pytest

import tunnelcc as tc

SMALL_PATH = {"rate": "10Mbps", "rtt": "20ms"}


@pytest.fixture(scope="session")
def plain_result() -> tc.Result:
    """Two flows without tunnel, one of which sends a finite amount of data."""
    flows = [{"cc": "bbr"}, {"cc": "cubic", "bytes": "500kB"}]
    return tc.run(tc.Experiment(path=SMALL_PATH, flows=flows, duration="5s", warmup="1s"))


@pytest.fixture(scope="session")
def relay_result() -> tc.Result:
    """Three flows through a relay whose carriers lose packets."""
    return tc.run(
        tc.Experiment(
            path={**SMALL_PATH, "loss": "1%"},
            flows={"cc": "cubic", "count": 3},
            tunnel={"name": "gost-relay-wss", "cc": "bbr"},
            duration="4s",
        )
    )
