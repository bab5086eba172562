# SPDX-License-Identifier: GPL-2.0-only
"""Whether results can be written where a command is told to, asked before anything is simulated."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tunnelcc.errors import ConfigError, Problem


def check_file(option: str, file: Path) -> None:
    """Raise ConfigError if ``file`` cannot be written; one that exists is left as it is."""
    is_new = not file.exists()
    if not is_new and not file.is_file() and not file.is_dir():
        return  # a pipe or a device, which opening would change
    try:
        with file.open("ab"):
            pass
        if is_new:
            file.unlink()
    except OSError as error:
        expected = "a file that can be written"
        raise ConfigError(Problem(option, str(file), expected, error.strerror or "")) from None


def make_directory(option: str, directory: Path) -> None:
    """Make ``directory`` where it is not. Raises ConfigError if files cannot be written to it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        expected = "a directory that can be written"
        raise ConfigError(Problem(option, str(directory), expected, error.strerror or "")) from None
