# SPDX-License-Identifier: GPL-2.0-only
"""Job arrays: each task runs a part of a sweep, and all make the files of one machine."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tunnelcc as tc
from tunnelcc import sweeps

SCENARIO = """
duration = "1s"
path.rate = "2Mbps"

[sweep]
seeds = 3
cc = ["bbr", "cubic"]
"path.rtt" = ["10ms", "20ms"]
"""

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
SlurmctldPort={first}
SlurmdPort={second}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def _files(store: Path) -> dict[str, bytes]:
    return {str(it.relative_to(store)): it.read_bytes() for it in store.glob("runs/*/*")}


@pytest.fixture
def scenario(tmp_path):
    """A sweep in a folder, and the store that one machine makes of it elsewhere."""
    (tmp_path / "loss.toml").write_text(SCENARIO)
    sweeps.run(tc.Sweep(tmp_path / "loss.toml"), tmp_path / "alone", jobs=1, progress=False)
    return tmp_path / "loss.toml"


def test_parts_make_the_files_of_the_whole(run, scenario):
    store = scenario.parent / "runs"
    for part in (3, 1, 2):
        code, out, err = run(
            "sweep", scenario, "--store", store, "--jobs", 1, "--part", f"{part}/3"
        )
        assert code == 0
        assert all(" runs/s, " in line for line in err.splitlines())  # progress, if that is slow
        assert out == f"{store / 'loss'}, part {part} of 3: 4 runs (4 run, 0 cached, 0 failed)\n"
    assert _files(store) == _files(scenario.parent / "alone")
    code, out, _ = run("sweep", scenario, "--store", store)
    assert code == 0
    assert "12 runs (0 run, 12 cached, 0 failed)" in out


@pytest.mark.parametrize("part", ["0/3", "4/3", "3", "a/b", "1/0", "-1/3"])
def test_a_part_that_cannot_be_is_told(run, scenario, part):
    code, _, err = run("sweep", scenario, "--part", part, "--store", scenario.parent / "runs")
    assert code == 2
    assert "expected a part and how many there are, such as 3/20" in err


def test_parts_have_no_table(run, scenario):
    options = ["--part", "1/2", "--precision", "2%", "--store", scenario.parent / "runs"]
    code, _, err = run("sweep", scenario, *options)
    assert code == 2
    assert "need all parts" in err


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.mark.slow
def test_the_recipe_runs_on_slurm(scenario):
    """The script of the documentation, on Debian's slurmctld and slurmd on the loopback."""
    if not all(map(shutil.which, ("slurmctld", "slurmd", "sbatch"))) or os.getuid():
        pytest.skip("it needs root and the packages slurmctld, slurmd and slurm-client")
    folder = scenario.parent
    page = Path(__file__).parents[3] / "docs/pages/tasks/sweep.md"
    (script,) = re.findall(r"```sh\n(#!/bin/sh\n#SBATCH.*?)```", page.read_text(), re.DOTALL)
    (folder / "loss.sh").write_text(script.replace("1-20", "1-4"))
    (folder / "tunnelcc").write_text(f'#!/bin/sh\nexec {sys.executable} -m tunnelcc "$@"\n')
    (folder / "tunnelcc").chmod(0o755)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "slurm.conf").write_text(CONFIGURATION.format(
        host=socket.gethostname(), folder=folder, first=_free_port(), second=_free_port()
    ))  # fmt: skip
    environment = {
        **os.environ, "SLURM_CONF": f"{folder}/slurm.conf",
        "PATH": f"{folder}:{os.environ['PATH']}",
    }  # fmt: skip
    with contextlib.ExitStack() as stack:
        for command in (["slurmctld", "-D", "-c"], ["slurmd", "-D"]):
            process = stack.enter_context(subprocess.Popen(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ))  # fmt: skip
            stack.callback(process.terminate)
            time.sleep(2)
        subprocess.run(
            ["sbatch", "--wait", "loss.sh"], cwd=folder, env=environment, check=True, timeout=200
        )
    assert len(list(folder.glob("slurm-*.out"))) == 4
    assert _files(folder / "runs") == _files(folder / "alone")
