# SPDX-License-Identifier: GPL-2.0-only
"""A disk that is full, really: each command that writes a file names it, and leaves none half."""

from __future__ import annotations

import shutil
import subprocess

import pytest

_MINE = """\
#include "tunnelcc.h"
struct Mine : tc::CongestionControl
{
    void OnAck(tc::State& state, const tc::Ack& ack) override
    {
        state.cwnd += ack.acked / state.cwnd;
    }
};
TUNNELCC_CONGESTION_CONTROL(Mine);
"""
_SHORT = ("--set", "duration=1s")
_SWEEP = ("sweep", *_SHORT, "--axis", "path.loss=0,0.01", "--seeds", "2")


@pytest.fixture
def disk(tmp_path):
    """Return the folder of a disk with 4 kB of room."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    options = ["-t", "tmpfs", "-o", "size=32k", "tmpfs", str(folder)]
    if not mount or subprocess.run([mount, *options], capture_output=True).returncode:
        pytest.skip("only root can make a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def _fill(folder, room):
    with (folder / "filler").open("wb") as file:
        file.write(bytes((32 << 10) - room))


@pytest.mark.parametrize(
    ("command", "name", "status"),
    [
        (("run", *_SHORT, "--plot"), "run.png", 2),
        (("run", *_SHORT, "--plot"), "run.pdf", 2),
        (("run", *_SHORT, "--capture"), "it.pcapng", 1),
        (("run", *_SHORT, "--qlog"), "logs", 1),
        (("run", *_SHORT, "-o"), "iperf3.json", 2),
        ((*_SWEEP, "--store"), "store", 1),
        ((*_SWEEP, "--store", "ok", "-o"), "it.nc", 2),
        ((*_SWEEP, "--store", "ok", "-o"), "it.csv", 2),
        ((*_SWEEP, "--store", "ok", "-o"), "it.parquet", 2),
        (("report", "ok", "-o"), "report", 2),
        (("new", "cc", "my_cc", "--output"), "files", 2),
    ],
)
def test_the_file_is_named(disk, tmp_path, monkeypatch, run, command, name, status):
    monkeypatch.chdir(tmp_path)
    if "ok" in command:
        assert run(*_SWEEP, "--store", "ok")[0] == 0
    for room in (4096, 0):
        for left in disk.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        _fill(disk, room)
        code, _, err = run(*command, str(disk / name))
        if not code and room:
            continue  # it fits
        assert code == status, err
        assert str(disk) in err
        assert "No space left on device" in err
        assert "Traceback" not in err
        for left in disk.rglob("*"):
            is_whole = status == 1 or command[0] in (
                "report",
                "new",
            )  # each file of a folder by itself
            assert left.is_dir() or left.name == "filler" or is_whole, left


def test_the_cache_of_compiled_files(disk, tmp_path, monkeypatch, run):
    (tmp_path / "mine.cc").write_text(_MINE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(disk))
    disk.chmod(0o700)
    _fill(disk, 4096)
    code, _, err = run("run", *_SHORT, "--cc", tmp_path / "mine.cc")
    assert code == 1
    assert str(disk) in err
    assert "No space left on device" in err
