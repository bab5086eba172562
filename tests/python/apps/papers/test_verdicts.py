# SPDX-License-Identifier: GPL-2.0-only
"""The numbers and verdicts of all papers are those of results/ and of verdicts.csv here.

Both are of runs: `tunnelcc reproduce KEY --output results/KEY`. Fast tests judge stored numbers
again, the slow one runs everything.
"""

from __future__ import annotations

import csv
import math
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from helpers import ROOT
from tunnelcc.apps import papers
from tunnelcc.apps.papers import baselines, tables, verdicts
from tunnelcc.apps.papers.observe import Observation, Point
from tunnelcc.apps.papers.simulate import simulate
from tunnelcc.apps.papers.verdicts import Reproduction, Simulated

TOLD = list(csv.DictReader((Path(__file__).with_name("verdicts.csv")).open(encoding="utf-8")))


@cache
def stored(key: str, figure: str) -> pd.DataFrame:
    """Return the stored rows of a figure as its scenario defines it."""
    file = ROOT / "results" / key / f"{figure}.csv"
    rows = pd.read_csv(file, dtype=str, keep_default_na=False)
    return rows[rows["set"] == "scenario"].drop(columns="set")


def replayed(folder, figure) -> Simulated:
    """Return a figure whose runs have the stored mean, least and largest value."""
    axes = list(figure.axes)
    found = {}
    for row in (
        stored(folder.key, figure.id).drop_duplicates([*axes, "quantity"]).to_dict("records")
    ):
        mean, least, most = (float(row[it] or "nan") for it in ("simulated", "least", "most"))
        others = max(int(row["seeds"]) - 2, 1)  # which are alike
        middle = mean + (2 * mean - least - most) / others if math.isfinite(mean) else mean
        place = tuple(row[axis] for axis in axes)
        runs = [least, *[middle] * others, most] if row["seeds"] != "1" else [mean]
        found.setdefault(place, {})[row["quantity"]] = runs
    points = []
    for place in folder.points(figure):
        values = found[tuple(place.values())]
        count = range(len(values[next(iter(values))]))
        runs = [Observation({name: it[run] for name, it in values.items()}) for run in count]
        points.append(Point(place, folder.experiment(figure, place), runs))
    return Simulated(folder, figure, points)


@pytest.mark.parametrize("key", papers.names())
def test_stored_numbers_have_the_stored_verdicts(key):
    folder = papers.find(key)
    judged = 0
    for figure in folder.figures():
        simulated = replayed(folder, figure)
        made = tables.frame(Reproduction(simulated)).drop(columns="set")
        kept = stored(key, figure.id).reset_index(drop=True)
        for column in (*figure.axes, "quantity", "unit", "published", "verdict", "rests_on"):
            assert list(made[column]) == list(kept[column]), (figure.id, column)
        for ours, theirs in zip(made["ratio"], kept["ratio"], strict=True):
            assert ours == theirs or float(ours) == pytest.approx(float(theirs), abs=2e-4, rel=1e-4)
        claims = [row for row in TOLD if (row["paper"], row["figure"]) == (key, figure.id)][1:]
        assert [it.claim.text for it in simulated.claims] == [row["statement"] for row in claims]
        assert [str(it.holds) for it in simulated.claims] == [row["holds"] for row in claims]
        standing = [simulated.standing(it.claim) for it in simulated.claims]
        assert standing == [row["its numbers"] for row in claims]
        judged += len(simulated.judged) + len(claims)
    assert judged


@pytest.mark.slow
@pytest.mark.parametrize("key", papers.names())
def test_runs_give_the_stored_numbers_and_verdicts(key):
    folder = papers.find(key)
    told = []
    for it in simulate(folder, seeds=3, with_others=False):
        simulated, figure = it.simulated, it.figure
        made = tables.frame(it).drop(columns="set").to_csv(index=False)
        assert made == stored(key, figure.id).to_csv(index=False), figure.id
        told.append((figure.id, "", verdicts.told(simulated), "", ""))
        for judged in simulated.claims:
            standing = simulated.standing(judged.claim)
            line = (judged.claim.text, judged.got, str(judged.holds), standing)
            told.append((figure.id, *line))
    kept = [tuple(row.values())[1:] for row in TOLD if row["paper"] == key]
    assert told == kept


def test_a_changed_number_changes_a_verdict():
    """Else the tests above prove nothing."""
    folder = papers.find("ware2019")
    simulated = replayed(folder, folder.figures(["1b"])[0])
    before = [cell.verdict for cell in simulated.judged]
    for point in simulated.points:
        point.runs = [
            Observation({it: 1.2 * value for it, value in run.values.items()}) for run in point.runs
        ]
    del simulated.cells
    assert [cell.verdict for cell in simulated.judged] != before


def test_stored_counts_are_those_of_the_stored_numbers_and_of_the_page():
    """Beside arithmetic and constants: results/KEY/counts.csv, and the table of the page."""
    page = (ROOT / "docs/pages/results/papers.md").read_text(encoding="utf-8")
    every = []
    for key in papers.names():
        folder = papers.find(key)
        made = [Reproduction(replayed(folder, figure)) for figure in folder.figures()]
        counted = [count for it in made for count in baselines.counts(it.simulated)]
        if not counted:
            continue
        kept = pd.read_csv(ROOT / "results" / key / "counts.csv", dtype=str, keep_default_na=False)
        assert baselines.frame(made).to_dict("records") == kept.to_dict("records")
        assert line(key, counted) in page
        every += counted
    assert line("all", every) in page


def line(name: str, counted: list[baselines.Count]) -> str:
    """Return a line of the page's table."""
    it = baselines.summed(counted)
    skill = baselines.skill(it.rows, it.simulated, it.baseline)
    numbers = (it.points, it.rows, it.simulated, it.naive, it.by_constant)
    return f"| {name} | {' | '.join(map(str, numbers))} | {skill:.2f} |"
