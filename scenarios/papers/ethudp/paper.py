# SPDX-License-Identifier: GPL-2.0-only
"""EthUDP: transparent Ethernet over UDP, beside VTun and Tinc."""

from tunnelcc.apps.papers import Axis, Paper, claims, derived, metric, theory


def program(name: str, mode: str = "") -> dict:
    """Return a tunnel's program with its mode, if it has several."""
    return {"tunnel.name": name} | ({"tunnel.mode": mode} if mode else {})


def limit(experiment) -> float:
    """Return rate · MSS / bytes of its frame."""
    return experiment.rate * experiment.mss / (experiment.outer + 38 * experiment.outer_packets)


CIPHERS = {
    "direct": {"tunnel": "none"},
    "ethudp": program("ethudp"),
    "ethudp-aes-128-cbc": program("ethudp", "aes-128-cbc"),
    "ethudp-aes-256-cbc": program("ethudp", "aes-256-cbc"),
}
PAYLOADS = Axis("flows.payload", ["digits", "iso", "web", "text"])

paper = Paper(
    title="EthUDP: transparent Ethernet over UDP (基于UDP隧道的EthUDP)",
    source=(
        "Zhang Huanjie, Wu Ling, Chen Lei (张焕杰、武凌、陈蕾), sections on efficiency and "
        "comparison; figures 3, 5 and 6 are images without numbers, so published.csv has the "
        "numbers of the text"
    ),
)
paper.figure(
    "theory",
    "Largest goodput of 128-byte segments on 1 Gbit/s Ethernet",
    "lan.toml",
    axes={"system": CIPHERS, "mss": Axis("tcp.mss", [128])},
    quantities={"limit": theory(limit, "Mbit/s", "rate · MSS / bytes of its frame")},
)
paper.figure(
    "3",
    "Goodput over MSS, tunnel plain and with AES-CBC",
    "lan.toml",
    axes={
        "system": CIPHERS,
        "mss": Axis(
            "tcp.mss",
            [128, 256, 512, 1024, 1400],
            "inferred",
            "128, 256, 512 and 1024 are stated; 1400 stands for others that are not named",
        ),
    },
    quantities={
        "goodput": metric("goodput"),
        "limit": theory(limit, "Mbit/s", plot=False),
        "share": derived(lambda run: run.goodput / run.limit, "1", "goodput / limit", plot=False),
    },
    claims=[
        claims.order(
            "the tunnel costs goodput at small MSS",
            "goodput",
            "system: direct > ethudp",
            {"mss": "128"},
        ),
        claims.order(
            "encryption costs more",
            "goodput",
            "system: ethudp > ethudp-aes-256-cbc",
            {"mss": "256"},
        ),
    ],
    x="mss",
)
paper.figure(
    "5",
    "Throughput of EthUDP, VTun and Tinc, BBR at 10 ms",
    "wan.toml",
    axes={
        "payload": PAYLOADS,
        "system": {
            "ethudp": program("ethudp"),
            "vtun": program("vtun-udp", "ether"),
            "tinc": program("tinc", "none"),
            "ethudp-lz4": program("ethudp", "lz4"),
            "vtun-lzo": program("vtun-udp", "ether-lzo-999"),
            "tinc-lzo": program("tinc", "lzo-999"),
            "ethudp-lz4-aes": program("ethudp", "lz4-aes-256-cbc"),
            "tinc-lzo-aes": program("tinc", "lzo-999-aes-256-cbc"),
        },
    },
    quantities={"throughput": metric("goodput", since="1s")},
    claims=[
        claims.order(
            "EthUDP is the fastest with compression and encryption",
            "throughput",
            "system: ethudp-lz4-aes > tinc-lzo-aes",
        ),
        claims.order(
            "without compression, EthUDP is at least as fast as VTun",
            "throughput",
            "system: ethudp > vtun",
        ),
        claims.order("and Tinc is the slowest", "throughput", "system: vtun > tinc"),
    ],
)
paper.figure(
    "6",
    "Ethernet bytes into the tunnel over Ethernet bytes out of it",
    "wan.toml",
    axes={
        "payload": PAYLOADS,
        "system": {
            "ethudp": program("ethudp"),
            "ethudp-lz4": program("ethudp", "lz4"),
            "vtun-lzo": program("vtun-udp", "ether-lzo-999"),
            "tinc-lzo": program("tinc", "lzo-999"),
        },
    },
    quantities={"efficiency": metric("interface_efficiency")},
    claims=[
        claims.order(
            "LZO's best level compresses prose better than LZ4",
            "efficiency",
            "system: vtun-lzo > ethudp-lz4",
            {"payload": "text"},
        )
    ],
)
