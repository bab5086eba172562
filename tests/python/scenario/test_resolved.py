# SPDX-License-Identifier: GPL-2.0-only
"""An experiment's network is resolved once, wherever the experiment goes."""

from __future__ import annotations

import pickle

import pytest

import tunnelcc as tc
from tunnelcc import sweeps
from tunnelcc.output.progress import RunsProgress
from tunnelcc.report.network import print_network
from tunnelcc.running import pool, runner
from tunnelcc.scenario import experiment as scenario
from tunnelcc.specification import experiment_spec, spec_text
from tunnelcc.store import Store
from tunnelcc.sweeps import execute

SHORT = {"path": {"rate": "5Mbps", "rtt": "10ms"}, "duration": "200ms", "tunnel": "wireguard"}


@pytest.fixture
def resolved(monkeypatch):
    """The experiments that were resolved, one for each call."""
    calls = []
    real = scenario.resolve
    monkeypatch.setattr(scenario, "resolve", lambda it: calls.append(it) or real(it))
    return calls


def in_process(function, tasks, jobs=None):
    """Do tasks as workers do, with what comes out of a pipe."""
    for key, argument in tasks:
        yield key, pickle.loads(pickle.dumps(function(pickle.loads(pickle.dumps(argument)))))


def test_once_for_a_run(resolved):
    result = tc.run(SHORT, progress=False)
    assert result.metrics
    assert result.to_json()
    assert result.flow_tunnels == ["tunnel"]
    assert len(resolved) == 1


def test_once_for_each_of_many_runs(resolved, monkeypatch):
    monkeypatch.setattr(pool, "parallel", in_process)
    experiment = tc.Experiment.parse(SHORT)
    experiments = [experiment, experiment.with_({"path.rate": "8Mbps"})]
    results = runner.run_many(experiments, progress=False)
    assert [result.goodput > 1e6 for result in results] == [True, True]
    assert len(resolved) == 2


def test_once_for_each_run_of_a_sweep(resolved, tmp_path):
    sweep = sweeps.Sweep(SHORT, {"path.rtt": ["10ms", "20ms"]}, seeds=3)
    resolved.clear()
    with RunsProgress() as progress:
        tally = execute.complete(
            sweep.experiments(), len(sweep), Store(tmp_path), in_process, progress=progress
        )
    assert tally.done == len(sweep) == 6
    assert len(resolved) == 2, "seeds share all but their draws"


@pytest.mark.parametrize("seed", [1, 2, 77])
def test_another_seed_changes_what_it_draws_alone(seed):
    table = {
        **SHORT,
        "flows": [{"count": 3, "bytes": "20kB", "bytes_shape": 1.2}, {"interarrival": "10ms"}],
        "cross_traffic": [
            {"rate": "1Mbps"},
            {"rate": "1Mbps", "packet": "1kB", "tunnel": "wireguard"},
        ],
        "pings": [{}, {"tunnel": "none"}],
    }
    changed = tc.Experiment.parse(table).with_seed(seed)
    assert spec_text(experiment_spec(changed)) == spec_text(
        experiment_spec(tc.Experiment.parse({**table, "seed": seed}))
    )


def test_a_changed_copy_is_resolved_again(resolved, capsys):
    experiment = tc.Experiment.parse(SHORT)
    print_network(experiment)
    assert len(resolved) == 1
    other = experiment.model_copy(update={"seed": 2})
    assert other.resolved.flows[0].start != experiment.resolved.flows[0].start
    assert len(resolved) == 2
