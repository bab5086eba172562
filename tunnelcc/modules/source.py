# SPDX-License-Identifier: GPL-2.0-only
"""Which files a name stands for, and the hash of their contents."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tunnelcc.core import FILE_PREFIX, congestion_label
from tunnelcc.errors import ConfigError, Problem, nearest
from tunnelcc.modules import headers

_LOCAL_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_MOST_BYTES = 4 << 20
_DIGEST_BYTES = 16


@dataclass(frozen=True)
class Source:
    """A file and what belongs to it.

    ``name``: with the absolute path. ``companions``: other files to compile and link. ``texts``:
    the contents of all, headers included.
    """

    name: str
    path: Path
    companions: tuple[Path, ...]
    texts: tuple[bytes, ...]
    code: str

    @property
    def label(self) -> str:
        """The name that tables and figures show."""
        return congestion_label(self.name)


def is_file(name: str) -> bool:
    """Whether ``name`` names a file, not an algorithm of this project or of ns-3."""
    return name.startswith(FILE_PREFIX)


def absolute(name: str, folder: Path | None = None) -> str:
    """Return ``name`` with the absolute path of its file.

    ``folder``: where relative paths begin (default: the current one).
    """
    path = Path(name.removeprefix(FILE_PREFIX)).expanduser()
    return FILE_PREFIX + str(((folder or Path()) / path).resolve())


def read(name: str) -> Source:
    """Return the source that ``name`` names. Raises ConfigError."""
    name = absolute(name)
    path = Path(name.removeprefix(FILE_PREFIX))
    expected = "the path of a C file, such as linux:net/ipv4/tcp_illinois.c"
    if path.suffix != ".c":
        raise ConfigError(Problem("", name, expected))
    try:
        text = _read(path)
    except OSError as error:
        names = [other.name for other in path.parent.glob("*.c")]
        hint = f"{error.strerror}, {nearest(path.name, names)}".rstrip(", ")
        raise ConfigError(Problem("", name, expected, hint)) from None
    contents = {path: text}
    companions: list[Path] = []
    for header in _included(path, text):
        _add(header, contents)
        # The kernel links tcp_yeah.c, which includes tcp_vegas.h, with tcp_vegas.c.
        other = header.with_suffix(".c")
        if other.is_file() and other not in contents:
            _add(other, contents)
            companions.append(other)
    return Source(name, path, tuple(companions), tuple(contents.values()), _digest(contents))


def _included(path: Path, text: bytes) -> Iterator[Path]:
    """Yield the headers beside ``path`` that its text includes."""
    for match in _LOCAL_INCLUDE.finditer(text):
        header = path.parent / match[1].decode(errors="replace")
        if header.is_file():  # else the compiler tells which line is wrong
            yield header


def _add(path: Path, contents: dict[Path, bytes]) -> None:
    if path in contents:
        return
    contents[path] = _read(path)
    for header in _included(path, contents[path]):
        _add(header, contents)


def _read(path: Path) -> bytes:
    """Raises OSError."""
    with path.open("rb") as file:
        text = file.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise OSError(0, f"it has more than {_MOST_BYTES >> 20} MiB")
    return text


def _digest(contents: dict[Path, bytes]) -> str:
    """Return a hash of the files, by name and content, and of what they are compiled against."""
    total = hashlib.blake2b(interface().encode(), digest_size=_DIGEST_BYTES)
    for path, text in contents.items():
        total.update(path.name.encode() + b"\0" + len(text).to_bytes(8, "big") + text)
    return total.hexdigest()


@cache
def interface() -> str:
    """Return a hash of the headers that files are compiled against."""
    total = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for name in headers.LINUX:
        total.update((headers.folder() / "modules" / name).read_bytes())
    return total.hexdigest()
