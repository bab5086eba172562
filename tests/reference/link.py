# SPDX-License-Identifier: GPL-2.0-only
"""What all measurements of programs across the emulated link share."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Sequence
from pathlib import Path

APPLICATION_PRIORITY = 40  # as linux-link's applications
PROGRAM_PRIORITY = 30


def be_real_time(priority: int) -> None:
    """Run before all other programs of the machine, in the calling thread."""
    # The kernel ends what runs so long (us) without waiting: nothing else would run beside it.
    resource.setrlimit(resource.RLIMIT_RTTIME, (2_000_000, 3_000_000))
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))


def start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a program under test."""
    return subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: be_real_time(PROGRAM_PRIORITY),
    )


def build_link(folder: Path) -> Path:
    """Compile linux-link.cc into ``folder``."""
    link = folder / "linux-link"
    source = Path(__file__).parents[2] / "tunnelcc" / "measure" / "linux-link.cc"
    command = ["g++", "-O2", "-std=c++17", "-pthread", "-o", str(link), str(source)]
    subprocess.run(command, check=True)
    return link
