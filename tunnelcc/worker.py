# SPDX-License-Identifier: GPL-2.0-only
"""A process that does the tasks it is sent over a pipe, until the pipe is closed."""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
import threading
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

from tunnelcc.errors import RunError, TunnelccError


def main(module: str) -> None:
    """Serve the pipe whose file descriptor is the first argument, with functions of ``module``."""
    # Ctrl-C reaches the whole group of processes; the parent decides what ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe: Connection[object, Any] = Connection(int(sys.argv[1]))
    threading.Thread(target=_end_with_parent, args=(pipe.fileno(),), daemon=True).start()
    gc.disable()
    import_module(module)
    gc.freeze()  # What is imported stays; the collector need not look at it again and again.
    gc.enable()
    while True:
        try:
            function, argument = pipe.recv()
        except EOFError:
            return
        try:
            outcome = function(argument)
        except TunnelccError as error:
            outcome = RunError(str(error))
        try:
            pipe.send(outcome)
        except BrokenPipeError:
            return


def _end_with_parent(pipe: int) -> None:
    """Wait until the other end of ``pipe`` is closed, and end the process in whatever it does."""
    hang_up = select.poll()
    hang_up.register(pipe, 0)
    hang_up.poll()
    os._exit(0)
