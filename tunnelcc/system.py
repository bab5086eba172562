# SPDX-License-Identifier: GPL-2.0-only
"""What only some systems have, and what stands in for it elsewhere."""

from __future__ import annotations

import contextlib
import importlib
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

#: Whether workers are forked from one process. macOS has fork, but not for what its libraries do.
FORKS = sys.platform == "linux"


def cores() -> int:
    """Return the number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, which is made if it is not there. Raises OSError if it cannot be."""
    with path.open("ab") as file:
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
