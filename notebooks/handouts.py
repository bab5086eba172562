# SPDX-License-Identifier: GPL-2.0-only
"""Write hand-outs: ``handouts.py FOLDER LESSON.md …`` (``make handouts``).

NAME.ipynb is what a student gets. It has no outputs, no answers and no checks, and what a lesson
says of a result is folded until the student opens it. NAME-solutions.ipynb has it all, also without
outputs.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import jupytext
import nbformat

_ANSWER = re.compile(r"<details markdown>\n<summary>Answer.*?</details>\n?", re.DOTALL)
#: What a lesson says of a result, up to the next question.
_COMPARE = re.compile(
    r"^\*\*Compare\.\*\*\s+(.*?)(?=\n\*\*Predict|\n#|\Z)", re.DOTALL | re.MULTILINE
)
_CHECKS = re.compile(
    r" Cells that start with `# Check` .*$| The cell at the end computes .*$", re.M
)


def handout(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return a lesson without answers and checks; what it says of results is folded."""
    cells = []
    for cell in notebook.cells:
        if "check" in cell.metadata.get("tags", []):
            continue
        if cell.cell_type == "markdown":
            text = _CHECKS.sub("", _ANSWER.sub("*Your answer:*\n", cell.source))
            text = text.replace("Predict, run, then open the answer.", "Predict, run, and explain.")
            cell.source = _COMPARE.sub(_folded, text)
        cells.append(cell)
    notebook.cells = cells
    return notebook


def _folded(compare: re.Match[str]) -> str:
    summary = "<summary>Compare, once it has run</summary>"
    return f"<details>\n{summary}\n\n{compare[1].rstrip()}\n\n</details>\n"


def write(folder: Path, lesson: Path) -> None:
    """Write both notebooks of a lesson."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, change in ((lesson.stem, handout), (f"{lesson.stem}-solutions", lambda it: it)):
        notebook = change(jupytext.read(lesson))
        for number, cell in enumerate(notebook.cells):
            cell.id = f"cell-{number}"
        nbformat.write(notebook, folder / f"{name}.ipynb")


if __name__ == "__main__":
    for path in sys.argv[2:]:
        write(Path(sys.argv[1]), Path(path))
