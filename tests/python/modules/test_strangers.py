# SPDX-License-Identifier: GPL-2.0-only
"""A file of somebody else may name a file of code. Whatever kind of file it is, that never runs."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess

import pytest

import tunnelcc as tc
from helpers import ROOT
from tunnelcc import core
from tunnelcc.formats import iperf3
from tunnelcc.formats.measurement import algorithm
from tunnelcc.modules import compiled
from tunnelcc.specification import experiment_spec, spec_text

_CLASS = """
import tunnelcc as tc
class Evil(tc.CongestionControl):
    def on_ack(self, state, ack):
        state.cwnd = 10
"""
_BASE = {"path": {"rate": "20Mbps", "rtt": "20ms"}, "duration": "2s"}


@pytest.fixture
def evil(tmp_path):
    """Return the path of a congestion control that leaves a mark when it is loaded."""
    file = tmp_path / "evil.py"
    file.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n{_CLASS}")
    yield str(file)
    assert not (tmp_path / "ran").exists(), "the file ran"
    assert not list(compiled.folder().glob("*.so"))


def test_what_this_file_tests_would_be_seen(tmp_path):
    file = tmp_path / "evil.py"
    file.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n{_CLASS}")
    assert tc.run(tc.Experiment(flows=[tc.Flow(cc=str(file))], duration="1s")).goodput > 0
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("command", ["fit", "run --measured", "run --cc bbr --measured"])
def test_a_measurement(evil, tmp_path, run, command):
    table = iperf3.write(tc.run(_BASE | {"duration": "10s"}))
    table["end"]["sender_tcp_congestion"] = evil
    file = tmp_path / "measured.json"
    file.write_text(json.dumps(table))
    code, out, _ = run(*command.split(), file)
    assert code == 0
    assert "evil" not in out


@pytest.mark.parametrize(
    "name",
    ["./x.py", "x.py", "x.py:Evil", "linux:x.c", "/x.so", "../x", "x.cc", "a b", "", 7, None],
)
def test_a_name_in_a_measurement_is_a_word_or_unknown(name):
    assert algorithm(name) == ""
    assert algorithm("cubic") == "cubic"
    assert algorithm("ns3::TcpHtcp") == "ns3::TcpHtcp"


def _forged(data, name, **path):
    """Return a file of a run with another congestion control or path, with right checksums."""
    first, second, rest = data.split(b"\n", 2)
    head, _, body = rest.partition(b"\n")
    table = json.loads(head)
    table["experiment"]["flows"][0]["cc"] = name
    table["experiment"]["path"] |= path
    head = json.dumps(table).encode()
    digest = hashlib.blake2b(head, digest_size=16).hexdigest().encode()
    return b"\n".join((first, digest + b" " + second.split()[1], head, body))


def _is_run(file):
    return file.read_bytes().startswith(b"tunnelcc run ")


def test_a_stored_run(evil, tmp_path):
    folder = tmp_path / "runs"
    tc.sweep(_BASE, {"cc": ["cubic"]}, seeds=1, store=folder, progress=False)
    (file,) = (it for it in folder.rglob("*") if it.is_file() and _is_run(it))
    file.write_bytes(_forged(file.read_bytes(), evil))
    store = tc.Store(folder)
    (id_,) = store.ids()
    result = store.load(id_)
    assert result.goodput > 1e6
    assert result.experiment.flows[0].cc.name.startswith(evil)
    for again in (result.experiment, result.experiment.with_({"duration": "1s"})):
        with pytest.raises(tc.RunError, match="name it yourself"):
            tc.run(again)


@pytest.mark.parametrize("file", ["/dev/zero", "/dev/stdin", "../../etc/passwd", "pipe"])
def test_a_stored_run_that_names_a_file_without_end(tmp_path, monkeypatch, file):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    tc.sweep(_BASE, {"cc": ["cubic"]}, seeds=1, store="runs", progress=False)
    (stored,) = (it for it in (tmp_path / "runs").rglob("*") if it.is_file() and _is_run(it))
    trace = {"file": file, "sha256": "0" * 64}
    stored.write_bytes(_forged(stored.read_bytes(), "cubic", trace=trace))
    store = tc.Store("runs")
    with pytest.raises(tc.TunnelccError, match="damaged"):
        store.load(next(store.ids()))


def test_results_of_a_sweep(evil, tmp_path, run):
    data = tc.sweep(_BASE, {"path.rtt": ["10ms", "20ms"]}, seeds=1, store=tmp_path, progress=False)
    data.attrs["scenario"] = f"flows = [{{ cc = {evil!r} }}]\n" + data.attrs["scenario"]
    file = tmp_path / "sweep.nc"
    data.to_netcdf(file, engine="scipy")
    assert run("plot", str(file), "-o", str(tmp_path / "x.png"))[0] == 0


def test_a_record_of_a_sweep(evil, tmp_path, run):
    tc.sweep(_BASE, {"cc": ["cubic", "reno"]}, seeds=1, store=tmp_path, name="s", progress=False)
    changed = 0
    for file in tmp_path.rglob("*"):
        if file.is_file() and b"reno" in (data := file.read_bytes()) and b"scenario" in data:
            table = json.loads(data[data.index(b"{") :])
            changed += 1
            table["scenario"] = table["scenario"].replace('"reno"', repr(evil))
            text = json.dumps(table).encode()
            file.write_bytes(data[: data.index(b"{")] + text)
    assert changed
    for command in (["store", "ls"], ["plot"], ["report"]):
        where = [str(tmp_path)] if command[0] == "store" else [f"{tmp_path}/s"]
        run(*command, *where)


@pytest.mark.parametrize("named", ["under", "carrier"])
def test_a_tunnels_entry(evil, tmp_path, run, named):
    text = (ROOT / "tunnelcc" / "catalog" / "tunnels" / "sdwan-tcp-opt.toml").read_text()
    under, own = 'under = "ipsec-esp"', re.search(r'^(.*\bcc = ")(\w+)"', text, re.MULTILINE)
    assert under in text
    assert own
    changed = {
        "under": text.replace(under, f'under = {{ name = "ipsec-esp", cc = "{evil}" }}'),
        "carrier": text.replace(own[0], f'{own[1]}{evil}"'),
    }[named]
    file = tmp_path / "mine.toml"
    for content in (text, changed):
        file.write_text(content)
        code, _, err = run("run", "--tunnel", str(file), "--duration", "1s")
        assert (code == 0) is (content == text), err


@pytest.mark.parametrize("name", ["proc/self/cwd/evil", "evil", "x" * 32])
def test_a_specification(tmp_path, monkeypatch, name):
    """As --write-spec writes one, but a path is in the place of a hash."""
    monkeypatch.chdir(tmp_path)
    code = f'__attribute__((constructor)) void go(void) {{ fopen("{tmp_path}/ran", "w"); }}'
    (tmp_path / "evil.c").write_text(f"#include <stdio.h>\n{code}\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "evil.so", "evil.c"], check=True)
    spec = json.loads(spec_text(experiment_spec(tc.Experiment(**_BASE))))
    core.load().set_module_folder(str(compiled.folder()))
    for code in (name, "../" * 30 + name):
        spec["flows"][0]["cc"]["code"] = code
        with pytest.raises(core.load().ModuleError, match="not the hash of a file"):
            core.load().run(json.dumps(spec), lambda _: None, None, {})
    assert not (tmp_path / "ran").exists()


def test_a_scenario_whatever_the_key(evil, tmp_path, run):
    for text in (
        f'flows = [{{ cc = "{evil}" }}]',
        f'flows = [{{ cc = {{ name = "{evil}" }} }}]',
        f'tunnel = {{ name = "gost-relay-ws", cc = "{evil}" }}',
        f'path = {{ cross_traffic = [{{ cc = "{evil}", flows = 1 }}] }}',
        f'[sweep]\n"flows.0.cc" = ["cubic", "{evil}"]',
        f'[sweep.zip]\ncc = ["cubic", "{evil}"]',
        f'[sweep]\n"flows" = [[{{ cc = "{evil}" }}]]',
    ):
        file = tmp_path / "scenario.toml"
        file.write_text(text)
        for command in ("run", "sweep", "measure", "advise", "search"):
            assert run(command, str(file), "--duration", "1s")[0] != 0
        assert run("show", "experiment", str(file))[0] != 0


def test_compiled_files_are_not_kept_where_others_may_swap_the_folder(tmp_path, monkeypatch):
    common = tmp_path / "common"
    common.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(common))
    kept = compiled.folder()
    for mode in (0o1777, 0o755):
        common.chmod(mode)
        assert compiled.folder() == kept
    kept.chmod(0o777)
    with pytest.raises(tc.TunnelccError, match=f"{kept} .*others may write"):
        compiled.folder()
    kept.chmod(0o700)
    common.chmod(0o777)
    with pytest.raises(tc.TunnelccError, match=f"{common} .*rename"):
        compiled.folder()
    # What is checked is where a link leads.
    (tmp_path / "link").symlink_to(common)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "link"))
    with pytest.raises(tc.TunnelccError, match=f"{common} .*rename"):
        compiled.folder()


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid(), reason="root alone gives files away"
)
def test_compiled_files_are_not_kept_in_a_folder_of_somebody_else(tmp_path, monkeypatch):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, 12345, 12345)
    monkeypatch.setenv("XDG_CACHE_HOME", str(theirs))
    with pytest.raises(tc.TunnelccError, match=f"{theirs} belongs to somebody else"):
        compiled.folder()


def _results():
    axes = {"path.rtt": ["10ms", "20ms"]}
    return tc.sweep(_BASE | {"duration": "1s"}, axes, seeds=1, name="odd", progress=False)


def test_odd_files_of_results_are_refused_in_words(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    right = _results()
    goodput = right["goodput"]
    texts = goodput.copy(data=[["<b>"], ["x"]])
    numbers = right["flow_limited_by"].copy(data=[[[1.0]], [[2.0]]])
    odd = {
        "no text": right.assign_attrs(scenario=3),
        "no goodput": right.drop_vars("goodput"),
        "goodput of each seed": right.assign(goodput=goodput.isel(seed=0, drop=True)),
        "goodput is no number": right.assign(goodput=texts),
        "flow_limited_by is no text": right.assign(flow_limited_by=numbers),
        "seeds has an axis twice": right.assign(seeds=(("seed", "seed"), [[1.0]])),
        "path.rtt has no values": right.isel({"path.rtt": slice(0, 0)}),
        "axis path.rtt has no values": right.drop_vars("path.rtt"),
        "path.rtt has a value twice": right.assign_coords({"path.rtt": [1.0, 1.0]}),
    }
    for words, it in odd.items():
        it.to_netcdf("odd.nc", engine="scipy")
        for command in ("plot", "report"):
            code, _, err = run(command, "odd.nc", "-o", "out.png" if command == "plot" else "out")
            assert (code, err.count("\n")) == (2, 1), words
            assert words in err
    for name in ("flow_cc", "flow_group"):
        right.drop_vars(name).to_netcdf("odd.nc", engine="scipy")
        code, _, err = run("report", "odd.nc", "-o", "out")
        assert code == 2
        assert f"it lacks {name}" in err
    del right.attrs["scenario"]
    right.to_netcdf("odd.nc", engine="scipy")
    assert run("report", "odd.nc", "-o", "out")[0] == 2
    assert run("plot", "odd.nc", "-o", "out.png")[0] == 0
