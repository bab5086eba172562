# SPDX-License-Identifier: GPL-2.0-only
"""The gallery of questions: figures are those of their tables, and other seeds say the same."""

from __future__ import annotations

import matplotlib as mpl
import pytest

from helpers import ROOT, load_script
from tunnelcc.plots import STYLE, save

HERE = ROOT / "results/questions"
PAGES = ROOT / "docs/pages/questions"
DRAW = load_script(HERE / "draw.py")
NUMBERS = load_script(ROOT / "results/numbers.py")

of_questions = pytest.mark.parametrize("name", DRAW.QUESTIONS)


@of_questions
def test_each_figure_is_that_of_its_table_and_has_settled(name, tmp_path):
    rows = DRAW.load(name)
    assert not [it for it in rows if it.drifts]
    points = DRAW.QUESTIONS[name].points()
    assert [(it.line, str(it.x)) for it in points] == [(it.line, it.x) for it in rows]
    with mpl.rc_context(STYLE):
        save(DRAW.draw(name, rows), tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == (HERE / f"{name}.svg").read_bytes()


@of_questions
def test_a_page_has_a_figure_an_answer_a_command_and_a_lesson(name):
    text = (PAGES / f"{name}.md").read_text("utf-8")
    assert text.startswith("# ")
    assert f"results/questions/{name}.svg" in text
    answer = text.split("\n\n")[2]
    assert answer.startswith("**")
    assert text.count("```sh\n") == 1
    assert "notebooks/" in text
    assert f"]({name}.md)" in (PAGES / "index.md").read_text("utf-8")


@pytest.mark.slow
@of_questions
def test_seeds_that_the_page_did_not_use_say_the_same(name):
    """A mean of five seeds beside one of three others: within a fifth, or half a Mbit/s."""
    page = (PAGES / f"{name}.md").read_text("utf-8")
    used = [(row["line"], row["x"]) for it in NUMBERS.used(page) for row in it.rows()]
    points = [it for it in DRAW.QUESTIONS[name].points() if (it.line, str(it.x)) in used]
    assert len(points) == len(set(used))
    told = {(it.line, it.x): it for it in DRAW.load(name)}
    for row in DRAW.simulate(points, seeds=(101, 102, 103)):
        said = told[row.line, row.x].mean
        assert row.mean == pytest.approx(said, rel=0.2, abs=0.5), (row, said)
