# SPDX-License-Identifier: GPL-2.0-only
"""A cache of the runs' metrics in SQLite, so that the run files need not be read.

Each row names the file (size, time of change) and the version of the metrics that it comes from. A
row that does not match its file or its own checksum counts as missing. The cache has nothing that
the files do not have. If the database is damaged, it is built again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SCHEMA = """
CREATE TABLE IF NOT EXISTS rows (
    id TEXT PRIMARY KEY, size INTEGER, changed INTEGER, version TEXT, error TEXT, metrics TEXT,
    checksum TEXT
) WITHOUT ROWID
"""
_SCHEMA_VERSION = 2  # user_version of the database; other ones are made anew
_DIGEST_BYTES = 8
_LOCK_SECONDS = 60
_QUERY = (
    "SELECT id, size, changed, version, error, metrics, checksum FROM rows "
    "WHERE version = ? AND id IN ({})"
)
# A transaction costs a file or two; the rows that a killed process had not written are read again
# from the files.
_ROWS_AT_ONCE = 100
# What a damaged database raises: its texts, those in messages too, may be no UTF-8.
_ERRORS = (sqlite3.Error, UnicodeError)
# What an error says that the next attempt may not meet, or that a new file would meet, too.
_PASSING = ("locked", "busy", "full", "readonly", "unable to open")


@dataclass(frozen=True)
class Row:
    """One run: its error ("": none) and its metrics as JSON."""

    id: str
    error: str
    summary: str = "{}"

    @property
    def metrics(self) -> dict[str, Any]:
        """Name → number, or list with one value per flow. A failed run has none."""
        table: dict[str, Any] = json.loads(self.summary)
        return table


@dataclass(frozen=True)
class Stamp:
    """The stamp that shows whether a file has changed."""

    size: int
    changed: int  # ns

    @staticmethod
    def of(file: Path) -> Stamp | None:
        """Return the stamp of ``file``; None if it does not exist or cannot be read."""
        try:
            status = os.stat(file)
        except OSError:
            return None
        return Stamp(status.st_size, status.st_mtime_ns)


class Index:
    """The rows in ``file``, or in memory if that cannot be written."""

    def __init__(self, file: Path, version: str) -> None:
        self._file = file
        self._version = version
        self._unwritten: list[tuple[Any, ...]] = []
        try:
            self._open(str(file))
        except _ERRORS as error:
            self._mend(error)

    def _open(self, name: str) -> None:
        self._connection = sqlite3.connect(name, timeout=_LOCK_SECONDS)
        self._connection.execute("PRAGMA synchronous = OFF")  # power loss: rebuilt from the files
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        (tables,) = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if version != _SCHEMA_VERSION and tables:
            raise sqlite3.DatabaseError("it is of another version")
        if not tables:
            self._connection.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
        self._connection.execute(_SCHEMA)
        self._connection.commit()

    def _mend(self, error: Exception) -> None:
        """Continue with a new, empty database; in memory if a file is not possible."""
        if hasattr(self, "_connection"):
            self._connection.close()
        # A damaged one is of no use to anybody; another process may wait for a locked one.
        if not any(word in str(error) for word in _PASSING):
            try:
                for suffix in ("", "-journal", "-wal", "-shm"):
                    Path(f"{self._file}{suffix}").unlink(missing_ok=True)
                self._open(str(self._file))
                return
            except (OSError, *_ERRORS):
                self._connection.close()
        self._open(":memory:")

    def close(self) -> None:
        """Write pending rows."""
        self.flush()
        self._connection.close()

    def put(self, row: Row, stamp: Stamp) -> None:
        """Remember ``row``, made from the file that has ``stamp``."""
        values = (row.id, stamp.size, stamp.changed, self._version, row.error, row.summary)
        self._unwritten.append((*values, _digest(values)))
        if len(self._unwritten) >= _ROWS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write pending rows. If that fails, the files will be read again."""
        with contextlib.suppress(*_ERRORS), self._connection:
            query = "REPLACE INTO rows VALUES (?,?,?,?,?,?,?)"
            self._connection.executemany(query, self._unwritten)
        self._unwritten.clear()

    def get(self, stamps: Mapping[str, Stamp]) -> dict[str, Row]:
        """Return id → row of the runs whose files have that stamp."""
        if self._unwritten:
            self.flush()
        ids, rows = list(stamps), {}
        try:
            for first in range(0, len(ids), _ROWS_AT_ONCE):
                some = ids[first : first + _ROWS_AT_ONCE]
                query = _QUERY.format(",".join("?" * len(some)))
                found = self._connection.execute(query, (self._version, *some))
                for *values, checksum in found:
                    id_, size, changed, _, error, summary = values
                    if checksum == _digest(values) and Stamp(size, changed) == stamps.get(id_):
                        rows[id_] = Row(id_, error, summary)
        except _ERRORS as error:
            self._mend(error)
        return rows

    def remove(self, ids: Iterable[str]) -> None:
        """Delete these runs from the cache."""
        with contextlib.suppress(*_ERRORS), self._connection:
            self._connection.executemany("DELETE FROM rows WHERE id=?", ((id_,) for id_ in ids))


def _digest(values: Iterable[Any]) -> str:
    text = repr(tuple(values)).encode(errors="surrogatepass")
    return hashlib.blake2b(text, digest_size=_DIGEST_BYTES).hexdigest()
