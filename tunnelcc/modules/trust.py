# SPDX-License-Identifier: GPL-2.0-only
"""Whether a file that holds a congestion control may be compiled and run, or a tunnel's started.

It runs with all rights of the user. Who names it on the command line or in Python wants that. A
scenario may come from somebody else: a file that it names runs only if the user agrees, with
``--trust``, with ``tc.load(scenario, trust=True)``, or with an answer at the terminal. What has run
before, with the same content, was agreed to. All else that names a file (a measurement, a stored
run, a sweep's results, a tunnel's entry) never makes it run.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path

from tunnelcc import modules
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.modules import compiled

_granted = False
#: Names of files, with their absolute paths, that the user has named.
_named: set[str] = set()


def grant() -> None:
    """Trust the files of all scenarios that this process reads from now on."""
    global _granted
    _granted = True


def agree(words: object, key: str = "cc") -> None:
    """Let the files run that the user named: ``words``, the value of ``key``, or tables below."""
    if isinstance(words, Mapping):
        for name, value in words.items():
            agree(value, key if name == "name" else str(name).removesuffix(".name"))
    elif isinstance(words, (list, tuple)):
        for value in words:
            agree(value, key)
    elif isinstance(words, str) and key.endswith("cc") and modules.is_file(words):
        _named.add(modules.absolute(words))


def is_named(name: str) -> bool:
    """Whether the user has named the file, which runs then whatever it holds."""
    return modules.absolute(name) in _named


def check(name: str, scenario: Path, key: str, *, trust: bool = False) -> None:
    """Raise ConfigError unless the file that ``scenario`` names at ``key`` may run.

    It is compiled or loaded at once, because the user agrees to what it holds now.
    """
    if is_named(name) or modules.find(name):
        return
    question = (
        f"{scenario} names {name} as congestion control. It would run with all your rights. "
        "Do you trust it?"
    )
    if trust or _granted or _agrees(question):
        try:
            modules.of(name)
        except ConfigError as error:
            raise error.below(key) from None
        return
    expected = (
        "your agreement, because it would run with all your rights: --trust, or "
        "tc.load(scenario, trust=True) in Python"
    )
    raise ConfigError(Problem(key, name, expected))


def check_code(file: Path, key: str) -> None:
    """Raise ConfigError unless the user agrees to run ``file``: Python of a folder, as of a paper.

    It runs as it is, not compiled and kept as a congestion control.
    """
    question = f"{file} is a program. It would run with all your rights. Do you trust it?"
    if not (_granted or _agrees(question)):
        expected = "your agreement, because it would run with all your rights: --trust"
        raise ConfigError(Problem(key, str(file), expected))


def check_start(tunnel: str, script: str) -> None:
    """Show what the file of a tunnel starts; raise ConfigError unless the user agrees to it.

    What was agreed to is not asked for again, until it is changed.
    """
    code = hashlib.sha256(script.encode()).hexdigest()
    agreed = compiled.folder() / f"{code}.start"
    if agreed.exists():
        return
    print(f"{tunnel} starts at both ends (SHA-256 {code}):\n{script}", file=sys.stderr)
    question = (
        "It would run in the Linux that measures, and read your files but those below your home. "
        "Do you trust it?"
    )
    if not (_granted or _agrees(question)):
        expected = "your agreement to what it starts: --trust"
        raise ConfigError(Problem("tunnel.start", tunnel, expected))
    compiled.write(agreed, script.encode())


def _agrees(question: str) -> bool:
    """Ask at the terminal, if there is one."""
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        return False
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
