# SPDX-License-Identifier: GPL-2.0-only
"""Compile files with the user's compiler, and report its errors in one line."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tunnelcc.errors import ConfigError, Problem, TunnelccError
from tunnelcc.modules import compiled, headers
from tunnelcc.modules.source import Source, read

_SYSTEM_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*<([\w./+-]+)>", re.MULTILINE)
_PLACE = r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:\d+:)? "
_ERROR = re.compile(_PLACE + r"(?:fatal )?error: (?P<what>.*)$")
_UNDEFINED = re.compile(_PLACE + r"(?P<what>undefined reference to .*)$")
_EXPANDED = re.compile(_PLACE + "note: in expansion of macro")
_EXPECTED = "a file that can be compiled"
#: What makes a compiler look at files of which it does not tell.
_UNTOLD = {
    rb"__has_include\w*\s*\(\s*[^\"<\s]": "__has_include of a macro: write the name of the file",
    rb"\.incbin\b": ".incbin of the assembler: write the bytes as an array",
    rb'\.include\s+\\"': ".include of the assembler: use #include",
}
_SECONDS = 120

#: As the kernel is compiled where that changes what a program does. A name that is not declared is
#: an error, so that the message names it.
_LINUX_FLAGS = (
    "-std=gnu11", "-O2", "-g1", "-fPIC", "-shared", "-nostdinc", "-fno-strict-aliasing", "-fwrapv",
    "-fvisibility=hidden", "-fno-stack-protector", "-Werror=implicit-function-declaration",
    "-Werror=incompatible-pointer-types", "-Werror=int-conversion", "-Wl,-z,defs",
)  # fmt: skip


#: As the models are compiled: a multiplication and an addition stay two instructions.
_CXX_FLAGS = (
    "-std=c++20", "-O2", "-g1", "-fPIC", "-shared", "-ffp-contract=off", "-fvisibility=hidden",
    "-Wl,-z,defs",
)  # fmt: skip


def compile_file(source: Source) -> Source:
    """Compile a file; return it with all that it includes. Raises ConfigError, TunnelccError.

    The compiler gets copies of what was read, so what is hashed is what is compiled.
    """
    is_class = source.language == "c++"
    offered = any(b"TUNNELCC_CONGESTION_CONTROL" in it for it in source.contents.values())
    if is_class and not offered:
        expected = "a file that ends with TUNNELCC_CONGESTION_CONTROL(Class); see `tunnelcc new cc`"
        raise ConfigError(Problem("", source.name, expected))
    while True:
        _check_told(source)
        with tempfile.TemporaryDirectory(prefix="tunnelcc-") as name:
            folder = Path(name).resolve()
            flags = _class_flags() if is_class else _module_flags(source, folder / "include")
            copies = _copies(source, folder / "files")
            found = {copy: path for path, copy in copies.items()}
            try:
                used = _compile([*flags, "-MMD"], source, copies, folder)
            except ConfigError:
                # A macro may name a header, which is not among the copies.
                used = _compile([*flags, "-MM"], source, {it: it for it in copies}, folder)
                if used <= copies.keys():
                    raise
            needed = {found.get(it, it) for it in used}
            if needed <= copies.keys():
                _check_unchanged(source, used - found.keys())
                return _finish(source, folder / "module.so", needed)
        source = read(source.name, _in_order(source, needed))


def _check_told(source: Source) -> None:
    """Raise ConfigError if a file is used that would not be known, hashed and agreed to."""
    for path, text in source.contents.items():
        for pattern, what in _UNTOLD.items():
            if re.search(pattern, text):
                hint = f"{path.name} has {what}, so that it is known what is to be trusted"
                raise ConfigError(Problem("", source.name, _EXPECTED, hint))


def _in_order(source: Source, files: Iterable[Path]) -> list[Path]:
    """Return ``files`` in an order that does not depend on where the folder is."""
    return sorted(files, key=lambda it: os.path.relpath(it, source.path.parent))


def _copies(source: Source, folder: Path) -> dict[Path, Path]:
    """Write what was read to ``folder``, with the same folders in it. Return path → copy."""
    root = os.path.commonpath([it.parent for it in source.contents])
    copies = {it: folder / it.relative_to(root) for it in source.contents}
    for path, copy in copies.items():
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(source.contents[path])
    return copies


def _check_unchanged(source: Source, files: Iterable[Path]) -> None:
    """Raise ConfigError if ``files``, which are included by absolute paths, are not as read."""
    for file in files:
        if not file.is_file() or file.read_bytes() != source.contents[file]:
            hint = f"{file} changed meanwhile"
            raise ConfigError(Problem("", source.name, _EXPECTED, hint))


def _finish(source: Source, built: Path, needed: Iterable[Path]) -> Source:
    compiled.write(compiled.library(source.code), built.read_bytes())
    if source.code != source.plain:
        names = [os.path.relpath(it, source.path.parent) for it in _in_order(source, needed)]
        compiled.write_included(source.plain, names)
    return source


def program(source: Path) -> Path:
    """Return a program of one file in C++, compiled if it was not yet. Raises TunnelccError."""
    text = source.read_bytes()
    code = hashlib.sha256(text).hexdigest()[:32]
    target = compiled.folder() / f"{source.stem}-{code}"
    with compiled.locked(code):
        if not target.is_file():
            command = [_compiler(("c++", "g++", "clang++"), "CXX"), "-std=c++17", "-O2", "-pthread"]
            beside = target.with_name(f".{target.name}.tmp")
            whole = Source(source.name, source, "", "c++", {source: text}, code, code)
            _run([*command, str(source), "-o", str(beside)], whole)
            beside.replace(target)
    return target


def _compile(
    command: Sequence[str], source: Source, places: Mapping[Path, Path], folder: Path
) -> set[Path]:
    """Compile the files at ``places`` to module.so in ``folder``; with -MM, nothing.

    Return what they include of others than the system, the compiler and tunnelcc.
    """
    rules = folder / "rules"
    used: set[Path] = set()
    objects: list[str] = []
    for path in [*source.companions, source.path]:
        is_main = path == source.path
        options = [] if is_main else ["-DTUNNELCC_COMPANION", "-c"]
        output = folder / ("module.so" if is_main else f"{len(objects)}.o")
        if "-MM" not in command:
            options += [*(objects if is_main else ()), "-o", str(output)]
        files = [str(places[path]), *options]
        _run([*command, "-MF", str(rules), "-MT", "all", *files], source)
        objects.append(str(output))
        names = rules.read_text(errors="surrogateescape").partition(":")[2].replace("\\\n", " ")
        used |= {
            Path(os.path.normpath(re.sub(r"\\(.)", r"\1", it).replace("$$", "$")))
            for it in re.findall(r"(?:\\.|[^\s\\])+", names)
        }
    ours = (headers.folder(), folder / "include")
    return {it for it in used if not any(it.is_relative_to(parent) for parent in ours)}


def _class_flags() -> list[str]:
    return [_compiler(("c++", "g++", "clang++"), "CXX"), *_CXX_FLAGS, f"-I{headers.folder()}"]


def _module_flags(source: Source, empty: Path) -> list[str]:
    for text in source.contents.values():
        _make_empty(empty, text)
    return [
        _compiler(("cc", "gcc", "clang"), "CC"), *_LINUX_FLAGS,
        *_variants(source.contents[source.path]),
        f"-I{empty}", "-include", str(headers.folder() / "linux-kernel.h"),
    ]  # fmt: skip


def _variants(text: bytes) -> list[str]:
    """Tell by what the file uses which kernel it is written for."""
    flags = []
    if _takes_number(text, b"cong_control"):
        flags.append("-DTUNNELCC_CONG_CONTROL_HAS_ACK")  # since 6.10
    if _takes_number(text, b"pkts_acked"):
        flags.append("-DTUNNELCC_PKTS_ACKED_HAS_COUNT")  # before 4.7
    if re.search(rb"\btcp_time_stamp\b", text) and b"tcp_time_stamp(" not in text:
        flags.append("-DTUNNELCC_TIME_STAMP_IS_JIFFIES")  # before 4.13
    if b"skb_marked_lost" in text:
        flags.append("-DTUNNELCC_STATE_BYTES=160")  # Google's v3 branch
    return flags


def _takes_number(text: bytes, member: bytes) -> bool:
    """Whether the function in a member of tcp_congestion_ops is given a number after the socket."""
    function = re.search(rb"\." + member + rb"\s*=\s*(\w+)", text)
    after_socket = rb"\s*\(\s*struct\s+sock\s*\*\s*\w+\s*,\s*u32\b"
    return function is not None and re.search(rb"\b" + function[1] + after_socket, text) is not None


def _make_empty(folder: Path, text: bytes) -> None:
    """Make an empty file of each header that the text includes from the kernel."""
    for match in _SYSTEM_INCLUDE.finditer(text):
        name = match[1].decode()
        if ".." not in name and not name.startswith("/"):
            header = folder / name
            header.parent.mkdir(parents=True, exist_ok=True)
            header.touch()


def _compiler(names: Sequence[str], variable: str) -> str:
    chosen = os.environ.get(variable)
    for name in [chosen] if chosen else names:
        if found := shutil.which(name):
            return found
    wanted, package = chosen or " or ".join(names), "gcc" if variable == "CC" else "g++"
    raise TunnelccError(
        f"a file is to be compiled, and there is no compiler ({wanted}): install one, such as with "
        f"`apt-get install {package}`; {variable} sets another"
    )


def _run(command: Sequence[str], source: Source) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_SECONDS,
            stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        hint = f"the compiler took more than {_SECONDS} s"
        raise ConfigError(Problem("", source.name, _EXPECTED, hint)) from None
    if done.returncode != 0:
        raise ConfigError(Problem("", source.name, _EXPECTED, first_error(done.stderr)))


def first_error(text: str) -> str:
    """Return the first error of a compiler's output: file, line, and what is wrong.

    Where it is in one of our headers, through a macro, the line of the file that uses it follows.
    """
    ours = str(headers.folder())
    found = ""
    for line in text.splitlines():
        if match := _ERROR.match(line) or _UNDEFINED.match(line):
            is_ours = match["file"].startswith(ours)
            where = f"{Path(match['file']).name}:{match['line']}: {match['what']}"
            if not is_ours:
                return where
            found = found or where
        elif found:
            note = _EXPANDED.match(line)
            if note and not note["file"].startswith(ours):
                return f"{Path(note['file']).name}:{note['line']}: {found.partition(': ')[2]}"
    lines = [line for line in text.splitlines() if line.strip()]
    return found or (lines[0] if lines else "the compiler gave no reason")
