# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps: from axes to a Dataset, run once, each run the same as alone."""

from __future__ import annotations

import numpy as np
import pytest

import tunnelcc as tc
from tunnelcc import metrics, sweeps
from tunnelcc.store import Store, run_id

BASE = {"path": {"rate": "10Mbps"}, "flows": [{"cc": "bbr"}, {"cc": "cubic"}], "duration": "1s"}
AXES = {"path.rtt": ["10ms", "40ms"], "path.loss": [0, "1%"]}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("store") / "runs"


@pytest.fixture(scope="module")
def results(store):
    return tc.sweep(BASE, AXES, seeds=2, name="two by two", store=store, jobs=2, progress=False)


def test_the_dataset_has_axes_units_and_provenance(results):
    assert results["goodput"].dims == ("path.rtt", "path.loss", "seed")
    assert results["flow_goodput"].dims == ("path.rtt", "path.loss", "seed", "flow")
    assert results["path.rtt"].values.tolist() == [0.01, 0.04]
    assert results["path.rtt"].attrs == {"units": "s", "long_name": "base round-trip time"}
    assert results["path.loss"].values.tolist() == [0, 0.01]
    assert results["seed"].values.tolist() == [1, 2]
    assert results["goodput"].attrs["units"] == "bit/s"
    assert set(results["error"].values.ravel()) == {""}
    assert results["flow_cc"].values[0, 0, 0].tolist() == ["bbr", "cubic"]
    assert results.attrs["tunnelcc"] == tc.__version__
    assert len(results.attrs["models"]) == 32


def test_the_scenario_in_the_dataset_declares_the_same_sweep(results, tmp_path):
    file = tmp_path / "again.toml"
    file.write_text(results.attrs["scenario"])
    again, first = tc.Sweep(file), tc.Sweep(BASE, AXES, 2)
    assert again.dims == first.dims
    assert list(again.experiments()) == list(first.experiments())


def test_every_run_is_the_one_that_stands_alone(results, store):
    declared = tc.Sweep(BASE, AXES, seeds=2)
    ids = results["run"].values.ravel()
    for position, (experiment, id_) in enumerate(zip(declared.experiments(), ids, strict=True)):
        alone = tc.run(experiment)
        assert run_id(experiment) == id_
        assert Store(store).load(id_).digest() == alone.digest()
        for name, values in metrics.of_run(alone.dataset).items():
            found = results[name].values.reshape(len(declared), *values.shape)[position]
            np.testing.assert_array_equal(found, values)


def test_a_finished_sweep_runs_nothing(results, store, monkeypatch):
    monkeypatch.setattr(sweeps.execute, "parallel", lambda *_: pytest.fail("a worker was started"))
    again = tc.sweep(BASE, AXES, seeds=2, store=store, jobs=2, progress=False)
    assert again.drop_attrs().identical(results.drop_attrs())


def test_only_what_is_missing_runs(results, store):
    tally = sweeps.run(tc.Sweep(BASE, AXES, seeds=3), store, progress=False)
    assert (tally.cached, tally.done, tally.failed) == (8, 4, 0)


def test_results_are_opened_by_name(results, store):
    assert tc.open(store / "two by two").identical(results)


def test_series_on_request(results, store):
    opened = tc.open(store / "two by two", series=True)
    dims = ("path.rtt", "path.loss", "seed", "flow", "leg", "time")
    assert opened["cwnd_series"].dims == dims
    assert opened["cwnd_series"].attrs["units"] == "segments"
    position = {"path.rtt": 0.04, "path.loss": 0.01, "seed": 2}
    run = tc.run(tc.Sweep(BASE, AXES, seeds=2).experiment(7)).dataset
    for name in ("flow_goodput", "cwnd", "srtt", "queue"):
        found = opened[f"{name}_series"].sel(position)
        np.testing.assert_array_equal(found.values, run[name].values)


def test_runs_of_different_shape_share_a_dataset(tmp_path):
    axes = {"flows.count": [1, 3], "tunnel": ["none", "gost-relay-ws"], "duration": ["1s", "2s"]}
    base = {**BASE, "flows": [{"cc": "bbr"}]}
    found = tc.sweep(base, axes, 1, store=tmp_path, jobs=2, progress=False, series=True)
    assert dict(found.sizes) == {
        "flows.count": 2, "tunnel": 2, "duration": 2, "seed": 1,
        "flow": 3, "time": 20, "leg": 3, "direction": 2, "host": 2,
    }  # fmt: skip
    one, three = (found["flow_goodput"].sel({"flows.count": count}) for count in (1, 3))
    assert one.isel(flow=0).notnull().all()
    assert one.isel(flow=slice(1, None)).isnull().all()
    assert three.notnull().all()
    plain = found["cwnd_series"].sel({"tunnel": "none", "flows.count": 1}).isel(seed=0, flow=0)
    assert plain.sel(leg="app", duration=2.0).notnull().all()
    assert plain.sel(leg="app", duration=1.0, time=slice(1.05, None)).isnull().all()
    assert plain.sel(leg="carrier").isnull().all()


def test_combinations_that_cannot_be_become_errors(tmp_path):
    axes = {"path.buffer": ["0.001bdp", "1bdp"], "path.rtt": ["10ms", "20ms"]}
    found = tc.sweep(BASE, axes, 1, store=tmp_path, jobs=1, progress=False)
    assert found["goodput"].isnull().values.ravel().tolist() == [True, True, False, False]
    assert "expected room for one packet" in found["error"].values[0, 0, 0]
