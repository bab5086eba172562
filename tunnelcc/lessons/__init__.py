# SPDX-License-Identifier: GPL-2.0-only
"""What the notebooks of the lessons use: a module for each lesson, and here what all share.

A module describes the experiment of its lesson, so that the notebook begins with the subject.
Figures have large text (``plots.LARGE_TEXT``) from the import on.
"""

import tempfile
from statistics import fmean, median
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import tunnelcc as tc
from tunnelcc import metrics, plots

__all__ = [
    "CALL",
    "LARGE",
    "PACKET",
    "Figure",
    "fmean",
    "median",
    "metrics",
    "np",
    "packets_waiting",
    "plots",
    "plt",
    "run_sweep",
    "tc",
]

plt.switch_backend(plt.get_backend())  # loads that of Jupyter, which shows each Figure
plt.rcParams.update(plots.LARGE_TEXT)

#: Bytes of a full packet.
PACKET = 1500
#: Windows of the hosts that never limit a flow.
LARGE = {"tcp_rmem": "64MiB", "tcp_wmem": "64MiB"}
#: A call: 160 bytes 78 times a second. TCP carries it; experiments with it set ``tcp.nodelay``.
CALL = {"cc": "cubic", "rate": "100kbps", "write_size": 160}

_STORE = tempfile.TemporaryDirectory(prefix="lesson-")


def run_sweep(name: str, base: dict[str, Any], axes: dict[str, Any], seeds: int) -> Any:
    """Run a sweep into a folder of its own, which goes with the kernel, and return its results."""
    return tc.sweep(base, axes, seeds=seeds, name=name, store=_STORE.name, progress=False)


def packets_waiting(result: tc.Result) -> Any:
    """Return the packets in the queue of the path over time."""
    return np.array(result["link_queue_bytes"])[0, 0] / PACKET
