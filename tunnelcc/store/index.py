# SPDX-License-Identifier: GPL-2.0-only
"""A cache of the runs' metrics in one file, so that the files of the runs need not be read.

Each line is a checksum and a JSON list: id, size and time of change of the run's file, version of
the metrics, error, metrics. The last line of a run counts. A line that does not match its checksum,
its run's file or the version counts as missing: the run's file is read again, and a new line
appended. So a damaged or lost cache costs time only.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

_DIGEST_BYTES = 8
_ID = slice(2 * _DIGEST_BYTES + 3, 2 * _DIGEST_BYTES + 3 + 32)  # behind checksum, blank, [ and "
# A file with more lines than this, half of them replaced by others, is written anew.
_MOST_LINES = 1000


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
    """The rows in ``file``, of metrics of that ``version``. Several processes may append to it."""

    def __init__(self, file: Path, version: str) -> None:
        self._file = file
        self._version = version
        self._places: dict[bytes, tuple[int, int]] = {}  # id → where its line is, and how long
        self._lines = self._end = 0  # how many were seen, up to where

    def put(self, row: Row, stamp: Stamp) -> None:
        """Remember ``row``, made from the file that has ``stamp``, if that can be written."""
        values = [row.id, stamp.size, stamp.changed, self._version, row.error, row.summary]
        text = json.dumps(values)
        line = (
            f"\n{_digest(text.encode())} {text}\n"  # the first \n ends what a killed process left
        )
        with contextlib.suppress(OSError), self._file.open("ab", buffering=0) as file:
            file.write(line.encode())

    def get(self, stamps: Mapping[str, Stamp]) -> dict[str, Row]:
        """Return id → row of the runs whose files have that stamp."""
        rows = {}
        with contextlib.suppress(OSError), self._file.open("rb") as file:
            self._scan(file)
            for id_, stamp in stamps.items():
                if (place := self._places.get(id_.encode())) is not None:
                    row = self._row(_read(file, place), id_, stamp)
                    if row is not None:
                        rows[id_] = row
        return rows

    def _row(self, line: bytes, id_: str, stamp: Stamp) -> Row | None:
        digest, _, text = line.rstrip(b"\n").partition(b" ")
        if digest != _digest(text).encode():
            return None
        found, size, changed, version, error, summary = json.loads(text)
        is_right = (found, size, changed, version) == (
            id_, stamp.size, stamp.changed, self._version
        )  # fmt: skip
        return Row(id_, error, summary) if is_right else None

    def _scan(self, file: BinaryIO) -> None:
        """Find the lines that were appended since the last time."""
        if os.fstat(file.fileno()).st_size < self._end:
            self._places, self._lines, self._end = {}, 0, 0
        file.seek(self._end)
        for line in file:
            if not line.endswith(b"\n"):
                break  # another process is writing it
            if len(line) > 1:
                self._places[line[_ID]] = (self._end, len(line))
                self._lines += 1
            self._end += len(line)
        if self._lines > max(_MOST_LINES, 2 * len(self._places)):
            self._shrink(file)

    def _shrink(self, file: BinaryIO) -> None:
        """Write only the lines that count."""
        lines = [_read(file, place) for place in self._places.values()]
        temporary = self._file.with_name(f".{self._file.name}.{os.urandom(4).hex()}.tmp")
        with contextlib.suppress(OSError):
            temporary.write_bytes(b"".join(lines))
            temporary.replace(self._file)
        self._lines = len(lines)


def _read(file: BinaryIO, place: tuple[int, int]) -> bytes:
    file.seek(place[0])
    return file.read(place[1])


def _digest(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=_DIGEST_BYTES).hexdigest()
