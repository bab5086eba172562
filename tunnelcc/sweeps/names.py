# SPDX-License-Identifier: GPL-2.0-only
"""Names of sweeps in a store.

A name belongs to one sweep. The sweep may get more values on its axes, and more seeds. Asked for
with fewer seeds, it stays as it is. Any other change needs another name, because it would hide the
first results or be confused with them.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.schema.toml import parse_toml
from tunnelcc.store import Store
from tunnelcc.store.record import Record
from tunnelcc.sweeps.declaration import Dimension, Sweep

_FIRST_SAVED = 1024
_MOST_DIFFERENCES = 3


class Recorder:
    """Saves the record of a sweep in a store while the ids of its runs become known."""

    def __init__(self, record: Record, declared: Sweep, store: Store) -> None:
        """Take the name if it is free. Raises ConfigError if another sweep has it."""
        self._record, self._declared, self._store = record, declared, store
        self._saved, self._next = 0, _FIRST_SAVED
        self._has_claimed = False
        store.update_sweep(declared.name, self._claimed)

    def update(self, ids: list[str]) -> None:
        """Take the ids. Save them when all are known, or when their number has doubled."""
        self._record.ids = ids
        if len(ids) in (self._next, self._record.runs):
            self._next *= 2
            self.save()

    def save(self) -> None:
        """Write pending ids."""
        if len(self._record.ids) != self._saved:
            self._store.update_sweep(self._declared.name, self._best)
            self._saved = len(self._record.ids)
        elif self._has_claimed and not self._saved:  # it failed before it began
            self._store.remove_sweep(self._declared.name)

    def _claimed(self, there: Record | None) -> Record | None:
        self._has_claimed = there is None
        if there is None:
            return self._record
        if there.scenario != self._record.scenario:
            other = _declared(there)
            if other is not None and self._has_more_seeds(other):
                return None
            self._refuse(["it cannot be read any more"] if other is None else self._lost(other))
        return None  # until there is more to write than is there

    def _best(self, there: Record | None) -> Record | None:
        """Return the record that replaces the existing one; None if nothing changes."""
        mine = self._record
        if there is None:
            return mine
        if there.scenario == mine.scenario:
            is_other = (there.models, there.sources) != (mine.models, mine.sources)
            return mine if is_other or len(mine.ids) > len(there.ids) else None
        other = _declared(there)
        if other is not None and not list(_lost(self._declared, other)):
            return None  # another process has added to the same sweep: it has these runs, too
        self._refuse(["it cannot be read any more"] if other is None else self._lost(other))
        return mine

    def _has_more_seeds(self, other: Sweep) -> bool:
        """Whether the sweep in the store has these runs, and nothing else but other seeds.

        It has, after ``--precision``. It stays as it is.
        """
        mine = copy.copy(self._declared)
        mine.seeds = other.seeds
        is_same = not [*_lost(mine, other), *_lost(other, mine)]
        return is_same and {*self._declared.seeds} <= {*other.seeds}

    def _lost(self, other: Sweep) -> list[str]:
        return list(_lost(other, self._declared))

    def _refuse(self, differences: list[str]) -> None:
        if not differences:
            return
        name = self._declared.name
        where = self._store.directory / name
        expected = (
            f"another name (--name, in Python name=) because {where} is another sweep; or "
            "delete that one (tunnelcc store rm)"
        )
        more = len(differences) - _MOST_DIFFERENCES
        hint = "; ".join(differences[:_MOST_DIFFERENCES]) + (f"; {more} more" * (more > 0))
        raise ConfigError(Problem("name", name, expected, hint))


def _declared(record: Record) -> Sweep | None:
    try:
        return Sweep(parse_toml(record.scenario, ""), is_record=True)
    except ConfigError:
        return None


def _lost(old: Sweep, new: Sweep) -> Iterator[str]:
    """Yield the parts of ``old`` that are not in ``new`` and would be lost."""
    was, now = _flat(old.base), _flat(new.base)
    for key in sorted({*was, *now} - {"title"}):
        if was.get(key, MISSING) != now.get(key, MISSING):
            yield f"{key} is {_written(was, key)} in the store and {_written(now, key)} here"
    axes = {dimension.name: dimension for dimension in new.dimensions}
    for dimension in old.dimensions:
        other = axes.pop(dimension.name, None)
        if other is None or {it.key for it in other.axes} != {it.key for it in dimension.axes}:
            yield f"sweep.{dimension.name} is another axis in the store"
        elif left := _points(dimension) - _points(other):
            yield (
                f"sweep.{dimension.name} has values in the store that are missing here: {min(left)}"
            )
    for name in axes:
        yield f"sweep.{name} is not an axis in the store"
    if seeds := set(old.seeds) - set(new.seeds):
        yield f"sweep.seeds has seeds in the store that are missing here: {min(seeds)}"


def _points(dimension: Dimension) -> set[str]:
    keys = [axis.key for axis in dimension.axes]
    rows = zip(*(axis.values for axis in dimension.axes), strict=True)
    if len(keys) == 1:
        return {json.dumps(value) for (value,) in rows}
    return {json.dumps(dict(zip(keys, row, strict=True)), sort_keys=True) for row in rows}


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _written(table: Mapping[str, Any], key: str) -> str:
    return repr(table[key]) if key in table else "not given"
