# SPDX-License-Identifier: GPL-2.0-only
"""Execute lessons: ``execute.py LESSON.md …`` writes LESSON.ipynb beside each.

Equal lessons and results give equal files: no times, versions or random cell names are stored, and
no widgets, which are dead without a kernel.
"""

from __future__ import annotations

import sys
from pathlib import Path

import lessons
import nbclient
import nbformat

_WIDGET = "application/vnd.jupyter.widget-view+json"


def execute(lesson: Path) -> None:
    """Run ``lesson`` and write the notebook. Raises what a cell raises."""
    notebook = lessons.page(lesson)
    client = nbclient.NotebookClient(
        notebook,
        kernel_name="python3",
        resources={"metadata": {"path": str(lesson.parent)}},
        timeout=600,
        record_timing=False,
        coalesce_streams=True,
    )
    client.execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [
                output for output in cell.outputs if _WIDGET not in output.get("data", {})
            ]
            for output in cell.outputs:
                if "image/png" in output.get("data", {}):
                    output.metadata["image/png"] = {"alt": cell.metadata["alt"]}
    del notebook.metadata["language_info"], notebook.metadata["jupytext"]
    notebook.metadata.pop("widgets", None)
    nbformat.write(notebook, lesson.with_suffix(".ipynb"))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        execute(Path(name).resolve())
