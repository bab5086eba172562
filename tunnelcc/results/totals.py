# SPDX-License-Identifier: GPL-2.0-only
"""The totals of a run in SI units, as in its JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tunnelcc import metrics
from tunnelcc.metrics import Metric
from tunnelcc.results import variables
from tunnelcc.results.measured import plain
from tunnelcc.results.parts import Parts
from tunnelcc.words import causes

_OF_COUNTS = ("segments", "packets", "byte")


def totals(
    run: Parts, names: Iterable[str], single: Mapping[str, float], own_metrics: Iterable[Metric]
) -> dict[str, Any]:
    """Return metrics and totals by part of the network, under their names. No value: None.

    ``names``: of the run's variables; ``single``: the metrics that are one number.
    """
    found = _Totals(run, names)
    flows = found.of("flow")
    for name, metric in metrics.METRICS.items():
        if metric.per_flow:
            values = np.asarray(metric(run), dtype=float).tolist()
            for flow, value in zip(flows, values, strict=True):
                flow.setdefault(name, plain(value))
    for one in (*metrics.METRICS.values(), *own_metrics):
        found.units[one.name] = one.units
        if one.since_start:
            found.since_start.add(one.name)
    table = {
        "experiment": run.experiment.table(),
        "derived": run.derived,
        "metrics": {**found.metrics(single), **found.of_run()},
        "flows": [
            {
                "flow": index,
                **flow,
                "limited_by": causes.record(run.limited[index]),
                "legs": found.legs(index),
            }
            for index, flow in enumerate(flows)
        ],
        "cross_traffic": found.of("cross_traffic"),
        "pings": found.of("ping"),
        "links": dict(zip(run.network.topology.links, found.by_way("link"), strict=True)),
        "hosts": dict(zip(run.host_names, found.of("host"), strict=True)),
        "tunnels": found.tunnels(),
        "users": _groups(run, "user", run.users),
        "carriers": [
            group
            for group in _groups(run, "carrier", run.carrier_numbers)
            if group["carrier"] is not None
        ],
    }
    return {**table, "units": found.units, "since_start": sorted(found.since_start)}


class _Totals:
    """Reads variables by part, and notes their units."""

    def __init__(self, run: Parts, names: Iterable[str]) -> None:
        self._run = run
        self.units: dict[str, str] = {}
        self.since_start: set[str] = set()
        self._names: dict[tuple[str, ...], list[str]] = {}
        for name in names:
            it = variables.declared(name)
            if it.dims != (name,) and "time" not in it.dims:
                self._names.setdefault(it.dims, []).append(name)

    def metrics(self, single: Mapping[str, float]) -> dict[str, Any]:
        """Return metrics of the run; counts are whole numbers."""
        return {
            name: plain(value, is_count=self.units[name] in _OF_COUNTS)
            for name, value in single.items()
        }

    def of_run(self) -> dict[str, Any]:
        """Return the totals that have one value per run."""
        return self._values((), ())

    def of(self, *dims: str) -> list[dict[str, Any]]:
        """Return the totals of each flow, or host."""
        return [self._values(dims, place) for place in np.ndindex(*self._shape(*dims))]

    def by_way(self, dim: str) -> list[dict[str, Any]]:
        """Return the totals of each link, or tunnel, by direction."""
        return [
            self._values((dim,), (place,))
            | {
                str(way): self._values((dim, "direction"), (place, number))
                for number, way in enumerate(self._run["direction"])
            }
            for place in range(*self._shape(dim))
        ]

    def legs(self, flow: int) -> list[dict[str, Any]]:
        """Return the totals of a flow's connections, and the share of time of each limit."""
        names, run = [*self._run["leg"]], self._run
        found = []
        for leg in run.legs[flow]:
            place = flow, names.index(leg.name)
            values = self._values(("flow", "leg"), place)
            if leg.arq_timeouts is None:  # it is TCP
                values = {name: it for name, it in values.items() if not name.startswith("arq_")}
            shares = zip(run["limit"].tolist(), run["limit_share"][place].tolist(), strict=True)
            found.append({**values, "limit_share": dict(shares)})
        return found

    def tunnels(self) -> list[dict[str, Any]]:
        """Return each tunnel with its flows, and the totals of those that carry packets."""
        run, packets = self._run, iter(self.by_way("packet_tunnel"))
        found = []
        for number, placed in enumerate(run.network.tunnels):
            members = [i for i, flow in enumerate(run.network.flows) if flow.tunnel == placed.owner]
            ways = {} if run.tunnels[number] is None else next(packets)
            for way in (ways.get("forward", {}), ways.get("reverse", {})):
                for part, one in (("fec", "packets"), ("uplinks", "late")):  # that it has not
                    if way.get(f"tunnel_{part}_{one}") is None:
                        for name in [it for it in way if it.startswith(f"tunnel_{part}_")]:
                            del way[name]
            found.append(
                {
                    "tunnel": placed.name,
                    "from": placed.ends[0],
                    "to": placed.ends[1],
                    "flows": members,
                    "goodput": float(np.sum(metrics.METRICS["flow_goodput"](run)[members])),
                    **ways,
                }
            )
        return found

    def _shape(self, *dims: str) -> tuple[int, ...]:
        return tuple(len(self._run[dim]) for dim in dims)

    def _values(self, dims: tuple[str, ...], place: tuple[int, ...]) -> dict[str, Any]:
        values = {}
        for name in self._names.get(dims, ()):
            it = variables.declared(name)
            if it.units:
                self.units[name] = it.units
            if it.since_start:
                self.since_start.add(name)
            value = self._run[name][place]
            values[name] = str(value) if it.units == "" else plain(value, is_count=it.is_count)
        return values


def _groups(run: Parts, name: str, members: Sequence[Any]) -> list[dict[str, Any]]:
    """Return sums over the flows of one user, or on one carrier."""
    flows: dict[Any, list[int]] = {}
    for index, member in enumerate(members):
        flows.setdefault(member, []).append(index)
    goodputs = metrics.group_totals(metrics.METRICS["flow_goodput"](run), members)
    return [{name: member, "flows": flows[member], "goodput": goodputs[member]} for member in flows]
