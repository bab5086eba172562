# SPDX-License-Identifier: GPL-2.0-only
"""A thesis on GOST's relay+ws and relay+wss with CUBIC and BBR, 1 to 128 streams."""

from tunnelcc.apps.papers import Axis, Fit, Paper, claims, derived, metric, theory

GOODPUT = {"goodput": metric("goodput")}
TUNNEL_CC_STREAMS = {
    "tunnel": {"relay+ws": {"tunnel": "gost-relay-ws"}, "relay+wss": {"tunnel": "gost-relay-wss"}},
    "cc": "cc",
    "streams": "flows.count",
}
MIBS = (1, 2, 4, 6, 7, 7.5, 8, 8.25, 8.5, 8.75, 9, 9.5, 10, 16, 64)
PACKETS = (100, 1000, 3000, 5000, 5500, 5800, 6000, 6500, 8000)
QUEUES = ["64KiB", "256KiB", *(f"{it:g}MiB" for it in MIBS), *(f"{it}p" for it in PACKETS)]


def gain(text: str, streams: str):
    """Return the claim on BBR against CUBIC."""
    return claims.ratio(text, "goodput", "cc: bbr / cubic", 0.1, {"streams": streams})


def route(rtt: str, **path) -> dict:
    """Return a path to one of the tester's nodes."""
    return {"path.rtt": rtt, **{f"path.{key}": value for key, value in path.items()}}


def policer(rate: str) -> dict:
    """Return a policer with the burst that all routes share."""
    return {"rate": rate, "burst": "32KB"}


paper = Paper(
    title="BBR congestion control in GOST security tunnels (BBR拥塞控制算法在GOST安全隧道的应用)",
    source=(
        "thesis, undated (kernel 5.10.0-22: 2023 or later), sections 3 and 4; numbers of 4.2 and "
        "4.3 and the uploads of 4.1 in published.csv, all of 4.1 in speedtest.csv"
    ),
)
# 128 streams: what holds them to a quarter of the rate? The baseline in settings.csv has none of
# the causes: a queue that never overflows, steady state, hosts without limit on memory, an iperf3
# that costs nothing. Each cause is then added alone; those that close nothing with relay+ws only.
paper.figure(
    "goodput",
    "Receiver bitrate of iperf3 through the tunnel (sections 4.2 and 4.3)",
    "scenario.toml",
    axes=TUNNEL_CC_STREAMS,
    quantities=GOODPUT,
    fit=Fit("path.buffer", QUEUES, {"streams": "16"}, "the bottleneck's queue is not known"),
    claims=[
        gain('1 stream: "BBR performs like CUBIC under low pressure"', "1"),
        gain("4 streams: the same", "4"),
        gain('16 streams: "BBR gains about 30 % under high CPU pressure"', "16"),
        gain('128 streams: "BBR falls slightly behind CUBIC"', "128"),
    ],
)
paper.figure(
    "retransmissions",
    "Retransmissions of iperf3's connection and on the path",
    "scenario.toml",
    axes=TUNNEL_CC_STREAMS,
    quantities={
        "app_retransmits": metric("app_retransmits", "iperf3's connection, on the loopback"),
        "carrier_retransmits": metric("path_retransmits", "the carriers, across the path"),
    },
)
paper.figure(
    "window",
    "The window limit: one stream over tcp_rmem",
    "scenario.toml",
    settings={"tunnel": "gost-relay-ws"},
    axes={
        "cc": "cc",
        "rmem": Axis(
            "hosts.tcp_rmem",
            ["1536KiB", "3MiB", "6MiB", "12MiB", "24MiB"],
            "choice",
            "the hosts had 6 MiB",
        ),
    },
    quantities={
        **GOODPUT,
        "limit": theory(lambda it: 8 * it.window / it.rtt, "Mbit/s", "window / RTT"),
    },
    claims=[
        claims.equal(
            "with the hosts' 6 MiB the window sets the rate",
            "goodput",
            "limit",
            0.1,
            {"rmem": "6MiB"},
        )
    ],
    x="rmem",
)
paper.figure(
    "uploads",
    "Uploads without a tunnel: four send buffers over RTT (section 4.1)",
    "speedtest.toml",
    axes={
        "cc": "cc",
        "route": {
            "client Tokyo": route("105.61ms"),
            "client Paris": route("137.06ms"),
            "client Amsterdam": route("143.87ms"),
            "client Singapore": route("173.51ms"),
            "target Dallas": route("139.33ms"),
            "target Los Angeles": route("168.58ms"),
            "target Tokyo": route("245.27ms"),
            "target Singapore": route("274.77ms"),
            "target Hongkong": route("277.33ms"),
        },
    },
    quantities={
        **GOODPUT,
        "in_flight": derived(lambda run: run.goodput * run.rtt / 8, "MB", "rate × RTT"),
    },
    fit=Fit(
        "flows.count",
        [1, 2, 3, 4, 5, 6, 8],
        {"cc": "bbr", "route": "client Paris"},
        "one row decides between whole numbers; the other 17 are free",
    ),
    claims=[
        claims.flat(
            "BBR: rate × latency is the same for every node (published 9.5 to 10.2 MB)",
            "in_flight",
            "route",
            0.15,
            {"cc": "bbr"},
        ),
        claims.flat(
            "CUBIC: the same (published 9.7 to 11.4 MB)",
            "in_flight",
            "route",
            0.15,
            {"cc": "cubic"},
        ),
    ],
)
paper.figure(
    "lossy-uploads",
    "Uploads to nodes with packet loss: BBR predicted from CUBIC (section 4.1)",
    "speedtest.toml",
    axes={
        "cc": "cc",
        "route": Axis(
            label="calibrated",
            reason="the random loss at which four CUBIC flows get the published rate, by "
            "bisection over three seeds",
            values={
                "target Montreal": route("115.94ms", loss=0.00019),
                "client Montreal": route("72.75ms", loss=0.000062),
                "client Shanghai": route("164.76ms", loss=0.0024),
                "target Shanghai": route("321.91ms", loss=0.0035),
                "target Nanjing": route("294.67ms", loss=0.0088),
                "client Guangzhou": route("198.18ms", loss=0.035),
                "target Guangzhou": route("325.02ms", loss=0.033),
            },
        ),
    },
    quantities=GOODPUT,
    claims=[
        claims.ratio(
            "random loss explains BBR's gain over CUBIC", "goodput", "cc: bbr / cubic", 0.25
        )
    ],
)
paper.figure(
    "policed-uploads",
    "The same uploads through a policer: CUBIC predicted from BBR (section 4.1)",
    "speedtest.toml",
    axes={
        "cc": "cc",
        "route": Axis(
            label="calibrated",
            reason="the policer's rate at which four BBR flows get the published rate, and "
            "one burst with which CUBIC's rates to Shanghai and Nanjing miss the published "
            "ones least, of 16, 24, 32 and 48 KB; to Montreal, where no rate gives that "
            "much, one above which little changes",
            values={
                "target Montreal": route("115.94ms", policer=policer("1900Mbps")),
                "client Montreal": route("72.75ms", policer=policer("1000Mbps")),
                "client Shanghai": route("164.76ms", policer=policer("469Mbps")),
                "target Shanghai": route("321.91ms", policer=policer("192Mbps")),
                "target Nanjing": route("294.67ms", policer=policer("94.8Mbps")),
                "client Guangzhou": route("198.18ms", policer=policer("30.6Mbps")),
                "target Guangzhou": route("325.02ms", policer=policer("0.59Mbps")),
            },
        ),
    },
    quantities=GOODPUT,
)
