# SPDX-License-Identifier: GPL-2.0-only
"""Write what a class needs: ``handouts.py FOLDER LESSON.md …`` (``make handouts``).

``students/`` is to hand out. ``lecturers/`` has solutions, checks and questions for an exam.
``nbgrader/`` is a course of nbgrader, whose solutions and tests ``generate_assignment`` removes.
No notebook has outputs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import lessons
import nbformat

_CONFIG = """\
c = get_config()
c.CourseDirectory.course_id = "tunnelcc"
c.ClearSolutions.code_stub = {"python": "# Your code is here."}
# The longest cell takes ten seconds on two cores. A busy machine needs longer, also for a kernel.
c.ExecutePreprocessor.timeout = 300
c.ExecutePreprocessor.startup_timeout = 300
"""


def write(folder: Path, lesson: Path) -> None:
    """Write the notebooks of a lesson."""
    for name, make in (
        (f"students/{lesson.stem}", lessons.handout),
        (f"lecturers/{lesson.stem}", lessons.whole),
        (f"nbgrader/source/{lesson.stem}/{lesson.stem}", lessons.assignment),
    ):
        file = folder / f"{name}.ipynb"
        file.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(make(lesson), file)
    (folder / "nbgrader/nbgrader_config.py").write_text(_CONFIG, "utf-8")


if __name__ == "__main__":
    for path in sys.argv[2:]:
        write(Path(sys.argv[1]), Path(path))
    print(f"{sys.argv[1]}: students, lecturers, nbgrader")
