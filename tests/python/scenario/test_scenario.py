# SPDX-License-Identifier: GPL-2.0-only
"""Scenario files and settings on top of them."""

from __future__ import annotations

import os
import threading

import pytest

import tunnelcc as tc
from helpers import ROOT
from tunnelcc import catalog, scenario
from tunnelcc.schema import toml

EXAMPLES = sorted((ROOT / "scenarios" / "examples").glob("*.toml"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 3


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_examples_are_valid(file):
    assert scenario.read_scenario(file)["title"]
    assert isinstance(tc.Sweep(file).experiment(0), tc.Experiment)


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b"[path\n", "line 1"),
        (b"[path]\nrate = ", "end of document"),
        (b"rate = 1\nrate = 2\n", "line 2"),
        (b"\xff\xfe", "UTF-8"),
        (b"x = " + b"[" * 100_000, "expected"),
    ],
)
def test_broken_files_are_named(tmp_path, content, hint):
    file = tmp_path / "broken.toml"
    file.write_bytes(content)
    with pytest.raises(tc.ConfigError) as caught:
        tc.load(file)
    assert "broken.toml" in str(caught.value)
    assert hint in str(caught.value)


def test_of_a_file_without_end_only_so_much_is_read():
    with pytest.raises(tc.ConfigError, match=r"/dev/zero.*TOML file \(it has more than 64 MiB"):
        tc.load("/dev/zero")


def test_a_large_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(toml, "MAX_BYTES", 20)
    (tmp_path / "fits.toml").write_text('path.rate = "9Mbps"\n')
    assert tc.load(tmp_path / "fits.toml").path.rate == 9e6
    (tmp_path / "large.toml").write_text('path.rate = "90Mbps"\n')
    with pytest.raises(tc.ConfigError, match=r"large\.toml.*it has more than"):
        tc.load(tmp_path / "large.toml")


def test_a_scenario_may_come_through_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=['path.rate = "9Mbps"'])
    writer.start()
    assert tc.load(pipe).path.rate == 9e6
    writer.join()


def test_missing_files_are_named(tmp_path):
    with pytest.raises(tc.ConfigError, match=r"nofile\.toml.*No such file"):
        tc.load(tmp_path / "nofile.toml")
    with pytest.raises(tc.ConfigError, match="directory"):
        tc.load(tmp_path)


def test_a_tunnel_file_is_found_beside_the_scenario(tmp_path, monkeypatch):
    entry = catalog.DIRECTORY / "gost-relay-ws.toml"
    (tmp_path / "mine.toml").write_text(entry.read_text())
    (tmp_path / "scenario.toml").write_text('tunnel = "mine.toml"')
    monkeypatch.chdir("/")
    assert tc.load(tmp_path / "scenario.toml").tunnel.name == str(tmp_path / "mine.toml")


def test_settings_reach_nested_keys():
    table = {"flows": [{"cc": "bbr"}, {"cc": "reno"}], "tunnel": "gost-relay-ws"}
    changed = scenario.apply(
        table,
        {"path.rtt": "1ms", "flows.1.count": 3, "tunnel.cc": "bbr", "hosts.client.cores": 1},
    )
    assert changed == {
        "flows": [{"cc": "bbr"}, {"cc": "reno", "count": 3}],
        "tunnel": {"name": "gost-relay-ws", "cc": "bbr"},
        "path": {"rtt": "1ms"},
        "hosts": {"client": {"cores": 1}},
    }
    assert table == {"flows": [{"cc": "bbr"}, {"cc": "reno"}], "tunnel": "gost-relay-ws"}


def test_cc_is_set_in_every_flow():
    table = {"flows": [{"cc": "bbr"}, {"cc": "reno"}]}
    for key in ("cc", "flows.cc"):
        changed = scenario.apply(table, {key: "cubic"})
        assert [flow["cc"] for flow in changed["flows"]] == ["cubic", "cubic"]
    assert scenario.build({}, {"cc": "bbr"}).flows[0].cc.name == "bbr"


@pytest.mark.parametrize("prefix", ["cross_traffic", "cross_traffic.0"])
def test_cross_traffic_can_be_set(prefix):
    experiment = scenario.build({}, {f"{prefix}.rate": "8Mbps", f"{prefix}.start": "1s"})
    (source,) = experiment.cross_traffic
    assert (source.rate, source.start) == (8e6, 1)


def test_parameters_of_an_algorithm_can_be_set():
    experiment = scenario.build({"flows": [{"cc": "bbr"}]}, {"flows.cc.cwnd_gain": 2.5})
    assert experiment.flows[0].cc.parameters == {"cwnd_gain": 2.5}


@pytest.mark.parametrize(
    ("table", "key", "blamed"),
    [
        ({"path": 3}, "path.rate", "path = 3: expected a table"),
        ({"path": "fast"}, "path.rate", "path = 'fast': expected a table"),
        ({"flows": 3}, "flows.0.count", "flows = 3: expected a table"),
        ({"flows": [{}, 4]}, "flows.1.cc", "flows.1 = 4: expected a table"),
        ({"hosts": {"client": 2}}, "hosts.client.cores", "hosts.client = 2: expected a table"),
        ({"path": {"policer": 1}}, "path.policer.rate", "path.policer = 1: expected a table"),
    ],
)
def test_what_is_no_table_is_blamed_and_not_the_key_that_is_set_in_it(table, key, blamed):
    with pytest.raises(tc.ConfigError) as caught:
        scenario.build(table, {key: 1})
    assert str(caught.value).startswith(blamed)


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("flows.3.count", "there is only one flow"),
        ("flows.0", "flows.0.cc"),
        ("seed.x", "such as path.rtt"),
        ("path..rtt", "such as path.rtt"),
        (".", "such as path.rtt"),
        ("", "such as path.rtt"),
        ("path.", "expected a table"),
    ],
)
def test_keys_that_lead_nowhere(key, hint):
    with pytest.raises(tc.ConfigError) as caught:
        scenario.build({"seed": 5}, {key: 1})
    assert hint in str(caught.value)


def test_no_tunnel_takes_its_keys_away():
    table = {"tunnel": {"name": "vtun", "cc": "bbr"}}
    assert scenario.build(table, {"tunnel.name": "none"}) == tc.Experiment()
    for settings in ({"tunnel.name": "none", "tunnel.mtu": 1400},
                     {"tunnel.mtu": 1400, "tunnel.name": "none"}):  # fmt: skip
        with pytest.raises(
            tc.ConfigError, match=r"tunnel\.mtu = 1400: expected no value, because tunnel none"
        ):
            scenario.build(table, settings)


DEEP = ".".join(["a"] * 20_000)


@pytest.mark.parametrize(
    "text", [f"{DEEP} = 1", f"[{DEEP}]", f"[sweep]\n{DEEP} = [1, 2]", f"flows = [{{ {DEEP} = 1 }}]"]
)
def test_keys_of_many_parts_are_told_as_such(text, tmp_path):
    file = tmp_path / "deep.toml"
    file.write_text(text)
    with pytest.raises(tc.ConfigError, match=r"expected valid TOML .nested too deeply"):
        scenario.read_scenario(file)


def test_a_setting_of_many_parts_is_told_in_one_line():
    with pytest.raises(tc.ConfigError, match=r"a\.a\.a.*…: expected a key such as path\.rtt"):
        scenario.build({}, {DEEP: 1})
