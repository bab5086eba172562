# SPDX-License-Identifier: GPL-2.0-only
"""Large sweeps: their metrics in columns, without series, and what is finished known at once."""

from __future__ import annotations

import shutil
import sys

import numpy as np
import pytest
from pyarrow import parquet

import tunnelcc as tc
from tunnelcc import sweeps
from tunnelcc.results import provenance
from tunnelcc.store import METRICS, Store, StoreError
from tunnelcc.sweeps import columns, results

BASE = {"path": {"rate": "2Mbps"}, "duration": "1s", "flows": [{"cc": "bbr", "count": 2}]}
AXES = {"path.rtt": ["10ms", "20ms"], "cc": ["bbr", "cubic"]}


@pytest.fixture(scope="module", autouse=True)
def small():
    """Let sweeps of more than three runs be large."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "LEAST_RUNS", 3)
        patch.setattr(sweeps, "LEAST_RUNS", 3)
        patch.setattr(sweeps, "MOST_WITH_SERIES", 3)
        yield


@pytest.fixture(scope="module")
def swept(small, tmp_path_factory):
    """A store of a large sweep, and its results."""
    store = tmp_path_factory.mktemp("swept")
    return store, _sweep(store)


@pytest.fixture
def copied(swept, tmp_path):
    """A copy of that store, and the results."""
    store = tmp_path / "store"
    shutil.copytree(swept[0], store)
    return store, swept[1]


def _sweep(store, seeds=2, **options):
    return tc.sweep(BASE, AXES, seeds, store=store, jobs=1, name="x", progress=False, **options)


def test_a_large_sweep_is_a_table_that_other_programs_read(swept, tmp_path, run, monkeypatch):
    store, done = swept
    assert {*Store(store).kinds().values()} == {METRICS}
    file = tmp_path / "x.parquet"
    code, _, err = run("store", "export", "x", file, "--store", store)
    assert code == 0, err
    read = parquet.read_table(file)
    about = {key.decode(): it.decode() for key, it in read.schema.metadata.items()}
    assert about.items() >= {**provenance.here(), "kernel": "6.18", "seeds": "1 and 2"}.items()
    table = read.to_pandas()
    assert len(table) == 8
    assert table["path.rtt"].tolist() == [0.01] * 4 + [0.02] * 4
    assert table["cc"].tolist() == ["bbr", "bbr", "cubic", "cubic"] * 2
    assert table["seed"].tolist() == [1, 2] * 4
    np.testing.assert_array_equal(table["goodput"], done["goodput"].values.ravel())
    np.testing.assert_array_equal(table["flow_rtt.1"], done["flow_rtt"].values[..., 1].ravel())
    # Opened from it, no file of a run is read, and the results are the same.
    with monkeypatch.context() as patch:
        patch.setattr(Store, "row", lambda *_: pytest.fail("it was read"))
        assert tc.open(store / "x").identical(done)
    with pytest.raises(tc.TunnelccError, match=r"without its series.*--series"):
        tc.open(store / "x", series=True)


@pytest.mark.parametrize("name", ["mine.py", "mine.py:Mine"])
def test_what_a_file_imports_is_known_to_have_changed(tmp_path, name):
    """Also where runs are known without their experiments. A title that is a device is not read."""
    (tmp_path / "mine.py").write_text(
        "import helper\nimport tunnelcc as tc\nclass Mine(tc.CongestionControl):\n"
        "    def on_ack(self, state, ack):\n        state.cwnd = helper.WINDOW\n"
    )
    base = {**BASE, "flows": [{"cc": str(tmp_path / name)}], "title": "/dev/zero"}
    rates = []
    for window in (2, 20):
        (tmp_path / "helper.py").write_text(f"WINDOW = {window}")
        axes = {"path.rtt": ["100ms", "110ms"]}
        found = tc.sweep(base, axes, 2, store=tmp_path, jobs=1, name="x", progress=False)
        rates.append(found["goodput"].values.min())
    assert rates[1] > 2 * rates[0]


def test_packed_columns_are_not_unpacked(copied):
    """A file of 1 MB may hold 1 GB. Ours is not packed."""
    store, done = copied
    file = Store(store).columns_file("x")
    with np.load(file) as kept:
        arrays = dict(kept)
    np.savez_compressed(file, **arrays | {"goodput": np.zeros_like(arrays["goodput"])})
    assert tc.open(store / "x").identical(done)


def test_a_store_with_links_changes_no_other_file(copied, tmp_path):
    """To read a store of somebody else, or to add to it, writes to it alone."""
    store, done = copied
    theirs = tmp_path / "theirs"
    theirs.write_text("precious")
    for link in (Store(store).columns_file("x"), store / "sweeps" / "x.json"):
        data = link.read_bytes()
        link.unlink()
        if link.suffix == ".json":
            (tmp_path / "x.json").write_bytes(data)
            link.symlink_to(tmp_path / "x.json")
        else:
            link.symlink_to(theirs)
        assert tc.open(store / "x").identical(done)
        assert theirs.read_text() == "precious"
    _sweep(store, seeds=3)
    assert (tmp_path / "x.json").read_bytes() == data
    lock = store / "sweeps" / ".lock"
    lock.unlink()
    lock.symlink_to(tmp_path / "new")
    with pytest.raises(StoreError, match="cannot be written"):
        _sweep(store, seeds=4)
    assert not (tmp_path / "new").exists()


def test_finished_runs_are_known_without_making_their_experiments(copied, monkeypatch):
    store, done = copied
    with monkeypatch.context() as patch:
        patch.setattr(sweeps.execute, "experiment_spec", lambda _: pytest.fail("it was made"))
        assert _sweep(store).identical(done)
    # What is gone is run again, and what was changed since is looked at.
    ids = done["run"].values.ravel().tolist()
    Store(store).remove(ids[3:4])
    assert tc.open(store / "x")["error"].values.ravel()[3] == results.NOT_RUN
    declared = tc.Sweep(BASE, AXES, 2, name="x")
    tally = sweeps.run(declared, store, jobs=1, progress=False)
    assert (tally.cached, tally.done, tally.ids) == (7, 1, ids)
    assert tc.open(store / "x").identical(done)
    monkeypatch.setattr(sweeps, "sources", lambda table: "changed")
    made = []
    real = sweeps.execute.experiment_spec
    monkeypatch.setattr(sweeps.execute, "experiment_spec", lambda it: made.append(it) or real(it))
    assert _sweep(store).identical(done)
    assert len(made) == 8


def test_series_are_kept_where_they_are_asked_for(copied, tmp_path):
    store, done = copied
    kept = _sweep(store, series=True)
    assert "cwnd" in kept
    np.testing.assert_array_equal(kept["goodput"], done["goodput"])
    assert METRICS not in Store(store).kinds().values()

    def bytes_read(run):
        return run["flow_delivered_bytes"]

    own = tc.sweep(
        BASE, AXES, 1, store=tmp_path / "own", jobs=1, progress=False, metrics=[bytes_read]
    )
    assert (own["bytes_read"] > 0).all()


@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_table_is_made_anew(swept, seed):
    store, done = swept
    file = store / "sweeps" / "x.npz"
    data = bytearray(file.read_bytes())
    draw = np.random.default_rng(seed)
    for place in draw.integers(0, len(data), 1 + seed):
        data[place] ^= int(draw.integers(1, 256))
    file.write_bytes({6: data[: len(data) // 2], 7: b""}.get(seed, data))
    assert tc.open(store / "x").identical(done)
    # A changed date in the archive, say, changes no number: then the file may stay.
    assert seed < 6 or file.read_bytes() != data


def test_where_no_table_can_be_written_runs_are_read(copied):
    store, done = copied
    file = store / "sweeps" / "x.npz"
    file.unlink()
    file.mkdir()
    assert tc.open(store / "x").identical(done)


def test_failed_and_impossible_runs_are_in_the_table(tmp_path):
    axes = {"path.buffer": ["500B", "1bdp"], "cc": ["bbr", "cubic"]}
    done = tc.sweep(BASE, axes, 1, store=tmp_path, jobs=1, name="y", progress=False)
    assert tc.open(tmp_path / "y").identical(done)
    assert "room for one packet" in done["error"].values[0, 0, 0]
    tally = sweeps.run(tc.Sweep(BASE, axes, 1, name="y"), tmp_path, jobs=1, progress=False)
    assert (tally.cached, tally.failed) == (2, 2)


def test_who_lacks_pyarrow_is_told_before_anything_runs(tmp_path, run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, out, err = run(
        "sweep", "--axis", "cc=bbr,cubic", "--output", tmp_path / "x.parquet", "--store", tmp_path
    )
    assert (code, out) == (2, "")
    assert "[parquet]'" in err
    assert not list(tmp_path.iterdir())
