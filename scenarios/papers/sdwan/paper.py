# SPDX-License-Identifier: GPL-2.0-only
"""A report on SD-WAN routers: FEC and TCP optimisation."""

from tunnelcc.apps.papers import Axis, Fit, Paper, claims, derived, metric, theory

GOODPUT = {"goodput": metric("goodput")}
RATES = [f"{rate}Mbps" for rate in (88, 89, 90, 91, 92, 93, 94, 95, 100)]
SLOWER = {"path.rtt": "100ms", "path.rate": "53Mbps"}
OPTIMISED = {
    "tunnel.name": "sdwan-tcp-opt",
    "hosts.tcp_moderate_rcvbuf": False,
    "hosts.tcp_rmem": "64MiB",
    "hosts.tcp_wmem": "64MiB",
}


def both_ways(*losses: str) -> dict:
    """Return losses of the data and of the ACKs."""
    return {it: {"path.loss": it, "path.reverse_loss": it} for it in losses}


def gains(text: str, within: float, where: dict):
    """Return the claim on what a feature gains."""
    return claims.ratio(text, "goodput", "feature: on / off", within, where)


LOSSES = both_ways("1.5%", "5%", "10%", "15%", "20%")

paper = Paper(
    title=(
        "Performance of interconnection across regions over the Internet "
        "(基于互联网的跨区域互连网络性能优化)"
    ),
    source=(
        "AWS blog (亚马逊AWS官方博客), undated: Cisco Catalyst 8000V routers with FEC and TCP "
        "optimisation; every number of the text in published.csv"
    ),
)
paper.figure(
    "baseline",
    "Baseline throughput, at 150 ms, and at 150 ms with 5 % loss",
    "lab.toml",
    axes={
        "state": {
            "as found": {"path.rtt": "2ms"},
            "150 ms": {"path.rtt": "150ms"},
            "150 ms, 5 %": {"path.rtt": "150ms", **both_ways("5%")["5%"]},
        }
    },
    quantities=GOODPUT,
    seeds=10,
    fit=Fit(
        "path.rate",
        RATES,
        {"state": "as found"},
        "the routers' licence or the instances' network: not printed",
    ),
    claims=[
        claims.falls(
            "delay alone costs throughput, and loss costs most of the rest", "goodput", "state"
        )
    ],
)
paper.figure(
    "fec",
    "Throughput at 10 ms without and with FEC",
    "lab.toml",
    axes={
        "feature": {"off": {"tunnel.name": "ipsec-esp"}, "on": {"tunnel.name": "sdwan-fec"}},
        "loss": {"0%": {"path.loss": "0%"}, **both_ways("1.5%", "5%", "10%")},
    },
    quantities={
        **GOODPUT,
        "residual": metric("residual_loss", "loss that FEC leaves", plot=False),
        "expected": theory(
            lambda it: it.loss * (1 - (1 - it.loss) ** 4),
            "1",
            "p (1 − (1 − p)⁴): one more of its group of five is lost",
            plot=False,
        ),
    },
    seeds=10,
    fit=Fit("path.rate", RATES, {"feature": "off", "loss": "0%"}, "as in the baseline"),
    claims=[
        gains('1.5 %: "FEC gains 4 to 7 times"', 0.25, {"loss": "1.5%"}),
        gains("5 %: the same", 0.25, {"loss": "5%"}),
        claims.falls('"as loss grows, its effect falls"', "goodput", "loss", {"feature": "on"}),
        claims.equal(
            "the loss after FEC matches theory",
            "residual",
            "expected",
            0.1,
            {"feature": "on", "loss": "5%"},
        ),
    ],
    x="loss",
)
paper.figure(
    "tcp-opt",
    "Throughput at 100 ms without and with TCP optimisation",
    "lab.toml",
    settings=SLOWER,
    axes={"feature": {"off": {"tunnel.name": "ipsec-esp"}, "on": OPTIMISED}, "loss": LOSSES},
    quantities={
        **GOODPUT,
        "bbr_bound": theory(
            lambda it: 0.9 * it.rate * (1 - it.loss) ** 2,
            "Mbit/s",
            "0.9 C (1 − p)²: BBR's rate",
            plot=False,
        ),
    },
    seeds=10,
    fit=Fit(
        "path.rate",
        [f"{rate}Mbps" for rate in range(48, 56)],
        {"feature": "on", "loss": "5%"},
        "the rest with the optimiser on: not printed",
    ),
    claims=[
        claims.ratio(
            '"not as sensitive to delay and loss as FEC": BBR\'s throughput at 15 %, '
            "relative to 1.5 %",
            "goodput",
            "loss: 15% / 1.5%",
            0.1,
            {"feature": "on"},
        ),
        gains('20 %: "still a gain of nearly 100 times"', 0.5, {"loss": "20%"}),
        gains("5 %: TCP optimisation gains more than FEC does at best", 0.5, {"loss": "5%"}),
    ],
    x="loss",
)
paper.figure(
    "both",
    "Not tested in the report: FEC alone at 100 ms, and FEC with TCP optimisation",
    "lab.toml",
    settings=SLOWER,
    axes={
        "feature": {
            "none": {"tunnel.name": "ipsec-esp"},
            "FEC": {"tunnel.name": "sdwan-fec"},
            "TCP optimisation": OPTIMISED,
            "both": {**OPTIMISED, "tunnel.under": "sdwan-fec"},
        },
        "loss": Axis("", LOSSES, "choice", "the losses of the table above"),
    },
    quantities=GOODPUT,
    seeds=10,
    x="loss",
)
paper.figure(
    "examples",
    "A window of 16 KB at 100 ms",
    "lab.toml",
    settings={"tunnel": "none", "path.rtt": "100ms", "hosts.tcp_rmem": "32KiB", "warmup": "1s"},
    axes={"example": {"a window of 16 KB": {"hosts.tcp_moderate_rcvbuf": False}}},
    quantities={"limit": theory(lambda it: 8 * it.window / it.rtt, "Mbit/s"), **GOODPUT},
)
paper.figure(
    "bdp",
    "The window that fills 10 Mbit/s at 100 ms",
    "lab.toml",
    settings={"tunnel": "none", "path.rtt": "100ms", "path.rate": "10Mbps"},
    axes={"example": {"10 Mbit/s × 100 ms": {"path.loss": 0}}},
    quantities={"pipe": theory(lambda it: it.bdp, "KB")},
)
paper.figure(
    "transfer",
    "64 KB over 28 ms one way, with an initial window of 10 segments",
    "lab.toml",
    settings={
        "tunnel": "none",
        "path.rtt": "56ms",
        "path.rate": "1Gbps",
        "flows.bytes": 65535,
        "direction": "down",
    },
    axes={"example": {"a file of 64 KB": {"tcp.initial_window": 10}}},
    quantities={
        "completion": metric("flow_completion_time", plot=False),
        "answered": derived(lambda run: run.completion + 0.040, "ms", "with the server's 40 ms"),
    },
)
