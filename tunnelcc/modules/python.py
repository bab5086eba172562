# SPDX-License-Identifier: GPL-2.0-only
"""Classes of Python as congestion controls: loaded from their file, called, watched.

A file is executed anew for each run, so its variables begin fresh, as those of a compiled file do.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from tunnelcc import core
from tunnelcc.errors import ConfigError, Problem, RunError, nearest
from tunnelcc.modules import imports, own
from tunnelcc.modules.source import Source

#: What the models need of a class: label, class, and what puts an exception into words.
Class = tuple[str, type[own.CongestionControl], Callable[[BaseException, Any], str]]

_EXPECTED = "a file with a congestion control: a class that derives from tc.CongestionControl"
_LONGEST_CALL = 5.0  # seconds of real time

_loading: list[str] = []


def load(source: Source) -> type[own.CongestionControl]:
    """Execute a file and return the congestion control class in it. Raises ConfigError."""
    _loading.append(source.name)
    try:
        module = imports.execute(source)
    except BaseException as error:
        hint = f"it {explain(error, error.__traceback__)}"
        raise ConfigError(Problem("", source.name, _EXPECTED, hint)) from None
    finally:
        _loading.pop()
    return _chosen(source, module)


def _chosen(source: Source, module: ModuleType) -> type[own.CongestionControl]:
    found = {
        name: value for name, value in vars(module).items()
        if isinstance(value, type) and own.is_own(value)
        and (value.__module__ == module.__name__ or name == source.member)
    }  # fmt: skip
    if source.member:
        if source.member in found:
            return found[source.member]
        hint = nearest(source.member, found) or f"the file has {', '.join(found) or 'none'}"
        raise ConfigError(Problem("", source.name, _EXPECTED, hint))
    if len(found) != 1:
        hint = f"it has {', '.join(found)}: add a colon and a name" if found else "it has none"
        raise ConfigError(Problem("", source.name, _EXPECTED, hint))
    return next(iter(found.values()))


def check_not_loading() -> None:
    """Raise RunError while a file is being executed: what it runs would run in all workers."""
    if _loading:
        raise RunError(
            f"{_loading[-1]} simulates while it is loaded: put that under "
            '`if __name__ == "__main__":`'
        )


def explain(error: BaseException, trace: TracebackType | None) -> str:
    """Describe an exception, with the last line of the user's file that it passed through."""
    if isinstance(error, _TooLongError):
        what = f"did not return within {_LONGEST_CALL:g} s: it loops or sleeps"
    else:
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        text = message.partition("\n")[0].strip()
        if isinstance(error, TypeError) and text.startswith("(): incompatible"):
            text = "what is set is no number, or too large a one"  # of the compiled module's types
        what = f"raised {type(error).__name__}" + (f": {text}" if text else "")
    if isinstance(error, SyntaxError) and error.filename:
        return f"{what}, at {Path(error.filename).name}:{error.lineno}"
    ours = str(Path(__file__).parent.parent)
    not_theirs = (ours, "<frozen ")
    frames = [it for it in traceback.extract_tb(trace) if not it.filename.startswith(not_theirs)]
    own_frames = [it for it in frames if "site-packages" not in it.filename] or frames
    if not own_frames:
        return what
    last = own_frames[-1]
    place = f", at {Path(last.filename).name}:{last.lineno}"
    return what + place + (f" in {last.name}()" if last.name != "<module>" else "")


class _TooLongError(BaseException):
    """A call takes too long. Few handlers in a user's code catch it."""


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Refuse code that was not read, and end a call that does not return.

    Where this is no main thread, nothing can end it.
    """
    with imports.only_what_was_read(), _ended():
        yield


@contextlib.contextmanager
def _ended() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    calls = core.load().own_calls  # odd: a call goes on
    number, since = 0, time.monotonic()

    def look(*_: object) -> None:
        nonlocal number, since
        now = calls()
        if now != number or now % 2 == 0:
            number, since = now, time.monotonic()
        elif time.monotonic() - since > _LONGEST_CALL:
            since = time.monotonic()
            raise _TooLongError

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _LONGEST_CALL / 10, _LONGEST_CALL / 10)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
