# SPDX-License-Identifier: GPL-2.0-only
"""How a process ends when all is done: at once, unless it ran a user's code."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

_ran_users_code = False


def after_users_code() -> None:
    """Remember that a user's code runs here: its open files are written when Python ends."""
    global _ran_users_code
    _ran_users_code = True


def end() -> NoReturn:
    """End the process with success. Raises SystemExit if a user's code ran in it.

    What the interpreter does at its end took 0.08 s of the 0.74 s of CPU time of a run of one
    simulated second (medians of 12 runs), and a signal during it would make a failure of a success.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if _ran_users_code:
        sys.exit(0)
    os._exit(0)
