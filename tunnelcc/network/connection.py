# SPDX-License-Identifier: GPL-2.0-only
"""What the packets of a flow meet: its hosts, its route and its tunnel, and what follows of them.

That is the payload of full segments, the sizes of packets, and the windows of sockets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from tunnelcc.catalog.values import IpVersions, datagram_headers
from tunnelcc.config.flow import Flow
from tunnelcc.config.hosts import Hosts
from tunnelcc.config.tcp import Tcp
from tunnelcc.config.tunnel import Tunnel
from tunnelcc.hosts import costs
from tunnelcc.hosts.kernels import kernels
from tunnelcc.network.datagrams import Datagrams, datagrams_of
from tunnelcc.network.topology import Route, Step, Topology

if TYPE_CHECKING:
    from tunnelcc.catalog.datagram import Socket
    from tunnelcc.catalog.quic import FullPacket

# What the applications do for each segment: the sending one, and the receiving one.
_CALLS = {
    "tcp": (["tcp-send"], ["tcp-receive"]),
    "quic": (["udp-send", "aes-128-gcm-encrypt"], ["udp-receive", "aes-128-gcm-decrypt"]),
}

# The largest window that fits into a header unless it is scaled (RFC 9293).
UNSCALED_WINDOW = 65535


@dataclass(frozen=True, eq=False)
class Connection:
    """What equal flows have in common: all but their start, their size and their carrier.

    ``group``: number of their entry in ``flows``; ``ends``: names of the client's and the server's
    host, and ``client`` and ``server`` their keys; ``hosts``: the keys that all hosts share;
    ``direction``: up if the client sends; ``mtu``: IP bytes, the least of the links on the
    ``route``; ``path_ip``: the version of IP on the path; ``rtt``: s, the base RTT of the flow's
    own connection, or of its tunnel's first one; ``tunnel_number``: its place in
    ResolvedNetwork.tunnels; ``sharers``: the flows in the tunnel, equal ones as one item with a
    count.

    ``datagrams``: what cross traffic or a ping sends; ``role``: flow, cross_traffic or ping;
    ``number``: of the latter two, their place in the experiment's list.

    For a tunnel, it is what its packets meet; the flow is then the first one in it. Of a flow
    through a tunnel between gateways, ``between`` is what the tunnel's packets meet, and ``access``
    what the flow's packets meet between each end's host and the gateway on its side. An end whose
    host runs the tunnel has none. Of a tunnel of packets in another one, ``under`` is what its
    packets meet as a flow of that one. ``uplink``: of its tunnel's routes, the number of the one
    that it takes, if flows take them in turn. ``is_behind``: its sender is behind a gateway.
    """

    flow: Flow
    group: int
    ends: tuple[str, str]
    client: Hosts
    server: Hosts
    hosts: Hosts
    tcp: Tcp
    direction: str
    topology: Topology
    route: Route
    mtu: int
    path_ip: int
    rtt: float
    tunnel: Tunnel | None
    tunnel_number: int | None
    sharers: tuple[Flow, ...]
    datagrams: Datagrams | None = None
    role: str = "flow"
    number: int = 0
    between: Connection | None = None
    under: Connection | None = None
    access: dict[str, Connection] = field(default_factory=dict)
    uplink: int = 0
    is_behind: bool = False

    @property
    def in_tunnel(self) -> Connection:
        """What the packets of its tunnel meet; without gateways, that is itself."""
        return self.between or self

    @property
    def is_turned(self) -> bool:
        """Whether its client is behind the server of its tunnel."""
        tunnel = self.between
        return tunnel is not None and self.topology.is_turned(self.route, tunnel.ends)

    @property
    def key(self) -> str:
        """The key of what it describes: ``flows.0``, ``cross_traffic.0`` or ``pings.0``."""
        tables = {"flow": "flows", "cross_traffic": "cross_traffic", "ping": "pings"}
        return f"{tables[self.role]}.{self.group if self.role == 'flow' else self.number}"

    @cached_property
    def sent_datagrams(self) -> Datagrams | None:
        """What it sends over UDP; None: it is a byte stream."""
        if self.datagrams is not None or self.flow.transport != "udp":
            return self.datagrams
        return datagrams_of(self.flow, self.mss)

    @property
    def datagram_header(self) -> int:
        """The headers of its datagrams, bytes: of IP and UDP, or of ICMP, which are as long."""
        is_relayed = self.tunnel is not None and not self.tunnel.entry.CARRIES_PACKETS
        return datagram_headers(self.loopback_ip if is_relayed else self.versions.inner)

    @property
    def demand(self) -> float | None:
        """The payload rate that the application wants, bit/s; None: all that it can get."""
        datagrams = self.sent_datagrams
        return self.flow.rate if datagrams is None else datagrams.mean_rate

    @property
    def sender(self) -> str:
        """The end that sends the data: client or server."""
        return "client" if self.direction == "up" else "server"

    @property
    def sending(self) -> Hosts:
        """The host that sends the data."""
        return self.client if self.direction == "up" else self.server

    @property
    def receiving(self) -> Hosts:
        """The host that receives the data."""
        return self.server if self.direction == "up" else self.client

    def host(self, side: str) -> Hosts:
        """Return the host of one end: client or server."""
        return self.client if side == "client" else self.server

    @property
    def inner_hosts(self) -> list[str]:
        """The hosts on the route, without its ends."""
        return self.topology.hosts_of(self.ends[0], self.route.to_server)[1:-1]

    @property
    def hop_count(self) -> int:
        """The number of the tunnel's carriers in a row: one more than relays between its ends."""
        tunnel = self.tunnel
        return 1 if tunnel is None else 1 + (tunnel.relays or len(tunnel.chain))

    @cached_property
    def hops(self) -> list[Route]:
        """The routes between neighbouring relays, or that between the tunnel's or flow's hosts."""
        if self.between is not None:
            return self.between.hops
        between = self._relays()
        if not between:
            return [self.route]
        client, server = self.ends
        return [self.topology.both_ways(*it) for it in pairwise((client, *between, server))]

    def _relays(self) -> list[str]:
        """Return the hosts of the tunnel's relays between its ends."""
        tunnel, parts = self.tunnel, self.hop_count
        if tunnel is None or parts == 1:
            return []
        if self.topology.relays:
            return [*self.topology.relays]
        if not tunnel.relays:
            return [hop.host for hop in tunnel.chain if hop.host is not None]
        inner = self.inner_hosts
        places = [round(part * (len(inner) + 1) / parts) for part in range(1, parts)]
        return [inner[place - 1] for place in places]

    @cached_property
    def loads(self) -> dict[Step, float]:
        """The directions of links on the way of the data, in order, and the share of the data that
        crosses each.

        The share is 0 where data go only after a fail-over of the tunnel.
        """
        return self.loads_of(self.sender)

    def loads_of(self, end: str) -> dict[Step, float]:
        """Return ``loads`` of what one end sends: client or server."""
        if self.under is not None:
            return self.under.loads_of(end)
        found: dict[Step, float] = {}
        if self.between is None:
            for route, share in self.shared_routes:
                for step in route.sent_by(end):
                    found[step] = found.get(step, 0.0) + share
            return found
        other = "client" if end == "server" else "server"
        parts: list[dict[Step, float]] = [
            self.access[end].loads_of(end) if end in self.access else {},
            self.between.loads_of(other if self.is_turned else end),
            self.access[other].loads_of(end) if other in self.access else {},
        ]
        for part in parts:
            for step, share in part.items():
                found[step] = found.get(step, 0.0) + share
        return found

    @property
    def shared_routes(self) -> list[tuple[Route, float]]:
        """The routes of what does not go through another tunnel, and the share of data on each.

        A chain has one after the other.
        """
        routes, uplinks = self.uplinks, None if self.tunnel is None else self.tunnel.uplinks
        if uplinks is None:
            return [(hop, 1.0) for hop in self.hops]
        count = len(routes)
        if uplinks.use == "packets":
            sizes = count * self.outer_packets  # then the turns begin anew
            return [(it, sum(sizes[turn::count]) / sum(sizes)) for turn, it in enumerate(routes)]
        if uplinks.use == "flows":
            return [(routes[self.uplink], 1.0)]
        return [(it, float(turn == 0)) for turn, it in enumerate(routes)]

    @property
    def uplinks(self) -> list[Route]:
        """Of a tunnel: all its routes, if it has several."""
        uplinks = None if self.tunnel is None else self.tunnel.uplinks
        if uplinks is None:
            return []
        others = [self.topology.both_ways(*self.ends, it) for it in uplinks.routes]
        return [self.route, *others]

    @property
    def own_route(self) -> Route:
        """The route on which ``flows.rtt`` adds a delay: of its packets, or the first carrier's."""
        tunnel = self.tunnel
        return self.route if tunnel is None or tunnel.entry.CARRIES_PACKETS else self.hops[0]

    @property
    def path_mss(self) -> int:
        """The payload (bytes) of a full segment directly on the path.

        That is ``tcp.mss``, or less if such packets exceed the MTU that the hosts know, or if a
        router on the way clamps it.
        """
        links = self.topology.links
        steps = self.route.to_server + self.route.to_client
        clamps = [links[step.link].path.mss_clamp(self.path_ip) for step in steps]
        most = [it - self.tcp.option_bytes for it in clamps if it is not None]
        return min(self.tcp.mss, self.mtu - self.tcp.header_bytes(self.path_ip), *most)

    @cached_property
    def mss(self) -> int:
        """The payload (bytes) of a full segment of the flows, or of a relay's carriers.

        A tunnel may reduce it. Raises ConfigError if nothing is left.
        """
        tunnel, mss = self.lowest_tunnel, self._device_mss
        is_behind = self.is_behind and tunnel is self.tunnel  # relays' carriers never are
        if tunnel is None or is_behind or self.flow.transport == "udp":
            return mss
        told = tunnel.entry.told_mss(self.in_tunnel.mtu, tunnel.mode, tunnel.mtu, self.versions)
        return mss if told is None else min(mss, told - self.tcp.option_bytes)

    @cached_property
    def _device_mss(self) -> int:
        """``mss`` of senders that the tunnel tells nothing."""
        limit, tunnel = None, self.lowest_tunnel
        if tunnel is not None:
            limit = tunnel.entry.clamped_mss(
                self.in_tunnel.mtu, tunnel.mode, tunnel.mtu, tunnel.mss, self.versions
            )
        if limit is None:
            return self.in_tunnel.path_mss
        access = [it.path_mss for it in self.access.values()]
        return min(self.tcp.mss, limit - self.tcp.option_bytes, *access)

    @property
    def carried_mss(self) -> int:
        """The payload (bytes) of a full segment of the connections that cross the path.

        Those are the flows, or the carriers if the tunnel has any.
        """
        return self.mss if self.sends_datagrams else self.path_mss

    @cached_property
    def lowest_tunnel(self) -> Tunnel | None:
        """The tunnel that full segments enter: the one below a relay, or the flow's own."""
        tunnel = self.tunnel
        if tunnel is None or tunnel.entry.CARRIES_PACKETS:
            return tunnel
        return tunnel.below or tunnel

    @cached_property
    def versions(self) -> IpVersions:
        """The versions of IP inside the tunnel whose packets cross the path, and of these packets.

        Relays carry no packets: both are then the path's.
        """
        tunnel = self.lowest_tunnel
        if tunnel is None or not tunnel.entry.CARRIES_PACKETS:
            return IpVersions(self.path_ip, self.path_ip)
        return IpVersions(tunnel.ip or self.path_ip, self.path_ip)

    @property
    def loopback_ip(self) -> int:
        """The version of IP between an application and the relay on its host."""
        return (self.tunnel and self.tunnel.ip) or self.path_ip

    @property
    def sends_datagrams(self) -> bool:
        """Whether the flows, or a relay's carriers, go through a datagram tunnel."""
        tunnel = self.lowest_tunnel
        return tunnel is not None and not tunnel.entry.HAS_CARRIERS

    @property
    def inner_mtu(self) -> int:
        """The IP bytes of the largest packet that the flows' hosts send."""
        tunnel = self.tunnel
        if tunnel is None:
            return self.mtu
        mtu = tunnel.entry.mtu(self.in_tunnel.mtu, tunnel.mtu, self.versions)
        return min(mtu, *(it.mtu for it in self.access.values())) if self.access else mtu

    @property
    def largest_packet(self) -> int:
        """The IP bytes of the largest packet that enters a tunnel of packets."""
        largest = self._device_mss + self.tcp.header_bytes(self.versions.inner)
        if any(flow.transport != "tcp" for flow in self.sharers):
            return max(largest, self.inner_mtu)
        return largest

    @property
    def quic_packet(self) -> FullPacket:
        """A full packet of a flow over QUIC."""
        from tunnelcc.catalog.quic import transport

        return transport().full_packet(self.inner_mtu, self.versions.inner)

    @property
    def full_packet(self) -> tuple[int, int]:
        """The payload and IP bytes of a full packet of the flow, without a tunnel."""
        if self.flow.transport == "quic" and self.tunnel is None:
            return self.quic_packet.data, self.quic_packet.ip
        return self.path_mss, self.path_mss + self.tcp.header_bytes(self.path_ip)

    @property
    def outer_packets(self) -> list[int]:
        """The IP bytes that cross the path for a full segment of incompressible data."""
        ip = self.versions.inner if self.sends_datagrams else self.path_ip
        return self.across_path(self.carried_mss + self.tcp.header_bytes(ip), "random")

    @property
    def stream(self) -> Flow:
        """The first byte stream in the tunnel, whose contents and congestion control hold for it.

        If there is none, the first flow of datagrams.
        """
        return next((it for it in self.sharers if it.transport != "udp"), self.sharers[0])

    @property
    def full_packets(self) -> list[int]:
        """The IP bytes of the packets that carry a flow's full segment across the path.

        Without a datagram tunnel, this is the segment's own packet.
        """
        size = self.mss + self.tcp.header_bytes(self.versions.inner)
        return self.across_path(size, self.stream.payload)

    def across_path(self, size: int, payload: str) -> list[int]:
        """Return the IP bytes that cross the path for a packet of ``size`` IP bytes.

        ``payload``: what it carries.
        """
        tunnel = self.lowest_tunnel
        if tunnel is None:
            return [size]
        crossing = self.in_tunnel
        outer = tunnel.entry.across_path(
            size, crossing.mtu, tunnel.mode, tunnel.mtu, payload, self.versions
        )
        if crossing.under is None:
            return outer
        return [it for packet in outer for it in crossing.under.across_path(packet, "random")]

    @property
    def window_scale(self) -> int:
        """The shift (bits) of the receiver's window in TCP headers (RFC 7323)."""
        host = self.receiving
        if not self.tcp.window_scaling:
            return 0
        return kernels()[host.kernel].window_scale(host.receive_buffer)

    @property
    def receive_window(self) -> int:
        """The largest window (bytes) that the receiver's sockets advertise.

        As Linux's __tcp_select_window(): an unscaled window is a multiple of the segment size.
        """
        host = self.receiving
        if self.tcp.window_scaling:
            return min(host.receive_window, UNSCALED_WINDOW << self.window_scale)
        return full_segments(min(host.receive_window, UNSCALED_WINDOW), self.mss)

    @property
    def asked_window(self) -> int | None:
        """The window (bytes) of the buffer that the application asks for; None: it does not."""
        return None if self.flow.window is None else self.window_of(self.flow.window)

    def window_of(self, size: int) -> int:
        """Return the window (bytes) of a receiver that asks for a buffer of ``size`` bytes."""
        host, kernel = self.receiving, kernels()[self.receiving.kernel]
        window = kernel.receive_window(kernel.asked_buffer(size), host.tcp_adv_win_scale)
        if self.tcp.window_scaling:
            return window
        return full_segments(min(window, UNSCALED_WINDOW), self.mss)

    def send_buffer_of(self, size: int) -> int:
        """Return the payload (bytes) that the buffer of a sender holds that asks for ``size``."""
        kernel = kernels()[self.sending.kernel]
        return kernel.send_buffer(kernel.asked_buffer(size))

    @property
    def socket_queue(self) -> int:
        """The packets that wait, at most, in the buffer of a datagram tunnel's socket."""
        assert self.tunnel is not None
        socket: Socket = self.tunnel.entry.socket  # type: ignore[attr-defined]
        asked, kernel = self.tunnel.receive_buffer or socket.asks, kernels()[self.receiving.kernel]
        return socket.room(None if asked is None else kernel.asked_buffer(asked))

    def app_cost(self, side: str) -> float:
        """Return the CPU time (ns per byte) of the application on the host ``side``.

        With a profile, each segment costs a system call. Segments are larger on the loopback. Over
        QUIC, each packet costs a system call and encryption in the application.
        """
        host = self.host(side)
        if self.sent_datagrams is not None:
            return 0.0  # what applications do with datagrams costs nothing here
        if host.profile is None:
            return host.app_cost
        segment = self.mss
        if self.flow.transport == "quic":
            segment = self.quic_packet.data
        elif side in self.access:
            segment = min(segment, self.access[side].path_mss)
            if self.tunnel is not None and not self.tunnel.entry.CARRIES_PACKETS:
                segment = self.access[side].path_mss
        elif self.tunnel is not None:
            segment = self.tunnel.entry.host_mss(segment, self.loopback_ip)
        calls = _CALLS[self.flow.transport][side != self.sender]
        cost = costs.of(costs.load(host.profile), calls)
        return host.app_cost + cost(segment) / segment


def full_segments(window: int, segment: int) -> int:
    """Return the bytes of the full segments that fit into ``window``; ``window`` if none fits."""
    return window - window % segment if window > segment else window
