# SPDX-License-Identifier: GPL-2.0-only
"""TCP over pairs of paths that MLVPN or Linux's bonding driver joins, beside the simulation.

``tests/reference/bonding.py`` measured them, over links that share nothing with the models. Goodput
agrees within 10 %, the share of the packets over the first path within 2 points, as means of the
seeds; but for the pairs that KNOWN has.
"""

from __future__ import annotations

import pytest

from helpers import ROOT, load_script

BESIDE = load_script(ROOT / "results/multipath/beside.py")

#: Pairs whose goodput misses by more than 10 %, and by how much (%). Without a buffer, and where
#: packets of the second path are very late, RACK takes too many of them for lost; why Linux does
#: not is not known. With 2 % of loss, the two runs of MLVPN itself differ by a third.
KNOWN = {
    "slow-20-1/no-buffer": -72.9, "far-20-5/no-buffer": -73.3, "far-20-5": 22.6, "loss-2": 15.0,
}  # fmt: skip
ANSWERS = BESIDE.answers("bonding")


def test_there_are_two_runs_of_each():
    assert len(ANSWERS) == 26
    assert {len(it) for it in ANSWERS.values()} == {2}
    assert set(KNOWN) < set(ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_as_measured(name):
    row = BESIDE.compared("bonding", name, ANSWERS[name])
    assert BESIDE.written(row) in BESIDE.table("measured"), "the table is older"
    assert row["off_points"] <= 2
    miss = 100 * (row["ratio"] - 1)
    if name in KNOWN:
        assert miss == pytest.approx(KNOWN[name], abs=5)
        assert abs(miss) > 10, "it no longer misses"
    else:
        assert abs(miss) <= 10
