# SPDX-License-Identifier: GPL-2.0-only
"""The specification of relays: carriers, shared or not, and what a message costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tunnelcc.catalog.kcp import Kcp, SessionFec
from tunnelcc.catalog.relay import (
    MESSAGE_CALLS,
    WRITE_CALLS,
    Cost,
    Mux,
    RelayEntry,
    Sockets,
    Windows,
)
from tunnelcc.catalog.rudp import Rudp
from tunnelcc.catalog.values import datagram_headers, parity_counts
from tunnelcc.config import Tunnel
from tunnelcc.config.tunnel import KcpKeys
from tunnelcc.hosts import costs
from tunnelcc.network.resolved import ResolvedTunnel
from tunnelcc.network.traffic import Traffic
from tunnelcc.network.transport import Transport
from tunnelcc.network.tunnels import Relays
from tunnelcc.specification.parts import Spec, handshake, layer_wire_bytes, nanoseconds, same
from tunnelcc.specification.quic import quic_connection, udp_socket
from tunnelcc.specification.tcp import (
    carrier_tcp,
    loopback_tcp,
    path_tcp,
    sized_send_buffer,
    with_options_of,
    with_receive_buffer,
)

# Bytes after which a carrier's TLS records have their full size.
_STEADY = 2**20


class _RelayCalls(NamedTuple):
    """CPU time of a relay's system calls: per message and write, ns.

    ``read``: of the copy loop on a chunk, if it is not the thread that writes. Else the message has
    it, and its bytes count with all others of the relay.
    """

    per_message: float
    per_write: float
    read: costs.Cost = costs.Cost(0.0, 0.0)


def flow_tcp(entry: RelayEntry, traffic: Traffic) -> dict[str, Spec]:
    """The TCP settings of a flow's carrier, and of its connections to the relays at both ends.

    These are on the hosts' loopbacks, or cross the links to a gateway.
    """
    link, near, far = entry.loopback.link, entry.loopback.sending, entry.loopback.receiving
    relays, window = traffic.tunnel, traffic.flow.window
    assert isinstance(relays, Relays)
    if traffic.sender == "server":
        near, far = far, near

    def beside(end: str, sockets: Sockets) -> Spec:
        access = traffic.access.get(end)
        if access is None:
            spec = loopback_tcp(traffic.transport, traffic.loopback_ip, link, sockets)
        else:
            transport = Transport(access, access.route, traffic.sender)
            spec = path_tcp(transport, transport.mss, access.ip)
        if end == traffic.sender:
            return spec | sized_send_buffer(traffic.transport, window)
        return with_receive_buffer(traffic.transport, spec, window)

    return {
        "tcp": carrier(relays),
        "app_tcp": beside("client", near),
        "target_tcp": beside("server", far),
    }


def carrier(relays: Relays) -> Spec:
    """The TCP settings of a carrier."""
    entry, transport = relays.keys.entry, relays.transport
    assert isinstance(entry, RelayEntry)
    ip = relays.versions.inner
    spec = carrier_tcp(transport, transport.mss, ip, entry.carrier, relays.keys)
    return with_options_of(relays.paths, spec)


def relay_tunnel(entry: RelayEntry, placed: ResolvedTunnel, hops: Sequence[Spec]) -> Spec:
    """A tunnel of relays, with carriers across each of ``hops``."""
    tunnel, mtu, ip = placed.keys, placed.layer.links.mtu, placed.layer.versions.outer
    return same(entry.carrier, "RelaySpec") | {
        "kind": "relay",
        "copy_buffer": tunnel.copy_buffer or entry.copy_buffer.bytes,
        "handshake": handshake(entry.handshake),
        "sent": {
            "client": _relay_direction(placed, entry, is_up=True),
            "server": _relay_direction(placed, entry, is_up=False),
        },
        "loopback_rtt": nanoseconds(entry.loopback.link.rtt),
        "mux": entry.mux and _mux(entry.mux, tunnel),
        "kcp": entry.kcp and _kcp(tunnel, entry.kcp, ip),
        "rudp": entry.rudp and tunnel.rate and _rudp(tunnel.rate, entry.rudp, ip),
        "quic": entry.quic
        and quic_connection(entry.quic, mtu, ip, has_paths=placed.layer.paths is not None),
        "sockets": relay_sockets(entry, placed) if _reads_socket(entry) else {},
        "udp": same(entry.udp, "RelayDatagramSpec") if entry.udp else {},
        "hops": hops,
    }


def _reads_socket(entry: RelayEntry) -> bool:
    """Whether the program pays where it reads the UDP socket of a carrier."""
    return entry.carrier.protocol in ("kcp", "quic")


def relay_sockets(entry: RelayEntry, placed: ResolvedTunnel) -> Spec:
    """The UDP sockets at both ends of a carrier: reading costs what the relay's end receives."""
    streams, found = placed.contents.streams, {}
    for end, cost in (("client", entry.cpu.to_client), ("server", entry.cpu.to_server)):
        per_byte = _interpolate(streams, cost.streams, getattr(cost, end))
        found[end] = udp_socket(
            placed, end, entry.asked_buffer, {"per_packet": 0, "per_byte": per_byte}
        )
    return found


def _relay_calls(profile: str, reads_apart: bool = False) -> _RelayCalls:
    """Return the CPU cost of a relay's system calls, as a profile has it."""
    host = costs.load(profile)
    read, write = (costs.of(host, (name,)) for name in MESSAGE_CALLS)
    per_write = costs.of(host, WRITE_CALLS).per_call
    if reads_apart:
        return _RelayCalls(write.per_call, per_write, read)
    return _RelayCalls(read.per_call + write.per_call, per_write)


def _kcp(tunnel: Tunnel, kcp: Kcp, ip: int) -> Spec:
    keys = tunnel.kcp or KcpKeys()
    given = {key: getattr(keys, key) for key in KcpKeys.model_fields}
    changes = {key: value for key, value in given.items() if value is not None}
    mode, fec = kcp.mode_with(tunnel.mode, changes), kcp.fec_with(tunnel.fec)

    def windows(what: str) -> Spec:
        return {
            end: changes.get(f"{end}_{what}_window", getattr(kcp.windows, f"{end}_{what}"))
            for end in ("client", "server")
        }

    return {
        **same(kcp.session, "KcpSpec"),
        **same(mode, "KcpSpec"),
        "room": kcp.room(fec),
        "header": datagram_headers(ip) + kcp.header(fec),
        "send_window": windows("send"),
        "receive_window": windows("receive"),
        "fec": fec and _session_fec(fec),
    }


def _session_fec(fec: SessionFec) -> Spec:
    parity = parity_counts(fec.parity)
    return same(fec, "FecSpec") | {"data": len(parity), "parity": parity}


def _rudp(rate: float, rudp: Rudp, ip: int) -> Spec:
    return {
        **same(rudp.pacing, "RudpSpec"),
        **same(rudp.threads, "RudpSpec"),
        "packets": _ip_bytes(same(rudp.packets, "RudpPacketsSpec"), ip, "header", "close"),
        "acks": _ip_bytes(same(rudp.acks, "RudpAcksSpec"), ip, "header"),
        "rate": {"client": rate / 8, "server": rudp.server_rate(rate) / 8},
        "first_rate": {"client": 0.0, "server": rudp.pacing.first / 8},
        "resends": same(rudp.resends, "RudpResendsSpec"),
        "pings": _ip_bytes(same(rudp.pings, "RudpPingsSpec"), ip, "bytes", "reply"),
    }


def _ip_bytes(spec: Spec, ip: int, *sizes: str) -> Spec:
    """Return ``spec`` with ``sizes`` that include the headers of UDP and IP."""
    return spec | {name: spec[name] + datagram_headers(ip) for name in sizes}


def _mux(mux: Mux, tunnel: Tunnel) -> Spec:
    return {
        "frames": same(mux.frames, "MuxFramesSpec"),
        "sent": {
            "client": _mux_direction(mux.to_server, tunnel),
            "server": _mux_direction(mux.to_client, tunnel),
        },
    }


def _mux_direction(windows: Windows, tunnel: Tunnel) -> Spec:
    stream_window = tunnel.stream_window
    spec = same(windows, "MuxDirectionSpec")
    spec["first_stream_window"] = windows.first_stream_window or windows.stream_window
    if stream_window is not None:
        spec["stream_window"] = spec["first_stream_window"] = stream_window
        # smux version 2: when half of the buffer was read.
        spec["credit_step"] = min(windows.credit_step or stream_window // 2, stream_window // 2)
    if tunnel.session_buffer is not None and windows.session_buffer:
        spec["session_buffer"] = tunnel.session_buffer
    if tunnel.connection_window is not None and windows.session_window:
        spec["session_window"] = tunnel.connection_window
    return spec


def _relay_direction(placed: ResolvedTunnel, entry: RelayEntry, is_up: bool) -> Spec:
    cost = entry.cpu.to_server if is_up else entry.cpu.to_client
    prefix = entry.request if is_up else entry.response
    sending = cost.client if is_up else cost.server
    message = _full_message(entry, is_up)
    send = _relay_work(placed, cost, sending, message, entry.reads_apart)
    receive = _NOTHING if _reads_socket(entry) else receiving_work(placed, entry, is_up)
    return {
        "layers": [layer.spec() for layer in entry.stream_layers(is_up)],
        "prefix": prefix.bytes,
        "send": send["write"],
        "read": send["read"],
        "receive": receive,
    }


_NOTHING = {"per_byte": 0, "per_message": 0, "per_write": 0}


def receiving_work(placed: ResolvedTunnel, entry: RelayEntry, is_up: bool) -> Spec:
    """What the relay spends on a message that it receives."""
    cost = entry.cpu.to_server if is_up else entry.cpu.to_client
    values = cost.server if is_up else cost.client
    return _relay_work(placed, cost, values, _full_message(entry, is_up))["write"]


class _FullMessage(NamedTuple):
    """A copy buffer, a frame of a shared carrier, or a packet of RUDP.

    Application bytes, the same as a part of what a copy loop reads at once, and the writes on the
    carrier (bytes).
    """

    payload: int
    part: float
    writes: Sequence[int]


def _full_message(entry: RelayEntry, is_up: bool) -> _FullMessage:
    chunk = entry.copy_buffer.bytes
    payload = min(chunk, entry.rudp.packets.data if entry.rudp else 2**31)
    header = 0
    if entry.mux is not None:
        windows = entry.mux.to_server if is_up else entry.mux.to_client
        payload, header = min(payload, windows.max_frame), entry.mux.frames.header
    writes = layer_wire_bytes(entry.stream_layers(is_up), header + payload, _STEADY)
    return _FullMessage(payload, payload / chunk, writes)


def _relay_work(
    placed: ResolvedTunnel,
    cost: Cost,
    values: Sequence[float],
    message: _FullMessage,
    reads_apart: bool = False,
) -> dict[str, Spec]:
    """What one relay spends on a message; full messages take the measured time.

    Streams measured the CPU time per byte of IPv4. The reference profile gives the part of the
    system calls: it counts per message and call, and bytes of a read apart, with the costs of the
    hosts' profile. The rest counts per byte.
    """
    underlay, streams = placed.layer.links.on, placed.contents.streams
    tcp, profile = underlay.tcp, underlay.shared.profile or costs.REFERENCE
    wire, further = sum(message.writes), len(message.writes) - 1
    per_ip_byte = _interpolate(streams, cost.streams, values)
    measured = per_ip_byte * wire * (tcp.mss + tcp.header_bytes(4)) / tcp.mss
    then = _relay_calls(costs.REFERENCE, reads_apart)
    now = _relay_calls(profile, reads_apart)
    reading = then.read.per_call * message.part + then.read.per_byte * message.payload
    known = reading + then.per_message + then.per_write * further
    share = min(1.0, measured / known)
    return {
        "write": {
            "per_byte": (measured - share * known) / wire,
            "per_message": share * now.per_message,
            "per_write": share * now.per_write,
        },
        "read": {
            "per_byte": share * now.read.per_byte,
            "per_message": share * now.read.per_call,
        },
    }


def _interpolate(x: int, known: Sequence[int], values: Sequence[float]) -> float:
    """Interpolate linearly over log x. The ends are constant."""
    x = min(max(x, known[0]), known[-1])
    for low, high, at_low, at_high in zip(known, known[1:], values, values[1:], strict=False):
        if low <= x <= high:
            return at_low + (at_high - at_low) * math.log(x / low) / math.log(high / low)
    return values[0]
