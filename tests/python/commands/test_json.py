# SPDX-License-Identifier: GPL-2.0-only
"""``--json``: one shape for all commands, after the schema of `tunnelcc show schema`."""

from __future__ import annotations

import json

import jsonschema
import pytest

from helpers import ROOT
from tunnelcc.results import provenance

AXES = (
    *("--axis", "cc=bbr,cubic", "--axis", "path.loss=0,1%"),
    *("--seeds", "2", "--set", "duration=1s"),
)


@pytest.fixture
def validator(run):
    code, out, _ = run("show", "schema")
    assert code == 0
    return jsonschema.Draft202012Validator(json.loads(out))


@pytest.fixture
def store(tmp_path, run):
    assert run("sweep", *AXES, "--name", "x", "--store", tmp_path / "json")[0] == 0
    return tmp_path / "json"


def _read(run, validator, *arguments, status=0):
    code, out, err = run(*arguments, "--json")
    assert code == status, err
    found = json.loads(out)  # and nothing else
    validator.validate(found)
    assert {it: found[it] for it in ("tunnelcc", "models")} == provenance.here()
    for rows in found["tables"].values():
        for row in rows:
            for key, value in row.items():
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    unit = found["units"][key]
                    assert unit != "unit" or row["unit"]
    return found, err


def test_a_sweep_has_its_runs_conditions_and_differences(store, run, validator):
    found, err = _read(run, validator, "sweep", *AXES, "--name", "x", "--store", store)
    assert "goodput Mbit/s" in err  # words
    runs, conditions, differences = (
        found["tables"][it] for it in ("runs", "conditions", "differences")
    )
    assert (len(runs), len(conditions), len(differences)) == (8, 4, 2)
    assert found["command"] == "sweep"
    assert found["units"]["goodput"] == "bit/s"
    assert found["units"]["flow_rtt.0"] == "s"
    first = [it["goodput"] for it in runs if (it["cc"], it["path.loss"]) == ("bbr", 0)]
    (condition,) = [it for it in conditions if (it["cc"], it["path.loss"]) == ("bbr", 0)]
    assert condition["goodput"] == pytest.approx(sum(first) / 2)
    assert (condition["goodput.least"], condition["goodput.most"]) == (min(first), max(first))
    assert all(it["low"] >= -1 for it in differences if it["unit"] == "1")
    listed, _ = _read(run, validator, "store", "ls", "x", "--store", store)
    assert [it["goodput"] for it in listed["tables"]["runs"]] == [it["goodput"] for it in runs]


def test_compare(store, run, validator, tmp_path):
    arguments = ("--cc", "bbr,cubic", "--seeds", "2", "--duration", "1s", "--store", store)
    found, _ = _read(run, validator, "compare", *arguments, "--plot", tmp_path / "x.svg")
    assert {it["cc"] for it in found["tables"]["conditions"]} == {"bbr", "cubic"}


def test_search_and_fit(store, run, validator, tmp_path):
    over = ("--over", "path.loss=0..2%", "--set", "duration=1s", "--minimise", "goodput")
    budget = ("--budget", "20", "--fresh-seeds", "2", "--store", store)
    found, _ = _read(run, validator, "search", *over, *budget, "--output", tmp_path / "found.toml")
    (find,) = found["tables"]["find"]
    assert find["value"] > 0
    assert found["units"]["value"] == "bit/s"
    measured = tmp_path / "m.json"
    assert run("run", "--duration", "5s", "--rate", "20Mbps", "--output", measured)[0] == 0
    found, _ = _read(run, validator, "fit", measured, "--runs", "40")
    (rate,) = [it for it in found["tables"]["path"] if it["key"] == "rate"]
    assert rate["low"] <= rate["value"] <= rate["high"]
    assert rate["unit"] == "bit/s"


@pytest.mark.parametrize(
    ("arguments", "table"),
    [
        (("list",), "tunnels"),
        (("show", "metrics"), "metrics"),
        (("show", "experiment", "path"), "keys"),
        (("show", "tunnel", "wireguard"), "settings"),
        (("show", "cc", "bbr"), "parameters"),
        (("show", "profile", "reference-host"), "operations"),
        (("show", "payload", "random"), "payloads"),
        (("show", "experiment", ROOT / "scenarios/examples/office.toml"), "links"),
        (("doctor",), "checks"),
    ],
)
def test_what_there_is_has_the_same_shape(arguments, table, run, validator):
    found, _ = _read(run, validator, *arguments)
    assert found["tables"][table]


def test_the_sweeps_of_a_store(store, run, validator):
    found, _ = _read(run, validator, "store", "ls", "--store", store)
    (sweep,) = [it for it in found["tables"]["sweeps"] if it["name"] == "x"]
    assert (sweep["runs"], sweep["failed"]) == (8, 0)


def test_a_failed_command_has_its_status_and_what_it_found(run, validator, tmp_path):
    axes = ("--axis", "path.buffer=500B,1bdp", "--seeds", "1", "--set", "duration=1s")
    found, _ = _read(run, validator, "sweep", *axes, "--store", tmp_path, status=1)
    errors = [it["error"] for it in found["tables"]["runs"]]
    assert "room for one packet" in errors[0]
    assert errors[1] == ""


def test_a_run_has_the_keys_that_give_more(run):
    options = ("--rate", "20Mbps", "--rtt", "20ms", "--duration", "3s")
    code, out, _ = run("run", *options, "--json")
    limits = json.loads(out)["limits"]
    assert code == 0
    assert [it["keys"] for it in limits] == [["path.rate"]]
    assert limits[0]["gain"] > 0.5
    assert limits[0]["from"] == ["20Mbps"]
