# SPDX-License-Identifier: GPL-2.0-only
"""BBR beside CUBIC and Reno in Mininet, after Ware et al. 2019."""

from tunnelcc.apps.papers import Axis, Paper, claims, derived, metric


def buffers(*multiples: int) -> dict:
    """Return netem's limits, which also count a quarter of a BDP in its own delay."""
    return {f"{it}bdp": {"path.buffer": f"{it - 0.25}bdp"} for it in multiples}


paper = Paper(
    title="BBR beside CUBIC and Reno in Mininet, after Ware et al. 2019",
    source=(
        "github.com/wisclmy0611/bbr-fairness-experiment, folder results: its figures 1b and 8, "
        "read to 0.02 Mbit/s and 0.003"
    ),
)
paper.figure(
    "1b",
    "One BBR flow against one other: goodput over the buffer",
    "two-flows.toml",
    axes={
        "against": Axis("flows.0.cc", ["cubic", "reno"]),
        "buffer": buffers(1, 2, 4, 8, 16, 32, 64, 128),
    },
    quantities={
        "bbr": metric("goodput", "BBR", flow=1),
        "other": metric("goodput", "the other flow", flow=0),
    },
    claims=[  # of the paper that it repeats: its in-flight cap limits BBR
        claims.falls("The deeper the queue, the less BBR gets", "bbr", "buffer"),
        claims.larger(
            "Before one BDP BBR is above the other flow", "bbr", "other", {"buffer": "1bdp"}
        ),
        claims.larger("Before 64 BDP it is below", "other", "bbr", {"buffer": "64bdp"}),
    ],
    x="buffer",
    panels="against",
)
for id_, other, rate, rtt, seconds, settings, most in (
    ("8a", "CUBIC", 10, 40, 400, {}, 64),
    ("8b", "CUBIC", 50, 30, 400, {"path.rate": "50Mbps", "path.rtt": "30ms"}, 16),
    ("8c", "Reno", 10, 40, 200, {"flows.0.cc": "reno"}, 64),
):
    since = f"{seconds - 30}s"
    paper.figure(
        id_,
        f"1 to 4 BBR flows against one {other} flow, {rate} Mbit/s × {rtt} ms",
        "two-flows.toml",
        settings={"duration": f"{seconds}s", **settings},
        axes={
            "bbr_flows": "flows.1.count",
            "buffer": buffers(*(it for it in (1, 2, 4, 8, 16, 32, 64) if it <= most)),
        },
        quantities={
            "all": metric("goodput", since=since, plot=False),
            "other": metric("goodput", flow=0, since=since, plot=False),
            "bbr": derived(
                lambda run: (run.all - run.other) / run.all, "1", "BBR's part of the goodput"
            ),
        },
        claims=[
            claims.falls("The deeper the queue, the less BBR gets", "bbr", "buffer"),
            claims.rises("More BBR flows have a larger part together", "bbr", "bbr_flows"),
        ],
        x="buffer",
    )
