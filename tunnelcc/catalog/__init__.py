# SPDX-License-Identifier: GPL-2.0-only
"""Tunnels as data: one TOML file each, with a label and a source for every number.

``tunnels/*.toml`` are the built-in tunnels. A user's own file may be given by its path, and a
program by the name that people know (``named.toml``). A new kind
of tunnel needs its own module here and its class in ``entry_class``, its specification in
``tunnelcc.specification.tunnels`` and its overview in ``tunnelcc.report.overview``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunnelcc.catalog.cited import LABELS, Cited, settings
from tunnelcc.catalog.entry import Entry
from tunnelcc.errors import MISSING, ConfigError, Problem, unknown_name
from tunnelcc.schema.library import Library
from tunnelcc.schema.toml import read_toml

if TYPE_CHECKING:
    from tunnelcc.catalog.named import Program

__all__ = [
    "DIRECTORY",
    "KINDS",
    "LABELS",
    "PROGRAMS",
    "Cited",
    "Entry",
    "commands",
    "entry_class",
    "is_known",
    "load",
    "names",
    "path_of",
    "programs",
    "settings",
    "stands_for",
    "suggestion",
]

DIRECTORY = Path(__file__).with_name("tunnels")
PROGRAMS = Path(__file__).with_name("programs.toml")

KINDS = ("relay", "datagram", "stream", "quic-datagram")


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
    if kind == "quic-datagram":
        from tunnelcc.catalog.quic_datagram import QuicDatagramEntry

        return QuicDatagramEntry
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
    "anyconnect": ("openvpn-udp", "openvpn-tcp"),
    "cloudflare-warp": ("wireguard", "connect-ip"),
    "esp": ("ipsec-esp",),
    "fec": ("udpspeeder", "tinyfecvpn", "sdwan-fec"),
    "clash": ("shadowsocks", "trojan", "vless-tls"),
    "dco": ("openvpn-dco",),
    "derp": ("tailscale-derp",),
    "gost": ("gost-relay-wss", "gost-http2"),
    "h2": ("gost-http2",),
    "grpc": ("vless-grpc",),
    "http": ("gost-http2",),
    "http2": ("gost-http2",),
    "https": ("gost-http2", "gost-relay-wss"),
    "hysteria": ("hysteria2",),
    "ipsec": ("ipsec-esp",),
    "kcp": ("kcptun", "gost-kcp"),
    "masque": ("gost-quic",),
    "mullvad": ("wireguard",),
    "naiveproxy": ("naive",),
    "nginx": ("haproxy", "stunnel"),
    "openconnect": ("openvpn-udp", "openvpn-tcp"),
    "openvpn": ("openvpn-udp", "openvpn-tcp"),
    "proxy": ("gost-socks5", "gost-http2", "ssh-forward"),
    "psiphon": ("ssh-forward",),
    "outline": ("shadowsocks",),
    "quic": ("gost-quic", "tuic", "hysteria2"),
    "reality": ("vless-reality",),
    "relay": ("gost-relay-ws", "gost-relay-wss"),
    "sdwan": ("sdwan-fec", "sdwan-tcp-opt"),
    "sing-box": ("sing-mux-h2mux", "vless-tls", "trojan"),
    "sing-mux": ("sing-mux-smux", "sing-mux-yamux", "sing-mux-h2mux"),
    "smux": ("gost-relay-mws", "gost-relay-mwss"),
    "socks": ("gost-socks5",),
    "socks5": ("gost-socks5",),
    "ssh": ("ssh-forward", "ssh-tun"),
    "ss": ("shadowsocks", "shadowsocks-2022"),
    "tls": ("gost-relay-wss", "gost-http2"),
    "v2ray": ("vmess-ws", "vless-ws", "vless-tls"),
    "vision": ("vless-vision",),
    "vless": ("vless-tls", "vless-ws", "vless-grpc", "vless-xhttp", "vless-reality"),
    "vmess": ("vmess-tls", "vmess-ws"),
    "vpn": ("wireguard", "openvpn-udp", "openvpn-tcp", "ipsec-esp"),
    "warp": ("wireguard", "connect-ip"),
    "websocket": ("gost-relay-ws", "gost-relay-wss"),
    "wg": ("wireguard",),
    "ws": ("gost-relay-ws",),
    "xhttp": ("vless-xhttp",),
    "xray": ("vless-tls", "vless-vision", "vless-xhttp"),
    "yamux": ("frp", "sing-mux-yamux"),
    "wss": ("gost-relay-wss",),
}


def programs() -> dict[str, Program]:
    """Return the programs that people know by name, some of which have an entry of that name."""
    from tunnelcc.catalog import named  # most runs need none of them

    return named.programs()


_LIBRARY = Library(
    DIRECTORY, _parse, "none", "a program of `tunnelcc list programs`",
    kinds=_CALLED, also=programs,
)  # fmt: skip
names = _LIBRARY.names
suggestion = _LIBRARY.suggestion


def is_known(name: str) -> bool:
    """Whether a name is that of an entry or of a program."""
    return name in names() or name in programs()


def stands_for(name: str) -> str | None:
    """Return the entry or program that stands for the program ``name``; None: it is none."""
    if name.endswith(".toml") or name in (*names(), "none"):
        return None
    program = programs().get(name)
    return program.like if program else None


def path_of(name: str) -> Path:
    """Return the file that has the tunnel ``name``, which must exist."""
    from tunnelcc.catalog import named

    return named.FILE if stands_for(name) else _LIBRARY.path_of(name)


def load(name: str) -> Entry:
    """Return the entry ``name``, that of the program ``name``, or the one in a .toml file.

    Raises ConfigError. Its keys are relative to the entry.
    """
    if name in names() or name.endswith(".toml") or name not in programs():
        return _LIBRARY.load(name)
    return _of_program(name)


@cache
def _of_program(name: str) -> Entry:
    from tunnelcc.catalog import named

    try:
        return _parse(named.tables(name, DIRECTORY))
    except ConfigError as error:
        raise error.located_in(named.FILE) if error.problems[0].key else error from None


def commands(tunnel: str, options: Mapping[str, str] | None = None) -> list[str]:
    """Return lines that start the real program of a tunnel on both ends; none: not known.

    ``options``: keys of the tunnel with their values. What sets one in the program is not always
    known; it then follows as a comment.

        >>> from tunnelcc import catalog
        >>> catalog.commands("kcptun", {"kcp.client_send_window": "512"})[1]
        'kcptun-client -l :PORT -r SERVER:29900 -sndwnd 512'
    """
    found: dict[str, Any] = dict(read_toml(PROGRAMS).get(tunnel, {}))
    known, comments = found.pop("options", {}), []
    ends = {"text": found["text"]} if "text" in found else found
    for key, value in (options or {}).items():
        for end, text in known.get(key, {}).items():
            ends[end] = f"{ends[end].rstrip()}{text.format(value)}"
        if key not in known:
            comments.append(f"# with {key}={value}")
    heads = {end: [f"# {end}"] if end != "text" else [] for end in ends}
    return [
        *(line for end, text in ends.items() for line in (*heads[end], str(text).strip())),
        *comments,
    ]


def script(tunnel: str) -> str:
    """Return what a shell runs at each end of a tunnel; "": not known.

    That of a file of one's own ("start") is code, which ``modules.trust.check_start`` asks about.
    """
    if tunnel not in names():
        return (load(tunnel).start or "").strip()
    return str(read_toml(PROGRAMS).get(tunnel, {}).get("both", "")).strip()
