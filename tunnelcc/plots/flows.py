# SPDX-License-Identifier: GPL-2.0-only
"""Colours, line styles and labels that distinguish the flows of one run in figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tunnelcc import core
from tunnelcc.network.resolved import ResolvedNetwork, ResolvedTunnel
from tunnelcc.network.traffic import Traffic
from tunnelcc.plots.style import algorithm_style, category_style

if TYPE_CHECKING:
    from tunnelcc.results.result import Result

# How much of its colour the last of several flows of a kind keeps.
_PALEST = 0.35


class Kind(NamedTuple):
    """What tells flows apart. ``tunnel`` is None, and ``is_down`` False, where all are alike."""

    cc: str
    tunnel: str | None
    is_down: bool
    transport: str | None = None

    @property
    def label(self) -> str:
        """Return a text such as ``cubic in wireguard, down``."""
        over = f" over {self.transport.upper()}" if self.transport else ""
        inside = f" in {self.tunnel}" if self.tunnel else ""
        return f"{core.congestion_label(self.cc)}{over}{inside}{', down' if self.is_down else ''}"


def kinds(result: Result) -> list[Kind]:
    """Return the Kind of each flow: its congestion control, and other properties that differ."""
    network = result.network
    tunnels = [tunnel_name(network, placed.traffic) for placed in network.flows]
    downs = [placed.direction == "down" for placed in network.flows]
    # That datagrams are over UDP, their name tells.
    transports = [it.flow.transport for it in network.flows]
    transports = ["tcp" if it == "udp" else it for it in transports]
    differ = [len(set(values)) > 1 for values in (tunnels, downs, transports)]
    return [
        Kind(
            placed.flow.label if placed.flow.transport == "udp" else placed.flow.cc.name,
            tunnel if differ[0] else None,
            differ[1] and is_down,
            placed.flow.transport if differ[2] else None,
        )
        for placed, tunnel, is_down in zip(network.flows, tunnels, downs, strict=True)
    ]


def tunnel_name(network: ResolvedNetwork, flow: Traffic) -> str:
    """Return the names of the tunnels around a flow, from the inside; "": there are none.

    Each is its own name, its entry's if that differs, and the carriers' congestion control.
    """
    return " over ".join(_name(it) for it, _ in network.tunnels_around(flow))


def _name(tunnel: ResolvedTunnel) -> str:
    kind = tunnel.keys.name
    cc = tunnel.keys.carrier_cc
    carrier = f" with {cc.name}" if cc is not None else ""
    named = tunnel.name not in ("tunnel", kind)
    return f"{tunnel.name} ({kind}{carrier})" if named else f"{kind}{carrier}"


def style_of(kind: Kind, all_kinds: Sequence[Kind]) -> dict[str, Any]:
    """Return matplotlib's colour, marker and line style of a kind among ``all_kinds``.

    An algorithm has its own everywhere, as long as nothing else tells flows apart.
    """
    distinct = list(dict.fromkeys(all_kinds))
    if len({(it.tunnel, it.is_down, it.transport) for it in distinct}) > 1:
        return category_style(distinct.index(kind))
    return algorithm_style(kind.cc)


def colours(all_kinds: Sequence[Kind]) -> list[Any]:
    """Return a colour for each flow. Further flows of one kind have a paler colour."""
    from matplotlib.colors import to_rgb

    found = []
    counts, before = Counter(all_kinds), Counter[Kind]()
    bases = {kind: to_rgb(style_of(kind, list(counts))["color"]) for kind in counts}
    for kind in all_kinds:
        kept = 1 - (1 - _PALEST) * before[kind] / max(counts[kind] - 1, 1)
        before[kind] += 1
        found.append(tuple(kept * part + (1 - kept) for part in bases[kind]))
    return found
