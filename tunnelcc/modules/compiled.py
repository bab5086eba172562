# SPDX-License-Identifier: GPL-2.0-only
"""The folder of compiled files: ``CODE.so``, and ``CODE.json`` with what it holds.

``PLAIN.includes`` names the files that only the compiler finds: see Source.

It is the user's own, and nobody else may write to it: what is in it is loaded and run.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from tunnelcc.errors import TunnelccError

_MODE = 0o700


def folder() -> Path:
    """Return the folder, made if it is not there. Raises TunnelccError."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    path = Path(base).expanduser() / "tunnelcc" / "modules"
    try:
        path.mkdir(mode=_MODE, parents=True, exist_ok=True)
        found = path.stat()
    except OSError as error:
        raise TunnelccError(
            f"{path}, where compiled congestion controls are kept, cannot be made: "
            f"{error.strerror}; XDG_CACHE_HOME sets another folder"
        ) from None
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o022:
        raise TunnelccError(
            f"{path} belongs to somebody else, or others may write to it; compiled congestion "
            "controls are not loaded from there. XDG_CACHE_HOME sets another folder"
        )
    return path


def library(code: str) -> Path:
    """Return the path of the compiled file with the hash ``code``."""
    return folder() / f"{code}.so"


def description(code: str) -> Path:
    """Return the path of the JSON file that describes a compiled file."""
    return folder() / f"{code}.json"


def included(plain: str) -> list[str]:
    """Return the paths, from the file's folder, of what only the compiler found."""
    try:
        names: list[str] = json.loads((folder() / f"{plain}.includes").read_text())
    except FileNotFoundError:
        return []
    return names


def write_included(plain: str, names: Iterable[str]) -> None:
    """Remember what included() returns."""
    write(folder() / f"{plain}.includes", json.dumps(list(names)).encode())


@contextlib.contextmanager
def locked(code: str) -> Iterator[None]:
    """Hold a lock, so that no other process compiles the same file at the same time."""
    with (folder() / f".{code}.lock").open("ab") as lock:
        with contextlib.suppress(OSError):  # some network file systems have no locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def write(path: Path, data: bytes) -> None:
    """Write a file completely or not at all."""
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    temporary.write_bytes(data)
    temporary.replace(path)
