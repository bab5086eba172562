# SPDX-License-Identifier: GPL-2.0-only
"""A small process that holds the models and never runs them: copies of it do, one for each run.

To copy a program with all that it has imported takes more CPU time. No code of others is loaded
here, so nothing of a run, of its files or of its crash is in the next one.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import pickle
import resource
import signal
import socket
import sys
import weakref
from multiprocessing.connection import Connection
from typing import IO, Any

from tunnelcc import core
from tunnelcc.core import inside
from tunnelcc.core.simulation import simulate

_NUMBER = 8  # bytes

#: The parent's side of templates. A copy of the parent has no use for them.
_pipes: weakref.WeakSet[socket.socket] = weakref.WeakSet()


def _forget() -> None:
    for pipe in _pipes:
        pipe.close()


os.register_at_fork(after_in_child=_forget)

_LIMITS = [value for name, value in vars(resource).items() if name.startswith("RLIMIT_")]


def _state() -> object:
    """Return what a process inherits, as far as code of others may see it. Raises OSError."""
    limits = [resource.getrlimit(it) for it in _LIMITS]
    ids = os.getuid(), os.geteuid(), os.getgid(), os.getegid(), os.getgroups()
    return os.getcwd(), dict(os.environ), limits, ids


def _send(pipe: socket.socket, number: int) -> None:
    pipe.sendall(number.to_bytes(_NUMBER, "little", signed=True))


def _receive(pipe: socket.socket, count: int = _NUMBER) -> bytes:
    """Raises EOFError where the other side has ended."""
    data = b""
    while len(data) < count:
        more = pipe.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


class Template:
    """The parent's side. It is for one thread at a time. Methods raise OSError or EOFError."""

    def __init__(self) -> None:
        import subprocess

        self._state = _state()
        self._owner = os.getpid()
        self._pipe, theirs = socket.socketpair()
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; "
            "from tunnelcc.core.template import main; main()"
        )
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", code, str(theirs.fileno()), core.model_version()],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        _pipes.add(self._pipe)
        atexit.register(self.close)

    def fits(self) -> bool:
        """Whether a copy has what a copy of this process would have."""
        return self._owner == os.getpid() and self._state == _state()

    def fork(self, spec: str, folder: str, names: str, pipe: Any, words: IO[bytes]) -> int:
        """Let a copy run a specification. Returns its process id; wait() must follow.

        ``folder``: of compiled files. ``pipe``, ``words``: as inside.run().
        """
        request = pickle.dumps((spec, folder, names))
        files = [0, 1, 2, pipe.fileno(), words.fileno()]
        socket.send_fds(self._pipe, [len(request).to_bytes(_NUMBER, "little")], files)
        self._pipe.sendall(request)
        return _number(_receive(self._pipe))

    def wait(self) -> int:
        """Wait for the end of the copy, and return its exit code; −n for signal n."""
        _send(self._pipe, 0)
        return _number(_receive(self._pipe))

    def close(self) -> None:
        """End the process, and its copy."""
        atexit.unregister(self.close)
        self._pipe.close()
        if self._owner == os.getpid():
            self._process.wait()


def main() -> None:
    """Serve the parent that is at the socket ``argv[1]``, if it has the models ``argv[2]``."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it reaches the parent, too
    parent = socket.socket(fileno=int(sys.argv[1]))
    parent.set_inheritable(False)
    core.load()
    if core.model_version() != sys.argv[2]:
        return
    gc.freeze()
    running = 0
    try:
        while True:
            size, files, _, _ = socket.recv_fds(parent, _NUMBER, 5)
            if not size:
                return
            request = _receive(parent, _number(size + _receive(parent, _NUMBER - len(size))))
            running = os.fork()
            if running == 0:
                _run(parent, request, files)
            for file in files:
                os.close(file)
            _send(parent, running)
            _receive(parent)
            code = os.waitstatus_to_exitcode(os.waitpid(running, 0)[1])
            running = 0
            _send(parent, code)
    except (EOFError, OSError):  # closed, or reset by a parent that was killed
        pass
    finally:
        if running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(running, signal.SIGKILL)


def _run(parent: socket.socket, request: bytes, files: list[int]) -> None:
    parent.close()
    for number, file in enumerate(files[:3]):
        os.dup2(file, number)
        os.close(file)
    for file in files[3:]:
        os.set_inheritable(file, False)
    spec, folder, names = pickle.loads(request)
    core.load().set_module_folder(folder)
    inside.run(
        lambda report: simulate(spec, report, as_bytes=True),
        names,
        Connection(files[3], readable=False),
        os.fdopen(files[4], "r+b"),
        is_python=False,
    )
