# SPDX-License-Identifier: GPL-2.0-only
"""Pete Heist's tests of L4S: Prague beside CUBIC and Reno."""

from tunnelcc.apps.papers import Claim, Paper, claims, metric

paper = Paper(
    title="L4S tests",
    source=(
        "Pete Heist, github.com/heistp/l4s-tests: s1_table.md (scenario 1), s6_steady_state.md "
        "(scenario 6), and l4s.batch for the set-up, 2020"
    ),
)
PAIRS = [("prague", "cubic"), ("cubic", "prague"), ("prague", "prague"), ("cubic", "cubic")]
RTTS = [(10, 10), (20, 10), (20, 20), (80, 20), (80, 80), (160, 10)]
BOTH = ("prague/cubic", "10ms/10ms"), ("prague/cubic", "20ms/20ms"), ("prague/cubic", "80ms/80ms")


def unfair_by_rtt(means) -> tuple[bool, str]:
    """Judge whether Prague and DualPI2 favour the shorter RTT more than CUBIC and a FIFO do."""
    parts = [
        means["second"][queue, flows, "160ms/10ms"] / means["first"][queue, flows, "160ms/10ms"]
        for queue, flows in (("DualPI2", "prague/prague"), ("FIFO", "cubic/cubic"))
    ]
    return parts[0] > parts[1], f"10 ms / 160 ms: Prague {parts[0]:.1f}, CUBIC {parts[1]:.1f}"


def findings(rate: int) -> list:
    """Return the key findings 3 and 4 of the README, for scenario 1."""
    at = {"flows": "prague/cubic", "rtts": "20ms/20ms"}
    return [
        *(
            claims.larger(
                f"DualPI2 favours Prague over CUBIC, {rtts}",
                "first",
                "second",
                {"queue": "DualPI2", "flows": flows, "rtts": rtts},
            )
            for flows, rtts in BOTH
        ),
        claims.larger(
            "In DualPI2 Prague has more than twice CUBIC's throughput, 20 ms",
            "first",
            "second",
            {"queue": "DualPI2", **at},
            factor=2,
        ),
        claims.larger(
            "In a FIFO CUBIC is above Prague, 20 ms", "second", "first", {"queue": "FIFO", **at}
        ),
        Claim(
            "Prague in DualPI2 is more unfair by RTT than CUBIC in a FIFO",
            "second",
            unfair_by_rtt,
            uses=("first",),
        ),
    ]


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
        claims=findings(rate),
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
    claims=[  # key finding 1
        claims.larger(
            f"Prague dominates {flow} in a queue that both share",
            "first",
            "second",
            {"flows": flow},
            factor=2,
        )
        for flow in ("cubic-ecn", "cubic-noecn", "reno-ecn", "reno-noecn")
    ],
)
