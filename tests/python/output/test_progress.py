# SPDX-License-Identifier: GPL-2.0-only
"""Progress of a run and of many: on a terminal, after two seconds, with the time that is left."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import types

from tunnelcc.output import progress

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


def show_progress():
    """Show that 3 of 10 runs are done, 1 of them failed, 2 were there."""
    counts = types.SimpleNamespace(total=10, done=3, failed=1, cached=2)
    with progress.RunsProgress() as shown:
        shown.update(counts, 0.5)


def test_a_notebook_shows_a_bar(monkeypatch, capsys):
    class ZMQInteractiveShell:
        pass

    ipython = types.SimpleNamespace(get_ipython=ZMQInteractiveShell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setattr(progress, "_QUIET_SECONDS", 0)

    show_progress()
    assert "6/10 runs" in capsys.readouterr().err


def test_plain_lines_where_there_is_no_terminal(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_QUIET_SECONDS", 0)
    monkeypatch.setattr(progress, "_LINE_SECONDS", 0)
    show_progress()  # after few runs, nobody knows how long the others take
    assert capsys.readouterr().err.endswith(" runs/s, time left unknown\n")
    monkeypatch.setattr(progress, "_LEAST_RUNS", 0)
    show_progress()
    assert re.fullmatch(
        r"6 of 10 runs, 1 failed, 2 cached, \d+\.\d runs/s, 0:00 left\n", capsys.readouterr().err
    )


def test_a_terminal_shows_a_bar(monkeypatch):
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(progress, "_QUIET_SECONDS", 0)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")

    show_progress()
    for word in ("6/10", "1 failed", "2 cached", "runs/s", "left"):
        assert word in screen.getvalue()
