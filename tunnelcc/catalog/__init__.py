# SPDX-License-Identifier: GPL-2.0-only
"""Tunnels as data: one TOML file each, with a label and a source for every number.

``tunnels/*.toml`` are the built-in tunnels. A user's own file may be given by its path. A new kind
of tunnel needs its own module here and its class in ``KINDS``, its specification in
``tunnelcc.simulation.spec`` and its overview in ``tunnelcc.report.overview``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tunnelcc.catalog.cited import LABELS, Cited, settings
from tunnelcc.catalog.datagram import DatagramEntry
from tunnelcc.catalog.entry import Entry
from tunnelcc.catalog.packets import PacketEntry
from tunnelcc.catalog.relay import RelayEntry
from tunnelcc.catalog.stream import StreamEntry
from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.schema.library import Library

__all__ = [
    "DIRECTORY",
    "KINDS",
    "LABELS",
    "Cited",
    "DatagramEntry",
    "Entry",
    "PacketEntry",
    "RelayEntry",
    "StreamEntry",
    "load",
    "names",
    "path_of",
    "settings",
]

DIRECTORY = Path(__file__).with_name("tunnels")

KINDS: dict[str, type[Entry]] = {
    "relay": RelayEntry,
    "datagram": DatagramEntry,
    "stream": StreamEntry,
}


def _parse(table: dict[str, Any]) -> Entry:
    kind = table.get("kind", MISSING)
    if not isinstance(kind, str) or kind not in KINDS:
        raise ConfigError(Problem("kind", kind, "one of " + ", ".join(KINDS)))
    entry: Entry = KINDS[kind].parse(table)
    return entry


_LIBRARY = Library(DIRECTORY, _parse, "none")
names = _LIBRARY.names
path_of = _LIBRARY.path_of
load = _LIBRARY.load
