# SPDX-License-Identifier: GPL-2.0-only
"""Running experiments: one in this process, or many in worker processes.

ns-3's simulator is one per process, so parallel runs need processes. They are started as fresh
interpreters with a pipe each rather than through ``concurrent.futures``: when a worker dies, a
process pool gives up every pending run, here only its own run fails; a running worker can be
stopped; and the user's main script is not imported again.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait

from tunnelcc import core, limits
from tunnelcc.config import Experiment
from tunnelcc.errors import RunError
from tunnelcc.progress import Progress
from tunnelcc.result import Result
from tunnelcc.spec import experiment_spec

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
    results: dict[int, Result | RunError] = {}
    work = sum(estimated_work(experiment) for experiment in todo)
    done = 0.0
    with Progress(work, enabled=progress is None) as bar:
        for index, result in _parallel(todo, order, jobs or _cores()):
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


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    pipe: Connection[object, object]
    index: int | None = None  # of the experiment it runs


def _parallel(
    todo: Sequence[Experiment], order: Sequence[int], jobs: int
) -> Iterable[tuple[int, Result | RunError]]:
    pending = list(reversed(order))
    workers: list[_Worker] = []
    try:
        while pending or workers:
            while pending and len(workers) < jobs:
                workers.append(_start())
                _assign(workers[-1], pending.pop(), todo)
            pipes = {worker.pipe: worker for worker in workers}
            for pipe in wait(list(pipes)):
                worker = pipes[pipe]  # type: ignore[index]
                index = worker.index
                assert index is not None
                try:
                    outcome = worker.pipe.recv()
                except (EOFError, OSError):
                    workers.remove(worker)
                    yield index, RunError(_death(worker))
                    continue
                if pending:
                    _assign(worker, pending.pop(), todo)
                else:
                    workers.remove(worker)
                    _stop(worker)
                assert isinstance(outcome, (Result, RunError))
                yield index, outcome
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.wait()
            worker.pipe.close()


def _start() -> _Worker:
    here, there = Pipe()
    code = f"import sys; sys.path[:] = {sys.path!r}; from tunnelcc.worker import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(there.fileno())],
        pass_fds=[there.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    there.close()
    return _Worker(process, here)


def _assign(worker: _Worker, index: int, todo: Sequence[Experiment]) -> None:
    worker.index = index
    with contextlib.suppress(OSError):  # It has died; reading from the pipe will tell.
        worker.pipe.send(todo[index])


def _stop(worker: _Worker) -> None:
    worker.pipe.close()  # Its next read ends, and with it the process.
    worker.process.wait()


def _death(worker: _Worker) -> str:
    worker.pipe.close()
    status = worker.process.wait()
    how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    return f"the process that simulated this experiment {how}"
