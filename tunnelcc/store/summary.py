# SPDX-License-Identifier: GPL-2.0-only
"""The metrics of a run as plain numbers, for the index.

They are computed from the run's file, so a changed definition needs no new runs.
"""

from __future__ import annotations

import hashlib
from functools import cache
from itertools import starmap
from pathlib import Path
from typing import Any

from tunnelcc import metrics
from tunnelcc.results.result import Result

_DIGEST_BYTES = 8


def summarise(result: Result) -> dict[str, Any]:
    """Return name → number, or list with one value per flow, of every metric of a run."""
    return {name: value.tolist() for name, value in metrics.values(result).items()}


def is_summary(found: object) -> bool:
    """Whether ``found`` is what summarise() returns, of this or of another version."""
    return isinstance(found, dict) and all(starmap(_is_value, found.items()))


def _is_value(name: str, value: object) -> bool:
    if not isinstance(value, list):
        return isinstance(value, (float, int)) and name not in _lists()
    if name in metrics.TEXTS:
        return all(isinstance(it, str) for it in value)
    if name in metrics.STORED and name not in _lists():
        return False
    return all(isinstance(it, (float, int)) for it in value)


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
