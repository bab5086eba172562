# SPDX-License-Identifier: GPL-2.0-only
"""Run experiments: one in this process, or many in worker processes.

ns-3's simulator exists once per process, so parallel runs need processes. A fresh interpreter forks
them, with one pipe each. ``concurrent.futures`` is not used for three reasons: if one of its
workers dies, it drops every pending run; it cannot stop a running worker; and it imports the user's
main script again.
"""

from __future__ import annotations

import contextlib
import operator
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, TypeVar

from tunnelcc import core
from tunnelcc.config import Experiment
from tunnelcc.config.scenario import experiment_of
from tunnelcc.errors import RunError
from tunnelcc.output.progress import Progress
from tunnelcc.simulation import limits
from tunnelcc.simulation.result import Result
from tunnelcc.simulation.spec import experiment_spec, spec_text

Key = TypeVar("Key")

_running = threading.Lock()


def run(
    experiment: Experiment | Mapping[str, Any] | str | Path,
    *,
    progress: Callable[[float], None] | bool | None = None,
) -> Result:
    """Simulate one experiment and return its Result.

    ``experiment``: an Experiment, nested tables (dict), or the path of a TOML file.

    ``progress``: None (default) shows a bar on a terminal for runs of more than two seconds; False
    shows nothing; a function is called a few times per second with the simulated seconds. An
    exception that it raises (KeyboardInterrupt too) ends the run.

    Raises ConfigError for a wrong experiment or one that needs more memory than is available.
    Raises RunError if another simulation is running in this process, or if the simulator fails.
    """
    experiment = experiment_of(experiment)
    limits.check(experiment)
    spec = spec_text(experiment_spec(experiment))
    if not _running.acquire(blocking=False):
        raise RunError("no other simulation may run in this process; use run_many()")
    try:
        with Progress(experiment.duration, enabled=progress is None) as bar:
            report = progress if callable(progress) else bar.update
            raw = core.load().run(spec, report)
    except (RuntimeError, ValueError) as error:
        raise RunError(f"the simulator failed: {error}") from error
    except MemoryError:
        raise RunError("the simulator failed: not enough memory") from None
    finally:
        _running.release()
    return Result(experiment, raw)


def run_many(
    experiments: Iterable[Experiment | Mapping[str, Any] | str | Path],
    *,
    jobs: int | None = None,
    progress: Callable[[int, int], None] | bool | None = None,
    on_result: Callable[[int, Result | RunError], None] | None = None,
) -> list[Result | RunError]:
    """Simulate ``experiments`` in parallel and return their Results in the same order.

    The longest runs start first. If a run fails, or its process dies, its place has a RunError.

    ``jobs``: number of processes; default: one per core. ``progress``: as in run(), or a function
    that is called with the finished runs and all runs. ``on_result``: a function that is called
    with index and result when a run ends. Raises ConfigError before any run starts if one of them
    needs more memory than is available.
    """
    todo = list(map(experiment_of, experiments))
    for experiment in todo:
        limits.check(experiment)
    order = sorted(range(len(todo)), key=lambda index: -estimated_work(todo[index]))
    tasks = [(index, todo[index]) for index in order]
    results: dict[int, Result | RunError] = {}
    work = sum(estimated_work(experiment) for experiment in todo)
    done = 0.0
    with Progress(work, enabled=progress is None) as bar:
        for index, result in parallel(simulate, tasks, jobs):
            results[index] = result
            done += estimated_work(todo[index])
            bar.update(done)
            if on_result is not None:
                on_result(index, result)
            if callable(progress):
                progress(len(results), len(todo))
    return [results[index] for index in range(len(todo))]


def estimated_work(experiment: Experiment) -> float:
    """Return an estimate of the work: packets that the path can carry."""
    flows = sum(flow.count for flow in experiment.flows)
    legs = 3 if experiment.tunnel else 1
    return experiment.duration * (experiment.path.rate / 12e3 * (1 + legs) / 2 + flows)


def cores() -> int:
    """Return the number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def simulate(experiment: Experiment, timeout: float | None = None) -> Result:
    """Run ``experiment`` without a bar. Raise RunError after ``timeout`` seconds of real time."""
    started = time.monotonic()

    def watch(seconds: float) -> None:
        if timeout is not None and time.monotonic() - started > timeout:
            raise RunError(f"the run took more than {timeout:g} s")

    return run(experiment, progress=watch)


class _Family:
    """A process that has forked workers, and reports how they end."""

    def __init__(self, process: subprocess.Popen[bytes], ends: Connection[Any, Any]) -> None:
        self._process = process
        self._ends = ends
        self._codes: dict[int, int] = {}

    @cached_property
    def members(self) -> list[int]:
        """The workers' process ids; waits for them. Raises EOFError if they do not start."""
        members: list[int] = self._ends.recv()
        return members

    def exit_code(self, number: int) -> int:
        """Return the exit code of the next worker that ends; −n for signal n, as in subprocess."""
        try:
            member = self.members[number]
            while member not in self._codes:
                ended, code = self._ends.recv()
                self._codes[ended] = code
            return self._codes[member]
        except EOFError:
            return self._process.wait()

    def kill(self) -> None:
        """Kill the workers and wait for their end."""
        self._process.terminate()  # which it passes on
        self._process.wait()
        self._ends.close()


@dataclass
class _Worker:
    family: _Family
    number: int
    pipe: Connection[Any, Any]
    key: Any = None  # of the task it does


def parallel(
    function: Callable[[Any], Any], tasks: Iterable[tuple[Key, Any]], jobs: int | None = None
) -> Generator[tuple[Key, Any], None, None]:
    """Call ``function`` with each task's argument in worker processes; yield (key, outcome).

    Tasks start in order and are yielded as they end. If ``function`` raises an error of tunnelcc,
    or its process dies, only this task's outcome is a RunError. Closing the generator kills the
    processes. ``jobs``: number of processes; default: one per core, and at most the length (or
    length hint) of ``tasks``. The processes start while the first tasks are made.
    """
    count = min(jobs or cores(), operator.length_hint(tasks, sys.maxsize))
    if not count:
        return
    pending = iter(tasks)
    workers = _start(function, count)
    busy = selectors.DefaultSelector()
    try:
        for worker, task in zip(workers, pending, strict=False):
            _assign(worker, function, *task)
            busy.register(worker.pipe, selectors.EVENT_READ, worker)
        while busy.get_map():
            for ready, _ in busy.select():
                worker = ready.data
                finished, outcome = worker.key, _receive(worker)
                following = next(pending, None)
                if following is None or worker.pipe.closed:
                    busy.unregister(ready.fd)
                if following is not None:
                    if worker.pipe.closed:
                        (worker,) = _start(function, 1)
                        workers.append(worker)
                        busy.register(worker.pipe, selectors.EVENT_READ, worker)
                    _assign(worker, function, *following)
                yield finished, outcome
    finally:
        for worker in workers:
            worker.pipe.close()
        for family in {id(worker.family): worker.family for worker in workers}.values():
            family.kill()
        busy.close()


def _start(function: Callable[[Any], Any], count: int) -> list[_Worker]:
    ends, their_ends = Pipe(duplex=False)
    pipes = [Pipe() for _ in range(count)]
    theirs = [their_ends, *(there for _, there in pipes)]
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; "
        f"from tunnelcc.simulation.worker import main; main({function.__module__!r})"
    )
    descriptors = [pipe.fileno() for pipe in theirs]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, descriptors)],
        pass_fds=descriptors,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        # numpy's threads have nothing to do, but take a core when they start; nor do plugins.
        env={"OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "__all__", **os.environ},
    )
    for pipe in theirs:
        pipe.close()
    family = _Family(process, ends)
    return [_Worker(family, number, here) for number, (here, _) in enumerate(pipes)]


def _assign(worker: _Worker, function: Callable[[Any], Any], key: Key, argument: object) -> None:
    worker.key = key
    with contextlib.suppress(OSError):  # It has died; reading from the pipe will tell.
        worker.pipe.send((function, argument))


def _receive(worker: _Worker) -> Any:
    """Return the outcome of the worker's task. If the worker has died, close its pipe."""
    try:
        return worker.pipe.recv()
    except (EOFError, OSError):
        worker.pipe.close()
        code = worker.family.exit_code(worker.number)
        how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
        return RunError(f"the process that simulated this experiment {how}")
