# SPDX-License-Identifier: GPL-2.0-only
"""Metrics on values whose answers are known by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunnelcc import metrics
from tunnelcc.metrics import samples


def test_goodput_is_bits_per_second():
    assert metrics.goodput(1_250_000, 10) == 1e6
    assert math.isnan(metrics.goodput(1, 0))


@pytest.mark.parametrize(
    ("ratio", "part", "whole"),
    [
        (metrics.retransmission_ratio, 5, 100),
        (metrics.loss_rate, 5, 100),
        (metrics.efficiency, 5, 100),
    ],
)
def test_ratios(ratio, part, whole):
    assert ratio(part, whole) == 0.05
    assert ratio(0, whole) == 0
    assert math.isnan(ratio(0, 0))


def test_valid_samples_are_after_the_warm_up_and_measured():
    assert list(metrics.valid([0, 0.1, 0.2, 0, 0.3], [1, 2, 3, 4, 5], since=2)) == [0.2, 0.3]


def test_mean_and_percentile():
    samples = list(range(101))
    assert metrics.mean(samples) == 50
    assert metrics.percentile(samples, 95) == 95
    assert math.isnan(metrics.mean([]))
    assert math.isnan(metrics.percentile([], 95))


@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=False), min_size=1),
    st.one_of(st.integers(0, 100), st.floats(0, 100)),
)
def test_percentiles_are_numpys(samples, percent):
    with np.errstate(all="ignore"):
        expected = np.percentile(samples, percent)
        assert np.array_equal(metrics.percentile(samples, percent), expected, equal_nan=True)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=False), min_size=1))
def test_medians_are_numpys(values):
    with np.errstate(all="ignore"):
        assert np.array_equal(samples.median(values), np.median(values), equal_nan=True)


def test_the_total_does_not_depend_on_the_order():
    values = [1e16, 1.0, -1e16, 1.0]
    assert metrics.total(values) == metrics.total(sorted(values)) == 2.0
