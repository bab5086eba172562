# SPDX-License-Identifier: GPL-2.0-only
"""Stores that 0.1.0 and 0.2.0 wrote: no command hides it, changes them, or loses runs."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

import tunnelcc as tc
from tunnelcc.store import Store

OLDER = Path(__file__).with_name("older")
#: Version → its models.
VERSIONS = {"0.1.0": "1+f09e68e7", "0.2.0": "7+2076b22f"}


@pytest.fixture(params=VERSIONS)
def older(request, tmp_path):
    """A version, and a store of its own: a sweep ``old`` of eight runs."""
    with tarfile.open(OLDER / f"{request.param}.tar.xz") as archive:
        archive.extractall(tmp_path / "store", filter="data")
    return request.param, tmp_path / "store"


def _files(store):
    return {it: it.read_bytes() for it in store.rglob("*") if it.is_file() and it.name[0] != "."}


def test_every_command_that_reads_tells_the_version(older, run, tmp_path):
    version, store = older
    told = f"made by tunnelcc {version}, models {VERSIONS[version]}; this is tunnelcc"
    before = _files(store)
    out = run("store", "ls", "--store", store)[1]
    assert told in out
    readers = [
        ("store", "ls", "old", "--store", store),
        ("sweep", "--name", "old", "--axis", "cc=bbr,cubic", "--dry-run", "--store", store),
    ]
    if version != "0.1.0":
        readers += [
            ("store", "export", "old", tmp_path / "x.csv", "--store", store),
            ("plot", store / "old", "--output", tmp_path / "x.svg"),
            ("report", store / "old", "--output", tmp_path / "page"),
        ]
    for arguments in readers:
        code, _, err = run(*arguments)
        assert code == 0, err
        assert told in err
    assert _files(store) == before
    if version != "0.1.0":
        assert f"tunnelcc {version}, models {VERSIONS[version]}" in (tmp_path / "x.csv").read_text()


def test_runs_that_are_not_read_any_more_are_whole(older, run, tmp_path):
    version, store = older
    before = _files(store)
    code, out, _ = run("store", "verify", "--delete", "--store", store)
    assert (code, out.strip()) == (0, "8 runs, 0 damaged and deleted")
    assert _files(store) == before
    if version == "0.1.0":
        for arguments in (
            ("plot", store / "old", "--output", tmp_path / "x.svg"),
            ("report", store / "old", "--output", tmp_path / "page"),
            ("store", "export", "old", tmp_path / "x.csv", "--store", store),
        ):
            code, _, err = run(*arguments)
            assert code == 2
            assert "an older tunnelcc wrote it" in err


def test_a_sweep_runs_again_only_when_asked_and_what_it_replaces_is_pruned(older, run):
    version, store = older
    record = Store(store).sweep("old")
    scenario = store.parent / "old.toml"
    scenario.write_text(record.scenario)
    before = _files(store)
    code, _, err = run("sweep", scenario, "--store", store)
    assert code == 2
    assert "--again" in err
    assert f"made by tunnelcc {version}" in err
    with pytest.raises(tc.ConfigError, match="again=True"):
        tc.sweep(scenario, store=store, progress=False)
    assert _files(store) == before
    assert run("store", "prune", "--store", store)[1].startswith("0 runs")
    code, out, err = run("sweep", scenario, "--store", store, "--again")
    assert code == 0, err
    assert "8 runs (8 run, 0 cached, 0 failed)" in out
    assert len(list(Store(store).ids())) == 16
    assert run("store", "prune", "--store", store, "--dry-run")[1].startswith("8 runs")
    assert run("store", "prune", "--store", store)[1].startswith("8 runs of no sweep deleted")
    assert {*Store(store).ids()} == {*Store(store).sweep("old").ids}
    assert run("store", "prune", "--all", "--store", store)[1].startswith("0 runs")


def test_stores_are_merged_and_different_sweeps_of_one_name_are_refused(older, run, tmp_path):
    _, store = older
    target = tmp_path / "target"
    for new in (8, 0):
        out = run("store", "merge", store, "--store", target)[1]
        assert f"{new} runs" in out
    runs = {it.relative_to(store): it.read_bytes() for it in store.rglob("*.run")}
    assert {it.relative_to(target): it.read_bytes() for it in target.rglob("*.run")} == runs
    other = tmp_path / "other"
    base = {"path": {"rate": "5Mbps"}, "duration": "1s"}
    tc.sweep(base, {"cc": ["bbr"]}, 1, name="old", store=other, progress=False)
    before = _files(target)
    code, _, err = run("store", "merge", other, "--store", target)
    assert code == 2
    assert "another sweep" in err
    assert _files(target) == before
