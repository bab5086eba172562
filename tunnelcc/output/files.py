# SPDX-License-Identifier: GPL-2.0-only
"""Check that results can be written before anything is simulated, and write files completely."""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tunnelcc.errors import ConfigError, Problem, install

#: Endings of figures.
FIGURE_FORMATS = ("png", "svg", "pdf")
#: A disk or a user's part of it is full, also of names of files.
_FULL = (errno.ENOSPC, errno.EDQUOT)


def check_file(option: str, file: Path) -> None:
    """Raise ConfigError if ``file`` cannot be written. An existing file is not changed."""
    is_new = not file.exists()
    if not is_new and not file.is_file() and not file.is_dir():
        return  # a pipe or a device, which opening would change
    try:
        with file.open("ab"):
            pass
        if is_new:
            file.resolve().unlink()  # a link that leads to no file stays one
    except OSError as error:
        expected = "a file that can be written"
        raise ConfigError(Problem(option, str(file), expected, error.strerror or "")) from None


def check_netcdf(option: str, file: Path) -> None:
    """Raise ConfigError if ``file`` is a .nc file, and what writes and reads them is missing."""
    if file.suffix == ".nc" and importlib.util.find_spec("scipy") is None:
        expected = f"another kind of file, or scipy: {install('netcdf')}"
        raise ConfigError(Problem(option, str(file), expected))


def make_directory(option: str, directory: Path) -> None:
    """Create ``directory`` if needed. Raises ConfigError if files cannot be written to it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        expected = "a directory that can be written"
        raise ConfigError(Problem(option, str(directory), expected, error.strerror or "")) from None


@contextlib.contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """Give a new file to write; it replaces ``file`` on success.

    If ``file`` is a pipe or a device, or its directory takes no new files, ``file`` itself is
    given.
    """
    target = file.resolve()  # a link stays one
    temporary = target.with_name(f".{os.urandom(4).hex()}.{target.name}")
    try:
        if target.exists() and not target.is_file():
            raise OSError
        with temporary.open("xb"):
            pass
    except OSError as error:
        if error.errno in _FULL:
            raise  # what the file has stays
        yield file
        return
    try:
        if target.exists():
            shutil.copymode(target, temporary)
        yield temporary
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(option: str, file: Path, text: str) -> None:
    """Write ``file`` completely, or leave it. Raises ConfigError."""
    try:
        with replacing(file) as new:
            new.write_text(text, encoding="utf-8")
    except OSError as error:
        expected = "a file that can be written"
        raise ConfigError(Problem(option, str(file), expected, error.strerror or "")) from None


def csv_text(text: str) -> str:
    """Return a cell of CSV that no spreadsheet takes for a formula: an apostrophe goes before text.

    Names come from scenarios, which may be a stranger's. Numbers stay as they are.
    """
    if not text.startswith(("=", "+", "-", "@", "\t", "\r")):
        return text
    try:
        float(text)
    except ValueError:
        return "'" + text
    return text
