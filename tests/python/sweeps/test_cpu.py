# SPDX-License-Identifier: GPL-2.0-only
"""A sweep tells at how many points the CPU decides, and names the busiest programs."""

from __future__ import annotations

import numpy as np

from tunnelcc.sweeps import Sweep
from tunnelcc.sweeps.cpu import cpu_warning


def _data(client, server):
    both = {"cpu_client": client, "cpu_server": server}
    return {name: (("tunnel.name", "seed"), np.array(use), {}) for name, use in both.items()}


def test_the_busiest_points_are_told():
    axes = {"tunnel.name": ["none", "openvpn-udp", "vtun"], "path.rtt": ["10ms", "20ms"]}
    sweep = Sweep({"sweep": axes}, seeds=2)
    idle = np.zeros((3, 2, 2))
    client = idle.copy()
    client[0] = 0.9  # applications alone
    client[1] = [[0.1, 0.1], [0.3, 0.4]]  # of two cores: 20 and 70 % of one
    client[2] = [[0.1, np.nan], [0.1, 0.1]]  # of two cores: 20 % of one
    told = cpu_warning(sweep, _data(client, idle))
    assert told.startswith("CPU at 1 of 6 points, at most: openvpn-udp on client uses 70 % of a")
    assert "vtun" not in told
    client[1] = 0.1
    assert cpu_warning(sweep, _data(client, idle)) == ""
    assert cpu_warning(sweep, _data(idle * np.nan, idle * np.nan)) == ""
