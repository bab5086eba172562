# SPDX-License-Identifier: GPL-2.0-only
"""The result of one run: series, totals and JSON.

A result depends on the experiment alone. It has no wall time and no host name, so equal experiments
give equal results, byte for byte.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tunnelcc import core, metrics
from tunnelcc.errors import ConfigError, Problem, unknown_name
from tunnelcc.metrics import AnyMetric, Metric
from tunnelcc.output import cells
from tunnelcc.results import totals, variables
from tunnelcc.results.parts import Parts
from tunnelcc.scenario import Experiment
from tunnelcc.schema.units import (
    UnitError,
    format_rate,
    format_time,
    parse_probability,
    parse_time,
)
from tunnelcc.words.quantities import rate

if TYPE_CHECKING:
    import xarray

    from tunnelcc.config.path import DuplexLink

# Of arguments of metrics that are given as text.
_PARSERS = {"since": parse_time, "until": parse_time, "within": parse_probability}

# First dimension of a measurement → its kind in digests().
_KINDS = {
    "flow": "flows", "leg": "legs", "link": "links", "packet_tunnel": "tunnel", "host": "hosts",
    "cross_traffic": "cross_traffic", "ping": "pings",
}  # fmt: skip


class Result(Parts):
    """The result of a finished run.

    - ``metric(name)``: one metric in SI units; `tunnelcc show metrics` lists them.
    - ``metrics``: all metrics that are one number; ``goodput`` (bit/s) and ``jain`` directly.
    - ``dataset``: series and totals as an xarray Dataset with units.
    - ``result[name]``: a variable of ``dataset`` as an array, which is faster.
    - ``flows``, ``legs`` (of each flow), ``links``, ``hosts``, ``tunnels``, ``cross_traffic``,
      ``pings``: the same by part: ``result.links["path"].forward.queue_drops`` is of
      ``link_queue_drops``.
    - ``to_dict()``, ``to_json()``: the totals.
    - ``experiment``: the experiment.

    Two flows:

        >>> path = tc.Path(rate="10Mbps", rtt="20ms")
        >>> result = tc.run(tc.Experiment(path=path, flows=[tc.Flow(count=2)], duration="1s"))
        >>> result.metric("goodput") == result.goodput
        True
        >>> result.dataset.sizes["flow"]
        2
    """

    def __init__(
        self,
        experiment: Experiment,
        measured: Mapping[str, Any],
        own_metrics: Sequence[Metric] = (),
    ) -> None:
        """``own_metrics``: the user's, besides those of tunnelcc. See Parts for the rest."""
        super().__init__(experiment, measured)
        self.own_metrics = own_metrics

    def __reduce__(self) -> tuple[Any, ...]:
        return Result, (self.experiment, self.measured, self.own_metrics)

    def __repr__(self) -> str:
        return f"<tunnelcc.Result: {self.heading}: {rate(self.goodput)}>"

    def _repr_html_(self) -> str:
        return cells.form(self)

    def __contains__(self, name: object) -> bool:
        derived = variables.VARIABLES.get(str(name))
        if derived is not None:
            return self._absent.isdisjoint(derived.dims)
        return name in self.measured and name in core.measurements()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all variables."""
        return tuple(name for name in (*self.measured, *variables.VARIABLES) if name in self)

    @cached_property
    def _absent(self) -> frozenset[str]:
        """Dimensions that the run does not have."""
        optional = ("packet_tunnel", "cross_traffic", "ping")
        return frozenset(dim for dim in optional if not len(self[dim]))

    def _array(self, name: str) -> Any:
        return variables.value(self, name) if name in variables.VARIABLES else super()._array(name)

    @property
    def heading(self) -> str:
        """The title, or one such as ``4 × bbr through gost-relay-wss, 100Mbps × 100ms``."""
        experiment = self.experiment
        if experiment.title:
            return experiment.title
        flows = ", ".join(experiment.flow_labels())
        of_all = experiment.tunnel_of_all
        tunnel = f" through {of_all.name}" if of_all else ""
        link: DuplexLink = experiment.path
        network = ""
        if experiment.network is not None:
            shape, size = experiment.network.shape, experiment.network.size
            network = f"{shape} of {size}" if shape else f"{len(self.links)} links"
            name = self.network.bottleneck[0]
            link = self.network.topology.links[name].path
            is_one = bool(experiment.network.links) or shape == "dumbbell"
            network += f", {name}: " if is_one else ", each "
        rate = "no rate limit" if link.rate is None else format_rate(link.rate)
        rtt = format_time(link.rtt)
        if link.trace is not None:
            file = Path(link.trace.file).name
            rate = f"rates of {file}" if link.trace.rate else rate
            rtt = f"RTTs of {file}" if link.trace.rtt else rtt
        path = f"{rate} × {rtt}"
        loss = f", loss {100 * link.loss:g} %" if link.loss else ""
        return f"{flows}{tunnel}, {network}{path}{loss}"

    # Metrics

    @property
    def goodput(self) -> float:
        """Goodput of all flows together, bit/s."""
        return self.metric("goodput")

    @property
    def jain(self) -> float:
        """Jain's index of the flows' goodputs."""
        return self.metric("jain")

    def flow_goodput(self, flow: int) -> float:
        """Return the goodput of one flow (from 0), bit/s."""
        return self.metric("flow_goodput", flow=flow)

    @cached_property
    def metrics(self) -> Mapping[str, float]:
        """Name → value in SI units of every metric that is one number; NaN if it has no value.

        ``dataset`` has the metrics of each flow, and metric() returns one of them.
        """
        found = {it.name: it(self) for it in metrics.METRICS.values() if not it.per_flow}
        found |= {it.name: metrics.evaluate(it, self) for it in self.own_metrics}
        return {name: float(value) for name, value in found.items() if not np.ndim(value)}

    def metric(self, name: AnyMetric, **selection: Any) -> float:
        """Return one metric in SI units; `tunnelcc show metrics` lists names and definitions.

        ``name``: also a function of a Result that returns a number, or one for each flow.
        ``selection``: ``flow`` (from 0), ``since`` and ``until`` (numbers in s, or text such as
        ``"500ms"``) and ``within`` (``0.05`` or ``"5%"``), if the metric accepts them. Without
        ``flow``, metrics whose names begin with ``flow_`` are of the first flow, and others of all
        flows. Raises ConfigError. Example:
        ``metric("flow_goodput", flow=1, since="5s")``.
        """
        for key, value in selection.items():
            if key not in metrics.SELECTION:
                raise unknown_name("argument", key, metrics.SELECTION)
            if key in _PARSERS and not isinstance(value, (Real, type(None))):
                try:
                    selection[key] = _PARSERS[key](value)
                except UnitError as error:
                    raise ConfigError(Problem(key, value, error.expected, error.hint)) from None
        flow, last = selection.get("flow"), len(self.network.flows) - 1
        if flow is not None and flow not in range(last + 1):
            raise ConfigError(Problem("flow", flow, f"a flow from 0 to {last}"))
        own = {it.name: it for it in self.own_metrics}
        found = own[name] if isinstance(name, str) and name in own else metrics.find(name)
        return metrics.value(self, found, **selection)

    # Files

    @cached_property
    def dataset(self) -> xarray.Dataset:
        """Series and totals with units, as an xarray Dataset.

        Dimensions are time, flow, leg, limit, direction, link and host; packet_tunnel if tunnels
        carry packets, and cross_traffic and ping if there are any. A name begins with what the
        variable is of: flow, link, tunnel, host, cross_traffic or ping; those of connections (legs)
        have TCP's own names. A series whose name ends in ``_series`` has a total, too.

        Totals leave out the warm-up, but those whose ``long_name`` says since the start. A link's
        direction forward is from the host ``link_from`` to ``link_to``; ``bottleneck_link`` and
        ``bottleneck_direction`` number the bottleneck and the direction of the data across it.
        """
        import xarray

        attributes = {
            "title": self.experiment.title,
            **self.provenance,
            "entries": json.dumps(self.entries),
            "seed": str(self.experiment.seed),  # netCDF 3 has no integers of 64 bits
            "experiment": json.dumps(self.experiment.table()),
            "derived": json.dumps(self.derived),
            "totals": "after the warm-up, unless long_name says since the start",
        }
        data: dict[str, Any] = {}
        coordinates: dict[str, Any] = {}
        for name in self.names:
            it = variables.declared(name)
            (coordinates if it.is_coordinate else data)[name] = (it.dims, self[name], it.attributes)
        return xarray.Dataset(data, coordinates, attributes)

    def to_dict(self) -> dict[str, Any]:
        """Return metrics and totals in SI units, as in the JSON. What has no value is None.

        Names are those of ``metrics`` and ``dataset``, and ``units`` has their units. Totals leave
        out the warm-up, but those that ``since_start`` lists.
        """
        found = totals.totals(self, self.names, self.metrics, self.own_metrics)
        return {**self.provenance, **found}

    def to_json(self, indent: int | None = 2) -> str:
        """Return to_dict() as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def digests(self) -> dict[str, str]:
        """Return a hash of each kind of measurement. Equal hashes mean equal bits.

        What a run does not have leaves no trace: new measurements do not change old runs. So does
        the number of events, which describes the simulator and not the network, and that of
        congestion events, which came later.
        """
        known = core.measurements()
        found: dict[str, Any] = {}
        messages = {name for name in known if name.startswith("flow_message")}
        left_out = {"events", "congestion_events"}
        left_out |= set() if self["flow_messages_due"].any() else messages
        # Of cross traffic, only what has always been measured.
        counts = ("cross_traffic_sent", "cross_traffic_received")
        left_out |= {it for it in known if it.startswith("cross_traffic_") and it not in counts}
        for name in sorted((self.measured.keys() & known.keys()) - left_out):
            values = np.asarray(self.measured[name])
            if values.dtype.kind == "U" or not np.isnan(values).all():
                kind = _KINDS.get("".join(known[name].dimensions[:1]), "time")
                kind = "legs" if name == "path_segments" else kind
                kind = "messages" if name in messages else kind
                digest = found.setdefault(kind, hashlib.blake2b(digest_size=16))
                digest.update(name.encode())
                is_text = values.dtype.kind == "U"
                digest.update(str(values.tolist()).encode() if is_text else values.tobytes())
        if any(self.measured["flow_channels"]):
            found["flows"].update(str(self.measured["flow_channels"]).encode())
        return {kind: digest.hexdigest() for kind, digest in sorted(found.items())}
