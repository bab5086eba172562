# SPDX-License-Identifier: GPL-2.0-only
"""The compiled module, loaded when first needed."""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType

from tunnelcc.errors import TunnelccError


@cache
def load() -> ModuleType:
    """Return ``tunnelcc._core``. Raises TunnelccError when it or ns-3 cannot be loaded."""
    from tunnelcc import _ns3

    try:
        _ns3.preload()
        return importlib.import_module("tunnelcc._core")
    except (ImportError, OSError) as error:
        raise TunnelccError(
            f"the compiled module cannot be loaded: {error}; `tunnelcc doctor` tells more, "
            "`pip install .` in the source tree builds it"
        ) from error


@cache
def congestion_controls() -> tuple[str, ...]:
    """Return the names of the built-in algorithms."""
    return tuple(load().congestion_controls())


@cache
def ns3_congestion_controls() -> tuple[str, ...]:
    """Return the names of ns-3's algorithms (``ns3::TcpBbr``)."""
    return tuple(load().ns3_congestion_controls())


@cache
def has_congestion_control(name: str) -> bool:
    """Whether flows can use the algorithm."""
    return bool(load().has_congestion_control(name))


@cache
def congestion_parameters(name: str) -> tuple[tuple[str, float, str], ...]:
    """Return (name, default, meaning) of each parameter of a built-in algorithm."""
    return tuple(load().congestion_parameters(name))
