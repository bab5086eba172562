# SPDX-License-Identifier: GPL-2.0-only
"""Finished runs on disk. A run is found by everything that it depends on, and never repeated."""

from tunnelcc.core import model_version
from tunnelcc.store.identity import run_id, spec_id
from tunnelcc.store.runfile import Row
from tunnelcc.store.store import FAILED, METRICS, RUN, Store, StoreError

__all__ = [
    "FAILED",
    "METRICS",
    "RUN",
    "Row",
    "Store",
    "StoreError",
    "model_version",
    "run_id",
    "spec_id",
]
