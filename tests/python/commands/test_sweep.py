# SPDX-License-Identifier: GPL-2.0-only
"""`tunnelcc sweep` and `tunnelcc store`: what they print, and how they fail."""

from __future__ import annotations

import contextlib
import csv
import errno
import json
import os
import pty
import random
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tunnelcc as tc
from tunnelcc import cli
from tunnelcc.commands.reproduction import command
from tunnelcc.store import run_id
from tunnelcc.sweeps.axes import Interval

SCENARIO = """
title = "Two by two"
duration = "1s"
path.rate = "10Mbps"

[[flows]]
cc = "bbr"
count = 2

[sweep]
seeds = 2
cc = ["bbr", "cubic"]
"""
NAME = "two-by-two"


@pytest.fixture(scope="module")
def scenario(tmp_path_factory):
    file = tmp_path_factory.mktemp("scenario") / f"{NAME}.toml"
    file.write_text(SCENARIO)
    return file


@pytest.fixture(scope="module")
def swept(scenario):
    """A store in which the scenario was run over two RTTs, too."""
    store = scenario.parent / "runs"
    tc.sweep(scenario, {"cc": ["bbr", "cubic"], "path.rtt": ["10ms", "20ms"]}, store=store,
             jobs=2, progress=False)  # fmt: skip
    return store


def test_a_sweep_prints_a_table_and_its_name(run, scenario, swept):
    arguments = ["sweep", scenario, "--store", swept, "--axis", "path.rtt=10ms, 20ms"]
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[1].split() == [
        "cc", "path.rtt", "goodput", "Mbit/s", "utilisation", "Jain", "queueing", "ms",
        "retransmitted", "%", "limited", "by",
    ]  # fmt: skip
    assert [line.split()[:2] for line in lines[2:6]] == [
        ["bbr", "10ms"], ["bbr", "20ms"], ["cubic", "10ms"], ["cubic", "20ms"],
    ]  # fmt: skip
    assert lines[-1] == f"{swept / NAME}: 8 runs (0 run, 8 cached, 0 failed)"


def _swept_table(run, folder, declared):
    """Return the results of a sweep over two values, and the cells of its printed table."""
    file = folder / "declared.toml"
    file.write_text(declared)
    _, out, _ = run("sweep", file, "--store", folder / "runs")
    cells = [re.split(r" {2,}", line.strip()) for line in out.splitlines()[1:4]]
    return tc.open(folder / "runs/declared"), cells


def test_a_table_of_different_flows_has_the_share_of_those_that_an_axis_changes(run, tmp_path):
    results, (headings, *rows) = _swept_table(
        run,
        tmp_path,
        'duration = "2s"\npath.rate = "10Mbps"\n[[flows]]\ncc = "cubic"\n'
        '[[flows]]\ncount = 2\n[[flows]]\n[sweep]\nseeds = 2\n"flows.1.cc" = ["bbr", "vegas"]\n',
    )
    shares = 100 * results.flow_share.isel(flow=[1, 2]).sum("flow").mean("seed").values
    place = headings.index("flows.1 share %")
    assert [float(row[place].split(" ± ")[0]) for row in rows] == pytest.approx(shares, abs=0.051)


def test_differences_of_shares_are_those_of_an_entry(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "it.toml").write_text(
        'duration = "3s"\npath.rate = "10Mbps"\nflows = [{ cc = "bbr" }, { count = 2 }]\n'
    )
    code, out, err = run("sweep", "it.toml", "--axis", "path.buffer=0.5bdp,2bdp", "--seeds", "3",
                         "--metric", "flow_share", "--set", "path.loss=0.1%")  # fmt: skip
    assert code == 0, err
    heading = "flow_share of flows.0, difference to path.buffer=0.5bdp with the same seeds"
    row = re.split(r" {2,}", out[out.index(heading) :].splitlines()[2])
    shallow, deep = tc.open("runs/it").flow_share.isel(flow=0).mean("seed").values
    assert float(row[1].split()[0].replace("−", "-")) == pytest.approx(
        100 * (deep / shallow - 1), abs=0.6
    )


def test_a_table_of_finite_flows_has_their_completion(run, tmp_path):
    results, (headings, *rows) = _swept_table(
        run,
        tmp_path,
        'duration = "2s"\n[[flows]]\nbytes = "20kB"\ncount = 30\ninterarrival = "100ms"\n'
        '[sweep]\nseeds = 2\n"path.rtt" = ["20ms", "40ms"]\n',
    )
    assert headings[1:3] == ["completion s", "completed %"]
    assert "Jain" not in headings
    times = results.flow_completion_time
    told = [[float(cell.split(" ± ")[0]) for cell in row[1:3]] for row in rows]
    means = times.mean("flow").mean("seed").values
    assert [row[0] for row in told] == pytest.approx(means, abs=0.00051)
    arrived = results.flow_start.notnull()
    assert not arrived.all()
    parts = 100 * (times.notnull().sum("flow") / arrived.sum("flow")).mean("seed").values
    assert [row[1] for row in told] == pytest.approx(parts, abs=0.051)
    assert 80 < told[0][1] < 100


def test_a_table_of_finite_flows_tells_that_none_completes(run, tmp_path):
    results, (headings, *rows) = _swept_table(
        run,
        tmp_path,
        'duration = "1s"\n[[flows]]\nbytes = "1GB"\ncount = 2\n'
        '[sweep]\nseeds = 2\n"path.rtt" = ["20ms", "40ms"]\n',
    )
    assert headings[1:3] == ["completion s", "completed %"]
    assert "Jain" not in headings
    assert [row[1:3] for row in rows] == [["–", "0.0 ± 0.0"]] * 2
    assert (results.flow_completed == 0).all()


def test_a_table_of_completion_leaves_out_the_warm_up_and_says_so(run, tmp_path):
    declared = (
        'duration = "3s"\nwarmup = "WARMUP"\n[[flows]]\nbytes = "20kB"\ncount = 30\n'
        'interarrival = "100ms"\n[sweep]\nseeds = 2\n"path.rtt" = ["20ms", "40ms"]\n'
    )
    for warmup, is_told in (("0s", False), ("1s", True)):
        folder = tmp_path / warmup
        folder.mkdir()
        text = declared.replace("WARMUP", warmup)
        results, (headings, *rows) = _swept_table(run, folder, text)
        measured = results.flow_start >= float(warmup[0])
        assert (results.flow_completed.notnull() == measured).all()
        assert not results.flow_completion_time.where(~measured).notnull().any()
        means = results.flow_completion_time.mean("flow").mean("seed").values
        assert [float(row[1].split(" ± ")[0]) for row in rows] == pytest.approx(means, abs=0.00051)
        assert headings[1] == "completion s"
        _, out, _ = run("sweep", folder / "declared.toml", "--store", folder / "runs")
        assert ("completion: without flows that start in the warm-up" in out) is is_told


def test_flows_that_are_stopped_complete_nothing(run, tmp_path):
    _, (headings, *_) = _swept_table(
        run,
        tmp_path,
        'duration = "3s"\npath.rate = "10Mbps"\n[[flows]]\nstop = "2s"\ncount = 2\n'
        '[sweep]\nseeds = 1\n"path.rtt" = ["20ms", "40ms"]\n',
    )
    assert "completion s" not in headings
    assert "Jain" in headings


def test_a_title_of_one_experiment_is_none_of_a_sweep(run, tmp_path):
    file = tmp_path / "bbr.toml"
    file.write_text('title = "One BBR flow"\nduration = "1s"\n[path]\nrate = "5Mbps"\n')
    options = ("--axis", "cc=bbr,cubic", "--seeds", 1, "--store", tmp_path / "runs")
    _, out, _ = run("sweep", file, *options)
    told = "1 flow, 5Mbps × 40ms, buffer 1bdp, 1s"
    assert out.splitlines()[0] == tc.open(tmp_path / "runs" / "bbr").attrs["title"] == told


def test_axes_need_no_scenario(run, tmp_path):
    options = ["--axis", "path.rtt=10ms,20ms", "--set", "duration=1s", "--set", "path.rate=9Mbps"]
    code, out, _ = run("sweep", *options, "--seeds", "3,5", "--store", tmp_path, "--jobs", 1)
    assert code == 0
    assert out.splitlines()[-1] == f"{tmp_path}/sweep: 4 runs (4 run, 0 cached, 0 failed)"
    found = tc.open(tmp_path / "sweep")
    assert found["path.rtt"].values.tolist() == [0.01, 0.02]
    assert found["seed"].values.tolist() == [3, 5]


@pytest.mark.parametrize(
    "command",
    [
        ["sweep", "--axis", "path.loss=0,1%", "--set", "path.loss=5%"],
        ["sweep", "--axis", "tunnel=none,tinc", "--set", "tunnel=vxlan"],
        ["compare", "--tunnel", "none,tinc", "--set", "tunnel=vxlan"],
        ["compare", "--cc", "bbr,cubic", "--rate", "9Mbps", "--set", "path.rate=1Mbps"],
        ["run", "--rate", "9Mbps", "--set", "path.rate=1Mbps"],
    ],
)
def test_a_key_is_not_set_twice(run, command):
    code, _, err = run(*command)
    assert code == 2
    assert err.startswith("tunnelcc: --set")


def test_ranges_on_the_command_line(run, tmp_path):
    axis = 'path.rtt={from="10ms", to="40ms", steps=3, scale="log"}'
    options = ["--set", "duration=1s", "--set", "path.rate=1Mbps", "--seeds", "1"]
    run("sweep", "--axis", axis, *options, "--store", tmp_path, "--jobs", 1)
    assert tc.open(tmp_path)["path.rtt"].values == pytest.approx([0.01, 0.02, 0.04])


def test_a_sweep_prints_its_own_results_whatever_else_takes_its_name(run, tmp_path, monkeypatch):
    from tunnelcc.commands import sweep as module

    real = module.run

    def run_and_lose_the_name(declared, store, **options):
        tally = real(declared, store, **options)
        (store / "sweeps" / "sweep.json").unlink()
        other = {"path": {"rate": "5Mbps"}, "duration": "1s"}
        real(tc.Sweep(other, {"cc": ["bbr"]}, 1, "sweep"), store, progress=False)
        return tally

    monkeypatch.setattr(module, "run", run_and_lose_the_name)
    options = ["--set", "duration=1s", "--set", "path.rate=2Mbps", "--seeds", "1", "--jobs", 1]
    file = tmp_path / "results.csv"
    options += ["--store", tmp_path, "--output", file]
    code, out, err = run("sweep", "--axis", "path.rtt=10ms,20ms", *options)
    assert code == 0, err
    assert [line.split()[0] for line in out.splitlines()[2:4]] == ["10ms", "20ms"]
    rows = list(csv.DictReader(file.open()))
    assert [float(row["path.rtt (s)"]) for row in rows] == [0.01, 0.02]
    assert all(0 < float(row["goodput (bit/s)"]) < 2e6 for row in rows)


def test_names_are_no_formulas_in_csv(run, tmp_path):
    scenario = tmp_path / "names.toml"
    scenario.write_text(
        'duration = "1s"\n[path]\nrate = "2Mbps"\n[[flows]]\n[[flows]]\nuser = "other"\n'
        '[sweep]\n"flows.0.user" = ["=1+1", "-1+1", "b", "-7"]\n'
    )
    options = ["--seeds", 1, "--jobs", 1, "--store", tmp_path / "store", "--output"]
    code, _, err = run("sweep", scenario, *options, tmp_path / "x.csv")
    assert code == 0, err
    users = [row["flows.0.user"] for row in csv.DictReader((tmp_path / "x.csv").open())]
    assert users == ["'=1+1", "'-1+1", "b", "-7"]


def test_a_full_disk_leaves_no_half_of_the_results(run, swept, tmp_path, monkeypatch):
    import pandas as pd

    def full(self, file, **options):
        Path(file).write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    code, _, err = run("store", "export", NAME, tmp_path / "x.csv", "--store", swept)
    assert code == 2
    assert err.endswith("expected a file that can be written (No space left on device)\n")
    assert not list(tmp_path.iterdir())


def test_a_sweep_called_as_a_file_is_opened(run, scenario, tmp_path):
    options = ["--set", "duration=1s", "--set", "path.rate=2Mbps", "--seeds", "1", "--jobs", 1]
    code, _, err = run("sweep", "--axis", "cc=bbr", *options, "--store", tmp_path, "--name", "a.nc")
    assert code == 0, err
    assert tc.open(tmp_path / "a.nc")["cc"].values.tolist() == ["bbr"]
    (tmp_path / "b.nc").write_bytes(tc.open(tmp_path / "a.nc").to_netcdf(engine="scipy"))
    assert tc.open(tmp_path / "b.nc")["cc"].values.tolist() == ["bbr"]


@pytest.mark.parametrize("name", ["../x", "ü", ".x"])
def test_a_name_that_cannot_be_is_refused_before_anything_runs(run, tmp_path, monkeypatch, name):
    monkeypatch.setattr("tunnelcc.sweeps.complete", lambda *_, **__: pytest.fail("it ran"))
    code, _, err = run("sweep", "--axis", "cc=bbr", "--store", tmp_path / "s", "--name", name)
    assert (code, err[: len("tunnelcc: name = ")]) == (2, "tunnelcc: name = ")
    with pytest.raises(tc.ConfigError, match="name = "):
        tc.sweep({}, {"cc": ["bbr"]}, name=name, store=tmp_path / "s", progress=False)
    assert not list(tmp_path.glob("s/runs/*"))


AXIS = ["--axis", "path.rtt=10ms,20ms"]


@pytest.mark.parametrize(
    ("arguments", "difference"),
    [
        ([*AXIS, "--set", "path.rate=5Mbps"], "path.rate is '10Mbps' in the store and '5Mbps'"),
        (
            [*AXIS, "--set", "hosts.kernel=5.10"],
            "hosts.kernel is not given in the store and '5.10'",
        ),
        ([*AXIS, "--seeds", "1,3"], "sweep.seeds has seeds in the store that are missing here: 2"),
        (
            ["--axis", "path.rtt=20ms,30ms"],
            'sweep.path.rtt has values in the store that are missing here: "10',
        ),
        (["--axis", "path.loss=0,1%"], "sweep.path.rtt is another axis in the store"),
        ([*AXIS, "--axis", "path.loss=0,1%"], "sweep.path.loss is not an axis in the store"),
        (
            [*AXIS, "--axis", "cc=bbr"],
            'sweep.cc has values in the store that are missing here: "cubic"',
        ),
    ],
)
def test_a_name_is_not_taken_from_another_sweep(run, scenario, swept, arguments, difference):
    record = (swept / "sweeps" / f"{NAME}.json").read_bytes()
    code, out, err = run("sweep", scenario, *arguments, "--store", swept)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert err.startswith(f"tunnelcc: name = '{NAME}': expected another name (--name, ")
    assert difference in err
    assert (swept / "sweeps" / f"{NAME}.json").read_bytes() == record


def test_the_name_alone_of_an_algorithm_is_an_axis(run, tmp_path):
    options = ["--set", "duration=1s", "--set", "path.rate=2Mbps", "--seeds", "1", "--jobs", 1]
    code, out, _ = run("sweep", "--axis", "flows.cc.name=bbr,cubic", *options, "--store", tmp_path)
    assert (code, [line.split()[0] for line in out.splitlines()[2:4]]) == (0, ["bbr", "cubic"])


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_export_is_told_or_read(swept, tmp_path, seed):
    from tunnelcc.sweeps import export

    draw = random.Random(seed)
    file = tmp_path / "x.nc"
    export.write(tc.open(swept / NAME), file)
    data = bytearray(file.read_bytes())
    for _ in range(20):
        data[draw.randrange(300)] = draw.randrange(256)
    file.write_bytes(data)
    with contextlib.suppress(tc.ConfigError):
        tc.open(file)


def test_an_export_of_another_kind_is_told_without_advice_to_install(tmp_path):
    file = tmp_path / "x.nc"
    file.write_bytes(b"\x89HDF\r\n\x1a\nand more")
    with pytest.raises(tc.ConfigError, match=r"x\.nc.*store export.*damaged") as caught:
        tc.open(file)
    assert "install" not in str(caught.value)


def test_failed_runs_are_told_and_count(run, tmp_path):
    options = ["--set", "duration=1s", "--set", "path.rate=1Mbps", "--seeds", "1", "--jobs", 1]
    axis = "path.buffer=100B,1bdp"
    code, out, err = run("sweep", "--axis", axis, *options, "--store", tmp_path)
    assert code == 1
    assert out.splitlines()[-1].endswith("2 runs (1 run, 0 cached, 1 failed)")
    assert err.endswith(
        "first error: path.buffer = '100B': expected room for one packet (1500 bytes) "
        "(this buffer is 100 bytes)\n"
    )


@pytest.mark.parametrize("suffix", ["nc", "csv"])
def test_results_are_exported(run, scenario, swept, tmp_path, suffix):
    file = tmp_path / f"results.{suffix}"
    assert run("store", "export", NAME, file, "--store", swept)[0] == 0
    results = tc.open(swept / NAME)
    if suffix == "nc":
        assert tc.open(file).equals(results)
        assert tc.open(file).attrs == results.attrs
        assert tc.open(file)["path.rtt"].attrs == results["path.rtt"].attrs
        return
    rows = list(csv.DictReader(file.open()))
    assert len(rows) == 8
    for row in rows:
        at = {"cc": row["cc"], "path.rtt": float(row["path.rtt (s)"]), "seed": int(row["seed"])}
        here = results.sel(at)
        assert float(row["goodput (bit/s)"]) == here["goodput"].item()
        assert float(row["flow_goodput.1 (bit/s)"]) == here["flow_goodput"].values[1]
        assert row["run"] == here["run"].item()


def test_large_seeds_are_exported(tmp_path):
    found = tc.sweep({"path": {"rate": "1Mbps"}, "duration": "1s"}, {}, [2**40], store=tmp_path,
                     jobs=1, progress=False)  # fmt: skip
    from tunnelcc.sweeps import export

    export.write(found, tmp_path / "x.nc")
    assert tc.open(tmp_path / "x.nc")["seed"].values.tolist() == [str(2**40)]


@pytest.mark.slow
def test_files_are_written_and_read_when_a_dask_scheduler_has_died(swept, tmp_path):
    # In a process of its own, as a client that has lost its scheduler stays for good.
    program = f"""
import faulthandler, os, subprocess, sys, time
import distributed
import tunnelcc as tc
from pathlib import Path
from tunnelcc.sweeps import export

faulthandler.dump_traceback_later(240, exit=True)
options = ["--port", "0", "--no-dashboard", "--scheduler-file", "scheduler.json"]
command = [sys.executable, "-m", "dask", "scheduler", *options]
scheduler = subprocess.Popen(command, stderr=subprocess.DEVNULL)
client = distributed.Client(scheduler_file="scheduler.json", timeout=120)
results = tc.open({str(swept / NAME)!r})
export.write(results, Path("before.nc"))
scheduler.kill()
scheduler.wait()
assert tc.open("before.nc").equals(tc.open("before.nc"))
export.write(results, Path("after.nc"))
assert Path("after.nc").read_bytes() == Path("before.nc").read_bytes()
print(tc.open("after.nc")["run"].size, flush=True)
os._exit(0)  # the client would wait for its scheduler
"""
    pytest.importorskip("distributed")
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "8\n"), done.stderr


def test_the_store_lists_sweeps_and_runs(run, swept):
    code, out, _ = run("store", "ls", "--store", swept)
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == f"{NAME}: 8 runs, 0 failed, 0 missing"
    assert re.fullmatch(r"8 runs in \d+\.\d MB", lines[-1])
    _, out, _ = run("store", "ls", NAME, "--store", swept)
    assert len(out.splitlines()) == 8
    assert re.fullmatch(
        r"[0-9a-f]{12}  cc=bbr path.rtt=10ms seed=1  \d\.\d\d Mbit/s", out.splitlines()[0]
    )


def test_a_row_has_the_command_that_repeats_it(run, swept):
    results = tc.open(swept / NAME)
    here = results.sel({"cc": "cubic", "path.rtt": 0.02, "seed": 2})
    code, out, _ = run("store", "show", here["run"].item()[:12], "--store", swept)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == f"run {here['run'].item()}"
    words = shlex.split(lines[1])
    assert words[:2] == ["tunnelcc", "run"]
    _, again, _ = run(*words[1:], "--json")
    assert json.loads(again)["metrics"]["goodput"] == here["goodput"].item()
    assert f"goodput = {here['goodput'].item() / 1e6:.3g} Mbit/s" in lines
    assert "nan" not in out


def test_a_sweep_is_shown_as_toml(run, swept, tmp_path):
    _, out, _ = run("store", "show", NAME, "--store", swept)
    (tmp_path / "again.toml").write_text(out)
    assert len(tc.Sweep(tmp_path / "again.toml")) == 8


EXPERIMENTS = [
    {},
    {"title": "left out", "seed": 2**63 - 1},
    {"path": {"rate": "1Gbps", "rate_steps": [["1s", "5Mbps"]], "buffer": "20p", "loss": "0.1%"}},
    {"flows": [{"cc": {"name": "bbr", "probe_rtt_interval": 5}, "rtt": "5ms"}, {"count": 3}]},
    {"cross_traffic": [{"rate": "1Mbps", "on": "1s", "off": "2s"}]},
    {"tunnel": {"name": "gost-relay-wss", "cc": {"name": "bbr"}, "copy_buffer": 4096}},
    {"tunnel": "gost-relay-ws", "hosts": {"kernel": "5.10", "client": {"kernel": "6.18"}}},
    {"tcp": {"timestamps": False, "ecn": True}, "direction": "down", "duration": "90s"},
    {"tcp": {"timestamps": False, "mss": 1448}},
    {"tcp": {"timestamps": False}},
    {"path": {"rate": "100Mbps", "trace": "TRACE"}},
    {"path": {"trace": "TRACE"}},
    {"path": {"rate": "7Mbps", "trace": "TRACE"}, "flows": [{"start": "3s"}, {"cc": "bbr"}]},
]


@pytest.mark.parametrize("table", EXPERIMENTS, ids=str)
def test_the_command_means_the_same_experiment(table, monkeypatch, tmp_path):
    trace = tmp_path / "rates.csv"
    trace.write_text("time_s,rate_Mbps\n0,10\n1,20\n2,5\n")
    table = json.loads(json.dumps(table).replace("TRACE", str(trace)))
    experiment = tc.Experiment(**table)
    words = shlex.split(command(experiment.model_copy(update={"title": ""})))
    caught = []

    def simulate(again, **options):
        caught.append(again)
        raise tc.RunError("enough")

    monkeypatch.setattr("tunnelcc.running.runner.run", simulate)
    with pytest.raises(SystemExit):
        cli.main(words[1:])
    assert run_id(caught[0]) == run_id(experiment)
    assert caught[0].model_copy(update={"title": experiment.title}) == experiment


def test_damage_is_found_and_mended(run, scenario, tmp_path):
    store = tmp_path / "runs"
    tc.sweep(scenario, store=store, jobs=1, progress=False)
    file = next(store.glob("runs/*/*.run"))
    file.write_bytes(file.read_bytes()[:-1])
    code, out, _ = run("store", "verify", "--store", store)
    assert code == 1
    assert out == f"{file.stem}: its checksum is wrong\n4 runs, 1 damaged\n"
    _, out, _ = run("sweep", scenario, "--store", store)
    assert out.splitlines()[-1].endswith("4 runs (1 run, 3 cached, 0 failed)")
    assert run("store", "verify", "--store", store) == (0, "4 runs, 0 damaged\n", "")


def test_a_damaged_record_of_a_sweep_stops_nothing_else(run, scenario, swept, tmp_path):
    store = tmp_path / "runs"
    shutil.copytree(swept, store)
    good, bad = store / "sweeps" / "good.json", store / "sweeps" / f"{NAME}.json"
    shutil.copy(bad, good)
    bad.write_bytes(bad.read_bytes().replace(b"10ms", b"30ms"))
    code, out, _ = run("store", "ls", "--store", store)
    lines = out.splitlines()
    assert (code, lines[0]) == (0, "good: 8 runs, 0 failed, 0 missing")
    assert lines[1].startswith(f"{NAME}: {bad} is damaged: its checksum is wrong; ")
    with pytest.raises(tc.TunnelccError, match="checksum is wrong"):
        tc.open(store / NAME)
    code, out, _ = run("store", "verify", "--store", store)
    assert (code, out.splitlines()[-1]) == (1, "8 runs, 1 damaged")
    assert run("store", "verify", "--delete", "--store", store)[0] == 1
    assert not bad.exists()
    assert tc.open(store / "good")["goodput"].notnull().all()


def test_what_is_deleted_is_not_used_elsewhere(run, scenario, tmp_path):
    store = tmp_path / "runs"
    tc.sweep(scenario, {"cc": ["bbr"]}, name="a", store=store, jobs=1, progress=False)
    tc.sweep(scenario, {"cc": ["bbr", "cubic"]}, name="b", store=store, jobs=1, progress=False)
    assert run("store", "rm", "b", "--store", store) == (0, "2 runs deleted\n", "")
    assert set(tc.open(store)["error"].values.ravel()) == {""}
    assert run("store", "rm", "a", "--store", store) == (0, "2 runs deleted\n", "")
    assert run("store", "ls", "--store", store) == (0, "0 runs in 0.0 MB\n", "")


HEX = "0x" + "f" * 5000
BETA = "flows.0.cc.probe_rtt_interval"
HUGE = [f"--axis={key}={{from={low}, to={high}, steps=100}}" for key, low, high in (
    ("path.rtt", '"1ms"', '"1s"'), ("path.loss", '"1%"', '"9%"'), ("flows.count", 1, 1000),
)]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sweep"], ["--axis", "expected KEY=VALUE,VALUE"]),
        (["sweep", "nofile.toml"], ["'nofile.toml'", "No such file"]),
        (["sweep", "--axis", "path.rt=1ms"], ["path.rt", "did you mean 'rtt'?"]),
        (["sweep", "--axis", "path.rtt="], ["sweep.path.rtt = []", "at least one value"]),
        (["sweep", "--axis", "path.rtt"], ["--axis = 'path.rtt'", "KEY=VALUE"]),
        (["sweep", "--axis", "path.rtt=1ms,5"], ["path.rtt = 5", "the unit is missing"]),
        (["sweep", "--axis", "cc=bbr", "--seeds", "0"], ["sweep.seeds = 0", "1 to 1000000"]),
        (["sweep", "--axis", "cc=bbr", "--seeds", "x"], ["sweep.seeds = 'x'", "1 to 1000000"]),
        (["sweep", "--axis", "cc=bbr", "--jobs", "0"], ["--jobs"]),
        (["sweep", "--axis", "cc=bbr", "--name", "../x"], ["name = '../x'"]),
        (["sweep", "--axis", "cc=bbr", "--output", "x.xlsx"], ["output = 'x.xlsx'", ".nc, .csv"]),
        (["sweep", *HUGE, "--seeds", "100"], ["sweep = 100000000", "at most 100,000", "--yes"]),
        (
            ["sweep", "--axis", "cc=bbr", "--seeds", "9" * 5000],
            ["sweep.seeds = '999", "1 to 1000000"],
        ),
        (["sweep", "--axis", "cc=bbr", "--seeds", HEX], ["sweep.seeds = '0xfff", "1 to 1000000"]),
        (["sweep", "--axis", f"path.loss={{from=0, to=0.1, steps={HEX}}}"], ["sweep.path.loss"]),
        (
            ["sweep", f"--axis={BETA}={{from=1, to=1{'0' * 400}, steps=3}}", "--set=cc=bbr"],
            [f"sweep.{BETA}.to = 1000"],
        ),
        (
            ["sweep", "--axis=flows.5.cc.beta={from=0.1, to=0.5, steps=3}", "--set=cc=cubic"],
            ["flows.5.cc.beta", "only one flow"],
        ),
        (
            ["sweep", "--axis=flows.cc.beta={from=0.1, to=0.5, steps=3}", "--set=flows=[]"],
            ["sweep.flows.cc.beta"],
        ),
        (["run", "--set", f"seed={'9' * 5000}"], ["seed = '999"]),
        (["run", "--set", f"path.rate={HEX}"], ["path.rate = '0xfff"]),
        (["run", "--set", "cc=bbr", "--set", f"{BETA}=1{'0' * 400}"], [f"{BETA} = 1000"]),
        (["store"], ["Missing command"]),
        (["store", "list"], ["command = 'list'", "did you mean 'ls'?"]),
        (["store", "ls", "--store", "nowhere"], ["store = 'nowhere'", "tunnelcc sweep"]),
        (["store", "show", "x", "--store", "STORE"], ["name = 'x'", "id of a run"]),
        (["store", "ls", "two", "--store", "STORE"], ["STORE/two", "a sweep of this store", NAME]),
        (["store", "export", NAME, "x.txt", "--store", "STORE"], ["output = 'x.txt'"]),
    ],
)
def test_wrong_input_is_told_in_one_message(run, swept, arguments, words):
    place = lambda text: text.replace("STORE", str(swept))  # noqa: E731
    code, out, err = run(*map(place, arguments))
    if arguments == ["store"]:
        return
    assert (code, out) == (2, "")
    assert err.startswith("tunnelcc: ")
    assert len(err.splitlines()) == 1
    for word in words:
        assert place(word) in err


def _terminal(arguments: list[str], answer: bytes, directory: Path) -> tuple[int, bytes]:
    """Run a command on a terminal and type ``answer``."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "tunnelcc", *arguments],
        stdin=theirs, stdout=theirs, stderr=theirs, cwd=directory,
    )  # fmt: skip
    os.close(theirs)
    text = b""
    while b"[y/N]" not in text:
        text += os.read(ours, 1024)
    os.write(ours, answer)
    code = process.wait(timeout=30)
    os.close(ours)
    return code, text


def test_a_terminal_is_asked_before_a_hundred_million_runs(tmp_path):
    code, text = _terminal(["sweep", *HUGE, "--seeds", "100"], b"n\n", tmp_path)
    assert code == 130
    assert b"These are 100,000,000 runs. Start?" in text
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_hundred_million_runs_start_when_told_and_take_no_memory(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "tunnelcc", "sweep", *HUGE, "--seeds", "100", "--yes",
         "--set", "duration=100ms", "--set", "path.rate=20Mbps"],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until = time.monotonic() + 60
    while len(list(tmp_path.glob("runs/runs/*/*.run"))) < 50:
        assert time.monotonic() < until
        assert process.poll() is None
        time.sleep(0.2)
    status = Path(f"/proc/{process.pid}/status").read_text()
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 143
    assert int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) < 500_000


def test_python_refuses_a_hundred_million_runs_unless_told(tmp_path):
    axes = {"path.rtt": {"from": "1ms", "to": "1s", "steps": 1000}}
    with pytest.raises(tc.ConfigError, match="sweep = 1000000: expected at most 100,000 runs"):
        tc.sweep({}, axes, 1000, store=tmp_path)


def test_runs_are_counted_before_they_are_made(monkeypatch):
    made = []
    at = Interval.at
    monkeypatch.setattr(Interval, "at", lambda self, part: made.append(part) or at(self, part))
    axes = {"path.rtt": {"from": "1ms", "to": "1s", "steps": 1_000_000}}
    with pytest.raises(tc.ConfigError, match="sweep = 5000000: "):
        tc.sweep({}, axes)
    sample = {"sample": {"points": 1_000_000, "path.rtt": {"from": "1ms", "to": "1s"}}}
    with pytest.raises(tc.ConfigError, match="sweep = 2000000: "):
        tc.sweep({}, sample, 2)
    assert not made


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize(("low", "high", "steps"), [(1, 4, 10), (1, 1000, 7), (3, 40, 38)])
def test_the_count_is_that_of_the_runs(scale, low, high, steps):
    counted = []
    axes = {
        "flows.count": {"from": low, "to": high, "steps": steps, "scale": scale},
        "path.rtt": {"from": "1ms", "to": "1s", "steps": 3, "scale": scale},
        "zip": {"path.loss": [0, "1%"], "cc": ["bbr", "cubic"]},
    }
    assert [len(tc.Sweep({}, axes, 3, on_count=counted.append))] == counted


def test_a_scheduler_that_is_not_there_is_told(run, tmp_path, monkeypatch):
    monkeypatch.setattr("tunnelcc.sweeps.cluster._CONNECT_SECONDS", 0.5)
    options = ["--dask", "tcp://127.0.0.1:9", "--store", tmp_path]
    code, out, err = run("sweep", "--axis", "cc=bbr", *options)
    assert (code, out) == (2, "")
    assert err.startswith("tunnelcc: dask = 'tcp://127.0.0.1:9': expected the address of a ")
    assert len(err.splitlines()) == 1


def test_a_newer_store_is_told(run, tmp_path):
    (tmp_path / "store.json").write_text('{"format": 7}')
    for arguments in (["sweep", "--axis", "cc=bbr"], ["store", "ls"]):
        code, _, err = run(*arguments, "--store", tmp_path)
        assert (code, len(err.splitlines())) == (1, 1)
        assert "format 7 of a newer tunnelcc" in err


def test_a_sweep_without_anything_possible_is_refused(run, tmp_path):
    file, store = tmp_path / "x.toml", tmp_path / "runs"
    file.write_text('duration = "1s"\nrate = "5Mbps"\n')
    code, out, err = run("sweep", file, "--axis", "cc=bbr,cubic", "--seeds", "2", "--store", store)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert "did you mean 'path.rate'?" in err
    assert not store.exists()


def test_impossible_experiments_count_as_failed(run, tmp_path):
    file, store = tmp_path / "x.toml", tmp_path / "runs"
    file.write_text('duration = "1s"\npath.rate = "5Mbps"\n')
    code, *_ = run("sweep", file, "--axis", "warmup=500ms,2s", "--seeds", "2", "--store", store)
    assert code == 1
    _, out, _ = run("store", "ls", "--store", store)
    assert out.startswith("x: 4 runs, 2 failed, 0 missing\n")


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("--duration", "1s"), "--set duration="),
        (("--rate", "1Mbps"), "--set path.rate="),
        (("--axis", "path.loss=1%..5%"), "path.loss={from='1%', to='5%'"),
    ],
)
def test_what_other_commands_take_is_told_as_it_is_written_here(run, arguments, hint):
    code, _, err = run("sweep", *arguments)
    assert code == 2
    assert hint in err


@pytest.mark.parametrize(("seeds", "is_told"), [(2, False), (3, True)])
def test_differences_need_three_seeds(run, tmp_path, seeds, is_told):
    """Of two, every correlation is 1 or -1."""
    code, out, err = run(
        "sweep", "--axis", "cc=bbr,cubic", "--set", "path.rate=5Mbps", "--set", "duration=2s",
        "--set", "path.loss=1%", "--seeds", str(seeds), "--name", "x", "--store", tmp_path,
    )  # fmt: skip
    assert code == 0, err
    rows = out.partition("with the same seeds")[2]
    assert ("too few seeds" in rows) is not is_told
    assert ("[" in rows.splitlines()[2]) is is_told
