# SPDX-License-Identifier: GPL-2.0-only
"""A process of its own for code of others: however it ends, that is a value or a sentence.

The process is a copy of this one (fork), so it has the classes that were typed in here, and needs
no imports. All that only systems with fork have is in this file.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import pickle
import select
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable
from typing import IO, Any, NoReturn, TypeVar

from tunnelcc import core
from tunnelcc.errors import RunError
from tunnelcc.modules.faults import explain

T = TypeVar("T")
#: Is told how far a run is, in simulated seconds. What it raises ends the run.
Report = Callable[[float], None]

_FILES = (io.BufferedWriter, io.BufferedRandom, io.TextIOWrapper)
_LONGEST_END = 1.0  # seconds of real time until a run that is to end is killed

#: In a process that somebody watches: where it says what it runs, and what it dies of.
_words: IO[bytes] | None = None


def new_words() -> IO[bytes]:
    """Return a file for the last words of a process."""
    return tempfile.TemporaryFile()


def serve(words: IO[bytes]) -> None:
    """Let this process run code of others itself: its parent explains its end with ``words``."""
    global _words
    _words = words


def call(
    function: Callable[[Report], T],
    names: str,
    report: Report = lambda _: None,
    *,
    is_python: bool,
) -> T:
    """Return ``function(report)`` of a process of its own. Raises what it raises.

    ``names``: of the files whose code it runs. ``is_python``: there is Python among it, which may
    leave files open. Raises RunError if it ends the process.
    """
    if _words is None:
        return _in_child(function, names, report, is_python)
    core.load().leave_last_words(_words.fileno())
    _write(_words, names)
    try:
        return function(report)
    finally:
        _write(_words, "")


def explain_end(words: IO[bytes], code: int) -> str | None:
    """Say why a process ended that served with ``words``; None: it ran no code of others.

    ``code``: its exit status; −n for signal n.
    """
    words.seek(0)
    names, _, told = words.read().decode(errors="replace").partition("\n")
    if told:
        return explain(told)
    if not names:
        return None
    if code < 0:
        how = f"was killed by {signal.Signals(-code).name} ({signal.strsignal(-code)})"
    else:
        how = f"was ended by it, with status {code}"
    return f"{names}: the process it ran in {how}"


def _write(words: IO[bytes], names: str) -> None:
    """``names``, on a line; the compiled module adds what the process dies of."""
    os.ftruncate(words.fileno(), 0)
    os.pwrite(words.fileno(), f"{names}\n".encode() if names else b"", 0)


def _in_child(function: Callable[[Report], T], names: str, report: Report, is_python: bool) -> T:
    from multiprocessing.connection import Pipe

    ours, theirs = Pipe(duplex=False)
    with new_words() as words, ours:
        _flush_files(is_python)
        with warnings.catch_warnings():
            # Of other threads' locks; the child uses none that this package knows of.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            _run(function, names, theirs, words, is_python)
        theirs.close()
        try:
            while True:
                kind, value = ours.recv()
                if kind != "report":
                    break
                report(value)
        except EOFError:
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            raise RunError(explain_end(words, code) or "the simulator failed") from None
        except BaseException as error:
            if not _end(child, ours) and isinstance(error, KeyboardInterrupt):
                raise RunError(f"{names}: interrupted in a call that does not return") from None
            raise
        os.waitpid(child, 0)
    if kind == "error":
        raise value
    result: T = value
    return result


def _end(child: int, pipe: Any) -> bool:
    """End a child, and return whether it ended by itself."""
    os.kill(child, signal.SIGTERM)
    try:
        with contextlib.suppress(EOFError, OSError):
            while select.select([pipe], [], [], _LONGEST_END)[0]:
                pipe.recv()
            return False
        return True
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


class _EndedError(BaseException):
    """The parent wants no more."""


def _run(
    function: Callable[[Report], Any], names: str, pipe: Any, words: IO[bytes], is_python: bool
) -> NoReturn:
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
            message = ("result", call(function, names, report, is_python=is_python))
        except Exception as error:
            message = ("error", error)
        _flush_files(is_python)
        try:
            pipe.send(message)
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            pipe.send(("error", RunError(f"the simulator failed: {error}")))
    except _EndedError:
        _flush_files(is_python)
    finally:
        os._exit(0)


def _flush_files(is_python: bool) -> None:
    """Write what open files hold, so that a copy of this process does not write it again."""
    found = gc.get_objects() if is_python else []  # they are many
    files = [it for it in found if issubclass(type(it), _FILES)]
    for it in [sys.stdout, sys.stderr, *files]:
        with contextlib.suppress(Exception):  # closed, or a pipe without a reader
            it.flush()
