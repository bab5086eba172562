# SPDX-License-Identifier: GPL-2.0-only
"""The inside of a process that runs code of others: see ``tunnelcc.modules.child``."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import pickle
import signal
import sys
from collections.abc import Callable
from typing import IO, Any, NoReturn, TypeVar

from tunnelcc import core
from tunnelcc.errors import RunError

T = TypeVar("T")
#: Is told how far a run is, in simulated seconds. What it raises ends the run.
Report = Callable[[float], None]

_FILES = (io.BufferedWriter, io.BufferedRandom, io.TextIOWrapper)

#: In a process that somebody watches: where it says what it runs, and what it dies of.
_words: IO[bytes] | None = None


def serve(words: IO[bytes]) -> None:
    """Let this process run code of others itself: its parent explains its end with ``words``."""
    global _words
    _words = words


def serves() -> bool:
    """Whether this process does."""
    return _words is not None


def watched(function: Callable[[Report], T], names: str, report: Report) -> T:
    """Return ``function(report)``, in a process that serves. ``names``: of the files it runs."""
    assert _words is not None
    core.load().leave_last_words(_words.fileno())
    _write(_words, names)
    try:
        return function(report)
    finally:
        _write(_words, "")


def _write(words: IO[bytes], names: str) -> None:
    """``names``, on a line; the compiled module adds what the process dies of."""
    os.ftruncate(words.fileno(), 0)
    os.pwrite(words.fileno(), f"{names}\n".encode() if names else b"", 0)


class _EndedError(BaseException):
    """The parent wants no more."""


def run(
    function: Callable[[Report], Any], names: str, pipe: Any, words: IO[bytes], *, is_python: bool
) -> NoReturn:
    """Send what ``function`` returns or raises, and what it reports; end this process."""
    is_over = False

    def end(*_: object) -> None:
        nonlocal is_over
        is_over = True

    def report(seconds: float) -> None:
        if is_over:
            raise _EndedError
        pipe.send(("report", seconds))

    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it reaches the parent, too
        signal.signal(signal.SIGTERM, end)
        serve(words)
        try:
            message = ("result", watched(function, names, report))
        except Exception as error:
            message = ("error", error)
        flush_files(is_python=is_python)
        try:
            pipe.send(message)
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            pipe.send(("error", RunError(f"the simulator failed: {error}")))
    except _EndedError:
        flush_files(is_python=is_python)
    finally:
        os._exit(0)


def flush_files(*, is_python: bool) -> None:
    """Write what open files hold, so that a copy of this process does not write it again."""
    found = gc.get_objects() if is_python else []  # they are many, and of few types
    of_files = {it for it in set(map(type, found)) if issubclass(it, _FILES)}
    files = [it for it in found if type(it) in of_files]
    for it in [sys.stdout, sys.stderr, *files]:
        with contextlib.suppress(Exception):  # closed, or a pipe without a reader
            it.flush()
