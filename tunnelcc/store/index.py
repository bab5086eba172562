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
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY, size INTEGER, changed INTEGER, version TEXT,
    experiment TEXT, error TEXT, metrics TEXT
) WITHOUT ROWID
"""
_LOCK_SECONDS = 60
_QUERY = """
SELECT experiment, error, metrics FROM runs
WHERE id = ? AND size = ? AND changed = ? AND version = ?
"""
# A transaction costs a file or two; the rows that a killed process had not written are read again
# from the files.
_ROWS_AT_ONCE = 100


@dataclass(frozen=True)
class Row:
    """One run: its experiment's keys as JSON, its error ("": none) and its metrics."""

    id: str
    experiment: str
    error: str
    metrics: dict[str, Any]


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
            (
                row.id, stamp.size, stamp.changed, self._version,
                row.experiment, row.error, json.dumps(row.metrics),
            )
        )  # fmt: skip
        if len(self._unwritten) >= _ROWS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what is not written yet; where that fails, the files will be read again."""
        with contextlib.suppress(sqlite3.OperationalError), self._connection:
            self._connection.executemany(
                "REPLACE INTO runs VALUES (?,?,?,?,?,?,?)", self._unwritten
            )
        self._unwritten.clear()

    def get(self, id_: str, stamp: Stamp) -> Row | None:
        """Return the row of a run whose file has ``stamp``; None: not known, or not of that."""
        if self._unwritten:
            self.flush()
        found = self._connection.execute(_QUERY, (id_, stamp.size, stamp.changed, self._version))
        values = found.fetchone()
        if values is None:
            return None
        experiment, error, metrics = values
        return Row(id_, experiment, error, json.loads(metrics))

    def remove(self, ids: Iterable[str]) -> None:
        """Forget these runs."""
        with contextlib.suppress(sqlite3.OperationalError), self._connection:
            self._connection.executemany("DELETE FROM runs WHERE id=?", ((id_,) for id_ in ids))
