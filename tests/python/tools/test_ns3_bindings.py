# SPDX-License-Identifier: GPL-2.0-only
"""This project's TCP in ns-3's Python bindings. `make check-bindings` installs what it needs."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys

import pytest

from helpers import ROOT

PROGRAM = ROOT / "build/release/scratch/wireless"
SCRIPT = ROOT / "scratch/wifi_stations.py"
PAGE = ROOT / "docs/pages/tasks/tcp-in-ns3.md"
HAS_BINDINGS = importlib.util.find_spec("cppyy") is not None


def python(*arguments, folder=None):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=folder,
    )


def without(package, tmp_path):
    """A program that imports the bindings where a package is not installed."""
    return python(
        "-c",
        "import sys, importlib.util as u\n"
        "find = u.find_spec\n"
        f"u.find_spec = lambda name, *more: None if name == {package!r} else find(name, *more)\n"
        "from tunnelcc.errors import TunnelccError\n"
        "try:\n    import tunnelcc.ns3\nexcept TunnelccError as error:\n    sys.exit(str(error))\n",
        folder=tmp_path,
    )


@pytest.mark.parametrize("package", ["ns3", "cppyy"])
def test_what_is_missing_is_told(package, tmp_path):
    run = without(package, tmp_path)
    assert run.returncode == 1
    assert "[ns3-bindings]'" in run.stderr
    assert "Traceback" not in run.stderr


def test_a_second_copy_of_ns3_is_refused(tmp_path):
    run = python(
        "-c",
        "from tunnelcc import core; core.load()\n"
        "from tunnelcc.errors import TunnelccError\n"
        "try:\n    import tunnelcc.ns3\nexcept TunnelccError as error:\n    print(error)\n",
        folder=tmp_path,
    )
    assert "import tunnelcc.ns3 first" in run.stdout


@pytest.mark.slow
@pytest.mark.skipif(not HAS_BINDINGS, reason="cppyy is not installed: make check-bindings")
class TestBindings:
    @pytest.mark.parametrize("through", [(), ("--tunnel=wireguard",), ("--tunnel=gost-relay-wss",)])
    def test_the_example_gives_the_numbers_of_its_c_plus_plus_twin(self, tmp_path, through):
        arguments = ("--stations=2", "--cc=bbr", *through)
        twin = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=True)
        run = python(SCRIPT, *arguments, folder=tmp_path)
        assert run.returncode == 0, run.stderr
        assert run.stdout.splitlines() == twin.stdout.partition(";")[0].splitlines()
        assert re.search(r"together: +1\d\d\.\d Mbit/s", run.stdout)

    def test_the_first_program_of_the_page_runs(self, tmp_path):
        (program,) = re.findall(
            r"```python\n(from tunnelcc.ns3 .*?)```", PAGE.read_text(), re.DOTALL
        )
        run = python("-c", program, folder=tmp_path)
        assert run.returncode == 0, run.stderr
        # 1448 of 1502 bytes of each frame, less slow start
        assert 0.95 * 20 * 1448 / 1502 < float(run.stdout.split()[0]) < 20 * 1448 / 1502

    def test_the_example_runs_with_the_tcp_of_ns3(self, tmp_path):
        run = python(SCRIPT, "--stock", "--cc", "ns3::TcpCubic", folder=tmp_path)
        assert run.returncode == 0, run.stderr
        assert float(run.stdout.split()[-2]) > 1

    def test_experiments_run_beside_the_bindings(self, tmp_path):
        """In one process, with one copy of ns-3; a program of ns-3 keeps its own import."""
        run = python(
            "-c",
            "from ns import ns\n"
            "import tunnelcc as tc, tunnelcc.ns3\n"
            "assert ns.tunnelcc is tunnelcc.ns3.ns.tunnelcc\n"
            "e = tc.Experiment(path=tc.Path(rate='10Mbps'), flows=[tc.Flow(cc='ns3::TcpVegas')],"
            " duration='2s', warmup='1s')\n"
            "print(tc.run(e).goodput)\n",
            folder=tmp_path,
        )
        assert run.returncode == 0, run.stderr
        assert 5e6 < float(run.stdout.split()[-1]) < 10e6
