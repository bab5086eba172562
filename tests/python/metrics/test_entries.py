# SPDX-License-Identifier: GPL-2.0-only
"""One value of a run from the values of its flows."""

from __future__ import annotations

import numpy as np
import pytest

from tunnelcc.metrics import entries

NAN = np.nan
GROUPS = np.array([[0, 1, 1, NAN], [0, 1, 1, 1]])  # two runs; the first one has three flows
SHARES = np.array([[0.4, 0.3, 0.3, NAN], [0.1, 0.2, 0.3, 0.4]])


@pytest.mark.parametrize(
    ("groups", "axes", "told"),
    [
        ([0, 0], ["path.rtt"], []),
        ([0, 1, 2], ["path.rtt"], [0]),
        ([0, 1, 2], ["path.rtt", "flows.1.cc"], [1]),
        ([0, 1], ["flows.0.cc", "flows.1.cc"], [0]),
        ([0, 1, NAN], ["flows.cc"], [0]),
    ],
)
def test_the_entry_that_an_axis_changes_is_told_or_else_the_first(groups, axes, told):
    assert entries.told(np.array(groups, dtype=float), axes) == told
    for metric in ("flow_share", "flow_tunnel_share", "flow_max_min_share"):
        found = entries.told_of(metric, np.array(groups, dtype=float), axes)
        assert found == next(iter(told), None), metric
    assert entries.told_of("flow_rtt", np.array(groups, dtype=float), axes) is None


def test_shares_of_an_entry_are_added_and_other_values_are_averaged():
    assert entries.of_runs("flow_share", SHARES, GROUPS, 1) == pytest.approx([0.6, 0.9])
    assert entries.of_runs("flow_max_min_share", SHARES, GROUPS, 1) == pytest.approx([0.3, 0.3])
    assert entries.of_runs("flow_tunnel_share", SHARES, GROUPS, 1) == pytest.approx([0.3, 0.3])
    assert entries.of_runs("flow_rtt", SHARES, GROUPS, None) == pytest.approx([1 / 3, 0.25])
    assert np.isnan(entries.of_runs("flow_share", SHARES, GROUPS, 2)).all()
