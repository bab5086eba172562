# SPDX-License-Identifier: GPL-2.0-only
"""What the seed draws has the distributions that it says."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tunnelcc as tc
from tunnelcc.network import draws

COUNT = 4000


def flows(**keys):
    return list(draws.single_flows(tc.Experiment(flows=[tc.Flow(count=COUNT, **keys)])))


def test_arrivals_are_a_poisson_process():
    """Gaps are exponential: their mean is the deviation, and the part 1/e is longer than that."""
    gaps = np.diff([it.start for it in flows(interarrival="20ms")])
    assert gaps.mean() == pytest.approx(0.02, rel=4 / math.sqrt(COUNT))
    assert gaps.std() == pytest.approx(0.02, rel=8 / math.sqrt(COUNT))
    assert (gaps > 0.02).mean() == pytest.approx(math.exp(-1), abs=4 * 0.48 / math.sqrt(COUNT))


@pytest.mark.parametrize(("mean", "shape", "most"), [(100.0, 1.2, 1e5), (100.0, 2.5, 1e3)])
def test_sizes_have_their_mean_and_their_tail(mean, shape, most):
    """A bounded Pareto distribution: its mean by integration, its tail from its definition."""
    drawn = (np.arange(200_000) + 0.5) / 200_000
    values = np.array([draws.pareto(it, mean, shape, most) for it in drawn])
    assert values.mean() == pytest.approx(mean, rel=0.01)
    assert values.max() <= most
    assert draws.pareto(1 - 1e-15, mean, shape, most) == pytest.approx(most, rel=1e-3)
    least = draws.pareto(0, mean, shape, most)
    bound = (least / most) ** shape
    for factor in (1.5, 3, 6):  # P(X > x) without the part beyond the bound
        expected = (factor**-shape - bound) / (1 - bound)
        assert (values > factor * least).mean() == pytest.approx(expected, abs=1e-4)


def test_phases_are_below_one_percent_of_the_rtt_and_of_one_packet():
    experiment = tc.Experiment(path={"rate": "10Mbps", "rtt": "50ms"})
    service = draws.service_time(experiment, experiment.path)
    assert service == pytest.approx(1500 * 8 / 10e6 * 1e9)
    seeds = [experiment.model_copy(update={"seed": seed}) for seed in range(1, 400)]
    phases = [draws.link_phase(it, 0, it.path, service) for it in seeds]
    most = min(service, 0.01 * 0.05e9)
    assert 0.98 * most < max(phases) < most
    assert np.mean(phases) == pytest.approx(most / 2, rel=0.1)
    flat = tc.Experiment(path={"rate": "10Mbps", "rtt": "50ms", "phase": "0"})
    assert draws.link_phase(flat, 0, flat.path, service) == 0


def test_a_size_without_a_shape_is_the_size_of_each_and_none_is_none():
    assert {it.bytes for it in flows(bytes=12345)} == {12345}
    assert {it.bytes for it in flows()} == {None}


def test_the_first_of_arriving_flows_does_not_wait():
    flow = tc.Flow(count=3, interarrival="20ms", start="1s")
    first, second, third = draws.single_flows(tc.Experiment(flows=[flow], start_jitter="0s"))
    assert first.start == 1 < second.start < third.start
