# SPDX-License-Identifier: GPL-2.0-only
"""The WebAssembly engine gives what the native one gives, to the bit, and says what it has not."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import tunnelcc as tc
from helpers import ROOT, load_script
from tunnelcc import catalog, core
from tunnelcc.specification import experiment_spec, spec_text

RUNS = load_script(ROOT / "tests/python/running/test_golden.py").RUNS
build_wasm = load_script(ROOT / "waf-config/build_wasm.py")
pytest.importorskip("wasmtime")

SHORT = {"path": {"rate": "10Mbps", "rtt": "20ms"}, "duration": "2s"}


@pytest.fixture(scope="module")
def wasm():
    """The engine, beside the native one."""
    from tunnelcc.core import wasm

    return wasm


def spec_of(**table):
    return spec_text(
        experiment_spec(tc.Experiment.parse({"duration": "5s", "warmup": "1s"} | table))
    )


def assert_same(ours, native):
    assert ours.keys() == native.keys()
    for name, value in native.items():
        if isinstance(value, np.ndarray):
            assert ours[name].shape == value.shape, name
            assert ours[name].dtype == value.dtype, name
            assert ours[name].tobytes() == value.tobytes(), name
        else:
            assert ours[name] == value, name


@pytest.mark.parametrize("name", [it for it in RUNS if not it.startswith("ns3-")])
def test_golden_runs_have_the_same_bytes(wasm, name):
    spec = spec_of(**RUNS[name])
    assert_same(wasm.run(spec), core.load().run(spec))


def test_every_tunnel_and_congestion_control(wasm):
    """Short runs, with losses: each tunnel with the next of the congestion controls."""
    controls = core.congestion_controls()
    ran = 0
    for index, tunnel in enumerate(catalog.names()):
        control = controls[index % len(controls)]
        table = {
            "path": {"rate": "10Mbps", "rtt": "30ms", "loss": "1%"}, "duration": "2s",
            "flows": {"cc": control, "count": 2}, "tunnel": tunnel, "warmup": "0s",
        }  # fmt: skip
        try:
            spec = spec_of(**table)
        except tc.ConfigError:
            continue  # the tunnel needs a key, such as its rate
        assert_same(wasm.run(spec), core.load().run(spec))
        ran += 1
    assert ran > len(controls)


def as_plain(info):
    names = [it for it in dir(info) if not it.startswith("_")]
    return {
        name: value.name if name == "kind" else value
        for name in names
        if not callable(value := getattr(info, name))
    }


def test_tables_are_the_same(wasm):
    native = core.load()
    assert [*map(as_plain, native.measurements())] == [*map(as_plain, wasm.measurements())]
    assert wasm.model_version() == native.model_version()
    assert wasm.spec_members() == native.spec_members()
    for algorithm, other in zip(
        native.congestion_algorithms(), wasm.congestion_algorithms(), strict=True
    ):
        fields = as_plain(algorithm)
        assert {it: getattr(other, it) for it in fields} == fields
        assert wasm.needs_ecn(other.name) == native.needs_ecn(other.name)
        parameters = native.congestion_parameters(other.name)
        assert [*map(as_plain, wasm.congestion_parameters(other.name))] == [
            *map(as_plain, parameters)
        ]


def test_specifications_are_read_alike(wasm):
    native, spec = core.load(), spec_of(**SHORT)
    assert wasm.complete_spec(spec) == native.complete_spec(spec)
    layers = json.dumps([{"kind": "websocket"}])
    for call in (
        lambda it: it.run('{"flows": 7}'),
        lambda it: it.complete_spec("{"),
        lambda it: it.run(spec.replace('"flows"', '"flow"')),
        lambda it: it.layer_wire_bytes(layers, 1000),
    ):
        told = []
        for engine in (native, wasm):
            try:
                told.append(call(engine))
            except ValueError as error:
                told.append(str(error))
        assert told[0] == told[1]


def test_what_progress_raises_ends_the_run(wasm):
    spec, seen = spec_of(path={"rate": "1Gbps", "rtt": "20ms"}, duration="1000s"), []

    def report(seconds):
        seen.append(seconds)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        wasm.run(spec, report)
    assert len(seen) == 1
    assert_same(wasm.run(spec_of(**SHORT)), core.load().run(spec_of(**SHORT)))


# Commands, in processes of their own -----------------------------------------------------------


@pytest.fixture
def on_wasm(wasm, monkeypatch):
    """Run a command on the WebAssembly engine."""
    monkeypatch.setenv(core.ENGINE, "wasm")

    def call(*arguments, **options):
        return subprocess.run(
            [sys.executable, "-m", "tunnelcc", *map(str, arguments)],
            text=True, capture_output=True, check=False, **options,
        )  # fmt: skip

    return call


def test_version_names_the_engine(on_wasm):
    assert "WebAssembly, wasmtime " in on_wasm("--version").stdout


def test_what_is_native_only_is_told(on_wasm, tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text(
        "import tunnelcc as tc\n"
        "class Mine(tc.CongestionControl):\n"
        "    def on_ack(self, state, ack): state.cwnd += 1\n"
    )
    for arguments in (
        ["--cc", "ns3::TcpBbr"], ["--cc", mine], ["--capture", tmp_path / "run.pcapng"]
    ):  # fmt: skip
        done = on_wasm("run", "--duration", "1s", *arguments)
        assert done.returncode != 0
        assert "only the native module has that" in done.stderr
        assert "Traceback" not in done.stderr


LONG = """
import tunnelcc as tc
path = {"rate": "1Gbps", "rtt": "20ms"}
endless = tc.Experiment(path=path, duration="100000s", probe_interval="10s")
tc.run(endless, progress=lambda seconds: print("runs", flush=True))
"""


def test_ctrl_c_ends_a_run(wasm, monkeypatch):
    monkeypatch.setenv(core.ENGINE, "wasm")
    process = subprocess.Popen(
        [sys.executable, "-c", LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "runs\n"
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in err


def test_a_sweep_has_the_same_results(on_wasm, tmp_path, monkeypatch):
    arguments = (
        "sweep", "--set", "path.rate=10Mbps", "--axis", "cc=bbr,cubic", "--axis",
        "path.loss=0,1%", "--set", "duration=2s", "--set", "warmup=0s", "--seeds", "2",
    )  # fmt: skip
    tables = []
    for engine in ("wasm", "native"):
        monkeypatch.setenv(core.ENGINE, engine)
        file = tmp_path / f"{engine}.csv"
        done = on_wasm(*arguments, "--store", tmp_path / engine, "--output", file)
        assert done.returncode == 0, done.stderr
        tables.append(file.read_text())
    assert tables[0] == tables[1]
