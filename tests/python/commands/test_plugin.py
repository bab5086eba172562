# SPDX-License-Identifier: GPL-2.0-only
"""Commands of other packages: entry points of the group tunnelcc.commands."""

from __future__ import annotations

import json

import pytest

MODULE = """
import click
import tunnelcc as tc
from tunnelcc.commands.common import json_option
from tunnelcc.output import records

@click.command()
@click.option("--rate", default="5Mbps")
@json_option
def quickest(rate):
    "Which congestion control is the fastest?"
    path = tc.Path(rate=rate, rtt="20ms")
    rows = []
    for cc in ("bbr", "cubic"):
        result = tc.run(tc.Experiment(path=path, flows=[tc.Flow(cc=cc)], duration="1s"))
        rows.append({"cc": cc, "goodput": result.goodput})
    records.tell("quickest", rows, {"goodput": "bit/s"})
    click.echo(max(rows, key=lambda it: it["goodput"])["cc"])

wrong = 3
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that adds commands, as it is when it is installed."""
    (tmp_path / "some_plugin.py").write_text(MODULE)
    about = tmp_path / "some_plugin-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: some-plugin\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[tunnelcc.commands]\nquickest = some_plugin:quickest\n"
        "wrong = some_plugin:wrong\nabsent = some_plugin:nothing\n"
    )
    monkeypatch.syspath_prepend(tmp_path)


def test_a_package_adds_a_command(package, run):
    code, out, err = run("quickest", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["command"] == "quickest"
    assert [it["cc"] for it in found["tables"]["quickest"]] == ["bbr", "cubic"]
    assert found["units"]["goodput"] == "bit/s"


@pytest.mark.parametrize(
    ("name", "told"), [("wrong", "no click.Command"), ("absent", "AttributeError")]
)
def test_a_plug_in_that_cannot_be_used_is_named(package, run, name, told):
    code, _, err = run(name, "--some", "option")
    assert code == 1
    assert "some_plugin" in err
    assert told in err
    code, out, _ = run("--help")  # which has all others
    assert code == 0
    assert "quickest" in out


def test_help_has_the_commands_of_others_once(package, run):
    code, out, err = run("quickest", "--help")
    assert code == 0, err
    assert "Which congestion control" in out
    code, out, _ = run("store", "--help")
    assert "reproduce" not in out
