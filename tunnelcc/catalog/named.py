# SPDX-License-Identifier: GPL-2.0-only
"""Programs by the names that people know: the entry that stands for each, and what differs.

``named.toml`` has a table for each program. A name's entry is made in one place, here: the tables
of the entry that stands for the program, with the keys that differ.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tunnelcc.catalog.cited import Cited, Prose
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.schema import Field, Model
from tunnelcc.schema.toml import read_toml

FILE = Path(__file__).with_name("named.toml")
#: In the place of both directions in a key.
_EITHER = "*"
_WAYS = ("to_server", "to_client")


class Difference(Cited):
    """The value of an entry's key, in place of the one that the entry has."""

    value: Any

    def text(self) -> str:
        """Return the value as one line: ``layer tls, overhead 22; layer websocket``."""
        return _in_full(self.value)


class Program(Model):
    """A program in one of its modes, and what stands for it.

    ``like``: the entry, or another program; None: nothing that can be simulated. ``differs``: keys
    of the entry, such as ``mux.*.stream_window`` (* is either direction).
    """

    software: Prose
    mode: Prose
    carries: Prose
    like: Prose | None = None
    differs: dict[str, Difference] = Field(default_factory=dict)
    missing: Prose

    def changes(self) -> Iterator[tuple[str, Difference]]:
        """Yield each key of the entry that differs; one with * is two."""
        for key, difference in self.differs.items():
            for way in _WAYS if _EITHER in key.split(".") else ("",):
                yield ".".join(way if it == _EITHER else it for it in key.split(".")), difference

    def text(self) -> str:
        """Return what stands for it: ``like gost-relay-mws with mux.*.stream_window = 256KiB``."""
        if self.like is None:
            return "nothing stands for it"
        told = [f"{key} = {_short(it.value)}" for key, it in self.differs.items()]
        return f"like {self.like}" + (f" with {', '.join(told)}" if told else "")


def _in_full(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_in_full(it)}" for key, it in value.items())
    if isinstance(value, list):
        mark = "; " if any(isinstance(it, dict) for it in value) else " + "
        return mark.join(map(_in_full, value)) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _short(value: object) -> str:
    """Return a value in a few words: of layers their names."""
    if isinstance(value, list) and value:
        return " + ".join(map(_short, value))
    if isinstance(value, dict) and "layer" in value:
        return str(value["layer"])
    return _in_full(value)


@cache
def programs() -> dict[str, Program]:
    """Return the programs by name."""
    return {name: Program.parse(table) for name, table in sorted(read_toml(FILE).items())}


def tables(name: str, directory: Path) -> dict[str, Any]:
    """Return the tables of the entry of a program. ``directory``: of the catalogue's entries.

    Raises ConfigError if nothing stands for the program.
    """
    program = programs()[name]
    if program.like is None:
        expected = f"a tunnel that can be simulated, which {name} is not: {program.missing}"
        raise ConfigError(Problem("", name, expected))
    if program.like in programs():
        found = tables(program.like, directory)
    else:
        found = copy.deepcopy(read_toml(directory / f"{program.like}.toml"))
    for key, difference in program.changes():
        _change(found, key.split("."), difference, program.like)
    return {**found, "name": name, "summary": program.carries, "software": program.software}


def _change(found: dict[str, Any], path: Sequence[str], made: Difference, like: str) -> None:
    """Set a key in tables, and its origin in the table that tells of it."""
    *above, last = path
    table: Any = found
    for part in above:
        table = table[int(part)] if isinstance(table, list) else table.setdefault(part, {})
    cited = {"label": made.label, "source": made.source}
    value = copy.deepcopy(made.value)
    if "source" in table:
        rest = set(table) - {"label", "source", last}
        others = f"{last}: {made.source}; the rest as {like}: {table['source']}"
        table["source"] = others if rest else made.source
        table["label"] = made.label
    elif isinstance(value, dict):
        value = {**value, **cited}
    elif isinstance(value, list):
        value = [{**it, **cited} for it in value]
    table[last] = value
