# SPDX-License-Identifier: GPL-2.0-only
"""Random experiments of all kinds, small enough that each takes a fraction of a second."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from typing import Any

TUNNELS = (
    "connect-ip", "ethudp", "finalspeed", "gost-http2", "gost-kcp", "gost-kcp-unset", "gost-quic",
    "gost-relay-mws", "gost-relay-mwss", "gost-relay-ws", "gost-relay-wss", "gost-socks5",
    "gost-tun-wss", "hysteria2", "ipsec-esp", "kcptun", "kcptun-2017", "kcptun-2021", "mlvpn",
    "openvpn-2.6-tcp", "openvpn-tcp", "openvpn-udp", "sdwan-fec", "sdwan-tcp-opt", "shadowsocks",
    "ssh-forward", "ssh-tun", "stunnel", "tinc", "tinc-tcp", "tinyfecvpn", "tuic", "udpspeeder",
    "vtun", "vtun-udp", "vxlan", "wireguard",
)  # fmt: skip
CONGESTION = (
    *("cubic",) * 6, *("bbr",) * 4, "bbr3", "reno", "vegas", "westwood", "brutal", "pcc", "vivace",
)  # fmt: skip
_STREAM_WINDOWS = (
    "gost-http2", "gost-quic", "gost-relay-mws", "gost-relay-mwss", "hysteria2", "kcptun",
    "ssh-forward", "tuic",
)  # fmt: skip
_CONNECTION_WINDOWS = ("gost-http2", "gost-quic", "hysteria2", "tuic")
_KCP = ("gost-kcp", "kcptun", "kcptun-2017", "kcptun-2021")
_BUFFERS = ("gost-relay-ws", "gost-relay-wss", "openvpn-tcp", "openvpn-2.6-tcp", "vtun")
_QUEUES = ("wireguard", "openvpn-udp", "tinc", "vtun-udp", "openvpn-tcp")
_UDP = (
    "connect-ip", "connect-udp", "ethudp", "gost-tun-wss", "hysteria2-udp", "openvpn-tcp",
    "openvpn-udp", "tinyfecvpn", "vtun", "wireguard",
)  # fmt: skip
_SOCKETS = ("openvpn-udp", "tinc", "udpspeeder")


def experiment(seed: int) -> dict[str, Any]:
    """Return the tables of a random experiment, as a scenario file has them."""
    draw = random.Random(f"experiment {seed}")
    kind = draw.choices(
        ("path", "flows", "chain", "network", "gateways", "short", "udp", "rate"),
        (42, 10, 6, 12, 6, 10, 9, 5),
    )[0]
    rate, rtt = _log(draw, 2, 300), _log(draw, 5, 250)
    table: dict[str, Any] = {"seed": draw.randrange(1, 10**6)}
    seconds = min(max(3.0, 1.5 + 30 * rtt / 1000), 9.0)
    if kind in ("path", "flows", "network") and draw.random() < 0.12:
        seconds *= 5
    table["duration"] = f"{seconds:.1f}s"
    if draw.random() < 0.6:
        table["warmup"] = f"{draw.uniform(0.1, 0.4) * seconds:.2f}s"
    table["path"] = path = _path(draw, rate, rtt)
    if draw.random() < 0.35:
        table["direction"] = "down"
    table["flows"] = [_flow(draw, rate)]
    if draw.random() < 0.68 or kind in ("chain", "gateways"):
        table["tunnel"] = _tunnel(draw, rate, relays=kind == "chain")
    if "tunnel" not in table and draw.random() < 0.15:
        table["flows"][0] = {"cc": "cubic", "transport": "quic"}
    table["hosts"] = _hosts(draw, rate, rtt)
    if kind == "flows":
        if draw.random() < 0.5:
            table["flows"][0]["count"] = draw.choice([2, 4, 8, 16])
        else:
            table["flows"].append(_flow(draw, rate))
        if draw.random() < 0.3:
            table["cross_traffic"] = [_cross(draw, rate)]
    elif kind == "chain":
        hop = {"rtt": _ms(_log(draw, 5, 100))}
        if draw.random() < 0.6:
            hop["rate"] = _mbps(rate * draw.choice([0.3, 0.6, 1, 2, 5]))
        if draw.random() < 0.4:
            hop["loss"] = _percent(_log(draw, 0.01, 2))
        if path.get("buffer", "").endswith("bdp"):
            hop["buffer"] = "100kB"
        if table["tunnel"]["name"] not in (*_KCP, "gost-kcp-unset", "finalspeed"):
            table["tunnel"]["chain"] = [hop]
    elif kind in ("network", "gateways"):
        _network(draw, table, rate, rtt, kind == "gateways")
    elif kind == "short":
        size = _log(draw, 20e3, 3e6)
        table["flows"] = [{**table["flows"][0], "bytes": f"{round(size)}B"}]
        if draw.random() < 0.6:
            table["flows"][0] |= {
                "count": draw.choice([3, 8, 15]),
                "interarrival": _ms(1000 * seconds / 20),
            }
        table.pop("warmup", None)
    elif kind == "udp":
        udp = draw.choice(["constant", "call", "constant"])
        names = {"call": "call"}
        flow: dict[str, Any] = {"transport": "udp", "traffic": names.get(udp, udp)}
        if udp == "constant":
            flow["rate"] = _mbps(rate * draw.choice([0.1, 0.5, 0.9, 1.2, 2]))
        table["flows"] = [flow] + ([_flow(draw, rate)] if draw.random() < 0.6 else [])
        if table.get("tunnel", {}).get("name") not in (None, *_UDP):
            table["tunnel"] = {"name": draw.choice(_UDP)}
    elif kind == "rate":
        table["flows"][0] |= {
            "rate": _mbps(rate * draw.choice([0.2, 0.6, 1.2])), "write_size": "16KiB",
        }  # fmt: skip
    if path.get("mtu", 1500) < 1500 and draw.random() < 0.5:
        path["too_big"] = draw.choice(["tell", "silent"])
    return table


def _path(draw: random.Random, rate: float, rtt: float) -> dict[str, Any]:
    path: dict[str, Any] = {"rate": _mbps(rate), "rtt": _ms(rtt)}
    chance = draw.random
    if chance() < 0.45:
        path["loss"] = _percent(_log(draw, 0.005, 3))
    if chance() < 0.6:
        path["buffer"] = draw.choice(
            [f"{max(_log(draw, 0.05, 4), 3e4 / (rate * rtt * 125)):.2f}bdp",
             f"{round(_log(draw, 4, 400))}p", f"{round(_log(draw, 8e3, 2e6))}B"]
        )  # fmt: skip
    if chance() < 0.15:
        path["queue"] = draw.choice(["codel", "fq-codel", "pie", "red", "cake"])
    if chance() < 0.08:
        path["policer"] = {
            "rate": _mbps(rate * draw.choice([0.1, 0.3, 0.6, 1.2])),
            "burst": f"{round(_log(draw, 2e4, 5e5))}B",
        }  # fmt: skip
    if chance() < 0.12:
        path["reverse_rate"] = _mbps(max(rate * draw.choice([0.005, 0.02, 0.1, 0.5]), 0.05))
    if chance() < 0.06:
        path["reverse_loss"] = _percent(_log(draw, 0.1, 5))
    if chance() < 0.05:
        path["jitter"] = _ms(_log(draw, 0.5, 10))
    if chance() < 0.05:
        path["mtu"] = draw.choice([1000, 1280, 1400])
    return path


def _flow(draw: random.Random, rate: float) -> dict[str, Any]:
    flow: dict[str, Any] = {"cc": draw.choice(CONGESTION)}
    if flow["cc"] == "brutal":
        flow["cc"] = {"name": "brutal", "rate": _mbps(rate * draw.choice([0.3, 0.8, 1, 1.3, 4]))}
    if draw.random() < 0.08:
        flow["window"] = f"{round(_log(draw, 3e4, 4e6))}B"
    return flow


def _tunnel(draw: random.Random, rate: float, relays: bool) -> dict[str, Any]:
    names = [it for it in TUNNELS if not relays or it in (*_STREAM_WINDOWS, *_BUFFERS[:2])]
    name = draw.choice([it for it in names if not relays or it != "kcptun"])
    tunnel: dict[str, Any] = {"name": name}
    if name == "finalspeed" or (name == "hysteria2" and draw.random() < 0.6):
        tunnel["rate"] = _mbps(min(rate * draw.choice([0.3, 0.8, 1, 1.5, 5]), 200))
    if name in _STREAM_WINDOWS and draw.random() < 0.4:
        tunnel["stream_window"] = f"{round(_log(draw, 2**15, 2**22))}B"
    if name in _CONNECTION_WINDOWS and draw.random() < 0.3:
        tunnel["connection_window"] = f"{round(_log(draw, 2**16, 2**23))}B"
    if name in _KCP and draw.random() < 0.4:
        size = round(_log(draw, 32, 1024))
        other = size if draw.random() < 0.5 else round(_log(draw, 32, 1024))
        tunnel["kcp"] = {
            "client_send_window": size, "server_receive_window": other,
            "server_send_window": other, "client_receive_window": size,
        }  # fmt: skip
    if name in _BUFFERS and draw.random() < 0.4:
        tunnel[draw.choice(["send_buffer", "receive_buffer"])] = f"{round(_log(draw, 3e4, 2e6))}B"
    if name in _QUEUES and draw.random() < 0.3:
        tunnel["queue"] = round(_log(draw, 4, 500))
    if name in _SOCKETS and draw.random() < 0.2:
        tunnel["receive_buffer"] = f"{round(_log(draw, 8e3, 4e5))}B"
    return tunnel


def _hosts(draw: random.Random, rate: float, rtt: float) -> dict[str, Any]:
    hosts: dict[str, Any] = {}
    bdp = rate * 1e6 * rtt / 1e3 / 8
    if draw.random() < 0.15:
        hosts[draw.choice(["tcp_wmem", "tcp_rmem"])] = (
            f"{max(round(bdp * _log(draw, 0.3, 6)), 16384)}B"
        )
    if draw.random() < 0.12:
        speed = float(f"{_log(draw, 0.01, 0.5):.3g}")
        if draw.random() < 0.5:
            hosts["speed"] = speed
        else:
            hosts[draw.choice(["client", "server"])] = {"speed": speed}
    if draw.random() < 0.04:
        hosts["tcp_memory"] = f"{max(round(bdp * _log(draw, 0.5, 6)), 2**20)}B"
    return hosts


def _cross(draw: random.Random, rate: float) -> dict[str, Any]:
    cross: dict[str, Any] = {"rate": _mbps(rate * draw.choice([0.2, 0.5, 0.8]))}
    if draw.random() < 0.5:
        cross |= {"on": "300ms", "off": "300ms"}
    return cross


def _network(
    draw: random.Random, table: dict[str, Any], rate: float, rtt: float, gateways: bool
) -> None:
    path = table["path"]
    if not gateways and draw.random() < 0.35:
        table["network"] = {
            "shape": draw.choice(["dumbbell", "parking-lot", "line"]), "size": draw.choice([2, 3]),
        }  # fmt: skip
        if table["network"]["shape"] == "dumbbell":
            table["flows"][0]["count"] = 2
        return
    hosts = ["client", "near", "far", "server"]
    links: dict[str, Any] = {}
    for number, ends in enumerate(pairwise(hosts)):
        link: dict[str, Any] = {"between": list(ends)}
        if number == 1:
            link |= path
        else:
            link["rate"] = _mbps(rate * draw.choice([0.5, 1, 1, 2, 5]))
            link["rtt"] = _ms(_log(draw, 0.5, 20))
            if draw.random() < 0.3:
                link["loss"] = _percent(_log(draw, 0.01, 1))
            if draw.random() < 0.3:
                link["buffer"] = f"{round(_log(draw, 4, 200))}p"
        links["ABC"[number]] = link
    table["path"] = {"rtt": "1ms"}
    table["network"] = {"links": links}
    hosts_keys = {}
    for side in ("client", "server"):
        own = table["hosts"].pop(side, None)
        if own is not None:
            hosts_keys[side] = own
    if hosts_keys:
        table["network"]["hosts"] = hosts_keys
    for flow in table["flows"]:
        flow |= {"from": "client", "to": "server"}
    if gateways:
        table["tunnel"]["between"] = ["near", "far"]


def _log(draw: random.Random, least: float, most: float) -> float:
    return math.exp(draw.uniform(math.log(least), math.log(most)))


def _mbps(rate: float) -> str:
    return f"{rate:.3g}Mbps" if rate >= 0.1 else f"{1000 * rate:.3g}kbps"


def _ms(value: float) -> str:
    return f"{value:.3g}ms"


def _percent(value: float) -> str:
    return f"{value:.3g}%"
