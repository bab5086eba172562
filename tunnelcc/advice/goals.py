# SPDX-License-Identifier: GPL-2.0-only
"""What people use a tunnel for: the traffic, and the number that says how good it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Goal:
    """A use. ``flows``: its traffic. ``metric``: what counts, of ``flow`` if it is one of several.

    ``is_higher``: whether more is better. ``cc_key``: the key of the congestion control that is
    compared. ``factor``, ``unit``: in which the metric is shown.
    """

    words: str
    metric: str
    is_higher: bool
    factor: float
    unit: str
    flows: Sequence[Mapping[str, Any]]
    cc_key: str = "cc"
    flow: int | None = None


GOALS = {
    "bulk": Goal("one long transfer", "goodput", True, 1e-6, "Mbit/s", ({},)),
    "short": Goal(
        "pages of 500 kB, one each 500 ms in the mean: time until a page is there",
        "flow_completion_time", False, 1.0, "s",
        ({"bytes": "500kB", "count": 16, "interarrival": "500ms", "start": "1s"},),
    ),
    "call": Goal(
        "a call (160 bytes each 20 ms) beside a long transfer: 99th percentile of latency",
        "flow_message_latency_p99", False, 1e3, "ms",
        ({"rate": "64kbps", "write_size": "160B"}, {}), flow=0,
    ),
    "fair": Goal(
        "a long transfer beside a neighbour's CUBIC flow without a tunnel: the neighbour's goodput",
        "flow_goodput", True, 1e-6, "Mbit/s", ({}, {"cc": "cubic", "tunnel": "none"}),
        "flows.0.cc", 1,
    ),
}  # fmt: skip

#: Compared unless others are named.
TUNNELS = (
    "none", "wireguard", "openvpn-udp", "openvpn-tcp", "gost-relay-wss", "gost-relay-mwss",
    "gost-quic", "hysteria2", "kcptun", "ssh-forward",
)  # fmt: skip
CONGESTION_CONTROLS = ("cubic", "bbr")
