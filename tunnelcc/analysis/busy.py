# SPDX-License-Identifier: GPL-2.0-only
"""Programs of tunnels that need so much CPU time that the choice of the machine decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tunnelcc.hosts import costs

if TYPE_CHECKING:
    from tunnelcc.config import Tunnel
    from tunnelcc.network.resolved import ResolvedNetwork

# Measured programs needed up to twice the CPU time that the simulator counts, in which the kernel's
# own work for a packet is free (tests/validation/data/README.md, "Where the CPU is the limit").
# Busy for more of its time than this, such a program would be the limit on a machine half as fast.
_BUSY = 0.25


class Machine(NamedTuple):
    """Whose costs programs have: of a profile, by its name, or those measured with a tunnel."""

    tunnel: str = ""
    profile: str = ""
    processor: str | None = None


@dataclass(frozen=True)
class Busy:
    """The tunnels' programs of a host.

    ``programs``: names of tunnels; ``has_apps``: the applications cost something, too; ``share``:
    CPU time of the host as a part of the time that their threads have; ``cores``: how many these
    are, at most the host's.
    """

    programs: tuple[str, ...]
    has_apps: bool
    host: str
    share: float
    cores: int
    machines: tuple[Machine, ...]


def of_hosts(network: ResolvedNetwork, cpu: Mapping[str, float]) -> Iterator[Busy]:
    """Yield the hosts whose tunnels are so busy that the machine may decide.

    ``cpu``: host → its CPU time / (cores · time). The program of a tunnel of packets has one
    thread for the direction of the data; relays use all cores.
    """
    for name, use in cpu.items():
        tunnels = [it.keys for it in network.tunnels if name in it.hosts]
        if not tunnels:
            continue
        host = network.hosts[name]
        threads = [host.cores if it.entry.kind == "relay" else 1 for it in tunnels]
        # The host's CPU time is that of its applications, too, where these cost any.
        has_apps = host.profile is not None or host.app_cost > 0
        cores = min(host.cores, sum(threads) + has_apps)
        share = use * host.cores / cores
        if share > _BUSY:
            programs = dict.fromkeys(it.name for it in tunnels)
            machines = dict.fromkeys(_machine(it, host.profile) for it in tunnels)
            yield Busy((*programs,), has_apps, name, share, cores, (*machines,))


def _machine(tunnel: Tunnel, profile: str | None) -> Machine:
    if profile is None and tunnel.entry.kind == "relay":
        return Machine(tunnel.name)
    found = costs.load(profile or costs.REFERENCE)
    return Machine("", found.name, found.processor)
