# SPDX-License-Identifier: GPL-2.0-only
"""Changes a file of a store, or one that its runs used, and reads the store."""

from __future__ import annotations

import contextlib
import io
import os
import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import tunnelcc as tc
from tests.fuzz.mutate import change_bytes
from tunnelcc import cli
from tunnelcc.metrics import STORED
from tunnelcc.sweeps import columns

_TUNNELS = Path(tc.__file__).parent / "catalog" / "tunnels"
_NAMES = ("axes", "files")


class Fuzzer:
    """A store of two sweeps, and what is right to read from it."""

    def __init__(self, directory: Path) -> None:
        self._folder = directory
        columns.LEAST_RUNS = 1  # so that both have a table
        self._files = directory / "files"
        self._files.mkdir()
        shutil.copy(_TUNNELS / "gost-relay-ws.toml", self._files / "mine.toml")
        (self._files / "rates.csv").write_text("time_s,rate_Mbps\n0,5\n0.5,4\n")
        base = {"path": {"rate": "5Mbps", "rtt": "20ms"}, "duration": "1s"}
        axes = {"cc": ["bbr", "cubic"], "path.buffer": ["100B", "1bdp"]}
        self._sweep("axes", base, axes)
        base["path"]["trace"] = str(self._files / "rates.csv")
        self._sweep("files", base, {"tunnel": ["none", str(self._files / "mine.toml")]})
        self._store = directory / "store"
        self._right = {name: tc.open(self._store / name, series=True) for name in _NAMES}

    def _sweep(self, name: str, base: Any, axes: Any) -> None:
        store = self._folder / "store"
        tc.sweep(base, axes, 1, name=name, store=store, jobs=1, progress=False, series=True)

    def attempt(self, draw: random.Random) -> str:
        """Return what became of one change."""
        with tempfile.TemporaryDirectory(dir=self._folder) as directory:
            store = Path(directory) / "store"
            shutil.copytree(self._store, store)
            files = sorted(it for it in store.glob("**/*") if it.is_file() and it.stat().st_size)
            file = draw.choice((*files, *sorted(self._files.iterdir())))
            if draw.random() < 0.3:
                (store / "sweeps" / "axes.npz").unlink()
            if not file.exists():
                return "no table"
            before, status = file.read_bytes(), file.stat()
            file.write_bytes(change_bytes(before, draw))
            if file.parent != self._files and draw.random() < 0.5:  # a process remembers traces
                os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
            try:
                return f"{file.suffix[1:]}: {self._check(store, file, draw)}"
            finally:
                if file.parent == self._files:
                    file.write_bytes(before)

    def _check(self, store: Path, file: Path, draw: random.Random) -> str:
        is_told = False
        for name in draw.sample(_NAMES, len(_NAMES)):
            is_told |= self._opened(store, name, series=draw.random() < 0.5)
            _run("store", "ls", name, "--store", store)
        for arguments in (["ls"], ["verify"], ["verify", "--delete"], ["verify"]):
            code, text = _run("store", *arguments, "--store", store)
            if arguments == ["verify"]:
                is_told |= bool(code)
        if file.suffix in (".run", ".csv", ".toml"):
            assert is_told, "nobody told of the damage"
        if file.name != "store.json":
            assert code == 0, f"still damaged after verify --delete: {text}"
        return "told" if is_told else "right"

    def _opened(self, store: Path, name: str, *, series: bool) -> bool:
        """Compare what is read with what is right; return whether a damage was named."""
        right = self._right[name]
        try:
            found = tc.open(store / name, series=series)
        except tc.TunnelccError:
            return True
        assert found["run"].shape == right["run"].shape
        is_told = False
        for index in np.ndindex(*right["run"].shape):
            at = dict(zip(right["run"].dims, index, strict=True))
            was, now = right.isel(at), found.isel(at)
            error = now["error"].item()
            is_told |= error != was["error"].item()
            assert error or not was["error"].item(), "an error is gone"
            for metric in STORED:
                if not (error and now[metric].isnull().all()):
                    np.testing.assert_array_equal(now[metric].values, was[metric].values)
        for axis in right["run"].dims:
            assert found[axis].values.tolist() == right[axis].values.tolist(), axis
        return is_told


def _run(*arguments: object) -> tuple[int, str]:
    output, errors, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            cli.main([str(argument) for argument in arguments])
        except SystemExit as exit_:
            code = int(exit_.code or 0)
    return code, output.getvalue() + errors.getvalue()
