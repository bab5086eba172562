# SPDX-License-Identifier: GPL-2.0-only
"""Congestion controls that come as files: found, trusted, compiled, described.

``cc = "linux:PATH"`` names a congestion control module of Linux (``net/ipv4/tcp_illinois.c``). It
is compiled at first use, into a folder of the user's own. The hash of what was compiled names the
result there, and stands for the file in everything that follows: the specification, the identity of
a run, stored runs.

A file is code that runs with the user's rights. So it is compiled only if the user has named it, on
the command line or in Python. For a file that a scenario names, see ``trust``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache

from tunnelcc import core
from tunnelcc.core import Parameter
from tunnelcc.errors import ConfigError, Problem, RunError
from tunnelcc.modules import compiled as files
from tunnelcc.modules import compiler
from tunnelcc.modules.faults import explain
from tunnelcc.modules.source import Source, absolute, is_file, read

__all__ = ["Module", "absolute", "explain", "find", "is_file", "known", "of", "prepare"]

# As spec_parts.congestion() writes it.
_CODE = re.compile(r'"code":"([0-9a-f]{32})"')


@dataclass(frozen=True)
class Module:
    """A compiled file. ``name``: with the absolute path. ``code``: the hash that stands for it.

    ``title``: the name that the file gives the algorithm. ``needs_ecn``: as core.needs_ecn().
    """

    name: str
    code: str
    title: str
    needs_ecn: bool
    parameters: Sequence[Parameter]


def of(name: str) -> Module:
    """Return the module that ``name`` names, compiled if it was not yet. Raises ConfigError."""
    source = read(name)
    if (module := known(source.code)) is None:
        with files.locked(source.code):  # of many workers, one compiles
            if known(source.code) is None:
                _compile(source)
        module = known(source.code)
        assert module is not None
    return replace(module, name=source.name)


def find(name: str) -> Module | None:
    """Return the module that ``name`` names if it is compiled already, and is as it was then."""
    try:
        return known(read(name).code)
    except ConfigError:
        return None


def known(code: str) -> Module | None:
    """Return the compiled module with the hash ``code``, if there is one here.

    A stored run of somebody else may have any text in its place.
    """
    is_code = _CODE.fullmatch(f'"code":"{code}"') is not None
    return _known(code) if is_code and files.description(code).is_file() else None


@cache
def _known(code: str) -> Module:
    table = json.loads(files.description(code).read_text())
    parameters = tuple(Parameter(**parameter) for parameter in table.pop("parameters"))
    return Module(**table, code=code, parameters=parameters)


def prepare(spec: str) -> None:
    """Make the compiled files that a specification names known to the models.

    Raises RunError if one is not here.
    """
    codes = set(_CODE.findall(spec))
    for code in codes:
        if known(code) is None:
            raise RunError(
                f"the compiled congestion control {code} is not on this machine: name its file "
                "again (on the command line, or in Python), and it is compiled"
            )
    if codes:
        core.load().set_module_folder(str(files.folder()))


def _compile(source: Source) -> None:
    compiler.compile_module(source, files.library(source.code))
    core.load().set_module_folder(str(files.folder()))
    try:
        info = core.load().describe_module(source.label, source.code)
    except RuntimeError as error:
        text = explain(str(error))
        files.library(source.code).unlink(missing_ok=True)
        raise ConfigError(Problem("", source.name, "a congestion control", text)) from None
    module = Module(
        source.name, source.code, info.name, info.needs_ecn,
        tuple(core.parameter(it) for it in info.parameters),
    )  # fmt: skip
    table = asdict(module)
    del table["code"]
    files.write(files.description(source.code), json.dumps(table).encode())
