# SPDX-License-Identifier: GPL-2.0-only
"""What all runs of a sweep have in common, in one line for tables and figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from tunnelcc.scenario import Experiment
from tunnelcc.schema.units import format_rate, format_time


def conditions(experiment: Experiment, axes: Collection[str]) -> str:
    """Return a text such as ``4 × bbr through wireguard, 100Mbps × 40ms, buffer 1bdp, 30s``.

    ``experiment``: one of the sweep. ``axes``: the keys that vary, which the text leaves out.
    """

    def is_same(key: str) -> bool:
        return not any(f"{key}.".startswith(f"{axis}.") for axis in axes)

    path, tunnel, parts = experiment.path, experiment.tunnel_of_all, [_flows(experiment, axes)]
    if tunnel is not None and is_same("tunnel.name"):
        parts = [f"{parts[0]} through {tunnel.name}".strip()]
    if experiment.network is None:
        rate = format_rate(path.rate) if path.rate is not None and is_same("path.rate") else ""
        rtt = format_time(path.rtt) if is_same("path.rtt") else ""
        parts.append(f"{rate} × {rtt}" if rate and rtt else rate or (rtt and f"RTT {rtt}"))
        if path.loss and is_same("path.loss"):
            parts.append(f"loss {100 * path.loss:g} %")
        if is_same("path.buffer"):
            parts.append(f"buffer {path.buffer}")
    if is_same("duration"):
        parts.append(format_time(experiment.duration))
    return ", ".join(filter(None, parts))


def _flows(experiment: Experiment, axes: Collection[str]) -> str:
    """Tell of the flows what no axis changes: all, their number or nothing."""
    changed = [axis for axis in axes if axis == "cc" or axis.split(".")[0] == "flows"]
    if not changed:
        varies = any(axis.startswith("tunnel") for axis in axes)
        told = experiment.model_copy(update={"tunnel": None}) if varies else experiment
        return ", ".join(told.flow_labels())
    if any(axis.endswith(("flows", "count")) for axis in changed):
        return ""
    counts: Counter[str] = Counter()
    for flow in experiment.flows:
        counts[flow.transport] += flow.count
    is_told = {*counts} != {"tcp"} and not any(axis.endswith("transport") for axis in changed)
    if not is_told:
        counts = Counter({"": counts.total()})
    texts = [
        f"{count} flow{'s' if count > 1 else ''}" + (f" over {name.upper()}" if name else "")
        for name, count in counts.items()
    ]
    return ", ".join(texts)
