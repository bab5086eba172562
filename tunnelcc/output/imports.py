# SPDX-License-Identifier: GPL-2.0-only
"""What the command line leaves out of the packages that it imports, because nobody waits for it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def leave_out_dask() -> None:
    """Where Dask is installed, xarray would import it to look for arrays of its kind."""
    sys.modules.setdefault("dask", None)  # type: ignore[arg-type]


def leave_out_texts_of_artists() -> None:
    """Let matplotlib's classes have no text about their properties, which help() prints.

    To write these texts took a quarter of the instructions of importing matplotlib.
    """
    if "matplotlib" not in sys.modules:
        sys.meta_path.insert(0, _Artists())


class _Artists:
    """Finds the module that writes the texts, and replaces the function that does."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module's own specification, but for that function."""
        if name != "matplotlib.artist":
            return None
        sys.meta_path.remove(self)
        found = importlib.util.find_spec(name)
        if found is not None and found.loader is not None:
            execute: Any = found.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                module.kwdoc = lambda artist: ""  # type: ignore[attr-defined]

            found.loader.exec_module = exec_module  # type: ignore[method-assign]
        return found
