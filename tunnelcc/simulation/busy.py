# SPDX-License-Identifier: GPL-2.0-only
"""Programs of tunnels that need so much CPU time that the choice of the machine decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tunnelcc.hosts import costs

if TYPE_CHECKING:
    from tunnelcc.config import Tunnel
    from tunnelcc.network.resolved import ResolvedNetwork

# Measured programs needed up to twice the CPU time that the simulator counts, in which the kernel's
# own work for a packet is free (tests/validation/data/README.md, "Where the CPU is the limit").
# Busy for more of its time than this, such a program would be the limit on a machine half as fast.
_BUSY = 0.25


@dataclass(frozen=True)
class Busy:
    """The tunnels' programs of a host.

    ``programs``: names of tunnels. ``share``: CPU time of the host as a part of the time that their
    threads have. ``cores``: how many these are, at most the host's. ``of``: whose costs these are.
    """

    programs: str
    host: str
    share: float
    cores: int
    of: str

    @property
    def text(self) -> str:
        """For example: ``openvpn-udp on client uses 93 % of a core``."""
        used = "a core" if self.cores == 1 else f"{self.cores} cores"
        return f"{self.programs} on {self.host} uses {100 * self.share:.0f} % of {used}"


def of_hosts(network: ResolvedNetwork, cpu: Mapping[str, float]) -> Iterator[Busy]:
    """Yield the hosts whose tunnels are so busy that the machine may decide.

    ``cpu``: host → its CPU time / (cores · time). The program of a tunnel of packets has one
    thread for the direction of the data; relays use all cores.
    """
    for name, use in cpu.items():
        tunnels = [it.tunnel for it in network.tunnels if name in it.hosts]
        if not tunnels:
            continue
        host = network.hosts[name]
        threads = [host.cores if it.entry.kind == "relay" else 1 for it in tunnels]
        # The host's CPU time is that of its applications, too, where these cost any.
        has_apps = host.profile is not None or host.app_cost > 0
        cores = min(host.cores, sum(threads) + has_apps)
        share = use * host.cores / cores
        if share > _BUSY:
            programs = ", ".join(dict.fromkeys(it.name for it in tunnels))
            programs += " with the applications" if has_apps else ""
            machines = dict.fromkeys(_machine(it, host.profile) for it in tunnels)
            yield Busy(programs, name, share, cores, " and ".join(machines))


def warning(found: Iterable[Busy], where: str = "") -> str:
    """Return a warning that the CPU decides, or may on another machine; "": it does not.

    ``where``: the runs that it is about, such as `` at 3 of 12 points``.
    """
    found = list(found)
    if not found:
        return ""
    told = "; ".join(it.text for it in found)
    machines = ", ".join(dict.fromkeys(it.of for it in found))
    return (
        f"CPU{where}: {told}. Measured programs needed up to twice that, because the kernel's own "
        f"work is not counted. Costs are those of {machines}; hosts.profile (`tunnelcc "
        "calibrate-host` makes one), hosts.speed and hosts.cores change them."
    )


def _machine(tunnel: Tunnel, profile: str | None) -> str:
    """Return whose costs a tunnel's programs have."""
    if profile is None and tunnel.entry.kind == "relay":
        return f"the machine on which {tunnel.name} was measured"
    found = costs.load(profile or costs.REFERENCE)
    return f"the profile {found.name} ({found.summary.partition(',')[0]})"
