# SPDX-License-Identifier: GPL-2.0-only
"""Worker processes for many runs.

ns-3's simulator exists once per process, so parallel runs need processes. A fresh interpreter forks
them, with one pipe each. ``concurrent.futures`` is not used for three reasons: if one of its
workers dies, it drops every pending run; it cannot stop a running worker; and it imports the user's
main script again.
"""

from __future__ import annotations

import contextlib
import operator
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.connection import Connection, Pipe
from typing import IO, Any, TypeVar

from tunnelcc import modules
from tunnelcc.errors import RunError
from tunnelcc.modules import child

Key = TypeVar("Key")

_LONGEST_END = 5.0  # seconds of real time that a worker may take to end by itself


def cores() -> int:
    """Return the number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Family:
    """A process that has forked workers, and reports how they end."""

    def __init__(self, process: subprocess.Popen[bytes], ends: Connection[Any, Any]) -> None:
        self._process = process
        self._ends = ends
        self._codes: dict[int, int] = {}

    @cached_property
    def members(self) -> list[int]:
        """The workers' process ids; waits for them. Raises EOFError if they do not start."""
        members: list[int] = self._ends.recv()
        return members

    def exit_code(self, number: int) -> int:
        """Return the exit code of the next worker that ends; −n for signal n, as in subprocess."""
        try:
            member = self.members[number]
            self._process.send_signal(signal.SIGCONT)  # it tells nothing if somebody stopped it
            while member not in self._codes:
                ended, code = self._ends.recv()
                self._codes[ended] = code
            return self._codes[member]
        except EOFError:
            return self._process.wait()

    def end(self) -> None:
        """Wait until workers without work have ended, so that a user's files are written."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LONGEST_END)
        self.kill()

    def kill(self) -> None:
        """Kill the workers and wait for their end."""
        self._process.terminate()  # which it passes on, once it runs
        self._process.send_signal(signal.SIGCONT)
        self._process.wait()
        self._ends.close()


@dataclass
class _Worker:
    family: _Family
    number: int
    pipe: Connection[Any, Any]
    words: IO[bytes]  # see modules.child
    key: Any = None  # of the task it does


def parallel(
    function: Callable[[Any], Any], tasks: Iterable[tuple[Key, Any]], jobs: int | None = None
) -> Generator[tuple[Key, Any], None, None]:
    """Call ``function`` with each task's argument in worker processes; yield (key, outcome).

    Tasks start in order and are yielded as they end. If ``function`` raises an error of tunnelcc,
    or its process dies, only this task's outcome is a RunError. Closing the generator kills the
    processes. ``jobs``: number of processes; default: one per core, and at most the length (or
    length hint) of ``tasks``. The processes start while the first tasks are made.
    """
    count = min(jobs or cores(), operator.length_hint(tasks, sys.maxsize))
    if not count:
        return
    modules.check_not_loading()  # each worker would start workers of its own
    pending = iter(tasks)
    workers = _start(function, count)
    busy = selectors.DefaultSelector()
    end = _Family.kill
    try:
        for worker, task in zip(workers, pending, strict=False):
            _assign(worker, function, *task)
            busy.register(worker.pipe, selectors.EVENT_READ, worker)
        while busy.get_map():
            for ready, _ in busy.select():
                worker = ready.data
                finished, outcome = worker.key, _receive(worker)
                following = next(pending, None)
                if following is None or worker.pipe.closed:
                    busy.unregister(ready.fd)
                if following is not None:
                    if worker.pipe.closed:
                        (worker,) = _start(function, 1)
                        workers.append(worker)
                        busy.register(worker.pipe, selectors.EVENT_READ, worker)
                    _assign(worker, function, *following)
                yield finished, outcome
        end = _Family.end
    finally:
        for worker in workers:
            worker.pipe.close()
            worker.words.close()
        for family in {id(worker.family): worker.family for worker in workers}.values():
            end(family)
        busy.close()


def _start(function: Callable[[Any], Any], count: int) -> list[_Worker]:
    ends, their_ends = Pipe(duplex=False)
    pipes = [Pipe() for _ in range(count)]
    words = [child.new_words() for _ in range(count)]
    theirs = [their_ends, *(there for _, there in pipes)]
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; "
        f"from tunnelcc.running.worker import main; main({function.__module__!r})"
    )
    descriptors = [it.fileno() for it in theirs] + [it.fileno() for it in words]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, descriptors)],
        pass_fds=descriptors,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        # numpy's threads have nothing to do, but take a core when they start; nor do plugins.
        env={"OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "__all__", **os.environ},
    )
    for pipe in theirs:
        pipe.close()
    family = _Family(process, ends)
    return [_Worker(family, number, pipes[number][0], words[number]) for number in range(count)]


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
        why = child.explain_end(worker.words, code)
        return RunError(why or f"the process that simulated this experiment {how}")
