# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps that are interrupted, terminated and killed: nothing finished is lost or done twice."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tunnelcc as tc
from tunnelcc import sweeps
from tunnelcc.store import Store

# Runs of some 50 ms each.
SCENARIO = """
duration = "20s"
path.rate = "50Mbps"
probe_interval = "1s"

[[flows]]
cc = "bbr"
count = 4

[sweep]
seeds = 5
"path.rtt" = ["10ms", "20ms", "40ms", "80ms"]
"""
RUNS = 20
SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}


def _files(store: Path) -> set[Path]:
    return set(store.glob("runs/*/*.run"))


def _start(directory: Path, scenario: str = SCENARIO) -> subprocess.Popen[str]:
    (directory / "sweep.toml").write_text(scenario)
    return subprocess.Popen(
        [sys.executable, "-m", "tunnelcc", "sweep", "sweep.toml", "--jobs", "2"],
        cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def _wait(condition, seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "nothing happened"
        time.sleep(0.01)


def _is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def _end_after_new_files(directory: Path, signal_: int, delay: float, known: set[Path]) -> None:
    """Start a sweep, wait for a run that is not known, and send the signal ``delay`` s later."""
    store = directory / "runs"
    process = _start(directory)
    _wait(lambda: _files(store) - known or process.poll() is not None)
    time.sleep(delay)
    if signal_ == signal.SIGINT:
        with contextlib.suppress(ProcessLookupError):  # it was done
            os.killpg(process.pid, signal_)  # as a terminal does
    else:
        process.send_signal(signal_)
    _, errors = process.communicate(timeout=30)
    if process.returncode:  # else it was done before the signal came
        assert process.returncode == SIGNALS[signal_], errors
        if signal_ != signal.SIGKILL:
            assert errors.splitlines()[-1].endswith(
                "finished runs are kept; repeat the command to continue"
            )
    _wait(lambda: _is_gone(process.pid))


def _check_rest(directory: Path, whole: tc.Sweep) -> None:
    store = directory / "runs"
    kept = {file: file.stat().st_mtime_ns for file in _files(store)}
    assert dict(Store(store).damaged()) == {}
    tally = sweeps.run(whole, store, progress=False)
    assert (tally.cached, tally.done, tally.failed) == (len(kept), RUNS - len(kept), 0)
    assert len(_files(store)) == RUNS
    assert all(file.stat().st_mtime_ns == written for file, written in kept.items())


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    file = tmp_path_factory.mktemp("whole") / "sweep.toml"
    file.write_text(SCENARIO)
    return tc.Sweep(file)


@pytest.mark.parametrize("signal_", SIGNALS, ids=lambda signal_: signal.Signals(signal_).name)
def test_what_was_finished_before_a_signal_is_kept(tmp_path, whole, signal_):
    _end_after_new_files(tmp_path, signal_, 0.2, set())
    assert _files(tmp_path / "runs")
    _check_rest(tmp_path, whole)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("signal_", SIGNALS, ids=lambda signal_: signal.Signals(signal_).name)
def test_signals_at_random_moments_until_all_is_done(tmp_path, whole, signal_, seed):
    draw = random.Random(seed)
    store = tmp_path / "runs"
    for _ in range(4):
        before = _files(store)
        _end_after_new_files(tmp_path, signal_, draw.expovariate(1 / 0.15), before)
        assert before <= _files(store)
        assert dict(Store(store).damaged()) == {}
    _check_rest(tmp_path, whole)
    sweeps.run(whole, tmp_path / "alone", progress=False)
    for file in _files(tmp_path / "alone"):
        same = store / file.relative_to(tmp_path / "alone")
        assert same.read_bytes() == file.read_bytes()


def test_workers_do_not_outlive_a_parent_that_was_killed(tmp_path):
    endless = SCENARIO.replace("20s", "100000s").replace("50Mbps", "1Gbps")
    process = _start(tmp_path, endless)
    marker = tmp_path / "runs" / "sweeps"
    try:
        _wait(marker.exists)
        time.sleep(2)
    finally:
        process.kill()
    process.communicate(timeout=30)
    _wait(lambda: _is_gone(process.pid), 10)


@pytest.mark.slow
def test_two_processes_share_a_store(tmp_path, whole):
    first, second = _start(tmp_path), _start(tmp_path)
    for process in (first, second):
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    _check_rest(tmp_path, whole)
    assert set(tc.open(tmp_path / "runs")["error"].values.ravel()) == {""}


def test_an_interrupted_reproduction_says_what_it_kept(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "tunnelcc", "reproduce", "ethudp", "--figure", "5", "--jobs", "2"],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    _wait(lambda: _files(tmp_path / "runs"), 120)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.endswith("finished runs are kept; repeat the command to continue\n")
    assert _files(tmp_path / "runs")
