# SPDX-License-Identifier: GPL-2.0-only
"""Refuse an experiment that needs more memory than this machine has, before it starts."""

from __future__ import annotations

import os
from pathlib import Path

from tunnelcc.config import Experiment, Tcp, derived
from tunnelcc.config.layout import Layout, layout
from tunnelcc.config.path import DuplexLink
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.schema.units import format_time

# Scoreboard of sender and receiver per segment in flight, lines and rings at their power of two.
_BYTES_PER_SEGMENT = 128
# Series kept per leg and probe, in float64.
_SERIES_PER_LEG = 8
# Of both directions.
_SERIES_PER_LINK = 6
# Bytes for which the machine is not asked: that takes longer than the rest of the check.
_ALWAYS_THERE = 32 << 20


def check(experiment: Experiment) -> None:
    """Raise ConfigError if the run needs more memory than is available."""
    in_flight, series = window_memory(experiment), series_memory(experiment)
    needed = in_flight + series
    if needed <= _ALWAYS_THERE or needed <= (available := available_memory()):
        return
    room = f"{available / 1e9:.1f} GB of memory are available"
    if series > in_flight:
        expected = f"a longer interval: the series need {series / 1000000000.0:.1f} GB, but {room}"
        raise ConfigError(
            Problem("probe_interval", format_time(experiment.probe_interval), expected)
        )
    flows = sum(flow.count for flow in experiment.flows)
    expected = (
        f"fewer flows or smaller windows: they need {in_flight / 1000000000.0:.1f} GB, but {room}"
    )
    raise ConfigError(Problem("flows", flows, expected))


def window_memory(experiment: Experiment) -> float:
    """Return an upper estimate of the memory (bytes) for packets in flight."""
    found, tcp = layout(experiment), experiment.tcp
    views = [found.view(placed) for placed in found.distinct_flows]
    flows = len(found.flows)
    windows = flows * max(map(derived.receive_window, views))
    rtt = max(found.base_rtt(placed) for placed in found.distinct_flows)
    links = (link.path for link in found.topology.links.values())
    holds = sum(_holds(link, max(rtt, link.rtt), tcp) for link in links)
    # Slow start sends up to twice what the links hold, and what it lost stays on the scoreboard.
    held = 4 * holds + flows * 64 * tcp.mss
    return min(windows, held) / tcp.mss * _BYTES_PER_SEGMENT * _legs(found)


def _holds(link: DuplexLink, rtt: float, tcp: Tcp) -> float:
    """Return the bytes that are in flight on a link or in its queues, in both directions."""
    total = 0.0
    for direction in (link, link.backward):
        if direction.rate is not None:
            room = derived.buffer_bytes(direction.buffer, direction.rate, link.rtt)
            room += (direction.buffer.packets or 0) * (tcp.mss + tcp.header_bytes)
            total += direction.rate * rtt / 8 + room
    return total


def series_memory(experiment: Experiment) -> float:
    """Return the bytes of the probes' series, in the module and in the result."""
    found = layout(experiment)
    flows, links = len(found.flows), len(found.topology.links)
    probes = experiment.duration / experiment.probe_interval
    series = flows * (_legs(found) * _SERIES_PER_LEG + 2)
    series += links * _SERIES_PER_LINK + len(found.topology.hosts)
    return 2 * 8 * probes * series


def _legs(found: Layout) -> int:
    """Upper limit of the connections of a flow."""
    return max(
        1 if flow.tunnel is None else 2 + len(found.hops(flow)) for flow in found.distinct_flows
    )


def available_memory() -> float:
    """Return the bytes of memory that are available without swapping."""
    return min(_host_memory(), _group_memory())


def _host_memory() -> float:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    except OSError:
        pass
    return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def _group_memory() -> float:
    """Return what a container's control group (version 2) still allows."""
    group = Path("/sys/fs/cgroup")
    try:
        limit = float((group / "memory.max").read_text())
        return limit - float((group / "memory.current").read_text())
    except (OSError, ValueError):  # no group, or its limit is "max"
        return float("inf")
