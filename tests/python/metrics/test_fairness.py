# SPDX-License-Identifier: GPL-2.0-only
"""Jain's index, shares, max-min fairness and harm, on values whose answers are known by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from tunnelcc import metrics


@pytest.mark.parametrize("n", [1, 2, 16, 128])
def test_jain_of_equal_shares_is_one(n):
    assert metrics.jain_index([5e6] * n) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 16, 128])
def test_jain_of_one_hog_is_one_over_n(n):
    assert metrics.jain_index([1e9] + [0] * (n - 1)) == pytest.approx(1 / n, abs=1e-12)


def test_jain_of_unequal_shares():
    # (3 + 1)² / (2 · (9 + 1)) and (1 + 2 + 3)² / (3 · (1 + 4 + 9))
    assert metrics.jain_index([3, 1]) == pytest.approx(16 / 20)
    assert metrics.jain_index([1, 2, 3]) == pytest.approx(36 / 42)


def test_jain_of_nothing_is_not_a_number():
    assert math.isnan(metrics.jain_index([]))
    assert math.isnan(metrics.jain_index([0, 0]))


@given(st.lists(st.floats(0, 1e300), min_size=1).filter(any))
def test_jain_lies_between_one_over_n_and_one(shares):
    assert 1 / len(shares) - 1e-9 <= metrics.jain_index(shares) <= 1 + 1e-9


@given(st.lists(st.floats(1, 1e9), min_size=1, max_size=20), st.floats(1e-3, 1e3))
def test_jain_does_not_depend_on_the_unit(shares, factor):
    scaled = [factor * share for share in shares]
    assert metrics.jain_index(scaled) == pytest.approx(metrics.jain_index(shares))


def test_shares_are_parts_of_the_whole():
    assert list(metrics.shares([3, 1])) == [0.75, 0.25]
    assert metrics.shares([]).size == 0


def test_greedy_flows_divide_a_link_equally():
    assert list(metrics.max_min_allocation(90, [math.inf] * 3)) == [30, 30, 30]


@given(st.floats(1, 1e9), st.lists(st.integers(1, 50), min_size=1, max_size=5))
def test_greedy_flows_get_the_same_where_another_link_is_idle(capacity, counts):
    demands = [math.inf] * len(counts)
    alone = metrics.max_min_allocation([capacity], demands, [[1]] * len(counts), counts)
    beside = metrics.max_min_allocation([capacity, 1e12], demands, [[1, 0]] * len(counts), counts)
    assert alone.tolist() == beside.tolist()


def test_what_a_small_flow_does_not_want_goes_to_the_others():
    # 10 wants less than 90/3; the other two divide 80.
    assert list(metrics.max_min_allocation(90, [math.inf, 10, math.inf])) == [40, 10, 40]
    # 35 wants less than (90 − 10)/2, so the greedy one gets 45.
    assert list(metrics.max_min_allocation(90, [35, 10, math.inf])) == [35, 10, 45]
    assert list(metrics.max_min_allocation(90, [5, 10])) == [5, 10]
    nearly_one = 1.0000000000000002
    assert list(metrics.max_min_allocation(4, [1, 2, nearly_one])) == [1, 2, nearly_one]


@given(
    st.floats(1, 1e9),
    st.lists(st.one_of(st.floats(1, 1e9), st.just(math.inf)), min_size=1, max_size=9),
)
def test_no_more_than_the_capacity_is_allocated_and_nothing_wanted_is_left(capacity, demands):
    granted = metrics.max_min_allocation(capacity, demands)
    assert np.all(granted <= demands)
    assert granted.sum() == pytest.approx(min(capacity, sum(demands)))
    unsatisfied = granted[granted < demands]
    assert np.all(unsatisfied >= granted.max() * (1 - 1e-9))


def test_max_min_shares_compare_with_that():
    fair = metrics.max_min_allocation(90, [math.inf, 10, math.inf])
    assert list(metrics.max_min_shares([60, 10, 20], fair)) == [1.5, 1, 0.5]


def test_each_link_is_shared_by_the_flows_that_cross_it():
    both, first, second = [1, 1], [1, 0], [0, 1]
    greedy = [math.inf] * 3
    crosses = [both, first, second]
    assert list(metrics.max_min_allocation([10, 10], greedy, crosses)) == [5, 5, 5]
    # The narrow link holds the long flow back; the rest of the wide one is for its own flow.
    assert list(metrics.max_min_allocation([10, 4], greedy, crosses)) == [2, 8, 2]
    assert list(metrics.max_min_allocation([10, 4], [1, 3, 9], crosses)) == [1, 3, 3]
    several = metrics.max_min_allocation([12, 4], greedy, crosses, [2, 1, 3])
    each = [[1, 1], [1, 1], [1, 0], [0, 1], [0, 1], [0, 1]]
    alone = metrics.max_min_allocation([12, 4], [math.inf] * 6, each)
    assert [several[0], several[0], several[1], *[several[2]] * 3] == pytest.approx(list(alone))
    # No link limits the second.
    granted = metrics.max_min_allocation([10], [math.inf, 7], [[1], [0]])
    assert list(granted) == [10, 7]


def test_a_flow_may_divide_its_data_between_links():
    """Of 4 units of the first flow, 3 cross the first link, which the other flow crosses, too."""
    greedy, crosses = [math.inf] * 2, [[0.75, 0.25], [1, 0]]
    assert list(metrics.max_min_allocation([14, 3], greedy, crosses)) == [8, 8]
    # Where its part of the second link is full, the other one goes on.
    assert list(metrics.max_min_allocation([20, 1], greedy, crosses)) == [4, 17]


@given(st.integers(1, 6), st.integers(1, 4), st.data())
def test_in_a_network_each_flow_is_held_back_by_a_full_link_or_by_its_demand(flows, links, data):
    capacities = data.draw(st.lists(st.floats(1, 1e6), min_size=links, max_size=links))
    demands = data.draw(
        st.lists(st.one_of(st.floats(1, 1e6), st.just(math.inf)), min_size=flows, max_size=flows)
    )
    route = st.lists(st.booleans(), min_size=links, max_size=links).filter(any)
    crosses = np.array(data.draw(st.lists(route, min_size=flows, max_size=flows)))
    granted = metrics.max_min_allocation(capacities, demands, crosses)
    used = granted @ crosses
    assert np.all(used <= np.array(capacities) * (1 + 1e-9))
    for flow in range(flows):
        is_full = crosses[flow] & (used >= np.array(capacities) * (1 - 1e-9))
        most = [granted[crosses[:, link]].max() for link in np.flatnonzero(is_full)]
        is_held = any(granted[flow] >= rate * (1 - 1e-9) for rate in most)
        assert is_held or granted[flow] == pytest.approx(demands[flow])


def test_harm_is_what_company_costs():
    # Ware et al. 2019: 15 Mbit/s alone and 10 beside the other is a harm of a third.
    assert metrics.harm(15, 10) == pytest.approx(1 / 3)
    assert metrics.harm(15, 0) == 1
    assert metrics.harm(15, 15) == 0
    assert metrics.harm(10, 15) == -0.5


def test_harm_by_delay():
    assert metrics.harm(20, 80, less_is_better=True) == 0.75


def test_harm_of_a_sweep_keeps_its_dimensions():
    solo = xr.DataArray([10.0, 20.0], dims="path.rtt")
    beside = xr.DataArray([[5.0, 5.0], [20.0, 10.0]], dims=("path.rtt", "seed"))
    assert metrics.harm(solo, beside).values.tolist() == [[0.5, 0.5], [0, 0.5]]


@pytest.mark.filterwarnings("error")
def test_shares_of_a_link_that_carries_nothing_are_not_numbers():
    assert np.isnan(metrics.shares([0, 0])).all()
    assert np.isnan(
        metrics.max_min_shares([0, 0], metrics.max_min_allocation(0, [math.inf, 1]))
    ).all()


def test_the_goodputs_of_a_user_add_up():
    assert metrics.group_totals([1, 2, 4], ["a", "b", "a"]) == {"a": 5, "b": 2}
    with pytest.raises(ValueError, match="zip"):
        metrics.group_totals([1, 2, 4], ["a", "b"])


@pytest.mark.parametrize(("both", "benefit"), [(25, 1), (22.5, 0.5), (20, 0), (10, -0.5), (0, -1)])
def test_the_benefit_of_paths_is_what_they_add_to_the_best_one_of_what_they_could(both, benefit):
    # Kaspar 2012: (goodput - best) / (sum - best), and / best where both together are worse.
    assert metrics.aggregation_benefit(both, [20, 5]) == benefit
    assert math.isnan(metrics.aggregation_benefit(both, [20]))
