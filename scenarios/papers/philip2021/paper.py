# SPDX-License-Identifier: GPL-2.0-only
"""Philip et al. 2021 as measured again: fairness of many flows, and Mathis's constant."""

from math import sqrt

from tunnelcc.apps.papers import Axis, Paper, claims, derived, metric

AXES = {
    "rtt": Axis("path.rtt", ["20ms", "100ms", "200ms"]),
    "flows": Axis("flows.count", [10, 30, 50]),
}


def mathis(run, part: float) -> float:
    """Return C = rate · RTT · √p / MSS of the mean flow."""
    return run.goodput / run.flow_count / 8 / run.mss * run.srtt * sqrt(part)


paper = Paper(
    title=(
        "Revisiting TCP Congestion Control Throughput Models and Fairness Properties at Scale, "
        "measured again"
    ),
    source=(
        "Philip, Ware, Athapathu, Sherry and Sekar, IMC 2021, as measured again on CloudLab and "
        "FABRIC (github.com/vinitaparasrampuria/IMC-Revisiting-TCP: JFI_*.csv)"
    ),
)
paper.figure(
    "edge",
    "Fairness between many flows at the edge, 100 Mbit/s",
    "many-flows.toml",
    axes={"cc": Axis("flows.cc", ["bbr", "cubic", "reno"]), **AXES},
    quantities={
        "total": metric("goodput", "total", plot=False),
        "jain": metric("jain", "Jain's index"),
    },
    claims=[  # of the abstract, what it says of the edge
        claims.between("BBR flows are fair at the edge", "jain", 0.95, 1, {"cc": "bbr"}),
        claims.between("CUBIC flows are", "jain", 0.9, 1, {"cc": "cubic"}),
        claims.between("Reno flows are", "jain", 0.9, 1, {"cc": "reno"}),
        claims.between("All fill the link: above 90 of 100 Mbit/s", "total", 90e6, 100e6),
    ],
    x="flows",
    panels="rtt",
)
paper.figure(
    "mathis",
    "Constant of the Mathis model, by segments lost and by congestion events",
    "many-flows.toml",
    axes=AXES,
    quantities={
        "goodput": metric("goodput", plot=False),
        "srtt": metric("flow_rtt", plot=False),
        "retransmitted": metric("retransmission_ratio", plot=False),
        "events": metric("congestion_event_rate", plot=False),
        "per_loss": derived(
            lambda run: mathis(run, run.retransmitted), "1", "C by segments retransmitted"
        ),
        "per_halving": derived(lambda run: mathis(run, run.events), "1", "C by congestion events"),
    },
    claims=[
        claims.larger(
            "Counted by losses the constant is larger than by congestion events",
            "per_loss",
            "per_halving",
        ),
        claims.flat("By losses one constant fits all numbers of flows", "per_loss", "flows", 0.1),
        claims.flat("By congestion events it does", "per_halving", "flows", 0.1),
    ],
    x="flows",
    panels="rtt",
)
