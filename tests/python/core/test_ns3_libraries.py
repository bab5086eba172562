# SPDX-License-Identifier: GPL-2.0-only
"""tunnelcc.core.ns3: where ns-3's libraries are, and what is said when they are not there."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from tunnelcc.core import ns3


def pretend_ns3_is_in(monkeypatch: pytest.MonkeyPatch, *directories: Path) -> None:
    spec = ModuleSpec("ns3", None, is_package=True)
    spec.submodule_search_locations = [str(directory) for directory in directories]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)


def test_the_installed_wheel_is_found() -> None:
    assert (ns3.library_directory() / "libns3.44-internet.so").is_file()


def test_the_directory_that_holds_the_libraries_is_chosen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    library = tmp_path / "b" / "lib64" / "libns3.44-core.so"
    library.parent.mkdir(parents=True)
    library.touch()
    pretend_ns3_is_in(monkeypatch, tmp_path / "a", tmp_path / "b")
    assert ns3.library_directory() == library.parent


def test_missing_ns3_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"needs ns-3: install it with .*ns3==3\.44\.post0"):
        ns3.library_directory()


def test_another_version_of_ns3_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pretend_ns3_is_in(monkeypatch, tmp_path)
    with pytest.raises(ImportError, match=r"needs ns-3 3\.44, but .* has another version"):
        ns3.library_directory()


def test_libraries_are_preloaded_when_ns3_is_not_beside_the_module(tmp_path: Path) -> None:
    # The module's own search path leads nowhere from a directory that has no ns3 next to it.
    script = """
import importlib.util, sys
from importlib.machinery import ModuleSpec
from tunnelcc.core import ns3
find_spec = importlib.util.find_spec
elsewhere = ModuleSpec("tunnelcc._core", None, origin=sys.argv[1] + "/tunnelcc/_core.so")
importlib.util.find_spec = lambda n: elsewhere if n == "tunnelcc._core" else find_spec(n)
ns3.preload()
assert "libns3.44-internet.so" in open("/proc/self/maps").read()
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)


def test_the_python_bindings_of_ns3_are_not_imported() -> None:
    script = (
        "import sys, tunnelcc.core.ns3 as n; n.preload(); import tunnelcc._core; "
        "assert not {'ns', 'ns3', 'cppyy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
