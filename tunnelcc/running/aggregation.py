# SPDX-License-Identifier: GPL-2.0-only
"""What several paths bring, beside each of them alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tunnelcc import metrics
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.network.multipath import Multipath
from tunnelcc.network.topology import Route, Topology
from tunnelcc.results.result import Result
from tunnelcc.running import runner
from tunnelcc.scenario import Experiment


@dataclass(frozen=True)
class Aggregation:
    """Goodput (bit/s) over all paths, and over each ``alone``, by its hosts; all flows together.

    ``benefit``: 1 if all paths carry what each does alone, 0 if they carry what the best does, and
    -1 if they carry nothing.
    """

    goodput: float
    alone: dict[str, float]

    @property
    def benefit(self) -> float:
        """The aggregation benefit: see metrics.aggregation_benefit()."""
        return metrics.aggregation_benefit(self.goodput, [*self.alone.values()])


def aggregation(experiment: Experiment, jobs: int | None = None) -> Aggregation:
    """Measure what several paths bring: those of a tunnel with uplinks, of MPTCP, or of QUIC.

    The function runs ``experiment``, and the same over each path alone: with TCP in place of MPTCP,
    also of a tunnel's carriers, QUIC with one path, or the tunnel without uplinks. ``jobs``: number
    of processes; default: one per core. Raises ConfigError without several paths, RunError.

        >>> link = {"rate": "5Mbps", "rtt": "20ms"}
        >>> links = {"a": {"between": ["pc", "server"], **link}}
        >>> links |= {f"b{i}": {"between": it, **link} for i, it in
        ...     enumerate((["pc", "router"], ["router", "server"]))}
        >>> uplinks = {"routes": [["pc", "router", "server"]], "use": "weights"}
        >>> tunnel = tc.Tunnel(name="mlvpn", between=["pc", "server"], uplinks=uplinks)
        >>> flow = {"from": "pc", "to": "server"}
        >>> both = tc.Experiment(network={"links": links}, tunnel=tunnel, flows=[flow])
        >>> [*tc.aggregation(both).alone]
        ['pc → server', 'pc → router → server']
    """
    paths = _paths(experiment)
    alone = [over(experiment, number) for number in range(len(paths))]
    runs = runner.run_many([experiment, *alone], jobs=jobs)
    goodputs = []
    for it in runs:
        if not isinstance(it, Result):
            raise it
        goodputs.append(it.goodput)
    return Aggregation(goodputs[0], dict(zip(paths, goodputs[1:], strict=True)))


def over(experiment: Experiment, number: int) -> Experiment:
    """Return the experiment over one of its paths alone, by its number from 0."""
    found, table = experiment.resolved, experiment.table()
    for flow, placed in zip(table["flows"], _first_of_each(experiment), strict=True):
        traffic = found.flows[placed].traffic
        if isinstance(traffic.below, Multipath):
            del flow["mptcp"]
            flow["route"] = _hosts(found.topology, traffic.below.routes[number])
        elif (tunnel := found.flows[placed].tunnel) is not None and (
            routes := found.tunnels[tunnel].routes
        ):
            flow["route"] = _by_way_of(found.topology, traffic.links.route, routes[number])
    for tunnel in (table.get("tunnel"), *table.get("tunnels", {}).values()):
        if isinstance(tunnel, dict):
            for key in ("uplinks", "mptcp", "mpquic"):
                tunnel.pop(key, None)
    alone: Experiment = Experiment.parse(table)
    return alone


def _first_of_each(experiment: Experiment) -> list[int]:
    """Return the number of the first flow of each entry of ``flows``."""
    first, found = 0, []
    for entry in experiment.flows:
        found.append(first)
        first += entry.count
    return found


def _paths(experiment: Experiment) -> list[str]:
    """Return the hosts on each path, as one text. Raises ConfigError if there is one path."""
    found = experiment.resolved
    sets: list[Any] = [it.routes for it in found.tunnels if it.routes]
    sets += [it.below.routes for it in found.kinds if isinstance(it.below, Multipath)]
    if not sets:
        expected = "several paths: tunnel.uplinks, tunnel.mptcp, tunnel.mpquic, or flows.mptcp"
        raise ConfigError(Problem("flows", [it.label for it in experiment.flows], expected))
    if len({len(it) for it in sets}) > 1:
        expected = "the same number of paths for all flows and tunnels that have several"
        raise ConfigError(Problem("flows", [len(it) for it in sets], expected))
    return [" → ".join(_hosts(found.topology, it)) for it in sets[0]]


def _hosts(topology: Topology, route: Route) -> list[str]:
    return topology.hosts_of(route.client, route.to_server)


def _by_way_of(topology: Topology, route: Route, part: Route) -> list[str]:
    """Return the hosts of a route whose part between two hosts is another one."""
    whole, inner = _hosts(topology, route), _hosts(topology, part)
    if whole.index(inner[0]) > whole.index(inner[-1]):
        inner.reverse()
    return [*whole[: whole.index(inner[0])], *inner, *whole[whole.index(inner[-1]) + 1 :]]
