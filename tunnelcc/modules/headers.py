# SPDX-License-Identifier: GPL-2.0-only
"""The headers that files are compiled against, which are installed with the package."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tunnelcc.errors import TunnelccError

#: What a module of Linux sees of the kernel, and a class in C++ of tunnelcc.
OF = {"linux": ("linux-abi.h", "linux-kernel.h"), "c++": ("tunnelcc.h",)}


@cache
def folder() -> Path:
    """Return the folder of the headers. Raises TunnelccError."""
    package = Path(__file__).parent.parent
    # An editable installation reads the models' own.
    for found in (package / "include", package.parent / "models" / "modules"):
        if all((found / name).is_file() for names in OF.values() for name in names):
            return found
    raise TunnelccError(
        f"{package} has no headers to compile congestion controls with; install tunnelcc again"
    )
