# SPDX-License-Identifier: GPL-2.0-only
"""Running experiments: one in this process, or many in worker processes.

ns-3's simulator is one per process, so parallel runs need processes. They are started as fresh
interpreters with a pipe each rather than through ``concurrent.futures``: when a worker dies, a
process pool gives up every pending run, here only its own run fails; a running worker can be
stopped; and the user's main script is not imported again.
"""

from __future__ import annotations

import contextlib
import operator
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, TypeVar

from tunnelcc import core, limits
from tunnelcc.config import Experiment
from tunnelcc.errors import RunError
from tunnelcc.progress import Progress
from tunnelcc.result import Result
from tunnelcc.spec import experiment_spec

Key = TypeVar("Key")

_running = threading.Lock()


def run(
    experiment: Experiment, *, progress: Callable[[float], None] | bool | None = None
) -> Result:
    """Simulate ``experiment`` and return what it measured.

    ``progress``: called with the simulated seconds a few times a second; False: none; None: a bar
    on a terminal's standard error for runs of more than two seconds. An exception that it raises
    (KeyboardInterrupt too) ends the run. Raises ConfigError if the run would need more memory than
    there is, RunError if another run is going on in this process or the simulator fails.
    """
    limits.check(experiment)
    spec = experiment_spec(experiment)
    if not _running.acquire(blocking=False):
        raise RunError("a simulation is running in this process already; use run_many()")
    try:
        with Progress(experiment.duration, enabled=progress is None) as bar:
            report = progress if callable(progress) else bar.update
            raw = core.load().run(spec, report)
    except (RuntimeError, ValueError) as error:
        raise RunError(f"the simulator failed: {error}") from error
    except MemoryError:
        raise RunError("the simulator failed: there was not enough memory") from None
    finally:
        _running.release()
    return Result(experiment, raw)


def run_many(
    experiments: Iterable[Experiment],
    *,
    jobs: int | None = None,
    progress: Callable[[int, int], None] | bool | None = None,
    on_result: Callable[[int, Result | RunError], None] | None = None,
) -> list[Result | RunError]:
    """Simulate ``experiments`` in parallel; return their results in the same order.

    The longest start first. A run that fails, or whose process dies, gives a RunError in its
    place. ``jobs``: processes, by default one per core; ``progress``: called with runs done and
    runs in all, or as in run(); ``on_result``: called with index and result as each run ends.
    Raises ConfigError before anything runs if one of them would need more memory than there is.
    """
    todo = list(experiments)
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
    """Return about how much there is to simulate: packets that the path can carry."""
    flows = sum(flow.count for flow in experiment.flows)
    legs = 3 if experiment.tunnel else 1
    return experiment.duration * (experiment.path.rate / 12e3 * (1 + legs) / 2 + flows)


def cores() -> int:
    """Return the number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def simulate(experiment: Experiment, timeout: float | None = None) -> Result:
    """Run ``experiment`` without a bar; raise RunError after ``timeout`` seconds of real time."""
    started = time.monotonic()

    def watch(seconds: float) -> None:
        if timeout is not None and time.monotonic() - started > timeout:
            raise RunError(f"the run took more than {timeout:g} s")

    return run(experiment, progress=watch)


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    pipe: Connection[object, object]
    key: Any = None  # of the task it does
    is_alive: bool = True


def parallel(
    function: Callable[[Any], Any], tasks: Iterable[tuple[Key, Any]], jobs: int | None = None
) -> Generator[tuple[Key, Any], None, None]:
    """Call ``function`` with each task's argument in worker processes; yield (key, outcome).

    Tasks start in their order and are yielded as they end. What ``function`` raises of tunnelcc's
    own errors, and the death of its process, are the outcome of that task alone: a RunError.
    Closing the generator kills the processes. ``jobs``: processes, by default one per core; no
    more than the length (or length hint) of ``tasks``. They start while the first tasks are made.
    """
    count = min(jobs or cores(), operator.length_hint(tasks, sys.maxsize))
    pending = iter(tasks)
    workers: list[_Worker] = []
    busy: list[_Worker] = []
    try:
        for _ in range(count):
            workers.append(_start(function))
        for worker, task in zip(workers, pending, strict=False):
            _assign(worker, function, *task)
            busy.append(worker)
        while busy:
            ready = set(wait([worker.pipe for worker in busy]))
            for worker in [worker for worker in busy if worker.pipe in ready]:
                finished, outcome = worker.key, _receive(worker)
                busy.remove(worker)
                following = next(pending, None)
                if following is not None:
                    if not worker.is_alive:
                        worker = _start(function)
                        workers.append(worker)
                    _assign(worker, function, *following)
                    busy.append(worker)
                yield finished, outcome
    finally:
        for worker in workers:
            worker.process.kill()
            worker.pipe.close()
            worker.process.wait()


def _start(function: Callable[[Any], Any]) -> _Worker:
    here, there = Pipe()
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; "
        f"from tunnelcc.worker import main; main({function.__module__!r})"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(there.fileno())],
        pass_fds=[there.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        # numpy's threads have nothing to do, but take a core when they start; nor do plugins.
        env={"OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "__all__", **os.environ},
    )
    there.close()
    return _Worker(process, here)


def _assign(worker: _Worker, function: Callable[[Any], Any], key: Key, argument: object) -> None:
    worker.key = key
    with contextlib.suppress(OSError):  # It has died; reading from the pipe will tell.
        worker.pipe.send((function, argument))


def _receive(worker: _Worker) -> Any:
    try:
        return worker.pipe.recv()
    except (EOFError, OSError):
        worker.is_alive = False
        status = worker.process.wait()
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        return RunError(f"the process that simulated this experiment {how}")
