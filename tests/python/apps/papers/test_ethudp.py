# SPDX-License-Identifier: GPL-2.0-only
"""The EthUDP paper: its arithmetic exactly, its figures as far as its text describes them.

Runs are shorter than those of `tunnelcc reproduce ethudp`, and one seed.
"""

from __future__ import annotations

import csv
from typing import Any

import pytest

import tunnelcc as tc
from helpers import ROOT
from tunnelcc import scenario
from tunnelcc.apps import papers
from tunnelcc.apps.papers import draw
from tunnelcc.apps.papers.observe import Point
from tunnelcc.apps.papers.verdicts import Simulated
from tunnelcc.hosts import costs
from tunnelcc.network.resolve import resolve
from tunnelcc.plots import algorithm_style

FOLDER = ROOT / "scenarios" / "papers" / "ethudp"
FIGURES = {figure.id: figure for figure in papers.find("ethudp").paper.figures}
with (FOLDER / "published.csv").open() as _file:
    PUBLISHED = list(csv.DictReader(_file))


def _rows(figure: str) -> list[Any]:
    rows = [row for row in PUBLISHED if row["figure"] == figure]
    assert rows
    return [
        pytest.param(row, id="-".join(filter(None, (row["system"], row["payload"], row["mss"]))))
        for row in rows
    ]


def _experiment(row: dict[str, str], name: str, **settings: object) -> tc.Experiment:
    table = scenario.read_scenario(FOLDER / name)
    changes = dict(FIGURES[row["figure"]].axes["system"].values[row["system"]])
    if row["mss"]:
        changes["tcp.mss"] = int(row["mss"])
    if row["payload"]:
        changes["flows.payload"] = row["payload"]
    return scenario.build(table, {**changes, **settings})


def _limit(experiment: tc.Experiment) -> float:
    """Rate times payload over all that a full segment occupies on Ethernet, bit/s."""
    outer = resolve(experiment).first.full_packets
    return experiment.path.rate * experiment.tcp.mss / (sum(outer) + 38 * len(outer))


@pytest.mark.parametrize(
    ("system", "frame"),
    [
        ("direct", 128 + 20 + 20 + 14 + 12 + 8 + 4),
        ("ethudp", 206 + 8 + 20 + 14),
        ("ethudp-aes-128-cbc", 192 + 66),
        ("ethudp-aes-256-cbc", 192 + 66),
    ],
)
def test_frames_have_the_bytes_that_the_paper_adds_up(system, frame):
    row = {"figure": "theory", "system": system, "mss": "128", "payload": ""}
    experiment = _experiment(row, "lan.toml")
    (outer,) = resolve(experiment).first.full_packets
    assert outer + 38 == frame


@pytest.mark.parametrize("row", _rows("theory"))
def test_theory_to_the_last_digit(row):
    assert int(_limit(_experiment(row, "lan.toml")) / 1e6) == int(row["value"])


@pytest.mark.parametrize("row", _rows("theory"))
def test_without_cost_the_simulator_reaches_the_theory(row):
    # What slow start lost has been repaired after 200 ms.
    hosts = {"hosts.speed": 1000, "duration": "300ms", "warmup": "200ms"}
    experiment = _experiment(row, "lan.toml", **hosts)
    assert tc.run(experiment).goodput == pytest.approx(_limit(experiment), rel=1e-3)


@pytest.mark.parametrize("row", _rows("3"))
def test_figure_3_where_each_mode_nears_its_limit(row):
    experiment = _experiment(row, "lan.toml", duration="700ms", warmup="300ms")
    share = tc.run(experiment).goodput / _limit(experiment)
    bound = float(row["value"][1:])
    assert share > bound if row["value"][0] == ">" else share < bound


@pytest.mark.parametrize("row", _rows("5"))
def test_figure_5_with_prose(row):
    experiment = _experiment(
        {**row, "payload": "text"}, "wan.toml", duration="1500ms", warmup="700ms"
    )
    goodput = tc.run(experiment).goodput / 1e6
    if row["value"].startswith(">"):
        assert goodput > float(row["value"][1:])
    else:
        assert goodput == pytest.approx(float(row["value"][1:]), rel=0.5)


@pytest.mark.parametrize("row", _rows("6"))
def test_figure_6(row):
    experiment = _experiment(row, "wan.toml", duration="400ms")
    efficiency = tc.run(experiment).metric("interface_efficiency")
    low, _, high = row["value"].lstrip("~").partition("-")
    assert 0.85 * float(low) < efficiency < 1.15 * float(high or low)


def test_nothing_is_calibrated():
    assert not any(figure.fit for figure in FIGURES.values())
    labels = {it.label for it in costs.load("ethudp-paper").operations.values()}
    assert labels == {"inferred"}


def test_each_system_has_a_colour_a_marker_and_a_dash_of_its_own():
    paper, figure = papers.find("ethudp"), FIGURES["3"]
    points = [Point(axes, paper.experiment(figure, axes)) for axes in paper.points(figure)]
    lines = draw.curves(Simulated(paper, figure, points))
    looks = [draw.look(line[0], "goodput", figure, number)[0] for number, line in enumerate(lines)]
    assert len(looks) == 4
    for key in ("color", "marker", "linestyle"):
        assert len({str(look[key]) for look in looks}) == 4
    assert "#000000" not in {look["color"] for look in looks}  # as what is published


def test_algorithms_keep_their_look_where_they_are_an_axis():
    paper = papers.find("gost-thesis")
    figure = next(figure for figure in paper.figures() if figure.id == "window")
    for number, axes in enumerate(paper.points(figure)):
        point = Point(axes, paper.experiment(figure, axes))
        look, label = draw.look(point, "goodput", figure, number)
        assert look == algorithm_style(axes["cc"])
        assert label == axes["cc"]
