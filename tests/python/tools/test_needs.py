# SPDX-License-Identifier: GPL-2.0-only
"""Tests whose ingredients are missing are left out, and the last line names the command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from helpers import ROOT

TESTS = ROOT / "tests/python/commands/test_complete.py"


def ran(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "bash").symlink_to("/bin/bash")
    command = [sys.executable, "-m", "pytest", "-q", *options, str(TESTS), "-k", "reads"]
    environment = {**os.environ, "PATH": str(folder)}
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)


def test_what_is_left_out_is_told_in_the_last_lines(tmp_path):
    done = ran(tmp_path, "-n", "2")
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-2:] == [
        "left out: 1 that need fish: apt install fish",
        "left out: 1 that need zsh: apt install zsh",
    ]
    assert "1 passed" in done.stdout
    assert "skipped" not in done.stdout
