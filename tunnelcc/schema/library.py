# SPDX-License-Identifier: GPL-2.0-only
"""Items in TOML files: those of the package by name, a user's by path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from tunnelcc.errors import ConfigError, Problem, nearest
from tunnelcc.schema.toml import read_toml

Item = TypeVar("Item")


class Library(Generic[Item]):
    """The ``*.toml`` files in ``directory``, and other files by path.

    ``parse`` makes an item from a file's tables. The item has the file's name unless the tables
    name it. Files in ``directory`` are read once. ``others``: further valid names, for error
    messages. ``kinds``: word of a user, in lower case → names of items that it may mean. ``also``:
    returns names that a wrong one may have meant, besides the items'.
    """

    def __init__(
        self,
        directory: Path,
        parse: Callable[[dict[str, Any]], Item],
        *others: str,
        kinds: Mapping[str, Sequence[str]] | None = None,
        also: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._directory = directory
        self._parse = parse
        self._others = others
        self._kinds = kinds or {}
        self._also = also
        self._names: tuple[str, ...] | None = None
        self._read: dict[str, Item] = {}

    def names(self) -> tuple[str, ...]:
        """Return the names of the files in the directory."""
        if self._names is None:
            self._names = tuple(sorted(path.stem for path in self._directory.glob("*.toml")))
        return self._names

    def path_of(self, name: str) -> Path:
        """Return the file of the item ``name``, which must exist."""
        return self._directory / f"{name}.toml" if name in self.names() else Path(name)

    def load(self, name: str) -> Item:
        """Return the item ``name``, or the one in the file ``name`` if it ends in .toml.

        Raises ConfigError. Its keys are relative to the item.
        """
        if name in self._read:
            return self._read[name]
        path = self.path_of(name)
        if name in self.names():
            self._read[name] = self._item(path, read_toml(path))
            return self._read[name]
        if not name.endswith(".toml"):
            expected = ", ".join((*self.names(), *self._others))
            expected = f"one of {expected}, or the path of a .toml file"
            raise ConfigError(Problem("", name, expected, self.suggestion(name)))
        table = read_toml(path, key="")
        try:
            return self._item(path, table)
        except ConfigError as error:
            raise error.located_in(path) from None

    def suggestion(self, name: str, others: Iterable[str] = ()) -> str:
        """Return ``did you mean …?`` for a wrong name, or "". ``others``: further valid names."""
        meant = self._kinds.get(name.lower().replace(" ", "-").replace("_", "-"), ())
        if meant:
            return f"did you mean {' or '.join(map(repr, meant))}?"
        return nearest(name, (*others, *self.names(), *self._also()))

    def _item(self, path: Path, table: dict[str, Any]) -> Item:
        return self._parse({"name": path.stem, **table})
