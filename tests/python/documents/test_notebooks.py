# SPDX-License-Identifier: GPL-2.0-only
"""The lessons run, their checks hold, and the executed copies are of the present text."""

from __future__ import annotations

import ast
import builtins
import re
import subprocess
import sys

import jupytext
import nbformat
import pytest
from nbformat.v4 import new_code_cell

from helpers import ROOT, load_script

NOTEBOOKS = ROOT / "notebooks"
LESSONS = sorted(path for path in NOTEBOOKS.glob("*.md") if path.name != "README.md")

#: Lessons that run in each test. The others are slow.
ALWAYS = {"01-queues-and-windows", "07-what-a-tunnel-changes"}

sys.path.insert(0, str(NOTEBOOKS))
HANDOUTS = load_script(NOTEBOOKS / "handouts.py")
lessons = HANDOUTS.lessons

#: Runs before a lesson's cells: collects how often runs of an experiment have not settled, by the
#: package's own test (tunnelcc/metrics/drift.py). A cell of which the text says so has a tag.
_WATCH = """
import numpy as _np
import tunnelcc as _tc

_settling, _run, _sweep = {"seen": True, "runs": {}, "points": []}, _tc.run, _tc.sweep

def _has_drift(result):
    return bool(_np.nan_to_num(_tc.metrics.METRICS["flow_drift"](result)).any())

def _watched(experiment, **options):
    result = _run(experiment, **options)
    if _settling["seen"]:
        key = experiment.model_dump_json(exclude={"seed"})
        _settling["runs"].setdefault(key, (experiment, {}))[1][experiment.seed] = _has_drift(result)
    return result

def _swept(*values, **options):
    results = _sweep(*values, **options)
    if _settling["seen"]:
        drifts = (abs(results.flow_drift.fillna(0)).max("flow") > 0).mean("seed")
        points = _np.argwhere(drifts.values >= 0.5)
        _settling["points"] += [f"{options['name']} {at}" for at in points]
    return results

_tc.run, _tc.sweep = _watched, _swept
"""
# Of twenty settled runs, the test names one. What ran with one or two seeds runs with more.
_SETTLED = """
for experiment, runs in _settling["runs"].values():
    for seed in range(101, 104) if len(runs) < 3 and any(runs.values()) else ():
        runs[seed] = _has_drift(_run(experiment.with_seed(seed), progress=False))
    if 2 * sum(runs.values()) >= len(runs):
        _settling["points"].append(f"{_tc.run(experiment, progress=False)!r} {runs}")
assert not _settling["points"], _settling["points"]
"""

# A code host shows notebooks up to about this size, and reviewers can stand it.
_LARGEST_BYTES = 400_000


def of_lessons(function):
    return pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)(function)


def sources(notebook):
    return [(cell.cell_type, cell.source) for cell in notebook.cells]


def printed(cell):
    return "".join(out.text for out in cell.get("outputs", []) if out.get("name") == "stdout")


def test_there_are_lessons():
    assert LESSONS


def watch_settling(path):
    """Let a notebook fail if a number comes from runs that still change, and no tag says so."""
    notebook = nbformat.read(path, as_version=4)
    cells = [new_code_cell(_WATCH)]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            told = "unsettled" in cell.metadata.get("tags", [])
            cells.append(new_code_cell(f"_settling['seen'] = {not told}"))
        cells.append(cell)
    notebook.cells = [*cells, new_code_cell(_SETTLED)]
    nbformat.write(notebook, path)


@pytest.mark.parametrize(
    "lesson",
    [
        pytest.param(path, id=path.stem, marks=[] if path.stem in ALWAYS else [pytest.mark.slow])
        for path in LESSONS
    ],
)
def test_runs_and_says_what_the_simulation_shows(lesson, tmp_path):
    """With its checks and solutions, as a lecturer would run it: by stock nbconvert."""
    HANDOUTS.write(tmp_path, lesson)
    whole = tmp_path / "lecturers" / f"{lesson.stem}.ipynb"
    watch_settling(whole)
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute"]
    subprocess.run([*command, "--inplace", str(whole)], check=True)
    notebook = nbformat.read(whole, as_version=4)
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    assert any("image/png" in out.get("data", {}) for out in outputs)
    now = {cell.source: printed(cell) for cell in notebook.cells}
    kept = nbformat.read(lesson.with_suffix(".ipynb"), as_version=4)
    for cell in kept.cells:
        if not cell.source.startswith("answer = ask("):  # of Linux, where its kernel is installed
            assert printed(cell) == now[cell.source], "`make notebooks` prints it again"


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
    student = nbformat.read(tmp_path / "students" / f"{lesson.stem}.ipynb", as_version=4)
    whole = nbformat.read(tmp_path / "lecturers" / f"{lesson.stem}.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in (*student.cells, *whole.cells))
    text = "\n".join(cell.source for cell in student.cells)
    assert not re.search(r"# Check|Solution|^\*\*Compare|^assert ", text, re.MULTILINE)
    assert "](../" not in text, "leads nowhere from where a student has it"
    said = "\n".join(cell.source for cell in whole.cells)
    assert said.count("**Compare.**") == text.count("<summary>Compare") > 0
    assert text.count("<details>") == text.count("</details>")
    # Text that explains a result is in a folded part.
    unfolded = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    assert "**Explain" not in unfolded
    asked = len(re.findall(r"^\*\*Predict", unfolded, re.MULTILINE))
    assert text.count("*Your prediction:*") == asked > 0


@of_lessons
def test_assignments_have_hidden_tests(lesson):
    """What nbgrader removes for students and puts back to grade is where it looks for it."""
    cells = lessons.assignment(lesson).cells
    graded = [cell for cell in cells if "nbgrader" in cell.metadata]
    names = [cell.metadata["nbgrader"]["grade_id"] for cell in graded]
    exercises = sum("exercise" in cell.metadata.get("tags", []) for cell in cells)
    kinds = [f"{kind}-{n + 1}" for n in range(exercises) for kind in ("exercise", "check", "words")]
    assert names == kinds
    for cell in cells:
        if "assert " in cell.source:
            before, _, hidden = cell.source.partition("### BEGIN HIDDEN TESTS\n")
            assert "assert " not in before
            assert hidden.endswith("\n### END HIDDEN TESTS")
            assert cell.metadata["nbgrader"]["grade"]


def names(source, context):
    """Return the names that a cell sets (ast.Store) or uses (ast.Load)."""
    tree = ast.parse(source)
    found = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}
    if context is ast.Store:
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                found |= {(it.asname or it.name).partition(".")[0] for it in node.names}
            elif isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.arg)):
                found.add(node.arg if isinstance(node, ast.arg) else node.name)
    return found


@of_lessons
def test_no_cell_uses_what_a_check_defines(lesson):
    """Students have no checks."""
    known = set(dir(builtins))
    for cell in lessons.page(lesson).cells:
        if cell.cell_type == "code":
            known |= names(cell.source, ast.Store)
            assert names(cell.source, ast.Load) <= known


@of_lessons
def test_each_answer_is_checked_by_itself(lesson):
    """A check knows what students have: no solutions, and no checks, which may have failed."""
    code = [cell for cell in lessons.page(lesson).cells if cell.cell_type == "code"]
    known = set(dir(builtins)).union(*(names(cell.source, ast.Store) for cell in code))
    exercises = [cell for cell in code if "exercise" in cell.metadata.get("tags", [])]
    tests = [cell for cell in lessons.assignment(lesson).cells if "HIDDEN TESTS" in cell.source]
    for exercise, test in zip(exercises, tests, strict=True):
        (answer,) = names(exercise.source, ast.Store)
        assert re.search(rf"^assert .*\b{answer}\b", test.source, re.MULTILINE)
        assert names(test.source, ast.Load) <= known | names(test.source, ast.Store)


@pytest.mark.slow
@of_lessons
def test_handouts_run(lesson, tmp_path):
    """Also with unanswered exercises."""
    HANDOUTS.write(tmp_path, lesson)
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--stdout"]
    copy = str(tmp_path / "students" / f"{lesson.stem}.ipynb")
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
def test_is_a_unit_of_the_course(lesson):
    """Goals, parts, sliders, exercises with solutions, and questions for an exam."""
    text = lesson.read_text("utf-8")
    goals, _, rest = text.partition("\n*45 minutes, for ")
    assert "\nAfter this lesson you can explain\n\n1. " in goals
    parts = re.findall(r"^## Part (\d): ", rest, re.MULTILINE)
    assert parts == ["1", "2", "3", "4"][: len(parts)]
    assert re.search(rf"^## Part {len(parts)}: sliders$", rest, re.MULTILINE)
    assert "## What the simulation leaves out\n" in rest
    exercises = rest.partition("## Exercises\n")[2].partition("\n## What")[0]
    numbers = re.findall(r"^\*\*(\d+)\. ", exercises, re.MULTILINE)
    assert len(numbers) >= 3
    assert exercises.count('```python tags=["exercise"]\n') == len(numbers)
    solutions = (NOTEBOOKS / "solutions" / lesson.name).read_text("utf-8")
    assert re.findall(r"^## (\d+)\. ", solutions, re.MULTILINE) == numbers
    assert solutions.count('```python tags=["check"]\n') >= len(numbers)
    questions = solutions.partition("## Questions for an exam\n")[2]
    assert re.findall(r"^(\d)\. \*.+?\* — ", questions, re.MULTILINE) == ["1", "2", "3"]


@of_lessons
def test_is_on_the_page(lesson):
    assert lesson.stem in (NOTEBOOKS / "README.md").read_text()


@of_lessons
def test_executed_copy_is_up_to_date(lesson):
    """``make notebooks`` makes it."""
    copy = lesson.with_suffix(".ipynb")
    executed = nbformat.read(copy, as_version=4)
    assert sources(executed) == sources(lessons.page(lesson))
    code = [cell for cell in executed.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    assert copy.stat().st_size < _LARGEST_BYTES
