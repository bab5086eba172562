# SPDX-License-Identifier: GPL-2.0-only
"""Differences of pairs: their intervals hold as often as they say, at all looks together."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest
from scipy import stats

from tunnelcc.errors import ConfigError
from tunnelcc.metrics import paired
from tunnelcc.metrics.question import question

AXES = {
    "cc": ("cc", ["bbr", "cubic"], True),
    "tunnel.name": ("tunnel.name", ["none", "wireguard"], True),
    "path.loss": ("path.loss", ["0%", "1%", "2%"], False),
}


def pairs(generator, count, ratio=0.9, correlation=0.95, deviation=0.1):
    """Return runs of two conditions with means 10·ratio and 10."""
    common = generator.normal(size=count)
    own = generator.normal(size=(2, count))
    x, y = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    return 10 * ratio * (1 + deviation * x), 10 * (1 + deviation * y)


@pytest.mark.parametrize("ratio", [0.5, 1.0, 1.3])
@pytest.mark.parametrize("correlation", [0.0, 0.99])
def test_intervals_contain_the_truth_as_often_as_they_say(ratio, correlation):
    generator = np.random.default_rng(1)
    found = [paired.difference(*pairs(generator, 6, ratio, correlation), 0.9) for _ in range(800)]
    held = np.mean([it.low <= ratio - 1 <= it.high for it in found])
    assert held == pytest.approx(0.9, abs=0.04)  # nearly four standard errors


def test_equality_is_rejected_when_the_paired_t_test_rejects_it():
    generator = np.random.default_rng(2)
    verdicts = set()
    for _ in range(200):
        x, y = pairs(generator, 5, 0.98, 0.9)
        found = paired.difference(x, y)
        assert (found.verdict != "undecided") == (stats.ttest_rel(x, y).pvalue < 0.05)
        verdicts.add(found.verdict)
    assert verdicts == {"less", "undecided"}


def test_a_reference_that_may_be_0_gives_an_absolute_difference():
    x, y = np.array([5.0, 6.0, 7.5]), np.array([-1.0, 0.5, 0.8])
    found = paired.difference(x, y)
    low, high = stats.ttest_rel(x, y).confidence_interval(0.95)
    assert not found.is_ratio
    assert (found.mean, found.low, found.high) == pytest.approx((np.mean(x - y), low, high))


def test_what_is_never_below_0_has_no_interval_below_that_of_0():
    """And contains the truth just as often: what is cut off cannot hold it."""
    generator = np.random.default_rng(4)
    cut = 0
    for _ in range(400):
        x, y = generator.exponential(0.2, 4), 10 + generator.normal(size=4)
        found, whole = paired.difference(x, y), paired.difference(x - 100, y - 100)
        assert found.low >= -1
        cut += found.is_cut
        assert not whole.is_cut
        signed = paired.difference(np.append(x, -1e-9), np.append(y, 10.0))
        assert not signed.is_cut
    assert cut > 40
    alone = paired.difference(np.array([8.0, 0.0, 5.0]), np.array([9.0, 0.0, 1.0]))
    assert (alone.is_ratio, alone.low) == (False, pytest.approx(-10 / 3))


def test_equal_runs_are_the_same_and_single_pairs_tell_nothing():
    runs = np.array([9.0, 10.0, 12.0])
    assert paired.difference(runs, runs).verdict == "same"
    alone = paired.difference(np.array([9.0, np.nan]), np.array([10.0, 11.0]))
    assert (alone.pairs, alone.verdict) == (1, "undecided")
    constant = paired.difference(np.full(3, 9.0), np.full(3, 10.0))
    assert (constant.low, constant.high) == pytest.approx((-0.1, -0.1))
    assert np.isnan(constant.correlation)


def test_pairs_that_help_and_pairs_that_do_not_are_told_apart():
    generator = np.random.default_rng(3)
    related = paired.difference(*pairs(generator, 40, 0.9, 0.95))
    assert related.is_helped
    assert related.correlation > 0.9
    assert related.gain == pytest.approx(1 / (1 - 0.95), rel=0.6)
    assert paired.difference(*pairs(generator, 40, 0.9, 0)).is_helped is False
    assert paired.difference(*pairs(generator, 3, 0.9, 0)).is_helped is None


def test_the_confidences_of_looks_and_of_several_differences_add_up():
    assert 1 - paired.each_of(4) == pytest.approx(0.05 / 4)
    assert sum(1 - paired.at_look(look) for look in range(1, 30)) <= 0.05


@pytest.mark.parametrize(
    ("to", "fixed", "name"),
    [
        (None, {"tunnel.name": 0}, "tunnel.name=none"),
        ("wireguard", {"tunnel.name": 1}, "tunnel.name=wireguard"),
        ("cc=cubic, 1%", {"cc": 1, "path.loss": 1}, "cc=cubic, path.loss=1%"),
    ],
)
def test_the_reference_is_a_value_of_an_axis(to, fixed, name):
    asked = question(AXES, to)
    assert (dict(asked.fixed), asked.name) == (fixed, name)
    dims, shape = ("cc", "tunnel.name", "path.loss"), (2, 2, 3)
    for point, other in asked.pairs(dims, shape):
        for dim, at, at_other in zip(dims, point, other, strict=True):
            assert at_other == fixed.get(dim, at)


@pytest.mark.words
def test_an_unknown_reference_is_told_with_the_nearest_name():
    with pytest.raises(ConfigError, match=r"--to = 'wiregard'.*did you mean 'wireguard'"):
        question(AXES, "wiregard")
    both = {"cc": ("cc", ["bbr"], True), "tunnel.cc": ("tunnel.cc", ["bbr"], True)}
    with pytest.raises(ConfigError, match=r"one of cc=bbr or tunnel.cc=bbr"):
        question(both, "bbr")
    assert question({"cc": ("cc", ["bbr"], True)}, None) is None


def test_without_a_ratio_pairs_gain_as_much_and_the_next_look_is_the_largest():
    x, y = np.array([5.0, 6.0, 7.5]), np.array([-1.0, 0.5, 0.8])
    found = paired.difference(x, y)
    variances = np.var(x, ddof=1) + np.var(y, ddof=1)
    assert found.gain == pytest.approx(variances / np.var(x - y, ddof=1))
    assert paired.next_pairs(found, 0.01, 0.95, 0.95) == 30  # ten times as many


def test_the_next_look_has_as_many_pairs_as_students_t_needs_for_95_percent_of_the_width():
    draw = np.random.default_rng(3)
    y = draw.normal(10, 1, 12)
    found = paired.difference(y * 1.1 + draw.normal(0, 0.3, 12), y)
    assert found.is_ratio

    def width(pairs):  # of the standard deviation that the first look found
        deviation = found.half_width * np.sqrt(12) / stats.t.ppf(0.975, 11)
        return stats.t.ppf(0.995, pairs - 1) * deviation / np.sqrt(pairs)

    pairs = paired.next_pairs(found, width(50) / 0.95 * 1.0001, 0.95, 0.99)
    assert pairs == 50
    assert paired.next_pairs(found, 1, 0.95, 0.99) == 16  # 1.3 times as many, rounded up
    assert paired.next_pairs(found, 1e-6, 0.95, 0.99) == 120  # ten times as many


def test_what_does_not_vary_has_no_correlation_and_what_varies_little_has():
    constant, little = np.array([1.0, 1.0, 1.0]), np.array([1.0, 1.1, 1.2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(paired.difference(constant, little).correlation)
        assert np.isnan(paired.difference(little, constant).correlation)
    assert paired.difference(little, little + 1).correlation == pytest.approx(1)


@pytest.mark.parametrize(("gain", "helps"), [(1.49, False), (1.5, True), (1.6, True)])
def test_pairs_help_where_they_save_a_third_of_the_runs(gain, helps):
    found = paired.difference(np.arange(5.0) + 1, np.arange(5.0) + 2)
    assert dataclasses.replace(found, gain=gain).is_helped is helps


def test_two_pairs_are_followed_by_three():
    found = paired.difference(np.array([1.0, 1.1]), np.array([1.0, 1.05]))
    finite = dataclasses.replace(found, low=-0.1, high=0.1, is_ratio=True)
    assert paired.next_pairs(finite, 1e9, 0.95, 0.95) == 3


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.0, 0.1, "undecided"), (-0.1, 0.0, "undecided"), (0.0, 0.0, "same"),
        (0.01, 0.1, "more"), (-0.1, -0.01, "less"),
    ],
)  # fmt: skip
def test_an_interval_that_ends_at_0_decides_nothing(low, high, verdict):
    found = paired.difference(np.arange(5.0) + 1, np.arange(5.0) + 2)
    assert dataclasses.replace(found, low=low, high=high).verdict == verdict
    assert dataclasses.replace(found, low=low, high=high).half_width == (high - low) / 2


def test_five_pairs_tell_whether_they_help():
    found = paired.difference(np.arange(5.0) + 1, np.arange(5.0) + 2)
    assert dataclasses.replace(found, pairs=5, gain=2.0).is_helped
    assert dataclasses.replace(found, pairs=4, gain=2.0).is_helped is None
    assert dataclasses.replace(found, pairs=5, gain=float("nan")).is_helped is None


def test_each_look_has_half_of_the_error_of_the_one_before():
    assert [1 - paired.at_look(it) for it in (1, 2, 3)] == pytest.approx([0.025, 0.0125, 0.00625])
    assert 1 - paired.at_look(1, 0.9) == pytest.approx(0.05)
    assert paired.each_of(0) == paired.each_of(1) == paired.CONFIDENCE == 0.95
    assert 1 - paired.each_of(5, 0.9) == pytest.approx(0.02)


def test_one_pair_tells_no_width_and_the_next_look_has_twenty():
    alone = paired.difference(np.array([9.0]), np.array([10.0]))
    assert np.isnan(alone.half_width)
    assert paired.next_pairs(alone, 0.1, 0.95, 0.95) == 20


def test_the_gain_of_pairs_is_the_ratio_of_the_variances():
    """Of a ratio R, x − R·y of pairs beside x and R·y of separate runs (the delta method)."""
    draw = np.random.default_rng(6)
    y = draw.normal(10, 1, 30)
    x = 0.8 * y + draw.normal(0, 0.4, 30)
    found = paired.difference(x, y)
    ratio = x.mean() / y.mean()
    together = np.var(x - ratio * y, ddof=1)
    alone = np.var(x, ddof=1) + ratio**2 * np.var(y, ddof=1)
    assert found.gain == pytest.approx(alone / together)
    assert found.mean == pytest.approx(ratio - 1)
    # Fieller's limits: where the paired t-test of x − R·y just does not reject the mean 0.
    for limit in (found.low, found.high):
        test = stats.ttest_1samp(x - (1 + limit) * y, 0)
        assert test.pvalue == pytest.approx(0.05, rel=1e-6)
