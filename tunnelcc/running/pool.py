# SPDX-License-Identifier: GPL-2.0-only
"""Worker processes for many runs.

ns-3's simulator exists once per process, so parallel runs need processes, with one pipe each. On
Linux a fresh interpreter forks them (``forked``); elsewhere each is one (``spawned``).
``concurrent.futures`` is not used for three reasons: if one of its workers dies, it drops every
pending run; it cannot stop a running worker; and it imports the user's main script again.
"""

from __future__ import annotations

import contextlib
import operator
import sys
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import IO, Any, Protocol, TypeVar

from tunnelcc import modules, system
from tunnelcc.errors import RunError
from tunnelcc.modules import child
from tunnelcc.running import forked, spawned

Key = TypeVar("Key")


class _Family(Protocol):
    """Processes that are started, and ended, together."""

    def exit_code(self, number: int) -> int:
        """Return the exit code of a worker that has ended; −n for signal n, as in subprocess."""

    def end(self) -> None:
        """Wait until workers without work have ended, so that a user's files are written."""

    def kill(self) -> None:
        """Kill the workers and wait for their end."""


@dataclass
class _Worker:
    family: _Family
    number: int
    pipe: Connection[Any, Any]
    words: IO[bytes] | None  # see modules.child
    key: Any = None  # of the task it does


class Pool:
    """Worker processes that call ``function``, for tasks that come in several lots.

    They start while the first tasks are made. Leaving ``with`` ends them; an exception kills them.
    """

    def __init__(self, function: Callable[[Any], Any], count: int) -> None:
        modules.check_not_loading()  # each worker would start workers of its own
        self._function = function
        self._workers = _start(function, count)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        for worker in self._workers:
            worker.pipe.close()
            if worker.words is not None:
                worker.words.close()
        for family in {id(worker.family): worker.family for worker in self._workers}.values():
            family.end() if error is None else family.kill()

    def run(self, tasks: Iterable[tuple[Key, Any]]) -> Generator[tuple[Key, Any], None, None]:
        """Do a lot of tasks: see parallel()."""
        pending = iter(tasks)
        ready_ones = [it for it in self._workers if not it.pipe.closed]
        busy: dict[Any, _Worker] = {}
        for worker, task in zip(ready_ones, pending, strict=False):
            _assign(worker, self._function, *task)
            busy[worker.pipe] = worker
        while busy:
            for ready in wait(list(busy)):
                worker = busy[ready]
                finished, outcome = worker.key, _receive(worker)
                following = next(pending, None)
                if following is None or worker.pipe.closed:
                    del busy[ready]
                if following is not None:
                    if worker.pipe.closed:
                        (worker,) = _start(self._function, 1)
                        self._workers.append(worker)
                        busy[worker.pipe] = worker
                    _assign(worker, self._function, *following)
                yield finished, outcome


def parallel(
    function: Callable[[Any], Any], tasks: Iterable[tuple[Key, Any]], jobs: int | None = None
) -> Generator[tuple[Key, Any], None, None]:
    """Call ``function`` with each task's argument in worker processes; yield (key, outcome).

    Tasks start in order and are yielded as they end. If ``function`` raises an error of tunnelcc,
    or its process dies, only this task's outcome is a RunError. Closing the generator kills the
    processes. ``jobs``: number of processes; default: one per core, and at most the length (or
    length hint) of ``tasks``. The processes start while the first tasks are made.
    """
    count = min(jobs or system.cores(), operator.length_hint(tasks, sys.maxsize))
    if not count:
        return
    with Pool(function, count) as pool:
        yield from pool.run(tasks)


def _start(function: Callable[[Any], Any], count: int) -> list[_Worker]:
    way: Any = forked if system.FORKS else spawned
    family, pipes, words = way.start(function.__module__, count)
    return [_Worker(family, number, pipes[number], words[number]) for number in range(count)]


def _assign(worker: _Worker, function: Callable[[Any], Any], key: Key, argument: object) -> None:
    worker.key = key
    with contextlib.suppress(OSError):  # It has died; reading from the pipe will tell.
        worker.pipe.send((function, argument))


def _receive(worker: _Worker) -> Any:
    """Return the outcome of the worker's task. If the worker has died, close its pipe."""
    try:
        return worker.pipe.recv()
    except (EOFError, OSError):
        worker.pipe.close()
        code = worker.family.exit_code(worker.number)
        how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
        why = worker.words and child.explain_end(worker.words, code)
        return RunError(why or f"the process that simulated this experiment {how}")
