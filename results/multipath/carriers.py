# SPDX-License-Identifier: GPL-2.0-only
"""Simulate carriers of MPTCP and Multipath QUIC, and bonded tunnels whose link slows down.

``.venv/bin/python results/multipath/carriers.py`` writes ``carriers.csv`` beside this file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tunnelcc as tc
from tunnelcc.metrics import METRICS, drift
from tunnelcc.plots import gallery

TABLE = Path(__file__).parent / "carriers.csv"
SEEDS = (1, 2)
PATHS = {"paths": ["fast", "second"]}
#: Second path beside 20 Mbit/s, 20 ms: its rate, RTT and loss.
SECONDS = {
    "10 Mbit/s, 60 ms": ("10Mbps", "60ms", "0%"), "5 Mbit/s, 50 ms": ("5Mbps", "50ms", "0%"),
    "5 Mbit/s, 100 ms": ("5Mbps", "100ms", "0%"), "1 Mbit/s, 60 ms": ("1Mbps", "60ms", "0%"),
    "5 Mbit/s, 60 ms, 1 %": ("5Mbps", "60ms", "1%"),
}  # fmt: skip
RELAY, VPN = {"name": "shadowsocks"}, {"name": "openvpn-2.6-tcp"}
QUIC_RELAY, QUIC_VPN = {"name": "gost-quic"}, {"name": "connect-ip"}
IN_TURN = {**PATHS, "scheduler": "round-robin"}
#: Line → the tunnel, and keys of the flow. "alone" is over the fast path.
CARRIERS: dict[str, tuple[dict[str, Any] | None, dict[str, Any]]] = {
    "MPTCP": (None, {"mptcp": PATHS}),
    "relay, alone": (RELAY, {}),
    "relay": ({**RELAY, "mptcp": PATHS}, {}),
    "relay, BBR": ({**RELAY, "cc": "bbr", "mptcp": PATHS}, {}),
    "VPN over TCP, alone": (VPN, {}),
    "VPN over TCP": ({**VPN, "mptcp": PATHS}, {}),
    "QUIC relay, alone": (QUIC_RELAY, {}),
    "QUIC relay": ({**QUIC_RELAY, "mpquic": PATHS}, {}),
    "QUIC relay, BBR": ({**QUIC_RELAY, "cc": "bbr", "mpquic": PATHS}, {}),
    "QUIC VPN, alone": (QUIC_VPN, {}),
    "QUIC VPN": ({**QUIC_VPN, "mpquic": PATHS}, {}),
    "QUIC VPN, in turn": ({**QUIC_VPN, "mpquic": IN_TURN}, {}),
}
_BOTH = {"routes": [["client", "y", "server"]]}
_BUFFER = {"reorder_size": 256, "reorder_time": "60ms"}
_BOND = {"name": "vxlan", "mtu": 1450, "between": ["client", "server"]}
#: Of two equal links, one slows down from 20 to 5 Mbit/s in the warm-up.
SLOWS: dict[str, tuple[dict[str, Any] | None, dict[str, Any]]] = {
    "MPTCP": (None, {"mptcp": PATHS}),
    "weights": ({**_BOND, "uplinks": {**_BOTH, "use": "weights"}}, {}),
    "measured": ({**_BOND, "uplinks": {**_BOTH, "use": "measured"}}, {}),
    "weights, buffer": ({**_BOND, "uplinks": {**_BOTH, "use": "weights", **_BUFFER}}, {}),
    "measured, buffer": ({**_BOND, "uplinks": {**_BOTH, "use": "measured", **_BUFFER}}, {}),
    "QUIC relay": ({**QUIC_RELAY, "mpquic": PATHS}, {}),
    "QUIC VPN": ({**QUIC_VPN, "mpquic": PATHS}, {}),
    "QUIC VPN, in turn": ({**QUIC_VPN, "mpquic": IN_TURN}, {}),
}


EQUAL = ("20Mbps", "20ms", "0%")
FALLS = [["5s", "5Mbps"]]

Row = dict[str, Any]


def experiment(
    line: tuple[dict[str, Any] | None, dict[str, Any]],
    seed: int,
    second: tuple[str, str, str],
    **fast: Any,
) -> tc.Experiment:
    """Return an upload of 100 s, after 30 s that are left out."""
    far = {"rate": "1Gbps", "rtt": "1ms", "buffer": "2000p"}
    rate, rtt, loss = second
    links = {
        "fast": {"between": ["client", "x"], "rate": "20Mbps", "rtt": "20ms", **fast},
        "second": {"between": ["client", "y"], "rate": rate, "rtt": rtt, "loss": loss},
        "fast-far": {"between": ["x", "server"], **far},
        "second-far": {"between": ["y", "server"], **far},
    }
    tunnel, keys = line
    flow = {"from": "client", "to": "server", "cc": "cubic", **keys}
    if "mptcp" not in keys:
        flow["route"] = ["client", "x", "server"]
    table = {"network": {"links": links}, "flows": [flow], "hosts": {"tcp_rmem": "32MiB"}}
    table |= {} if tunnel is None else {"tunnel": tunnel}
    return tc.Experiment.parse({**table, "seed": seed, "duration": "130s", "warmup": "30s"})


def measured(given: tuple[dict[str, Any] | None, dict[str, Any]], *path: Any, **fast: Any) -> Row:
    """Return the mean goodput of the seeds, and how much it still changes."""
    runs = [tc.run(experiment(given, seed, *path, **fast)) for seed in SEEDS]
    goodputs = [it.goodput for it in runs]
    change = drift.at_point([METRICS["flow_drift"](it) for it in runs], goodputs)
    mean = sum(goodputs) / len(goodputs) / 1e6
    return {"goodput_mbps": round(mean, 3), "drift": f"{change:.2g}"}


def main() -> None:
    """Simulate all conditions, and write the table."""
    rows = []
    for name, second in SECONDS.items():
        for line, given in CARRIERS.items():
            rows.append(
                {"case": "carriers", "second": name, "line": line, **measured(given, second)}
            )
    for line, given in SLOWS.items():
        for name, steps in (("20 Mbit/s", {}), ("falls to 5 Mbit/s", {"rate_steps": FALLS})):
            rows.append(
                {"case": "slows", "second": name, "line": line, **measured(given, EQUAL, **steps)}
            )
    for row in rows:
        print(row)
    gallery.write_table(rows, TABLE)


if __name__ == "__main__":
    main()
