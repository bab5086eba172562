# SPDX-License-Identifier: GPL-2.0-only
"""Convergence times of series that converge when they are told to."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tunnelcc import metrics

INTERVAL = 0.1
# Samples are means since the one before, the first of them at INTERVAL.
TIME = np.arange(1, 601) * INTERVAL
BEGIN = TIME - INTERVAL


def step(moment, before, after):
    """A rate that jumps at ``moment``."""
    return np.where(BEGIN >= moment - 1e-9, after, before)


def test_equal_shares_are_reached_at_the_step():
    rates = [step(20, 10, 5), step(20, 0, 5)]
    # A tenth of the five seconds ahead may still be unfair.
    assert metrics.fair_convergence_time(rates, TIME, start=12) == pytest.approx(
        7.5, abs=1.1 * INTERVAL
    )


def test_flows_that_are_fair_from_the_start_converge_at_once():
    assert metrics.fair_convergence_time(np.ones((3, 600)), TIME, start=7.03) == pytest.approx(
        0, abs=INTERVAL
    )


@pytest.mark.parametrize(("share", "converges"), [(0.54, True), (0.46, True), (0.56, False)])
def test_delta_bounds_the_shares(share, converges):
    rates = [np.full(600, share), np.full(600, 1 - share)]
    assert math.isnan(metrics.fair_convergence_time(rates, TIME, 0)) is not converges


def test_shares_that_only_cross_have_not_converged():
    # Equal for an instant at 30 s; over any five seconds only near it.
    first = 60 - TIME
    time = metrics.fair_convergence_time([first, TIME], TIME, 0)
    assert time == pytest.approx(25.5, abs=2.6)
    assert math.isnan(metrics.fair_convergence_time([step(30, 1, 0), step(30, 0, 1)], TIME, 31))


def test_one_flow_alone_has_nobody_to_be_fair_to():
    assert math.isnan(metrics.fair_convergence_time([np.ones(600)], TIME, 0))


def test_shares_of_nothing_are_not_fair():
    assert math.isnan(metrics.fair_convergence_time(np.zeros((2, 600)), TIME, 0))


def test_a_rate_converges_at_the_step():
    rate = step(20, 0, 10)
    time = metrics.rate_convergence_time(rate, TIME, start=5, target=10)
    # A quarter of the second ahead may still be without.
    assert time == pytest.approx(14.75, abs=INTERVAL)


def test_a_rate_outside_the_tolerance_does_not_converge():
    assert metrics.rate_convergence_time(np.full(600, 12.4), TIME, 0, target=10) == 0
    assert math.isnan(metrics.rate_convergence_time(np.full(600, 12.6), TIME, 0, target=10))


def test_a_visit_is_shorter_than_it_must_hold():
    visit = step(10, 1, 10) - step(14, 0, 9)
    assert math.isnan(metrics.rate_convergence_time(visit, TIME, 0, target=10))
    longer = step(10, 1, 10) - step(15.5, 0, 9)
    assert metrics.rate_convergence_time(longer, TIME, 0, target=10) == pytest.approx(10, abs=0.3)


def test_a_rate_follows_a_target_that_changes():
    target, rate = step(20, 10, 5), step(25, 10, 5)
    assert metrics.rate_convergence_time(rate, TIME, 18, target) == pytest.approx(6.75, abs=0.2)
    gone = step(20, 10, 0)  # what is owed nothing has not converged
    assert math.isnan(metrics.rate_convergence_time(gone, TIME, 19, gone))


def test_a_slow_ramp_converges_when_it_comes_near():
    # 75 % of the target is reached at 22.5 s; the mean of the second after 22 s is 7.5.
    ramp = np.minimum(TIME / 3, 10)
    assert metrics.rate_convergence_time(ramp, TIME, 0, target=10) == pytest.approx(22, abs=0.2)


def test_a_run_shorter_than_it_must_hold_says_nothing():
    assert math.isnan(metrics.rate_convergence_time(np.full(30, 10.0), TIME[:30], 0, target=10))
    assert math.isnan(metrics.fair_convergence_time(np.ones((2, 30)), TIME[:30], 0))
    assert math.isnan(metrics.fair_convergence_time(np.ones((2, 0)), [], 0))
    assert math.isnan(metrics.rate_convergence_time([], [], 0, target=1))


def test_a_rate_settles_when_its_means_come_near_the_later_level():
    rate = step(20, 10, 5)
    # Of half a second's means, the first that is near begins just before the step ends it.
    assert metrics.settling_time(rate, TIME, since=15, until=45) == pytest.approx(5, abs=0.5)
    assert metrics.settling_time(rate, TIME, since=25, until=45) == 0
    assert math.isnan(metrics.settling_time(rate, TIME, since=25, until=25.2))


def test_a_rate_rises_to_its_level():
    assert metrics.rise_time(step(20, 1, 10), TIME, start=5) == pytest.approx(15.1)
    ended = step(20, 1, 10) - step(40, 0, 10)
    assert metrics.rise_time(ended, TIME, start=5, until=40) == pytest.approx(15.1)


def test_dips_are_told_apart_by_their_beginnings():
    rate = np.where(TIME % 10 < 0.55, 1, 10)
    assert metrics.dip_interval(rate, TIME) == pytest.approx(10)
    assert math.isnan(metrics.dip_interval(np.ones(600), TIME))


def test_one_sample_tells_no_time():
    rate, time = [5.0], [1.0]
    assert math.isnan(metrics.settling_time(rate, time, since=0.8, until=0.9))
    assert metrics.settling_time(rate, time, since=0, until=1) == 0
    assert math.isnan(metrics.rise_time(rate, time, start=2))
    assert math.isnan(metrics.dip_interval([], []))


def test_means_over_half_a_second_settle_where_samples_never_do():
    swinging = np.where(np.arange(600) % 5 == 0, 5.0, 0.0)  # its means are 1, and its median 0
    rate = np.where(TIME < 40, swinging, 1.0)
    assert metrics.settling_time(rate, TIME, since=10, until=60) == 0


def test_a_rate_that_is_just_near_enough_has_risen():
    assert metrics.rise_time(step(20, 1, 2), TIME, start=5, within=0.5) == pytest.approx(0.1)


def test_the_level_of_a_rise_is_of_what_is_after_the_middle():
    # Of 2 and 4, at 3 and 4 s, the median is 3; with the sample at 2 s it would be 4.
    assert metrics.rise_time([3, 4, 2, 4], [1, 2, 3, 4], 0, within=0) == 1
