# SPDX-License-Identifier: GPL-2.0-only
"""The Makefile: when `make setup` has something to install."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers import ROOT

MAKEFILE = ROOT / "Makefile"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree that `make setup` left behind."""
    for file in ("tunnelcc/cli.py", "tunnelcc/costs.py", "models/a.cc", "waf-config/CMakeLists.txt",
                 "waf-config/requirements.py", "pyproject.toml", ".venv/bin/python",
                 ".venv/ready-ns3", ".venv/ready-build", ".venv/ready",
                 "build/release/installed"):  # fmt: skip
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("")
    (tmp_path / "build/release/installed").write_text("tunnelcc/cli.py tunnelcc/costs.py\n")
    shutil.copy(MAKEFILE, tmp_path)
    return tmp_path


def installs(tree: Path) -> bool:
    command = ["make", "--question", "build/release/installed"]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode == 1


def test_what_is_set_up_is_left_alone(tree: Path) -> None:
    (tree / "tunnelcc/cli.py").write_text("changed = True")
    assert not installs(tree)


@pytest.mark.parametrize("new", ["tunnelcc/new.py", "tunnelcc/more/__init__.py"])
def test_a_new_python_file_renews_the_installation(tree: Path, new: str) -> None:
    (tree / new).parent.mkdir(exist_ok=True)
    (tree / new).write_text("")
    assert installs(tree)


def test_a_module_that_became_a_package_renews_the_installation(tree: Path) -> None:
    (tree / "tunnelcc/costs").mkdir()
    (tree / "tunnelcc/costs.py").rename(tree / "tunnelcc/costs/__init__.py")
    assert installs(tree)


def test_a_model_that_changed_renews_the_installation(tree: Path) -> None:
    installed = tree / "build/release/installed"
    (tree / "models/b.cc").write_text("int b;")
    later = installed.stat().st_mtime_ns + 1_000_000_000
    os.utime(tree / "models/b.cc", ns=(later, later))
    assert installs(tree)
