# SPDX-License-Identifier: GPL-2.0-only
"""Draws tables of experiments from the whole space of their keys, small enough to run many."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from tunnelcc import catalog, core, payloads
from tunnelcc.catalog.kcp import MANUAL
from tunnelcc.catalog.packets import PacketEntry
from tunnelcc.catalog.relay import RelayEntry
from tunnelcc.config.shapes import SHAPES, lay_out
from tunnelcc.hosts.costs import REFERENCE
from tunnelcc.hosts.kernels import kernels

Table = dict[str, Any]

_MOST_PACKETS = 6000  # that the path serves in a run
_MOST_FLOWS = 12
_FEC = ("none", "1:0", "1:1", "2:1", "3:2", "20:10", "2:4,20:10", "100:155")
_TRACES = ("rates.csv", "rates.trace", "all.csv")  # which a directory of files has


def make_files(directory: Any) -> None:
    """Write the traces that tables may name."""
    texts = (
        "time_s,rate_Mbps\n0,5\n0.1,0.4\n0.3,0\n0.5,20\n",
        "1\n1\n2\n7\n7\n9\n12\n40\n",
        "time_ms,rtt_ms,buffer_kB,rate_kbps\n0,10,9,500\n40,90,99,1000\n90,0.1,3,0\n150,5,9,2000\n",
    )
    for name, text in zip(_TRACES, texts, strict=True):
        (directory / name).write_text(text)


@cache
def _datagram_tunnels() -> list[str]:
    return [name for name in catalog.names() if not catalog.load(name).HAS_CARRIERS]


class Draw:
    """Values of keys, drawn from ``random``; ``directory``: where the traces are."""

    def __init__(self, source: random.Random, directory: Any) -> None:
        self._draw = source
        self._directory = directory
        self._rtt = self._rate = self._duration = 0.0

    def table(self) -> Table:
        """Return an experiment; not all are valid."""
        draw = self._draw
        self._rtt = self._near(1e-5, 1)
        self._rate = self._near(1e4, min(2e9, _MOST_PACKETS * 12e3 / (4 * self._rtt)))
        most = min(100.0, _MOST_PACKETS * 12e3 / self._rate)
        self._duration = max(0.01, self._near(min(4 * self._rtt, most), most))
        table: Table = {
            "seed": draw.randrange(2**32),
            "duration": _time(self._duration),
            "probe_interval": _time(max(1e-4, self._duration / draw.choice((1, 3, 10, 37)))),
            "start_jitter": _time(draw.choice((0, 0, self._duration / 20))),
            "path": self._path(),
        }
        hosts: Sequence[str] = ("client", "server")
        if self._maybe(0.5):
            table["warmup"] = self._moment()
        if self._maybe(0.15):
            table["probe_congestion"] = True
        if self._maybe(0.3):
            table["network"], hosts = self._network()
        names: list[str] = []
        if self._maybe(0.7):
            table["tunnel"] = self._tunnel(hosts, is_network="network" in table, is_first=True)
        if self._maybe(0.3):
            table["tunnels"] = {
                f"t{i}": self._tunnel(hosts, is_network="network" in table, is_first=False)
                for i in range(draw.choice((1, 2)))
            }
            names = [*table["tunnels"]]
        if self._maybe(0.4):
            table["direction"] = draw.choice(("up", "down"))
        if self._maybe(0.4):
            table["tcp"] = self._tcp()
        if self._maybe(0.4):
            table["hosts"] = self._hosts(deep=True, is_network="network" in table)
        table["flows"] = self._flows(names, hosts, is_network="network" in table)
        if self._maybe(0.3):
            table["cross_traffic"] = [
                self._cross_traffic(hosts, is_network="network" in table)
                for _ in range(draw.choice((1, 1, 3)))
            ]
        if self._maybe(0.3):
            table["pings"] = [
                self._ping(names, hosts, is_network="network" in table)
                for _ in range(draw.choice((1, 1, 2)))
            ]
        return table

    # Values ------------------------------------------------------------------------------------

    def _maybe(self, probability: float) -> bool:
        return self._draw.random() < probability

    def _near(self, least: float, most: float) -> float:
        """Return a number of any magnitude between the two."""
        return math.exp(self._draw.uniform(math.log(least), math.log(max(most, least))))

    def _moment(self) -> str:
        return _time(self._duration * self._draw.choice((0, 0.1, 0.5, self._draw.random())))

    def _some(self, makers: dict[str, Callable[[], Any]], probability: float) -> Table:
        """Return a few of the keys."""
        return {key: make() for key, make in makers.items() if self._maybe(probability)}

    def _cc(self, probability: float = 0.35) -> Any:
        """Return an algorithm; now and then with parameters, often at the ends of ranges."""
        draw = self._draw
        ours, theirs = core.congestion_controls(), core.ns3_congestion_controls()
        name = draw.choice(theirs if self._maybe(0.4) else ours)
        known = core.congestion_parameters(name)
        if not known or not self._maybe(probability):
            return name
        table: Table = {"name": name}
        for item in draw.sample(known, min(len(known), draw.choice((1, 1, 2, 4)))):
            between = draw.uniform(item.minimum, item.maximum)
            if item.minimum > 0:
                between = self._near(item.minimum, item.maximum)
            value = draw.choice((item.minimum, item.maximum, item.default, between))
            is_whole = item.unit in ("rounds", "segments", "samples", "integer", "bool")
            table[item.name] = round(value) if is_whole else value
            if item.unit == "bool":
                table[item.name] = bool(value)
        return table

    def _room(self) -> str:
        in_packets = ("1p", "2p", "20p", "500p")
        has_room = self._rate * self._rtt / 8 > 10 * 1500
        in_bytes = ("1bdp", "0.3bdp", "3bdp", "64kB", "1MB") if has_room else ("3kB", "64kB")
        return self._draw.choice((*in_packets, *in_bytes))

    def _probability(self) -> float:
        return self._draw.choice((0, 0.001, 0.01, 0.1, 0.5, self._draw.random() ** 4))

    def _link_rate(self, least: float = 0.1, most: float = 10) -> str:
        return f"{max(1000.0, self._rate * self._near(least, most)):.0f}bps"

    # The path ----------------------------------------------------------------------------------

    def _direction(self, probability: float) -> Table:
        draw = self._draw
        makers: dict[str, Callable[[], Any]] = {
            "loss": self._probability,
            "queue": self._queue,
            "loss_pattern": lambda: draw.choice(("random", "periodic")),
            "loss_position": lambda: draw.choice(("before", "after")),
            "policer": self._policer,
            "reorder": self._probability,
            "reorder_delay": lambda: _time(self._near(1e-6, max(self._rtt, 2e-6))),
            "jitter": lambda: _time(self._near(1e-6, max(self._rtt, 2e-6))),
            "jitter_distribution": lambda: draw.choice(("uniform", "exponential", "half-normal")),
            "jitter_reorders": lambda: self._maybe(0.5),
        }
        table = {"buffer": self._room(), **self._some(makers, probability)}
        if self._maybe(0.1):
            table["gilbert_elliott"] = {
                "p": draw.choice((0.001, 0.1, 1)), "r": draw.choice((0.01, 0.3, 1)),
                "h": draw.choice((0, 0.5)),
            }  # fmt: skip
            table.pop("loss", None)
        if table.get("queue", "drop-tail") == "drop-tail" and self._maybe(0.1):
            table["ecn_threshold"] = self._room()
        if self._maybe(0.15):
            table["rate_steps"] = [
                [_time(self._duration * (i + draw.random()) / 4), draw.choice(("1kbps", "2kbps"))]
                if self._maybe(0.4)
                else [_time(self._duration * (i + draw.random()) / 4), self._link_rate()]
                for i in range(draw.choice((1, 2, 4)))
            ]
        elif self._maybe(0.08):
            table["trace"] = str(self._directory / draw.choice(_TRACES[:2]))
        if "gilbert_elliott" not in table and self._maybe(0.1):
            table["loss_steps"] = self._steps(lambda: draw.choice(("0%", "5%", "100%")))
        if self._maybe(0.1):
            table["buffer_steps"] = self._steps(self._room)
        return table

    def _steps(self, value: Callable[[], Any]) -> list[list[Any]]:
        draw, count = self._draw, self._draw.choice((1, 2, 4))
        times = [_time(self._duration * (i + draw.random()) / count) for i in range(count)]
        return [[time, value()] for time in times]

    def _path(self) -> Table:
        draw = self._draw
        table = {"rate": f"{self._rate:.0f}bps", "rtt": _time(self._rtt), **self._direction(0.15)}
        makers: dict[str, Callable[[], Any]] = {
            "mtu": lambda: draw.choice((576, 1280, 1500, 9000, 65535)),
            "too_big": lambda: draw.choice(("known", "tell", "silent", "fragment")),
            "fragments": lambda: draw.choice(("pass", "drop")),
            "reassembly_delay": lambda: _time(self._near(1e-6, max(self._rtt, 2e-6))),
            "clamp_mss": lambda: draw.choice(("pmtu", 536, 1360)),
            "framing": lambda: draw.choice(("ip", "tc", "ethernet")),
            "reverse_rate": self._link_rate,
            "reverse_buffer": self._room,
            "reverse_loss": self._probability,
        }
        table |= self._some(makers, 0.2)
        if self._maybe(0.15):
            table["rtt_steps"] = self._steps(lambda: _time(self._near(1e-5, 1)))
            table["handover"] = draw.choice(("overtake", "in-order", "lost"))
        elif self._maybe(0.1) and not {"rate_steps", "buffer_steps"} & set(table):
            table["trace"] = str(self._directory / _TRACES[2])
        if self._maybe(0.1):
            begin, length = self._duration * draw.random(), self._near(1e-3, 1)
            table["outages"] = [[_time(begin), _time(begin + length)], [_time(begin + 2 * length)]]
        if self._maybe(0.15):
            table["reverse"] = self._direction(0.2)
            for key in ("reverse_loss", "reverse_rate", "reverse_buffer"):
                table.pop(key, None)
            if self._maybe(0.7):
                table["reverse"].setdefault("rate", self._link_rate())
        elif "reverse_rate" in table:
            table.setdefault("reverse_buffer", self._room())
        return table

    def _policer(self) -> Table:
        draw = self._draw
        return {
            "rate": self._link_rate(),
            "burst": draw.choice((3000, 3000, 65536, 64)),
            "position": draw.choice(("before", "after")),
        }

    def _queue(self) -> Any:
        draw = self._draw
        name = draw.choice(("drop-tail", "codel", "fq-codel", "pie", "dualpi2", "red", "cake"))
        times = {
            "target": lambda: _time(self._near(1e-5, 1)),
            "interval": lambda: _time(self._near(1e-3, 1)),
        }
        makers: dict[str, dict[str, Callable[[], Any]]] = {
            "drop-tail": {},
            "codel": times,
            "fq-codel": {
                **times,
                "quantum": lambda: draw.choice((64, 1514, 2**20)),
                "queues": lambda: draw.choice((1, 2, 1024)),
            },
            "pie": {
                **times,
                "alpha": lambda: self._near(0.01, 100),
                "beta": lambda: self._near(0.01, 100),
                "burst": lambda: _time(self._near(1e-3, 1)),
            },
            "dualpi2": {
                **times,
                "alpha": lambda: self._near(0.01, 100),
                "beta": lambda: self._near(0.01, 100),
                "step": lambda: _time(self._near(1e-4, 1)),
                "coupling": lambda: self._near(0.5, 10),
                "classic_share": lambda: draw.choice((0.01, 0.1, 1)),
            },
            "red": {
                "min_threshold": lambda: draw.choice(("1p", "5p", "1kB")),
                "max_threshold": lambda: draw.choice(("6p", "50p", "100kB")),
                "max_probability": lambda: draw.choice((0.01, 0.5, 1)),
                "weight": lambda: draw.choice((1e-4, 0.1, 1)),
                "gentle": lambda: self._maybe(0.5),
            },
            "cake": {
                "bandwidth": self._link_rate,
                "rtt": lambda: _time(self._near(1e-3, 1)),
                "overhead": lambda: draw.choice(("docsis", "conservative", "ethernet", 0, 256)),
                "mpu": lambda: draw.choice((0, 64, 256)),
                "cells": lambda: draw.choice(("none", "atm", "ptm")),
                "isolation": lambda: draw.choice(
                    ("flowblind", "srchost", "hosts", "flows", "dual-dsthost", "triple-isolate")
                ),
                "ack_filter": lambda: draw.choice(("normal", "aggressive")),
                "ingress": lambda: self._maybe(0.5),
            },
        }
        table = self._some(makers[name], 0.3)
        if name not in ("drop-tail", "cake") and self._maybe(0.2):
            table["ecn"] = False
        return {"name": name, **table} if table else name

    # The network -------------------------------------------------------------------------------

    def _network(self) -> tuple[Table, list[str]]:
        draw = self._draw
        if self._maybe(0.3):
            count = draw.randrange(2, 5)
            hosts = [f"h{i}" for i in range(count)]
            links = {
                f"l{i}": {"between": [hosts[i - 1], hosts[i]], **self._link(has_rate=True)}
                for i in range(1, count)
            }
            if count > 2 and self._maybe(0.4):
                links["back"] = {"between": [hosts[-1], hosts[0]], **self._link(has_rate=True)}
            table: Table = {"links": links}
        else:
            shape = draw.choice(tuple(SHAPES))
            size = draw.randrange(SHAPES[shape].least, SHAPES[shape].least + 3)
            names = lay_out(shape, size).links
            hosts = list(dict.fromkeys(host for ends in names.values() for host in ends))
            table = {"shape": shape, "size": size}
            if SHAPES[shape].has_access and self._maybe(0.5):
                table["access"] = self._link(has_rate=self._maybe(0.5))
            if self._maybe(0.3):
                table["links"] = {draw.choice(list(names)): self._link(has_rate=self._maybe(0.7))}
        if self._maybe(0.2):
            table["hosts"] = {draw.choice(hosts): self._hosts(deep=False)}
        return table, hosts

    def _link(self, *, has_rate: bool) -> Table:
        table = self._direction(0.1)
        if has_rate:
            table["rate"] = self._link_rate()
        if self._maybe(0.6):
            table["rtt"] = _time(self._rtt * self._near(0.1, 2))
        return table

    def _ends(self, hosts: Sequence[str], *, is_network: bool) -> Table:
        draw = self._draw
        table: Table = {}
        if is_network and self._maybe(0.5):
            table["from"], table["to"] = draw.sample(list(hosts), 2)
        if self._maybe(0.25):
            table["direction"] = draw.choice(("up", "down"))
        return table

    # Tunnels -----------------------------------------------------------------------------------

    def _tunnel(self, hosts: Sequence[str], *, is_network: bool, is_first: bool) -> Any:
        draw = self._draw
        name = draw.choice((*catalog.names(), "none"))
        entry = catalog.load(name) if name != "none" else None
        if entry is None:
            return name
        makers: dict[str, Callable[[], Any]] = {
            "cc": self._cc,
            "nodelay": lambda: self._maybe(0.5),
            "copy_buffer": lambda: draw.choice((1024, 4096, 32768, 2**20)),
            "mtu": lambda: draw.choice((576, 1400, 1500, 9000)),
            "mss": lambda: draw.choice((128, 1200, 1460)),
            "queue": lambda: draw.choice((1, 10, 1000)),
            "carriers": lambda: draw.choice(("all", "user", "flow", 1, 2, 3)),
            "stream_window": lambda: draw.choice((1024, 65536, 2**20)),
            "connection_window": lambda: draw.choice((1024, 65536, 2**20)),
            "fec": lambda: draw.choice(_FEC),
            "fec_timeout": lambda: _time(self._near(1e-5, self._duration)),
            "kcp": self._kcp,
            "under": lambda: draw.choice(_datagram_tunnels()),
            "rate": self._link_rate,
        }
        if isinstance(entry, PacketEntry):
            makers["mode"] = lambda: draw.choice(list(entry.modes))
        known = {key: make for key, make in makers.items() if key in entry.overrides}
        table = self._some(known, 0.3)
        if "kcp" in table:
            table["mode"] = MANUAL
        if isinstance(entry, RelayEntry) and entry.mux is None and self._maybe(0.9):
            for key in ("carriers", "stream_window", "connection_window"):
                table.pop(key, None)
        if isinstance(entry, RelayEntry) and self._maybe(0.3) and (is_first or is_network):
            if self._maybe(0.4) and not is_network:
                table["relays"] = draw.randrange(1, 4)
            else:
                table["chain"] = [
                    self._hop(is_network, hosts) for _ in range(draw.choice((1, 1, 2)))
                ]
        return {"name": name, **table} if table else name

    def _kcp(self) -> Table:
        draw = self._draw
        makers: dict[str, Callable[[], Any]] = {
            "nodelay": lambda: self._maybe(0.5),
            "interval": lambda: _time(draw.choice((0.01, 0.02, 0.1, 5))),
            "resend": lambda: draw.choice((0, 1, 2, 10)),
            "congestion": lambda: self._maybe(0.5),
        }
        sizes = {
            f"{side}_{way}_window": lambda: draw.choice((1, 2, 32, 128, 1024))
            for side in ("client", "server")
            for way in ("send", "receive")
        }
        return {"interval": "10ms", **self._some({**makers, **sizes}, 0.3)}

    def _hop(self, is_network: bool, hosts: Sequence[str]) -> Table:
        if is_network:
            table: Table = {"host": self._draw.choice(list(hosts))}
            return {**table, **self._some({"cc": self._cc}, 0.3)}
        makers: dict[str, Callable[[], Any]] = {
            "rate": self._link_rate,
            "rtt": lambda: _time(self._rtt * self._near(0.1, 2)),
            "loss": self._probability,
            "buffer": self._room,
            "cc": self._cc,
        }
        return self._some(makers, 0.4)

    # Who sends, and where ----------------------------------------------------------------------

    def _tcp(self) -> Table:
        draw = self._draw
        makers: dict[str, Callable[[], Any]] = {
            "mss": lambda: draw.choice((88, 536, 1448, 8948)),
            "timestamps": lambda: self._maybe(0.3),
            "window_scaling": lambda: self._maybe(0.5),
            "initial_window": lambda: draw.choice((1, 2, 10, 100)),
            "min_rto": lambda: _time(draw.choice((1e-6, 0.001, 0.2, 1))),
            "delayed_ack": lambda: _time(draw.choice((1e-6, 0.001, 0.04, 0.5))),
            "ack_every": lambda: draw.choice((1, 2, 8, 64)),
            "pacing_quantum": lambda: _time(draw.choice((0, 1e-5, 0.001, 1))),
            "ecn": lambda: self._maybe(0.7),
            "mtu_probing": lambda: draw.choice((0, 1, 2)),
            "base_mss": lambda: draw.choice((88, 512, 1024, 9000)),
            "nodelay": lambda: self._maybe(0.7),
        }
        return self._some(makers, 0.25)

    def _hosts(self, *, deep: bool, is_network: bool = False) -> Table:
        draw = self._draw
        makers: dict[str, Callable[[], Any]] = {
            "kernel": lambda: draw.choice(list(kernels())),
            "tcp_rmem": lambda: draw.choice((4096, 65536, 2**22, 2**26)),
            "tcp_wmem": lambda: draw.choice((4096, 65536, 2**22, 2**26)),
            "tcp_moderate_rcvbuf": lambda: self._maybe(0.5),
            "tcp_adv_win_scale": lambda: draw.choice((-31, -2, 0, 1, 2, 31)),
            "gro": lambda: _time(draw.choice((1e-6, 2e-5, 0.01))),
            "cores": lambda: draw.choice((1, 2, 8)),
            "speed": lambda: draw.choice((0.01, 0.1, 1, 10)),
            "memory": lambda: draw.choice(("1MiB", "64MiB", "1GiB")),
            "tcp_memory": lambda: draw.choice(("1MiB", "16MiB")),
            "app_cost": lambda: draw.choice((0, 0.5, 20, 1000)),
            "switch_cost": lambda: draw.choice((0, 500, 20000)),
        }
        table = self._some(makers, 0.2)
        if "tcp_adv_win_scale" in table and self._maybe(0.8):
            table["kernel"] = "5.10"  # the only one that does not ignore it
        if deep and self._maybe(0.3):
            table["profile"] = REFERENCE
        if deep and self._maybe(0.3):
            table["one_machine"] = True
        elif deep and not is_network and self._maybe(0.3):
            table[draw.choice(("client", "server"))] = self._hosts(deep=False)
        return table

    def _flows(self, names: Sequence[str], hosts: Sequence[str], *, is_network: bool) -> list[Any]:
        draw = self._draw
        tunnels = (*names, *names, *catalog.names(), "none")
        corpus = draw.choice(list(payloads.CORPORA)) if self._maybe(0.2) else "random"
        flows = []
        for _ in range(draw.choice((1, 1, 2, 3))):
            makers: dict[str, Callable[[], Any]] = {
                "count": lambda: draw.choice((2, 3, _MOST_FLOWS // 3)),
                "start": lambda: _time(self._duration * draw.choice((0.1, 0.3))),
                "stop": lambda: _time(self._duration * draw.uniform(0.5, 1.5)),
                "data_start": lambda: _time(self._duration * draw.uniform(0.2, 0.6)),
                "bytes": lambda: draw.choice((1, 1447, 30000, 10**6)),
                "rate": lambda: self._link_rate(1e-3, 1),
                "preamble": lambda: draw.choice((1, 37, 5000, 2**20)),
                "write_size": lambda: draw.choice((1000, 65536, 2**20)),
                "window": lambda: draw.choice((4096, 65536, 2**24)),
                "user": lambda: draw.choice(("a", "b")),
                "transport": lambda: "quic",
            }
            flow = {"cc": self._cc(), **self._some(makers, 0.15)}
            if self._maybe(0.25):
                flow = self._datagrams()
            if "count" in flow and self._maybe(0.3):
                flow["interarrival"] = _time(self._duration * draw.choice((0.001, 0.1, 1)))
            if "bytes" in flow and self._maybe(0.3):
                flow["bytes_shape"] = draw.choice((1.05, 1.2, 3))
            if is_network and self._maybe(0.15):
                flow[draw.choice(("route", "ack_route"))] = self._route(hosts)
            if self._maybe(0.1) and not is_network:
                flow["rtt"] = _time(self._rtt * self._near(1, 3))
            if self._maybe(0.3 if names else 0.1):
                flow["tunnel"] = draw.choice(tunnels)
            if corpus != "random":
                flow["payload"] = corpus
            flows.append({**flow, **self._ends(hosts, is_network=is_network)})
        return flows

    def _datagrams(self) -> Table:
        """Return a flow over UDP; now and then with a key that its traffic does not have."""
        draw = self._draw
        traffic = draw.choice(("constant", "constant", "call", "video", "game", "dns"))
        makers: dict[str, Callable[[], Any]] = {
            "count": lambda: draw.choice((2, 3)),
            "start": lambda: _time(self._duration * draw.choice((0.1, 0.3))),
            "stop": lambda: _time(self._duration * draw.uniform(0.5, 1.5)),
            "playout": lambda: _time(self._near(1e-3, 1)),
            "user": lambda: draw.choice(("a", "b")),
        }
        flow: Table = {"transport": "udp", "traffic": traffic, **self._some(makers, 0.2)}
        if traffic == "constant":
            flow["rate"] = self._link_rate(1e-3, 2)
            flow |= self._some(
                {
                    "gaps": lambda: draw.choice(("equal", "exponential")),
                    "write_size": lambda: draw.choice((16, 64, 1200, 1472, 20000)),
                },
                0.4,
            )
        elif self._maybe(0.05):
            flow["write_size"] = 64
        if self._maybe(0.03):
            flow["cc"] = self._cc()
        return flow

    def _ping(self, names: Sequence[str], hosts: Sequence[str], *, is_network: bool) -> Table:
        draw = self._draw
        makers: dict[str, Callable[[], Any]] = {
            "size": lambda: draw.choice((0, 56, 1472, 20000)),
            "start": self._moment,
            "stop": lambda: _time(self._duration * draw.uniform(0.5, 1.5)),
            "tunnel": lambda: draw.choice((*names, *catalog.names(), "none")),
        }
        table = {"interval": _time(max(1e-4, self._duration / draw.choice((1, 7, 100))))}
        table |= self._some(makers, 0.3)
        return {**table, **self._ends(hosts, is_network=is_network)}

    def _route(self, hosts: Sequence[str]) -> list[str]:
        return self._draw.sample(list(hosts), self._draw.randrange(2, len(hosts) + 1))

    def _cross_traffic(self, hosts: Sequence[str], *, is_network: bool) -> Table:
        draw = self._draw
        table: Table = {
            "rate": self._link_rate(0.01, 2),
            "packet": draw.choice((28, 200, 1500)),
            "start": self._moment(),
        }
        if self._maybe(0.2):
            table["on"] = table["off"] = _time(max(1e-5, self._duration / 7))
        return {**table, **self._ends(hosts, is_network=is_network)}


def _time(seconds: float) -> str:
    return f"{seconds * 1e9:.0f}ns"
