# SPDX-License-Identifier: GPL-2.0-only
"""Runs: alone, in parallel, interrupted, too large, and when a process dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import types

import pytest

import tunnelcc as tc
from tunnelcc import system
from tunnelcc.core import simulation
from tunnelcc.network.resolve import resolve
from tunnelcc.running import memory, pool, runner, worker

SMALL = {"path": {"rate": "10Mbps", "rtt": "20ms"}, "duration": "2s"}
# Long enough that nobody waits for its end.
ENDLESS = {"path": {"rate": "1Gbps", "rtt": "20ms"}, "duration": "100000s", "probe_interval": "10s"}


def _experiments(count):
    return [tc.Experiment(**SMALL, seed=seed, flows={"cc": "bbr"}) for seed in range(count)]


def test_progress_tells_simulated_seconds():
    told = []
    tc.run(tc.Experiment(path={"rate": "1Gbps"}, duration="20s"), progress=told.append)
    assert told == sorted(told)
    assert all(0 <= seconds <= 20 for seconds in told)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, ValueError])
def test_what_progress_raises_ends_the_run(error):
    def stop(seconds):
        raise error

    started = time.monotonic()
    with pytest.raises(error):
        tc.run(tc.Experiment(**ENDLESS), progress=stop)
    assert time.monotonic() - started < 10
    assert tc.run(_experiments(1)[0]).goodput > 5e6


def test_an_interrupt_leaves_the_results_of_runs_that_are_finished():
    def stop(_, result):
        os.kill(os.getpid(), signal.SIGINT)

    todo = [tc.Experiment(**ENDLESS), *_experiments(1)]
    with pytest.raises(tc.Interrupted, match="1 of 2 runs are finished") as stopped:
        tc.run_many(todo, jobs=2, on_result=stop, progress=False)
    endless, small = stopped.value.results
    assert endless is None
    assert small.goodput > 5e6


def test_a_second_run_in_the_same_process_is_refused():
    caught = []

    def nested(seconds):
        try:
            tc.run(_experiments(1)[0])
        except tc.RunError as error:
            caught.append(str(error))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tc.run(tc.Experiment(**ENDLESS), progress=nested)
    assert "run_many" in caught[0]


def test_threads_do_not_simulate_at_once():
    entered, errors = threading.Event(), []

    def hold(seconds):
        entered.set()
        time.sleep(0.2)
        raise KeyboardInterrupt

    def first():
        with pytest.raises(KeyboardInterrupt):
            tc.run(tc.Experiment(**ENDLESS), progress=hold)

    thread = threading.Thread(target=first)
    thread.start()
    assert entered.wait(10)
    try:
        tc.run(_experiments(1)[0])
    except tc.RunError as error:
        errors.append(error)
    thread.join()
    assert len(errors) == 1


def test_running_out_of_memory_is_told(monkeypatch):
    class Module:
        def run(self, *arguments):
            raise MemoryError

    experiment = tc.Experiment(**SMALL)
    monkeypatch.setattr(runner, "experiment_spec", lambda experiment: None)
    monkeypatch.setattr(simulation.core, "load", Module)
    with pytest.raises(tc.RunError, match="not enough memory"):
        tc.run(experiment)


def test_parallel_runs_equal_single_ones():
    experiments = _experiments(4)
    done = []
    results = tc.run_many(experiments, jobs=2, progress=lambda n, total: done.append((n, total)))
    assert [result.experiment.seed for result in results] == [0, 1, 2, 3]
    assert done == [(1, 4), (2, 4), (3, 4), (4, 4)]
    for experiment, result in zip(experiments, results, strict=True):
        assert result.digests() == tc.run(experiment).digests()


def test_no_runs():
    assert tc.run_many([]) == []


def test_the_longest_start_first():
    short, long = tc.Experiment(**SMALL), tc.Experiment(**{**SMALL, "duration": "20s"})
    assert runner.estimated_work(long) > runner.estimated_work(short)
    order = []
    tc.run_many([short, long, short], jobs=1, on_result=lambda index, _: order.append(index))
    assert order == [1, 0, 2]


@pytest.fixture(params=[True, False], ids=["forked", "spawned"])
def each_way(request, monkeypatch):
    """Workers as on Linux, and as on other systems."""
    monkeypatch.setattr(system, "FORKS", request.param)


def test_workers_do_the_same_on_all_systems(each_way):
    experiments = _experiments(2)
    results = tc.run_many(experiments, jobs=2)
    assert [it.digests() for it in results] == [tc.run(it).digests() for it in experiments]


def test_a_dead_process_costs_only_its_run(each_way, monkeypatch):
    assign = pool._assign

    def kill_second(worker, function, key, argument):
        assign(worker, function, key, argument)
        if key == 1:
            os.kill(worker.family.members[worker.number], signal.SIGKILL)

    monkeypatch.setattr(pool, "_assign", kill_second)
    experiments = _experiments(4)
    experiments[1] = tc.Experiment(**ENDLESS)
    results = tc.run_many(experiments, jobs=2)
    assert isinstance(results[1], tc.RunError)
    assert "killed by signal 9" in str(results[1])
    assert [type(results[index]) for index in (0, 2, 3)] == [tc.Result] * 3


def test_a_death_is_told_where_the_process_that_forked_the_worker_is_gone(monkeypatch):
    assign = pool._assign

    def kill_both(worker, function, key, argument):
        assign(worker, function, key, argument)
        if key == 0:
            member = worker.family.members[worker.number]
            worker.family._process.kill()
            os.kill(member, signal.SIGKILL)

    monkeypatch.setattr(pool, "_assign", kill_both)
    killed, other = tc.run_many([tc.Experiment(**ENDLESS), *_experiments(1)], jobs=1)
    assert "killed by signal 9" in str(killed)
    assert isinstance(other, tc.Result)


@pytest.mark.parametrize("dies", [False, True])
def test_runs_end_although_the_process_that_forked_the_workers_is_stopped(monkeypatch, dies):
    assign = pool._assign

    def stop(worker, function, key, argument):
        assign(worker, function, key, argument)
        if key == 0:
            member = worker.family.members[worker.number]
            worker.family._process.send_signal(signal.SIGSTOP)
            if dies:
                os.kill(member, signal.SIGKILL)

    monkeypatch.setattr(pool, "_assign", stop)
    first = tc.Experiment(**ENDLESS) if dies else _experiments(1)[0]
    found = tc.run_many([first, *_experiments(1)], jobs=2)
    assert [isinstance(it, tc.Result) for it in found] == [not dies, True]
    if dies:
        assert "killed by signal 9" in str(found[0])


def test_workers_that_cannot_start_are_told(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    results = tc.run_many(_experiments(3), jobs=2)
    assert ["ended with status 1" in str(result) for result in results] == [True] * 3


@pytest.mark.parametrize("fails", ["recv", "send"])
def test_a_worker_whose_parent_was_killed_ends_without_a_word(monkeypatch, fails):
    def gone(*_):
        raise ConnectionResetError

    def end(code):
        raise SystemExit(code)

    pipe = types.SimpleNamespace(fileno=lambda: 0, recv=lambda: (str, 1), send=gone)
    setattr(pipe, fails, gone)
    monkeypatch.setattr(worker, "_end_with_parent", lambda *_: None)
    monkeypatch.setattr(os, "_exit", end)
    with pytest.raises(SystemExit) as caught:
        worker._serve(pipe)
    assert caught.value.code == 0


def test_an_error_in_the_middle_leaves_no_process_behind():
    started = []
    real = pool._start

    def remember(function, count):
        workers = real(function, count)
        started.extend(workers[0].family.members)
        return workers

    def fail(index, result):
        raise ZeroDivisionError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "_start", remember)
        with pytest.raises(ZeroDivisionError):
            tc.run_many(_experiments(4), jobs=2, on_result=fail)
    assert len(started) == 2
    for process in started:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


SCRIPT = """
import tunnelcc as tc
path = {"rate": "1Gbps", "rtt": "20ms"}
endless = tc.Experiment(path=path, duration="100000s", probe_interval="10s")
print("ready", flush=True)
"""


@pytest.mark.parametrize(
    "call",
    [
        "tc.run(endless)",
        "tc.run_many([endless, endless], jobs=2)",
        "from tunnelcc.cli import main; main(['run', '--rate', '1Gbps', '--duration', '100000s',"
        " '--set', 'probe_interval=10s'])",
    ],
)
def test_ctrl_c_ends_a_run(call):
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT + call], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout.readline() == "ready\n"
    time.sleep(1.5)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    if "cli" in call:
        assert process.returncode == 130
        assert errors.strip() == "tunnelcc: interrupted"
    elif "run_many" in call:
        last = errors.rstrip().splitlines()[-1]
        assert last.startswith("tunnelcc.errors.Interrupted: 0 of 2 runs are finished")
    else:
        assert errors.rstrip().endswith("KeyboardInterrupt")
    # The group has no process left that could go on simulating.
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_what_needs_too_much_memory_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 50e6)
    hungry = {"path": {"rate": "100Gbps", "rtt": "1s"}, "hosts": {"tcp_rmem": "1GiB"}}
    with pytest.raises(tc.ConfigError, match="flows = 100: expected fewer flows or smaller"):
        tc.run(tc.Experiment(**hungry, flows={"count": 100}))
    with pytest.raises(tc.ConfigError, match="probe_interval = '1ms': expected a longer"):
        tc.run(tc.Experiment(duration="10000s", probe_interval="1ms"))
    with pytest.raises(tc.ConfigError, match="fewer flows"):
        tc.run_many([tc.Experiment(**SMALL), tc.Experiment(**hungry, flows={"count": 100})])


def test_the_estimate_of_memory_is_above_what_is_used():
    experiment = tc.Experiment(
        path={"rate": "10Gbps", "rtt": "20ms"}, flows={"cc": "bbr", "count": 128}, duration="1s"
    )
    code = (
        "import resource, tunnelcc as tc; peak = lambda: "
        "resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; "
        f"e = tc.Experiment(**{experiment.table()!r}); "
        "tc.run(tc.Experiment(path={'rate': '1Mbps'}, duration='100ms')); before = peak(); "
        "tc.run(e); print(1024 * (peak() - before))"
    )
    used = int(subprocess.check_output([sys.executable, "-c", code], text=True))
    network = resolve(experiment)
    assert used < memory.window_memory(network) + memory.series_memory(network)
