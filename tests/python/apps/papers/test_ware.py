# SPDX-License-Identifier: GPL-2.0-only
"""Ware et al. 2019 as measured again: shares beside CUBIC and Reno, and when BBR starves."""

from __future__ import annotations

import pytest

import tunnelcc as tc
from tunnelcc.apps import papers
from tunnelcc.apps.papers.simulate import simulate


def test_shares_are_as_published_over_a_thousandfold_of_buffers():
    (found,) = simulate(papers.find("ware2019"), figures=["1b"], seeds=1, jobs=2)
    cells = found.simulated.judged
    assert len(cells) == 40
    # The receive window stops Reno in one of 20 conditions: see the folder's README.
    assert {cell.point.axes["buffer"] for cell in cells if not cell.fits} <= {"64bdp"}


@pytest.mark.slow
def test_bbr_starves_where_the_receive_window_ends_cubic_before_the_queue_is_full():
    def rate_of_bbr(window: str) -> float:
        result = tc.run(
            tc.Experiment(
                duration="400s",
                path=tc.Path(rate="50Mbps", rtt="30ms", buffer="3072000B"),
                hosts=tc.Hosts(kernel="5.10", tcp_rmem=window, tcp_wmem=window),
                flows=[tc.Flow(cc="cubic", start="100ms"), tc.Flow(cc="bbr", count=8)],
            )
        )
        both = result.metric("goodput", since="200s")
        return both - result.metric("goodput", flow=0, since="200s")

    assert rate_of_bbr("6MiB") < 5e6
    assert rate_of_bbr("25MB") > 20e6
