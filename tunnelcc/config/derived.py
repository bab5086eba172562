# SPDX-License-Identifier: GPL-2.0-only
"""Values that follow from an experiment's keys: bytes of a BDP, windows, start times, sizes."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tunnelcc.catalog.values import PLAIN_HEADERS
from tunnelcc.config.flow import Flow
from tunnelcc.config.hosts import Hosts
from tunnelcc.config.keys import ExperimentKeys
from tunnelcc.config.path import DuplexLink, LinkDirection, Path
from tunnelcc.config.tcp import Tcp
from tunnelcc.config.tunnel import Tunnel
from tunnelcc.hosts import costs
from tunnelcc.hosts.kernels import kernels
from tunnelcc.schema.units import Buffer

if TYPE_CHECKING:
    from tunnelcc.catalog.quic import FullPacket

# What the applications do for each segment: the sending one, and the receiving one.
_CALLS = {
    "tcp": (["tcp-send"], ["tcp-receive"]),
    "quic": (["udp-send", "aes-128-gcm-encrypt"], ["udp-receive", "aes-128-gcm-decrypt"]),
}

# The largest window that fits into a header unless it is scaled (RFC 9293).
UNSCALED_WINDOW = 65535


def paths(experiment: ExperimentKeys) -> tuple[Path, ...]:
    """Return the path, or its parts in order from the client if relays divide it."""
    return experiment.tunnel.paths(experiment.path) if experiment.tunnel else (experiment.path,)


def buffer_bytes(buffer: Buffer, rate: float, rtt: float) -> int:
    """Return the bytes of ``buffer`` (0: limited in packets) at ``rate`` (bit/s), ``rtt`` (s)."""
    if buffer.bdp is not None:
        return round(buffer.bdp * rate * rtt / 8)
    if buffer.seconds is not None:
        return round(buffer.seconds * rate / 8)
    return buffer.bytes or 0


def queue_bytes(length: Buffer, tcp: Tcp, link: DuplexLink, rate: float) -> int:
    """Return the bytes of a queue before ``rate`` (bit/s), whose packets count as full segments."""
    if length.packets is not None:
        return length.packets * min(tcp.mss + tcp.header_bytes, link.mtu)
    return buffer_bytes(length, rate, link.rtt)


def sides(experiment: ExperimentKeys) -> tuple[Hosts, Hosts]:
    """Return the host that sends the data and the one that receives them."""
    client, server = experiment.hosts.of("client"), experiment.hosts.of("server")
    return (client, server) if experiment.direction == "up" else (server, client)


def path_mss(experiment: ExperimentKeys) -> int:
    """Return the payload (bytes) of a full segment directly on the path.

    That is ``tcp.mss``, or less if such packets exceed the MTU: Linux's path MTU discovery (RFC
    1191).
    """
    return min(experiment.tcp.mss, experiment.path.mtu - experiment.tcp.header_bytes)


def carried_mss(experiment: ExperimentKeys) -> int:
    """Return the payload (bytes) of a full segment of the connections that cross the path.

    Those are the flows, or the carriers if the tunnel has any.
    """
    return mss(experiment) if sends_datagrams(experiment) else path_mss(experiment)


def mss(experiment: ExperimentKeys) -> int:
    """Return the payload (bytes) of a full segment of the flows, or of a relay's carriers.

    A tunnel may reduce it.
    """
    tcp, limit, tunnel = experiment.tcp, None, lowest_tunnel(experiment)
    if tunnel is not None:
        limit = tunnel.entry.clamped_mss(experiment.path.mtu, tunnel.mode, tunnel.mtu, tunnel.mss)
    if limit is None:
        return path_mss(experiment)
    return min(tcp.mss, limit - (tcp.header_bytes - PLAIN_HEADERS))


def lowest_tunnel(experiment: ExperimentKeys) -> Tunnel | None:
    """Return the tunnel whose packets cross the path: the one below a relay, or the only one."""
    return experiment.tunnel and (experiment.tunnel.below or experiment.tunnel)


def inner_mtu(experiment: ExperimentKeys) -> int:
    """Return the IP bytes of the largest packet that the flows' hosts send."""
    mtu, tunnel = experiment.path.mtu, experiment.tunnel
    return mtu if tunnel is None else tunnel.entry.mtu(mtu, tunnel.mtu)


def largest_packet(experiment: ExperimentKeys) -> int:
    """Return the IP bytes of the largest packet that enters a tunnel of packets."""
    largest = mss(experiment) + experiment.tcp.header_bytes
    if any(flow.transport == "quic" for flow in experiment.flows):
        return max(largest, inner_mtu(experiment))
    return largest


def quic_packet(experiment: ExperimentKeys) -> FullPacket:
    """Return a full packet of a flow over QUIC."""
    from tunnelcc.catalog.quic import transport

    return transport().full_packet(inner_mtu(experiment))


def sends_datagrams(experiment: ExperimentKeys) -> bool:
    """Whether the flows, or a relay's carriers, go through a datagram tunnel."""
    tunnel = lowest_tunnel(experiment)
    return tunnel is not None and not tunnel.entry.HAS_CARRIERS


def outer_packets(experiment: ExperimentKeys) -> list[int]:
    """Return the IP bytes that cross the path for a full segment of incompressible data."""
    size = carried_mss(experiment) + experiment.tcp.header_bytes
    return _across_path(experiment, size, "random")


def full_packets(experiment: ExperimentKeys) -> list[int]:
    """Return the IP bytes of the packets that carry a flow's full segment across the path.

    Without a datagram tunnel, this is the segment's own packet.
    """
    size = mss(experiment) + experiment.tcp.header_bytes
    return _across_path(experiment, size, experiment.flows[0].payload)


def _across_path(experiment: ExperimentKeys, size: int, payload: str) -> list[int]:
    """Return the IP bytes that cross the path for a packet of ``size`` IP bytes."""
    tunnel = lowest_tunnel(experiment)
    if tunnel is None:
        return [size]
    mtu = experiment.path.mtu
    return tunnel.entry.across_path(size, mtu, tunnel.mode, tunnel.mtu, payload)


def tcp_rmem(host: Hosts) -> int:
    """Return the largest receive buffer (bytes) of the host's sockets."""
    return kernels()[host.kernel].receive_buffer(host.tcp_rmem, host.memory)


def window_scale(experiment: ExperimentKeys) -> int:
    """Return the shift (bits) of the receiver's window in TCP headers (RFC 7323)."""
    _, receiver = sides(experiment)
    if not experiment.tcp.window_scaling:
        return 0
    return kernels()[receiver.kernel].window_scale(tcp_rmem(receiver))


def receive_window(experiment: ExperimentKeys) -> int:
    """Return the largest window (bytes) that the receiver's sockets advertise.

    As Linux's __tcp_select_window(): an unscaled window is a multiple of the segment size.
    """
    _, host = sides(experiment)
    window = kernels()[host.kernel].receive_window(tcp_rmem(host), host.tcp_adv_win_scale)
    if experiment.tcp.window_scaling:
        return min(window, UNSCALED_WINDOW << window_scale(experiment))
    return full_segments(min(window, UNSCALED_WINDOW), mss(experiment))


def full_segments(window: int, segment: int) -> int:
    """Return the bytes of the full segments that fit into ``window``; ``window`` if none fits."""
    return window - window % segment if window > segment else window


def send_buffer(host: Hosts) -> int:
    """Return the payload (bytes) that the send buffer of the host's sockets holds."""
    return kernels()[host.kernel].send_buffer(host.tcp_wmem)


def app_cost(experiment: ExperimentKeys, side: str, transport: str = "tcp") -> float:
    """Return the CPU time (ns per byte) of the applications on the host ``side``.

    With a profile, each segment costs a system call. Segments are larger on the loopback. Over
    QUIC, each packet costs a system call and encryption in the application.
    """
    host = experiment.hosts.of(side)
    if host.profile is None:
        return host.app_cost
    segment = mss(experiment)
    if transport == "quic":
        segment = quic_packet(experiment).data
    elif experiment.tunnel is not None:
        segment = experiment.tunnel.entry.host_mss(segment)
    sends = (side == "client") == (experiment.direction == "up")
    calls = _CALLS[transport][0 if sends else 1]
    cost = costs.of(costs.load(host.profile), calls)
    return host.app_cost + cost(segment) / segment


def switch_cost(host: Hosts, is_contained: bool) -> float:
    """Return the CPU time (ns) of a context switch.

    It is 0 without a profile, and 0 if a measured cost already contains it.
    """
    if host.switch_cost is not None or host.profile is None or is_contained:
        return host.switch_cost or 0.0
    return costs.of(costs.load(host.profile), ["context-switch"]).per_call / host.speed


def tcp_memory(host: Hosts) -> int:
    """Return the bytes that all sockets of the host may hold together; 0: no limit."""
    if host.tcp_memory is not None:
        return host.tcp_memory
    return int((host.memory or 0) * kernels()[host.kernel].tcp_memory_fraction)


def flows(experiment: ExperimentKeys) -> Iterator[tuple[Flow, float]]:
    """Yield each single flow with its start time (s), jitter included."""
    for _, flow, start, _ in single_flows(experiment):
        yield flow, start


def single_flows(
    experiment: ExperimentKeys,
) -> Iterator[tuple[int, Flow, float, int | None]]:
    """Yield each single flow: its number in ``flows``, the flow, its start time (s), its bytes."""
    seed = experiment.seed
    for group, flow in enumerate(experiment.flows):
        arrival = flow.start
        for member in range(flow.count):
            if flow.interarrival is not None and member > 0:
                arrival -= flow.interarrival * math.log1p(-uniform(seed, "arrival", group, member))
            jitter = experiment.start_jitter * uniform(seed, "start", group, member)
            size = flow.bytes
            if size is not None and flow.bytes_shape is not None:
                drawn = uniform(seed, "bytes", group, member)
                # Without a byte, a flow would have no end.
                size = max(1, round(pareto(drawn, size, flow.bytes_shape, flow.largest)))
            yield group, flow, arrival + jitter, size


def pareto(drawn: float, mean: float, shape: float, most: float) -> float:
    """Return the value of a bounded Pareto distribution of which the part ``drawn`` is smaller.

    The distribution has this ``mean`` and the bound ``most`` > ``mean``. Below the bound, the part
    of values that exceed x falls as x^-``shape``, ``shape`` > 1.
    """
    least = _least(mean, shape, most)
    value: float = least * (1 - drawn + drawn * (least / most) ** shape) ** (-1 / shape)
    return value


@lru_cache(maxsize=64)
def _least(mean: float, shape: float, most: float) -> float:
    """Return the least value of pareto(). Without a bound it would be ``low``."""
    low, high = mean * (shape - 1) / shape, mean
    for _ in range(60):  # halves the interval each time
        least = (low + high) / 2
        # 1 - (least / most)^n is exact for small n, too.
        of_one, of_shape = (-math.expm1(n * math.log(least / most)) / n for n in (shape - 1, shape))
        low, high = (least, high) if least * of_one / of_shape < mean else (low, least)
    return low


def uniform(seed: int, component: str, *index: int) -> float:
    """Return a number in [0, 1) that depends on its arguments alone.

    It is counter-based: one more flow or component does not change the draws of the others.
    """
    text = "/".join(map(str, (seed, component, *index)))
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / 2**53


def numbers(
    experiment: ExperimentKeys,
    seen: ExperimentKeys | None = None,
    bottleneck: tuple[LinkDirection, float] | None = None,
) -> dict[str, Any]:
    """Return the derived numbers that a result records, in SI units.

    ``seen``: the experiment as its first flow sees it (Layout.view()), which windows and buffers
    are of. ``bottleneck``: in a network the direction of a link that the path metrics measure, and
    the link's RTT (s). None stands for what there is not: the bytes of a buffer that counts
    packets, or of a link without a rate.
    """
    path, (sender, receiver) = experiment.path, sides(seen or experiment)
    link, rtt = bottleneck or (path, path.rtt)
    room = None
    if link.rate is not None and link.buffer.packets is None:
        room = buffer_bytes(link.buffer, link.rate, rtt if bottleneck else paths(experiment)[0].rtt)
    return {
        "bdp_bytes": None if link.rate is None else link.rate * rtt / 8,
        "buffer_bytes": room,
        "tcp_rmem_bytes": tcp_rmem(receiver),
        "receive_window_bytes": receive_window(seen or experiment),
        "window_scale": window_scale(seen or experiment),
        "send_buffer_bytes": send_buffer(sender),
        "header_bytes": experiment.tcp.header_bytes,
        "flow_count": sum(flow.count for flow in experiment.flows),
        "start_s": [start for _, start in flows(experiment)],
    }
