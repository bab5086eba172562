# SPDX-License-Identifier: GPL-2.0-only
"""What goes through a network: flows, cross traffic and pings, each with the layers around it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tunnelcc.catalog.values import datagram_headers
from tunnelcc.config.congestion import CongestionControl
from tunnelcc.config.flow import Flow
from tunnelcc.config.shapes import Pair
from tunnelcc.config.traffic import CrossTraffic, Ping
from tunnelcc.config.tunnel import Tunnel
from tunnelcc.hosts import costs
from tunnelcc.network.datagrams import Datagrams, datagrams_of, datagrams_of_source
from tunnelcc.network.layers import Layer, Links
from tunnelcc.network.multipath import Multipath
from tunnelcc.network.topology import Route, Step
from tunnelcc.network.transport import Transport
from tunnelcc.network.tunnels import Gateways, PacketTunnel, Relays

# What the applications do for each segment: the sending one, and the receiving one.
_CALLS = {
    "tcp": (["tcp-send"], ["tcp-receive"]),
    "quic": (["udp-send", "aes-128-gcm-encrypt"], ["udp-receive", "aes-128-gcm-decrypt"]),
}


class Contents(NamedTuple):
    """What a tunnel carries: so many ``streams``.

    The others are of its first byte stream, or without one of its first flow. ``payload``: what it
    sends; ``cc``: its congestion control; ``window``: bytes of the buffers that it asks for, if it
    does. ``only_tcp``: nothing else than TCP is in the tunnel.
    """

    payload: str
    cc: CongestionControl
    window: int | None
    only_tcp: bool
    streams: int

    @classmethod
    def of(cls, members: Iterable[Flow | CrossTraffic | Ping]) -> Contents:
        """Return what a tunnel carries of single flows, cross traffic and pings."""
        listed = [it if isinstance(it, Flow) else _DATAGRAMS for it in members]
        first = next((it for it in listed if it.transport != "udp"), listed[0])
        only_tcp = all(it.transport == "tcp" for it in listed)
        return cls(first.payload, first.cc, first.window, only_tcp, len(listed))

    @property
    def sealed(self) -> Contents:
        """What another tunnel carries of this one: datagrams that cannot be compressed."""
        return self._replace(payload="random", only_tcp=False, streams=1)


# Cross traffic and pings have the defaults of such a flow.
_DATAGRAMS = Flow.default().model_copy(update={"transport": "udp"})


@dataclass(frozen=True, eq=False)
class Traffic:
    """What equal flows have in common: all but their start, their size and their carrier.

    Also a source of cross traffic, or a ping. ``key``: of its entry (``flows.0``,
    ``cross_traffic.0`` or ``pings.0``), which is ``keys``. ``links``: all between the hosts at its
    ends; ``below``: the layer that its packets enter first; ``sender``: the end that sends the
    data, client or server. ``rtt``: s, the stated base RTT of its own connection, or of its
    tunnel's first one; ResolvedNetwork.rtt() has what the seed draws. ``tunnel_number``: its
    tunnel's place in ResolvedNetwork.tunnels; ``contents``: what is in that tunnel.
    """

    key: str
    keys: Flow | CrossTraffic | Ping
    links: Links
    below: Layer
    sender: str
    rtt: float
    tunnel_number: int | None
    contents: Contents

    @property
    def flow(self) -> Flow:
        """The entry of ``flows``; cross traffic and pings have none."""
        return self.keys if isinstance(self.keys, Flow) else _DATAGRAMS

    @property
    def number(self) -> int:
        """The number of its entry among its like."""
        return int(self.key.rpartition(".")[2])

    @property
    def route(self) -> Route:
        """The links between its ends."""
        return self.links.route

    @property
    def ends(self) -> Pair:
        """The hosts of the client and the server."""
        return self.links.route.ends

    @property
    def direction(self) -> str:
        """Up if the client sends, otherwise down."""
        return "up" if self.sender == "client" else "down"

    @property
    def layers(self) -> list[Layer]:
        """The layers around what it sends, from the inside."""
        return [*self.below.layers]

    @cached_property
    def transport(self) -> Transport:
        """The connection of its ends."""
        return Transport(self.below, self.route, self.sender)

    @property
    def gateways(self) -> Gateways | None:
        """The way to its tunnel's gateways, if these are other hosts, or the tunnel is in one."""
        return self.below if isinstance(self.below, Gateways) else None

    @property
    def tunnel(self) -> PacketTunnel | Relays | None:
        """The tunnel that it goes through first."""
        below = self.below.below if isinstance(self.below, Gateways) else self.below
        return None if isinstance(below, (Links, Multipath)) else below  # type: ignore[return-value]

    @property
    def multipath(self) -> Multipath | None:
        """The paths of its connection, if it has several."""
        return self.below if isinstance(self.below, Multipath) else None

    @property
    def paths(self) -> Multipath | None:
        """The paths of its connection, or of its tunnel's carriers, if these have several."""
        return self.multipath if self.tunnel is None else self.tunnel.paths

    @property
    def tunnel_keys(self) -> Tunnel | None:
        """The keys of its tunnel."""
        tunnel = self.tunnel
        return None if tunnel is None else tunnel.keys

    @property
    def packet_tunnel(self) -> PacketTunnel | None:
        """The tunnel of packets that full segments enter: its own, or that below its relays."""
        tunnel: PacketTunnel | None = self.below.packet_layer
        return tunnel

    @property
    def access(self) -> dict[str, Links]:
        """End → links to the gateway of its tunnel on that side."""
        return self.gateways.access if self.gateways else {}

    @property
    def own_route(self) -> Route:
        """The route on which ``flows.rtt`` adds a delay: of its packets, or the first carrier's."""
        return self.tunnel.hops[0] if isinstance(self.tunnel, Relays) else self.route

    @property
    def way(self) -> Sequence[Step]:
        """The links that its base RTT is of: those before the first relay, where path has these."""
        topology, keys = self.links.on.topology, self.tunnel_keys
        is_of_chain = topology.relays and keys is not None and not keys.relays
        is_first = self.flow.rtt is not None or is_of_chain
        return self.own_route.steps if is_first else self.below.way

    @cached_property
    def loads(self) -> dict[Step, float]:
        """The directions of links on the way of the data: see Layer.loads_of()."""
        return self.below.loads_of(self.sender)

    @property
    def mss(self) -> int:
        """The payload (bytes) of a full segment. Raises ConfigError if nothing is left."""
        return self.transport.mss

    @property
    def sends_datagrams(self) -> bool:
        """Whether the flows, or a relay's carriers, go through a datagram tunnel."""
        tunnel = self.packet_tunnel
        return tunnel is not None and not tunnel.keys.entry.HAS_CARRIERS

    @property
    def carried_mss(self) -> int:
        """The payload (bytes) of a full segment of the connections that cross the path.

        Those are the flows, or the carriers if the tunnel has any.
        """
        return self.mss if self.sends_datagrams else self.links.mss

    def packet_on(self, links: Links) -> tuple[int, int]:
        """Return the payload and IP bytes of a full packet on ``links``, without a tunnel."""
        if self.flow.transport == "quic" and (self.tunnel is None or links is not self.links):
            packet = links.quic_packet
            return packet.data, packet.ip
        paths, size = self.multipath, links.mss + links.on.tcp.header_bytes(links.ip)
        return (links.mss if paths is None else paths.mss), size

    @property
    def outer_packets(self) -> list[int]:
        """The IP bytes that cross the path for a full segment of incompressible data."""
        ip = self.below.versions.inner if self.sends_datagrams else self.links.ip
        return self.below.across(self.carried_mss + self.transport.tcp.header_bytes(ip), "random")

    @property
    def full_packets(self) -> list[int]:
        """The IP bytes of the packets that carry a flow's full segment across the path.

        Without a datagram tunnel, this is the segment's own packet.
        """
        size = self.mss + self.transport.tcp.header_bytes(self.below.versions.inner)
        return self.below.across(size, self.contents.payload)

    @property
    def loopback_ip(self) -> int:
        """The version of IP between an application and the relay on its host."""
        keys = self.tunnel_keys
        return (keys and keys.ip) or self.links.ip

    @cached_property
    def sent_datagrams(self) -> Datagrams | None:
        """What it sends over UDP; None: it is a byte stream."""
        if isinstance(self.keys, CrossTraffic):
            return datagrams_of_source(self.keys, datagram_headers(self.links.ip))
        if isinstance(self.keys, Ping):
            return Datagrams(self.keys.interval, self.keys.size, answer=self.keys.size)
        return datagrams_of(self.keys, self.mss) if self.keys.transport == "udp" else None

    @property
    def datagram_header(self) -> int:
        """The headers of its datagrams, bytes: of IP and UDP, or of ICMP, which are as long."""
        is_relayed = isinstance(self.tunnel, Relays)
        return datagram_headers(self.loopback_ip if is_relayed else self.below.versions.inner)

    @property
    def demand(self) -> float | None:
        """The payload rate that the application wants, bit/s; None: all that it can get."""
        datagrams = self.sent_datagrams
        return self.flow.rate if datagrams is None else datagrams.mean_rate

    @property
    def asked_window(self) -> int | None:
        """The window (bytes) of the buffer that the application asks for; None: it does not."""
        window = self.flow.window
        return None if window is None else self.transport.window_of(window)

    def app_cost(self, side: str) -> float:
        """Return the CPU time (ns per byte) of the application on the host ``side``.

        With a profile, each segment costs a system call. Segments are larger on the loopback. Over
        QUIC, each packet costs a system call and encryption in the application.
        """
        host, tunnel = self.transport.host(side), self.tunnel
        if self.sent_datagrams is not None:
            return 0.0  # what applications do with datagrams costs nothing here
        if host.profile is None or (self.flow.transport == "quic" and side != self.sender):
            return host.app_cost  # a receiver over QUIC pays where it reads its socket
        segment = self.mss
        if self.flow.transport == "quic":
            segment = self.below.quic_packet.data
        elif side in self.access:
            segment = min(segment, self.access[side].mss)
            if isinstance(tunnel, Relays):
                segment = self.access[side].mss
        elif tunnel is not None:
            segment = tunnel.keys.entry.host_mss(segment, self.loopback_ip)
        calls = _CALLS[self.flow.transport][side != self.sender]
        cost = costs.of(costs.load(host.profile), calls)
        return host.app_cost + cost(segment) / segment

    def socket_cost(self, side: str) -> costs.Cost | None:
        """Return the CPU cost of reading a packet of a flow over QUIC on the host ``side``.

        None: there is none, or the flow is not over QUIC.
        """
        host = self.transport.host(side)
        if self.sent_datagrams is not None or self.flow.transport != "quic" or not host.profile:
            return None
        return costs.of(costs.load(host.profile), _CALLS["quic"][1])


@dataclass(frozen=True, eq=False)
class ResolvedFlow:
    """A single flow in the network, a source of cross traffic, or a ping.

    ``traffic``: what equal flows have in common; ``start``: s, jitter included; ``bytes``: what it
    sends, None: until the end; ``carrier``: number of its connection, or route, among its tunnel's,
    or of the flow itself.
    """

    traffic: Traffic
    start: float
    bytes: int | None
    carrier: int

    @property
    def flow(self) -> Flow:
        """Its entry in ``flows``."""
        return self.traffic.flow

    @property
    def jitter(self) -> float:
        """How much later (s) a flow is than its entry says."""
        keys = self.traffic.keys
        return self.start - keys.start if isinstance(keys, Flow) else 0.0

    @property
    def group(self) -> int:
        """The number of its entry in ``flows``."""
        return self.traffic.number

    @property
    def tunnel(self) -> int | None:
        """The number of its tunnel among those between two hosts; None: it has none."""
        return self.traffic.tunnel_number

    @property
    def client(self) -> str:
        """The client's host."""
        return self.traffic.ends[0]

    @property
    def server(self) -> str:
        """The server's host."""
        return self.traffic.ends[1]

    @property
    def direction(self) -> str:
        """Up if the client sends, otherwise down."""
        return self.traffic.direction

    @property
    def sender(self) -> str:
        """The end that sends the data: client or server."""
        return self.traffic.sender
