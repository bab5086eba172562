# SPDX-License-Identifier: GPL-2.0-only
"""Read TOML files, with errors that name file and line, and write small ones."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from tunnelcc import system
from tunnelcc.errors import ConfigError, Problem, nearest_file

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


#: A zip of a million points on three axes takes half of it.
MAX_BYTES = 64 << 20


_TOO_LONG = "a number has too many digits"
#: Tables and lists in each other. No file needs a tenth of it, and what reads them calls itself.
MOST_DEPTH = 100
_LONG_NUMBER = re.compile(r"0[xob][0-9a-fA-F_]{3000,}")


def read_toml(path: Path, key: str = "file") -> dict[str, Any]:
    """Return the tables of a TOML file. Raises ConfigError if it cannot be read or parsed.

    ``key``: the key that names the file, for errors. The file may be a pipe; at most MAX_BYTES are
    read.
    """
    expected = "a readable TOML file"
    try:
        text = system.read_once(path, MAX_BYTES).decode(
            "utf-8-sig"
        )  # some editors of Windows begin files with a mark
    except FileNotFoundError as error:
        hint = f"{error.strerror}, {nearest_file(path, '.toml')}".rstrip(", ")
        raise ConfigError(Problem(key, str(path), expected, hint)) from None
    except OSError as error:
        raise ConfigError(Problem(key, str(path), expected, error.strerror or "")) from None
    except UnicodeDecodeError:
        raise ConfigError(Problem(key, str(path), expected, "it is not UTF-8 text")) from None
    return parse_toml(text, str(path), key)


def parse_toml(text: str, file: str, key: str = "file") -> dict[str, Any]:
    """Return the tables of TOML text that came from ``file``. Raises ConfigError."""
    try:
        return _loads(text)
    except ValueError as error:
        raise ConfigError(Problem(key, file, "valid TOML", str(error))) from None
    except RecursionError:
        raise ConfigError(Problem(key, file, "valid TOML", "nested too deeply")) from None


def parse_value(text: str) -> object:
    """Return the TOML value of ``text``, or the text itself (``40ms``, ``bbr``)."""
    try:
        table = _loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return table["value"] if len(table) == 1 else text


def _loads(text: str) -> dict[str, Any]:
    """Return the tables of TOML. Raises ValueError; RecursionError if nested too deeply.

    A dotted key nests tables, too.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:
        raise ValueError(_TOO_LONG) from None
    # Python reads and writes decimal numbers up to a length, but reads hexadecimal ones of any.
    if _is_deep(table):
        raise RecursionError
    if _LONG_NUMBER.search(text) and not _can_be_written(table):
        raise ValueError(_TOO_LONG)
    return table


def _is_deep(table: object) -> bool:
    """Whether more than MOST_DEPTH tables and lists are in each other."""
    level = [table]
    for _ in range(MOST_DEPTH):
        tables = [it for it in level if isinstance(it, dict)]
        lists = [it for it in level if isinstance(it, list)]
        level = [value for it in tables for value in it.values()]
        level += [value for it in lists for value in it]
        if not level:
            return False
    return True


def _can_be_written(table: object) -> bool:
    try:
        repr(table)
    except ValueError:
        return False
    return True


def write_toml(table: Mapping[str, Any]) -> str:
    """Return TOML text for nested tables, arrays of tables and scalars."""
    return tomli_w.dumps(table)


def write_value(value: object) -> str:
    """Return the TOML text of one value, on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # TOML's basic strings escape as JSON's do, except that DEL must be escaped too.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return (
            "{ " + ", ".join(f"{key} = {write_value(item)}" for key, item in value.items()) + " }"
        )
    if isinstance(value, list):
        return "[" + ", ".join(write_value(item) for item in value) + "]"
    return repr(value)
