# SPDX-License-Identifier: GPL-2.0-only
"""Finished runs on disk: found again by what they depend on, never simulated twice."""

from tunnelcc.store.identity import model_version, run_id
from tunnelcc.store.store import Store, StoreError

__all__ = ["Store", "StoreError", "model_version", "run_id"]
