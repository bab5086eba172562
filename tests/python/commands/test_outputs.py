# SPDX-License-Identifier: GPL-2.0-only
"""Files and directories that cannot be written are told before anything is simulated."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import ROOT
from tunnelcc.errors import ConfigError
from tunnelcc.output import files

EXAMPLES = ROOT / "scenarios" / "examples"


def test_a_file_that_is_there_stays_as_it_is(tmp_path):
    file = tmp_path / "report.html"
    files.check_file("--report", file)
    assert not file.exists()
    file.write_text("kept")
    files.check_file("--report", file)
    assert file.read_text() == "kept"


def test_a_link_that_leads_to_no_file_stays_one(tmp_path):
    link, target = tmp_path / "link.png", tmp_path / "target.png"
    link.symlink_to(target)
    files.check_file("--out", link)
    assert link.is_symlink()
    assert not target.exists()
    with files.replacing(link) as new:
        new.write_text("written")
    assert link.is_symlink()
    assert target.read_text() == "written"


def _write(file: Path, text: str, error: OSError | None = None) -> None:
    with files.replacing(file) as new:
        new.write_text(text)
        if error is not None:
            raise error


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    file = tmp_path / "x.csv"
    for before in (None, "before"):
        if before is not None:
            file.write_text(before)
            file.chmod(0o640)
        with pytest.raises(OSError, match="full"):
            _write(file, "half", OSError("full"))
        assert [it.read_text() for it in tmp_path.iterdir()] == [before] * file.exists()
    _write(file, "all")
    assert [it.read_text() for it in tmp_path.iterdir()] == ["all"]
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_device_is_written_as_it_is():
    with files.replacing(Path("/dev/null")) as new:
        assert new == Path("/dev/null")


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
    for name in ("taken.png", "taken.nc", "taken.toml", "full"):
        (tmp_path / name).mkdir()
    (tmp_path / "full" / "li2018-bbr").touch()
    for module in (
        "tunnelcc.running.runner.run",
        "tunnelcc.running.runner.run_many",
        "tunnelcc.apps.calibrate.calibrate.run",
    ):
        monkeypatch.setattr(module, lambda *_, **__: pytest.fail("it began"))
    code, out, err = run(*arguments, place)
    assert (code, out) == (2, "")
    assert place in err
    assert "that can be written (" in err
