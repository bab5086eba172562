# SPDX-License-Identifier: GPL-2.0-only
"""Parts of a result have types: editors complete their names, and type checkers know them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from helpers import ROOT, load_script
from tunnelcc.results import measured


def test_the_stub_is_that_of_the_models():
    """Otherwise: make format."""
    stub = ROOT / "tunnelcc" / "results" / "measured.pyi"
    assert stub.read_text("utf-8") == load_script(ROOT / "waf-config" / "write-stub.py").text()


def test_a_notebook_completes_what_nobody_has_read_yet(plain_result):
    way = plain_result.links["path"].forward
    assert {"queue_drops", "queue_bytes", "utilisation"} <= set(dir(way))
    assert {"goodput_series", "total_bytes"} <= set(dir(plain_result.flows[0]))
    assert {"cwnd", "srtt", "name", "retransmits"} <= set(dir(plain_result.legs[0][0]))
    for part in (way, plain_result.flows[0], plain_result.legs[0][0], plain_result.hosts[0]):
        for name in measured.names(part.kind):
            value = getattr(part, name)
            assert value is None or isinstance(value, (int, float, str, np.ndarray)), name


@pytest.mark.slow
def test_a_type_checker_knows_them(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(
        "import tunnelcc as tc\n"
        "result = tc.run(tc.Experiment())\n"
        "reveal_type(result.flows[0].goodput_series)\n"
        "reveal_type(result.links['path'].forward.queue_drops)\n"
        "reveal_type(result.legs[0][0].name)\n"
        "result.flows[0].godput_series\n"
    )
    told = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-incremental", str(file)],
        capture_output=True, text=True, cwd=tmp_path, check=False,
    ).stdout  # fmt: skip
    assert "float64" in told
    assert 'Revealed type is "int | None"' in told.replace("Union[int, None]", "int | None")
    assert 'Revealed type is "str"' in told.replace("builtins.", "")
    assert 'has no attribute "godput_series"' in told
