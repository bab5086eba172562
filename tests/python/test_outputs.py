# SPDX-License-Identifier: GPL-2.0-only
"""Files and directories that cannot be written are told before anything is simulated."""

from __future__ import annotations

from pathlib import Path

import pytest

from tunnelcc.errors import ConfigError
from tunnelcc.output import files

EXAMPLES = Path(__file__).parents[2] / "scenarios" / "examples"


def test_a_file_that_is_there_stays_as_it_is(tmp_path):
    file = tmp_path / "report.html"
    files.check_file("--report", file)
    assert not file.exists()
    file.write_text("kept")
    files.check_file("--report", file)
    assert file.read_text() == "kept"


@pytest.mark.parametrize("place", ["/proc/file", ".", "nowhere/file"])
def test_a_file_that_cannot_be_written(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"--out = .* a file that can be written"):
        files.check_file("--out", Path(place))


def test_directories(tmp_path):
    files.make_directory("--out", tmp_path / "a/b")
    assert list((tmp_path / "a/b").iterdir()) == []
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file/below", Path("/proc/1"), Path("/proc/x")):
        with pytest.raises(ConfigError, match=r"--out = .* a directory that can be written"):
            files.make_directory("--out", place)


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (["validate", "--group", "theory", "--report"], "/proc/x.html"),
        (["validate", "--group", "theory", "--report"], "taken.html"),
        (["run", "--plot"], "/proc/x.png"),
        (["run", "--plot"], "taken.png"),
        (["sweep", EXAMPLES / "one-bbr-flow.toml", "--axis", "cc=bbr", "--output"], "/proc/x.csv"),
        (["sweep", EXAMPLES / "one-bbr-flow.toml", "--axis", "cc=bbr", "--output"], "taken.nc"),
        (["reproduce", "ethudp", "--output"], "/proc/x"),
        (["reproduce", "ethudp", "--output"], "/proc/1"),
        (["reproduce", "ethudp", "--report"], "/proc/x"),
        (["reproduce", "ethudp", "--report"], "file"),
        (["reproduce", "--all", "--output"], "full"),
        (["calibrate-host", "--output"], "/proc/x.toml"),
        (["calibrate-host", "--output"], "taken.toml"),
    ],
)
def test_told_before_anything_is_simulated(arguments, place, tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    for name in ("taken.html", "taken.png", "taken.nc", "taken.toml", "full"):
        (tmp_path / name).mkdir()
    (tmp_path / "full" / "li2018-bbr").touch()
    for module in (
        "tunnelcc.simulation.runner.run",
        "tunnelcc.simulation.runner.run_many",
        "tunnelcc.calibrate.run",
    ):
        monkeypatch.setattr(module, lambda *_, **__: pytest.fail("it began"))
    code, out, err = run(*arguments, place)
    assert (code, out) == (2, "")
    assert place in err
    assert "that can be written (" in err
