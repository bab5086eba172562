# SPDX-License-Identifier: GPL-2.0-only
"""A run as metrics read it, and the part of it that they measure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunnelcc.metrics import counts, fairness, samples

Series = NDArray[np.float64]


@dataclass(frozen=True)
class Selection:
    """The part of a run that a metric measures.

    ``flow``: from 0; default: all flows. ``since`` and ``until``: s; default: the end of the
    warm-up and the end of the run. ``within``: relative distance to a level that counts as reached.
    """

    flow: int | None = None
    since: float | None = None
    until: float | None = None
    within: float | None = None

    @property
    def is_timed(self) -> bool:
        """Whether only a part of the time is selected."""
        return self.since is not None or self.until is not None


#: The keys of a selection.
SELECTION = tuple(field.name for field in fields(Selection))


def path_leg(names: Sequence[str]) -> int:
    """Return which of a flow's legs crosses the path: the carrier, or a plain flow's only one."""
    return names.index("carrier") if "carrier" in names else 0


class RunData:
    """A run's variables as arrays (those of ``Result.dataset``), and values that metrics share.

    Metrics with arguments read a few more variables, which ``Result.measured`` has.
    """

    def __init__(self, variables: Mapping[str, Any], selection: Selection | None = None) -> None:
        self._variables = variables
        self.selection = selection or Selection()

    def __getitem__(self, name: str) -> Any:
        return self._variables[name]

    def select(self, selection: Selection) -> RunData:
        """Return the same run with another selection."""
        return RunData(self._variables, selection)

    def path(self, name: str) -> float:
        """Return a total in the direction of the data."""
        return float(self[name][0])

    @cached_property
    def goodputs(self) -> Any:
        """Goodput of each flow, bit/s."""
        if self.selection.is_timed:
            measured = self.measured
            return np.array([samples.mean(rate[measured]) for rate in self["flow_goodput_series"]])
        return counts.goodput(self["delivered_bytes"], float(self["measured_time"]))

    @property
    def rate(self) -> Series:
        """Goodput over time of the selected flow, or of all, bit/s; shape (time,)."""
        flow, rates = self.selection.flow, self["flow_goodput_series"]
        series: Series = rates.sum(axis=0) if flow is None else rates[flow]
        return series

    @property
    def since(self) -> float:
        """Start of the selected time, s."""
        since = self.selection.since
        return float(self["warmup"]) if since is None else since

    @property
    def until(self) -> float:
        """End of the selected time, s."""
        until = self.selection.until
        return float(self["duration"]) if until is None else until

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Samples in the selected time; shape (time,)."""
        time, half = self["time"], float(self["probe_interval"]) / 2
        measured: NDArray[np.bool_] = (time > self.since + half) & (time <= self.until + half)
        return measured

    @property
    def jain_of_users(self) -> float:
        """Return Jain's index of the sums over each user's flows."""
        return self._jain_of(list(self["user"]))

    @property
    def jain_of_carriers(self) -> float:
        """Return Jain's index of the sums over each carrier's flows, and of flows without one."""
        numbers = enumerate(self["carrier"])
        return self._jain_of([("flow", index) if math.isnan(it) else it for index, it in numbers])

    def _jain_of(self, owners: Sequence[Any]) -> float:
        totals = fairness.group_totals(self["delivered_bytes"], owners)
        return fairness.jain_index([*totals.values()])

    @property
    def jain_of_tunnels(self) -> float:
        """Return Jain's index of the sums over each tunnel's flows; NaN without a tunnel."""
        totals = fairness.group_totals(self["delivered_bytes"], list(self["tunnel"]))
        totals.pop("none", None)
        return fairness.jain_index([*totals.values()])

    @cached_property
    def tunnel_goodputs(self) -> Series:
        """For each flow the goodput of its tunnel, bit/s; its own without a tunnel."""
        own, tunnels = self.goodputs, list(self["tunnel"])
        totals = fairness.group_totals(own, tunnels)
        return np.array(
            [
                float(goodput) if name == "none" else totals[name]
                for name, goodput in zip(tunnels, own, strict=True)
            ]
        )

    @cached_property
    def completion_times(self) -> Series:
        """For each flow the time from its start until its last byte is read, s; NaN: never."""
        is_whole = self["total_bytes"] >= self["finite_bytes"]  # NaN: no flow without an end is
        times: Series = np.where(is_whole, self["completion"] - self["start"], counts.NAN)
        return times

    @property
    def active_until(self) -> float:
        """When the last selected flow's last byte was read, or the end of the selected time, s."""
        flow, completion = self.selection.flow, np.asarray(self["completion"])
        last = float(completion.max() if flow is None else completion[flow])
        return self.until if math.isnan(last) else min(last, self.until)

    @cached_property
    def max_min_shares(self) -> Series:
        """Of each flow."""
        return fairness.max_min_shares(self.goodputs, self["fair_rate"])

    def across_path(self, name: str) -> Any:
        """Return a series of the connections that cross the path; shape (flow, time)."""
        legs = np.asarray(self["path_leg"], dtype=int)
        return self[name][np.arange(len(legs)), legs]

    def srtts(self, statistic: Callable[[Series, Series, float], float]) -> list[float]:
        """For each flow a statistic of the SRTT (s) across the path since the selected start."""
        found = self.across_path("srtt")
        return [statistic(srtt, self["time"], self.since) for srtt in found]
