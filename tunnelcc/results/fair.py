# SPDX-License-Identifier: GPL-2.0-only
"""What each flow would have if the links that are used were shared fairly by plain TCP."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunnelcc import metrics
from tunnelcc.config.path import LinkDirection
from tunnelcc.metrics.convergence import WINDOW
from tunnelcc.network.resolved import ResolvedNetwork
from tunnelcc.network.topology import Step
from tunnelcc.network.traffic import Traffic
from tunnelcc.results.parts import Parts

Series = NDArray[np.float64]
Loads = frozenset[tuple[Step, float]]


@dataclass(frozen=True)
class _Demand:
    """What wants a part of the links from ``start`` to ``end`` (s): payload ``rate``, bit/s.

    ``loads``: links, and the share of its data that crosses each.
    """

    loads: Loads
    rate: float
    start: float
    end: float


def capacity(run: Parts, step: Step) -> float:
    """Return the mean payload rate (bit/s) that a direction of a link could carry; NaN: any.

    That is the lowest one of its rate, its policer's and its shaper's.
    """
    counts, rates = run.way(step), run.network.direction(step).caps
    if counts.utilisation and counts.bytes_sent:
        rates.append(8 * counts.bytes_sent / run.measured_time / counts.utilisation)
    mss, packet = _full_segment(run.network, step)
    return float(min(rates) * mss / packet) if rates else math.nan


def shares(network: ResolvedNetwork) -> list[float]:
    """Return the max-min fair rate (bit/s) of each of ``network.kinds``; NaN: no limit.

    That is what one of its flows would have if all flows and cross traffic sent at once, and links
    kept the rates that they begin with.
    """
    kinds = network.kinds
    rooms = {}
    everyone = [_loads(it) for it in kinds]
    for step in _crossed(everyone):
        way, (mss, packet) = network.direction(step), _full_segment(network, step)
        rates = [*([way.rate] if way.rate else []), *way.caps]
        if rates:
            rooms[step] = min(rates) * mss / packet
    counts = Counter(it.traffic for it in network.flows)
    traffic = _cross_traffic(network)
    everyone += [it.loads for it in traffic]
    granted = metrics.max_min_allocation(
        list(rooms.values()),
        [*(it.demand or math.inf for it in kinds), *(it.rate for it in traffic)],
        [_shares(loads, rooms) for loads in everyone],
        [*(counts[it] for it in kinds), *(1 for _ in traffic)],
    )
    return [rate if math.isfinite(rate) else math.nan for rate in granted[: len(kinds)]]


def rates(run: Parts, demands: Sequence[float]) -> tuple[Series, Series]:
    """Return each flow's max-min fair rate: the mean after the warm-up, and its series, bit/s.

    Shapes are (flow,) and (flow, time); NaN if no link limits the flow. A flow demands
    ``demands`` (bit/s) from its start until its last byte is read. Cross traffic demands its mean
    rate between its start and stop. Links offer the rate that they have at the time. The mean is
    over the allocations between these moments.
    """
    flows = _flows(run, demands)
    used = _crossed({it.loads for it in flows})
    everyone = [*flows, *_cross_traffic(run.network)]
    ends = [
        0.0,
        run.duration,
        *(it.start for it in everyone),
        *(it.end for it in everyone),
    ]
    changes = (moment for step in used for moment in rate_changes(run, step))
    moments = np.array(sorted({*ends, *changes}))
    capacities: dict[Step, Series] = {}
    for step in used:
        most = _capacities(run, step, moments)
        if np.isfinite(most).all() and most.any():
            capacities[step] = most
    lengths = moments[1:] - moments[:-1]
    sums = {
        kind: np.concatenate([[0.0], (granted * lengths).cumsum()])
        for kind, granted in _allocations(everyone, capacities, moments).items()
    }
    experiment, time = run.experiment, run["time"]
    times = np.concatenate([[0.0], time, [experiment.warmup, run.duration]])
    known: dict[_Demand, Series] = {}  # flows are often alike
    for it in flows:
        if it not in known:
            of_kind = sums[it.loads, it.rate]
            if math.isfinite(of_kind[-1]):
                during = np.minimum(np.maximum(times, it.start), max(it.start, it.end))
                known[it] = np.interp(during, moments, of_kind)
            else:
                known[it] = np.full(times.shape, math.nan)
    had = np.array([known[it] for it in flows])
    means: Series = (had[:, -1] - had[:, -2]) / run.measured_time
    until = had[:, : len(time) + 1]
    return means, (until[:, 1:] - until[:, :-1]) / (times[1 : len(time) + 1] - times[: len(time)])


def rate_changes(run: Parts, step: Step) -> Series:
    """Return when a link's rate changes (s), in the run.

    A trace's rate counts as its mean over each second: queues even out shorter changes.
    """
    direction, duration = run.network.direction(step), run.duration
    if direction.trace is not None and direction.trace.rate:
        return np.arange(0.0, duration, WINDOW)
    changes = np.array([moment for moment, _ in direction.rate_steps], dtype=float)
    return changes[changes < duration]


def _capacities(run: Parts, step: Step, moments: Series) -> Series:
    """Return capacity() between the moments, where the link's rate may change; shape (moment,)."""
    direction = run.network.direction(step)
    if not direction.varies("rate"):
        return np.full(len(moments) - 1, capacity(run, step))
    offered = offered_rates(direction, moments)
    for cap in direction.caps:
        offered = np.minimum(offered, cap)
    mss, packet = _full_segment(run.network, step)
    return offered * mss / packet


def offered_bits(direction: LinkDirection, until: Series) -> Series:
    """Return what a link's rate could have carried until each time (s), bits."""
    period = direction.trace.period if direction.trace is not None else 0.0
    begins, rates = np.array([(time, rate or 0.0) for time, rate in direction.over_time("rate")]).T
    before = np.concatenate([[0.0], np.cumsum(rates[:-1] * np.diff(begins))])
    rounds, time = np.divmod(until, period) if period else (0.0, until)
    of_round = before[-1] + rates[-1] * (period - begins[-1])
    now = np.searchsorted(begins, time, side="right") - 1
    bits: Series = rounds * of_round + before[now] + rates[now] * (time - begins[now])
    return bits


def offered_rates(direction: LinkDirection, moments: Series) -> Series:
    """Return a link's mean rate (bit/s) between the moments (s); shape (moment - 1,)."""
    rates: Series = np.diff(offered_bits(direction, moments)) / np.diff(moments)
    return rates


def _full_segment(network: ResolvedNetwork, step: Step) -> tuple[int, int]:
    """Return the payload of a full segment without a tunnel, and its bytes on the link."""
    segments = network.segments
    mss, packet = segments.get(step) or next(iter(segments.values()))
    return mss, packet + network.topology.links[step.link].path.framing_bytes


def _loads(traffic: Traffic) -> Loads:
    """Return the links that data cross without a fail-over, and the share on each."""
    return frozenset((step, share) for step, share in traffic.loads.items() if share > 0)


def _crossed(everyone: Iterable[Loads]) -> list[Step]:
    return sorted({step for loads in everyone for step, _ in loads})


def _shares(loads: Loads, links: Iterable[Step]) -> list[float]:
    """Return the share of the data that crosses each of ``links``."""
    of = dict(loads)
    return [of.get(step, 0.0) for step in links]


def _flows(run: Parts, demands: Sequence[float]) -> list[_Demand]:
    found, duration = run.network, run.duration
    flows, loads = [], {it: _loads(it) for it in found.kinds}
    completed = run["flow_completed_at"].tolist()
    for placed, rate, end in zip(found.flows, demands, completed, strict=True):
        start = placed.start
        if placed.flow.data_start is not None:
            start += placed.flow.data_start - placed.flow.start
        until = end if math.isfinite(end) else duration
        flows.append(_Demand(loads[placed.traffic], rate, min(start, duration), until))
    return flows


def _cross_traffic(network: ResolvedNetwork) -> list[_Demand]:
    experiment = network.experiment
    duration = experiment.duration
    sources = []
    for source, placed in zip(experiment.cross_traffic, network.cross_traffic, strict=True):
        loads = _loads(placed.traffic)
        duty = 1.0 if source.on is None else source.on / (source.on + (source.off or 0.0))
        # A link's capacity is what it carries of payload, so UDP takes as much less of it.
        payload = 0.0
        for step, _ in loads:
            mss, packet = _full_segment(network, step)
            framing = network.topology.links[step.link].path.framing_bytes
            payload = max(payload, mss / packet * (source.packet + framing) / source.packet)
        stop = duration if source.stop is None else min(source.stop, duration)
        sources.append(_Demand(loads, source.rate * duty * payload, source.start, stop))
    return sources


def _allocations(
    demands: Sequence[_Demand], capacities: dict[Step, Series], moments: Series
) -> dict[tuple[Loads, float], Series]:
    """Return what one of each kind of demand has between the ``moments`` (s). Kind: links, rate."""
    kinds = {
        key: number
        for number, key in enumerate(dict.fromkeys((it.loads, it.rate) for it in demands))
    }
    places = {moment: place for place, moment in enumerate(moments.tolist())}
    changes: list[list[tuple[int, int]]] = [[] for _ in places]
    for it in demands:
        number = kinds[it.loads, it.rate]
        changes[places[it.start]].append((number, 1))
        changes[places[max(it.start, it.end)]].append((number, -1))
    wanted = [rate for _, rate in kinds]
    crosses = [_shares(loads, capacities) for loads, _ in kinds]
    rooms = [*zip(*(it.tolist() for it in capacities.values()), strict=True)]
    active, granted = [0] * len(kinds), np.zeros((len(kinds), len(moments) - 1))
    known: dict[tuple[Any, ...], Series] = {}  # traces repeat their rates
    for interval in range(len(moments) - 1):
        for number, change in changes[interval]:
            active[number] += change
        present = [number for number, count in enumerate(active) if count]
        if not present:
            continue
        room = rooms[interval] if rooms else ()
        case = (*active, *room)
        if case not in known:
            known[case] = metrics.max_min_allocation(
                room,
                [wanted[number] for number in present],
                [crosses[number] for number in present],
                [active[number] for number in present],
            )
        granted[present, interval] = known[case]
    return {key: granted[number] for key, number in kinds.items()}
