# SPDX-License-Identifier: GPL-2.0-only
"""A lesson in the forms that readers, students, lecturers and nbgrader get.

A lesson is two files of Markdown. ``NAME.md`` has its text, code and exercises. Cells with the tag
``check`` compare the text with the simulation. ``solutions/NAME.md`` has what students do
not see: the answer to each exercise with its checks, and questions for an exam.
"""

from __future__ import annotations

import re
from pathlib import Path

import jupytext
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

#: What a lesson says of a result, up to the next question or heading.
_COMPARE = re.compile(
    r"^\*\*Compare\.\*\*\s+(.*?)(?=\n\*\*Predict|\n#|\Z)", re.DOTALL | re.MULTILINE
)
#: Links into the repository, which a hand-out is not in.
_LINK = re.compile(r"\[([^\]]+)\]\(\.\./([^)]+)\)")
_PREDICT = re.compile(r"^\*\*Predict(?:\.\*\*|\*\*)", re.MULTILINE)
_EXERCISE = re.compile(r"^## (\d+)\. ", re.MULTILINE)
#: Of an exercise: for its answer, and for the sentences.
POINTS, POINTS_OF_WORDS = 2, 1


def page(lesson: Path) -> NotebookNode:
    """Return what is read in the site: no checks and no solutions."""
    notebook = jupytext.read(lesson)
    notebook.cells = [cell for cell in notebook.cells if not _is(cell, "check")]
    return _numbered(notebook)


def whole(lesson: Path) -> NotebookNode:
    """Return a lesson with its checks, solutions and questions for an exam."""
    notebook = jupytext.read(lesson)
    answers, questions = solutions(lesson)
    cells, exercise = [], 0
    for cell in notebook.cells:
        cells.append(cell)
        if _is(cell, "exercise"):
            exercise += 1
            cells += answers[exercise]
    notebook.cells = cells + questions
    return _numbered(notebook)


def handout(lesson: Path) -> NotebookNode:
    """Return what a student gets: places to write in, and folded what a lesson says of results."""
    notebook = page(lesson)
    cells: list[NotebookNode] = []
    for cell in notebook.cells:
        cells.append(cell)
        cell.metadata.pop("alt", None)  # tells what the figure will show
        if _is(cell, "exercise"):
            cells.append(new_markdown_cell("*Why? Answer in two sentences:*\n"))
            cells[-1].metadata["tags"] = ["words"]
        elif cell.cell_type == "markdown":
            predicts = _PREDICT.search(cell.source, cell.source.rfind("\n#") + 1)
            cell.source = _LINK.sub(r"\1 (`\2`)", _COMPARE.sub(_folded, cell.source))
            if predicts:
                cells.append(new_markdown_cell("*Your prediction:*\n"))
    notebook.cells = cells
    return _numbered(notebook)


def assignment(lesson: Path) -> NotebookNode:
    """Return nbgrader's source version: a hand-out with solutions and hidden tests to remove."""
    notebook = handout(lesson)
    answers, _ = solutions(lesson)
    cells, exercise = [], 0
    for cell in notebook.cells:
        cells.append(cell)
        if _is(cell, "exercise"):
            exercise += 1
            cells += _graded(cell, exercise, answers[exercise])
        elif _is(cell, "words"):
            _nbgrader(cell, f"words-{exercise}", POINTS_OF_WORDS, solution=True)
    notebook.cells = cells
    return _numbered(notebook)


def _graded(cell: NotebookNode, exercise: int, solution: list[NotebookNode]) -> list[NotebookNode]:
    """Put the solution of an exercise into its cell, and return the cell that tests it."""
    # Further checks are of the text.
    test = next(it for it in solution if _is(it, "check"))
    lines = [cell.source, "### BEGIN SOLUTION", *answer(solution), "### END SOLUTION"]
    cell.source = "\n".join(lines)
    _nbgrader(cell, f"exercise-{exercise}", 0, solution=True)
    hidden = f"### BEGIN HIDDEN TESTS\n{test.source}\n### END HIDDEN TESTS"
    test.source = f"# Exercise {exercise} is checked here.\n{hidden}"
    _nbgrader(test, f"check-{exercise}", POINTS, solution=False)
    return [test]


def answer(solution: list[NotebookNode]) -> list[str]:
    """Return the code that answers an exercise, of the cells of its solution."""
    return [it.source for it in solution if it.cell_type == "code" and not _is(it, "check")]


def name_of_answer(exercise: NotebookNode) -> str:
    """Return the name that a student's cell gives to its answer."""
    found = re.search(r"^(\w+) = \.\.\.", exercise.source, re.MULTILINE)
    assert found, exercise.source
    return found[1]


def _nbgrader(cell: NotebookNode, name: str, points: int, solution: bool) -> None:
    """Give a cell the metadata of nbgrader, version 3 of its schema."""
    cell.metadata["nbgrader"] = {
        "schema_version": 3,
        "grade_id": name,
        "grade": points > 0,
        "solution": solution,
        "locked": not solution,
        "task": False,
        **({"points": points} if points else {}),
    }


def solutions(lesson: Path) -> tuple[dict[int, list[NotebookNode]], list[NotebookNode]]:
    """Return the cells of the solution of each exercise, and those of the exam's questions."""
    found: dict[int, list[NotebookNode]] = {}
    questions: list[NotebookNode] = []
    cells: list[NotebookNode] = []
    for cell in jupytext.read(lesson.parent / "solutions" / lesson.name).cells:
        if cell.cell_type != "markdown":
            cells.append(cell)
            continue
        # One cell of Markdown may end one solution and begin the next.
        for part in re.split(r"^(?=#)", cell.source, flags=re.MULTILINE):
            if heading := _EXERCISE.match(part):
                cells = found[int(heading[1])] = []
                part = part.replace("## ", "### Solution ", 1)
            elif part.startswith("## "):
                cells = questions
            if part.strip() and not part.startswith("# "):
                cells.append(new_markdown_cell(part.strip()))
    return found, questions


def _folded(compare: re.Match[str]) -> str:
    summary = "<summary>Compare, once it has run</summary>"
    return f"<details>\n{summary}\n\n{compare[1].rstrip()}\n\n</details>\n"


def _is(cell: NotebookNode, tag: str) -> bool:
    return tag in cell.metadata.get("tags", [])


def _numbered(notebook: NotebookNode) -> NotebookNode:
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    return notebook
