# SPDX-License-Identifier: GPL-2.0-only
"""Tunnels as data: one TOML file each, with a label and a source for every number.

``tunnels/*.toml`` are the built-in tunnels. A user's own file may be given by its path. A new kind
of tunnel needs its own module here and its class in ``entry_class``, its specification in
``tunnelcc.specification.tunnels`` and its overview in ``tunnelcc.report.overview``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tunnelcc.catalog.cited import LABELS, Cited, settings
from tunnelcc.catalog.entry import Entry
from tunnelcc.errors import MISSING, ConfigError, Problem, unknown_name
from tunnelcc.schema.library import Library
from tunnelcc.schema.toml import read_toml

__all__ = [
    "DIRECTORY",
    "KINDS",
    "LABELS",
    "PROGRAMS",
    "Cited",
    "Entry",
    "commands",
    "entry_class",
    "load",
    "names",
    "path_of",
    "settings",
    "suggestion",
]

DIRECTORY = Path(__file__).with_name("tunnels")
PROGRAMS = Path(__file__).with_name("programs.toml")

KINDS = ("relay", "datagram", "stream")


def entry_class(kind: str) -> type[Entry]:
    """Return the class of the entries of a kind.

    It is imported when it is needed: a run without tunnels does not need the many classes of
    tunnels and layers.
    """
    if kind == "relay":
        from tunnelcc.catalog.relay import RelayEntry

        return RelayEntry
    if kind == "datagram":
        from tunnelcc.catalog.datagram import DatagramEntry

        return DatagramEntry
    from tunnelcc.catalog.stream import StreamEntry

    return StreamEntry


def _parse(table: dict[str, Any]) -> Entry:
    kind = table.get("kind", MISSING)
    if not isinstance(kind, str) or kind not in KINDS:
        if kind is MISSING:
            raise ConfigError(Problem("kind", kind, "one of " + ", ".join(KINDS)))
        raise unknown_name("kind", kind, KINDS)
    entry: Entry = entry_class(kind).parse(table)
    return entry


#: What people call tunnels → entries that are such a tunnel.
_CALLED = {
    "esp": ("ipsec-esp",),
    "fec": ("udpspeeder", "tinyfecvpn", "sdwan-fec"),
    "gost": ("gost-relay-wss", "gost-http2"),
    "h2": ("gost-http2",),
    "http": ("gost-http2",),
    "http2": ("gost-http2",),
    "https": ("gost-http2", "gost-relay-wss"),
    "hysteria": ("hysteria2",),
    "ipsec": ("ipsec-esp",),
    "kcp": ("kcptun", "gost-kcp"),
    "openvpn": ("openvpn-udp", "openvpn-tcp"),
    "proxy": ("gost-socks5", "gost-http2", "ssh-forward"),
    "quic": ("gost-quic", "tuic", "hysteria2"),
    "relay": ("gost-relay-ws", "gost-relay-wss"),
    "sdwan": ("sdwan-fec", "sdwan-tcp-opt"),
    "smux": ("gost-relay-mws", "gost-relay-mwss"),
    "socks": ("gost-socks5",),
    "socks5": ("gost-socks5",),
    "ssh": ("ssh-forward", "ssh-tun"),
    "tls": ("gost-relay-wss", "gost-http2"),
    "vpn": ("wireguard", "openvpn-udp", "ipsec-esp"),
    "websocket": ("gost-relay-ws", "gost-relay-wss"),
    "wg": ("wireguard",),
    "ws": ("gost-relay-ws",),
    "wss": ("gost-relay-wss",),
}

_LIBRARY = Library(DIRECTORY, _parse, "none", kinds=_CALLED)
names = _LIBRARY.names
path_of = _LIBRARY.path_of
load = _LIBRARY.load
suggestion = _LIBRARY.suggestion


def commands(tunnel: str) -> list[str]:
    """Return lines that start the real program of a tunnel on both ends; none: not known."""
    found = read_toml(PROGRAMS).get(tunnel, {})
    if "text" in found:
        return [str(found["text"]).strip()]
    return [line for end, text in found.items() for line in (f"# {end}", str(text).strip())]


def script(tunnel: str) -> str:
    """Return what a shell runs at each end of a tunnel of packets ("both"); "": not known."""
    return str(read_toml(PROGRAMS).get(tunnel, {}).get("both", "")).strip()
