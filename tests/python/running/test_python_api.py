# SPDX-License-Identifier: GPL-2.0-only
"""What Python offers besides the keys: several forms of an experiment, changes, help, metrics."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

import tunnelcc as tc
from tunnelcc import metrics
from tunnelcc.schema import fields_of

TABLE = {"path": {"rate": "5Mbps", "rtt": "10ms"}, "duration": "2s", "flows": [{"cc": "bbr"}]}


def test_a_run_takes_an_experiment_a_table_or_a_file(tmp_path):
    file = tmp_path / "one.toml"
    file.write_text(
        'duration = "2s"\n[path]\nrate = "5Mbps"\nrtt = "10ms"\n[[flows]]\ncc = "bbr"\n'
    )
    sources = (tc.Experiment.parse(TABLE), TABLE, file, str(file))
    digests = [tc.run(source, progress=False).digests() for source in sources]
    assert all(it == digests[0] for it in digests)
    both = tc.run_many([TABLE, file], jobs=1, progress=False)
    assert [it.digests() for it in both] == digests[:2]
    for wrong in ({"paths": {}}, tmp_path / "none.toml", {**TABLE, "sweep": {"cc": ["bbr"]}}):
        with pytest.raises(tc.ConfigError):
            tc.run(wrong)


@pytest.mark.parametrize("wrong", [None, 5, ["bbr"], b"one.toml", tc.Path()], ids=str)
def test_what_is_no_experiment_is_refused(wrong, tmp_path):
    for use in (
        tc.run,
        tc.harm,
        lambda it: tc.run_many([TABLE, it]),
        lambda it: tc.sweep(it, {"cc": ["bbr"]}, store=tmp_path),
    ):
        with pytest.raises(tc.ConfigError, match=r"experiment = .* a table \(dict\)"):
            use(wrong)


@pytest.mark.parametrize("wrong", [5, ["cc"], "cc=bbr"], ids=str)
def test_what_is_no_table_of_keys_is_refused(wrong, tmp_path):
    with pytest.raises(tc.ConfigError, match=r"settings = .* a table"):
        tc.Experiment().with_(wrong)
    with pytest.raises(tc.ConfigError, match=r"axes = .* a table"):
        tc.sweep(TABLE, wrong, store=tmp_path)


@pytest.mark.parametrize(
    "table",
    [
        TABLE, {}, {"tunnel": "gost-relay-wss"}, {"tunnel": {"name": "vtun-udp", "mode": "ether"}},
        {"flows": [{"cc": {"name": "bbr", "probe_rtt_interval": "5s"}}, {"tunnel": "none"}]},
        {"tunnels": {"a": "wireguard", "b": "none"}, "flows": [{"tunnel": "a"}]},
        {"network": {"shape": "ring", "size": 4}, "flows": [{"from": "host1", "to": "host2"}]},
        {"path": {"queue": "codel", "policer": {"rate": "1Mbps"}}, "tcp": {"timestamps": False}},
    ],
    ids=str,
)  # fmt: skip
def test_a_changed_experiment_is_checked_and_otherwise_the_same(table):
    experiment = tc.Experiment.parse(table)
    assert experiment.with_({}) == experiment
    changed = experiment.with_({"path.loss": "1%", "flows.count": 2, "cc": "reno"})
    assert changed.path.loss == 0.01
    assert {(flow.count, flow.cc.name) for flow in changed.flows} == {(2, "reno")}
    assert changed.tunnel == experiment.tunnel
    assert experiment == tc.Experiment.parse(table)


def test_values_that_follow_from_others_follow_the_changed_ones():
    experiment = tc.Experiment.parse(TABLE)
    assert experiment.with_({"tcp.timestamps": False}).tcp == tc.Tcp(timestamps=False)


def test_attributes_of_an_experiment_can_be_set_in_another():
    experiment = tc.Experiment.parse(TABLE)
    path, changed = experiment.path, tc.Experiment()
    for key, value in {
        "path.rtt": f"{path.rtt}s", "path.rate": f"{path.rate}bps", "path.buffer": path.buffer,
        "path.loss": path.loss, "path.queue": path.queue,
    }.items():  # fmt: skip
        changed = changed.with_({key: value})
    assert changed.path == path


def test_a_number_needs_its_unit_in_python_too():
    for wrong in (40.0, 0.04, 40, np.float64(0.04)):
        with pytest.raises(tc.ConfigError, match=r"rtt.*the unit is missing, did you mean '40ms'"):
            tc.Path(rtt=wrong)
    path = tc.Experiment(path={"rtt": "30ms"}).path
    assert tc.Path(rtt=f"{2 * path.rtt}s").rtt == 0.06


@pytest.mark.parametrize(
    ("settings", "suggested"),
    [
        ({"path.rtt": 100}, "the unit is missing, did you mean '100ms'"),
        ({"duration": 20}, "the unit is missing, did you mean '20s'"),
        ({"path.rate": 100}, "the unit is missing, did you mean '100Mbps'"),
        ({"path.rate": 2_000_000}, "the unit is missing, did you mean '2Mbps'"),
        ({"path.rtt": "0.04"}, "the unit is missing, did you mean '40ms'"),
        ({"path.rtt": -5}, r"the unit is missing\)"),
        ({"path.rtt": 100.0}, "the unit is missing, did you mean '100ms'"),
    ],
    ids=str,
)
def test_what_is_suggested_for_a_missing_unit_is_in_range(settings, suggested):
    with pytest.raises(tc.ConfigError, match=suggested):
        tc.Experiment().with_(settings)


def test_a_number_of_a_file_needs_its_unit(tmp_path):
    file = tmp_path / "scenario.toml"
    file.write_text("path.rtt = 0.04\n")
    with pytest.raises(tc.ConfigError, match="the unit is missing, did you mean '40ms'"):
        tc.load(file)
    assert tc.load(file, {"path.rtt": "20ms"}).path.rtt == 0.02


@pytest.mark.parametrize(
    "settings",
    [{"path.los": 1}, {"path.loss": "1 ms"}, {"path": 3}, {"flows.3.cc": "bbr"}],
    ids=str,
)
def test_a_wrong_change_is_refused(settings):
    with pytest.raises(tc.ConfigError) as caught:
        tc.Experiment().with_(settings)
    assert next(iter(settings)).split(".")[0] in str(caught.value)


def test_metrics_of_a_run(plain_result):
    found = plain_result.metrics
    assert set(found) == {name for name, it in metrics.METRICS.items() if not it.per_flow}
    assert all(isinstance(value, float) for value in found.values())
    assert found["goodput"] == plain_result.goodput > 0
    assert plain_result.jain == found["jain"]
    assert 0.5 <= plain_result.jain <= 1
    each = [plain_result.flow_goodput(flow) for flow in (0, 1)]
    assert math.fsum(each) == pytest.approx(plain_result.goodput)
    for flow in (2, -1):
        with pytest.raises(tc.ConfigError, match="from 0 to 1"):
            plain_result.flow_goodput(flow)


def test_metrics_of_a_run_through_a_tunnel(relay_result):
    assert relay_result.metrics["efficiency"] < 0.97
    assert math.isnan(relay_result.metrics["interface_efficiency"])


def test_a_name_is_one_thing_in_runs_and_sweeps(plain_result, tmp_path):
    swept = tc.sweep(TABLE, {"cc": ["bbr", "reno"]}, 1, store=tmp_path, progress=False, series=True)
    run = plain_result.dataset
    for name in metrics.METRICS:
        assert name not in run or "time" not in run[name].dims, name
    for name, series in run.data_vars.items():
        if "time" in series.dims and not name.startswith("link_"):
            assert "time" in swept[name].dims, name
            assert swept[name].attrs == series.attrs


@pytest.mark.parametrize("name", ["Flow", "Path", "Experiment", "Tunnel", "Tcp", "Hosts", "Link"])
def test_help_tells_of_every_key(name):
    model = getattr(tc, name)
    text = inspect.getdoc(model)
    lines = text.splitlines()
    for key, field in fields_of(model).items():
        assert any(line.startswith((f"{key}: ", f"{key}_: ")) for line in lines), key
        assert not field.description or field.description.split()[0] in text
    assert "Kind(" not in str(inspect.signature(model))


def test_help_tells_units_ranges_and_defaults():
    text = inspect.getdoc(tc.Flow)
    assert "cc: tc.CongestionControl, default 'cubic'" in text
    assert "from 1us to 60s" in text
    assert "default '128KiB'" in text
    assert inspect.signature(tc.Path).parameters["rate"].default == "100Mbps"
