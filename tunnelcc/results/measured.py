# SPDX-License-Identifier: GPL-2.0-only
"""The measurements of one part of a run, as attributes.

``measured.pyi`` beside this file has their names and types, for editors and type checkers.
``waf-config/write-stub.py`` makes it from the table of the models.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import numpy as np

from tunnelcc import core


class Part:
    """The measurements of one part, as attributes: ``link.queue_drops`` is of ``link_queue_drops``.

    A series is an array over time. A total is a number, and None if it has no value.
    """

    kind: ClassVar[str]

    def __init__(self, arrays: Callable[[str], Any], place: int | tuple[int, ...]) -> None:
        self._arrays = arrays
        self.place = place

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *names(self.kind)]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        known = declared(self.kind, name)
        try:
            value = self._arrays(_full(self.kind, name))[self.place]
        except KeyError:
            if known is None:
                raise AttributeError(f"no measurement {_full(self.kind, name)}") from None
            return None  # nothing in this run has it
        # Kept as an attribute, which Python finds without asking here again.
        found = self.__dict__[name] = plain(value, is_count=known is not None and known.is_count)
        return found


class FlowPart(Part):
    """A flow, of one application to another."""

    kind = "flow"


class ConnectionPart(Part):
    """A connection of TCP, QUIC, KCP or RUDP: a flow's own, or a tunnel's."""

    kind = "leg"


class LinkPart(Part):
    """A direction of a link."""

    kind = "link"


class TunnelPart(Part):
    """A direction of a tunnel that carries packets."""

    kind = "tunnel"


class HostPart(Part):
    """A host."""

    kind = "host"


class CrossTrafficPart(Part):
    """A source of cross traffic."""

    kind = "cross_traffic"


class PingPart(Part):
    """An entry of ``pings``."""

    kind = "ping"


KINDS = (FlowPart, ConnectionPart, LinkPart, TunnelPart, HostPart, CrossTrafficPart, PingPart)


@cache
def names(kind: str) -> tuple[str, ...]:
    """Return the measurements that the models make of a kind of part, as its attributes."""
    dimension = "packet_tunnel" if kind == "tunnel" else kind
    own = (it.name for it in core.measurements().values() if it.dimensions[:1] == (dimension,))
    return tuple(name.removeprefix(f"{kind}_") for name in own)


@cache
def declared(kind: str, name: str) -> core.Measurement | None:
    """Return the measurement behind an attribute of a kind of part, None if there is none."""
    return core.measurements().get(_full(kind, name))


def _full(kind: str, name: str) -> str:
    # Connections have TCP's own names.
    return name if kind == "leg" and name not in ("name", "cc") else f"{kind}_{name}"


def plain(value: Any, *, is_count: bool = False) -> Any:
    """Return a number of an array as float or int, and NaN as None; arrays and text as they are."""
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    if isinstance(value, np.integer):
        return int(value)
    if not isinstance(value, float):  # numpy's float64 is one
        return value
    if not math.isfinite(value):
        return None
    return int(value) if is_count else float(value)
