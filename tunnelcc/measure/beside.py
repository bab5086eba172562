# SPDX-License-Identifier: GPL-2.0-only
"""The same numbers of a simulation and of a measurement, to compare."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tunnelcc.measure.answers import NAN, Answer
from tunnelcc.scenario import Experiment

if TYPE_CHECKING:
    from tunnelcc.results.result import Result

#: Name of a flow's number → its unit in tables, and the factor from SI.
PER_FLOW = {
    "goodput": ("Mbit/s", 1e-6), "rtt": ("ms", 1e3), "rtt_p95": ("ms", 1e3),
    "retransmits": ("segments", 1.0),
    "completion": ("s", 1.0), "latency": ("ms", 1e3), "latency_p95": ("ms", 1e3),
    "loss": ("%", 100.0), "delay": ("ms", 1e3),
}  # fmt: skip
#: As in PER_FLOW, of a whole run.
OF_RUN = {
    "queue_mean": ("ms", 1e3), "queue_p95": ("ms", 1e3), "drops": ("packets", 1.0),
    "losses": ("packets", 1.0), "marks": ("packets", 1.0), "ping_mean": ("ms", 1e3),
    "ping_p95": ("ms", 1e3),
}  # fmt: skip
LABELS = {
    "goodput": "goodput", "rtt": "mean smoothed RTT", "rtt_p95": "95th percentile of it (RTT)",
    "retransmits": "retransmitted",
    "completion": "completed after", "latency": "mean latency of messages",
    "latency_p95": "95th percentile of it (messages)", "loss": "lost",
    "delay": "mean one-way delay",
    "queue_mean": "mean time in the queue", "queue_p95": "95th percentile of it",
    "drops": "dropped by the queue", "losses": "lost at random", "marks": "marked",
    "ping_mean": "mean RTT of pings", "ping_p95": "95th percentile of it (pings)",
}  # fmt: skip

#: Number's name → value in SI units; names of a flow's are ``flow N: NAME``.
Values = dict[str, float]


def costless(experiment: Experiment) -> Experiment:
    """Return the experiment on hosts that compute for nothing, as a kernel in virtual time does.

    Its flows over TCP write as iperf3 does.
    """
    flows = [
        flow if flow.transport == "udp" else flow.model_copy(update={"writes": "polled"})
        for flow in experiment.flows
    ]
    return experiment.with_({"hosts.speed": 1000, "flows": flows})


def simulated(result: Result) -> Values:
    """Return the numbers of a simulation. What it does not have is left out."""
    found: Values = {}
    names = {"goodput": "flow_goodput", "rtt": "flow_socket_rtt",
             "completion": "flow_completion_time", "latency": "flow_message_latency_mean",
             "latency_p95": "flow_message_latency_p95", "loss": "flow_loss",
             "delay": "flow_delay_mean"}  # fmt: skip
    for number, placed in enumerate(result.network.flows):
        for name, metric in names.items():
            found[f"flow {number}: {name}"] = float(result.metric(metric, flow=number))
        if placed.flow.transport == "tcp":
            # Of the application's socket, in a tunnel, too.
            srtt = result.sender_leg(number).srtt
            after = (result["time"] > result.experiment.warmup) & np.isfinite(srtt)
            if after.any():
                found[f"flow {number}: rtt_p95"] = float(np.percentile(srtt[after], 95))
            found[f"flow {number}: retransmits"] = float(
                result.sender_leg(number).retransmits_series[-1]
            )
        if placed.flow.rate is not None or placed.bytes is not None:
            for name in ("rtt", "rtt_p95"):
                found.pop(f"flow {number}: {name}", None)
    found["queue_mean"] = float(result.metric("queue_delay_mean"))
    found["queue_p95"] = float(result.metric("queue_delay_p95"))
    found["drops"] = float(result.metric("drops"))
    found["ping_mean"] = float(result.metric("ping_rtt_mean"))
    found["ping_p95"] = float(result.metric("ping_rtt_p95"))
    return _known(found)


def measured(answer: Answer) -> Values:
    """Return the numbers of a measurement."""
    found: Values = {}
    for number, flow in enumerate(answer.flows):
        for name in PER_FLOW:
            found[f"flow {number}: {name}"] = getattr(flow, name)
    found["queue_mean"], found["queue_p95"] = answer.queue_mean, answer.queue_p95
    for name in ("drops", "losses", "marks"):
        found[name] = float(answer.counts.get(name, NAN))
    if answer.pings is not None and len(answer.pings.rtts):
        found["ping_mean"] = float(np.mean(answer.pings.rtts))
        found["ping_p95"] = float(np.percentile(answer.pings.rtts, 95))
    return _known(found)


def _known(values: Values) -> Values:
    return {name: value for name, value in values.items() if math.isfinite(value)}


def label(name: str, result: Result) -> str:
    """Return the name of a number for a table, with its unit."""
    flow, _, key = name.rpartition(": ")
    unit, _ = PER_FLOW.get(key) or OF_RUN[key]
    if not flow:
        return f"{LABELS[key]}, {unit}"
    placed = result.network.flows[int(flow.split()[1])]
    return f"{flow} ({placed.flow.label}): {LABELS[key]}, {unit}"


def factor(name: str) -> float:
    """Return the factor from SI units to those of label()."""
    key = name.rpartition(": ")[2]
    return (PER_FLOW.get(key) or OF_RUN[key])[1]
