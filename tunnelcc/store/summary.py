# SPDX-License-Identifier: GPL-2.0-only
"""The metrics of a run as plain numbers, for the index.

They are computed from the run's file, so a changed definition needs no new runs.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from tunnelcc import metrics
from tunnelcc.results.result import Result

_DIGEST_BYTES = 8
# As JSON gives them.
_NUMBERS = {float, int, bool}


def summarise(result: Result) -> dict[str, Any]:
    """Return name → number, or list with one value per flow, of every metric of a run."""
    return {name: value.tolist() for name, value in metrics.values(result).items()}


def is_summary(found: object) -> bool:
    """Whether ``found`` is what summarise() returns, of this or of another version."""
    if not isinstance(found, dict):
        return False
    lists = _lists()
    for name, value in found.items():
        if type(value) is not list:
            is_right = type(value) in _NUMBERS and name not in lists
        elif name in metrics.TEXTS:
            is_right = {str}.issuperset(map(type, value))
        else:
            is_list = name in lists or name not in metrics.STORED
            is_right = is_list and _NUMBERS.issuperset(map(type, value))
        if not is_right:
            return False
    return True


@cache
def _lists() -> frozenset[str]:
    """Return the names of metrics with one value per flow."""
    return frozenset(metrics.TEXTS) | {it for it, of in metrics.STORED.items() if of.per_flow}


@cache
def summary_version() -> str:
    """Return a hash of the code that computes metrics from a run and its experiment."""
    package = Path(__file__).parents[1]
    rooms = ("analysis", "config", "metrics", "network", "results")
    files = [file for room in rooms for file in sorted((package / room).glob("*.py"))]
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()
