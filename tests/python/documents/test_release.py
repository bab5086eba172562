# SPDX-License-Identifier: GPL-2.0-only
"""A release: one version everywhere, and wheels that run where nothing else is installed."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
import tomli as tomllib

import tunnelcc as tc
from helpers import ROOT, load_script
from tunnelcc.errors import RENAMED
from tunnelcc.metrics import METRICS
from tunnelcc.scenario import Experiment
from tunnelcc.schema import keys_of

wheels = load_script(ROOT / "waf-config/wheels.py")


def test_the_changelog_and_the_citation_have_the_version_of_the_package_and_its_date():
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    latest = re.search(r"^## (\S+), (.*)$", changelog, re.MULTILINE)
    cited = re.search(r"^version: (.*)\ndate-released: (.*)$", citation, re.MULTILINE)
    assert latest[1] == cited[1] == tc.__version__
    assert latest[2] in (cited[2], "not released yet")


def test_a_key_or_a_metric_that_is_gone_has_a_new_name_for_two_versions():
    """released-names.json has those of the last versions; a release adds its own."""
    released = json.loads((ROOT / "tests/python/documents/released-names.json").read_text())
    there = {*(it.key for it in keys_of(Experiment)), *METRICS}
    parts = {name.rpartition(".")[2] for name in there}
    for names in released.values():
        gone = {*names["keys"], *names["metrics"]} - there
        assert {name.rpartition(".")[2] for name in gone} <= RENAMED.keys()
    _, *sections = re.split("(?m)^## ", (ROOT / "CHANGELOG.md").read_text("utf-8"))
    versions = [re.match(r"[\d.]+|Unreleased", it)[0] for it in sections]
    told = dict(zip(versions, sections, strict=True))
    minors = [it for it in versions if it.endswith(".0")]
    for old, (new, version) in RENAMED.items():
        assert new in parts
        assert old not in parts
        assert version in minors[:2], f"{old} was told for two versions: take it out of the table"
        assert re.search(rf"`[\w.]*\b{old}`", told[version])
        assert re.search(rf"`[\w.]*\b{new}`", told[version])


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--set", "path.rate_trace=x.csv", "it is 'trace' since 0.2.0"),
        ("--metric", "carrier_retransmits", "it is 'path_retransmits' since 0.2.0"),
    ],
)
def test_who_gives_an_old_name_is_told_the_new_one(option, value, told, run):
    code, _, err = run("run", option, value)
    assert code == 2
    assert told in err


def test_the_readme_of_a_wheel_has_no_links_into_the_clone():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    hook = project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    text = (ROOT / hook["fragments"][0]["path"]).read_text("utf-8")
    for it in hook["substitutions"]:
        text = re.sub(it["pattern"], it["replacement"], text)
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links
    assert all(it.startswith("https://") for it in links)


def test_the_notes_of_a_release_are_its_part_of_the_changelog():
    text = "# Changelog\n\n## {}\n\n### Fixed\n\n- This.\n\n## 1.0.0, 2026-01-01\n\n- That.\n"
    dated = text.format("1.1.0, 2026-02-02")
    assert wheels.notes(dated, "1.1.0") == "### Fixed\n\n- This."
    for first in ("Unreleased", "1.1.0, not released yet"):
        with pytest.raises(SystemExit, match="begins with"):
            wheels.notes(text.format(first), "1.1.0")
    with pytest.raises(SystemExit, match="not with"):
        wheels.notes(dated, "1.2.0")


@pytest.mark.slow
def test_wheels_run_where_nothing_else_is_installed(request, capfd):
    """Each has the same results as this clone, and `tunnelcc doctor` finds all well."""
    there = [it for it in wheels.VERSIONS if wheels.interpreter(it)]
    if missing := {*map(wheels.wheel_version, wheels.VERSIONS)} - {*there}:
        tell = pytest.fail if request.config.getoption("--fail-missing") else pytest.skip
        tell(f"install Python {', '.join(missing)}")
    wheels.main(["build", *there])
    capfd.readouterr()
    here = subprocess.run(
        [sys.executable, "-c", wheels.FIRST_USE], check=True, capture_output=True, text=True
    ).stdout
    for version in there:
        wheels.main(["try", version])
        assert here in capfd.readouterr().out
