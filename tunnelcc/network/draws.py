# SPDX-License-Identifier: GPL-2.0-only
"""What an experiment's seed draws: phases, when its flows start, and how many bytes they send."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from tunnelcc.config.flow import Flow
from tunnelcc.config.keys import ExperimentKeys
from tunnelcc.config.path import DuplexLink

#: Of an RTT, the most by which a phase makes it longer: what the user stated stays true.
MOST_PHASE = 0.01


class SingleFlow(NamedTuple):
    """One of the ``count`` flows of an entry of ``flows``.

    ``group``: number of the entry; ``start``: s, jitter included; ``bytes``: what it sends, None:
    until the end.
    """

    group: int
    flow: Flow
    start: float
    bytes: int | None


def single_flows(experiment: ExperimentKeys) -> Iterator[SingleFlow]:
    """Yield each single flow, in the order of ``flows``."""
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
            yield SingleFlow(group, flow, arrival + jitter, size)


def link_phase(experiment: ExperimentKeys, number: int, path: DuplexLink, service: float) -> int:
    """Return by how much (ns) the RTT of link ``number``, whose keys are ``path``, is longer.

    A packet that is sent when another has left the link comes back one RTT later: whether it finds
    a place in the queue depends on the RTT modulo the service time of a packet, its phase (Floyd
    and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", 1992). At round numbers
    it is mostly 0, the exception among paths. Drawn uniformly, it is what seeds differ in.

    ``service``: of a full packet on the slowest link, ns.
    """
    if path.phase == "0":
        return 0
    rtts = [rtt for _, rtt in path.over_time("rtt")]
    if experiment.network is None:  # otherwise flows.rtt is at least that of the links
        rtts += [flow.rtt for flow in experiment.flows if flow.rtt is not None]
    return _part(experiment, ("phase", number), service, min(rtts))


def flow_phase(experiment: ExperimentKeys, number: int, rtt: float | None, service: float) -> int:
    """Return by how much (ns) the ``rtt`` of single flow ``number`` is longer, beside its links.

    If flows of different RTTs had one phase, all packets of some would come right before or right
    after those of others. If all have the same RTT, it is as if that were the path's. ``rtt``:
    None: it has that of its links; ``service``: as above.
    """
    links = experiment.path.rtt if experiment.network is None else None
    of_all = {links if flow.rtt is None else flow.rtt for flow in experiment.flows}
    if rtt is None or experiment.path.phase == "0" or len(of_all) == 1:
        return 0
    return _part(experiment, ("flow phase", number), service, rtt)


def _part(experiment: ExperimentKeys, who: tuple[str, int], service: float, rtt: float) -> int:
    """Return a drawn part of ``service`` (ns), below 1 % of ``rtt`` (s)."""
    return int(uniform(experiment.seed, *who) * min(service, MOST_PHASE * 1e9 * rtt))


def service_time(experiment: ExperimentKeys, path: DuplexLink) -> float:
    """Return the time (ns) that a full packet takes on a link; 0: it has no rate."""
    packet = experiment.tcp.packet_bytes(experiment.path.ip, path.mtu) + path.framing_bytes
    return 8e9 * packet / path.rate if path.rate is not None else 0.0


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
