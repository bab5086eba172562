# SPDX-License-Identifier: GPL-2.0-only
"""Imports of a user's own file: what is beside it comes from what was read, and for it alone.

The folder of a file is not on the path of imports: a package that the file imports must not find a
file of the folder in place of one of its own. What is beside the file has names below the file's,
so files of two folders may have helpers of one name. What was not read is not found, because only
what was read is hashed and agreed to.
"""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from tunnelcc.modules.source import OURS, Source

_PREFIX = "tunnelcc_own_"

_sources: dict[str, Source] = {}


def execute(source: Source) -> ModuleType:
    """Execute a file anew, and return it as a module. Raises whatever it raises."""
    if not _sources:
        sys.meta_path.insert(0, _Finder())
    name = _PREFIX + source.code
    _sources[name] = source
    for loaded in [it for it in sys.modules if it.partition(".")[0] == name]:
        del sys.modules[loaded]
    spec = _spec(name, source, source.path, is_package=True)
    made = sys.modules[name] = module_from_spec(spec)
    assert spec.loader is not None
    spec.loader.exec_module(made)
    return made


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
        self._name = _PREFIX + source.code
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
                raise ImportError(
                    f"{it.name} is beside {self._source.path.name}, where no text names it: "
                    f"write `import {first}`, so that it is known what is to be trusted"
                )
        return False
