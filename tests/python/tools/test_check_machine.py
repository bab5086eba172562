# SPDX-License-Identifier: GPL-2.0-only
"""waf-config/check-machine.sh: one sentence and exit code 2 for whatever the machine lacks."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import ROOT, make_program

PYTHON = shlex.quote(sys.executable)
SCRIPT = ROOT / "waf-config" / "check-machine.sh"


def check(bin_directory: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{bin_directory}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", str(SCRIPT)],
        env={"PYTHON": sys.executable, **environment, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_this_machine_will_do(tmp_path: Path) -> None:
    done = check(tmp_path)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, sys.executable, "")


def test_the_path_of_an_interpreter_may_have_spaces(tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    python = make_program(folder / "python", f'exec {PYTHON} "$@"')
    done = check(tmp_path, PYTHON=str(python))
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, str(python), "")


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    mount = 'mount --bind -o ro "$0" "$0" && cd "$0" && exec sh "$1"'
    command = ("unshare", "--mount", "--map-root-user", "sh", "-c", mount, tmp_path, SCRIPT)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "mount" in done.stderr or "unshare" in done.stderr:
        pytest.skip("this user may make no mounts")
    assert_refused(done, f"{tmp_path} cannot be written")


@pytest.mark.parametrize(
    ("name", "body", "words"),
    [
        ("uname", '[ "$1" = -m ] && echo aarch64 || echo Linux', "Linux on aarch64"),
        ("uname", '[ "$1" = -m ] && echo x86_64 || echo Darwin', "Darwin on x86_64"),
        ("getconf", "exit 1", "not glibc"),
        ("getconf", "echo glibc 2.17", "glibc 2.17"),
    ],
)
def test_an_unsupported_system_is_named(tmp_path: Path, name: str, body: str, words: str) -> None:
    make_program(tmp_path / name, body)
    assert_refused(check(tmp_path), words)


@pytest.mark.parametrize(
    ("variable", "body", "words"),
    [
        ("PYTHON", "exit 1", "no CPython from 3.10 to 3.13"),
        ("PYTHON", f'case "$2" in *venv*) exit 1;; esac; exec {PYTHON} "$@"', "no venv"),
        ("PYTHON", 'case "$2" in *sysconfig*) echo /nowhere;; esac', "no C headers"),
        ("CXX", "exit 1", "does not compile C++20"),
    ],
)
def test_a_tool_that_lacks_something_is_named(
    tmp_path: Path, variable: str, body: str, words: str
) -> None:
    tool = make_program(tmp_path / "tool", body)
    done = check(tmp_path, **{variable: str(tool)})
    assert_refused(done, words)
    assert str(tool) in done.stderr


def test_a_missing_compiler_is_named(tmp_path: Path) -> None:
    assert_refused(check(tmp_path, CXX=str(tmp_path / "c++")), "no C++ compiler found")


def assert_refused(done: subprocess.CompletedProcess[str], words: str) -> None:
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert words in done.stderr
    assert any(it in done.stderr for it in ("install", "use ", "copy "))
