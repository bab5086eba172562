# SPDX-License-Identifier: GPL-2.0-only
"""Workers that a fresh interpreter forks (see ``worker``), which is fast, and for Linux alone."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from functools import cached_property
from multiprocessing.connection import Connection, Pipe
from typing import IO, Any

from tunnelcc.modules import child

_LONGEST_END = 5.0  # seconds of real time that a worker may take to end by itself


class Family:
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


def start(module: str, count: int) -> tuple[Family, list[Connection[Any, Any]], list[IO[bytes]]]:
    """Return new workers for functions of ``module``: their pipes, and files of last words."""
    ends, their_ends = Pipe(duplex=False)
    pipes = [Pipe() for _ in range(count)]
    words = [child.new_words() for _ in range(count)]
    theirs = [their_ends, *(there for _, there in pipes)]
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; "
        f"from tunnelcc.running.worker import main; main({module!r})"
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
    return Family(process, ends), [ours for ours, _ in pipes], words
