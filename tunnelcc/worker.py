# SPDX-License-Identifier: GPL-2.0-only
"""A process that does the tasks it is sent over a pipe, until the pipe is closed."""

from __future__ import annotations

import signal
import sys
from multiprocessing.connection import Connection
from typing import Any

from tunnelcc.errors import RunError, TunnelccError


def main() -> None:
    """Serve the pipe whose file descriptor is the first argument."""
    # Ctrl-C reaches the whole group of processes; the parent decides what ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe: Connection[object, Any] = Connection(int(sys.argv[1]))
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
