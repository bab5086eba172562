# SPDX-License-Identifier: GPL-2.0-only
"""Refusing an experiment that this machine has not the memory for, before it starts."""

from __future__ import annotations

import os
from pathlib import Path

from tunnelcc.config import Experiment, derived
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.schema.units import format_time

# Scoreboard of sender and receiver per segment in flight, lines and rings at their power of two.
_BYTES_PER_SEGMENT = 128
# Series kept per leg and probe, in float64.
_SERIES_PER_LEG = 8


def check(experiment: Experiment) -> None:
    """Raise ConfigError if the run would need more memory than there is."""
    available = available_memory()
    in_flight, series = window_memory(experiment), series_memory(experiment)
    if in_flight + series <= available:
        return
    room = f"{available / 1e9:.1f} GB of memory are available"
    if series > in_flight:
        expected = f"a longer interval: the series need {series / 1e9:.1f} GB, {room}"
        raise ConfigError(
            Problem("probe_interval", format_time(experiment.probe_interval), expected)
        )
    flows = sum(flow.count for flow in experiment.flows)
    expected = f"fewer flows or smaller windows: they need {in_flight / 1e9:.1f} GB, {room}"
    raise ConfigError(Problem("flows", flows, expected))


def window_memory(experiment: Experiment) -> float:
    """Return an upper estimate (bytes) of what packets in flight need."""
    path, tcp = experiment.path, experiment.tcp
    flows = sum(flow.count for flow in experiment.flows)
    windows = flows * derived.receive_window(experiment)
    rtt = max(flow.rtt or path.rtt for flow in experiment.flows)
    room = derived.buffer_bytes(path.buffer, path.rate, path.rtt)
    room += (path.buffer.packets or 0) * (tcp.mss + tcp.header_bytes)
    # Slow start sends up to twice what the path holds, and what it lost stays on the scoreboard.
    path_holds = 4 * (path.rate * rtt / 8 + room) + flows * 64 * tcp.mss
    return min(windows, path_holds) / tcp.mss * _BYTES_PER_SEGMENT * _legs(experiment)


def series_memory(experiment: Experiment) -> float:
    """Return the bytes that the probes' series need, in the module and in the result."""
    flows = sum(flow.count for flow in experiment.flows)
    legs = flows * _legs(experiment)
    probes = experiment.duration / experiment.probe_interval
    return 2 * 8 * probes * (legs * _SERIES_PER_LEG + flows + 16)


def _legs(experiment: Experiment) -> int:
    """Connections of a flow at most."""
    return 2 + len(derived.paths(experiment)) if experiment.tunnel else 1


def available_memory() -> float:
    """Return the bytes of memory that can be had without swapping."""
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
    """What a container's control group (version 2) still allows."""
    group = Path("/sys/fs/cgroup")
    try:
        limit = float((group / "memory.max").read_text())
        return limit - float((group / "memory.current").read_text())
    except (OSError, ValueError):  # no group, or its limit is "max"
        return float("inf")
