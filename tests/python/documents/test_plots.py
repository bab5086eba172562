# SPDX-License-Identifier: GPL-2.0-only
"""`tunnelcc plot --standard` of every sweep that comes with tunnelcc, and of lists of points."""

from __future__ import annotations

import pytest

import tunnelcc as tc
from helpers import ROOT
from tunnelcc.commands.plot import Options, draw
from tunnelcc.schema.toml import parse_toml

SCENARIOS = ROOT / "scenarios"
FILES = sorted([*SCENARIOS.glob("sweeps/*.toml"), *SCENARIOS.glob("tcpeval/*.toml")])


def ends(values):
    """The first and the last value, or those of a range."""
    return [values[0], values[-1]] if isinstance(values, list) and len(values) > 2 else values


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_shipped_sweep_has_standard_figures(file, tmp_path):
    table = parse_toml(file.read_text(), str(file))
    declared = table.pop("sweep")
    seeds = 1 if declared.pop("seeds") else 0
    latest = max(run.start for run in tc.Sweep(file).experiment(0).flows)
    table |= {
        "duration": f"{latest + 0.6}s",
        "warmup": f"{latest + 0.2}s",
        "probe_interval": "50ms",
    }
    axes = {key: ends(values) for key, values in declared.items()}
    tc.sweep(table, axes, seeds, name="ends", store=tmp_path, progress=False)
    files = draw(tmp_path / "ends", Options(), all_of_them=True, output=tmp_path, suffix="svg")
    assert files
    assert all(file.stat().st_size > 5000 for file in files)


@pytest.fixture(scope="module")
def points(tmp_path_factory):
    """A relay half way or none, as a list of points."""
    store = tmp_path_factory.mktemp("points")
    relay = {"name": "gost-relay-ws", "chain": [{}]}
    axes = {
        "path.rtt": ["20ms", "10ms", "60ms", "30ms"] * 2,
        "path.loss": ["0.1%", "0.05%"] * 2 + ["1%", "0.5%"] * 2,
        "tunnel": ["gost-relay-ws", relay] * 4,
    }
    base = {"path": {"rate": "5Mbps"}, "duration": "2s", "warmup": "1s"}
    tc.sweep(base, {"zip": axes}, seeds=2, name="points", store=store, progress=False)
    return store / "points"


@pytest.mark.parametrize(
    "options",
    [
        {"x": "path.rtt"},
        {"x": "path.rtt", "by": "tunnel", "facet": "path.loss"},
        {"x": "path.loss", "by": "tunnel", "facet": "path.rtt"},
        {"x": "path.loss", "at": ["tunnel=gost-relay-ws"], "facet": "path.rtt"},
        {"kind": "map", "x": "path.loss", "y": "path.rtt"},
        {"kind": "scatter", "by": "tunnel", "facet": "path.loss"},
        {"kind": "scatter", "by": "path.rtt", "at": ["path.loss=1%"]},
        {},
    ],
)
def test_lists_of_points_have_every_figure(points, tmp_path, options):
    (file,) = draw(points, Options(**options), output=tmp_path / "figure.svg")
    assert file.stat().st_size > 5000


def test_lists_of_points_have_standard_figures(points, tmp_path):
    files = draw(points, Options(), all_of_them=True, output=tmp_path)
    names = [file.stem for file in files]
    assert names == ["goodput-over-path-rtt", "goodput-over-path-loss", "queueing-delay"]


@pytest.mark.parametrize(("x", "missing"), [("path.rtt", "path.loss"), ("path.loss", "path.rtt")])
def test_points_that_lines_would_mix_are_told_of(points, tmp_path, x, missing):
    with pytest.raises(tc.ConfigError, match=f"--at {missing}="):
        draw(points, Options(x=x, by="tunnel"), output=tmp_path / "figure.svg")
