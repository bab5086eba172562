# SPDX-License-Identifier: GPL-2.0-only
"""Confidence intervals of means are Student's, and hold as often as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from tunnelcc import metrics
from tunnelcc.metrics import confidence
from tunnelcc.metrics.confidence import fewest_and_most, student


def test_a_confidence_interval_is_students():
    # Mean 10, s = 2, n = 4; t(0.975, 3) = 3.182 (any table of Student's t).
    data = xr.DataArray([8.0, 12.0, 8.5, 11.5], dims="seed", attrs={"units": "s"})
    half = 3.1824 * np.std(data.values, ddof=1) / 2
    interval = metrics.confidence_interval(data)
    assert interval["mean"] == 10
    assert interval["high"] - 10 == pytest.approx(half, rel=1e-4)
    assert 10 - interval["low"] == pytest.approx(half, rel=1e-4)
    assert interval["low"].attrs == {"units": "s"}


def test_a_mean_of_what_is_never_below_0_has_no_interval_there():
    data = xr.DataArray([[0.0, 1.0, 8.0], [-1.0, 1.0, 8.0]], dims=("x", "seed"))
    low = metrics.confidence_interval(data)["low"]
    assert low[0] == 0
    assert low[1] < -5


def test_students_t_is_scipys():
    freedoms = [*range(1, 200), 200, 201, 999, 10_000, 1_000_000]
    for outside in (0.5, 0.1, 0.05, 0.05 / 7, 1e-4, 1e-9):
        expected = stats.t.isf((1 - (1 - outside)) / 2, freedoms)
        assert student(freedoms, 1 - outside) == pytest.approx(expected, rel=1e-10)
    assert np.isnan(student(np.nan, 0.95))
    assert np.isinf(student(3, 1.0))


def test_runs_that_failed_do_not_count():
    data = xr.DataArray([[1.0, np.nan, 3.0], [np.nan, 5.0, np.nan]], dims=("x", "seed"))
    interval = metrics.confidence_interval(data)
    assert interval["mean"].values.tolist() == [2, 5]
    # t(0.975, 1) = 12.706, s/√n = 1.
    assert float(interval["high"][0]) == pytest.approx(2 + 12.706, rel=1e-4)
    assert np.isnan(interval["low"][1])


def test_confidence_covers_the_true_mean_as_often_as_it_says():
    draws = np.random.default_rng(1).normal(5, 2, (4000, 5))
    interval = metrics.confidence_interval(xr.DataArray(draws, dims=("run", "seed")), level=0.9)
    covered = (interval["low"] < 5) & (interval["high"] > 5)
    assert float(covered.mean()) == pytest.approx(0.9, abs=0.015)


def test_runs_are_counted_where_there_are_any():
    nan = float("nan")
    assert fewest_and_most(np.array([[1, nan, nan], [1, 2, 3], [nan] * 3])) == (1, 3)
    assert fewest_and_most(np.full((2, 3), nan)) == (3, 3)


def test_the_series_for_many_degrees_of_freedom_is_the_ratio_of_gamma_functions():
    # Γ(x + 1) = x Γ(x), and Γ(3/2)/Γ(1) = √π/2: a product of 99 factors up to a = 100.
    factors = [math.log1p(0.5 / k) for k in range(1, 100)]
    exact = math.fsum([math.log(math.sqrt(math.pi) / 2), *factors])
    assert confidence._gamma_ratio(200.0) == pytest.approx(exact, abs=2e-14)


def test_numbers_of_runs_are_told_as_one_or_as_a_range():
    assert confidence.from_to(3, 5) == "3 to 5"
    assert confidence.from_to(4, 4) == "4"


def test_two_runs_have_a_width_and_one_has_none():
    mean, half = confidence.mean_and_half_width([[1.0, 3.0], [2.0, float("nan")]])
    assert mean.tolist() == [2, 2]
    # s = √2, so s/√2 = 1; t(0.975, 1) = 12.706.
    assert half[0] == pytest.approx(12.7062, rel=1e-5)
    assert np.isnan(half[1])
