# SPDX-License-Identifier: GPL-2.0-only
"""A directory with finished runs, one file each, and the sweeps that use them.

::

    store.json          version of the layout
    runs/ab/abcd….run   one run, see ``runfile``; complete or absent, also after a kill
    sweeps/NAME.json    a sweep: its declaration, and the ids of its runs
    index.txt           cache of the runs' metrics, rebuilt from the files if it is lost

Several processes may use a store at the same time.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from tunnelcc.config import Experiment
from tunnelcc.errors import ConfigError, Problem, RunError, TunnelccError, nearest
from tunnelcc.simulation.result import Result
from tunnelcc.store import record as records
from tunnelcc.store import runfile
from tunnelcc.store.index import Index, Row, Stamp
from tunnelcc.store.record import Record, is_id
from tunnelcc.store.summary import summarise, summary_version

FORMAT = 1
_MARKER = "store.json"
_SUFFIX = ".run"
_DELETE = "`tunnelcc store verify --delete` removes it, and the same sweep runs it again"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,99}")
# A file that is being written is there for milliseconds; an older one is of a killed process.
_ABANDONED_SECONDS = 3600

_Part = TypeVar("_Part")


def check_name(name: str) -> None:
    """Raise ConfigError if ``name`` is not a valid name of a sweep."""
    if not _NAME.fullmatch(name):
        expected = "letters, digits, '.', '_', '-' and spaces, starting with a letter or digit"
        raise ConfigError(Problem("name", name, expected, "--name sets another name"))


class StoreError(TunnelccError):
    """A store cannot be read or written."""


class Store:
    """Finished runs in ``directory``, which is created with the first run.

    ``load(id)`` returns a run, and ``ids()`` yields all ids. Several processes may use a store at
    once.

        >>> list(tc.Store("new").ids())
        []
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        if self.directory.exists() and not self.directory.is_dir():
            raise ConfigError(Problem("store", str(self.directory), "a directory, or a new name"))
        self._runs = self.directory / "runs"
        self._sweeps = self.directory / "sweeps"
        self._check_version()

    @staticmethod
    def is_at(directory: Path) -> bool:
        """Whether ``directory`` is a store."""
        return (directory / _MARKER).is_file()

    # Runs

    def add(self, row: Row, data: bytes) -> None:
        """Save the file ``data`` of the run that ``row`` describes. Raises StoreError."""
        file = self._file(row.id)
        self._write(file, data)
        stamp = Stamp.of(file)
        if stamp is not None:
            self._index.put(row, stamp)

    def row(self, id_: str) -> Row | None:
        """Return the index row of a run; None if the run is absent or damaged."""
        return self.rows([id_]).get(id_)

    def rows(self, ids: Iterable[str]) -> dict[str, Row]:
        """Return id → index row, for runs that exist and are intact."""
        stamps = {id_: stamp for id_ in ids if (stamp := Stamp.of(self._file(id_))) is not None}
        if not stamps:
            return {}
        rows = self._index.get(stamps)
        for id_ in stamps.keys() - rows.keys():
            with contextlib.suppress(runfile.DamagedFileError, FileNotFoundError):
                rows[id_] = self._read_row(id_)
                self._index.put(rows[id_], stamps[id_])
        return rows

    def damage(self, id_: str) -> str:
        """Read a run's file and return why it cannot be used; "" if it can, or is absent.

        The index is updated to match the file.
        """
        stamp = Stamp.of(self._file(id_))
        try:
            row = self._read_row(id_)
        except FileNotFoundError:
            return ""
        except runfile.DamagedFileError as error:
            return str(error)
        if stamp is not None and self._index.get({id_: stamp}) != {id_: row}:
            self._index.put(row, stamp)
        return ""

    def load(self, id_: str) -> Result | RunError:
        """Return a run, or the error that it ended with. Raises StoreError."""
        return self._decoded(id_, runfile.decode)

    def experiment(self, id_: str) -> Experiment:
        """Return what a run simulated, or should have simulated. Raises StoreError."""
        return self._decoded(id_, runfile.experiment)

    def _decoded(self, id_: str, decode: Callable[[bytes], _Part]) -> _Part:
        try:
            return decode(self._read(id_))
        except FileNotFoundError:
            raise StoreError(f"{self.directory} has no run {id_}") from None
        except runfile.DamagedFileError as error:
            raise StoreError(f"{self._file(id_)} is damaged: {error}; {_DELETE}") from None

    def ids(self) -> Iterator[str]:
        """Yield the ids of all runs, in order."""
        for file in sorted(self._runs.glob(f"??/*{_SUFFIX}")):
            if is_id(file.stem) and file == self._file(file.stem):
                yield file.stem

    def size(self) -> tuple[int, int]:
        """Return the number of runs and the total size of their files in bytes."""
        stamps = [stamp for id_ in self.ids() if (stamp := Stamp.of(self._file(id_))) is not None]
        return len(stamps), sum(stamp.size for stamp in stamps)

    def find(self, beginning: str) -> str:
        """Return the one id that starts with ``beginning``.

        Raises ConfigError, which also tells of sweeps: where runs are named, sweeps are, too.
        """
        hexadecimal = re.fullmatch(r"[0-9a-f]{2,32}", beginning) is not None
        files = self._runs.glob(f"{beginning[:2]}/{beginning}*{_SUFFIX}") if hexadecimal else ()
        found = sorted(file.stem for file in files)
        if len(found) != 1:
            names = self.sweep_names()
            hint = f"{len(found)} runs start with it" if found else nearest(beginning, names)
            sweeps = f" ({', '.join(names)})" if names else ""
            expected = f"a sweep of {self.directory}{sweeps}, or the id of a run or its start"
            raise ConfigError(Problem("name", beginning, expected, hint))
        return found[0]

    def remove(self, ids: Iterable[str]) -> None:
        """Delete runs. Raises StoreError."""
        try:
            for id_ in ids:
                self._file(id_).unlink(missing_ok=True)
        except OSError as error:
            raise self._cannot_write(error) from error

    def damaged(self) -> Iterator[tuple[str, str]]:
        """Read every file. Yield (id, problem) of the runs that cannot be used."""
        for id_ in self.ids():
            if what := self.damage(id_):
                yield id_, what

    def clean(self) -> None:
        """Delete incomplete files of killed processes."""
        for file in self.directory.glob("**/.*.tmp"):
            with contextlib.suppress(OSError):
                if time.time() - file.stat().st_mtime > _ABANDONED_SECONDS:
                    file.unlink()

    # Sweeps

    def update_sweep(self, name: str, change: Callable[[Record | None], Record | None]) -> None:
        """Save the record that ``change`` returns for the sweep of that name, if it returns one.

        ``change`` gets the existing record, or None. No other process changes the record meanwhile.
        Raises ConfigError, StoreError.
        """
        check_name(name)
        with self._locked_sweeps():
            try:
                there = self.sweep(name)
            except (ConfigError, StoreError):
                there = None
            if (record := change(there)) is not None:
                self._write(self._sweeps / f"{name}.json", records.encode(record))

    @contextlib.contextmanager
    def _locked_sweeps(self) -> Iterator[None]:
        try:
            self._make(self._sweeps)
            lock = (self._sweeps / ".lock").open("ab")
        except OSError as error:
            raise self._cannot_write(error) from error
        with lock:
            with contextlib.suppress(OSError):  # some network file systems have no locks
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def sweep(self, name: str) -> Record:
        """Return the sweep of that name. Raises ConfigError, StoreError."""
        file = self._sweeps / f"{name}.json"
        try:
            return records.decode(file.read_bytes())
        except FileNotFoundError:
            names = self.sweep_names()
            expected = "a sweep of this store: " + (", ".join(names) or "it has none")
            where = str(self.directory / name)
            raise ConfigError(Problem("sweep", where, expected, nearest(name, names))) from None
        except OSError as error:
            raise StoreError(f"{file} cannot be read: {error.strerror}") from None
        except runfile.DamagedFileError as error:
            raise StoreError(f"{file} is damaged: {error}; {_DELETE}") from None

    def sweep_names(self) -> list[str]:
        """Return the names of the sweeps."""
        return sorted(
            file.stem for file in self._sweeps.glob("*.json") if _NAME.fullmatch(file.stem)
        )

    def damaged_sweeps(self) -> Iterator[tuple[str, str]]:
        """Yield (name, problem) of the sweeps whose files cannot be used."""
        for name in self.sweep_names():
            try:
                self.sweep(name)
            except StoreError as error:
                yield name, str(error)

    def remove_sweep(self, name: str) -> None:
        """Delete a sweep. Its runs stay. Raises StoreError."""
        try:
            (self._sweeps / f"{name}.json").unlink(missing_ok=True)
        except OSError as error:
            raise self._cannot_write(error) from error

    # Files

    @cached_property
    def _index(self) -> Index:
        return Index(self.directory / "index.txt", summary_version())

    def _file(self, id_: str) -> Path:
        assert is_id(id_), id_  # it becomes the name of a file that may be deleted
        return Path(f"{self._runs}/{id_[:2]}/{id_}{_SUFFIX}")

    def _read_row(self, id_: str) -> Row:
        """Raises DamagedFileError, FileNotFoundError."""
        run = runfile.decode(self._read(id_))
        if isinstance(run, RunError):
            return Row(id_, str(run))
        try:
            return Row(id_, "", json.dumps(summarise(run)))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # A run of other models need not have measured what this version's metrics read.
            raise runfile.DamagedFileError(f"it has no metrics: {error!r}") from None

    def _read(self, id_: str) -> bytes:
        """Raises DamagedFileError, FileNotFoundError."""
        try:
            return self._file(id_).read_bytes()
        except FileNotFoundError:
            raise
        except OSError as error:
            raise runfile.DamagedFileError(f"it cannot be read: {error.strerror}") from None

    def _check_version(self) -> None:
        file = self.directory / _MARKER
        try:
            version = json.loads(file.read_bytes())["format"]
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{file} cannot be read: {error}") from None
        if version != FORMAT:
            raise StoreError(
                f"the store {self.directory} has format {version} of a newer tunnelcc; "
                f"this version reads format {FORMAT}"
            )

    def _write(self, file: Path, data: bytes) -> None:
        """Write ``file`` completely or not at all. Raises StoreError."""
        temporary = file.with_name(f".{file.name}.{os.urandom(4).hex()}.tmp")
        try:
            try:
                temporary.write_bytes(data)
            except FileNotFoundError:
                self._make(file.parent)
                temporary.write_bytes(data)
            temporary.replace(file)
        except BaseException as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            if isinstance(error, OSError):
                raise self._cannot_write(error) from error
            raise

    def _make(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        marker = self.directory / _MARKER
        if not marker.exists():
            self._write(marker, json.dumps({"format": FORMAT}).encode())

    def _cannot_write(self, error: OSError) -> StoreError:
        return StoreError(
            f"the store {self.directory} cannot be written: {error.strerror}; finished "
            "runs are kept"
        )
