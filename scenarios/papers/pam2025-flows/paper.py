# SPDX-License-Identifier: GPL-2.0-only
"""A PAM 2025 paper: several Prague flows beside several CUBIC flows with ECN, over five queues."""

import tunnelcc as tc
from tunnelcc.apps.papers import Axis, Claim, Paper, metric

SIDES = ["1:2", "1:5", "1:10", "1:25", "2:1", "5:1", "10:1", "25:1", "2:2", "5:5", "10:10", "25:25"]


@tc.metric("bit/s", "all Prague flows")
def of_prague(run) -> float:
    """Return the goodput of the Prague flows together."""
    return float(run["flow_goodput_series"][run["flow_cc"] == "prague"].mean(axis=1).sum())


@tc.metric("bit/s", "all CUBIC flows")
def of_cubic(run) -> float:
    """Return the goodput of the CUBIC flows together."""
    return float(run["flow_goodput_series"][run["flow_cc"] == "cubic"].mean(axis=1).sum())


def counts(pair: str) -> dict:
    """Return the numbers of flows on each side."""
    prague, cubic = map(int, pair.split(":"))
    return {"flows.0.count": prague, "flows.1.count": cubic}


def of_fair(text: str, flows: str, queue: str, least: float, most: float) -> Claim:
    """Return the claim that Prague has so many times its fair share by flows.

    At every buffer but half a BDP, which overflows before its discipline marks.
    """
    prague, cubic = map(int, flows.split(":"))

    def judge(means) -> tuple[bool, str]:
        means = means.drop("0.5bdp", level="buffer")
        fair = prague / (prague + cubic)
        parts = means["prague"] / (means["prague"] + means["classic"]) / fair
        holds = bool(parts.min() >= least and parts.max() <= most)
        return holds, f"{parts.min():.2f} to {parts.max():.2f} times the fair share"

    return Claim(text, "prague", judge, {"flows": flows, "queue": queue}, uses=("classic",))


paper = Paper(
    title="To Adopt or Not to Adopt L4S-Compatible Congestion Control? Several flows on each side",
    source=(
        "Sarpkaya, Srivastava, Fund and Panwar, PAM 2025: means of 10 trials in its repository "
        "(github.com/fatihsarpkaya/L4S-PAM2025, folder Data)"
    ),
)
paper.figure(
    "share",
    "Prague's goodput beside CUBIC's over the buffer, by number of flows, five queues",
    "flows.toml",
    axes={
        "flows": {pair: counts(pair) for pair in SIDES},
        "buffer": Axis("path.buffer", ["0.5bdp", "1bdp", "2bdp", "4bdp", "8bdp"]),
        "queue": {
            "FIFO": {"path.queue": "drop-tail"},
            "FIFO with marks": {"path.queue": "drop-tail", "path.ecn_threshold": "5ms"},
            "CoDel": {"path.queue": "codel"},
            "FQ-CoDel": {"path.queue": "fq-codel"},
            "DualPI2": {
                "path.queue": {"name": "dualpi2", "target": "5ms"},
                "path.buffer": "10000p",
            },
        },
    },
    quantities={
        "prague": metric(of_prague, "Prague"),
        "classic": metric(of_cubic, "CUBIC", plot=False),
        "prague_rtt": metric("flow_rtt", "Prague's RTT", flow=0, plot=False),
    },
    claims=[  # of the abstract: harm is not necessarily mitigated beside several classic flows
        *(
            of_fair(
                f"One Prague flow beside {many} CUBIC flows has more than twice its share, {queue}",
                f"1:{many}",
                queue,
                2,
                26,
            )
            for many in (5, 25)
            for queue in ("FIFO with marks", "CoDel")
        ),
        *(
            of_fair(f"A queue for each flow protects all, {flows}", flows, "FQ-CoDel", 0.9, 1.1)
            for flows in ("1:25", "25:1", "5:5")
        ),
    ],
    x="buffer",
    panels="queue",
)
