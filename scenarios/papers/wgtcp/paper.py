# SPDX-License-Identifier: GPL-2.0-only
"""WGTCP: WireGuard over TCP or UDP."""

from tunnelcc.apps.papers import Axis, Paper, claims, metric

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
    claims=[  # docs/TCP_MELTDOWN.md of the repository: severe degradation only with bursts of loss
        claims.flat(
            "Without loss TCP carries what UDP carries, 40 to 400 ms", "payload", "carrier", 0.1
        ),
        claims.between(
            "Without loss TCP does not collapse: above 40 of 50 Mbit/s", "payload", 40e6, 50e6
        ),
    ],
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
    claims=[
        claims.flat(
            "Queues of half and four BDP do not matter to TCP in TCP", "payload", "carrier", 0.1
        ),
    ],
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
    claims=[
        claims.order(
            "With loss UDP carries more than TCP", "payload", "carrier: udp > tcp", factor=2
        ),
        claims.between(
            "UDP with bursts of loss: 1.3 to 5.8 Mbit/s",
            "payload",
            1.3e6,
            5.8e6,
            {"carrier": "udp"},
        ),
        claims.between(
            "TCP with bursts of loss: 0.07 to 1.1 Mbit/s",
            "payload",
            0.07e6,
            1.1e6,
            {"carrier": "tcp"},
        ),
    ],
)
