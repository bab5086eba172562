# SPDX-License-Identifier: GPL-2.0-only
"""Whether a file that a scenario names may be compiled and run.

Who names a file on the command line or in Python wants it to run. A scenario may come from somebody
else, and a congestion control runs with all rights of the user. So a file that a scenario names is
compiled or loaded only if the user agrees: with ``--trust``, with
``tc.load(scenario, trust=True)``, or with an answer at the terminal. What has run before, with the
same content, was agreed to.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tunnelcc import modules
from tunnelcc.errors import ConfigError, Problem

_granted = False


def grant() -> None:
    """Trust the files of all scenarios that this process reads from now on."""
    global _granted
    _granted = True


def check(name: str, scenario: Path, key: str, *, trust: bool = False) -> None:
    """Raise ConfigError unless the file that ``scenario`` names at ``key`` may run."""
    if trust or _granted or modules.find(name):
        return
    question = (
        f"{scenario} names {name} as congestion control. It would run with all your rights. "
        "Do you trust it?"
    )
    if _agrees(question):
        return
    expected = (
        "your agreement, because it would run with all your rights: --trust, or "
        "tc.load(scenario, trust=True) in Python"
    )
    raise ConfigError(Problem(key, name, expected))


def _agrees(question: str) -> bool:
    """Ask at the terminal, if there is one."""
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        return False
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
