# SPDX-License-Identifier: GPL-2.0-only
"""The compiled module, loaded at first use."""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from types import ModuleType
from typing import TypeVar

from tunnelcc.errors import TunnelccError

# Congestion controls under names that others give them.
_OTHER_NAMES = {"newreno": "reno"}


@cache
def load() -> ModuleType:
    """Return ``tunnelcc._core``. Raises TunnelccError if it or ns-3 cannot be loaded.

    The environment variable ``TUNNELCC_CORE`` names the module's file in another build, such as
    that of ``make dev``.
    """
    from tunnelcc.core import ns3

    try:
        ns3.preload()
        if file := os.environ.get("TUNNELCC_CORE"):
            return _module_in(file)
        return importlib.import_module("tunnelcc._core")
    except (ImportError, OSError) as error:
        raise TunnelccError(
            f"the compiled module cannot be loaded: {error}; `tunnelcc doctor` shows "
            "details, and `pip install .` in the source tree builds it"
        ) from error


def _module_in(file: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("tunnelcc._core", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_Info = TypeVar("_Info")


@dataclass(frozen=True)
class Algorithm:
    """A congestion control of this project."""

    name: str
    summary: str
    source: str
    note: str  # stands beside the name wherever that is shown; "": none


@dataclass(frozen=True)
class Parameter:
    """A parameter of a congestion control (a number)."""

    name: str
    default: float  # NaN: there is none, the parameter must be given
    unit: str
    minimum: float
    maximum: float
    doc: str
    source: str
    choices: Sequence[str] = ()  # names of the values, from 0 on; none: it is a number

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return math.isnan(self.default)


@cache
def algorithms() -> tuple[Algorithm, ...]:
    """Return the congestion controls of this project."""
    return tuple(_copy(Algorithm, info) for info in load().congestion_algorithms())


@cache
def congestion_controls() -> tuple[str, ...]:
    """Return the names of this project's congestion controls."""
    return tuple(algorithm.name for algorithm in algorithms())


@cache
def ns3_congestion_controls() -> tuple[str, ...]:
    """Return the names of ns-3's congestion controls (``ns3::TcpBbr``)."""
    return tuple(load().ns3_congestion_controls())


def congestion_label(text: str) -> str:
    """Return a congestion control's name and note, as tables and figures show it.

    ``text``: the name, with or without parameters.
    """
    name = text.partition(" ")[0]
    notes = [algorithm.note for algorithm in algorithms() if algorithm.name == name]
    return f"{text} ({notes[0]})" if notes and notes[0] else text


def congestion_name(name: str) -> str:
    """Return the name used here: ``newreno`` is ``reno``."""
    return _OTHER_NAMES.get(name, name)


@cache
def has_congestion_control(name: str) -> bool:
    """Whether flows can use the congestion control."""
    return bool(load().has_congestion_control(name))


@cache
def congestion_parameters(name: str) -> tuple[Parameter, ...]:
    """Return the parameters of a congestion control, including ns-3's attributes."""
    return tuple(_copy(Parameter, info) for info in load().congestion_parameters(name))


def needs_ecn(name: str) -> bool:
    """Whether a congestion control does nothing without ECN marks."""
    return name in ("prague", "ns3::TcpDctcp")


def _copy(kind: type[_Info], info: object) -> _Info:
    return kind(*(getattr(info, field.name) for field in fields(kind)))  # type: ignore[arg-type]
