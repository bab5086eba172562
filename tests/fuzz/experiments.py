# SPDX-License-Identifier: GPL-2.0-only
"""Runs random experiments, each of them twice, and looks at what must hold of every run.

A process runs many of them, and then some once more in a process of their own: what a run leaves
behind in its process must not change the next one. Both are forks of this one, which runs none, so
that a crash ends nothing else.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import xarray

import tunnelcc as tc
from tests.fuzz import invariants
from tests.fuzz.tables import Draw, make_files
from tunnelcc import core
from tunnelcc.scenario import Experiment
from tunnelcc.store import run_id

_FORK = multiprocessing.get_context("fork")
_MOST_SECONDS = 60.0  # of CPU time for one run; it takes some hundredths
_AGAIN = 0.2  # share of the runs that are made once more, and looked at closely
_MOST_RUNS = 200  # of a process


class Fuzzer:
    """The traces that experiments name, and the process that runs them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        make_files(directory)
        core.load()
        xarray.Dataset({"imports": ("what", ["xarray", "needs"])}).load()  # once for all processes
        self._worker: _Worker | None = None

    def attempt(self, draw: random.Random) -> str:
        """Return what became of one experiment."""
        table = Draw(draw, self._directory).table()
        again = draw.random() < _AGAIN
        try:
            return self._attempt(table, again=again)
        except Exception:
            print(f"experiment: {json.dumps(table)}", file=sys.stderr)
            raise

    def _attempt(self, table: dict[str, Any], *, again: bool) -> str:
        try:
            experiment = Experiment.parse(table)
        except tc.ConfigError as error:
            _check_keys(error)
            return "refused"
        copy = Experiment.parse(experiment.table())
        assert copy == experiment, "another from its table"
        assert not again or run_id(copy) == run_id(experiment)
        if self._worker is None or self._worker.runs >= _MOST_RUNS:
            self.close()
            self._worker = _Worker()
        try:
            found = self._worker.run(experiment, closely=again)
        except _DeadError:
            self._worker = None
            raise
        if again and "digests" in found:
            fresh = _Worker()
            other = fresh.run(experiment, closely=False)
            fresh.close()
            assert other == found, "a process of its own has other results"
        return str(found.get("refused", "valid"))

    def close(self) -> None:
        """End the process that runs experiments."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None


class _DeadError(Exception):
    """A process ended."""


class _Worker:
    """A process that runs experiments, one after the other."""

    def __init__(self) -> None:
        self.runs = 0
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        self._end, end = _FORK.Pipe()
        self._process = _FORK.Process(
            target=_work, args=(end, self._end, self._errors.fileno()), daemon=True
        )
        self._process.start()
        end.close()

    def run(self, experiment: Experiment, *, closely: bool) -> dict[str, Any]:
        """Return the hashes of its results. Raises _DeadError."""
        self.runs += 1
        try:
            self._end.send((experiment, closely))
            found: dict[str, Any] = self._end.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            if self._process.exitcode == -signal.SIGPROF:
                raise _DeadError(f"it took more than {_MOST_SECONDS:g} s of CPU time") from None
            code = self._process.exitcode
            raise _DeadError(f"the process ended with {code}\n{self._told()}") from None
        if "error" in found:
            raise AssertionError(found["error"])
        return found

    def _told(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode("utf-8", "replace")[-20_000:]

    def close(self) -> None:
        self._end.close()
        self._process.join()
        self._errors.close()


def _work(end: Connection[Any, Any], other: Connection[Any, Any], errors: int) -> None:
    other.close()  # so that this process ends if its parent does
    os.dup2(errors, 2)
    warnings.simplefilter("error")
    while True:
        try:
            task = end.recv()
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_PROF, _MOST_SECONDS)  # which ends the process
        found = _guarded(lambda it=task: _run(*it))
        signal.setitimer(signal.ITIMER_PROF, 0)
        end.send(found)


def _check_keys(error: tc.ConfigError) -> None:
    if not all(problem.key for problem in error.problems):
        raise AssertionError("no key is named") from error


def _guarded(run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return run()
    except Exception:
        return {"error": traceback.format_exc()}


def _run(experiment: Experiment, closely: bool) -> dict[str, Any]:
    try:
        result = tc.run(experiment, progress=False)
    except tc.ConfigError as error:
        _check_keys(error)
        return {"refused": "too large"}
    invariants.check(result, closely=closely)
    return {"digests": result.digests(), "json": result.to_json()}
