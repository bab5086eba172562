# SPDX-License-Identifier: GPL-2.0-only
"""What links with a smaller MTU did to a run, and the keys that change it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tunnelcc.catalog.values import LEAST_MTU, MOST_MTU
from tunnelcc.network.topology import Step
from tunnelcc.network.tunnels import PacketTunnel

if TYPE_CHECKING:
    from tunnelcc.network.resolved import ResolvedNetwork
    from tunnelcc.network.topology import ResolvedLink
    from tunnelcc.network.traffic import Traffic


@dataclass(frozen=True)
class Small:
    """What a link with a smaller MTU did.

    ``too_big``: packets that it dropped; ``is_told``: their senders were; ``fragmented``, and
    ``dropped``: fragments, or packets that were to be fragmented; ``stalled``: flows that delivered
    nothing while packets were lost without a word; ``keys``: what changes it; ``is_before``: all
    this was in the warm-up, so that the counts are 0.
    """

    link: str
    mtu: int
    too_big: int
    is_told: bool
    dropped: int
    fragmented: int
    stalled: tuple[int, ...]
    keys: tuple[Change, ...]
    is_before: bool = False


class Change(NamedTuple):
    """A key, and the values that avoid packets which are too large; an int is the largest."""

    key: str
    values: tuple[str | int, ...]


def of_links(network: ResolvedNetwork, totals: Mapping[str, Any]) -> Iterator[Small]:
    """Yield what each direction of a link with a smaller MTU did, and which keys to change.

    ``totals``: of the run, as ``Result.totals()`` returns them; counts are of the measured part.
    """
    stalled = tuple(i for i, flow in enumerate(totals["flows"]) if not flow["flow_goodput"])
    nothing = [flow for flow in stalled if not totals["flows"][flow]["flow_total_bytes"]]
    for name, link in network.topology.links.items():
        for way, (start, end) in (("forward", link.ends), ("reverse", link.ends[::-1])):
            too_big, fragmented, dropped = (
                totals["links"][name][way][f"link_{count}"] or 0
                for count in ("mtu_drops", "fragmented", "fragment_drops")
            )
            step = Step(name, way == "reverse")
            before = any(_is_lost(network, flow, step) for flow in nothing)
            if too_big or fragmented or dropped or before:
                is_told = link.path.too_big == "tell"
                is_hole = bool(dropped or (too_big and not is_told) or before)
                keys = tuple(_keys(network, link, is_hole)) if is_hole or fragmented else ()
                yield Small(
                    f"{name} ({start} → {end})", link.path.mtu, too_big, is_told, dropped,
                    fragmented, stalled if is_hole else (), keys,
                    is_before=not (too_big or fragmented or dropped),
                )  # fmt: skip


def _is_lost(network: ResolvedNetwork, flow: int, step: Step) -> bool:
    """Whether the full packets of a flow are lost before a link, and nobody is told."""
    traffic, path = network.flows[flow].traffic, network.topology.links[step.link].path
    tunnel = traffic.packet_tunnel
    outside = getattr(tunnel.keys.entry, "outer_df", None) if tunnel else None
    is_whole = outside is None or outside.df != "clear"
    return (
        traffic.flow.transport == "tcp"
        and (path.too_big == "silent" if is_whole else path.fragments == "drop")
        and step in traffic.route.sent_by(traffic.sender)
        and max(traffic.full_packets) > path.mtu
    )


class Divided(NamedTuple):
    """Packets of a tunnel that its end fragmented, of those ``offered`` to its device.

    ``end``: the host to which they went; ``mtu``: what they did not fit into, IP bytes; ``key``:
    what changes it; ``most``: its largest value that fits.
    """

    tunnel: str
    end: str
    fragmented: int
    offered: int
    mtu: int
    key: str
    most: int


def of_tunnels(network: ResolvedNetwork, totals: Mapping[str, Any]) -> Iterator[Divided]:
    """Yield what ends of tunnels fragmented in each direction because their devices are too large.

    Their hosts know the MTU of the path. ``totals``: as of of_links().
    """
    for placed, tunnel in zip(network.tunnels, totals["tunnels"], strict=True):
        layer = placed.layer
        if not isinstance(layer, PacketTunnel) or layer.keys.entry.HAS_CARRIERS:
            continue
        most = _largest(layer, min(layer.mtu, layer.outside.mtu), layer.outside.mtu)
        ends = placed.ends[::-1] if placed.sender == "client" else placed.ends
        for way, end in zip(("forward", "reverse"), ends, strict=True):
            counts = tunnel.get(way)
            if most is not None and counts is not None and counts["tunnel_fragmented"]:
                yield Divided(
                    tunnel["tunnel"], end, counts["tunnel_fragmented"], counts["tunnel_packets"],
                    layer.outside.mtu, f"{placed.key}.mtu", most,
                )  # fmt: skip


def largest_device(traffic: Traffic, mtu: int) -> int | None:
    """Return the largest MTU of the tunnel's device whose packets fit into ``mtu`` IP bytes."""
    tunnel = traffic.packet_tunnel
    if tunnel is None or not traffic.sends_datagrams:
        return None
    return _largest(tunnel, min(traffic.below.mtu, mtu), mtu)


def _largest(tunnel: PacketTunnel, most: int, mtu: int) -> int | None:
    """As largest_device(); at most ``most``."""
    for size in range(most, LEAST_MTU - 1, -1):
        use = tunnel.use._replace(path_mtu=MOST_MTU, mtu=size)
        outer = tunnel.keys.entry.across_path(size, "random", use)
        if sum(outer) <= mtu:
            return size
    return None


def _keys(network: ResolvedNetwork, link: ResolvedLink, is_hole: bool) -> Iterator[Change]:
    """Yield the keys that avoid packets which are too large for a link.

    ``is_hole``: such packets are lost, and nobody is told.
    """
    mtu, kinds, tcp = link.path.mtu, network.kinds, network.experiment.tcp
    for size in dict.fromkeys(largest_device(it, mtu) for it in kinds):
        if size is not None:
            yield Change("tunnel.mtu", (size,))
    if not is_hole:
        return
    if any(not it.sends_datagrams and it.flow.transport == "tcp" for it in kinds):
        yield Change(f"{link.key}.clamp_mss", ("'pmtu'",))
    if any(it.flow.transport == "tcp" for it in kinds) and not tcp.mtu_probing:
        yield Change("tcp.mtu_probing", ("1", "2"))
    if link.path.fragments == "drop":
        yield Change(f"{link.key}.fragments", ("'pass'",))
    if link.path.too_big == "silent":
        yield Change(f"{link.key}.too_big", ("'tell'",))
