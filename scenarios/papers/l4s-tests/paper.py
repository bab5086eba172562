# SPDX-License-Identifier: GPL-2.0-only
"""Pete Heist's tests of L4S: Prague beside CUBIC and Reno."""

from tunnelcc.apps.papers import Paper, metric

paper = Paper(
    title="L4S tests",
    source=(
        "Pete Heist, github.com/heistp/l4s-tests: s1_table.md (scenario 1), s6_steady_state.md "
        "(scenario 6), and l4s.batch for the set-up, 2020"
    ),
)
PAIRS = [("prague", "cubic"), ("cubic", "prague"), ("prague", "prague"), ("cubic", "cubic")]
RTTS = [(10, 10), (20, 10), (20, 20), (80, 20), (80, 80), (160, 10)]
for rate, packets in ((50, 1000), (10, 200)):
    paper.figure(
        f"1-{rate}",
        f"Scenario 1: two flows, {rate} Mbit/s",
        "two-flows.toml",
        settings={"path.rate": f"{rate}Mbps"},
        axes={
            "queue": {
                "DualPI2": {"path.queue": "dualpi2", "path.buffer": "10000p"},
                "FQ-CoDel": {"path.queue": "fq-codel", "path.buffer": "10240p"},
                "FIFO": {"path.queue": "drop-tail", "path.buffer": f"{packets}p"},
            },
            "flows": {f"{a}/{b}": {"flows.0.cc": a, "flows.1.cc": b} for a, b in PAIRS},
            "rtts": {
                f"{a}ms/{b}ms": {"flows.0.rtt": f"{a}ms", "flows.1.rtt": f"{b}ms"} for a, b in RTTS
            },
        },
        quantities={
            "first": metric("goodput", "the first flow", flow=0, plot=False),
            "second": metric("goodput", "the second flow", flow=1, plot=False),
        },
    )
ONE_QUEUE = {"name": "fq-codel", "queues": 1}
paper.figure(
    "6",
    "Scenario 6: Prague beside a classic flow in one queue, 50 Mbit/s × 20 ms",
    "two-flows.toml",
    settings={"duration": "58s", "warmup": "18s", "path.rtt": "20ms"},
    axes={
        "queue": {
            "one queue": {"path.queue": ONE_QUEUE, "path.buffer": "10240p"},
            "one queue, 1 ms": {
                "path.queue": {**ONE_QUEUE, "target": "1ms", "interval": "20ms"},
                "path.buffer": "10240p",
            },
            "PIE": {"path.queue": "pie", "path.buffer": "1000p"},
            "PIE, 5 ms": {
                "path.queue": {"name": "pie", "target": "5ms", "interval": "32ms"},
                "path.buffer": "100p",
            },
        },
        "flows": {
            "cubic-ecn": {"flows.1.cc": "cubic"},
            "cubic-noecn": {"flows.1.cc": "cubic", "tcp.ecn": False},
            "reno-ecn": {"flows.1.cc": "reno"},
            "reno-noecn": {"flows.1.cc": "reno", "tcp.ecn": False},
        },
    },
    quantities={
        "first": metric("goodput", "Prague", flow=0, plot=False),
        "second": metric("goodput", "CUBIC or Reno beside Prague", flow=1),
    },
)
