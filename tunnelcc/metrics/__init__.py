# SPDX-License-Identifier: GPL-2.0-only
"""Metrics as the field defines them, in SI units: of plain numbers, of a run, of a sweep.

``of_run()`` turns one run into all of them. A metric of nothing (no flow, no sample, a duration of
0, a flow that never converges) is NaN, never 0 or an error.
"""

from tunnelcc.metrics.baseline import flow_harm
from tunnelcc.metrics.confidence import confidence_interval, mean_and_half_width
from tunnelcc.metrics.convergence import fair_convergence_time, rate_convergence_time
from tunnelcc.metrics.counts import efficiency, goodput, loss_rate, retransmission_ratio
from tunnelcc.metrics.fairness import (
    group_totals,
    harm,
    jain_index,
    max_min_allocation,
    max_min_shares,
    shares,
)
from tunnelcc.metrics.run import METRICS, of_run, values
from tunnelcc.metrics.samples import mean, percentile, total, valid

__all__ = [
    "METRICS",
    "confidence_interval",
    "efficiency",
    "fair_convergence_time",
    "flow_harm",
    "goodput",
    "group_totals",
    "harm",
    "jain_index",
    "loss_rate",
    "max_min_allocation",
    "max_min_shares",
    "mean",
    "mean_and_half_width",
    "of_run",
    "percentile",
    "rate_convergence_time",
    "retransmission_ratio",
    "shares",
    "total",
    "valid",
    "values",
]
