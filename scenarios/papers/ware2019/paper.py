# SPDX-License-Identifier: GPL-2.0-only
"""Ware et al. 2019 as measured again: BBR beside CUBIC and Reno."""

from tunnelcc.apps.papers import Paper, Quantity, claims, derived, metric


def buffers(bdp: int, *multiples: float) -> dict:
    """Return bfifo's sizes; ``bdp``: in tc's kb of 1024 bytes, so 2.4 % more than the BDP."""
    return {f"{it:g}bdp": {"path.buffer": f"{it * bdp:.0f}B"} for it in multiples}


paper = Paper(
    title="Modeling BBR's Interactions with Loss-Based Congestion Control, measured again",
    source=(
        "Ware, Mukerjee, Seshan and Sherry, IMC 2019, as measured again on FABRIC "
        "(github.com/ffund/re-bbr-shared-bottleneck, folder ware-exp: coordinates of its vector "
        "figures, and what run_new.ipynb prints)"
    ),
)
paper.figure(
    "1b",
    "One BBR flow against one other: goodput over the buffer",
    "two-flows.toml",
    axes={
        "against": {cc: {"flows.0.cc": cc} for cc in ("cubic", "reno")},
        "buffer": buffers(51200, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128),
    },
    quantities={
        "bbr_goodput": metric("goodput", "BBR", flow=1),
        "other_goodput": metric("goodput", "the other flow", flow=0),
    },
    claims=[  # of the paper's abstract and model: its in-flight cap limits BBR
        claims.falls("The deeper the queue, the less BBR gets", "bbr_goodput", "buffer"),
        *(
            claims.larger(
                f"Before {buffer} BBR is above the other flow",
                "bbr_goodput",
                "other_goodput",
                {"buffer": buffer},
            )
            for buffer in ("0.25bdp", "0.5bdp", "1bdp")
        ),
        claims.larger(
            "Before 64 BDP it is below", "other_goodput", "bbr_goodput", {"buffer": "64bdp"}
        ),
    ],
    x="buffer",
    panels="against",
)
paper.figure(
    "2b",
    "The same against CUBIC for longer",
    "two-flows.toml",
    settings={"duration": "600s"},
    axes={"buffer": buffers(51200, 4, 8, 16, 32, 64)},
    quantities={
        "bbr_240s": metric("goodput", flow=1, until="240s"),
        "bbr_600s": metric("goodput", flow=1),
        "bbr_last_180s": metric("goodput", flow=1, since="420s"),
    },
    x="buffer",
)
paper.figure(
    "1c",
    "One BBR flow against 16 CUBIC flows, 32bdp",
    "two-flows.toml",
    settings={"duration": "300s", "path.buffer": "1638400B", "flows.0.count": 16},
    quantities={
        "first_100s": metric("goodput", flow=16, until="100s"),
        "second_100s": metric("goodput", flow=16, since="100s", until="200s"),
        "third_100s": metric("goodput", flow=16, since="200s"),
    },
    claims=[
        claims.between(
            "One BBR flow has more than its share of 1/17 beside 16 CUBIC flows",
            "third_100s",
            10e6 / 17,
            10e6,
        ),
        claims.between("It has 40 % of the link, however many they are", "third_100s", 3e6, 5e6),
    ],
)


def many_flows(id_: str, title: str, bdp: int, settings: dict, bbr: Quantity) -> None:
    """Add a figure of 1 to 32 BBR flows. ``bbr``: what they get."""
    paper.figure(
        id_,
        title,
        "two-flows.toml",
        settings={"duration": "1000s", **settings},
        axes={"bbr_flows": "flows.1.count", "buffer": buffers(bdp, 1, 2, 4, 8, 16, 32, 64)},
        quantities={
            "all": metric("goodput", since="600s", plot=False),
            "other": metric("goodput", flow=0, since="600s", plot=False),
            "bbr": bbr,
        },
        claims=[
            claims.rises("More BBR flows have more together", "bbr", "bbr_flows"),
            claims.falls("The deeper the queue, the less they have", "bbr", "buffer"),
        ],
        x="buffer",
    )


RATE = derived(lambda run: run.all - run.other, "Mbit/s", "goodput of all BBR flows")
PART = derived(lambda run: (run.all - run.other) / run.rate, "1", "BBR's part of the link")

many_flows("8a", "1 to 32 BBR flows against one CUBIC flow, 10 Mbit/s × 40 ms", 51200, {}, RATE)
many_flows(
    "8b",
    "1 to 32 BBR flows against one CUBIC flow, 50 Mbit/s × 30 ms",
    192000,
    {"path.rate": "50Mbps", "path.rtt": "30ms"},
    PART,
)
many_flows(
    "8c",
    "1 to 32 BBR flows against one Reno flow, 10 Mbit/s × 40 ms",
    51200,
    {"flows.0.cc": "reno"},
    PART,
)
