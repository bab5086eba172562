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


def _start(errors: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        COMMAND, stdout=subprocess.DEVNULL, stderr=errors, env={**os.environ, "TERM": "xterm"}
    )


def _read(terminal: int, seconds: float, until: bytes | None = None) -> bytes:
    """Return what comes on the terminal up to ``until``, or until it is silent for so long."""
    text = b""
    while select.select([terminal], [], [], seconds)[0]:
        try:
            text += os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if until is not None and until in text:
            break
    return text


def test_a_terminal_shows_what_is_done_and_what_is_left():
    ours, theirs = pty.openpty()
    process = _start(theirs)
    os.close(theirs)
    text = _read(ours, 30, until=b"left")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 130
    text += _read(ours, 0.2)
    os.close(ours)
    assert b"simulating" in text
    assert b"%" in text
    assert b"left" in text
    # The bar is gone from its line.
    assert text.rstrip().endswith(b"tunnelcc: interrupted")


def test_a_file_gets_no_bar(tmp_path):
    with (tmp_path / "errors").open("wb") as file:
        process = _start(file.fileno())
        time.sleep(3.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 130
    assert (tmp_path / "errors").read_text().strip() == "tunnelcc: interrupted"
