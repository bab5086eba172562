# SPDX-License-Identifier: GPL-2.0-only
"""A release: one version everywhere, and wheels that run where nothing else is installed."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import tunnelcc as tc
from helpers import ROOT, load_script

wheels = load_script(ROOT / "waf-config/wheels.py")


def test_the_changelog_and_the_citation_have_the_version_of_the_package_and_its_date():
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    latest = re.search(r"^## (\S+), (.*)$", changelog, re.MULTILINE)
    cited = re.search(r"^version: (.*)\ndate-released: (.*)$", citation, re.MULTILINE)
    assert latest[1] == cited[1] == tc.__version__
    assert latest[2] in (cited[2], "not released yet")


@pytest.mark.slow
def test_wheels_run_where_nothing_else_is_installed(request, capfd):
    """Each has the same results as this clone, and `tunnelcc doctor` finds all well."""
    if missing := [it for it in wheels.VERSIONS if not wheels.interpreter(it)]:
        tell = pytest.fail if request.config.getoption("--fail-missing") else pytest.skip
        tell(f"install Python {', '.join(missing)}")
    wheels.main(["build", *wheels.VERSIONS])
    capfd.readouterr()
    here = subprocess.run(
        [sys.executable, "-c", wheels.FIRST_USE], check=True, capture_output=True, text=True
    ).stdout
    for version in wheels.VERSIONS:
        wheels.main(["try", version])
        assert here in capfd.readouterr().out
