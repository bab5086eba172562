# SPDX-License-Identifier: GPL-2.0-only
"""Every output names what made it: package, models, kernel profile, entries, seed."""

from __future__ import annotations

import gzip
import json

import pytest
import xarray

from tunnelcc import catalog
from tunnelcc.results import provenance
from tunnelcc.store import Store

RUN = [
    "--rate", "5Mbps", "--rtt", "20ms", "--duration", "1s", "--seed", "7",
    "--tunnel", "gost-relay-ws", "--set", "hosts.kernel=5.10",
]  # fmt: skip
FILES = (
    "run.nc", "run.csv", "run.flent.gz", "run.json", "run.png", "run.svg", "run.pdf", "run.pcapng",
)  # fmt: skip


@pytest.fixture(scope="module")
def made():
    return {
        **provenance.here(),
        "kernel": "5.10",
        "entries": {"gost-relay-ws": catalog.load("gost-relay-ws").version},
        "seed": 7,
    }


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_a_run_names_what_made_it(name, tmp_path, run, made):
    file = tmp_path / name
    option = {"png": "--plot", "svg": "--plot", "pdf": "--plot", "pcapng": "--capture"}
    code, _, err = run("run", *RUN, option.get(file.suffix[1:], "--output"), file)
    assert code == 0, err
    data = file.read_bytes()
    if name == "run.nc":
        attributes = xarray.load_dataset(file).attrs
        assert json.loads(attributes["entries"]) == made["entries"]
        assert {it: attributes[it] for it in ("tunnelcc", "models", "kernel", "seed")} == {
            **{it: made[it] for it in ("tunnelcc", "models", "kernel")}, "seed": "7",
        }  # fmt: skip
    else:
        text = gzip.decompress(data) if name.endswith("gz") else data
        assert provenance.text(made).encode() in text


def test_the_json_of_a_run_names_what_made_it(run, made):
    code, out, err = run("run", *RUN, "--json")
    assert code == 0, err
    assert made.items() <= json.loads(out).items()


def test_results_of_other_models_are_told_and_keep_their_versions(tmp_path, run, monkeypatch):
    store = ("--store", tmp_path)
    axis = ("--axis", "cc=bbr,cubic", "--seeds", "1", "--set", "duration=1s")
    assert run("sweep", *axis, "--name", "old", *store)[0] == 0
    record = Store(tmp_path).sweep("old")
    run_of = Store(tmp_path).load(record.ids[0])
    assert run_of.provenance == {
        **provenance.here(), "kernel": "6.18", "entries": {}, "seed": 1,
    }  # fmt: skip

    def older(there):
        there.models, there.tunnelcc = "3", "0.0.7"
        return there

    Store(tmp_path).update_sweep("old", older)
    told = "made by tunnelcc 0.0.7, models 3; this is tunnelcc"
    for arguments in (
        ("plot", tmp_path / "old", "--output", tmp_path / "x.svg"),
        ("report", tmp_path / "old", "--output", tmp_path / "page"),
    ):
        code, _, err = run(*arguments)
        assert code == 0, err
        assert told in err
    assert "tunnelcc 0.0.7, models 3" in (tmp_path / "x.svg").read_text()
    page = (tmp_path / "page/report.html").read_text()
    assert "tunnelcc 0.0.7, models 3, kernel 6.18, seeds 1" in page
    assert "version = {0.0.7}" in (tmp_path / "page/references.bib").read_text()
