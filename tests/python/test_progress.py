# SPDX-License-Identifier: GPL-2.0-only
"""The progress bar: on a terminal, after two seconds, with the time that is left."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time

COMMAND = [
    sys.executable, "-m", "tunnelcc", "run", "--rate", "1Gbps", "--duration", "100000s",
    "--set", "probe_interval=1s",
]  # fmt: skip


def _run_for(seconds: float, errors: int) -> int:
    process = subprocess.Popen(
        COMMAND, stdout=subprocess.DEVNULL, stderr=errors, env={**os.environ, "TERM": "xterm"}
    )
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    return process.wait(timeout=20)


def test_a_terminal_shows_what_is_done_and_what_is_left():
    ours, theirs = pty.openpty()
    assert _run_for(4.5, theirs) == 130
    os.close(theirs)
    text = b""
    while select.select([ours], [], [], 0.2)[0]:
        try:
            text += os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    assert b"simulating" in text
    assert b"%" in text
    assert b"left" in text
    # The cursor, hidden while the bar moves, is back.
    assert text.rfind(b"\x1b[?25h") > text.rfind(b"\x1b[?25l")


def test_a_file_gets_no_bar(tmp_path):
    with (tmp_path / "errors").open("wb") as file:
        assert _run_for(3.5, file.fileno()) == 130
    assert (tmp_path / "errors").read_text().strip() == "tunnelcc: interrupted"
