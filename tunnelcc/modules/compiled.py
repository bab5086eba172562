# SPDX-License-Identifier: GPL-2.0-only
"""The folder of compiled files: ``CODE.so``, and ``CODE.json`` with what it holds.

``PLAIN.includes`` names the files that only the compiler finds: see Source.

It is the user's own, and nobody else may write to it, or to a folder that it is in: what is in it
is loaded and run, and who may rename a folder puts another one in its place.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tunnelcc import system
from tunnelcc.errors import TunnelccError

_MODE = 0o700
#: Who owns the files of others in a namespace of users, such as root's in a container.
_OVERFLOW = Path("/proc/sys/kernel/overflowuid")


def folder() -> Path:
    """Return the folder, made if it is not there. Raises TunnelccError."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    path = Path(base).expanduser() / "tunnelcc" / "modules"
    try:
        path.parent.mkdir(mode=_MODE, parents=True, exist_ok=True)
        path.mkdir(mode=_MODE, exist_ok=True)
        path = path.resolve()  # what is checked is what is used, whatever becomes of links
        found = path.stat()
        unsafe = next(filter(_is_open, path.parents), None)
    except OSError as error:
        raise TunnelccError(
            f"{path}, where compiled congestion controls are kept, cannot be made: "
            f"{error.strerror}; XDG_CACHE_HOME sets another folder"
        ) from None
    if not system.is_private(found):
        raise TunnelccError(
            f"{path} belongs to somebody else, or others may write to it; compiled congestion "
            "controls are not loaded from there. XDG_CACHE_HOME sets another folder"
        )
    if unsafe is not None:
        raise TunnelccError(
            f"{unsafe} belongs to somebody else, or all may rename what is in it; compiled "
            f"congestion controls are not loaded from {path}. XDG_CACHE_HOME sets another folder"
        )
    return path


def _is_open(parent: Path) -> bool:
    """Whether somebody else may put another folder in the place of one in ``parent``.

    In a sticky folder such as /tmp, only its owner may. Of a group, all are trusted.
    """
    found = parent.stat()
    owners = {0, os.geteuid(), _overflow()}
    is_for_all = bool(found.st_mode & stat.S_IWOTH) and not found.st_mode & stat.S_ISVTX
    return found.st_uid not in owners or is_for_all


@cache
def _overflow() -> int:
    """Return who owns the files of others; root where the system has no such user."""
    with contextlib.suppress(OSError, ValueError):
        return int(_OVERFLOW.read_text())
    return 0


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
    with system.locked(folder() / f".{code}.lock"):
        yield


def write(path: Path, data: bytes) -> None:
    """Write a file completely or not at all. Raises TunnelccError."""
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise TunnelccError(
            f"{path}, a compiled congestion control or what is known of one, cannot be written: "
            f"{error.strerror}; XDG_CACHE_HOME sets another folder"
        ) from None
