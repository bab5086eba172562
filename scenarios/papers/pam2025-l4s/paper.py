# SPDX-License-Identifier: GPL-2.0-only
"""A PAM 2025 paper: Prague beside CUBIC, BBR and BBRv3 over five queues and buffers."""

from tunnelcc.apps.papers import Axis, Claim, Paper, claims, metric


def harm(text: str, who: str, whom: str, queue: str, classic: str, **more: str) -> Claim:
    """Return the claim that one has over twice the other's goodput, beside a classic flow."""
    where = {"queue": queue, "classic": classic, **more}
    return claims.larger(text, who, whom, where, factor=2)


paper = Paper(
    title="To Adopt or Not to Adopt L4S-Compatible Congestion Control?",
    source=(
        "Sarpkaya, Srivastava, Fund and Panwar, PAM 2025: means of 10 trials in its repository "
        "(github.com/fatihsarpkaya/L4S-PAM2025, folder Data)"
    ),
)
paper.figure(
    "share",
    "Prague beside another flow: goodput over the buffer, five queues",
    "two-flows.toml",
    axes={
        "classic": {
            "cubic": {"flows.1.cc": "cubic"},
            "cubic-ecn": {"flows.1.cc": "cubic", "tcp.ecn": True},
            "bbr": {"flows.1.cc": "bbr"},
            "bbr3": {"flows.1.cc": "bbr3"},
        },
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
        "prague": metric("goodput", "Prague", flow=0),
        "other": metric("goodput", "the other flow", flow=1, plot=False),
        "prague_rtt": metric("flow_rtt", "Prague's RTT", flow=0, plot=False),
        "other_rtt": metric("flow_rtt", "the other flow's RTT", flow=1, plot=False),
    },
    claims=[  # of abstract and summary: who adopts Prague may harm others, and may be harmed
        harm(
            "Prague harms CUBIC with ECN in a FIFO with marks of 2 BDP: over twice its goodput",
            "prague",
            "other",
            "FIFO with marks",
            "cubic-ecn",
            buffer="2bdp",
        ),
        harm(
            "Prague harms CUBIC with ECN in CoDel of 2 BDP: over twice its goodput",
            "prague",
            "other",
            "CoDel",
            "cubic-ecn",
            buffer="2bdp",
        ),
        harm(
            "Prague is harmed by CUBIC without ECN in a FIFO with marks",
            "other",
            "prague",
            "FIFO with marks",
            "cubic",
        ),
        harm(
            "Prague is harmed by BBR in a FIFO with marks",
            "other",
            "prague",
            "FIFO with marks",
            "bbr",
        ),
        harm(
            "BBRv3 does not solve it: it harms Prague in a FIFO with marks",
            "other",
            "prague",
            "FIFO with marks",
            "bbr3",
        ),
        claims.equal(
            "A queue for each flow protects both", "prague", "other", 0.1, {"queue": "FQ-CoDel"}
        ),
        claims.order(
            "Very low latency needs a queue of its own: beside CUBIC with ECN Prague's RTT in "
            "DualPI2 is below that in CoDel",
            "prague_rtt",
            "queue: CoDel > DualPI2",
            {"classic": "cubic-ecn"},
        ),
    ],
    x="buffer",
    panels="queue",
)
