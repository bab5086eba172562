# SPDX-License-Identifier: GPL-2.0-only
"""The starting points in scratch/ run, and print what the models say.

CTest runs each C++ program of scratch/ once with its defaults; here their arguments are tried.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import tunnelcc as tc
from helpers import ROOT
from tunnelcc import core
from tunnelcc.cli import cli
from tunnelcc.specification import experiment_spec, spec_text

PROGRAM = ROOT / "build/release/scratch/two-flows"
TUNNEL_PROGRAM = PROGRAM.with_name("tunnel-on-ns3")
SCRIPT = ROOT / "scratch/compare_tunnels.py"


def two_flows(*arguments):
    return subprocess.run(
        [str(PROGRAM), *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def on_ns3(*arguments):
    return subprocess.run(
        [str(TUNNEL_PROGRAM), *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def compare_tunnels(*arguments):
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_specification_runs_without_python(tmp_path):
    """The same experiment, the same numbers to the last bit."""
    file = tmp_path / "spec.json"
    arguments = "--rate 20Mbps --rtt 20ms --loss 1% --flows 2 --duration 2s --tunnel gost-relay-mws"
    CliRunner().invoke(cli, ["run", *arguments.split(), "--write-spec", str(file)])
    run_spec = [str(PROGRAM.with_name("run-spec")), str(file)]
    alone = subprocess.run(run_spec, capture_output=True, text=True, timeout=60, check=True)
    here = core.load().run(file.read_text())
    told = json.loads(alone.stdout)
    assert told.keys() == here.keys()
    for name, value in here.items():
        if isinstance(value, np.ndarray):  # in JSON, NaN is null
            np.testing.assert_array_equal(np.asarray(told[name], dtype=float), value)
        else:
            assert told[name] == value


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (('"seed":1', '"seed":-1'), "seed: expected a whole number from 0"),
        (('"mss"', '"mms"'), "tcp.0: expected one of the members mss, header_bytes"),
        (('"kind":"drop-tail"', '"kind":"taildrop"'), "kind is one of drop-tail, codel"),
        (('{"hosts"', '"hosts"'), "expected JSON"),
    ],
)
def test_a_wrong_specification_is_told_by_its_member(tmp_path, change, expected):
    file = tmp_path / "spec.json"
    file.write_text(spec_text(experiment_spec(tc.Experiment())).replace(*change))
    run_spec = [str(PROGRAM.with_name("run-spec")), str(file)]
    refused = subprocess.run(run_spec, capture_output=True, text=True, timeout=60, check=False)
    assert refused.returncode == 1
    assert expected in refused.stderr


def read_megabytes(output):
    return [float(number) for number in re.findall(r"([\d.]+) MB read", output)]


def test_program_has_bbr_win_in_a_shallow_buffer_and_not_in_a_deep_one():
    arguments = ("--headStart=0s", "--duration=40s")
    shallow = read_megabytes(two_flows("--buffer=0.5", *arguments).stdout)
    deep = read_megabytes(two_flows("--buffer=4", *arguments).stdout)
    assert shallow[0] > 3 * shallow[1]
    assert deep[0] < deep[1]


def test_program_takes_units_and_any_congestion_control():
    arguments = ("--first=reno", "--second=ns3::TcpVegas", "--rate=20Mbps", "--rtt=30ms")
    run = two_flows(*arguments, "--duration=5s", "--headStart=0s")
    assert run.returncode == 0
    lines = run.stdout.splitlines()
    assert lines[0].split() == ["time", "reno", "ns3::TcpVegas", "bottleneck"]
    # 20 Mbit/s for 5 s are 12.5 MB, 1448 of 1500 bytes for the applications.
    assert 0.8 * 12.5 < sum(read_megabytes(run.stdout)) < 12.5 * 1448 / 1500


@pytest.mark.parametrize("loss", ["0", "0.02"])
def test_program_gives_the_same_for_the_same_seed(loss):
    arguments = ("--duration=5s", f"--loss={loss}")
    assert two_flows(*arguments).stdout == two_flows(*arguments).stdout
    assert two_flows(*arguments).stdout != two_flows(*arguments, "--seed=2").stdout


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--first=bbx", "bbx"),
        ("--buffer=0", "buffer must be"),
        ("--rate=0Mbps", "rate, rtt and duration must be"),
        ("--loss=1.5", "loss must be"),
        ("--headStart=-1s", "headStart"),
    ],
)
def test_program_refuses(argument, message):
    run = two_flows(argument)
    assert run.returncode == 2
    assert message in run.stderr


@pytest.mark.parametrize("carrier", ["tunnelcc::LinuxTcpSocketFactory", "ns3::TcpSocketFactory"])
@pytest.mark.parametrize("tunnel", ["gost-relay-wss", "openvpn-tcp"])
def test_tunnel_on_ns3_carries_most_of_what_the_link_does(tunnel, carrier):
    run = on_ns3(f"--tunnel={tunnel}", f"--carrier={carrier}", "--duration=5s")
    assert run.returncode == 0, run.stderr
    (plain, without), (name, through) = (line.split()[:2] for line in run.stdout.splitlines())
    assert (plain, name) == ("plain", tunnel)
    # 1448 of 1502 bytes of each frame; slow start loses some round trips.
    for rate in (float(without), float(through)):
        assert 8 < rate < 10 * 1448 / 1502


@pytest.mark.parametrize("tunnel", ["wireguard", "gost-relay-wss", "gost-quic"])
def test_tunnel_on_ns3_captures_the_same_bytes_each_time(tunnel, tmp_path):
    """What is encrypted is zeros, not what the process's memory held before."""
    captures = []
    for number in range(2):
        name = tmp_path / f"{number}-"
        run = on_ns3(f"--tunnel={tunnel}", "--duration=500ms", f"--pcap={name}")
        assert run.returncode == 0, run.stderr
        captures.append([it.read_bytes() for it in sorted(tmp_path.glob(f"{number}-*.pcap"))])
    assert captures[0] == captures[1]
    assert len(captures[0]) == 8


def test_tunnel_on_ns3_takes_a_tunnel_with_other_keys(tmp_path):
    file = tmp_path / "tunnel.json"
    arguments = ["--tunnel", "finalspeed", "--set", "tunnel.rate=5Mbps"]
    CliRunner().invoke(cli, ["run", *arguments, "--write-tunnel", str(file)])
    run = on_ns3(f"--tunnel={file}", "--duration=5s")
    assert run.returncode == 0, run.stderr
    _, (_, through) = (line.split()[:2] for line in run.stdout.splitlines())
    assert 3.5 < float(through) < 5


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--duration=-1s", "duration must be"),
        ("--tunnel=quic", "expected one of ethudp"),
        ("--tunnel=./none.json", "./none.json cannot be read"),
    ],
)
def test_tunnel_on_ns3_refuses(argument, message):
    run = on_ns3(argument)
    assert run.returncode == 2
    assert message in run.stderr


def test_script_prints_a_table_and_saves_a_figure(tmp_path):
    plot = tmp_path / "figure.svg"
    run = compare_tunnels(
        *("--rtt", "10ms", "40ms"),
        *("--rate", "20Mbps", "--loss", "1%", "--duration", "6s", "--warmup", "2s"),
        *("--seeds", "2", "--plot", str(plot)),
    )
    assert run.returncode == 0, run.stderr
    rows = [line.split() for line in run.stdout.splitlines()[2:8]]
    goodput = {(row[0], row[1]): (float(row[2]), float(row[4])) for row in rows}
    for tunnel in ("none", "gost-relay-ws", "gost-relay-wss"):
        assert all(17 < value < 20 for value in goodput[tunnel, "bbr"])
        assert goodput[tunnel, "cubic"][1] < 0.5 * goodput[tunnel, "bbr"][1]
    assert goodput["none", "bbr"] > goodput["gost-relay-wss", "bbr"]
    assert "<svg" in plot.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--rtt", "5mz"), "path.rtt"),
        (("--plot", "figure.doc"), "plot"),
    ],
)
def test_script_refuses(arguments, message):
    run = compare_tunnels(*arguments)
    assert run.returncode == 2
    assert message in run.stderr
    assert "Traceback" not in run.stderr
