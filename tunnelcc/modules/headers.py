# SPDX-License-Identifier: GPL-2.0-only
"""The headers that files are compiled against, which are installed with the package."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tunnelcc.errors import TunnelccError

#: What a module of Linux sees of the kernel.
LINUX = ("linux-abi.h", "linux-kernel.h")


@cache
def folder() -> Path:
    """Return the folder of the rooms of headers. Raises TunnelccError."""
    package = Path(__file__).parent.parent
    # An editable installation reads the models' own.
    for found in (package / "include", package.parent / "models"):
        if all((found / "modules" / name).is_file() for name in LINUX):
            return found
    raise TunnelccError(
        f"{package} has no headers to compile congestion controls with; install tunnelcc again"
    )
