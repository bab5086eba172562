# SPDX-License-Identifier: GPL-2.0-only
"""The specification of TCP connections: across the path, and on loopbacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tunnelcc.config import Hosts, Tcp, Tunnel
from tunnelcc.config.tcp import TIMESTAMP_BYTES
from tunnelcc.hosts.kernels import kernels
from tunnelcc.network.multipath import Multipath
from tunnelcc.network.transport import UNSCALED_WINDOW, Transport, full_segments
from tunnelcc.specification.parts import Spec, nanoseconds, same

if TYPE_CHECKING:
    from tunnelcc.catalog import relay, stream

# tcp_init(), net/ipv4/tcp.c: tcp_rmem's default, which a socket's receive buffer begins with.
_INITIAL_TCP_RMEM = 131072


def path_tcp(transport: Transport, mss: int, ip: int) -> Spec:
    """Settings of a connection across the path with segments of ``mss`` bytes of payload.

    ``ip``: the version of IP of its packets.
    """
    sender, receiver = transport.sending, transport.receiving
    kernel = kernels()[receiver.kernel]
    spec = _tcp(transport, ip)
    spec |= {
        "mss": mss,
        "send_buffer": sender.tcp_wmem,
        "send_buffer_per_segment": _send_buffer_per_segment(transport.tcp, mss, sender),
        "receive_window": transport.receive_window,
        "window_scale": transport.window_scale,
        "gro": nanoseconds(receiver.gro),
    }
    if receiver.tcp_moderate_rcvbuf:
        spec["initial_receive_window"] = _initial_receive_window(transport, mss)
        spec["initial_receive_room"] = kernel.receive_window(
            _INITIAL_TCP_RMEM, receiver.tcp_adv_win_scale
        )
    return spec


def flow_tcp(transport: Transport, window: int | None, ip: int) -> Spec:
    """As path_tcp(), of the applications' own connection, with the buffers that they ask for.

    ``window``: of these, bytes; None: they ask for none.
    """
    spec = path_tcp(transport, transport.mss, ip)
    return with_receive_buffer(transport, spec, window) | sized_send_buffer(transport, window)


def with_options_of(paths: Multipath | None, spec: Spec) -> Spec:
    """Return the settings ``spec`` with the options of MPTCP over ``paths``. None: it has one."""
    if paths is None:
        return spec
    return spec | {
        "header_bytes": spec["header_bytes"] + paths.segment_options,
        "mapping_bytes": paths.mapping,
    }


def with_receive_buffer(transport: Transport, spec: Spec, asked: int | None) -> Spec:
    """Return the settings ``spec`` with a receive buffer of so many bytes, if it is asked for."""
    if asked is None:
        return spec
    window = transport.window_of(asked)
    initial = ("initial_receive_window", "initial_receive_room")
    spec = {key: value for key, value in spec.items() if key not in initial}
    # tcp_select_initial_window(): a buffer that somebody set bounds the window (window_clamp).
    scale = max(window.bit_length() - 16, 0)
    return spec | {"receive_window": window, "window_scale": scale}


def sized_send_buffer(transport: Transport, asked: int | None) -> Spec:
    """Return the settings of a send buffer of so many bytes, if it is asked for."""
    if asked is None:
        return {}
    return {"send_buffer": transport.send_buffer_of(asked), "send_buffer_per_segment": 0}


def loopback_tcp(
    transport: Transport, ip: int, link: relay.LoopbackLink, sockets: relay.Sockets
) -> Spec:
    """Settings of a connection between an application and the relay on its host."""
    mss = link.mss_of(ip)
    return {
        **_tcp(transport, ip),
        "mss": mss,
        **same(sockets, "TcpSpec"),
        "send_buffer_per_segment": _send_buffer_per_segment(transport.tcp, mss, transport.shared),
    }


def carrier_tcp(
    transport: Transport,
    mss: int,
    ip: int,
    carrier: relay.Carrier | stream.StreamCarrier,
    tunnel: Tunnel,
) -> Spec:
    """As path_tcp(), of a program's own connection, whatever the applications set on theirs."""
    # A carrier over UDP has no such key.
    spec = path_tcp(transport, mss, ip) | {"nodelay": False} | same(carrier, "TcpSpec")
    if tunnel.nodelay is not None:
        spec |= {"nodelay": tunnel.nodelay, "server_nodelay": tunnel.nodelay}
    spec = with_receive_buffer(transport, spec, tunnel.receive_buffer)
    return spec | sized_send_buffer(transport, tunnel.send_buffer)


def _tcp(transport: Transport, ip: int) -> Spec:
    """Settings that the path and loopbacks share, and the end that each setting belongs to."""
    tcp = transport.tcp
    sender, receiver = (kernels()[host.kernel] for host in (transport.sending, transport.receiving))
    client = kernels()[transport.host("client").kernel]
    return same(tcp, "TcpSpec") | {
        "header_bytes": tcp.header_bytes(ip),
        "syn_bytes": tcp.syn_bytes(ip),
        "server_nodelay": True,
        "receive_growth": receiver.receive_growth,
        "tso_rtt_step": nanoseconds(sender.tso_rtt_step),
        "tso_deferral_limit": nanoseconds(sender.tso_deferral_limit),
        "jiffy": nanoseconds(sender.jiffy),
        "prr_slow_start": sender.prr_slow_start,
        "ping_pong_answers": receiver.ping_pong_answers,
        "pushed_acks": receiver.pushed_acks,
        "syn_linear_timeouts": client.syn_linear_timeouts,
        "buffer_overhead": sender.buffer_overhead,
    }


def _initial_receive_window(transport: Transport, mss: int) -> int:
    """The window of a SYN, which is never scaled.

    As tcp_select_initial_window(): full segments. The client sends its SYN first and does not know
    yet that segments will have timestamps.
    """
    knows_timestamps = transport.sender == "client" or not transport.tcp.timestamps
    segment = mss if knows_timestamps else mss + TIMESTAMP_BYTES
    return full_segments(UNSCALED_WINDOW, segment)


def _send_buffer_per_segment(tcp: Tcp, mss: int, host: Hosts) -> int:
    payload = mss + (TIMESTAMP_BYTES if tcp.timestamps else 0)
    return kernels()[host.kernel].send_buffer_per_segment(payload)
