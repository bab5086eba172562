# SPDX-License-Identifier: GPL-2.0-only
"""Kills a sweep at random moments, lets it go on, and compares its results."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tunnelcc as tc
from tunnelcc.store import Store

_SCENARIO = """
duration = "3s"
path.rate = "50Mbps"
[sweep]
seeds = 4
cc = ["bbr", "cubic"]
"path.rtt" = ["10ms", "20ms", "40ms"]
"""


class Fuzzer:
    """A sweep, and its results when nobody disturbs it."""

    def __init__(self, directory: Path) -> None:
        self._folder = directory
        self._scenario = directory / "sweep.toml"
        self._scenario.write_text(_SCENARIO)
        started = time.monotonic()
        self._finish(directory)
        self._seconds = time.monotonic() - started
        self._right = tc.open(directory / "runs" / "sweep", series=True)

    def attempt(self, draw: random.Random) -> str:
        """Return what became of one sweep."""
        with tempfile.TemporaryDirectory(dir=self._folder) as name:
            directory, kills = Path(name), 0
            for _ in range(draw.randrange(1, 5)):
                kills += self._killed(directory, draw)
                if Store.is_at(directory / "runs"):
                    store = Store(directory / "runs")
                    assert not dict(store.damaged())
                    assert not dict(store.damaged_sweeps())
            self._finish(directory)
            found = tc.open(directory / "runs" / "sweep", series=True)
            assert found.identical(self._right), "other results"
            return f"killed {kills} times"

    def _command(self, directory: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tunnelcc", "sweep", self._scenario, "--jobs", "2"]
        return subprocess.Popen(
            [str(word) for word in (*command, "--store", directory / "runs")],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def _finish(self, directory: Path) -> None:
        process = self._command(directory)
        _, errors = process.communicate()
        assert process.returncode == 0, errors

    def _killed(self, directory: Path, draw: random.Random) -> bool:
        process = self._command(directory)
        time.sleep(draw.uniform(0, self._seconds))
        with contextlib.suppress(ProcessLookupError):
            # Its workers with it, or themselves when they notice.
            draw.choice((os.kill, os.killpg))(process.pid, signal.SIGKILL)
        _, errors = process.communicate()
        assert "Traceback" not in errors, errors
        return process.returncode != 0
