# SPDX-License-Identifier: GPL-2.0-only
"""A process of its own for code of others: however it ends, that is a value or a sentence.

The process is a copy of this one (fork), so it has the classes that were typed in here, and needs
no imports. Where a program runs compiled files again and again, it is a copy of a smaller process,
which takes less time: see core.template. No process does two runs: what one run leaves in memory
(variables of its files, stray writes) is not in the next.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import tempfile
import warnings
from collections.abc import Callable, Mapping
from typing import IO, TYPE_CHECKING, Any, TypeVar

from tunnelcc.core import inside
from tunnelcc.core.inside import Report
from tunnelcc.errors import RunError
from tunnelcc.modules.faults import explain

if TYPE_CHECKING:
    from tunnelcc.core.template import Template

T = TypeVar("T")

_LONGEST_END = 1.0  # seconds of real time until a run that is to end is killed
#: A template starts in 65 ms of CPU time and saves 2 to 3 each run: it pays after as many again.
_COPIES = 20

#: Runs without a template that one would have served.
_copies = 0
_template: Template | None = None


def new_words() -> IO[bytes]:
    """Return a file for the last words of a process."""
    return tempfile.TemporaryFile()


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
    if inside.serves():
        return inside.watched(function, names, report)
    return _in_child(function, names, report, is_python)


def simulate(spec: str, folder: str, names: str, report: Report) -> Mapping[str, Any] | None:
    """Return what core.simulation does, of a copy of a template; None: there is none yet.

    Its files are compiled, and in ``folder``. The first runs of a program have copies of it, and
    pay for no template. Raises RunError, and what ``report`` raises.
    """
    global _template, _copies
    if inside.serves():
        return None
    template, _template = _template, None  # it comes back after a run that ended well
    try:
        if template is None:
            _copies += 1
            if _copies <= _COPIES:
                return None
            try:
                template = _new_template()
            except OSError:  # no place for a process more, or the folder it would be in is gone
                _copies = 0
                return None
        measured = _in_copy(template, spec, folder, names, report)
    except BaseException:
        _copies = 0
        if template is not None:
            template.close()
        raise
    if measured is None:
        _copies = 0
        template.close()
    else:
        _template = template
    return measured


def _new_template() -> Template:
    from tunnelcc.core.template import Template

    return Template()


def _in_copy(
    template: Template, spec: str, folder: str, names: str, report: Report
) -> Mapping[str, Any] | None:
    """Return None if the template does not fit any more, or has ended."""
    from multiprocessing.connection import Pipe

    import numpy as np

    def wait() -> int:
        try:
            return template.wait()
        except (OSError, EOFError):
            raise RunError(f"{names}: the process that started its run was ended") from None

    ours, theirs = Pipe(duplex=False)
    with new_words() as words, ours, theirs:
        try:
            if not template.fits():
                return None
            inside.flush_files(is_python=False)
            child = template.fork(spec, folder, names, theirs, words)
        except (OSError, EOFError):
            return None
        theirs.close()
        found: Mapping[str, Any] = _outcome(child, wait, ours, words, names, report)
    return {
        name: np.frombuffer(bytearray(value[1])).reshape(value[0])
        if isinstance(value, tuple)
        else value
        for name, value in found.items()
    }


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


def _in_child(function: Callable[[Report], T], names: str, report: Report, is_python: bool) -> T:
    from multiprocessing.connection import Pipe

    ours, theirs = Pipe(duplex=False)
    with new_words() as words, ours:
        inside.flush_files(is_python=is_python)
        with warnings.catch_warnings():
            # Of other threads' locks; the child uses none that this package knows of.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            inside.run(function, names, theirs, words, is_python=is_python)
        theirs.close()

        def wait() -> int:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

        found: T = _outcome(child, wait, ours, words, names, report)
    return found


def _outcome(
    child: int,
    wait: Callable[[], int],
    pipe: Any,
    words: IO[bytes],
    names: str,
    report: Report,
) -> Any:
    """Return what a process sends at its end, or raise it. ``wait``: for that end."""
    try:
        while True:
            kind, value = pipe.recv()
            if kind != "report":
                break
            report(value)
    except EOFError:
        raise RunError(explain_end(words, wait()) or "the simulator failed") from None
    except BaseException as error:
        try:
            ended = _end(child, pipe)
        finally:
            wait()
        if not ended and isinstance(error, KeyboardInterrupt):
            raise RunError(f"{names}: interrupted in a call that does not return") from None
        raise
    wait()
    if kind == "error":
        raise value
    return value


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
