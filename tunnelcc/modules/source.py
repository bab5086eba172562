# SPDX-License-Identifier: GPL-2.0-only
"""Find the files that a name stands for, and hash their contents.

What is read here is what runs: a class of Python is executed, and C and C++ are compiled, from
these bytes. Of Python, all is read that a file names: modules beside it that it imports, and those
whose names stand in it as text, for ``import_module()``. Of C and C++, the compiler tells the rest.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from tunnelcc import system
from tunnelcc.core import FILE, FILE_PREFIX
from tunnelcc.errors import ConfigError, Problem, nearest_file
from tunnelcc.modules import compiled, headers

#: The package's own name, which is never that of a file beside another.
OURS = "tunnelcc"

#: What the names of modules begin with that are files in Python; their hash follows.
LOADED = "tunnelcc_own_"

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
_LOCAL_QUESTION = re.compile(rb'__has_include\s*\(\s*"([^"\n]+)"')
_DOTTED = re.compile(r"\.*([A-Za-z_]\w*(?:\.\w+)*)\.?")
_MOST_BYTES = 4 << 20
DIGEST_BYTES = 16

#: Raised with every change of what classes of Python see of tunnelcc.
_PYTHON_INTERFACE = "1"


@dataclass(frozen=True)
class Source:
    """A file and what belongs to it.

    ``name``: with the absolute path. ``member``: name of the class, if the file has several.
    ``contents``: of all files, what they include or import from their folder too. ``plain``: the
    hash of those that can be found without a compiler. ``code``: the hash of all.
    """

    name: str
    path: Path
    member: str
    language: Language
    contents: Mapping[Path, bytes]
    plain: str
    code: str

    @property
    def companions(self) -> list[Path]:
        """Other files to compile and link."""
        beside = (it.with_suffix(".c") for it in self.contents if it.suffix != ".c")
        return [it for it in beside if it in self.contents and it != self.path]


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


def read(name: str, included: Iterable[Path] | None = None) -> Source:
    """Read the files that ``name`` stands for. Raises ConfigError.

    ``included``: those that only the compiler finds; default: what it found when it compiled this.
    """
    name = absolute(name)
    path, member = _parts(name)
    language = _LANGUAGES.get(path.suffix)
    is_linux = name.startswith(FILE_PREFIX)
    if language is None or is_linux != (language == "linux") or (member and language != "python"):
        raise ConfigError(Problem("", name, _EXPECTED))
    contents: dict[Path, bytes] = {}
    try:
        _add(path, contents, path.parent)
    except OSError as error:
        hint = f"{error.strerror}, {nearest_file(path, path.suffix)}".rstrip(", ")
        raise ConfigError(Problem("", name, _EXPECTED, hint)) from None
    plain = code = _digest(contents, language, member)
    if language != "python":
        if included is None:
            beside = compiled.included(plain)
            included = [Path(os.path.normpath(path.parent / it)) for it in beside]
        for it in included:
            if it.is_file():  # else the compiler tells that it is not
                _add(it, contents, path.parent)
        code = _digest(contents, language, member)
    return Source(name, path, member, language, contents, plain, code)


def _included(path: Path, text: bytes) -> Iterator[Path]:
    """Yield the headers beside ``path`` that its text includes, or asks for."""
    for match in (*_LOCAL_INCLUDE.finditer(text), *_LOCAL_QUESTION.finditer(text)):
        header = Path(os.path.normpath(path.parent / match[1].decode(errors="replace")))
        if header.is_file():  # else the compiler tells which line is wrong
            yield header
            # The kernel links tcp_yeah.c, which includes tcp_vegas.h, with tcp_vegas.c.
            other = header.with_suffix(".c")
            if path.suffix == ".c" and other.is_file():
                yield other


def _imported(text: bytes, folder: Path) -> Iterator[Path]:
    """Yield the modules in ``folder`` that a text imports, or may import by their names in it."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # it is told when the file is loaded
        return
    names: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parent = [node.module] if node.module else []
            names |= dict.fromkeys(".".join([*parent, alias.name]) for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            match = _DOTTED.fullmatch(node.value)
            names |= {match[1]: None} if match else {}
    for name in names:
        yield from _modules(folder, name.split("."))


def _modules(folder: Path, parts: Sequence[str]) -> Iterator[Path]:
    """Yield the files of a module, and of the packages that it is in."""
    if not parts or parts[0] in ("*", OURS):
        return
    package, file = folder / parts[0], folder / f"{parts[0]}.py"
    if (package / "__init__.py").is_file():
        yield from sorted(package.rglob("*.py"))
    elif file.is_file():
        yield file
    else:  # a package without a file of its own
        yield from _modules(package, parts[1:])


def _add(path: Path, contents: dict[Path, bytes], folder: Path) -> None:
    if path in contents:
        return
    text = contents[path] = system.read(path, _MOST_BYTES)
    is_python = path.suffix == ".py"
    for used in _imported(text, folder) if is_python else _included(path, text):
        _add(used, contents, folder)


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
