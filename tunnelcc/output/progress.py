# SPDX-License-Identifier: GPL-2.0-only
"""Progress with the time that is left, of what takes more than two seconds.

One run shows a bar on a terminal. Many runs show a bar on a terminal or in a notebook, and plain
lines elsewhere.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import rich.progress

_QUIET_SECONDS = 2.0
_REFRESH_SECONDS = 0.1
_LINE_SECONDS = 10.0


class Progress:
    """Shows a bar on standard error if that is a terminal, once two seconds have passed."""

    def __init__(self, total: float, enabled: bool = True, label: str = "simulating") -> None:
        self._total = total
        self._label = label
        self._enabled = enabled and sys.stderr.isatty()
        self._started = time.monotonic()
        self._bar: rich.progress.Progress | None = None
        self._task: rich.progress.TaskID | None = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: float) -> None:
        """Show that ``done`` of the total are finished."""
        if not self._enabled or time.monotonic() - self._started < _QUIET_SECONDS:
            return
        if self._bar is None:
            self._bar = self._make_bar()
            self._task = self._bar.add_task(self._label, total=self._total, left="")
            self._bar.start()
        if self._task is not None:
            self._bar.update(self._task, completed=done, left=self._left(done))

    def _left(self, done: float) -> str:
        # rich's own estimate forgets the time before the bar was shown.
        return _left(time.monotonic() - self._started, done, self._total)

    def _make_bar(self) -> rich.progress.Progress:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        return Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[left]}"),
            console=Console(stderr=True),
            transient=True,
        )


class Counts(Protocol):
    """Runs by what became of them."""

    total: int
    done: int
    failed: int
    cached: int


class RunsProgress:
    """Shows runs done, failed and cached, runs per second and the time that is left."""

    def __init__(self, enabled: bool = True) -> None:
        self._enabled = enabled
        self._started = time.monotonic()
        self._next = _QUIET_SECONDS
        self._display: _Display | None = None

    def __enter__(self) -> RunsProgress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._display is not None:
            self._display.close()

    def update(self, counts: Counts, share: float) -> None:
        """Tell what there is now, after a run ended; ``share``: of all work that is done."""
        elapsed = time.monotonic() - self._started
        finished = counts.done + counts.failed
        is_last = finished + counts.cached == counts.total
        if not self._enabled or elapsed < (_QUIET_SECONDS if is_last else self._next):
            return
        self._next = elapsed + _REFRESH_SECONDS
        if self._display is None:
            self._display = _display(counts.total)
        parts = [
            f"{counts.failed} failed",
            f"{counts.cached} cached",
            f"{finished / elapsed:.1f} runs/s",
        ]
        parts.append(_left(elapsed, share, 1))
        self._display.show(finished + counts.cached, ", ".join(filter(None, parts)))


class _Display(Protocol):
    def show(self, finished: int, text: str) -> None: ...

    def close(self) -> None: ...


def _display(total: int) -> _Display:
    if _in_notebook():
        return _Widget(total)
    return _Bar(total) if sys.stderr.isatty() else _Lines(total)


def _in_notebook() -> bool:
    """Whether IPython's kernel runs this process; its terminal is a terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


class _Bar:
    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._bar = Progress(
            MofNCompleteColumn(),
            TextColumn("runs"),
            BarColumn(),
            TextColumn("{task.fields[text]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("", total=total, text="")
        self._bar.start()

    def show(self, finished: int, text: str) -> None:
        self._bar.update(self._task, completed=finished, text=text)

    def close(self) -> None:
        self._bar.stop()


class _Widget:
    def __init__(self, total: int) -> None:
        from tqdm.auto import tqdm

        self._bar = tqdm(total=total, unit="run", bar_format="{n}/{total} runs |{bar}| {postfix}")

    def show(self, finished: int, text: str) -> None:
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.update(finished - self._bar.n)

    def close(self) -> None:
        self._bar.refresh()
        self._bar.close()


class _Lines:
    def __init__(self, total: int) -> None:
        self._total = total
        self._next = 0.0

    def show(self, finished: int, text: str) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _LINE_SECONDS
            print(f"{finished} of {self._total} runs, {text}", file=sys.stderr, flush=True)

    def close(self) -> None:
        pass


def _left(elapsed: float, done: float, total: float) -> str:
    """Return the time that is left, in minutes and seconds, after ``elapsed`` (s)."""
    if done <= 0:
        return ""
    minutes, seconds = divmod(round(elapsed * max(total - done, 0) / done), 60)
    return f"{minutes}:{seconds:02} left"
