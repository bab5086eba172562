# SPDX-License-Identifier: GPL-2.0-only
"""Execute lessons: ``execute.py LESSON.md …`` writes LESSON.ipynb beside each.

Equal lessons and results give equal files: no times, versions or random cell names are stored, and
no widgets, which are dead without a kernel.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jupytext
import nbclient
import nbformat

_WIDGET = "application/vnd.jupyter.widget-view+json"
_PATIENCE = 600  # s, for a cell
_LOOK = 5  # s, after which to look for a reply that was not noticed


class _Client(nbclient.NotebookClient):
    """Looks for a cell's reply again and again.

    Widgets make nbclient send on the socket on which it waits for the reply, which ZeroMQ, whose
    events are edge-triggered, then does not announce: the wait would last for the whole time-out.
    """

    _waited = 0

    async def _async_handle_timeout(
        self, timeout: int, cell: nbformat.NotebookNode | None = None
    ) -> dict[str, Any] | None:
        self._waited += timeout
        if self._waited < _PATIENCE:
            return None
        return await super()._async_handle_timeout(timeout, cell)

    def forget_waits(self, **_: object) -> None:
        self._waited = 0


def run(lesson: Path) -> nbformat.NotebookNode:
    """Return ``lesson`` with the outputs of its cells. Raises what a cell raises."""
    notebook = jupytext.read(lesson)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    client = _Client(
        notebook,
        kernel_name="python3",
        resources={"metadata": {"path": str(lesson.parent)}},
        timeout=_LOOK,
        record_timing=False,
        coalesce_streams=True,
    )
    client.on_cell_start = client.forget_waits
    client.execute()
    return notebook


def execute(lesson: Path) -> None:
    """Run ``lesson`` and write the notebook. Raises what a cell raises."""
    notebook = run(lesson)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [
                output for output in cell.outputs if _WIDGET not in output.get("data", {})
            ]
    del notebook.metadata["language_info"], notebook.metadata["jupytext"]
    notebook.metadata.pop("widgets", None)
    nbformat.write(notebook, lesson.with_suffix(".ipynb"))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        execute(Path(name).resolve())
