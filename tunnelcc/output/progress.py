# SPDX-License-Identifier: GPL-2.0-only
"""Progress and remaining time of work that takes more than two seconds.

One run shows a bar on a terminal. Many runs show a bar on a terminal or in a notebook, and plain
lines elsewhere.
"""

from __future__ import annotations

import shutil
import sys
import time
import warnings
from types import TracebackType
from typing import Any, Protocol, TypeVar

from tunnelcc.system import cores

_QUIET_SECONDS = 2.0
_LINE_SECONDS = 10.0
# After fewer runs of each process, the remaining time is a guess.
_LEAST_RUNS = 3


_Own = TypeVar("_Own", bound="_Shown")


class _Shown:
    """A display that ends with its context."""

    _bar: Any = None

    def __enter__(self: _Own) -> _Own:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()


class Progress(_Shown):
    """Shows a bar after two seconds, on a terminal or in a notebook."""

    def __init__(self, total: float, enabled: bool = True, label: str = "simulating") -> None:
        if enabled and (sys.stderr.isatty() or _in_notebook()):
            form = f"{label} |{{bar}}| {{percentage:3.0f}} % {{remaining}} left"
            self._bar = _bar(total, form, delay=_QUIET_SECONDS)

    def update(self, done: float) -> None:
        """Show that ``done`` of the total are finished."""
        if self._bar is not None:
            self._bar.update(done - self._bar.n)


class Counts(Protocol):
    """Numbers of runs by outcome."""

    total: int
    done: int
    failed: int
    cached: int


class RunsProgress(_Shown):
    """Shows finished, failed and cached runs, runs per second and the remaining time."""

    def __init__(self, enabled: bool = True) -> None:
        self._enabled = enabled
        self._started = time.monotonic()
        self._next_line = _QUIET_SECONDS

    def update(self, counts: Counts, share: float) -> None:
        """Show the state after a run ended. ``share``: finished share of all work."""
        elapsed = time.monotonic() - self._started
        if not self._enabled or elapsed < _QUIET_SECONDS:
            return
        simulated = counts.done + counts.failed
        text = (
            f"{counts.failed} failed, {counts.cached} cached, {simulated / elapsed:.1f} runs/s, "
            f"{_left(elapsed, share if simulated >= _LEAST_RUNS * cores() else 0)}"
        )
        finished = simulated + counts.cached
        if sys.stderr.isatty() or _in_notebook():
            if self._bar is None:
                form = "{n}/{total} runs |{bar}| {postfix}"
                self._bar = _bar(counts.total, form, initial=finished, postfix=text)
            self._bar.set_postfix_str(text, refresh=False)
            self._bar.update(finished - self._bar.n)
        elif elapsed >= self._next_line:
            self._next_line = elapsed + _LINE_SECONDS
            print(f"{finished} of {counts.total} runs, {text}", file=sys.stderr, flush=True)


def _bar(total: float, form: str, **options: Any) -> Any:
    # As text on a terminal, as a widget in a notebook. It is slow to import.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a notebook without ipywidgets, which has text, too
        from tqdm.auto import tqdm

    if not _in_notebook():
        # tqdm shows nothing on a terminal that does not know its size.
        size = shutil.get_terminal_size()
        options |= {"leave": False, "ncols": size.columns, "nrows": size.lines}
    return tqdm(total=total, bar_format=form, miniters=0, smoothing=0, file=sys.stderr, **options)


def _in_notebook() -> bool:
    """Whether IPython's kernel runs this process (not a terminal)."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def _left(elapsed: float, share: float) -> str:
    """Return the time that is left after ``elapsed`` (s), as all work takes equally long."""
    if share <= 0:
        return "time left unknown"
    minutes, seconds = divmod(round(elapsed * (1 - share) / share), 60)
    return f"{minutes}:{seconds:02} left"
