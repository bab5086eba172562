# SPDX-License-Identifier: GPL-2.0-only
"""A progress bar with the time that is left, for what takes more than two seconds."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import rich.progress

_QUIET_SECONDS = 2.0


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
        if done <= 0:
            return ""
        seconds = (time.monotonic() - self._started) * (self._total - done) / done
        return f"{seconds // 60:.0f}:{seconds % 60:02.0f} left"

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
