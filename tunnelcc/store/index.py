# SPDX-License-Identifier: GPL-2.0-only
"""What a store knows of its runs without reading their files: a cache in SQLite.

Each row says of which file (size, time of change) and by which version of the metrics it was made;
a row that no longer fits its file counts as missing. Nothing is in it that is not in the files.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SCHEMA = """
CREATE TABLE IF NOT EXISTS rows (
    id TEXT PRIMARY KEY, size INTEGER, changed INTEGER, version TEXT, error TEXT, metrics TEXT
) WITHOUT ROWID
"""
_LOCK_SECONDS = 60
_QUERY = "SELECT id, size, changed, error, metrics FROM rows WHERE version = ? AND id IN ({})"
# A transaction costs a file or two; the rows that a killed process had not written are read again
# from the files.
_ROWS_AT_ONCE = 100


@dataclass(frozen=True)
class Row:
    """One run: its error ("": none) and its metrics as JSON."""

    id: str
    error: str
    summary: str = "{}"

    @property
    def metrics(self) -> dict[str, Any]:
        """Name → number, or list with one value per flow; of a run that failed none."""
        table: dict[str, Any] = json.loads(self.summary)
        return table


@dataclass(frozen=True)
class Stamp:
    """By what a file is known to be unchanged."""

    size: int
    changed: int  # ns

    @staticmethod
    def of(file: Path) -> Stamp | None:
        """Return the stamp of ``file``; None: there is no such file."""
        try:
            status = os.stat(file)
        except FileNotFoundError:
            return None
        return Stamp(status.st_size, status.st_mtime_ns)


class Index:
    """The rows, in ``file``; in memory where that cannot be written."""

    def __init__(self, file: Path, version: str) -> None:
        self._version = version
        self._unwritten: list[tuple[Any, ...]] = []
        try:
            self._open(str(file))
        except sqlite3.DatabaseError as error:
            # Damaged, or on a read-only file system: either way only a cache.
            if not isinstance(error, sqlite3.OperationalError):
                with contextlib.suppress(OSError):
                    file.unlink()
                    self._open(str(file))
                    return
            self._open(":memory:")

    def _open(self, name: str) -> None:
        self._connection = sqlite3.connect(name, timeout=_LOCK_SECONDS)
        self._connection.execute("PRAGMA synchronous = OFF")  # power loss: rebuilt from the files
        self._connection.execute(_SCHEMA)
        self._connection.commit()

    def close(self) -> None:
        """Write what is not written yet."""
        self.flush()
        self._connection.close()

    def put(self, row: Row, stamp: Stamp) -> None:
        """Remember ``row``, made from the file that has ``stamp``."""
        self._unwritten.append(
            (row.id, stamp.size, stamp.changed, self._version, row.error, row.summary)
        )
        if len(self._unwritten) >= _ROWS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what is not written yet; where that fails, the files will be read again."""
        with contextlib.suppress(sqlite3.OperationalError), self._connection:
            self._connection.executemany("REPLACE INTO rows VALUES (?,?,?,?,?,?)", self._unwritten)
        self._unwritten.clear()

    def get(self, stamps: Mapping[str, Stamp]) -> dict[str, Row]:
        """Return id → row of those runs that are known by the file that has that stamp."""
        if self._unwritten:
            self.flush()
        ids, rows = list(stamps), {}
        for first in range(0, len(ids), _ROWS_AT_ONCE):
            some = ids[first : first + _ROWS_AT_ONCE]
            query = _QUERY.format(",".join("?" * len(some)))
            for id_, size, changed, *row in self._connection.execute(query, (self._version, *some)):
                if Stamp(size, changed) == stamps[id_]:
                    rows[id_] = Row(id_, *row)
        return rows

    def remove(self, ids: Iterable[str]) -> None:
        """Forget these runs."""
        with contextlib.suppress(sqlite3.OperationalError), self._connection:
            self._connection.executemany("DELETE FROM rows WHERE id=?", ((id_,) for id_ in ids))
