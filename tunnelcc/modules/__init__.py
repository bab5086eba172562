# SPDX-License-Identifier: GPL-2.0-only
"""Congestion controls that come as files: found, trusted, compiled or loaded, described.

The path of a file is the name of a congestion control, and its suffix tells the language: a module
of Linux (``linux:net/ipv4/tcp_illinois.c``), a class in C++ (``./mine.cc``), or one in Python
(``./mine.py``, or ``./mine.py:Mine`` where it has several). In Python, the class itself is a name.

C and C++ are compiled at first use, into a folder of the user's own. The hash of what was compiled
names the result there, and stands for the file in everything that follows: the specification, the
identity of a run, stored runs. A file of Python has a hash, too, and stays where it is.

A file is code that runs with the user's rights. So it runs only if the user has named it, on the
command line or in Python, and in a process of its own (see ``child``). For a file that a scenario
names, see ``trust``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, TypeAlias, TypeVar, cast

from tunnelcc import core
from tunnelcc.core import Parameter
from tunnelcc.core.inside import Report
from tunnelcc.errors import ConfigError, Problem, RunError
from tunnelcc.modules import child, own, python
from tunnelcc.modules import compiled as files
from tunnelcc.modules.own import is_own
from tunnelcc.modules.python import check_not_loading
from tunnelcc.modules.source import OURS, Source, absolute, is_file, read

__all__ = [
    "Module", "Report", "absolute", "check_not_loading", "find", "is_file", "is_own", "known", "of",
    "run", "table_of",
]  # fmt: skip

T = TypeVar("T")
Classes: TypeAlias = Mapping[str, python.Class]

# As spec_parts.congestion() writes it.
_CODE = re.compile(r'"code":"([0-9a-f]{32})"')

#: Where a class is that was typed in, in place of a path.
_NOWHERE = "(interactive).py"

#: Classes of this process by their hash: those that Python code has named.
_classes: dict[str, type[own.CongestionControl]] = {}
#: What they hold, of those that are in no file.
_typed_in: dict[str, Module] = {}


@dataclass(frozen=True)
class Module:
    """A file. ``name``: with the absolute path. ``code``: the hash that stands for it.

    ``title``: the name that the file gives the algorithm. ``needs_ecn``: as core.needs_ecn().
    """

    name: str
    code: str
    title: str
    needs_ecn: bool
    parameters: Sequence[Parameter]


def of(name: str) -> Module:
    """Return the Module of the file ``name``; compile it first if needed. Raises ConfigError."""
    _check_engine(name)
    source = read(name)
    if (module := known(source.code)) is None:
        with files.locked(source.code):  # of many workers, one compiles
            module = known(source.code) or _add(source)
    if source.language == "python" and not source.member:
        return of(f"{source.name}:{module.title}")
    return _at(source, module)


def _check_engine(name: str) -> None:
    """Raise ConfigError where the engine runs no code of others."""
    if why := core.native_only():
        ours = ", ".join(core.congestion_controls())
        raise ConfigError(Problem("", name, f"one of {ours}", why))


def _at(source: Source, module: Module) -> Module:
    """Return the Module of a file, which may be a copy of that one: workers read where it is."""
    found = replace(module, name=source.name)
    return _write(found) if source.language == "python" and found != module else found


def table_of(value: object) -> dict[str, Any]:
    """Return a class of the user's own, or an object of it, as a scenario's table names it.

    Raises ConfigError.
    """
    cls = value if isinstance(value, type) else type(value)
    assert issubclass(cls, own.CongestionControl)
    file = own.module_file(cls)
    name = _name_of(cls)
    _check_engine(name)
    expected = "a class at the top of a file, or of a notebook's cell"
    if "." in cls.__qualname__:
        raise ConfigError(
            Problem("", cls.__qualname__, expected, "it is within a function or class")
        )
    code = cls._code
    if file is None:
        if code not in _typed_in:
            _typed_in[code] = _described(name, code, lambda: cls)
        module = _typed_in[code]
    else:
        if own.code_of(cls) != code:
            hint = f"{file} has changed since it was imported: import it again"
            raise ConfigError(Problem("", name, expected, hint))
        _classes[code] = cls  # before it is described: the file need not be executed for that
        module = of(name)
    _classes[code] = cls
    # What was set on the class since it was defined counts, too.
    defaults = {parameter.name: parameter.default for parameter in module.parameters}
    values = dict(cls._parameters())
    if not isinstance(value, type):
        values |= {key: it for key, it in vars(value).items() if not key.startswith("_")}
    changed = {key: it for key, it in values.items() if key not in defaults or defaults[key] != it}
    return {"name": module.name, "code": code, **changed}


def find(name: str) -> Module | None:
    """Return the Module of ``name`` if it was compiled or loaded before and has not changed."""
    try:
        source = read(name)
    except ConfigError:
        return None
    module = known(source.code)
    if module is not None and source.language == "python" and not source.member:
        return find(f"{source.name}:{module.title}")
    return module and _at(source, module)


def known(code: str) -> Module | None:
    """Return what the file with the hash ``code`` holds, if there is one here.

    A stored run of somebody else may have any text in its place.
    """
    if code in _typed_in:
        return _typed_in[code]
    is_code = _CODE.fullmatch(f'"code":"{code}"') is not None
    if not is_code or core.native_only():
        return None
    return _known(code) if files.description(code).is_file() else None


@cache
def _known(code: str) -> Module:
    table = json.loads(files.description(code).read_text())
    parameters = tuple(Parameter(**parameter) for parameter in table.pop("parameters"))
    return Module(**table, code=code, parameters=parameters)


def run(
    spec: str,
    function: Callable[[Classes, Report], T],
    report: Report,
    plain: Callable[[Mapping[str, Any]], T] | None = None,
) -> T:
    """Return ``function(classes, report)``, with the classes of Python that a specification names.

    ``plain``: what the function makes of what was measured, if it does nothing else beside.

    Where it names files, a process of its own calls the function. Raises RunError if a file is not
    here, or if it ends the process.
    """
    check_not_loading()
    codes = sorted(set(_CODE.findall(spec)))
    if not codes:
        return function({}, report)
    if why := core.native_only():
        raise RunError(f"a congestion control that comes as a file: {why}")
    found = {code: _prepared(code) for code in codes}
    core.load().set_module_folder(str(files.folder()))

    def whole(report: Report) -> T:
        classes = {code: it.loaded() for code, it in found.items() if it.is_python}
        with python.watched() if classes else nullcontext():
            return function(classes, report)

    if any(it.is_ours for it in found.values()):  # an environment's session shares its threads
        return whole(report)
    names = " or ".join(it.label for it in found.values())
    is_python = any(it.is_python for it in found.values())
    if plain and not is_python:
        measured = child.simulate(spec, str(files.folder()), names, report)
        if measured is not None:
            return plain(measured)
    return child.call(whole, names, report, is_python=is_python)


@dataclass(frozen=True)
class _Ready:
    """A file that can run: ``source`` or ``cls`` of a class of Python; neither: it is compiled."""

    label: str
    source: Source | None = None
    cls: type[own.CongestionControl] | None = None

    @property
    def is_python(self) -> bool:
        return self.source is not None or self.cls is not None

    @property
    def is_ours(self) -> bool:
        return self.cls is not None and self.cls.__module__.partition(".")[0] == OURS

    def loaded(self) -> python.Class:
        """Return the class, of a file that is executed now. Raises RunError."""
        try:
            cls = self.cls or python.load(cast("Source", self.source))
        except ConfigError as error:
            raise RunError(str(error)) from None
        return self.label, cls, python.explain


def _prepared(code: str) -> _Ready:
    """Return the file with the hash ``code``. Raises RunError."""
    if cls := _classes.get(code):
        return _Ready(core.congestion_label(_name_of(cls)), cls=cls)
    module = known(code)
    if module is None:
        raise RunError(
            f"the congestion control {code} is not on this machine, or it is a class that was "
            "typed in, which worker processes do not have: name its file (on the command line, or "
            "in Python)"
        )
    label = core.congestion_label(module.name)
    if files.library(code).is_file():
        return _Ready(label)
    try:
        source = read(module.name)
    except ConfigError as error:
        raise RunError(str(error)) from None
    if source.code != code:
        raise RunError(f"{source.name} has changed: name it again")
    return _Ready(label, source)


def _name_of(cls: type[own.CongestionControl]) -> str:
    return f"{own.module_file(cls) or _NOWHERE}:{cls.__qualname__}"


def _add(source: Source) -> Module:
    """Compile or load a file, and write down what it holds. Raises ConfigError."""
    if source.language == "python":
        cls = _classes.get(source.code)
        module = _described(source.name, source.code, lambda: cls or python.load(source))
    else:
        from tunnelcc.modules import compiler  # with what starts processes: few runs need it

        source = compiler.compile_file(source)
        try:
            module = _described(source.name, source.code)
        except ConfigError:
            files.library(source.code).unlink(missing_ok=True)
            raise
    return _write(module)


def _write(module: Module) -> Module:
    table = asdict(module)
    del table["code"]
    files.write(files.description(module.code), json.dumps(table).encode())
    _known.cache_clear()
    return module


def _described(
    name: str, code: str, load: Callable[[], type[own.CongestionControl]] | None = None
) -> Module:
    """Return what a compiled file holds, or the class of ``load``. Raises ConfigError."""
    core.load().set_module_folder(str(files.folder()))
    label = core.congestion_label(name)

    def describe(_: Report) -> Module:
        cls = load() if load else None
        classes = {} if cls is None else {code: (label, cls, python.explain)}
        try:
            info = core.load().describe_module(label, code, classes)
        except RuntimeError as error:
            raise RunError(str(error)) from None
        parameters = tuple(core.parameter(it) for it in info.parameters)
        return Module(name, code, cls.__name__ if cls else info.name, info.needs_ecn, parameters)

    try:
        return child.call(describe, label, is_python=load is not None)
    except RunError as error:
        raise ConfigError(Problem("", name, "a congestion control", str(error))) from None
