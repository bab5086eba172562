# SPDX-License-Identifier: GPL-2.0-only
"""Published and simulated results side by side. A paper is a folder, see ``folder``.

The names here are for the folder's ``paper.py``; ``scenarios/papers/README.md`` explains them.
"""

from __future__ import annotations

import importlib
from typing import Any

#: Name → its module.
_HOME = {
    **dict.fromkeys(
        ("Axis", "Claim", "Fit", "Paper", "Quantity"), "declare"
    ),
    **dict.fromkeys(("derived", "metric", "theory"), "declare"),
    **dict.fromkeys(("calibrate", "reproduce"), "commands"),
    **dict.fromkeys(("find", "names"), "folder"),
    "simulate": "simulate",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
