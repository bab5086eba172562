# SPDX-License-Identifier: GPL-2.0-only
"""Each test has a folder of compiled files of its own, and trusts no scenario yet."""

from __future__ import annotations

import os

import pytest

import tunnelcc as tc
from tunnelcc import modules
from tunnelcc.modules import compiled, trust


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    modules._known.cache_clear()
    modules._classes.clear()
    monkeypatch.setattr(trust, "_granted", False)
    monkeypatch.setattr(trust, "_named", set())


@pytest.fixture
def check_stored_run_needs_no_file(tmp_path):
    """Return a function that stores a run of a file and loads it when the file is gone."""

    def check(name):
        experiment = {"path": {"rate": "20Mbps", "rtt": "20ms"}, "duration": "1s"}
        tc.sweep(experiment, {"cc": [name]}, seeds=1, store=tmp_path / "runs")
        os.unlink(name.removeprefix("linux:"))
        for file in compiled.folder().iterdir():
            file.unlink()
        modules._known.cache_clear()
        store = tc.Store(tmp_path / "runs")
        (id_,) = store.ids()
        result = store.load(id_)
        assert result.goodput > 1e6
        with pytest.raises(tc.RunError, match="not on this machine"):
            tc.run(result.experiment)
        assert not list(compiled.folder().glob("*.so"))

    return check
