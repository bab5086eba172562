# SPDX-License-Identifier: GPL-2.0-only
"""Harm: what flows take from each other, and tunnels from flows outside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tunnelcc import metrics
from tunnelcc.network.resolve import uses_reverse
from tunnelcc.results.result import Result
from tunnelcc.results.variables import declared
from tunnelcc.running import runner
from tunnelcc.running.capture import Capture
from tunnelcc.scenario import Experiment

if TYPE_CHECKING:
    import xarray
    from numpy.typing import NDArray

# Variables that the JSON adds to flows and tunnels.
_OF_FLOW = ("flow_goodput_alone", "flow_completion_time_alone", "flow_harm")
_OF_TUNNEL = ("others_goodput", "others_goodput_without", "tunnel_harm")

#: Numbers of flows, each from 0.
Members = tuple[int, ...]


def harm(experiment: Experiment, jobs: int | None = None) -> xarray.Dataset:
    """Measure the harm that flows do to each other, and that tunnels do to other flows.

    Harm is (x − y) / x, where x is the goodput alone and y the goodput with competitors (Ware,
    Mukerjee, Seshan and Sherry, Beyond Jain's Fairness Index, HotNets 2019, section 3). Of a flow
    that completes alone and with competitors it is (y − x) / y of the completion times: its goodput
    would be the same, however late it completes. 0 is no harm, 1 means that nothing is left, and
    below 0 the competitors help.

    The function runs ``experiment``, each flow alone (with its tunnel and cross traffic), and all
    flows outside each tunnel without that tunnel. Flows that differ only in the jitter of their
    start share one run.

    Returns a Dataset:

    - over ``flow``: ``flow_goodput`` with all flows and ``flow_goodput_alone`` (bit/s),
      ``flow_completion_time`` and ``flow_completion_time_alone`` (s; NaN: never; also of flows
      that start in the warm-up, which both runs have), ``flow_harm``;
    - over ``tunnel``: ``others_goodput`` of all flows outside the tunnel together, and
      ``others_goodput_without`` without the tunnel and its flows (bit/s); ``tunnel_harm``, which is
      NaN if there are no other flows. It does not contain the harm that the other flows do to each
      other.

    ``jobs``: number of processes; default: one per core. Raises ConfigError, RunError.

        >>> path = tc.Path(rate="10Mbps", rtt="20ms")
        >>> both = tc.Experiment(path=path, flows=[{"cc": "bbr"}, {"cc": "reno"}], duration="2s")
        >>> harms = tc.harm(both)
        >>> harms["flow_harm"].sizes["flow"]
        2
    """
    return Harm(experiment, jobs).dataset


@dataclass(frozen=True)
class Harm:
    """The runs that harm() compares, and its result."""

    experiment: Experiment
    jobs: int | None = None
    capture: Capture | None = None  # of the run with all flows
    metrics: Sequence[metrics.AnyMetric] = ()

    @cached_property
    def result(self) -> Result:
        """The run with all flows."""
        return runner.run(self.experiment, capture=self.capture, metrics=self.metrics)

    def to_dict(self) -> dict[str, Any]:
        """Return the totals of the run with all flows, and the harm: see Result.to_dict()."""
        found = self.dataset
        table = self.result.to_dict()
        for dim, added in (("flow", _OF_FLOW), ("tunnel", _OF_TUNNEL)):
            table["units"] |= {it: found[it].attrs["units"] for it in added}
            # Tunnels below relays come last, and have no flows of their own.
            for i, part in zip(range(found.sizes[dim]), table[f"{dim}s"], strict=False):
                part |= {it: _number(found[it][i]) for it in added}
        return table

    @cached_property
    def dataset(self) -> xarray.Dataset:
        """The result of harm()."""
        import xarray

        result, flows = self.result, self.result.network.flows
        here = _measured(result)
        goodput = here.goodput
        everyone = tuple(range(len(flows)))
        alike = _alike(result)
        tunnels = [i for i, tunnel in enumerate(result.network.tunnels) if tunnel.hop is None]
        outside = [
            tuple(index for index in everyone if flows[index].tunnel != number)
            for number in tunnels
        ]
        found = {everyone: here}
        wanted = dict.fromkeys([*((index,) for index in alike), *outside])
        runs = [members for members in wanted if members and members not in found]
        experiments = [part(self.experiment, members) for members in runs]
        for members, part_of in zip(
            runs, runner.run_many(experiments, jobs=self.jobs), strict=True
        ):
            if not isinstance(part_of, Result):
                raise part_of
            found[members] = _measured(part_of)
        alone = _Flows(
            np.array([found[index,].goodput[0] for index in alike]),
            np.array([found[index,].completion[0] for index in alike]),
        )
        company = np.array([goodput[list(members)].sum() for members in outside])
        without = np.array([found[it].goodput.sum() if it else np.nan for it in outside])
        company[np.isnan(without)] = np.nan
        variables: dict[str, tuple[str, Any, str, str]] = {
            "flow_goodput": ("flow", goodput, "bit/s", "goodput"),
            "flow_goodput_alone": ("flow", alone.goodput, "bit/s", "goodput alone"),
            "flow_completion_time": ("flow", here.completion, "s", "flow completion time"),
            "flow_completion_time_alone": (
                "flow", alone.completion, "s", "flow completion time alone",
            ),
            "flow_harm": (
                "flow", _harm_of_flows(alone, here), "1", "harm to the goodput or completion time",
            ),
            "others_goodput": (
                "tunnel", company, "bit/s", "goodput of the flows outside the tunnel",
            ),
            "others_goodput_without": (
                "tunnel", without, "bit/s", "goodput of the flows outside the tunnel, without it",
            ),
            "tunnel_harm": (
                "tunnel", _harm(without, company), "1", "harm to the flows outside the tunnel",
            ),
        }  # fmt: skip
        names = [result.tunnel_names[it] for it in tunnels]
        return xarray.Dataset(
            {
                name: (dim, values, {"units": unit, "long_name": doc})
                for name, (dim, values, unit, doc) in variables.items()
            },
            {
                **{
                    name: ("flow", result[name], declared(name).attributes)
                    for name in ("flow", "flow_cc", "flow_user", "flow_tunnel")
                },
                "tunnel": ("tunnel", names, {"long_name": "tunnel"}),
            },
            {"title": self.experiment.title},
        )


class _Flows(NamedTuple):
    """What is compared of flows."""

    goodput: NDArray[np.float64]  # bit/s
    completion: NDArray[np.float64]  # s; NaN: never


def _measured(result: Result) -> _Flows:
    goodputs = metrics.METRICS["flow_goodput"](result)
    return _Flows(np.asarray(goodputs), metrics.completion_times(result))


def _harm_of_flows(alone: _Flows, here: _Flows) -> Any:
    to_time = metrics.harm(alone.completion, here.completion, less_is_better=True)
    return np.where(np.isfinite(to_time), to_time, _harm(alone.goodput, here.goodput))


def _number(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)


def _harm(without: Any, company: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(without > 0, metrics.harm(without, company), np.nan)


def _alike(result: Result) -> list[int]:
    """Return for each flow the first one that differs only in the jitter of its start."""
    first: dict[Any, int] = {}
    return [
        first.setdefault((it.traffic, it.bytes, it.start if it.flow.interarrival else None), index)
        for index, it in enumerate(result.network.flows)
    ]


def part(experiment: Experiment, members: Sequence[int]) -> Experiment:
    """Return the experiment with only the flows ``members``, at the same places and times."""
    found = experiment.resolved
    flows = []
    for index in members:
        placed = found.flows[index]
        flow, jitter = placed.flow, placed.jitter
        changes: dict[str, Any] = {"count": 1, "interarrival": None, "start": placed.start}
        changes |= {"bytes": placed.bytes, "bytes_shape": None, "bytes_most": None}
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
    if uses_reverse(experiment):
        changed["path"] = experiment.path.symmetric()
    return experiment.model_copy(update=changed)
