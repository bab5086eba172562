# SPDX-License-Identifier: GPL-2.0-only
"""Find the files that a name stands for, and hash their contents."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from tunnelcc.core import FILE, FILE_PREFIX, congestion_label
from tunnelcc.errors import ConfigError, Problem, nearest_file
from tunnelcc.modules import headers

#: What a file is written in: a module of Linux in C, or a class.
Language = Literal["linux", "c++", "python"]

_LANGUAGES: dict[str, Language] = {
    ".c": "linux", ".cc": "c++", ".cpp": "c++", ".py": "python"
}  # fmt: skip
_EXPECTED = (
    "the path of a file with a congestion control: a module of Linux, such as "
    "net/ipv4/tcp_illinois.c, or a class, such as mine.cc or mine.py"
)
_LOCAL_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_MOST_BYTES = 4 << 20
DIGEST_BYTES = 16

#: Raised with every change of what classes of Python see of tunnelcc.
_PYTHON_INTERFACE = "1"


@dataclass(frozen=True)
class Source:
    """A file and what belongs to it.

    ``name``: with the absolute path. ``member``: name of the class, if the file has several.
    ``companions``: other files to compile and link. ``texts``: the contents of all, what they
    include or import from their folder too.
    """

    name: str
    path: Path
    member: str
    language: Language
    companions: tuple[Path, ...]
    texts: tuple[bytes, ...]
    code: str

    @property
    def label(self) -> str:
        """Return the name that tables and figures show."""
        return congestion_label(self.name)


def is_file(name: str) -> bool:
    """Whether ``name`` names a file, not an algorithm of this project or of ns-3."""
    return name.startswith(FILE_PREFIX) or FILE.fullmatch(name) is not None


def absolute(name: str, folder: Path | None = None) -> str:
    """Return ``name`` with the absolute path of its file.

    ``folder``: where relative paths begin (default: the current one).
    """
    path, member = _parts(name)
    prefix = FILE_PREFIX if path.suffix == ".c" or name.startswith(FILE_PREFIX) else ""
    return prefix + str(((folder or Path()) / path).resolve()) + (f":{member}" if member else "")


def _parts(name: str) -> tuple[Path, str]:
    text = name.removeprefix(FILE_PREFIX)
    match = FILE.fullmatch(text)
    member = (match["member"] or "") if match else ""
    return Path(text.removesuffix(f":{member}") if member else text).expanduser(), member


def read(name: str) -> Source:
    """Read the files that ``name`` stands for. Raises ConfigError."""
    name = absolute(name)
    path, member = _parts(name)
    language = _LANGUAGES.get(path.suffix)
    is_linux = name.startswith(FILE_PREFIX)
    if language is None or is_linux != (language == "linux") or (member and language != "python"):
        raise ConfigError(Problem("", name, _EXPECTED))
    try:
        contents = {path: _read(path)}
    except OSError as error:
        hint = f"{error.strerror}, {nearest_file(path, path.suffix)}".rstrip(", ")
        raise ConfigError(Problem("", name, _EXPECTED, hint)) from None
    companions: list[Path] = []
    find = _imported if language == "python" else _included
    for used in find(path, contents[path]):
        _add(used, contents, language)
        # The kernel links tcp_yeah.c, which includes tcp_vegas.h, with tcp_vegas.c.
        other = used.with_suffix(".c")
        if language == "linux" and other.is_file() and other not in contents:
            _add(other, contents, language)
            companions.append(other)
    code = _digest(contents, language, member)
    texts = tuple(contents.values())
    return Source(name, path, member, language, tuple(companions), texts, code)


def _included(path: Path, text: bytes) -> Iterator[Path]:
    """Yield the headers beside ``path`` that its text includes."""
    for match in _LOCAL_INCLUDE.finditer(text):
        header = path.parent / match[1].decode(errors="replace")
        if header.is_file():  # else the compiler tells which line is wrong
            yield header


def _imported(path: Path, text: bytes) -> Iterator[Path]:
    """Yield the modules beside ``path`` that its text imports."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # it is told when the file is loaded
        return
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
    for name in names:
        first = path.parent / name.partition(".")[0]
        if first.with_suffix(".py").is_file():
            yield first.with_suffix(".py")
        elif first.is_dir():
            yield from sorted(first.rglob("*.py"))


def _add(path: Path, contents: dict[Path, bytes], language: Language) -> None:
    if path in contents:
        return
    contents[path] = _read(path)
    find = _imported if language == "python" else _included
    for used in find(path, contents[path]):
        _add(used, contents, language)


def _read(path: Path) -> bytes:
    """Raises OSError."""
    with path.open("rb") as file:
        text = file.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise OSError(0, f"it has more than {_MOST_BYTES >> 20} MiB")
    return text


def _digest(contents: dict[Path, bytes], language: Language, member: str) -> str:
    """Return a hash of the files, by name and content, and of what they are compiled against."""
    total = hashlib.blake2b(interface(language).encode(), digest_size=DIGEST_BYTES)
    total.update(member.encode())
    for path, text in contents.items():
        total.update(path.name.encode() + b"\0" + len(text).to_bytes(8, "big") + text)
    return total.hexdigest()


@cache
def interface(language: Language) -> str:
    """Return a hash of the headers that files are compiled against."""
    total = hashlib.blake2b(digest_size=DIGEST_BYTES)
    if language == "python":
        total.update(_PYTHON_INTERFACE.encode())
    for name in headers.OF.get(language, ()):
        total.update((headers.folder() / name).read_bytes())
    return total.hexdigest()
