# SPDX-License-Identifier: GPL-2.0-only
"""Refuse an experiment that needs more memory than this machine has, before it starts."""

from __future__ import annotations

from tunnelcc.errors import ConfigError, Problem
from tunnelcc.network.resolved import ResolvedNetwork
from tunnelcc.network.topology import ResolvedLink
from tunnelcc.schema.units import format_time
from tunnelcc.system import available_memory

# Scoreboard of sender and receiver per segment in flight, lines and rings at their power of two.
_BYTES_PER_SEGMENT = 128
# Series kept per leg and probe, in float64.
_SERIES_PER_LEG = 8
# Of both directions.
_SERIES_PER_LINK = 6
# Bytes for which the machine is not asked: that takes longer than the rest of the check.
_ALWAYS_THERE = 32 << 20


def check(network: ResolvedNetwork) -> None:
    """Raise ConfigError if the run needs more memory than is available."""
    in_flight, series = window_memory(network), series_memory(network)
    needed = in_flight + series
    if needed <= _ALWAYS_THERE or needed <= (available := available_memory()):
        return
    room = f"{available / 1e9:.1f} GB of memory are available"
    if series > in_flight:
        expected = (
            "a longer interval, a shorter run or fewer flows: the series need "
            f"{series / 1e9:.1f} GB, but {room}"
        )
        raise ConfigError(
            Problem("probe_interval", format_time(network.experiment.probe_interval), expected)
        )
    expected = f"fewer flows or smaller windows: they need {in_flight / 1e9:.1f} GB, but {room}"
    raise ConfigError(Problem("flows", len(network.flows), expected))


def window_memory(network: ResolvedNetwork) -> float:
    """Return an upper estimate of the memory (bytes) for packets in flight."""
    tcp, flows = network.experiment.tcp, len(network.flows)
    windows = flows * max(it.transport.receive_window for it in network.kinds)
    rtt = max(it.rtt for it in network.kinds)
    ip = network.experiment.path.ip
    holds = sum(
        _holds(link, max(rtt, link.path.rtt), tcp.packet_bytes(ip, link.path.mtu))
        for link in network.topology.links.values()
    )
    # Slow start sends up to twice what the links hold, and what it lost stays on the scoreboard.
    held = 4 * holds + flows * 64 * tcp.mss
    return min(windows, held) / tcp.mss * _BYTES_PER_SEGMENT * _legs(network)


def _holds(link: ResolvedLink, rtt: float, packet: int) -> float:
    """Return the bytes that are in flight on a link or in its queues, in both directions.

    ``packet``: IP bytes of a full segment there.
    """
    total = 0.0
    for is_reverse in (False, True):
        direction = link.direction(is_reverse)
        if direction.rate is not None:
            room = link.buffer_bytes(is_reverse) or 0
            room += (direction.buffer.packets or 0) * packet
            total += direction.rate * rtt / 8 + room
    return total


def series_memory(network: ResolvedNetwork) -> float:
    """Return the bytes of the probes' series, in the module and in the result."""
    experiment, topology = network.experiment, network.topology
    flows, links = len(network.flows), len(topology.links)
    probes = experiment.duration / experiment.probe_interval
    series = flows * (_legs(network) * _SERIES_PER_LEG + 2)
    series += links * _SERIES_PER_LINK + len(topology.hosts)
    return 2 * 8 * probes * series


def _legs(network: ResolvedNetwork) -> int:
    """Upper limit of the connections of a flow."""
    return max(1 if it.tunnel is None else 2 + len(it.below.hops) for it in network.kinds)
