# SPDX-License-Identifier: GPL-2.0-only
"""The points of a sweep at which the CPU decides, or would on a slower machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tunnelcc.analysis import busy
from tunnelcc.network.resolved import ResolvedNetwork
from tunnelcc.sweeps.columns import Variables
from tunnelcc.sweeps.declaration import Sweep
from tunnelcc.words import warnings

# The warning names so many programs.
_MOST_PROGRAMS = 3

# Tables of an experiment that say which programs run where.
_OF_PROGRAMS = ("flows", "hosts", "network", "tunnel", "tunnels")


def cpu_warning(sweep: Sweep, data: Variables) -> str:
    """Return a warning with the busiest programs of all points; "": none is busy.

    ``data``: of ``sweep``, with the CPU use of the first flow's client and server.
    """
    uses = [_means(data[f"cpu_{side}"][1]) for side in ("client", "server")]
    busiest = np.fmax(*uses)
    most: dict[tuple[tuple[str, ...], str], busy.Busy] = {}
    networks: dict[str, ResolvedNetwork] = {}
    points = 0
    for index in np.flatnonzero(busiest > 0):
        network = _network(sweep, int(index) * len(sweep.seeds), networks)
        ends = (network.flows[0].client, network.flows[0].server)
        use = {host: float(each[index]) for host, each in zip(ends, uses, strict=True)}
        found = list(busy.of_hosts(network, use))
        points += bool(found)
        for it in found:
            key = (it.programs, it.host)
            most[key] = max(most.get(key, it), it, key=lambda each: each.share)
    told = sorted(most.values(), key=lambda it: -it.share)[:_MOST_PROGRAMS]
    count = np.isfinite(busiest).sum()
    return warnings.cpu(told, f" at {points} of {count} points, at most" if count > 1 else "")


def _network(sweep: Sweep, position: int, known: dict[str, ResolvedNetwork]) -> ResolvedNetwork:
    """Return a network with the hosts and tunnels at ``position``.

    Points that only differ in other keys share it, because a sweep may have thousands.
    """
    settings = sweep.settings(position)
    key = repr({k: v for k, v in settings.items() if k.partition(".")[0] in _OF_PROGRAMS})
    if key not in known:
        known[key] = sweep.experiment(position).resolved
    return known[key]


def _means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean over the seeds, the last dimension, at each point; NaN: no run succeeded."""
    flat = values.reshape(-1, values.shape[-1])
    count = np.isfinite(flat).sum(axis=-1)
    total: NDArray[np.float64] = np.nansum(flat, axis=-1)
    means = np.full(len(flat), np.nan)
    np.divide(total, count, out=means, where=count > 0)
    return means
