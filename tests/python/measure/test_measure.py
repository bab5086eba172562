# SPDX-License-Identifier: GPL-2.0-only
"""Experiments on this machine: like those that are simulated, and nothing is left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tunnelcc as tc
from tunnelcc import measure
from tunnelcc.formats.measurement import Measurement, Stream

can_measure = pytest.mark.needs("measure")
needs_wireguard = pytest.mark.needs("wireguard")


@can_measure
@pytest.mark.parametrize("tunnel", ["none", pytest.param("wireguard", marks=needs_wireguard)])
def test_cubic_of_this_kernel_is_like_the_simulated_one(run, tmp_path, monkeypatch, tunnel):
    monkeypatch.chdir(tmp_path)
    command = ("measure", "--rate", "10Mbps", "--rtt", "20ms", "--cc", "cubic", "--duration", "4s",
               "--warmup", "1s", "--tunnel", tunnel, "--plot", "both.png",
               "-o", "series.csv")  # fmt: skip
    code, out, err = run(*command)
    assert code == 0, err
    ratios = {line.split("  ")[0]: line.split()[-1] for line in out.splitlines()[3:]}
    assert float(ratios["flow 0 (cubic): goodput, Mbit/s"]) == pytest.approx(1, abs=0.1)
    assert float(ratios["flow 0 (cubic): mean smoothed RTT, ms"]) == pytest.approx(1, abs=0.25)
    assert (tmp_path / "both.png").stat().st_size > 1000
    lines = (tmp_path / "series.csv").read_text().splitlines()
    assert lines[0].startswith("flow,t,received")
    assert len(lines) == 41


@pytest.fixture
def fake_gost(tmp_path, monkeypatch):
    """A program that is called gost, and only waits."""
    file = tmp_path / "gost"
    file.write_text("#!/bin/sh\nsleep 1000 &\nwait\n")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


@can_measure
@pytest.mark.parametrize(
    ("tunnel", "signal_"),
    [
        ("gost-relay-ws", signal.SIGKILL),
        pytest.param("gost-relay-ws", signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("wireguard", signal.SIGTERM, marks=needs_wireguard),
        pytest.param("wireguard", signal.SIGKILL, marks=[needs_wireguard, pytest.mark.slow]),
        pytest.param("wireguard", signal.SIGINT, marks=[needs_wireguard, pytest.mark.slow]),
    ],
)
def test_a_command_that_is_killed_leaves_nothing(fake_gost, tunnel, signal_):
    command = [sys.executable, "-m", "tunnelcc", "measure", "--tunnel", tunnel]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    mark = f"--contained\0{process.pid}\0"

    def left() -> dict[str, str]:
        """Return processes that it has started, or that are in their namespaces."""
        found, spaces = {}, set()
        for path in Path("/proc").glob("[0-9]*"):
            try:
                found[path.name] = (path / "cmdline").read_text(), os.readlink(path / "ns/net")
            except OSError:  # it has ended
                continue
        ours = {pid for pid, (line, _) in found.items() if mark in line}
        outside = os.readlink("/proc/self/ns/net")
        spaces = {found[pid][1] for pid in ours} - {outside}
        spaces |= known
        known.update(spaces)
        return {pid: line for pid, (line, space) in found.items() if pid in ours or space in spaces}

    known: set[str] = set()
    try:
        until = time.monotonic() + 60
        while not any(line.startswith("sleep\0") for line in left().values()):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
        assert known
        process.send_signal(signal_)
        process.wait(timeout=20)
        until = time.monotonic() + 10
        while found := left():
            assert time.monotonic() < until, found
            time.sleep(0.05)
    finally:
        process.kill()


@can_measure
def test_a_tunnel_that_does_not_come_up_is_told(fake_gost, monkeypatch):
    monkeypatch.setattr(measure, "_LEAD", 0.5)
    with pytest.raises(tc.TunnelccError, match=r"not up in 0\.5 s"):
        measure.measure(tc.Experiment(tunnel="gost-relay-ws", duration="1s"))


@pytest.mark.slow
@can_measure
@pytest.mark.parametrize("tunnel", ["wireguard", "gost-relay-ws", "gost-relay-mwss"])
def test_a_real_tunnel_is_like_the_simulated_one(tunnel):
    program = "wg" if tunnel == "wireguard" else "gost"
    if shutil.which(program) is None:
        pytest.skip(f"NOT MEASURED: {program} is not installed")
    path = {"rate": "20Mbps", "rtt": "40ms"}
    experiment = tc.Experiment(
        path=path, tunnel=tunnel, flows={"count": 2}, duration="12s", warmup="2s"
    )
    measured = measure.measure(experiment)
    simulated = tc.run(experiment, progress=False)
    theirs = measured.flows.mean_goodput(2.0)
    assert simulated.goodput == pytest.approx(theirs, rel=0.05)
    service = 12e3 / 20e6
    queue = simulated.metric("queue_delay_mean") + service
    assert queue == pytest.approx(measured.queue, rel=0.25)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"path.queue": "codel"}, "drop-tail"),
        ({"tcp.ecn": True}, "tcp.ecn = True"),
        ({"cc": "vivace"}, "one of this kernel's"),
        ({"tunnel": "vtun"}, "wireguard, gost-relay-ws"),
        ({"tunnel": "wireguard", "flows.0.rtt": "80ms"}, "with a tunnel"),
        ({"flows.0.bytes": "1MB"}, "flows.bytes"),
        ({"tunnel": "gost-relay-ws", "flows": [{"cc": "reno"}, {"cc": "cubic"}]}, "all carriers"),
        ({"tunnel": "wireguard", "direction": "down"}, "flows.direction = 'down': expected up"),
        ({"flows": [{"direction": "up"}, {"direction": "down"}]}, "one direction of all flows"),
    ],
)
def test_what_cannot_be_measured_is_told(settings, told):
    experiment = tc.Experiment().with_(settings)
    with pytest.raises(tc.ConfigError, match=told):
        measure.measure(experiment)


def test_the_link_has_what_the_scenario_says():
    given = {
        "path": {"rate": "20Mbps", "rtt": "40ms", "loss": "1%", "buffer": "2bdp",
                 "reverse_rate": "1Mbps", "reverse_buffer": "30p", "phase": "0"},
        "flows": [{"cc": "cubic", "count": 2}, {"cc": "reno", "rtt": "60ms", "rate": "2Mbps"}],
        "start_jitter": "0s", "hosts": {"tcp_rmem": "6MiB"},
    }  # fmt: skip
    words = measure._arguments(tc.Experiment.parse(given), "")
    text = " ".join(words)
    assert "--rtt 40 " in text
    assert "--rate 20 --queue 133 --loss 0.01" in text
    assert "--ack-rate 1 --ack-queue 30" in text
    assert "--rmem 6 --wmem 4" in text
    assert text.count("--flow cubic") == 2
    assert text.endswith("--flow reno,start=0,write=131072,rtt=20,app=2")


def test_both_sides_have_the_rtts_that_the_seed_draws():
    experiment = tc.Experiment.parse(
        {"path": {"rate": "20Mbps", "rtt": "60ms"}, "flows": [{}, {"rtt": "90ms"}], "seed": 5}
    )
    words = measure._arguments(experiment, "")
    measured = float(words[words.index("--rtt") + 1])
    assert 60 < measured < 60.6
    assert measured == pytest.approx(1e3 * experiment.resolved.rtt(0), abs=1e-6)
    more = float(words[-1].rpartition("rtt=")[2])
    assert measured + more == pytest.approx(1e3 * experiment.resolved.rtt(1), abs=1e-6)
    assert measured + more > 90


def test_the_data_of_a_download_have_the_rate_of_their_direction():
    path = {"rate": "20Mbps", "rtt": "40ms"}
    up = tc.Experiment(path={**path, "reverse_rate": "1Mbps"})
    words = " ".join(measure._arguments(up, ""))
    assert "--rate 20 " in words
    assert "--ack-rate 1 " in words
    down = tc.Experiment(path=path, flows={"direction": "down"})
    words = " ".join(measure._arguments(down, ""))
    assert "--rate 20 " in words
    assert "ack-rate" not in words
    backward = {"rate": "20Mbps", "rtt": "40ms", "reverse": {"rate": "5Mbps"}}
    down = tc.Experiment(path=backward, flows={"direction": "down"})
    words = " ".join(measure._arguments(down, ""))
    assert "--rate 5 " in words
    assert "--ack-rate 20 " in words


def _as_measured(result: tc.Result, factor: float) -> measure.Measured:
    """Return what a simulation would have measured, with another goodput."""
    time = result["time"]
    (leg,) = result.legs[0]
    stream = Stream(
        "0", time, factor * result["flow_goodput_series"][0], leg.srtt, leg.cwnd,
        leg.retransmits_series, leg.cwnd, 0.04, {}, "cubic",
    )  # fmt: skip
    return measure.Measured(Measurement("Linux", [stream]), 0.03, 1, 0, 1e-4, "Linux", "flow,t\n")


@pytest.mark.parametrize("stops", [False, True])
def test_several_runs_are_means_with_intervals_and_an_interrupt_loses_none(run, monkeypatch, stops):
    seeds = []

    def measured(experiment: tc.Experiment) -> measure.Measured:
        seeds.append(experiment.seed)
        if stops and len(seeds) == 3:
            raise KeyboardInterrupt
        return _as_measured(tc.run(experiment, progress=False), 1 + 0.01 * len(seeds))

    monkeypatch.setattr(measure, "check", lambda experiment: "")
    monkeypatch.setattr(measure, "measure", measured)
    code, out, err = run("measure", "--rate", "10Mbps", "--rtt", "20ms", "--cc", "cubic",
                         "--duration", "2s", "--seeds", "3", "--set", "seed=7")  # fmt: skip
    assert seeds == [7, 8, 9]
    assert (code == 0) is not stops
    count = 2 if stops else 3
    assert f"means of {count} runs" in out
    assert ("interrupted after 2 of 3" in err) is stops
    (goodput,) = (line for line in out.splitlines() if "goodput" in line)
    assert goodput.count("±") >= 1
    expected = 1 / (1 + 0.005 * (count + 1))
    assert float(goodput.split()[-1]) == pytest.approx(expected, abs=0.006)


def test_keys_that_cannot_be_measured_are_told_as_users_write_them():
    keys = {"network": {"shape": "dumbbell", "size": 2}, "hosts": {"tcp_memory": "1MiB"}}
    with pytest.raises(tc.ConfigError) as refusal:
        measure.check(tc.Experiment(**keys))
    assert [it.key for it in refusal.value.problems][:2] == ["network.shape", "hosts.tcp_memory"]
    text = str(refusal.value)
    assert "network.shape = 'dumbbell': expected no value" in text
    assert text.count("path.loss_pattern") == 1, "the keys that can be are listed once"


@can_measure
def test_listed_seeds_are_measured(run):
    code, out, err = run("measure", "--rate", "10Mbps", "--duration", "0.3s", "--seeds", "3,7")
    assert code == 0, err
    assert "means of 2 runs" in out
    code, _, err = run("measure", "--seeds", "1,x")
    assert code == 2
    assert "--seeds = [1, 'x']: expected the number of seeds" in err
