# SPDX-License-Identifier: GPL-2.0-only
"""MPTCP of Linux 7.3 on a virtual clock over 40 pairs of paths, beside the simulation.

``tests/reference/multipath.py`` measured them. Goodput agrees within 10 %, the share of the packets
that took the first path within 5 points, as means of four seeds; but for the pairs that KNOWN has.
"""

from __future__ import annotations

import pytest

from helpers import ROOT, load_script

BESIDE = load_script(ROOT / "results/multipath/beside.py")
ANSWERS = BESIDE.answers("multipath")

#: Pairs whose goodput misses by more than 10 %, and by how much (%). With six seeds, Linux carries
#: 2.4 to 2.7 Mbit/s; here it is 2.2 in the mean of four. The fast path is cut for four seconds; the
#: other has a quarter of its rate and three times its RTT. Why is not known.
KNOWN = {"back-1": -11.1}


def test_there_are_forty():
    assert len(ANSWERS) == 40
    assert set(KNOWN) < set(ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_as_linux(name):
    row = BESIDE.compared("multipath", name, ANSWERS[name])
    assert BESIDE.written(row) in BESIDE.table("measured"), "the table is older"
    assert row["off_points"] <= 5
    miss = 100 * (row["ratio"] - 1)
    if name in KNOWN:
        assert miss == pytest.approx(KNOWN[name], abs=3)
        assert abs(miss) > 10, "it no longer misses"
    else:
        assert abs(miss) <= 10
