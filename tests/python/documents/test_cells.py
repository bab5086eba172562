# SPDX-License-Identifier: GPL-2.0-only
"""What cells of a notebook show, in a kernel of IPython; an interrupt leaves what was finished."""

from __future__ import annotations

import nbformat
from nbclient import NotebookClient

SMALL = "path={'rate': '5Mbps', 'rtt': '20ms'}, duration='2s'"


def _executed(folder, *cells, **options):
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(it) for it in ("import tunnelcc as tc", *cells)]
    )
    client = NotebookClient(notebook, resources={"metadata": {"path": str(folder)}}, **options)
    client.execute()
    return client, notebook.cells[1:]


def _html(cell):
    (output,) = [it for it in cell.outputs if it.output_type == "execute_result"]
    return output.data["text/html"]


def test_experiments_runs_and_sweeps_have_a_form(tmp_path):
    _, (experiment, run, sweep) = _executed(
        tmp_path,
        f"tc.Experiment({SMALL}, tunnel='wireguard')",
        f"tc.run(tc.Experiment({SMALL}, flows=[{{'cc': 'bbr', 'count': 2}}]))",
        f"tc.summary(tc.sweep(dict({SMALL}), {{'cc': ['bbr', 'cubic']}}, seeds=2))",
    )
    html = _html(experiment)
    assert all(it in html for it in ("wireguard", "5Mbps", "20ms"))
    html = _html(run)
    assert all(it in html for it in ("<svg", "2 × bbr", "goodput", "Mbit/s", "seed 1"))
    assert "were limited" in html
    html = _html(sweep)
    assert html.count("<svg") == 2
    assert all(it in html for it in ("bbr", "cubic", "±", "seeds 1 and 2"))


def test_an_interrupt_keeps_finished_runs_and_the_kernel(tmp_path):
    _, (interrupted, kept) = _executed(
        tmp_path,
        "import os, signal, threading\n"
        "threading.Timer(4, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "tc.sweep({'path': {'rate': '50Mbps', 'rtt': '20ms'}, 'duration': '20s'},"
        " {'cc': ['bbr', 'cubic']}, seeds=2000, name='long', jobs=1)",
        "import numpy as np\nint(np.isfinite(tc.open('runs/long').goodput).sum())",
        allow_errors=True,
    )
    assert interrupted.outputs[-1].ename == "KeyboardInterrupt"
    assert int(kept.outputs[-1].data["text/plain"]) > 0
