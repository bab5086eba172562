# SPDX-License-Identifier: GPL-2.0-only
"""What the command line leaves out of the packages that it imports, because nobody waits for it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def leave_out_dask() -> None:
    """Where Dask is installed, xarray would import it to look for arrays of its kind."""
    sys.modules.setdefault("dask", None)  # type: ignore[arg-type]


def leave_out_texts_and_plugins() -> None:
    """Import matplotlib and numpy without texts that help() prints, and no plugins of pydantic.

    To write the texts about properties took a quarter of the instructions of importing matplotlib,
    and those about functions an eighth of importing numpy. Where plugins are off, pydantic imports
    all the same what would find them.
    """
    waiting = {name: do for name, do in _INSTEAD.items() if name not in sys.modules}
    sys.meta_path.insert(0, _Finder(waiting))


_Execute = Callable[[ModuleType], None]


def _no_texts_of_artists(module: ModuleType, execute: _Execute) -> None:
    execute(module)
    module.kwdoc = lambda artist: ""  # type: ignore[attr-defined]


def _nothing(module: ModuleType, execute: _Execute) -> None:
    """Execute the module as soon as anything in it is looked up."""

    def look_up(name: str) -> Any:
        if name.startswith("__"):  # the import itself looks for __path__
            raise AttributeError(name)
        del vars(module)["__getattr__"]
        execute(module)
        return getattr(module, name)

    vars(module)["__getattr__"] = look_up


def _no_plugins(module: ModuleType, execute: _Execute) -> None:
    _nothing(module, execute)
    module.get_plugins = lambda: ()  # type: ignore[attr-defined]


#: Module → what is done in place of executing it.
_INSTEAD: Mapping[str, Callable[..., None]] = {
    "matplotlib.artist": _no_texts_of_artists,
    "numpy._core._add_newdocs": _nothing,
    "numpy._core._add_newdocs_scalars": _nothing,
    "pydantic.plugin._loader": _no_plugins,
}


class _Finder:
    """Finds the modules of ``waiting``, and has them executed differently."""

    def __init__(self, waiting: dict[str, Callable[..., None]]) -> None:
        self._waiting = waiting

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module's own specification, but for how it is executed."""
        instead = self._waiting.pop(name, None)  # so that the next line does not come here again
        if instead is None or (found := importlib.util.find_spec(name)) is None:
            return None
        loader: Any = found.loader
        loader.exec_module = partial(instead, execute=loader.exec_module)
        return found
