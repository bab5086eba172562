# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps: from axes to a Dataset, run once, each run the same as alone."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tunnelcc as tc
from tunnelcc import metrics, sweeps
from tunnelcc.output.progress import RunsProgress
from tunnelcc.running import pool
from tunnelcc.store import FAILED, Store, model_version, run_id, runfile, spec_id
from tunnelcc.sweeps.execute import complete

BASE = {"path": {"rate": "10Mbps"}, "flows": [{"cc": "bbr"}, {"cc": "cubic"}], "duration": "1s"}
AXES = {"path.rtt": ["10ms", "40ms"], "path.loss": [0, "1%"]}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("store") / "runs"


@pytest.fixture(scope="module")
def results(store):
    return tc.sweep(BASE, AXES, seeds=2, name="two by two", store=store, jobs=2, progress=False)


def test_a_sweep_without_the_memory_for_any_run_is_refused_once(tmp_path):
    base = {"flows": [{"count": 16384}], "duration": "10000s", "probe_interval": "1ms"}
    axes = {"cc": ["bbr", "cubic"]}
    with pytest.raises(tc.ConfigError, match="a shorter run or fewer flows: the series need"):
        tc.sweep(base, axes, seeds=20, store=tmp_path, progress=False)
    assert not [*tc.Store(tmp_path).ids()]
    base = {"path": {"rate": "1Mbps"}, "duration": "50s", "probe_interval": "100us"}
    axes = {"flows.0.count": [1, 16384]}
    found = tc.sweep(base, axes, seeds=1, store=tmp_path, progress=False)
    assert np.isfinite(found.goodput.values).any()


def test_workers_read_an_experiment_once_for_all_its_seeds(tmp_path):
    declared = tc.Sweep(BASE, {"path.rtt": ["10ms", "40ms"]}, seeds=3)
    tasks = []

    def refuse(function, queue):
        for id_, task in queue:
            tasks.append(task)
            yield id_, tc.RunError("not now")

    with RunsProgress(enabled=False) as progress:
        complete(declared.experiments(), len(declared), Store(tmp_path), refuse, progress=progress)
    assert len({task.like for task in tasks}) == 2 < len(tasks) == 6
    wanted = {run_id(it): it for it in declared.experiments()}
    for task in tasks:
        assert task.experiment == wanted[spec_id(task.spec)]
        assert run_id(task.experiment) == spec_id(task.spec)


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
    assert results["flow_transport"].values[0, 0, 0].tolist() == ["tcp", "tcp"]
    assert results["flow_group"].values[0, 0, 0].tolist() == [0, 1]
    assert results.attrs["title"] == "1 × bbr, 1 × cubic, 10Mbps, buffer 1bdp, 1s"
    assert results.attrs["tunnelcc"] == tc.__version__
    assert results.attrs["models"] == model_version()


@pytest.mark.parametrize(
    ("base", "axes", "told"),
    [
        ({"flows": {"cc": "bbr", "count": 4}}, {}, "4 × bbr, 100Mbps × 40ms, buffer 1bdp, 30s"),
        ({"path": {"loss": "1%"}}, {"path.rtt": ["9ms", "1ms"]}, "1 × cubic, 100Mbps, loss 1 %"),
        ({"flows": [{}, {}]}, {"cc": ["bbr", "reno"]}, "2 flows, 100Mbps"),
        ({}, {"flows.count": [1, 2], "path.rate": ["9Mbps", "1Mbps"]}, "RTT 40ms, buffer 1bdp"),
        ({"tunnel": "tinc"}, {"path.buffer": ["1bdp", "2bdp"]}, "1 × cubic through tinc, 100Mbps"),
        (
            {"flows": [{"count": 3}, {"tunnel": "tinc", "direction": "down"}]},
            {},
            "3 × cubic, 1 × cubic in tinc down, 100Mbps",
        ),
        (
            {"flows": [{}, {"tunnel": "tinc"}]},
            {"tunnel": ["none", "vtun-udp"]},
            "1 × cubic, 1 × cubic in tinc, 100Mbps",
        ),
        ({}, {"path.buffer": ["9B", "1bdp"]}, "1 × cubic, 100Mbps × 40ms, 30s"),
        ({"duration": "9s"}, {"tunnel": ["none", "tinc"]}, "1 × cubic, 100Mbps × 40ms, buffer"),
    ],
)
def test_what_all_runs_have_in_common_is_told(base, axes, told):
    assert tc.Sweep(base, axes or {"hosts.cores": [1, 2]}).conditions.startswith(told)


@pytest.mark.parametrize(
    ("seed", "seeds", "used"), [(1, 3, (1, 2, 3)), (7, 2, (7, 8)), (7, [1, 9], (1, 9))]
)
def test_a_number_of_seeds_begins_with_the_scenarios(seed, seeds, used):
    assert tc.Sweep({"seed": seed}, {"cc": ["bbr", "cubic"]}, seeds).seeds == used
    experiment = tc.Experiment(seed=seed)
    assert tc.Sweep(experiment, {"cc": ["bbr", "cubic"]}, seeds).seeds == used


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
        assert Store(store).load(id_).digests() == alone.digests()
        for name, values in metrics.of_run(alone.dataset).items():
            found = results[name].values.reshape(len(declared), *values.shape)[position]
            np.testing.assert_array_equal(found, values)


def test_a_finished_sweep_runs_nothing(results, store, monkeypatch):
    monkeypatch.setattr(pool, "_start", lambda *_: pytest.fail("a worker was started"))
    again = tc.sweep(BASE, AXES, seeds=2, store=store, jobs=2, progress=False)
    assert again.drop_attrs().identical(results.drop_attrs())


def test_only_what_is_missing_runs(results, store):
    tally = sweeps.run(tc.Sweep(BASE, AXES, seeds=3), store, progress=False)
    assert (tally.cached, tally.done, tally.failed) == (8, 4, 0)


def test_results_are_opened_by_name(results, store):
    assert tc.open(store / "two by two").identical(results)


def test_opening_results_leaves_dask_alone(results, store):
    code = "import sys, tunnelcc as tc; tc.open(sys.argv[1]); print('dask.array' in sys.modules)"
    command = [sys.executable, "-c", code, str(store / "two by two")]
    assert subprocess.check_output(command, text=True) == "False\n"


def test_series_on_request(results, store):
    opened = tc.open(store / "two by two", series=True)
    dims = ("path.rtt", "path.loss", "seed", "flow", "leg", "time")
    assert opened["cwnd"].dims == dims
    assert opened["cwnd"].attrs["units"] == "segments"
    position = {"path.rtt": 0.04, "path.loss": 0.01, "seed": 2}
    run = tc.run(tc.Sweep(BASE, AXES, seeds=2).experiment(7)).dataset
    for name in ("flow_goodput_series", "cwnd", "srtt", "link_queue_bytes"):
        found = opened[name].sel(position)
        np.testing.assert_array_equal(found.values, run[name].values)


def test_runs_of_different_shape_share_a_dataset(tmp_path):
    axes = {"flows.count": [1, 3], "tunnel": ["none", "gost-relay-ws"], "duration": ["1s", "2s"]}
    base = {**BASE, "flows": [{"cc": "bbr"}]}
    found = tc.sweep(base, axes, 1, store=tmp_path, jobs=2, progress=False, series=True)
    assert dict(found.sizes) == {
        "flows.count": 2, "tunnel": 2, "duration": 2, "seed": 1,
        "flow": 3, "time": 20, "leg": 3, "limit": 10, "direction": 2, "host": 2,
        "link": 1,
    }  # fmt: skip
    one, three = (found["flow_goodput"].sel({"flows.count": count}) for count in (1, 3))
    assert one.isel(flow=0).notnull().all()
    assert one.isel(flow=slice(1, None)).isnull().all()
    assert three.notnull().all()
    plain = found["cwnd"].sel({"tunnel": "none", "flows.count": 1}).isel(seed=0, flow=0)
    assert plain.sel(leg="app", duration=2.0).notnull().all()
    assert plain.sel(leg="app", duration=1.0, time=slice(1.05, None)).isnull().all()
    assert plain.sel(leg="carrier").isnull().all()


def test_series_of_text(tmp_path):
    base = {**BASE, "flows": [{"cc": "bbr"}], "duration": "1s", "probe_congestion": True}
    axes = {"tunnel": ["none", "gost-relay-ws"]}
    found = tc.sweep(base, axes, 1, store=tmp_path, jobs=1, progress=False, series=True)
    phases = found["phase"].isel(seed=0, flow=0)
    for tunnel in axes["tunnel"]:
        run = tc.run({**base, "tunnel": tunnel, "seed": 1}, progress=False).dataset
        for leg in run["leg"].values:
            here = phases.sel(tunnel=tunnel, leg=leg).values.tolist()
            assert here == run["phase"].sel(flow=0, leg=leg).values.tolist()
    assert set(phases.sel(tunnel="none", leg="carrier").values.tolist()) == {""}


def test_combinations_that_cannot_be_become_errors(tmp_path):
    axes = {"path.buffer": ["0.001bdp", "1bdp"], "path.rtt": ["10ms", "20ms"]}
    found = tc.sweep(BASE, axes, 1, store=tmp_path, jobs=1, progress=False)
    assert found["goodput"].isnull().values.ravel().tolist() == [True, True, False, False]
    assert "expected room for one packet" in found["error"].values[0, 0, 0]


def test_a_full_disk_stops_the_sweep_and_keeps_what_was_finished(tmp_path, monkeypatch):
    write, written = Path.write_bytes, []

    def until_full(self, data):
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        size = write(self, data)
        if ".run." in self.name:
            written.append(self)
        return size

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", until_full)
        with pytest.raises(tc.TunnelccError, match="No space left on device; finished runs"):
            tc.sweep(BASE, AXES, 2, store=tmp_path, jobs=2, progress=False)
    assert len(list(Store(tmp_path).ids())) == 2
    tally = sweeps.run(tc.Sweep(BASE, AXES, 2), tmp_path, jobs=2, progress=False)
    assert (tally.cached, tally.done, tally.failed) == (2, 6, 0)


def test_a_run_that_takes_too_long_is_an_error(tmp_path):
    axes = {"duration": ["1s", "100000s"]}
    base = {**BASE, "probe_interval": "500ms"}
    found = tc.sweep(base, axes, 1, store=tmp_path, jobs=2, timeout=2, progress=False)
    assert found["error"].values.ravel().tolist() == ["", "the run took more than 2 s"]


def test_failed_runs_are_tried_again(tmp_path):
    experiment = tc.Sweep(BASE, {}, 1).experiment(0)
    error = tc.RunError("the machine was switched off")
    store = Store(tmp_path)
    store.add(run_id(experiment), FAILED, runfile.encode(experiment, error))
    found = tc.sweep(BASE, {}, 1, store=tmp_path, jobs=1, progress=False)
    assert found["error"].item() == ""
    assert found["goodput"].item() > 5e6


def test_the_longest_starts_first(tmp_path):
    started = []

    def run(function, tasks):
        for key, argument in tasks:
            started.append(argument.experiment.duration)
            yield key, tc.RunError("not now")

    axes = {"duration": ["1s", "3s", "2s"]}
    declared = tc.Sweep(BASE, axes, 1)
    store = Store(tmp_path)
    with RunsProgress(enabled=False) as progress:
        complete(
            declared.experiments(), len(declared), store, run,
            progress=progress,
        )  # fmt: skip
    assert started == [3, 2, 1]


def test_a_sweep_may_get_more_values_and_seeds(tmp_path):
    base = {**BASE, "path": {"rate": "2Mbps"}}
    points = [("10ms", 0), ("20ms", "1%"), ("30ms", "2%")]

    def run(count, seeds, **options):
        rtts, losses = zip(*points[:count], strict=True)
        axes = {"zip": {"path.rtt": rtts, "path.loss": losses}, "cc": ["bbr", "cubic"][:count]}
        return tc.sweep(base, axes, seeds, store=tmp_path, jobs=1, progress=False, **options)

    assert run(1, 1).sizes["seed"] == 1
    assert run(2, 2, name="sweep").sizes == tc.open(tmp_path / "sweep").sizes
    assert dict(run(3, 2).sizes) == {"cc": 2, "point": 3, "seed": 2, "flow": 2}
    with pytest.raises(tc.ConfigError, match="another name"):
        run(2, 2)
    assert tc.open(tmp_path / "sweep").sizes["point"] == 3
    assert run(2, 1, name="smaller").sizes["point"] == 2


def test_a_name_is_free_again_when_a_sweep_fails_before_it_begins(tmp_path):
    with pytest.raises(tc.ConfigError, match="scheduler"):
        tc.sweep(BASE, AXES, 1, store=tmp_path, client="nonsense://", progress=False)
    assert Store(tmp_path).sweep_names() == []


def test_a_sweep_does_not_replace_the_record_of_one_that_has_its_runs(tmp_path, monkeypatch):
    larger = tc.Sweep(BASE, {"path.rtt": ["10ms", "40ms"]}, 1, "x")
    run = sweeps.complete

    def complete(*arguments, **options):
        monkeypatch.setattr(sweeps, "complete", run)
        sweeps.run(larger, tmp_path, jobs=1, progress=False)
        return run(*arguments, **options)

    monkeypatch.setattr(sweeps, "complete", complete)
    found = tc.sweep(BASE, {"path.rtt": ["10ms"]}, 1, name="x", store=tmp_path, progress=False)
    assert found.sizes["path.rtt"] == 1
    assert tc.open(tmp_path / "x").sizes["path.rtt"] == 2


def test_a_finished_record_is_kept_while_the_same_sweep_runs_again(results, store, monkeypatch):
    before = (store / "sweeps" / "two by two.json").read_bytes()
    monkeypatch.setattr(sweeps, "complete", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        tc.sweep(BASE, AXES, 2, name="two by two", store=store, progress=False)
    assert (store / "sweeps" / "two by two.json").read_bytes() == before


def test_a_sweep_returns_its_own_results_whatever_else_takes_its_name(tmp_path, monkeypatch):
    run = sweeps.run

    def run_and_lose_the_name(declared, store, **options):
        tally = run(declared, store, **options)
        other = {**BASE, "path": {"rate": "20Mbps"}, "title": "Another"}
        (tmp_path / "sweeps" / "mine.json").unlink()
        run(tc.Sweep(other, {"path.loss": [0, "2%", "3%"]}, 1, "mine"), store, progress=False)
        return tally

    monkeypatch.setattr(sweeps, "run", run_and_lose_the_name)
    found = tc.sweep(BASE, AXES, 1, name="mine", store=tmp_path, jobs=1, progress=False)
    assert dict(found.sizes) == {"path.rtt": 2, "path.loss": 2, "seed": 1, "flow": 2}
    assert (found["goodput"] < 10e6).all()
    assert tc.open(tmp_path / "mine").attrs["title"] == "Another"
