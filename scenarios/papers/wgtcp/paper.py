# SPDX-License-Identifier: GPL-2.0-only
"""WGTCP: WireGuard over TCP or UDP."""

from tunnelcc.apps.papers import Axis, Paper, metric

COMMON = {
    "scenario": "sixteen-flows.toml",
    "quantities": {"payload": metric("goodput", "goodput of 16 flows")},
}
CARRIERS = {"udp": {"tunnel": "wireguard"}, "tcp": {"tunnel": "wireguard-tcp.toml"}}


def bursts(p: int, r: float, rtt: str) -> dict:
    """Return a Gilbert–Elliott model in both directions; p and r in percent."""
    model = {"p": p / 100, "r": r / 100, "h": 0.1, "k": 0.99}
    settings = {"path.rtt": rtt, "path.gilbert_elliott": model}
    return {f"{p}/{r:g}, {rtt}": {**settings, "path.reverse": {"gilbert_elliott": model}}}


paper = Paper(
    title="WireGuard over TCP or UDP",
    source=(
        "github.com/secwest/WGTCP, perf-test/meltdown/results/*/cells.csv, 2026: runs that its "
        "authors call valid"
    ),
)
paper.figure(
    "rtt",
    "16 flows over the RTT, 50 Mbit/s, 1 BDP",
    **COMMON,
    axes={
        "carrier": CARRIERS,
        "rtt": Axis("path.rtt", [f"{ms}ms" for ms in (40, 100, 150, 175, 200, 225, 250, 300, 400)]),
    },
    x="rtt",
)
paper.figure(
    "queue",
    "16 flows in queues of half and four BDP, 50 Mbit/s",
    **COMMON,
    axes={
        "carrier": CARRIERS,
        "rtt": Axis("path.rtt", ["40ms", "200ms"]),
        "queue": Axis("path.buffer", ["0.5bdp", "4bdp"]),
    },
)
paper.figure(
    "small",
    "16 flows in small queues, 35 Mbit/s × 200 ms",
    **COMMON,
    settings={"path.rate": "35Mbps", "path.rtt": "200ms"},
    axes={"carrier": CARRIERS, "queue": Axis("path.buffer", ["0.05bdp", "0.1bdp", "0.25bdp"])},
    x="queue",
)
paper.figure(
    "loss",
    "16 flows with loss in both directions, 50 Mbit/s, 1 BDP",
    **COMMON,
    axes={
        "carrier": CARRIERS,
        "loss": {
            **bursts(1, 12.5, "200ms"),
            **bursts(1, 25, "200ms"),
            **bursts(2, 25, "200ms"),
            **bursts(2, 25, "400ms"),
            **bursts(4, 25, "200ms"),
            "random 7.5 %": {"path.rtt": "200ms", "path.loss": "7.5%", "path.reverse_loss": "7.5%"},
        },
    },
)
