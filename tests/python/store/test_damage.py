# SPDX-License-Identifier: GPL-2.0-only
"""Stores in which a run cannot be read: `tunnelcc store` tells of it, and nothing else stops."""

from __future__ import annotations

import csv
import json
import os
import shutil
from pathlib import Path

import pytest

import tunnelcc as tc
from tunnelcc.store import runfile


def _edit_run(id_: str, store: Path, old: bytes, new: bytes, *, whole: bool = True) -> None:
    """Change a run's file; ``whole``: as if it had been written so."""
    file = store / "runs" / id_[:2] / f"{id_}.run"
    data = file.read_bytes()
    assert data.count(old) >= 1
    data = data.replace(old, new, 1)
    if whole:
        magic, before, head, body = data.split(b"\n", 3)
        _, length = before.split(b" ")
        table = {**json.loads(head), "body": runfile._digest(body)}
        head = json.dumps(table, separators=(",", ":")).encode()
        before = runfile._digest(head).encode() + b" " + length
        data = b"\n".join((magic, before, head, body))
    file.write_bytes(data)


def _refuse_value(id_, store, folder):
    _edit_run(id_, store, b'"rtt":"20ms"', b'"rtt":"-1ms"')


def _unknown_key(id_, store, folder):
    _edit_run(id_, store, b'"rtt":"20ms"', b'"rtx":"20ms"')


def _other_measures(id_, store, folder):
    _edit_run(id_, store, b'"link_packets"', b'"link_pockets"')


def _newer(id_, store, folder):
    _edit_run(id_, store, b"tunnelcc run 3", b"tunnelcc run 4", whole=False)


def _huge_version(id_, store, folder):
    _edit_run(id_, store, b"tunnelcc run 3", b"tunnelcc run 3" + b"0" * 5000, whole=False)


def _no_trace(id_, store, folder):
    (folder / "rates.csv").unlink()


def _other_trace(id_, store, folder):
    (folder / "rates.csv").write_text("time_s,rate_Mbps\n0,9\n")


def _no_tunnel(id_, store, folder):
    (folder / "mine.toml").unlink()


def _other_tunnel(id_, store, folder):
    text = (folder / "mine.toml").read_text()
    (folder / "mine.toml").write_text(text.replace("bytes = 32768", "bytes = 65536", 1))


DAMAGES = [
    _refuse_value, _unknown_key, _other_measures, _newer, _huge_version, _no_trace,
    _other_trace, _no_tunnel, _other_tunnel,
]  # fmt: skip


@pytest.fixture(scope="module")
def with_files(tmp_path_factory):
    """A folder with a store of a sweep over tunnels, one of them a file, on a trace's rates."""
    folder = tmp_path_factory.mktemp("with-files")
    catalogue = Path(tc.__file__).parent / "catalog" / "tunnels" / "gost-relay-ws.toml"
    shutil.copy(catalogue, folder / "mine.toml")
    files = [folder / name for name in ("steady.csv", "steady.csv", "rates.csv")]
    for file in files:
        file.write_text(f"time_s,rate_Mbps\n0,1{'rates' in file.name:d}\n")
    base = {"path": {"rtt": "20ms"}, "duration": "1s"}
    zipped = {
        "tunnel": ["none", str(folder / "mine.toml"), "none"],
        "path.trace": [str(file) for file in files],
    }
    tc.sweep(base, {"zip": zipped}, 1, name="x", store=folder / "runs", jobs=1, progress=False)
    return folder


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_one_run_that_cannot_be_read_stops_nothing_else(run, with_files, tmp_path, damage):
    store = tmp_path / "runs"
    shutil.copytree(with_files / "runs", store)
    before = {file: file.read_bytes() for file in with_files.glob("*.*")}
    ids = tc.open(store / "x")["run"].values.ravel()
    position = {"tunnel": 1, "trace": 2}.get(damage.__name__.rpartition("_")[2], 0)
    has_metrics = damage not in (_newer, _huge_version)
    try:
        damage(ids[position], store, with_files)
        code, out, _ = run("store", "ls", "--store", store)
        assert code == 0
        told = "" if has_metrics else ", 1 that cannot be read "
        assert out.startswith(f"x: 3 runs, 0 failed, 0 missing{told}")
        code, out, _ = run("store", "ls", "x", "--store", store)
        assert code == 0
        told = [line.split("  ")[-1] for line in out.splitlines()]
        damaged = [i == position and not has_metrics for i in range(3)]
        assert [text.startswith("cannot be read: ") for text in told] == damaged
        if damage is not _other_measures:  # of which only its measurements are none
            code, _, err = run("store", "show", ids[position], "--store", store)
            assert (code, len(err.splitlines())) == (1, 1)
            assert ("is damaged" if has_metrics else "cannot be read") in err
        assert run("store", "export", "x", tmp_path / "x.csv", "--store", store)[0] == 0
        rows = list(csv.DictReader((tmp_path / "x.csv").open()))
        assert [row["goodput (bit/s)"] == "" for row in rows] == damaged
        assert "cwnd" in tc.open(store / "x", series=True)
        options = ["--set", "duration=1s", "--set", "path.rate=10Mbps", "--seeds", "1", "--jobs", 1]
        assert run("sweep", "--axis", "cc=bbr", *options, "--store", store)[0] == 0

        code, out, _ = run("store", "verify", "--store", store)
        assert (code, out.splitlines()[1]) == (1, "4 runs, 1 damaged")
        assert out.startswith(f"{ids[position]}: ")
        code, out, _ = run("store", "verify", "--delete", "--store", store)
        assert (code, out.splitlines()[1]) == (1, "3 runs, 1 damaged and deleted")
        assert run("store", "verify", "--store", store) == (0, "3 runs, 0 damaged\n", "")
    finally:
        for file, data in before.items():
            file.write_bytes(data)


def test_a_run_that_proves_damaged_when_its_series_are_read_is_told(with_files, tmp_path):
    store = tmp_path / "runs"
    shutil.copytree(with_files / "runs", store)
    whole = tc.open(store / "x", series=True)
    file = store / "runs" / whole["run"].values[0, 0][:2] / f"{whole['run'].values[0, 0]}.run"
    status = file.stat()
    file.write_bytes(file.read_bytes()[:-8] + b"\xff" * 8)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    found = tc.open(store / "x", series=True)
    assert "is damaged: its checksum is wrong" in found["error"].values[0, 0]
    assert found["cwnd"].isel(point=0).isnull().all()
    assert found["error"].values[1, 0] == ""
    assert found["goodput"].identical(whole["goodput"])
