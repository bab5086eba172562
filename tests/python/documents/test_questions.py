# SPDX-License-Identifier: GPL-2.0-only
"""The gallery of questions: what its pages say is in the tables, and other seeds say it, too."""

from __future__ import annotations

import re

import matplotlib as mpl
import pytest

from helpers import ROOT, load_script
from tunnelcc.plots import STYLE, save

HERE = ROOT / "results/questions"
PAGES = ROOT / "docs/pages/questions"
DRAW = load_script(HERE / "draw.py")

#: By page, for each number of Mbit/s in its text: the point that it is of. None: a condition.
SAID = {
    "vpn": [
        None, ("no VPN", "0.1"), ("WireGuard", "0.1"), ("OpenVPN over TCP", "0.1"),
    ],
    "server": [
        None, ("BBR", "0.1"), ("CUBIC", "0.1"), ("BBR beside the other", "1"),
        ("CUBIC beside the other", "1"), ("BBR beside the other", "4"),
        ("CUBIC beside the other", "4"),
    ],
    "connections": [
        None, ("0.1 % loss", "1"), ("0.1 % loss", "4"), ("0.1 % loss", "16"), ("0.01 % loss", "16"),
        ("yours", "1"), ("one flow of a neighbour", "16"),
    ],
    "fec": [
        None, ("CUBIC", "1"), ("CUBIC in FEC", "1"), ("BBR", "1"), ("CUBIC in FEC", "5"),
        ("CUBIC in FEC, losses in bursts", "5"),
    ],
    "others": [
        None, None, ("neighbour", "no tunnel"), ("neighbour", "WireGuard"),
        ("neighbour", "GOST, one carrier"), ("neighbour", "OpenVPN over TCP"),
        ("neighbour", "GOST, a BBR carrier for each"),
    ],
}  # fmt: skip

of_questions = pytest.mark.parametrize("name", DRAW.QUESTIONS)


@of_questions
def test_each_number_of_a_page_is_in_its_table(name):
    rows = {(it.line, it.x): it for it in DRAW.load(name)}
    text = (PAGES / f"{name}.md").read_text("utf-8").partition("```")[0]
    numbers = re.findall(r"([\d.]+)\sMbit/s", text)
    for number, point in zip(numbers, SAID[name], strict=True):
        if point:
            digits = len(number.partition(".")[2])
            assert f"{rows[point].mean:.{digits}f}" == number, point


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
    used = [it for it in SAID[name] if it]
    points = [it for it in DRAW.QUESTIONS[name].points() if (it.line, str(it.x)) in used]
    told = {(it.line, it.x): it for it in DRAW.load(name)}
    for row in DRAW.simulate(points, seeds=(101, 102, 103)):
        said = told[row.line, row.x].mean
        assert row.mean == pytest.approx(said, rel=0.2, abs=0.5), (row, said)
