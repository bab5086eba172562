# SPDX-License-Identifier: GPL-2.0-only
"""The specification of QUIC connections, of flows and of carriers."""

from __future__ import annotations

from tunnelcc.catalog.quic import ChromiumBbr, Quic, transport
from tunnelcc.catalog.values import datagram_headers
from tunnelcc.hosts.kernels import kernels
from tunnelcc.network.resolved import ResolvedTunnel
from tunnelcc.network.traffic import Traffic
from tunnelcc.specification.parts import Spec, congestion, handshake, same


def flow_quic(traffic: Traffic) -> tuple[Spec, Spec]:
    """Settings of a flow's connection, and its congestion control."""
    quic, cc = transport().with_windows(traffic.flow.windows), traffic.flow.cc
    parameters = quic.parameters_of(cc.name) | cc.parameters
    settings = quic_connection(quic, traffic.below.mtu, traffic.below.versions.inner)
    return settings, congestion(cc) | {"parameters": parameters}


def quic_connection(quic: Quic, mtu: int, ip: int, *, has_paths: bool = False) -> Spec:
    """Settings of a connection whose hosts send packets of at most ``mtu`` bytes, of IP ``ip``.

    ``has_paths``: it has several. Then no connection ID is empty (draft-ietf-quic-multipath-21,
    section 2.1): an end that chose none has one as long as its peer's.
    """
    ids = quic.packets.id_to_server, quic.packets.id_to_client
    missing = [max(ids) if has_paths and not it else 0 for it in ids]
    overhead = {"client": quic.overhead(is_up=True), "server": quic.overhead(is_up=False)}
    overhead = {end: it + more for (end, it), more in zip(overhead.items(), missing, strict=True)}
    first = {"client": quic.packets.first_to_server, "server": quic.packets.first_to_client}
    packets = {"header": datagram_headers(ip), "mtu": mtu, "overhead": overhead, "first": first}
    packets["path_id"] = max(ids) if has_paths else 0
    return {
        "packets": same(quic.packets, "QuicPacketsSpec") | packets,
        "acks": same(quic.acks, "QuicAcksSpec"),
        "loss": same(quic.loss, "QuicLossSpec"),
        "pacing": same(quic.pacing, "QuicPacingSpec"),
        "window": same(quic.congestion, "QuicWindowSpec"),
        "bbr": quic.bbr and _chromium_bbr(quic.bbr),
        "stream": same(quic.stream, "QuicFlowSpec"),
        "connection": same(quic.connection, "QuicFlowSpec"),
        "threads": same(quic.threads, "QuicThreadsSpec"),
        "send_buffer": quic.writes.send_buffer,
        "is_one_frame": quic.writes.one_frame,
        "handshake": handshake(quic.handshake),
    }


def _chromium_bbr(bbr: ChromiumBbr) -> Spec:
    return same(bbr, "QuicBbrSpec") | {"least_rate": bbr.least_rate / 8}


def udp_socket(placed: ResolvedTunnel, end: str, asked: int | None, read: Spec) -> Spec:
    """The UDP socket of a tunnel's program at one end. ``read``: what reading costs."""
    kernel = kernels()[placed.layer.transport.host(end).kernel]
    return {"buffer": kernel.udp_buffer(placed.keys.receive_buffer or asked), "read": read}


def flow_sockets(traffic: Traffic) -> Spec:
    """The UDP sockets of a flow's applications over QUIC, where a profile has costs."""
    found = {}
    for end in ("client", "server"):
        cost = traffic.socket_cost(end)
        if cost is not None:
            host = traffic.transport.host(end)
            asked = transport().udp_socket
            buffer = kernels()[host.kernel].udp_buffer(asked.asks if asked else None)
            read = {"per_packet": cost.per_call, "per_byte": cost.per_byte}
            found[end] = {"buffer": buffer, "read": read}
    return found
