# SPDX-License-Identifier: GPL-2.0-only
"""Metrics as the field defines them, in SI units: functions of numbers, of a run, of a sweep.

``METRICS`` declares each metric of a run once. ``Result.metric()`` looks one up, and ``of_run()``
computes all that a sweep stores. A metric without a value (no flow, no sample, a duration of 0, a
flow that never converges) is NaN, never 0 or an error.
"""

from tunnelcc.metrics.baseline import flow_harm
from tunnelcc.metrics.confidence import confidence_interval, mean_and_half_width
from tunnelcc.metrics.convergence import (
    dip_interval,
    fair_convergence_time,
    rate_convergence_time,
    rise_time,
    settling_time,
)
from tunnelcc.metrics.counts import (
    efficiency,
    goodput,
    link_loss_rate,
    loss_rate,
    retransmission_ratio,
)
from tunnelcc.metrics.fairness import (
    aggregation_benefit,
    group_totals,
    harm,
    jain_index,
    max_min_allocation,
    max_min_shares,
    shares,
)
from tunnelcc.metrics.metric import (
    SELECTION,
    AnyMetric,
    Metric,
    MetricError,
    evaluate,
    metric,
)
from tunnelcc.metrics.registry import (
    METRICS,
    STORED,
    TEXTS,
    completion_times,
    find,
    of_run,
    own_metrics,
    value,
    values,
)
from tunnelcc.metrics.samples import mean, mean_srtt, p95_srtt, percentile, total, valid

__all__ = [
    "METRICS",
    "SELECTION",
    "STORED",
    "TEXTS",
    "AnyMetric",
    "Metric",
    "MetricError",
    "aggregation_benefit",
    "completion_times",
    "confidence_interval",
    "dip_interval",
    "efficiency",
    "evaluate",
    "fair_convergence_time",
    "find",
    "flow_harm",
    "goodput",
    "group_totals",
    "harm",
    "jain_index",
    "link_loss_rate",
    "loss_rate",
    "max_min_allocation",
    "max_min_shares",
    "mean",
    "mean_and_half_width",
    "mean_srtt",
    "metric",
    "of_run",
    "own_metrics",
    "p95_srtt",
    "percentile",
    "rate_convergence_time",
    "retransmission_ratio",
    "rise_time",
    "settling_time",
    "shares",
    "total",
    "valid",
    "value",
    "values",
]
