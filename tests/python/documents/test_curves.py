# SPDX-License-Identifier: GPL-2.0-only
"""The figures of what tunnels do can be drawn again, and show what is said of them."""

from __future__ import annotations

import itertools

import matplotlib as mpl
import pytest

import tunnelcc as tc
from helpers import ROOT, load_script
from tunnelcc.plots import STYLE
from tunnelcc.schema.toml import parse_toml

HERE = ROOT / "results/curves"
PAGE = ROOT / "docs/pages/results/what-a-tunnel-does.md"


DRAW = load_script(HERE / "draw.py")
NAMES = (
    "tcp-over-tcp", "split-or-end-to-end", "bbr-inside-cubic", "one-carrier-or-many", "tunnel-mtu",
    "small-writes", "quic-beside-tcp", "short-flows",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_each_figure_is_drawn_from_its_sweeps(tmp_path, name):
    def quickly(sweep):
        table = parse_toml((DRAW.SWEEPS / f"{sweep}.toml").read_text(), sweep)
        declared = table.pop("sweep")
        declared.pop("seeds")
        table |= {"duration": "400ms", "warmup": "200ms", "probe_interval": "100ms"}
        return tc.sweep(table, declared, seeds=1, name=sweep, store=tmp_path, progress=False)

    assert tuple(DRAW.FIGURES) == NAMES
    with mpl.rc_context(STYLE):
        figure = DRAW.FIGURES[name](quickly)
    for axes in figure.axes:
        assert axes.lines
        assert axes.get_ylabel() or axes.get_title(loc="right")
        assert axes.get_xlabel()
    assert f"results/curves/{name}.svg" in PAGE.read_text()


@pytest.mark.parametrize(
    ("tunnel", "round_trips"),
    [("none", 4), ("wireguard", 5), ("gost-relay-wss", 7), ("gost-relay-mwss", 1)],
)
def test_short_downloads_take_the_round_trips_that_the_page_says(tunnel, round_trips):
    flow = {"cc": "cubic", "bytes": "100kB", "count": 30, "interarrival": "150ms"}
    table = {"direction": "down", "duration": "9s", "flows": [flow], "tunnel": tunnel}
    run = tc.run({**table, "path": {"rate": "100Mbps", "rtt": "60ms"}}, progress=False)
    times = run.dataset.flow_completed_at - run.dataset.flow_start
    # 100 kB take 8.3 ms at the path's rate, and as long again where the relay passes them on.
    assert 0.06 * round_trips < float(times.median()) < 0.06 * round_trips + 0.04


@pytest.mark.parametrize("name", [*NAMES, "who-beats-whom"])
def test_committed_figures_are_small_and_have_a_background(name):
    text = (HERE / f"{name}.svg").read_text()
    assert len(text) < 150_000
    assert "fill: #ffffff" in text


def test_labels_are_moved_apart_as_little_as_need_be():
    height = DRAW._LABEL_HEIGHT
    assert DRAW._spread([0.1, 0.5, 0.9]) == [0.1, 0.5, 0.9]
    spread = DRAW._spread([0.1, 0.5, 0.5, 0.52, 0.9])
    steps = [after - before for before, after in itertools.pairwise(spread)]
    assert min(steps) == pytest.approx(height)
    assert sum(spread[1:4]) / 3 == pytest.approx(1.52 / 3)
