# SPDX-License-Identifier: GPL-2.0-only
"""The figures of who repairs loss can be drawn again."""

from __future__ import annotations

import matplotlib as mpl
import pytest

import tunnelcc as tc
from helpers import ROOT, load_script
from tunnelcc.plots import STYLE

SCRIPTS = [load_script(ROOT / f"results/repair/{name}.py") for name in ("draw", "accelerators")]
FIGURES = {name: draw for script in SCRIPTS for name, draw in script.FIGURES.items()}
PAGE = ROOT / "docs/pages/results/who-repairs-loss.md"


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_each_figure_is_drawn_from_its_sweeps(tmp_path, name):
    def quickly(table, sweep):
        declared = table.pop("sweep")
        declared.pop("seeds")
        quick = {"duration": "400ms", "warmup": "200ms", "probe_interval": "100ms"}
        table |= quick | {"path": {**table["path"], "rate": "5Mbps"}}
        return tc.sweep(table, declared, seeds=2, name=sweep, store=tmp_path, progress=False)

    with mpl.rc_context(STYLE):
        figure = FIGURES[name](quickly)
    assert all(axes.lines or axes.patches for axes in figure.axes)
    assert f"results/repair/{name}.svg" in PAGE.read_text()
    assert "fill: #ffffff" in (ROOT / f"results/repair/{name}.svg").read_text()
