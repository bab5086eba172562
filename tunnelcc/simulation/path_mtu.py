# SPDX-License-Identifier: GPL-2.0-only
"""What links with a smaller MTU did to a run, and the keys that change it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tunnelcc.catalog.values import LEAST_MTU, MOST_MTU

if TYPE_CHECKING:
    from tunnelcc.network.connection import Connection
    from tunnelcc.network.resolved import ResolvedNetwork
    from tunnelcc.network.topology import ResolvedLink


def sentences(network: ResolvedNetwork, totals: Mapping[str, Any]) -> Iterator[str]:
    """Yield what each link with a smaller MTU did, and which keys to change.

    ``totals``: of the run, as ``Result.totals()`` returns them.
    """
    stalled = [i for i, flow in enumerate(totals["flows"]) if not flow["flow_goodput"]]
    for name, link in network.topology.links.items():
        ways = [totals["links"][name][way] for way in ("forward", "reverse")]
        too_big, fragmented, dropped = (
            sum(way[f"link_{count}"] or 0 for way in ways)
            for count in ("mtu_drops", "fragmented", "fragment_drops")
        )
        told = []
        if too_big:
            how = (
                "told their senders"
                if link.path.too_big == "tell"
                else "told nobody (a black hole)"
            )
            told.append(f"dropped {too_big} packets of more than {link.path.mtu} bytes and {how}")
        if dropped:
            told.append(f"dropped {dropped} fragments or packets that were to be fragmented")
        if fragmented:
            told.append(f"fragmented {fragmented} packets of more than {link.path.mtu} bytes")
        if not told:
            continue
        text = f"path MTU: {name} {', and '.join(told)}."
        is_hole = bool(dropped or (too_big and link.path.too_big != "tell"))
        if is_hole and stalled:
            text += f" {_flows(stalled)} delivered nothing."
        if is_hole or fragmented:
            text += f" These change it: {'; '.join(_keys(network, link, is_hole))}."
        yield text


def largest_device(connection: Connection, mtu: int) -> int | None:
    """Return the largest MTU of the tunnel's device whose packets fit into ``mtu`` IP bytes."""
    tunnel = connection.lowest_tunnel
    if tunnel is None or not connection.sends_datagrams:
        return None
    for size in range(min(connection.inner_mtu, mtu), LEAST_MTU - 1, -1):
        outer = tunnel.entry.across_path(
            size, MOST_MTU, tunnel.mode, size, "random", connection.versions
        )
        if sum(outer) <= mtu:
            return size
    return None


def _keys(network: ResolvedNetwork, link: ResolvedLink, is_hole: bool) -> Iterator[str]:
    """Yield the keys that avoid packets which are too large for a link.

    ``is_hole``: such packets are lost, and nobody is told.
    """
    mtu, connections = link.path.mtu, network.connections
    for size in dict.fromkeys(largest_device(it, mtu) for it in connections):
        if size is not None:
            yield f"tunnel.mtu, at most {size} here (or tunnel.mss)"
    if not is_hole:
        return
    if any(not it.sends_datagrams and it.flow.transport == "tcp" for it in connections):
        yield f"{link.key}.clamp_mss = 'pmtu'"
    if any(it.flow.transport == "tcp" for it in connections) and not connections[0].tcp.mtu_probing:
        yield "tcp.mtu_probing = 1 or 2"
    if link.path.fragments == "drop":
        yield f"{link.key}.fragments = 'pass'"
    if link.path.too_big == "silent":
        yield f"{link.key}.too_big = 'tell'"


def _flows(numbers: list[int]) -> str:
    """Return for example ``Flows 0, 1 and 2``."""
    names = [str(number) for number in numbers]
    if len(names) > 6:
        return f"{len(names)} flows"
    if len(names) == 1:
        return f"Flow {names[0]}"
    return f"Flows {', '.join(names[:-1])} and {names[-1]}"
