# SPDX-License-Identifier: GPL-2.0-only
"""Which packets of a run to write to a file, and how the tunnels' packets look.

A capture changes nothing in a run, so it is no key of an experiment.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tunnelcc import core
from tunnelcc._version import __version__
from tunnelcc.errors import ConfigError, Problem, nearest
from tunnelcc.network.resolved import ResolvedNetwork, ResolvedTunnel
from tunnelcc.output.files import make_directory
from tunnelcc.schema import kinds
from tunnelcc.schema.units import UnitError
from tunnelcc.simulation.spec_parts import Spec, spec_text

_LARGEST_PACKET = 65536  # IPv6 on a loopback
_LIMIT = kinds.size(2**10, 2**50)
_SNAP = kinds.whole(1, _LARGEST_PACKET)
_SNAP_EXPECTED = f"headers, full, or a whole number of bytes from 1 to {_LARGEST_PACKET}"

#: Layer → the port that its program listens at by default, or that IANA gave to its protocol.
_PORTS = {
    "wireguard": 51820,
    "openvpn": 1194,
    "vxlan": 4789,
    "esp": 4500,
    "tinc": 655,
    "tinc-tcp": 655,
    "ssh": 22,
    "tls": 443,
    "websocket": 80,
}
_PROTOCOL_PORTS = {"kcp": 29900, "rudp": 150, "quic": 443}  # kcptun's, FinalSpeed's, HTTP/3's
_OTHER_PORT = 8421  # GOST's relay protocol


@dataclass
class Capture:
    """A capture of packets, as an option of run().

    ``file``: a pcapng file; what it held is lost. None: no packets. ``at``: names of links and
    hosts; default: the bottleneck. At a link, packets are seen as they come to its queues, with
    what became of them there. At a host, they are seen as they leave and as they arrive, also on
    its loopback and at its tunnels' devices. ``snap``: most bytes of a packet, ``"headers"`` or
    ``"full"``. ``limit``: most bytes of a file, as a number or such as ``"1GiB"``. ``qlog``: a
    directory for logs of TCP and QUIC connections, two files each.

    After the run, ``packets`` and ``bytes`` tell what the file has, and ``note`` why it, or a log,
    ends before the run does ("": it does not).

        >>> capture = tc.Capture("run.pcapng")
        >>> path = tc.Path(rate="10Mbps", rtt="20ms")
        >>> _ = tc.run(tc.Experiment(path=path, duration="1s"), capture=capture)
        >>> capture.packets > 0
        True
    """

    file: Path | str | None = None
    at: Sequence[str] = ()
    snap: int | str = "headers"
    limit: int | str = "1GiB"
    qlog: Path | str | None = None
    packets: int = field(default=0, init=False)
    bytes: int = field(default=0, init=False)
    note: str = field(default="", init=False)

    def spec(self, network: ResolvedNetwork) -> Spec:
        """Return the specification. Raises ConfigError for a place that does not exist."""
        return {
            "file": os.devnull if self.file is None else str(self.file),
            "qlog": "" if self.qlog is None else str(self.qlog),
            "program": f"tunnelcc {__version__}",
            "snap": self._snap_bytes(),
            "ip": network.experiment.path.ip,
            "limit": self._parsed("--capture-limit", self.limit, _LIMIT),
            "places": [] if self.file is None else list(self._places(network)),
            "tunnels": [tunnel_packets(tunnel) for tunnel in network.tunnels],
        }

    def text(self) -> str:
        """Return what was written, as one line."""
        written = [] if self.file is None else [f"{self.file}: {self.packets} packets"]
        written += [] if self.qlog is None else [f"logs of connections in {self.qlog}"]
        return "; ".join([*written, *filter(None, [self.note])])

    @contextlib.contextmanager
    def opened(self, network: ResolvedNetwork) -> Iterator[Any]:
        """Give the open file, for the compiled module. Raises ConfigError."""
        spec = spec_text(self.spec(network))
        if self.qlog is not None:
            make_directory("--qlog", Path(self.qlog))
        try:
            file = core.load().Capture(spec)
        except OSError as error:
            expected = "a file that can be written"
            problem = Problem("--capture", str(self.file), expected, error.strerror or "")
            raise ConfigError(problem) from None
        try:
            yield file
        finally:
            self.packets, self.bytes = file.packets, file.bytes
            why = file.error or ("its limit was reached" if file.is_full else "")
            told = {"the capture": why, "a log": file.log_error}
            self.note = "; ".join(f"{what} ends early: {it}" for what, it in told.items() if it)

    def _snap_bytes(self) -> int:
        named = {"headers": 0, "full": _LARGEST_PACKET}
        if self.snap in named:
            return named[str(self.snap)]
        text = self.snap
        value = int(text) if isinstance(text, str) and text.isdecimal() else text
        return self._parsed("--snap", value, _SNAP, _SNAP_EXPECTED)

    @staticmethod
    def _parsed(option: str, value: object, kind: kinds.Kind, expected: str = "") -> int:
        try:
            return int(kind.parse(value))
        except UnitError as error:
            raise ConfigError(
                Problem(option, str(value), expected or error.expected, error.hint)
            ) from None

    def _places(self, network: ResolvedNetwork) -> Iterator[Spec]:
        hosts, links = list(network.topology.hosts), list(network.topology.links)
        for name in dict.fromkeys(self.at) or [network.bottleneck.link]:
            if name in links:
                yield {"name": name, "link": links.index(name)}
            elif name in hosts:
                yield {"name": name, "host": hosts.index(name)}
            else:
                names = [*links, *hosts]
                expected = "a link or a host: " + ", ".join(names[:12])
                raise ConfigError(Problem("--at", name, expected, nearest(name, names)))


def tunnel_packets(placed: ResolvedTunnel) -> Spec:
    """How the packets of a tunnel look."""
    from tunnelcc.catalog.datagram import DatagramEntry
    from tunnelcc.catalog.relay import RelayEntry
    from tunnelcc.catalog.stream import StreamEntry

    entry, tunnel = placed.keys.entry, placed.keys
    inside = {"name": placed.name, "ip": tunnel.ip or placed.layer.versions.outer}
    if isinstance(entry, DatagramEntry):
        return {**inside, **_datagrams(entry, tunnel.mode)}
    if isinstance(entry, RelayEntry):
        if entry.carrier.protocol in _PROTOCOL_PORTS:
            return {**inside, "port": _PROTOCOL_PORTS[entry.carrier.protocol]}
        names = [layer.layer for layer in entry.to_server]
        has_smux = entry.mux is not None and entry.mux.protocol.startswith("smux")
        return {**inside, "port": _port(names), "has_smux": has_smux}
    assert isinstance(entry, StreamEntry)
    layers = entry.layers(tunnel.mode)
    names = [it.layer for it in layers] + [it.layer for it in entry.to_server]
    listed = [{"layer": it.layer, "header": _header(it), "is_plain": it.is_plain} for it in layers]
    return {**inside, "port": _port(names), "layers": listed}


def _datagrams(entry: Any, mode: str | None) -> Spec:
    has_fec = entry.fec(mode) is not None
    layers = entry.around_fec(mode)[1] if has_fec else entry.layers(mode)
    names = [layer.layer for layer in layers]
    return {
        "port": _port(names),
        "has_udp": "udp" in names,
        "splits": "ethudp-fragments" in names,
        "layers": [
            {"layer": it.layer, "header": _header(it), "is_plain": it.is_plain and not has_fec}
            for it in layers
            if it.layer not in ("udp", "ip")
        ],
    }


def _header(layer: Any) -> int:
    """The bytes of a layer before the packet."""
    if layer.layer == "wireguard":
        return 16
    return layer.frame().header if hasattr(layer, "frame") else 0


def _port(layers: Sequence[str]) -> int:
    """The port of the outermost of ``layers`` that has one."""
    return next((_PORTS[name] for name in reversed(layers) if name in _PORTS), _OTHER_PORT)
