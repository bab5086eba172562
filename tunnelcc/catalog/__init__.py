# SPDX-License-Identifier: GPL-2.0-only
"""Tunnels as data: one TOML file each, with a label and a source for every number.

``tunnels/*.toml`` are the built-in ones; a user's own file may be given by its path. A new kind of
tunnel has a module of its own here and adds its class to ``KINDS``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from tunnelcc.catalog.cited import LABELS, Cited, settings
from tunnelcc.catalog.datagram import DatagramEntry
from tunnelcc.catalog.entry import Entry
from tunnelcc.catalog.packets import PacketEntry
from tunnelcc.catalog.relay import RelayEntry
from tunnelcc.catalog.stream import StreamEntry
from tunnelcc.errors import MISSING, ConfigError, Problem, nearest
from tunnelcc.schema.toml import read_toml

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


@cache
def names() -> tuple[str, ...]:
    """Return the names of the built-in tunnels."""
    return tuple(sorted(path.stem for path in DIRECTORY.glob("*.toml")))


def load(name: str) -> Entry:
    """Return the built-in tunnel ``name``, or the one in the file ``name`` if it ends in .toml.

    Raises ConfigError; its keys are relative to the tunnel.
    """
    if name in names():
        return _built_in(name)
    if name.endswith(".toml"):
        return _user_file(Path(name))
    expected = "one of " + ", ".join(names()) + ", none, or the path of a .toml file"
    raise ConfigError(Problem("", name, expected, nearest(name, names())))


def path_of(name: str) -> Path:
    """Return the file of the tunnel ``name``, which load() knows."""
    return DIRECTORY / f"{name}.toml" if name in names() else Path(name)


@cache
def _built_in(name: str) -> Entry:
    path = path_of(name)
    return _parse(path, read_toml(path))


def _user_file(path: Path) -> Entry:
    table = read_toml(path, key="")
    try:
        return _parse(path, table)
    except ConfigError as error:
        where = f"in {path}"
        raise ConfigError(
            *(replace(it, hint="; ".join(filter(None, (it.hint, where)))) for it in error.problems)
        ) from None


def _parse(path: Path, table: dict[str, Any]) -> Entry:
    kind = table.get("kind", MISSING)
    if not isinstance(kind, str) or kind not in KINDS:
        raise ConfigError(Problem("kind", kind, "one of " + ", ".join(KINDS)))
    entry: Entry = KINDS[kind].parse({"name": path.stem, **table})
    return entry
