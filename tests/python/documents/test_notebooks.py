# SPDX-License-Identifier: GPL-2.0-only
"""The lessons run, their checks hold, and the executed copies are of the present text."""

from __future__ import annotations

import re
import subprocess
import sys

import jupytext
import nbformat
import pytest

from helpers import ROOT, load_script

NOTEBOOKS = ROOT / "notebooks"
LESSONS = sorted(path for path in NOTEBOOKS.glob("*.md") if path.name != "README.md")

#: Lessons that run in each test. The others are slow.
ALWAYS = {"the-sawtooth", "what-a-tunnel-changes"}

HANDOUTS = load_script(NOTEBOOKS / "handouts.py")

# A code host shows notebooks up to about this size, and reviewers can stand it.
_LARGEST_BYTES = 400_000


def of_lessons(function):
    return pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)(function)


def sources(notebook):
    return [(cell.cell_type, cell.source) for cell in notebook.cells]


def test_there_are_lessons():
    assert LESSONS


@pytest.mark.parametrize(
    "lesson",
    [
        pytest.param(path, id=path.stem, marks=[] if path.stem in ALWAYS else [pytest.mark.slow])
        for path in LESSONS
    ],
)
def test_runs_and_says_what_the_simulation_shows(lesson, tmp_path):
    """As a lecturer would run it. A cell that fails is in the message, with its traceback."""
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute"]
    copy = lesson.with_suffix(".ipynb")
    subprocess.run([*command, "--output-dir", str(tmp_path), str(copy)], check=True, cwd=NOTEBOOKS)
    notebook = nbformat.read(tmp_path / copy.name, as_version=4)
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    assert any("image/png" in out.get("data", {}) for out in outputs)


@of_lessons
def test_nothing_but_sliders_needs_a_kernel(lesson):
    """A rendered copy has a figure of each part, and no widget that cannot move."""
    copy = nbformat.read(lesson.with_suffix(".ipynb"), as_version=4)
    assert "widgets" not in copy.metadata
    for cell in copy.cells:
        outputs = cell.get("outputs", [])
        assert not any("widget" in mime for out in outputs for mime in out.get("data", {}))
        if "sliders(" in cell.source:
            assert cell.metadata["tags"] == ["sliders"]
        assert "interact(" not in cell.source  # stock nbconvert may wait for ever: see sliders()


@of_lessons
def test_handouts_have_no_answers(lesson, tmp_path):
    HANDOUTS.write(tmp_path, lesson)
    student = nbformat.read(tmp_path / lesson.with_suffix(".ipynb").name, as_version=4)
    solutions = nbformat.read(tmp_path / f"{lesson.stem}-solutions.ipynb", as_version=4)
    text = "\n".join(cell.source for cell in student.cells)
    whole = "\n".join(cell.source for cell in solutions.cells)
    assert not any(cell.get("outputs") for cell in (*student.cells, *solutions.cells))
    assert not re.search(r"# Check|<summary>Answer|^\*\*Compare|^assert ", text, re.MULTILINE)
    answers = whole.count("<summary>Answer")
    assert answers == text.count("*Your answer:*") > 0
    assert whole.count("**Compare.**") == text.count("<summary>Compare") > 0
    assert text.count("<details>") == text.count("</details>")


@pytest.mark.slow
@of_lessons
def test_handouts_run(lesson, tmp_path):
    HANDOUTS.write(tmp_path, lesson)
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--stdout"]
    copy = str(tmp_path / lesson.with_suffix(".ipynb").name)
    subprocess.run([*command, copy], check=True, stdout=subprocess.DEVNULL)


@of_lessons
def test_figures_tell_what_they_show(lesson):
    copy = nbformat.read(lesson.with_suffix(".ipynb"), as_version=4)
    outputs = [out for cell in copy.cells for out in cell.get("outputs", [])]
    images = [out.metadata["image/png"] for out in outputs if "image/png" in out.get("data", {})]
    texts = [image["alt"] for image in images]
    assert len(set(texts)) == len(texts)
    assert all(60 < len(text) < 250 for text in texts)


@of_lessons
def test_has_checks_in_every_part(lesson):
    part, parts, checked = lesson.stem, set(), set()
    for cell in jupytext.read(lesson).cells:
        if cell.cell_type == "markdown":
            for line in cell.source.splitlines():
                if line.startswith("## Part"):
                    part = line
                    parts.add(part)
        elif "check" in cell.metadata.get("tags", []):
            assert cell.source.startswith("# Check\n")
            assert "assert " in cell.source
            checked.add(part)
    assert checked
    assert parts <= checked


@of_lessons
def test_each_exercise_has_an_answer_that_is_checked(lesson):
    exercises = lesson.read_text().partition("## Exercises\n")[2].partition("\n## Limits")[0]
    numbers = re.findall(r"^\*\*(\d+)\. ", exercises, re.MULTILINE)
    assert numbers == [str(number + 1) for number in range(len(numbers))] != []
    for exercise in re.split(r"^\*\*\d+\. ", exercises, flags=re.MULTILINE)[1:]:
        assert exercise.count("<details markdown>\n<summary>Answer</summary>\n\n") == 1
        assert exercise.count("\n\n</details>\n") == 1
    assert "# Check\n# The answers to the exercises.\n" in exercises


@of_lessons
def test_is_on_the_page(lesson):
    assert lesson.stem in (NOTEBOOKS / "README.md").read_text()


@of_lessons
def test_executed_copy_is_up_to_date(lesson):
    """``make notebooks`` makes it."""
    copy = lesson.with_suffix(".ipynb")
    executed = nbformat.read(copy, as_version=4)
    assert sources(executed) == sources(jupytext.read(lesson))
    code = [cell for cell in executed.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    assert copy.stat().st_size < _LARGEST_BYTES
