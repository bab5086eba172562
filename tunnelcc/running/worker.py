# SPDX-License-Identifier: GPL-2.0-only
"""Worker processes: each receives tasks over a pipe until the pipe is closed.

One fresh interpreter imports the modules and forks the workers. An import takes as long as tens of
runs, and its memory is shared this way. The interpreter has one thread then, so the fork is safe.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import sys
import threading
from collections.abc import Iterable
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from tunnelcc.core import inside
from tunnelcc.errors import RunError, TunnelccError


def main(module: str) -> None:
    """Fork one worker, with functions of ``module``, for each pipe's file descriptor.

    Arguments of the process: first the file descriptor of a pipe for the workers' process ids, and
    later for the process id and exit code of each worker that ends; then the workers' pipes; then
    the files of their last words (see modules.child).
    """
    # Ctrl-C reaches the whole group of processes; the parent decides what ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()
    import_module(module)
    gc.freeze()  # What is imported stays; the collector need not look at it again and again.
    gc.enable()
    descriptors = [int(it) for it in sys.argv[1:]]
    count = len(descriptors) // 2
    connections: list[Connection[Any, Any]] = [Connection(it) for it in descriptors[: count + 1]]
    ends, *pipes = connections
    workers: list[int] = []
    signal.signal(signal.SIGTERM, lambda *_: _kill(workers))
    for pipe, words in zip(pipes, descriptors[count + 1 :], strict=True):
        worker = os.fork()
        if worker == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            for other in connections:
                if other is not pipe:
                    other.close()
            inside.serve(os.fdopen(words, "r+b"))
            _serve(pipe)
        workers.append(worker)
    for pipe in pipes:
        pipe.close()
    with contextlib.suppress(OSError):  # where the parent is gone, nobody wants to know
        ends.send(workers)
    while workers:
        worker, status = os.wait()
        workers.remove(worker)
        with contextlib.suppress(OSError):
            ends.send((worker, os.waitstatus_to_exitcode(status)))


def _kill(workers: Iterable[int]) -> None:
    for worker in workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)


def _serve(pipe: Connection[Any, Any]) -> NoReturn:
    """Do the tasks that arrive through ``pipe`` until it is closed, then end the process."""
    works = threading.Event()
    threading.Thread(target=_end_with_parent, args=(pipe.fileno(), works), daemon=True).start()
    do_tasks(pipe, works)


def do_tasks(pipe: Connection[Any, Any], works: threading.Event | None = None) -> NoReturn:
    """Do the tasks that arrive through ``pipe`` until it is closed, then end the process.

    ``works`` is set while there is a task.
    """
    works = works or threading.Event()
    while True:
        try:
            function, argument = pipe.recv()
        except (EOFError, OSError):  # closed, or reset by a parent that was killed
            sys.exit(0)
        works.set()
        try:
            outcome = function(argument)
        except TunnelccError as error:
            outcome = RunError(str(error))
        works.clear()
        try:
            pipe.send(outcome)
        except OSError:
            sys.exit(0)


def _end_with_parent(pipe: int, works: threading.Event) -> None:
    """Once the other end of ``pipe`` is closed, end the process in the middle of its work.

    Without work, it ends by itself.
    """
    hang_up = select.poll()
    hang_up.register(pipe, 0)
    hang_up.poll()
    works.wait()
    os._exit(0)
