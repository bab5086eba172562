# SPDX-License-Identifier: GPL-2.0-only
"""Metrics of one's own: functions of a run, wherever a metric's name can stand."""

from __future__ import annotations

import csv
import sys

import numpy as np
import pytest

import tunnelcc as tc
from tunnelcc import metrics, plots

SHORT = {"path": {"rate": "5Mbps", "rtt": "20ms"}, "duration": "1s", "flows": {"count": 2}}
MODULE = """
import tunnelcc as tc


@tc.metric("s", "time until the first byte")
def first_byte(run):
    return run["flow_first_byte_at"] - run["flow_start"]


def halved(run):
    return first_byte(run).mean() / 2


def broken(run):
    return run["no_such_variable"]


NUMBER = 1
"""


@tc.metric("byte", "longest queue")
def longest_queue(run):
    return run["link_queue_bytes"].max()


@tc.metric("s", "time until the first byte")
def first_byte(run):
    return run["flow_first_byte_at"] - run["flow_start"]


def goodput(run):
    return 0


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder with a module of metrics."""
    (tmp_path / "own_metrics.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("own_metrics", None)


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A store with a sweep of two points."""
    store = tmp_path_factory.mktemp("own") / "runs"
    tc.sweep(SHORT, {"cc": ["bbr", "cubic"]}, 1, name="x", store=store, jobs=1, progress=False)
    return store


def test_a_run_has_them(plain_result):
    result = tc.run(SHORT, metrics=[longest_queue, first_byte, "jain"], progress=False)
    assert result.metrics["longest_queue"] == result["link_queue_bytes"].max() > 0
    assert "first_byte" not in result.metrics, "it is of each flow"
    for flow in (0, 1):
        found = result.metric("first_byte", flow=flow)
        assert found == result.flows[flow].first_byte_at - result["flow_start"][flow]
    table = result.to_dict()
    assert table["metrics"]["longest_queue"] == result.metrics["longest_queue"]
    assert table["units"]["longest_queue"] == "byte"
    assert plain_result.metric(longest_queue) == plain_result["link_queue_bytes"].max()


def test_a_sweep_has_them_and_computes_them_anew(swept):
    found = tc.open(swept / "x", metrics=[longest_queue, first_byte, "goodput"])
    assert found.longest_queue.dims == ("cc", "seed")
    assert found.first_byte.dims == ("cc", "seed", "flow")
    assert found.first_byte.attrs == {"units": "s", "long_name": "time until the first byte"}
    runs = [tc.Store(swept).load(str(id_)) for id_ in found.run.values.flat]
    assert found.longest_queue.values.flat[1] == runs[1]["link_queue_bytes"].max()

    def longest_queue_(run):
        return 1

    longest_queue_.__name__ = "longest_queue"
    again = tc.open(swept / "x", metrics=[longest_queue_])
    assert (again.longest_queue == 1).all(), "another function of the same name"
    assert "longest_queue" not in tc.open(swept / "x")


def test_a_lambda_or_a_function_inside_another_works_too(swept):
    def of_here(run):
        return len(run.flows)

    found = tc.sweep(
        SHORT, {"cc": ["bbr", "cubic"]}, 1, name="x", store=swept, metrics=[of_here], progress=False
    )
    assert (found.of_here == 2).all()


def test_figures_draw_them(swept, tmp_path):
    found = tc.open(swept / "x", metrics=[longest_queue])
    figure = plots.curves(found, x="cc", y="longest_queue")
    assert figure.axes[0].get_ylabel() == "longest queue (kB)"


@pytest.mark.words
@pytest.mark.parametrize(
    ("given", "told"),
    [
        (lambda run: 0, "a function with a name"),
        (3, "a function with a name"),
        (goodput, "a function with another name"),
        ("jian", "did you mean 'jain'"),
        ("no_such_module:f", "a module that Python finds"),
    ],
)
def test_what_is_no_metric_is_refused_before_a_run(given, told):
    with pytest.raises(tc.ConfigError, match=told):
        tc.run(SHORT, metrics=[given])


@pytest.mark.words
def test_two_of_one_name_are_refused():
    def first_byte(run):
        return 0

    with pytest.raises(tc.ConfigError, match="functions with different names"):
        tc.run(SHORT, metrics=[first_byte, globals()["first_byte"]])


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (
            lambda run: run["time"],
            r"an array of shape \(\d+,\): expected a number, or one number for",
        ),
        (lambda run: "much", "returned 'much': expected a number"),
        (lambda run: None, "returned None: expected a number"),
        (lambda run: 1 / 0, r"failed: ZeroDivisionError: division by zero \(.*test_own.py, line"),
        (lambda run: run.rtt, "failed: AttributeError: .*'rtt'"),
        (lambda run: run.flow_start, r'write run\["flow_start"\]'),
    ],
)
def test_what_a_function_does_wrong_is_told(plain_result, value, told):
    def wrong(run):
        return value(run)

    with pytest.raises(metrics.MetricError, match=f"the metric wrong {told}|{told}"):
        plain_result.metric(wrong)


def test_none_is_no_number(plain_result):
    def nothing(run):
        return np.nan

    assert np.isnan(plain_result.metric(nothing))


def test_commands_take_them_from_a_module(run, own, swept):
    options = ["--set", "duration=1s", "--rate", "5Mbps"]
    code, out, err = run("run", *options, "--metric", "own_metrics:first_byte")
    assert code == 0, err
    assert "time until the first byte" in out
    options = ["--axis", "cc=bbr,cubic", "--set", "duration=1s", "--seeds", "1", "--jobs", "1"]
    options += ["--set", "path.rate=5Mbps", "--store", own / "runs", "--name", "x"]
    code, out, err = run(
        "sweep", *options, "--metric", "own_metrics:halved", "--output", own / "x.csv"
    )
    assert code == 0, err
    assert "halved" in out
    with (own / "x.csv").open() as lines:
        assert [0 < float(row["halved"]) < 1 for row in csv.DictReader(lines)] == [True, True]
    code, _, err = run("plot", own / "runs/x", "--y", "own_metrics:first_byte", "-o", own / "x.svg")
    assert code == 0, err
    assert (own / "x.svg").stat().st_size > 1000


@pytest.mark.parametrize(
    ("named", "status", "told"),
    [
        ("own_metrics:second_byte", 2, "a function of the module own_metrics"),
        ("own_metrics:NUMBER", 2, "a function with a name"),
        ("other_metrics:f", 2, "No module named 'other_metrics'"),
        ("own_metrics:broken", 1, "the metric broken failed: KeyError"),
        ("goodputs", 2, "did you mean 'goodput'"),
    ],
)
def test_commands_tell_what_is_wrong(run, own, swept, named, status, told):
    code, _, err = run("plot", swept / "x", "--y", f"{named}", "-o", own / "x.svg")
    if named == "goodputs":  # the name of no variable of the results
        assert code == 2
        return
    assert (code, err.count("\n")) == (status, 1)
    assert told in err
