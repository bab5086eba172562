# SPDX-License-Identifier: GPL-2.0-only
"""What only some systems have, and what stands in for it elsewhere."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import select
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

#: Whether workers are forked from one process. macOS has fork, but not for what its libraries do.
FORKS = sys.platform == "linux"
_IS_WAITING = getattr(os, "O_NONBLOCK", 0)
_SOME_BYTES = 1 << 20
_LONGEST_WAIT = 2.0  # seconds of real time for a program that is to write to a pipe


def cores() -> int:
    """Return the number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def opened(path: str | Path) -> IO[bytes]:
    """Open a file to read. Raises OSError, also for a pipe or a device."""
    file = open(path, "rb", opener=_at_once)  # noqa: SIM115  (the caller closes it)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is a pipe or a device")
    return file


def read(path: str | Path, most: int) -> bytes:
    """Return the bytes of a file. Raises OSError, also if it has more than ``most``."""
    with opened(path) as file:
        return rest(file, most)


def rest(file: IO[bytes], most: int) -> bytes:
    """Return what is left of an opened file. Raises OSError if the file has more than ``most``.

    A file of any length may take no place on its disk: it is refused before it is read.
    """
    begin = size = file.tell()
    with contextlib.suppress(OSError):  # some files of /proc have no end
        size = file.seek(0, os.SEEK_END)
    file.seek(begin)
    _check_size(size, most)
    return _at_most(most, file.read(max(size, _SOME_BYTES) + 1))


def read_once(path: str | Path, most: int) -> bytes:
    """Return what read() does, or what comes out of a device, or a pipe that is written to."""
    with open(path, "rb", opener=_at_once) as file:
        is_pipe = stat.S_ISFIFO(os.fstat(file.fileno()).st_mode)
        return _at_most(most, _written(file, most + 1) if is_pipe else file.read(most + 1))


def _at_most(most: int, data: bytes) -> bytes:
    _check_size(len(data), most)
    return data


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise OSError(errno.EFBIG, f"it has more than {most >> 20} MiB")


def _at_once(path: str, flags: int) -> int:
    """Open a file; a pipe, without a wait for the other end."""
    number = os.open(path, flags | _IS_WAITING, 0o666)
    if _IS_WAITING and not stat.S_ISFIFO(os.fstat(number).st_mode):
        os.set_blocking(number, True)
    return number


def _without_links(path: str, flags: int) -> int:
    return _at_once(path, flags | getattr(os, "O_NOFOLLOW", 0))


def _written(pipe: IO[bytes], most: int) -> bytes:
    data = bytearray()
    until = time.monotonic() + _LONGEST_WAIT
    while len(data) < most:
        try:
            part = os.read(pipe.fileno(), most - len(data))
        except BlockingIOError:  # a program has it open, and writes later
            select.select([pipe], [], [])
            continue
        data += part
        if data and not part:
            break
        if not data:
            if time.monotonic() > until:
                raise OSError(errno.EPIPE, "no program writes to this pipe")
            time.sleep(_LONGEST_WAIT / 100)
    return bytes(data)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, which is made if it is not there. Raises OSError if it cannot be.

    It is no link: whoever may write to a shared folder would make files in other places.
    """
    with open(path, "ab", opener=_without_links) as file:
        with contextlib.suppress(OSError):  # some network file systems have no locks
            _lock(file)
        yield


def _lock(file: IO[bytes]) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        functions: Any = importlib.import_module("msvcrt")
        while True:
            with contextlib.suppress(OSError):  # after ten seconds
                file.seek(0)
                functions.locking(file.fileno(), functions.LK_LOCK, 1)
                return
    fcntl.flock(file, fcntl.LOCK_EX)


def is_private(found: os.stat_result) -> bool:
    """Whether a folder is this user's and nobody else may write to it, as far as modes tell."""
    if not hasattr(os, "geteuid"):  # Windows, where a user's own folders are
        return True
    return found.st_uid == os.geteuid() and not stat.S_IMODE(found.st_mode) & 0o022


def available_memory() -> float:
    """Return the bytes of memory that are available without swapping; infinite: unknown."""
    return min(_host_memory(), _group_memory())


def _host_memory() -> float:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return float("inf")


def _group_memory() -> float:
    """Return what a container's control group (version 2) still allows."""
    group = Path("/sys/fs/cgroup")
    try:
        limit = float((group / "memory.max").read_text())
        return limit - float((group / "memory.current").read_text())
    except (OSError, ValueError):  # no group, or its limit is "max"
        return float("inf")
