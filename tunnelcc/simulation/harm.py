# SPDX-License-Identifier: GPL-2.0-only
"""What flows lose to each other, and to a tunnel beside them: runs with and without the others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tunnelcc import metrics
from tunnelcc.config import Experiment
from tunnelcc.config.layout import goes_both_ways, layout
from tunnelcc.simulation import runner
from tunnelcc.simulation.result import Result

if TYPE_CHECKING:
    import xarray

# Keys of the JSON: name → variable of the dataset.
_OF_FLOW = {"goodput_alone_bps": "flow_goodput_alone", "harm": "flow_harm"}
_OF_TUNNEL = {
    "others_goodput_bps": "others_goodput",
    "others_goodput_without_bps": "others_goodput_without",
    "harm": "tunnel_harm",
}

#: Numbers of flows, each from 0.
Members = tuple[int, ...]


def harm(experiment: Experiment, jobs: int | None = None) -> xarray.Dataset:
    """Simulate ``experiment``, and its flows without others; return the harm to their goodput.

    Harm is (x − y) / x, where x is a goodput alone and y the one in company: Ware, Mukerjee, Seshan
    and Sherry, Beyond Jain's Fairness Index, HotNets 2019, section 3. 0: company does not matter;
    1: it leaves nothing; below 0: it helps.

    Over ``flow``: ``flow_goodput`` in company, ``flow_goodput_alone`` of a run of this flow and its
    tunnel, and nothing else but cross traffic; ``flow_harm``. Flows that differ in nothing but
    their start have one such run. Over ``tunnel``: ``others_goodput``, of all flows outside this
    tunnel together; ``others_goodput_without``, the same in a run without the tunnel and its flows;
    ``tunnel_harm``, the harm that they do to the others, NaN where there are none. What flows lose
    to each other in any case is in ``flow_harm``, but not in ``tunnel_harm``.

    ``jobs``: processes, by default one per core. Raises ConfigError, RunError.
    """
    return Harm(experiment, jobs).dataset


@dataclass(frozen=True)
class Harm:
    """The runs that harm() compares, and what it returns."""

    experiment: Experiment
    jobs: int | None = None

    @cached_property
    def result(self) -> Result:
        """The run with all flows."""
        return runner.run(self.experiment)

    def to_json(self) -> str:
        """Return the totals of the run with all flows, and the harm, as JSON text."""
        found = self.dataset
        table = self.result.to_dict()
        for name, parts, keys in (
            ("flows", table["flows"], _OF_FLOW),
            ("tunnels", table["tunnels"], _OF_TUNNEL),
        ):
            table[name] = [
                {**part, **{key: _number(found[variable][i]) for key, variable in keys.items()}}
                for i, part in enumerate(parts)
            ]
        return json.dumps(table, indent=2, allow_nan=False)

    @cached_property
    def dataset(self) -> xarray.Dataset:
        """What harm() returns."""
        import xarray

        result, flows = self.result, self.result.layout.flows
        goodput = np.asarray(result.measured.goodputs)
        everyone = tuple(range(len(flows)))
        alike = _alike(result)
        tunnels = [i for i, tunnel in enumerate(result.layout.tunnels) if tunnel.hop is None]
        outside = [
            tuple(index for index in everyone if flows[index].tunnel != number)
            for number in tunnels
        ]
        found = {everyone: goodput}
        wanted = dict.fromkeys([*((index,) for index in alike), *outside])
        runs = [members for members in wanted if members and members not in found]
        experiments = [part(self.experiment, members) for members in runs]
        for members, part_of in zip(
            runs, runner.run_many(experiments, jobs=self.jobs), strict=True
        ):
            if not isinstance(part_of, Result):
                raise part_of
            found[members] = np.asarray(part_of.measured.goodputs)
        alone = np.array([found[alike[index],][0] for index in everyone])
        company = np.array([goodput[list(members)].sum() for members in outside])
        without = np.array([found[it].sum() if it else np.nan for it in outside])
        company[np.isnan(without)] = np.nan
        variables: dict[str, tuple[str, Any, str, str]] = {
            "flow_goodput": ("flow", goodput, "bit/s", "goodput"),
            "flow_goodput_alone": ("flow", alone, "bit/s", "goodput alone"),
            "flow_harm": ("flow", _harm(alone, goodput), "1", "harm to the goodput"),
            "others_goodput": ("tunnel", company, "bit/s", "goodput of the flows outside it"),
            "others_goodput_without": (
                "tunnel", without, "bit/s", "goodput of those flows without it",
            ),
            "tunnel_harm": (
                "tunnel", _harm(without, company), "1", "harm to the flows outside it",
            ),
        }  # fmt: skip
        coordinates, names = result.variables, [result.tunnel_names[it] for it in tunnels]
        return xarray.Dataset(
            {
                name: (dim, values, {"units": unit, "long_name": doc})
                for name, (dim, values, unit, doc) in variables.items()
            },
            {
                "flow": coordinates["flow"],
                "cc": coordinates["cc"],
                "user": coordinates["user"],
                "flow_tunnel": coordinates["tunnel"],
                "tunnel": ("tunnel", names, {"long_name": "tunnel"}),
            },
            {"title": self.experiment.title},
        )


def _number(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)


def _harm(without: Any, company: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(without > 0, metrics.harm(without, company), np.nan)


def _alike(result: Result) -> list[int]:
    """Return for each flow the first one that differs from it in nothing but its start's jitter."""
    first: dict[Any, int] = {}
    return [first.setdefault(it.kind, index) for index, it in enumerate(result.layout.flows)]


def part(experiment: Experiment, members: Sequence[int]) -> Experiment:
    """Return the experiment with no flows but ``members``, each where and when it was."""
    found = layout(experiment)
    flows = []
    for index in members:
        placed = found.flows[index]
        jitter = placed.start - placed.flow.start
        flow, changes = placed.flow, {"count": 1, "start": placed.start}
        if flow.data_start is not None:
            changes["data_start"] = max(placed.start, flow.data_start + jitter)
        if flow.stop is not None:
            changes["stop"] = flow.stop + jitter
        ends: dict[str, Any] = {}
        if experiment.network is not None:
            ends = {"from_": placed.client, "to": placed.server}
        user = flow.user or f"flow {index}"
        flows.append(flow.model_copy(update={**changes, **ends, "user": user}))
    changed: dict[str, Any] = {"flows": tuple(flows), "start_jitter": 0.0}
    if goes_both_ways(experiment):
        changed["path"] = experiment.path.symmetric()
    return experiment.model_copy(update=changed)
