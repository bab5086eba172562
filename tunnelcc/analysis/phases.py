# SPDX-License-Identifier: GPL-2.0-only
"""Links so slow that a seed draws only a small part of the phases of their RTT."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tunnelcc.config.queue import DropTail
from tunnelcc.network.draws import MOST_PHASE, service_time
from tunnelcc.network.topology import Step

if TYPE_CHECKING:
    from tunnelcc.network.resolved import ResolvedNetwork

#: A smaller part of the phases than this says little of the others.
_LEAST_DRAWN = 0.5


class Undrawn(NamedTuple):
    """``key`` is the RTT of a link, s, on which a full packet takes ``service`` s."""

    key: str
    rtt: float
    service: float


def of_links(network: ResolvedNetwork) -> Iterator[Undrawn]:
    """Yield drop-tail links where different flows meet and whose phases are mostly not drawn."""
    sources = [it for it in network.all_kinds if it.key.partition(".")[0] != "pings"]
    experiment = network.experiment
    for name, link in network.topology.links.items():
        service = service_time(experiment, link.path) / 1e9
        met = [it for it in sources if it.loads.get(Step(name, False), 0) > 0]
        is_drawn = network.phases[name] > 0 and isinstance(link.path.queue, DropTail)
        if len(met) > 1 and is_drawn and MOST_PHASE * link.path.rtt < _LEAST_DRAWN * service:
            yield Undrawn(f"{link.key}.rtt", link.path.rtt, service)
