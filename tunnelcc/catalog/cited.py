# SPDX-License-Identifier: GPL-2.0-only
"""What entries of every kind are made of: names, sizes, and numbers that cite their source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from tunnelcc.schema import Kind, Model, choice, size
from tunnelcc.units import UnitError

LABELS = ("measured", "source code", "arithmetic", "published", "inferred")


def _parse_prose(value: object) -> str:
    if isinstance(value, str) and value.strip():
        return value
    raise UnitError("some text")


Prose = Annotated[str, Kind(_parse_prose, str, "some text")]
Size = Annotated[int, size(0, 2**31 - 1)]


class Cited(Model):
    """Numbers with what kind of evidence they have, and which."""

    label: Annotated[str, choice(*LABELS)]
    source: Prose


class Bytes(Cited):
    """A size."""

    bytes: Size


class Entry(Model):
    """A tunnel of the catalogue."""

    name: Prose
    kind: Prose
    summary: Prose
    software: Prose


def settings(entry: Model, prefix: str = "") -> Iterator[tuple[str, str, str, str]]:
    """Yield (key, values, label, source) for each cited table of an entry."""
    for name in type(entry).model_fields:
        value = getattr(entry, name)
        items = value if isinstance(value, tuple) else (value,)
        for index, item in enumerate(items):
            key = f"{prefix}{name}" + (f"[{index}]" if isinstance(value, tuple) else "")
            if isinstance(item, Cited):
                table = item.model_dump(exclude={"label", "source"}, exclude_defaults=True)
                text = ", ".join(f"{part} {value}" for part, value in table.items())
                yield key, text, item.label, item.source
            elif isinstance(item, Model):
                yield from settings(item, f"{key}.")
