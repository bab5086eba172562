# SPDX-License-Identifier: GPL-2.0-only
"""What is no file, or one without end, in each place where a command takes the name of one."""

from __future__ import annotations

import os

import pytest

from tunnelcc import system

PLACES = {
    "run {}.toml": "file",
    "run --tunnel {}.toml": "tunnel",
    "run --set path.trace={}.csv": "trace",
    "run --set hosts.profile={}.toml": "profile",
    "run --cc {}.py": "cc",
    "run --cc {}.cc": "cc",
    "run --cc {}.c": "cc",
    "run --measured {}.json": "--measured",
    "sweep {}.toml": "",
    "fit {}.json": "",
    "plot {}.nc": "results",
    "report {}.nc": "",
    "report {}.toml": "",
    "sensitivity {}.nc": "results",
    "show tunnel {}.toml": "",
    "reproduce {}": "",
    "store ls {}": "results",
}


def _pipe(path):
    os.mkfifo(path)


def _folder(path):
    path.mkdir()


def _endless(path):
    path.symlink_to("/dev/zero")


def _large(path):
    with path.open("wb") as file:
        file.truncate(2 << 30)


@pytest.mark.parametrize("make", [_pipe, _folder, _endless, _large])
@pytest.mark.parametrize("command", PLACES)
def test_it_is_told_at_once(tmp_path, monkeypatch, run, command, make):
    if make is _folder and command in ("store ls {}", "reproduce {}"):
        return  # that is what they want
    monkeypatch.setattr(system, "_LONGEST_WAIT", 0.1)
    monkeypatch.setattr(system, "available_memory", lambda: 64e6)
    monkeypatch.chdir(tmp_path)
    place = tmp_path / command.split("{}")[1].join(["named", ""])
    make(place)
    code, out, err = run(*command.format("./named").split())
    assert (code, out) == (2, "")
    assert "named" in err or "/dev/zero" in err
    assert PLACES[command] in err


@pytest.mark.parametrize(
    "broken", ["store.json", "sweeps/one.json", "sweeps/.lock", "runs/{}", "sweeps/one.parquet"]
)
def test_a_pipe_in_a_store(tmp_path, run, broken):
    sweep = ("sweep", "--set", "duration=1s", "--axis", "path.loss=0", "--seeds", "1")
    store = tmp_path / "store"
    assert run(*sweep, "--store", store, "--name", "one")[0] == 0
    (stored,) = (store / "runs").glob("*/*")
    file = store / broken.format(stored.relative_to(store / "runs"))
    file.unlink(missing_ok=True)
    os.mkfifo(file)
    for command in (
        ("store", "ls", store), ("store", "verify", store), ("plot", store / "one"),
        (*sweep, "--store", store, "--name", "one"),
    ):  # fmt: skip
        code, _, err = run(*command)
        assert code in (0, 1, 2)
        assert "Traceback" not in err
