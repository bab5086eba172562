# SPDX-License-Identifier: GPL-2.0-only
"""The result of one run: series, totals and JSON.

A result depends on the experiment alone. It has no wall time and no host name, so equal experiments
give equal results, byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunnelcc import metrics
from tunnelcc._version import __version__
from tunnelcc.errors import ConfigError, Problem, unknown_name
from tunnelcc.metrics.run import RunData
from tunnelcc.schema.units import (
    UnitError,
    format_rate,
    format_time,
    mbit,
    parse_probability,
    parse_time,
)
from tunnelcc.simulation import dataset, raw, totals
from tunnelcc.simulation.measurements import Measurements

if TYPE_CHECKING:
    import xarray

    from tunnelcc.config.path import DuplexLink

# Of arguments of metrics that are given as text.
_PARSERS = {"since": parse_time, "until": parse_time, "within": parse_probability}


class Result(Measurements):
    """The result of a finished run.

    - ``metric(name)``: one metric in SI units; `tunnelcc show metrics` lists them.
    - ``metrics``: all metrics that are one number; ``goodput`` (bit/s) and ``jain`` directly.
    - ``dataset``: series and totals as an xarray Dataset with units.
    - ``to_dict()``, ``to_json()``: the totals.
    - ``experiment``: the experiment; ``raw``: the compiled module's result as plain attributes.

    Two flows:

        >>> path = tc.Path(rate="10Mbps", rtt="20ms")
        >>> result = tc.run(tc.Experiment(path=path, flows=[tc.Flow(count=2)], duration="1s"))
        >>> result.metric("goodput") == result.goodput
        True
        >>> result.dataset.sizes["flow"]
        2
    """

    def __repr__(self) -> str:
        return f"<tunnelcc.Result: {self.heading}: {mbit(self.goodput)} Mbit/s>"

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
            name = self.layout.bottleneck[0]
            link = self.layout.topology.links[name].path
            is_one = bool(experiment.network.links) or shape == "dumbbell"
            network += f", {name}: " if is_one else ", each "
        rate = "no rate limit" if link.rate is None else format_rate(link.rate)
        if link.rate_trace is not None:
            rate = f"rates of {Path(link.rate_trace.file).name}"
        path = f"{rate} × {format_time(link.rtt)}"
        loss = f", loss {100 * link.loss:g} %" if link.loss else ""
        return f"{flows}{tunnel}, {network}{path}{loss}"

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
        names = (name for name, metric in metrics.METRICS.items() if not metric.per_flow)
        return {name: self.metric(name) for name in names}

    @cached_property
    def measured(self) -> RunData:
        """The values that metrics read: the variables of ``dataset``, and a few more."""
        arrays = {name: values for name, (_, values, _) in self.variables.items()}
        return metrics.RunData({**arrays, **dataset.inputs(self)})

    def metric(self, name: str, **selection: Any) -> float:
        """Return one metric in SI units; `tunnelcc show metrics` lists names and definitions.

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
        flow, last = selection.get("flow"), len(self.raw.flows) - 1
        if flow is not None and flow not in range(last + 1):
            raise ConfigError(Problem("flow", flow, f"a flow from 0 to {last}"))
        return metrics.value(self.measured, name, metrics.Selection(**selection))

    @cached_property
    def dataset(self) -> xarray.Dataset:
        """Series and totals with units, as an xarray Dataset.

        Dimensions are time, flow, leg, direction, host and link, and packet_tunnel if tunnels carry
        packets. Series have the same names in the results of a sweep. A series with the name of a
        metric ends in ``_series``.

        Totals leave out the warm-up, but those whose ``long_name`` says since the start. Variables
        over ``direction`` alone describe the bottleneck, where forward is the direction of the
        data. Variables over ``link`` describe each link, where forward is from the host
        ``link_from`` to ``link_to``.
        """

        attributes = {
            "title": self.experiment.title,
            "tunnelcc": __version__,
            "experiment": json.dumps(self.experiment.table()),
            "derived": json.dumps(self.derived),
            "totals": "after the warm-up, unless long_name says since the start",
        }
        return dataset.dataset(self, self.variables, attributes)

    @cached_property
    def variables(self) -> dict[str, tuple[tuple[str, ...], Any, dict[str, str]]]:
        """The contents of ``dataset`` except ``link``: name → (dimensions, values, attributes).

        Includes coordinates.
        """
        return dataset.variables(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the totals in SI units, as in the JSON. Values that were not measured are None.

        Totals leave out the warm-up, but those that ``since_start`` lists: they count from the
        start, as series do. Keys that end in ``_s`` and are not totals are times since the start;
        ``completion_time_s`` is since the flow's own start, as the metric flow_completion_time, and
        None for a flow that starts in the warm-up.
        """
        return totals.totals(self, self.measured)

    def to_json(self, indent: int | None = 2) -> str:
        """Return to_dict() as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def digests(self) -> dict[str, str]:
        """Return a hash of each kind of measurement. Equal hashes mean equal bits.

        Kinds that a run does not have are left out. So is the number of events, which describes the
        simulator and not the network.
        """
        return raw.digests(self.raw)
