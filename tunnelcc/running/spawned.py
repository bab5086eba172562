# SPDX-License-Identifier: GPL-2.0-only
"""Workers that are fresh interpreters: for systems on which a process cannot be forked safely."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib import import_module
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess, parent_process
from types import ModuleType
from typing import Any

from tunnelcc.running import worker

_LONGEST_END = 5.0  # seconds of real time that a worker may take to end by itself


class Family:
    """Processes, each of which does tasks until its pipe is closed."""

    def __init__(self, processes: Sequence[BaseProcess]) -> None:
        self._processes = processes

    @property
    def members(self) -> list[int]:
        """The workers' process ids."""
        return [process.pid or 0 for process in self._processes]

    def exit_code(self, number: int) -> int:
        """Return the exit code of a worker that has ended; −n for signal n, as in subprocess."""
        process = self._processes[number]
        process.join()
        return process.exitcode or 0

    def end(self) -> None:
        """Wait until workers without work have ended, so that a user's files are written."""
        for process in self._processes:
            process.join(_LONGEST_END)
        self.kill()

    def kill(self) -> None:
        """Kill the workers and wait for their end."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join()


def start(module: str, count: int) -> tuple[Family, list[Connection[Any, Any]], list[None]]:
    """Return new workers for functions of ``module``: their pipes, and no files of last words."""
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(count)]
    processes = [
        context.Process(target=_serve, args=(module, theirs), daemon=True) for _, theirs in pipes
    ]
    with _without_main():
        for process in processes:
            process.start()
    for _, theirs in pipes:
        theirs.close()
    return Family(processes), [ours for ours, _ in pipes], [None] * count


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Let new processes not import the user's main script again, which may simulate at once."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _serve(module: str, pipe: Connection[Any, Any]) -> None:
    # Ctrl-C reaches the whole group of processes; the parent decides what ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import_module(module)
    worker.do_tasks(pipe)


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(0)
