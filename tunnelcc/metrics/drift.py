# SPDX-License-Identifier: GPL-2.0-only
"""Whether a rate still changes at the end of a run: then its mean is not that of a steady state.

The test is Geweke's (Evaluating the accuracy of sampling-based approaches to the calculation of
posterior moments, Bayesian Statistics 4, 1992): the difference of the means of two parts of a
series, divided by its standard error. The standard error comes from the means of batches
(Schmeiser, Batch size effects in the analysis of simulation output, Operations Research 30,
1982). There are few batches, so that each is longer than most cycles of a congestion control:
otherwise a cycle would look like a drift. With few batches, the limit is that of Student's t. The
two parts are halves and not Geweke's first tenth and last half, because a tenth of a run has too
few cycles.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tunnelcc.metrics.counts import NAN

#: Part of the time that is left out at the start: slow start is over, or soon forgotten.
START_UP = 0.1
#: A change of the mean that is smaller than this part of it is not told.
LEAST = 0.25
#: Batches of each half.
BATCHES = 5
#: Standard errors that a change needs: Student's t of 8 degrees of freedom, two-sided, 5 %.
ERRORS = 2.306

#: Flows of an entry of ``flows`` take turns, so of more than these only the sum is steady.
MOST_ALONE = 2
#: What a user can do about it.
ADVICE = (
    "A longer duration, with a longer warmup, shows where it settles, or that it was chance: few "
    "losses or cycles."
)


def change(rate: ArrayLike) -> Any:
    """Return by how much a rate changes between the halves of its time, as a part of its mean.

    ``rate``: shape (…, time), equidistant samples, any unit; the result has the shape (…). 0: by
    less than LEAST, or by no more than chance explains. NaN: there are too few samples to tell, or
    all are 0.
    """
    series = np.asarray(rate, dtype=float)
    series = series[..., math.ceil(START_UP * series.shape[-1]) :]
    half = series.shape[-1] // 2
    if half < BATCHES:
        return np.full(series.shape[:-1], NAN)[()]
    halves = np.stack([series[..., :half], series[..., -half:]])
    length = half // BATCHES
    # The last samples of each half, if they are not a multiple of the batches.
    parts = halves[..., half - BATCHES * length :]
    batches = _sum(parts.reshape(*halves.shape[:-1], BATCHES, length)) / length
    deviations = batches - (_sum(batches) / BATCHES)[..., np.newaxis]
    of_means = _sum(deviations * deviations) / (BATCHES - 1) / BATCHES
    error = np.sqrt(of_means[0] + of_means[1])
    first, last = _sum(halves) / half
    change, mean = last - first, _sum(series) / series.shape[-1]
    found = change / np.where(mean > 0, mean, NAN)
    is_told = (np.abs(found) > LEAST) & (np.abs(change) > ERRORS * error)
    return np.where(is_told | np.isnan(found), found, 0.0)[()]


def _sum(values: Any) -> Any:
    """Sum over the last dimension. The arrays are small: the method costs more than the sum."""
    return np.add.reduce(values, axis=-1)


def at_point(changes: ArrayLike, goodputs: ArrayLike) -> float:
    """Return the largest change of a flow at a point if half of its runs drift, or else 0.

    ``changes``: ``flow_drift``, shape (seed, flow). ``goodputs``: shape (seed,); NaN: no run.
    """
    most = np.nan_to_num(np.abs(np.asarray(changes, dtype=float))).max(axis=-1, initial=0.0)
    runs = np.isfinite(np.asarray(goodputs, dtype=float)).sum()
    return float(most.max(initial=0.0)) if 2 * (most > 0).sum() >= runs else 0.0
