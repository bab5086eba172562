# SPDX-License-Identifier: GPL-2.0-only
"""Environments in which a congestion control is learned (the extra ``learn``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tunnelcc.learning.environment import CongestionEnv

if TYPE_CHECKING:
    from tunnelcc.learning.shared import SharedCongestionEnv as SharedCongestionEnv

__all__ = ["CongestionEnv", "SharedCongestionEnv"]


def __getattr__(name: str) -> Any:
    if name != "SharedCongestionEnv":
        raise AttributeError(f"module 'tunnelcc.learning' has no attribute {name!r}")
    from tunnelcc.learning.shared import SharedCongestionEnv  # one flow needs no PettingZoo

    return SharedCongestionEnv
