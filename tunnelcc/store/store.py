# SPDX-License-Identifier: GPL-2.0-only
"""A directory with finished runs, one file each, and the sweeps that use them.

::

    store.json              version of the layout
    runs/ab/abcd….run       one run with its series, see ``runfile``; complete or absent, also
                            after a kill
    runs/ab/abcd….metrics   one run without its series
    runs/ab/abcd….failed    why a run failed
    sweeps/NAME.json        a sweep: its declaration, and the ids of its runs
    sweeps/NAME.npz         all metrics of a large sweep, see ``columns``; made anew if it is lost

Several processes may use a store at the same time.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, TypeVar

from tunnelcc import system
from tunnelcc.core import model_version
from tunnelcc.errors import ConfigError, Problem, RunError, TunnelccError, nearest
from tunnelcc.results.result import Result
from tunnelcc.scenario import Experiment
from tunnelcc.store import record as records
from tunnelcc.store import runfile
from tunnelcc.store.identity import run_id
from tunnelcc.store.record import Record, is_id
from tunnelcc.store.runfile import NoSeriesError, Row

FORMAT = 2
#: The format before, in which failed runs have the suffix of others.
_OLD = 1
_MARKER = "store.json"
_LONGEST_MARKER = 1 << 20  # bytes
_LONGEST_SWEEP = 1 << 28  # a million ids have 35 MB
#: With series; without; failed. A run has the first of these files that is there.
RUN, METRICS, FAILED = ".run", ".metrics", ".failed"
_SUFFIXES = (RUN, METRICS, FAILED)
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

    def add(self, id_: str, suffix: str, data: bytes) -> None:
        """Save the file ``data`` of a run. ``suffix``: which of the three it is.

        Raises StoreError.
        """
        self._write(self._file(id_, suffix), data)
        place = _SUFFIXES.index(suffix)
        for other in _SUFFIXES[place + 1 :]:
            with contextlib.suppress(OSError):
                os.unlink(self._file(id_, other))
        # A damaged file with more in it would hide this one.
        for other in filter(os.path.exists, (self._file(id_, it) for it in _SUFFIXES[:place])):
            if self.row(id_) is not None:
                break
            with contextlib.suppress(OSError):
                os.unlink(other)

    def row(self, id_: str) -> Row | None:
        """Return error and metrics of a run; None if the run is absent or damaged."""
        with contextlib.suppress(runfile.DamagedFileError, FileNotFoundError):
            return self._read_row(id_)
        return None

    def is_done(self, id_: str, *, series: bool = False) -> bool:
        """Whether there is an intact run that did not fail. ``series``: and has its series."""
        if series and not os.path.exists(self._file(id_, RUN)):
            return False
        row = self.row(id_)
        return row is not None and not row.error

    def kinds(self) -> dict[str, str]:
        """Return id → suffix of all runs, without a look into their files."""
        found: dict[str, str] = {}
        with contextlib.suppress(OSError):
            for folder in os.scandir(self._runs):
                with contextlib.suppress(OSError):
                    for name in os.listdir(folder.path):
                        id_, suffix = name[:32], name[32:]
                        if suffix in _SUFFIXES and is_id(id_) and id_[:2] == folder.name:
                            known = found.get(id_, FAILED)
                            found[id_] = min(known, suffix, key=_SUFFIXES.index)
        return found

    def damage(self, id_: str) -> str:
        """Read a run's file and return why it cannot be used; "" if it can, or is absent."""
        return str(self._problem(id_) or "")

    def _problem(self, id_: str) -> runfile.DamagedFileError | None:
        try:
            runfile.row_of_all(id_, self._read(id_))
        except (FileNotFoundError, NoSeriesError):
            return None
        except runfile.DamagedFileError as error:
            return error
        return None

    def is_outdated(self, id_: str) -> bool:
        """Whether other models than this installation's made a run, so that nothing finds it."""
        try:
            data = self._read(id_)
            made = runfile.versions(data)
            if "models" in made:
                return made["models"] != model_version()
            return run_id(runfile.experiment(data)) != id_
        except runfile.OlderFileError:
            return True
        except (FileNotFoundError, TunnelccError):
            return False  # damaged

    def unnamed(self) -> list[str]:
        """Return the ids of the runs that no sweep has."""
        named = {id_ for name in self.sweep_names() for id_ in self.sweep(name).ids}
        return [id_ for id_ in self.ids() if id_ not in named]

    def merge(self, other: Store) -> tuple[int, int]:
        """Take runs and sweeps of another store. Return the numbers of new runs and of sweeps.

        What both have stays as it is here, but a sweep takes the runs that the same sweep has there
        in addition. Raises ConfigError, before anything is copied, if both have different sweeps of
        one name, and StoreError.
        """
        records_there = {name: other.sweep(name) for name in other.sweep_names()}
        names = set(self.sweep_names())
        for name in names & records_there.keys():
            here, there = self.sweep(name), records_there[name]
            if (here.scenario, here.models) != (there.scenario, there.models):
                expected = f"a name that {self.directory} does not have for another sweep"
                raise ConfigError(Problem("sweep", str(other.directory / name), expected))
        kinds, runs = self.kinds(), 0
        for id_, suffix in other.kinds().items():
            known = kinds.get(id_)
            if known is None or _SUFFIXES.index(suffix) < _SUFFIXES.index(known):
                self.add(id_, suffix, other._read(id_))
                runs += 1
        for name, record in records_there.items():
            self.update_sweep(name, partial(_longer, record))
        return runs, len(records_there.keys() - names)

    def load(self, id_: str) -> Result | RunError:
        """Return a run, or the error that it ended with. Raises StoreError, NoSeriesError."""
        try:
            return self._decoded(id_, runfile.decode)
        except NoSeriesError as error:
            raise NoSeriesError(
                f"the run {id_}: {error}; `tunnelcc sweep --series` (in Python series=True) runs "
                "it again and keeps them"
            ) from None

    def experiment(self, id_: str) -> Experiment:
        """Return what a run simulated, or should have simulated. Raises StoreError."""
        return self._decoded(id_, runfile.experiment)

    def _decoded(self, id_: str, decode: Callable[[bytes], _Part]) -> _Part:
        try:
            return decode(self._read(id_))
        except FileNotFoundError:
            raise StoreError(f"{self.directory} has no run {id_}") from None
        except runfile.DamagedFileError as error:
            raise StoreError(f"{self._there(id_)} is damaged: {error}; {_DELETE}") from None

    def ids(self) -> Iterator[str]:
        """Yield the ids of all runs, in order."""
        yield from sorted(self.kinds())

    def versions(self, id_: str) -> dict[str, str]:
        """Return the versions that made a run. Raises StoreError."""
        return self._decoded(id_, runfile.versions)

    def bytes_of(self, id_: str) -> int:
        """Return the size of a run's file."""
        file = self._there(id_)
        return os.stat(file).st_size if file else 0

    def size(self) -> tuple[int, int]:
        """Return the number of runs and the total size of their files in bytes."""
        count = total = 0
        for id_, suffix in self.kinds().items():
            with contextlib.suppress(OSError):
                total += os.stat(self._file(id_, suffix)).st_size
                count += 1
        return count, total

    def find(self, beginning: str) -> str:
        """Return the one id that starts with ``beginning``.

        Raises ConfigError, whose message says if it is the name of a sweep.
        """
        hexadecimal = re.fullmatch(r"[0-9a-f]{2,32}", beginning) is not None
        files = self._runs.glob(f"{beginning[:2]}/{beginning}*") if hexadecimal else ()
        found = sorted({file.stem for file in files if file.suffix in _SUFFIXES})
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
                for suffix in _SUFFIXES:
                    Path(self._file(id_, suffix)).unlink(missing_ok=True)
        except OSError as error:
            raise self._cannot_write(error) from error

    def damaged(self) -> Iterator[tuple[str, str]]:
        """Read every file. Yield (id, problem) of the runs that cannot be used."""
        for id_ in self.ids():
            problem = self._problem(id_)
            if problem is None and self._is_of_another(id_):
                yield id_, "it is the run of another experiment, under this one's name"
            elif problem is not None and not isinstance(problem, runfile.OlderFileError):
                yield id_, str(problem)

    def _is_of_another(self, id_: str) -> bool:
        """Whether an intact file of these models has the run of another id."""
        with contextlib.suppress(TunnelccError):  # such as of a class that is not here
            data = self._read(id_)
            if runfile.versions(data).get("models") == model_version():
                return run_id(runfile.experiment(data)) != id_
        return False

    def clean(self) -> None:
        """Delete incomplete files of killed processes, and the index of earlier versions."""
        (self.directory / "index.txt").unlink(missing_ok=True)
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
        with contextlib.ExitStack() as stack:
            try:
                self._make(self._sweeps)
                stack.enter_context(system.locked(self._sweeps / ".lock"))
            except OSError as error:
                raise self._cannot_write(error) from error
            yield

    def sweep(self, name: str) -> Record:
        """Return the sweep of that name. Raises ConfigError, StoreError."""
        file = self._sweeps / f"{name}.json"
        try:
            return records.decode(system.read(file, _LONGEST_SWEEP))
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
            for suffix in (".json", ".npz", ".parquet"):  # the last one: of 0.2.1 and before
                (self._sweeps / f"{name}{suffix}").unlink(missing_ok=True)
        except OSError as error:
            raise self._cannot_write(error) from error

    # Files

    def columns_file(self, name: str) -> Path:
        """Return the file of a sweep's columns."""
        return self._sweeps / f"{name}.npz"

    def state(self) -> str:
        """Return a text that changes when a run is added, replaced or removed."""
        with contextlib.suppress(OSError):
            folders = sorted(os.scandir(self._runs), key=lambda it: it.name)
            return " ".join(f"{it.name}{it.stat().st_mtime_ns:x}" for it in folders)
        return ""

    def _file(self, id_: str, suffix: str) -> str:
        assert is_id(id_), id_  # it becomes the name of a file that may be deleted
        return f"{self._runs}/{id_[:2]}/{id_}{suffix}"

    def _there(self, id_: str) -> str | None:
        """Return the file of a run that is there."""
        names = (self._file(id_, suffix) for suffix in _SUFFIXES)
        return next(filter(os.path.exists, names), None)

    def _read_row(self, id_: str) -> Row:
        """Raises DamagedFileError, FileNotFoundError."""
        with self._opened(id_) as file:
            try:
                return runfile.read_row(id_, file)
            except OSError as error:
                raise _unreadable(error) from None

    def _read(self, id_: str) -> bytes:
        """Raises DamagedFileError, FileNotFoundError."""
        with self._opened(id_) as file:
            try:
                return system.rest(file, runfile.LONGEST)
            except OSError as error:
                raise _unreadable(error) from None

    def _opened(self, id_: str) -> IO[bytes]:
        """Open the file of a run. Raises DamagedFileError, FileNotFoundError."""
        for suffix in _SUFFIXES:
            try:
                return system.opened(self._file(id_, suffix))
            except FileNotFoundError:
                continue
            except OSError as error:
                raise _unreadable(error) from None
        raise FileNotFoundError(id_)

    def _check_version(self) -> None:
        file = self.directory / _MARKER
        #: Whether an earlier version made it, in which the name of a file does not tell of failure.
        self.is_old = False
        try:
            version = json.loads(system.read(file, _LONGEST_MARKER))["format"]
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreError(f"{file} cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError):
            version = None
        if not isinstance(version, int):
            expected = json.dumps({"format": FORMAT})
            raise StoreError(
                f"{file} is damaged: expected {expected}; if this version made the store, write "
                "that into the file: its runs are other files, each with a check of its own"
            )
        self.is_old = version == _OLD
        if version not in (_OLD, FORMAT):
            raise StoreError(
                f"the store {self.directory} has format {version} of a newer tunnelcc; "
                f"this version reads formats up to {FORMAT}"
            )

    def _write(self, name: str | Path, data: bytes) -> None:
        """Write a file completely or not at all. Raises StoreError."""
        folder, file = os.path.split(name)
        temporary = Path(f"{folder or '.'}/.{file}.{os.urandom(4).hex()}.tmp")
        try:
            try:
                temporary.write_bytes(data)
            except FileNotFoundError:
                self._make(Path(folder))
                temporary.write_bytes(data)
            os.replace(temporary, name)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            if isinstance(error, OSError):
                raise self._cannot_write(error) from error
            raise

    def _make(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        marker = self.directory / _MARKER
        if not marker.exists():
            self._write(marker, json.dumps({"format": FORMAT}).encode())

    def _cannot_write(self, error: OSError) -> StoreError:
        where = f" ({error.filename})" if isinstance(error, PermissionError) else ""
        return StoreError(
            f"the store {self.directory} cannot be written: {error.strerror}{where}; finished "
            "runs are kept, and --store names another folder"
        )


def _longer(new: Record, there: Record | None) -> Record | None:
    """Return the record of a sweep that has more runs than the one that is there, or None."""
    return new if there is None or len(new.ids) > len(there.ids) else None


def _unreadable(error: OSError) -> runfile.DamagedFileError:
    return runfile.DamagedFileError(f"it cannot be read: {error.strerror}")
