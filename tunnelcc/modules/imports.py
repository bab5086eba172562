# SPDX-License-Identifier: GPL-2.0-only
"""Imports of a user's own file: what is beside it comes from what was read, and for it alone.

The folder of a file is not on the path of imports: a package that the file imports must not find a
file of the folder in place of one of its own. What is beside the file has names below the file's,
so files of two folders may have helpers of one name. What was not read is not found, because only
what was read is hashed and agreed to. A file may seek code in other ways (another folder on the
path of imports, ``runpy``, ``open()``): what is in its folder, or below, and was not read, is
refused.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from tunnelcc.modules.source import LOADED, OURS, Source

#: What is code by its name, and opened by what runs code.
_CODE = (".py", ".pyc", ".pyd", ".pyw", ".pth", ".so", ".dll", ".dylib", ".zip", ".egg", ".whl")

_sources: dict[str, Source] = {}
#: Folders in which Python found code before it executed a file: they may be below one's folder.
_installed: list[str] = []
_thread = threading.local()


def execute(source: Source) -> ModuleType:
    """Execute a file anew, and return it as a module. Raises whatever it raises."""
    if not _sources:
        sys.meta_path.insert(0, _Finder())
        ours = str(Path(__file__).parent.parent)
        _installed[:] = map(os.path.realpath, (ours, sys.prefix, sys.base_prefix, *sys.path))
        sys.addaudithook(_look)
    name = LOADED + source.code
    _sources[name] = source
    for loaded in [it for it in sys.modules if it.partition(".")[0] == name]:
        del sys.modules[loaded]
    spec = _spec(name, source, source.path, is_package=True)
    made = sys.modules[name] = module_from_spec(spec)
    assert spec.loader is not None
    with only_what_was_read():
        spec.loader.exec_module(made)
    return made


@contextlib.contextmanager
def only_what_was_read() -> Iterator[None]:
    """Refuse other code of the folders of files, to what this thread executes meanwhile."""
    before = getattr(_thread, "is_watched", False)
    _thread.is_watched = True
    try:
        yield
    finally:
        _thread.is_watched = before


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    """See what the interpreter is about to open or to load (PEP 578)."""
    if event == "open":
        path, _, flags = arguments
        if flags & (os.O_WRONLY | os.O_APPEND | os.O_TRUNC):
            return
    elif event == "import":
        path = arguments[1]
    elif event == "ctypes.dlopen":
        path = arguments[0]
    else:
        return
    if not getattr(_thread, "is_watched", False) or not isinstance(path, (str, bytes)):
        return
    name = os.fsdecode(path)
    if not name.endswith(_CODE):
        return
    for it in {os.path.abspath(name), os.path.realpath(name)}:
        for source in _sources.values():
            _check_read(it, source)


def _check_read(name: str, source: Source) -> None:
    """Raise ImportError if a file is in the folder of ``source``, or below, and was not read."""
    folder = f"{source.path.parent}{os.sep}"
    if not name.startswith(folder) or Path(name) in source.contents:
        return
    if any(it.startswith(folder) and name.startswith(it + os.sep) for it in _installed):
        return
    inner, suffix = os.path.splitext(name.removeprefix(folder))
    if suffix == ".py":
        raise _unnamed(inner.removesuffix(f"{os.sep}__init__").replace(os.sep, "."), name, source)
    raise ImportError(
        f"{inner}{suffix} is in the folder of {source.path.name}, from which only modules in .py "
        "are loaded"
    )


def _unnamed(module: str, file: str, source: Source) -> ImportError:
    return ImportError(
        f"{Path(file).name} is beside {source.path.name}, where no text names it: write `import "
        f"{module}`, so that it is known what is to be trusted"
    )


def _spec(name: str, source: Source, path: Path, *, is_package: bool) -> ModuleSpec:
    spec = ModuleSpec(name, _Loader(source, path), origin=str(path), is_package=is_package)
    spec.has_location = True
    return spec


class _Loader(Loader):
    """Executes what was read, with imports of its own."""

    def __init__(self, source: Source, path: Path) -> None:
        self._source = source
        self._path = path

    def exec_module(self, module: ModuleType) -> None:
        names = vars(module)
        names["__builtins__"] = {**vars(builtins), "__import__": _Imports(self._source)}
        exec(compile(self._source.contents[self._path], str(self._path), "exec"), names)


class _Finder(MetaPathFinder):
    """Finds what is beside a file, among what was read; for others, its folder is on no path."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        first, _, inner = name.partition(".")
        source = _sources.get(first)
        if source is None:
            folders = {it.path.parent for it in _sources.values()}
            sys.path[:] = [it for it in sys.path if Path(it).resolve() not in folders]
            return None
        place = source.path.parent.joinpath(*inner.split("."))
        for file in (place / "__init__.py", place.with_name(f"{place.name}.py")):
            if file in source.contents:
                return _spec(name, source, file, is_package=file.parent == place)
        if any(it.is_relative_to(place) for it in source.contents):
            return ModuleSpec(name, None, is_package=True)
        return None


class _Imports:
    """``__import__()`` of a file, and of what is beside it."""

    def __init__(self, source: Source) -> None:
        self._name = LOADED + source.code
        self._source = source
        self._importlib = ModuleType("importlib")  # as they see it
        vars(self._importlib).update(vars(importlib), import_module=self._import_module)

    def __call__(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,  # noqa: A002
        locals: Mapping[str, Any] | None = None,  # noqa: A002
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        if level == 0 and self._is_beside(name):
            name = f"{self._name}.{name}"
            if not fromlist:
                importlib.import_module(name)
                return sys.modules[".".join(name.split(".")[:2])]
        found = builtins.__import__(name, globals, locals, fromlist or (), level)
        return self._importlib if found is importlib else found

    def _import_module(self, name: str, package: str | None = None) -> ModuleType:
        return importlib.import_module(
            f"{self._name}.{name}" if self._is_beside(name) else name, package
        )

    def _is_beside(self, name: str) -> bool:
        """Whether a module is beside the file. Raises ImportError if it is, and was not read."""
        first = name.partition(".")[0]
        if first in ("", OURS):
            return False
        package = self._source.path.parent / first
        file = package.with_name(f"{first}.py")
        if any(it == file or it.is_relative_to(package) for it in self._source.contents):
            return True
        for it in (file, package / "__init__.py"):
            if it.is_file():
                raise _unnamed(first, str(it), self._source)
        return False
