# SPDX-License-Identifier: GPL-2.0-only
"""Files are written completely, or stay what they were."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tunnelcc.output import files


@pytest.mark.parametrize(
    "option", ["--plot run.png", "--write-spec run.json", "-o run.json", "-o run.csv"]
)
def test_a_file_that_finds_no_room_leaves_what_was_there(option, tmp_path):
    file = tmp_path / option.partition(" ")[2]
    file.write_text("what was there")
    command = [sys.executable, "-m", "tunnelcc", "run", "--duration", "1s", *option.split()]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500)),
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "MPLCONFIGDIR": str(tmp_path / "mpl")},
    )  # fmt: skip
    assert done.returncode in (1, 2)
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert file.read_text() == "what was there"
    assert [it.name for it in tmp_path.iterdir() if "run" in it.name] == [file.name]


def test_a_disk_without_room_for_a_name_keeps_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "kept.json"
    file.write_text("what was there")
    create = Path.open

    def full(self, mode="r", **rest):
        if "x" in mode:
            raise OSError(errno.ENOSPC, "No space left on device")
        return create(self, mode, **rest)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(OSError, match="No space left"), files.replacing(file) as new:
        new.write_text("something else")
    assert file.read_text() == "what was there"
