# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps on a Dask cluster of one scheduler and two workers, each a process on the loopback."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import distributed
import pytest

import tunnelcc as tc
from tunnelcc import errors, sweeps
from tunnelcc.store import Store
from tunnelcc.sweeps import cluster, execute

BASE = {"path": {"rate": "10Mbps"}, "flows": [{"cc": "bbr"}, {"cc": "cubic"}], "duration": "2s"}
AXES = {"path.rtt": ["10ms", "40ms"], "tunnel": ["none", "gost-relay-ws"]}


@contextlib.contextmanager
def _dask(directory: Path, workers: int):
    """Yield the file with the scheduler's address, and the processes of the workers."""
    file = directory / "scheduler.json"
    common = ["--scheduler-file", str(file), "--no-dashboard"]
    with contextlib.ExitStack() as stack:

        def start(*command: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *command], cwd=directory,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        start("scheduler", "--host", "127.0.0.1", "--port", "0", *common)
        options = ["--nthreads", "1", "--no-nanny", "--host", "127.0.0.1", *common]
        yield file, [start("worker", *options) for _ in range(workers)]


@pytest.mark.slow
def test_a_cluster_gives_the_same_bytes_though_a_worker_is_killed(tmp_path):
    declared = tc.Sweep(BASE, AXES, seeds=15)
    sweeps.run(declared, tmp_path / "here", jobs=2, progress=False)
    with _dask(tmp_path, 2) as (file, workers):  # noqa: SIM117
        with distributed.Client(scheduler_file=str(file), timeout=60) as client:
            client.wait_for_workers(2, timeout=60)

            class Killer:
                """Kills a worker after a third of the runs."""

                def update(self, counts, share):
                    if counts.done == 20:
                        workers[0].kill()

            store = Store(tmp_path / "there")
            tally = execute.complete(
                declared.experiments(), len(declared), store, cluster.Cluster(client).parallel,
                progress=Killer(),
            )  # fmt: skip
            assert workers[0].wait(10) == -9
    assert (tally.done, tally.failed, tally.cached) == (60, 0, 0)
    files = sorted((tmp_path / "here").glob("runs/*/*.run"))
    assert len(files) == 60
    for file in files:
        same = tmp_path / "there" / file.relative_to(tmp_path / "here")
        assert same.read_bytes() == file.read_bytes()


@pytest.mark.slow
def test_an_address_is_enough_and_errors_are_rows(tmp_path):
    axes = {"duration": ["2s", "100000s"]}
    base = {**BASE, "probe_interval": "1s"}
    with _dask(tmp_path, 1) as (file, _):
        for _ in range(600):
            if file.exists():
                break
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        found = tc.sweep(
            base, axes, 1, store=tmp_path / "runs", client=address, timeout=2, progress=False
        )
    assert found["goodput"].notnull().values.ravel().tolist() == [True, False]
    assert found["error"].values[1, 0] == "the run took more than 2 s"


def test_a_scheduler_that_is_not_there_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "_CONNECT_SECONDS", 0.5)
    with pytest.raises(tc.ConfigError, match=r"dask = 'tcp://127.*': expected the address"):
        tc.sweep(BASE, AXES, 1, store=tmp_path, client="tcp://127.0.0.1:9", progress=False)
    with pytest.raises(tc.ConfigError, match="dask = 'nonsense://': expected the address"):
        tc.sweep(BASE, AXES, 1, store=tmp_path, client="nonsense://", progress=False)


def test_what_is_not_installed_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(tc.TunnelccError, match=re.escape(errors.install("cluster"))):
        tc.sweep(BASE, AXES, 1, store=tmp_path, client="tcp://127.0.0.1:9", progress=False)


def test_workers_with_other_models_are_refused():
    measured = execute.Measured("other", b"")
    with pytest.raises(tc.TunnelccError, match=r"other models \(other\)"):
        execute._check_models(measured)
