# SPDX-License-Identifier: GPL-2.0-only
"""Find and load ns-3's shared libraries before the compiled module.

The compiled module searches them in ``ns3/lib64`` next to the package, where the ``ns3`` wheel
installs them. They are elsewhere if the two packages are in different directories (``PYTHONPATH``,
``pip install --target``, a system package with a user's package). Then they are loaded here first,
and the dynamic linker uses the loaded libraries by name.

Neither ``ns3`` nor its Python bindings ``ns`` are imported: they start a C++ interpreter, which
takes seconds and hundreds of megabytes.
"""

from __future__ import annotations

import ctypes
import importlib.util
from pathlib import Path

NS3_VERSION = "3.44"

# The modules that tunnelcc uses and what they need, each after the ones it depends on.
_MODULES = ("core", "stats", "network", "bridge", "traffic-control", "internet", "point-to-point")


def library_directory() -> Path:
    """Return the directory of ns-3's shared libraries.

    Raises ImportError if the ``ns3`` package is not installed or has another version.
    """
    spec = importlib.util.find_spec("ns3")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(
            "tunnelcc needs ns-3: install it with `pip install ns3==3.44.post0` "
            "(Linux on x86-64, CPython 3.10 to 3.13)"
        )
    directories = [Path(location) / "lib64" for location in spec.submodule_search_locations]
    for directory in directories:
        if _library(directory, "core").is_file():
            return directory
    raise ImportError(
        f"tunnelcc needs ns-3 {NS3_VERSION}, but {directories[0]} has another version: "
        "install it with `pip install ns3==3.44.post0`"
    )


def preload() -> None:
    """Load ns-3's shared libraries unless the compiled module finds them.

    Raises ImportError if ns-3 is missing, OSError if a library cannot be loaded.
    """
    directory = library_directory()
    core = importlib.util.find_spec("tunnelcc._core")
    if core is not None and core.origin is not None:
        beside = Path(core.origin).parent.parent / "ns3" / "lib64"
        if _library(beside, "core").is_file():
            return
    for module in _MODULES:
        ctypes.CDLL(str(_library(directory, module)), mode=ctypes.RTLD_GLOBAL)


def _library(directory: Path, module: str) -> Path:
    return directory / f"libns{NS3_VERSION}-{module}.so"
