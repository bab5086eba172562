# SPDX-License-Identifier: GPL-2.0-only
"""What the page on nested control loops says of each corner, simulated again with another seed."""

from __future__ import annotations

import matplotlib as mpl
import pytest

import tunnelcc as tc
from helpers import ROOT, load_script
from tunnelcc.plots import STYLE

NESTED = load_script(ROOT / "results/nested/draw.py")
WAYS = {(it.carries, it.outside): it for it in NESTED.WAYS}
SEED = 11


def _run(inside, loss, carries, outside):
    experiment = NESTED.experiment(inside, loss, WAYS[carries, outside], SEED)
    result = tc.run(experiment.with_({"duration": "25s", "warmup": "8s"}))
    goodput = float(result.metric("flow_goodput", flow=0)) / 1e6
    return goodput, float(result.metric("flow_message_latency_p95", flow=1)) * 1e3


@pytest.mark.parametrize("outside", ["none", "reno", "bbr", "brutal"])
def test_no_loop_outside_helps_cubic_in_datagrams_under_loss(outside):
    assert _run("cubic", "0.5%", "datagrams", outside)[0] < 6


def test_reno_outside_holds_bbr_inside_back_and_its_packets_wait():
    plain, latency = _run("bbr", "0.5%", "datagrams", "none")
    goodput, waits = _run("bbr", "0.5%", "datagrams", "reno")
    assert goodput < 0.5 * plain
    assert waits > 2 * latency


@pytest.mark.parametrize("outside", ["bbr", "brutal"])
def test_two_loops_that_bear_loss_fill_the_link(outside):
    assert _run("bbr", "0.5%", "datagrams", outside)[0] > 16.5


@pytest.mark.parametrize("outside", ["bbr", "brutal"])
def test_in_streams_what_is_inside_does_not_matter(outside):
    rates = [_run(inside, "0.5%", "streams", outside)[0] for inside in ("cubic", "bbr")]
    assert min(rates) > 18
    assert max(rates) < 1.01 * min(rates)


def test_brutal_outside_moves_the_queue_of_cubic_to_the_device():
    assert (
        _run("cubic", "0%", "datagrams", "brutal")[1]
        > 3 * _run("cubic", "0%", "datagrams", "none")[1]
    )


def test_the_figure_is_drawn_from_its_table():
    with mpl.rc_context(STYLE):
        figure = NESTED.draw()
    assert all(axes.patches for axes in figure.axes)
