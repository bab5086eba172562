# SPDX-License-Identifier: GPL-2.0-only
"""Parts of entries: text, sizes, and numbers with their source."""

from collections.abc import Iterator
from typing import Annotated

from tunnelcc.schema import PROSE, Model, choice, size

LABELS = ("measured", "source code", "specification", "arithmetic", "published", "inferred")


Prose = Annotated[str, PROSE]
Size = Annotated[int, size(0, 2**31 - 1)]


class Cited(Model):
    """Numbers with the kind of their evidence, and its source."""

    label: Annotated[str, choice(*LABELS)]
    source: Prose

    def text(self) -> str:
        """Return the numbers as one line."""
        table = self.model_dump(exclude={"label", "source"}, exclude_defaults=True)
        return ", ".join(f"{part} {value}" for part, value in table.items())


class Bytes(Cited):
    """A size."""

    bytes: Size


def settings(entry: Model, prefix: str = "") -> Iterator[tuple[str, str, str, str]]:
    """Yield (key, values, label, source) for each cited table of an entry."""
    for name in type(entry).model_fields:
        for key, item in _items(f"{prefix}{name}", getattr(entry, name)):
            if isinstance(item, Cited):
                yield key, item.text(), item.label, item.source
            elif isinstance(item, Model):
                yield from settings(item, f"{key}.")


def _items(key: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, tuple):
        yield from ((f"{key}[{index}]", item) for index, item in enumerate(value))
    elif isinstance(value, dict):
        yield from ((f"{key}.{name}", item) for name, item in value.items())
    else:
        yield key, value
