# SPDX-License-Identifier: GPL-2.0-only
"""The same algorithm as a module of Linux, a class in C++ and a class in Python is the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tunnelcc as tc

FOLDER = Path(__file__).parent / "same"


@pytest.mark.parametrize("name", ["aimd", "delay", "rate"])
def test_three_ways_give_the_same_window_at_each_ack(name):
    files = [f"linux:{FOLDER}/tcp_{name}.c", f"{FOLDER}/{name}.cc", f"{FOLDER}/{name}.py"]
    results = []
    for file in files:
        # Beside another flow, and with random loss: recoveries and time-outs come, too.
        path = {"rate": "20Mbps", "rtt": "40ms", "buffer": "0.5bdp", "loss": "0.05%"}
        flows = [{"cc": file}, {"cc": "cubic", "start": "2s"}]
        results.append(tc.run(tc.Experiment(path=path, flows=flows, duration="20s")))
    # A digest is of all that happened; that of the legs has the name of the algorithm, too.
    digests = [result.digests() for result in results]
    for digest in digests:
        digest.pop("legs")
    assert digests[0] == digests[1] == digests[2]
    windows = [result.dataset["cwnd"].values[0] for result in results]
    assert np.ptp(windows[0]) > 10
    assert np.array_equal(windows[0], windows[1])
    assert np.array_equal(windows[0], windows[2])
    assert results[0].flow_goodput(0) > 2e6
