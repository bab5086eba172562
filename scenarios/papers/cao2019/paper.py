# SPDX-License-Identifier: GPL-2.0-only
"""Cao et al. 2019 as measured again: one flow over 64 paths and two buffers."""

from tunnelcc.apps.papers import Axis, Paper, claims, metric

COMMON = {
    "scenario": "one-flow.toml",
    "axes": {"cc": Axis("cc", ["bbr", "cubic"]), "rate": "path.rate", "rtt": "path.rtt"},
    "quantities": {"goodput": metric("goodput")},
    "x": "rtt",
    "panels": "rate",
    "log": True,
}


def same(text: str, rate: str):
    """Return the claim that both algorithms get the same."""
    return claims.flat(text, "goodput", "cc", 0.05, {"rate": rate})


paper = Paper(
    title="When to Use and When Not to Use BBR, measured again",
    source=(
        "Cao et al., IMC 2019, figure 5, as measured again by its replication on FABRIC (IMC 2023; "
        "github.com/sdatta97/imcbbrrepro, folder data: 1,280 logs of iperf3 for each kernel)"
    ),
)
paper.figure(
    "shallow",
    "Goodput over rate and RTT, buffer 100 KB",
    **COMMON,
    claims=[
        *(
            claims.order(
                f"Shallow buffer, {told}: BBR gets more than CUBIC at every RTT",
                "goodput",
                "cc: bbr > cubic",
                {"rate": rate},
            )
            for told, rate in (("1 Gbit/s", "1000Mbps"), ("500 Mbit/s", "500Mbps"))
        ),
        same("Shallow buffer, 10 Mbit/s: both get the same, within 5 %", "10Mbps"),
        claims.falls(
            "Shallow buffer: CUBIC's goodput falls as the RTT grows, 500 Mbit/s",
            "goodput",
            "rtt",
            {"cc": "cubic", "rate": "500Mbps"},
        ),
    ],
)
paper.figure(
    "deep",
    "Goodput over rate and RTT, buffer 10,000 KB",
    **COMMON,
    settings={"path.buffer": "10000KiB"},
    claims=[
        same("Deep buffer, 1 Gbit/s: both fill the link, within 5 %", "1000Mbps"),
        same("Deep buffer, 50 Mbit/s: both fill the link, within 5 %", "50Mbps"),
    ],
)
