# SPDX-License-Identifier: GPL-2.0-only
"""Li et al. 2018: the folder's numbers by hand, and what hangs on the window."""

from __future__ import annotations

import csv
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import tunnelcc as tc
from helpers import ROOT
from tunnelcc.apps import papers
from tunnelcc.apps.papers import observe, verdicts
from tunnelcc.apps.papers.simulate import simulate
from validation.reference import cells

FOLDER = ROOT / "scenarios" / "papers" / "li2018-bbr"
RESULTS = ROOT / "results" / "li2018-bbr"
FIGURES = ("2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "eq6", "eq7", "eq8")
IDEAS = ("idea-1", "idea-1-udp", "idea-2", "idea-3-rtt", "idea-3-cubic")


@pytest.fixture(scope="module")
def paper():
    return papers.find("li2018-bbr")


def test_every_figure_and_equation_is_there(paper):
    assert tuple(figure.id for figure in paper.paper.figures) == FIGURES + IDEAS


def value(paper, figure, quantity="equation", **settings):
    """Return a number of theory, with other settings."""
    (found,) = paper.figures([figure])
    experiment = paper.experiment(found, {}, settings)
    return observe.observe(replace(found, quantities=theory_of(found)), experiment, None).values[
        quantity
    ]


def theory_of(figure):
    return {name: it for name, it in figure.quantities.items() if not it.is_of_runs}


def test_equation_6_needs_far_more_than_the_stated_loss(paper):
    rates = {loss: value(paper, "eq6", **{"path.loss": loss}) for loss in (1.4e-4, 1.23e-4, 1e-12)}
    # √(0.5 · 9 / 1.4e-4) packets of 1500 bytes in 10 ms.
    assert rates[1.4e-4] == pytest.approx(179.28 * 12e3 / 0.01, rel=1e-4)
    assert rates[1.4e-4] == pytest.approx(212e6, rel=0.02)
    assert rates[1.23e-4] == pytest.approx(212e6, rel=0.1)
    assert rates[1e-12] > 2000 * 1e9


def test_equation_7_with_each_window(paper):
    (readings,) = (found for question, found in paper.questions if question.id == "window")
    rates = {reading.id: value(paper, "eq7", **reading.settings) for reading in readings}
    assert rates == pytest.approx({"half": 392e6, "whole": 784e6, "knee": 980e6})
    assert value(paper, "eq7", "written") == pytest.approx(960e6, rel=0.005)


def test_evidence_is_what_the_measurements_say(paper):
    """Its numbers are those of the measurements of Linux that ship with the package."""

    def use(table, variant, payload_rate):
        for cell in cells(table):
            if cell.variant == variant:
                for run in cell.runs:
                    if {flow.cc for flow in run.flows} == {"bbr"}:
                        yield run.goodput / (payload_rate * 1448 / 1500)

    def shares():
        for cell in cells("rtt_fairness"):
            for run in cell.runs:
                if {flow.cc for flow in run.flows} == {"bbr"}:
                    short = min(run.flows, key=lambda flow: flow.rtt)
                    yield short.goodput / run.goodput

    found = {
        "8": list(use("buffer_shares", "2bbr", 100)),
        "9": list(use("late_joiner", "", 50)),
        "11": list(shares()),
    }
    for figure, measured in found.items():
        (evidence,) = paper.figures([figure])[0].tables
        simulated = SimpleNamespace(means=lambda: {"use": np.ones(1), "share": np.ones(1)})
        variants = [(SimpleNamespace(id="free-50"), simulated)]
        stub = SimpleNamespace(
            figure=paper.figures([figure])[0], simulated=simulated, variants=variants
        )
        ((_, _, _, text, *_),) = evidence(stub).rows
        low, *_, high = map(float, (text + "-" + text).split("-"))
        assert len(measured) >= 2
        assert min(measured) == pytest.approx(low, abs=0.006)
        assert max(measured) == pytest.approx(high, abs=0.006)


def test_the_window_limits_bbr_as_equation_7_says(paper):
    (found,) = simulate(paper, figures=["eq7"], seeds=1, jobs=2)
    rates = {
        reading.id: simulated.points[0].mean("simulated")
        for question, reading, simulated in found.readings
        if question.id == "window"
    }
    # A window of W carries W per round trip, less what waits to fill a burst of up to 44 segments;
    # with 2.5 MB the link is the limit, less ProbeRTT.
    burst = 44 * 1448
    for reading, window in (("half", 500e3), ("whole", 1e6)):
        assert 0.94 * (window - burst) * 8 / 0.01 <= rates[reading] <= window * 8 / 0.01
    assert rates["knee"] == pytest.approx(0.98 * 1e9 * 1448 / 1538, rel=0.02)
    assert not found.simulated.missed


def test_the_loss_is_the_one_that_the_stored_sweep_chose():
    scores = {}
    for line in (RESULTS / "2-calibration.csv").read_text().splitlines()[1:]:
        loss, *_, misfit = line.split(",")
        scores[loss] = float(misfit)
    chosen = verdicts.best(list(scores.items()))
    for file in FOLDER.glob("*.toml"):
        loss = tc.load(file).path.loss
        assert loss == pytest.approx(float(chosen)), file.name


def _stored(figure):
    """The stored rows of a figure as the scenarios define it."""
    with (RESULTS / f"{figure}.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["set"] == "scenario"]


def test_the_stored_results_have_every_figure():
    for figure in FIGURES + IDEAS:
        assert _stored(figure)


@pytest.mark.slow
def test_the_stored_results_are_what_runs_give(paper):
    """Else: tunnelcc reproduce li2018-bbr --output results/li2018-bbr."""
    for reproduction in simulate(paper, figures=["2", "8"], seeds=1):
        figure = reproduction.figure
        for row in _stored(figure.id):
            (point,) = (
                point
                for point in reproduction.simulated.points
                if point.axes == {axis: row[axis] for axis in figure.axes}
            )
            value = point.runs[0].values[row["quantity"]]
            assert 0.999 * float(row["least"]) <= value <= 1.001 * float(row["most"])
