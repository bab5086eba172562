# SPDX-License-Identifier: GPL-2.0-only
"""The table of causes for the page: as JavaScript, and what it asks of a tunnel's template.

causes.mjs makes of a template and of a result what ``tunnelcc.analysis`` takes for a run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from laboratory.translate import translate
from tunnelcc.analysis import causes, counters, values
from tunnelcc.hosts.kernels import kernels
from tunnelcc.metrics import limits, voice
from tunnelcc.network.resolved import ResolvedNetwork
from tunnelcc.network.transport import UNSCALED_WINDOW
from tunnelcc.words import causes as words

_HOST = (
    "kernel", "receive_window", "socket_memory", "tcp_memory", "tcp_wmem",
    "receive_buffer", "speed", "cores",
)  # fmt: skip
_TUNNEL = (
    "name", "send_buffer", "receive_buffer", "connection_window", "stream_window", "rate", "queue",
)  # fmt: skip


def table() -> str:
    """Return the module table.mjs: the table of causes, the counters that it reads, and words.

    Beside it the formula of a call's MOS.
    """
    parts = [
        translate(_file(limits)),
        "const limits = { LIMITS, CONGESTION_CONTROL, shares, largest };",
        translate(_file(values), ("Quantity", "Key", "Where", "Evidence", "Cause")),
        translate(_file(counters)),
        translate(_file(causes)),
        translate(_file(voice)),
        translate(_file(words), ("_MUCH", "THINGS", "_PLACES", "thing", "keys", "_key", "text")),
    ]
    return (
        "// @ts-nocheck Made by translate.py from tunnelcc/analysis and tunnelcc/words.\n"
        'import { py } from "./python.mjs";\n'
        "export const causesTable = (given_) => {\n"
        "const { kernels, UNSCALED_WINDOW, Cake, mean, median, format_rate, format_time, say, "
        "as_given, transport, math } = given_;\n"
        + "\n".join(parts)
        + "\nreturn { of_flows, thing, text, keys, mean_opinion_score };\n};\n"
    )


def facts() -> dict[str, Any]:
    """Return what the table asks of everything that tunnels have in common."""
    kept = {
        name: {"version": it.version, "rmem_max": it.rmem_max} for name, it in kernels().items()
    }
    return {"kernels": kept, "unscaledWindow": UNSCALED_WINDOW}


def world(found: ResolvedNetwork) -> dict[str, Any]:
    """Return what the table asks of a tunnel's template: of its hosts, its flows and its entry."""
    traffic = found.first
    inside, tunnel = traffic.packet_tunnel, traffic.tunnel_keys
    cost = None
    if inside is not None:
        payload = traffic.contents.payload
        made = [inside.cost(payload, encapsulates=it) for it in (False, True)]
        cost = [{"per_call": it.per_call, "per_byte": it.per_byte} for it in made]
    return {
        "hosts": {
            name: {key: getattr(host, key) for key in _HOST} for name, host in found.hosts.items()
        },
        "scaling": traffic.transport.tcp.window_scaling,
        "probeInterval": found.experiment.probe_interval,
        "packetTunnel": inside
        and {"cost": cost, "socket_queue": getattr(inside, "socket_queue", None)},
        "tunnels": [{"hosts": it.hosts, "sender": it.layer.sender} for it in found.tunnels],
        "keys": tunnel and {key: getattr(tunnel, key, None) for key in _TUNNEL},
        "entry": tunnel and _entry(tunnel.entry),
    }


def _entry(entry: Any) -> dict[str, Any]:
    tables: dict[str, tuple[str, ...]] = {
        "threads": ("threads",),
        "kcp": tuple(
            f"windows.{side}_{way}" for side in ("client", "server") for way in ("send", "receive")
        ),
        "rudp": ("packets.window",),
        "quic": (
            "writes.send_buffer", "stream.most", "stream.first", "connection.most",
            "connection.first",
        ),
        "mux": (
            "protocol", "to_server.session_window", "to_server.stream_window",
            "to_client.session_window", "to_client.stream_window",
        ),
        "device": ("queue",),
        "socket": ("packet", "asks"),
    }  # fmt: skip
    known: dict[str, Any] = {"kind": entry.kind}
    for table, places in tables.items():
        if getattr(entry, table, None) is None:
            continue
        known[table] = {}
        for place in places:
            it, at = getattr(entry, table), known[table]
            *above, last = place.split(".")
            for name in above:
                it, at = getattr(it, name, None), at.setdefault(name, {})
            value = getattr(it, last, None)
            at[last] = value if isinstance(value, (int, float, str, type(None))) else str(value)
    return known


def _file(module: Any) -> Path:
    return Path(module.__file__)
