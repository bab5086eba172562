# SPDX-License-Identifier: GPL-2.0-only
"""Regular networks: their hosts, their links, and the hosts of their flows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations

Pair = tuple[str, str]


@dataclass(frozen=True)
class Layout:
    """Links by name, each with its two hosts, and the hosts of the flows in order.

    ``access``: the links that join a host to a router.
    """

    links: dict[str, Pair]
    pairs: tuple[Pair, ...]
    access: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Shape:
    """``size``: what the size counts. ``least``: its minimum. ``links``: the number of links."""

    size: str
    least: int
    links: Callable[[int], int]
    lay_out: Callable[[int], Layout]
    has_access: bool = False


def _dumbbell(size: int) -> Layout:
    numbers = range(1, size + 1)
    clients: dict[str, Pair] = {f"client{i}": (f"client{i}", "left") for i in numbers}
    servers: dict[str, Pair] = {f"server{i}": ("right", f"server{i}") for i in numbers}
    return Layout(
        {**clients, "bottleneck": ("left", "right"), **servers},
        tuple((f"client{i}", f"server{i}") for i in numbers),
        frozenset({*clients, *servers}),
    )


def _parking_lot(size: int) -> Layout:
    """The long route crosses every hop; each other pair of hosts crosses one hop."""
    hops = range(1, size + 1)
    links: dict[str, Pair] = {f"hop{i}": (f"router{i - 1}", f"router{i}") for i in hops}
    access: dict[str, Pair] = {
        "client0": ("client0", "router0"),
        "server0": (f"router{size}", "server0"),
    }
    for i in hops:
        access[f"client{i}"] = (f"client{i}", f"router{i - 1}")
        access[f"server{i}"] = (f"router{i}", f"server{i}")
    pairs = tuple((f"client{i}", f"server{i}") for i in range(size + 1))
    return Layout({**links, **access}, pairs, frozenset(access))


def _line(size: int) -> Layout:
    links = {f"hop{i}": (f"host{i - 1}", f"host{i}") for i in range(1, size + 1)}
    return Layout(links, (("host0", f"host{size}"),))


def _star(size: int) -> Layout:
    return Layout({f"spoke{i}": (f"host{i}", "hub") for i in range(1, size + 1)}, _across(size))


def _ring(size: int) -> Layout:
    links = {f"ring{i}": (f"host{i}", f"host{i % size + 1}") for i in range(1, size + 1)}
    return Layout(links, _across(size))


def _mesh(size: int) -> Layout:
    hosts = [f"host{i}" for i in range(1, size + 1)]
    return Layout({f"{a}-{b}": (a, b) for a, b in combinations(hosts, 2)}, _across(size))


def _across(size: int) -> tuple[Pair, ...]:
    """Return pairs of each host and the host on the opposite side of the ring."""
    return tuple((f"host{i + 1}", f"host{(i + size // 2) % size + 1}") for i in range(size))


SHAPES = {
    "dumbbell": Shape("pairs of hosts", 1, lambda size: 2 * size + 1, _dumbbell, has_access=True),
    "parking-lot": Shape(
        "bottlenecks", 1, lambda size: 3 * size + 2, _parking_lot, has_access=True
    ),
    "line": Shape("bottlenecks", 1, lambda size: size, _line),
    "star": Shape("hosts", 2, lambda size: size, _star),
    "ring": Shape("hosts", 3, lambda size: size, _ring),
    "mesh": Shape("hosts", 2, lambda size: size * (size - 1) // 2, _mesh),
}


@lru_cache(maxsize=8)
def lay_out(shape: str, size: int) -> Layout:
    """Return the network of ``shape`` and ``size``."""
    return SHAPES[shape].lay_out(size)
