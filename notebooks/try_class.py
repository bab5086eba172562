# SPDX-License-Identifier: GPL-2.0-only
"""Run a class through stock tools: ``try_class.py FOLDER LESSON.md …`` (``make check-lessons``).

For each lesson, nbconvert executes the hand-out as a student has it. nbgrader makes the assignment
and grades two students: one has all answers right; the other has one right, one wrong, and no more.
Prints points and the CPU time of the hand-out, and ends with 1 if a student has other points. It
needs nbgrader.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import handouts
import lessons
import nbformat
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config

#: No exercise has it for its answer.
_WRONG = "-12345"
_STUDENTS = ("right", "mixed")


def _cpu() -> float:
    """Return the CPU time of all processes that have ended, s."""
    now = os.times()
    return now.children_user + now.children_system


def _execute(notebook: Path) -> float:
    """Execute a notebook as ``jupyter nbconvert`` does, and return its CPU time, s."""
    begin = _cpu()
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--stdout"]
    subprocess.run(
        [*command, "--ExecutePreprocessor.startup_timeout=900", "--log-level=ERROR", str(notebook)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return _cpu() - begin


def _submit(course: Path, lesson: Path) -> dict[str, int]:
    """Write what the students hand in, and return the points that they should have."""
    release = course / "release" / lesson.stem / f"{lesson.stem}.ipynb"
    solutions, _ = lessons.solutions(lesson)
    expected = dict.fromkeys(_STUDENTS, 0)
    for student in _STUDENTS:
        notebook = nbformat.read(release, as_version=4)
        for cell in notebook.cells:
            name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
            if not name.startswith("exercise-"):
                continue
            number = int(name.removeprefix("exercise-"))
            is_right = student == "right" or (student == "mixed" and number == 1)
            if is_right:
                cell.source = "\n".join(lessons.answer(solutions[number]))
                expected[student] += lessons.POINTS
            elif student == "mixed" and number == 2:
                cell.source = f"{lessons.name_of_answer(cell)} = {_WRONG}"
        file = course / "submitted" / student / lesson.stem / release.name
        file.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, file)
    return expected


def _grade(course: Path, lesson: Path) -> bool:
    """Grade the students of a lesson; return whether they have the points that they should."""
    config = Config()
    config.CourseDirectory.root = str(course)
    config.CourseDirectory.course_id = "tunnelcc"
    config.ClearSolutions.code_stub = {"python": "# Your code is here."}
    config.ExecutePreprocessor.timeout = config.ExecutePreprocessor.startup_timeout = 900
    api = NbGraderAPI(config=config)
    made = api.generate_assignment(lesson.stem, force=True)
    if not made["success"]:
        print(made["log"], made["error"])
        return False
    expected = _submit(course, lesson)
    found = {}
    for student in _STUDENTS:
        graded = api.autograde(lesson.stem, student, force=True)
        if not graded["success"]:
            print(graded["log"], graded["error"])
            return False
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        for student in _STUDENTS:
            found[student] = gradebook.find_submission(lesson.stem, student).code_score
    told = ", ".join(f"{name} {found[name]:g} of {expected[name]}" for name in _STUDENTS)
    print(f"    nbgrader, points for answers: {told}", flush=True)
    return found == expected


def main(folder: Path, paths: list[Path]) -> int:
    """Try each lesson; return the exit status."""
    failed = []
    warnings.filterwarnings("ignore", module="nbgrader")  # of SQLAlchemy
    # nbgrader runs alembic.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    shutil.rmtree(folder, ignore_errors=True)
    for lesson in paths:
        handouts.write(folder, lesson)
        seconds = _execute(folder / "students" / f"{lesson.stem}.ipynb")
        print(f"{lesson.stem}: {seconds:.0f} s of CPU time", flush=True)
        if not _grade(folder.resolve() / "nbgrader", lesson):
            failed.append(lesson.stem)
    print(*failed, sep="\n", end="\n" if failed else "")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), [Path(it) for it in sys.argv[2:]]))
