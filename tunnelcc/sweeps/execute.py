# SPDX-License-Identifier: GPL-2.0-only
"""Run what a store lacks: in processes of this machine, or on a Dask cluster.

Experiments are made one at a time, and few of them wait, so a grid of any size needs no memory.
"""

from __future__ import annotations

import contextlib
import heapq
import pickle
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tunnelcc.errors import ConfigError, TunnelccError
from tunnelcc.network.resolved import OfAllSeeds
from tunnelcc.output.progress import RunsProgress
from tunnelcc.results.result import Result
from tunnelcc.running import runner
from tunnelcc.running.pool import parallel
from tunnelcc.running.runner import estimated_work
from tunnelcc.scenario import Experiment
from tunnelcc.specification import experiment_spec, spec_text
from tunnelcc.store import FAILED, METRICS, RUN, Store, model_version, runfile, spec_id

if TYPE_CHECKING:
    import distributed

_LOOK_SECONDS = 0.3
_LOOK_AT_ONCE = 3
_MOST_WAITING = 10_000

#: Runs (key, argument) tasks with a function and yields (key, outcome or RunError) as they end.
Executor = Callable[
    [Callable[[Any], Any], Iterable[tuple[str, Any]]],
    Generator[tuple[str, Any], None, None],
]


@dataclass
class Tally:
    """Numbers of runs by outcome. ``cached``: the store had them.

    ``ids``: ids of the runs so far, in the order of the experiments; "" for an impossible one.
    """

    total: int
    done: int = 0
    failed: int = 0
    cached: int = 0
    ids: list[str] = field(default_factory=list)


class Task(NamedTuple):
    """A run: its experiment, specification, time limit (s), and whether its series are kept.

    ``like``: pickled, the experiment or the same one with another seed than ``seed``. A worker
    reads it once for all its seeds, and a sweep writes it once.
    """

    like: bytes
    seed: int
    spec: str
    timeout: float | None
    series: bool

    @property
    def experiment(self) -> Experiment:
        """What is run."""
        like = _read(self.like)
        return like if like.seed == self.seed else like.with_seed(self.seed)


@lru_cache(maxsize=1)
def _read(pickled: bytes) -> Experiment:
    experiment: Experiment = pickle.loads(pickled)
    return experiment


class Measured(NamedTuple):
    """A worker's result: the version of its models, and the run's file."""

    models: str
    file: bytes


def measure(task: Task) -> Measured:
    """Simulate an experiment, in a worker. Raises RunError, ConfigError."""
    experiment = task.experiment
    result = Result(experiment, runner.measure(experiment, task.spec, task.timeout))
    return Measured(model_version(), runfile.encode(experiment, result, series=task.series))


def executor(jobs: int | None, client: distributed.Client | str | None) -> Executor:
    """Return what runs tasks: ``client``, the scheduler at that address, or processes here."""
    if client is not None:
        from tunnelcc.sweeps.cluster import Cluster

        return Cluster(client).parallel
    return lambda function, tasks: parallel(function, tasks, jobs)


def complete(
    experiments: Iterable[Experiment | ConfigError | str],
    total: int,
    store: Store,
    run: Executor,
    *,
    timeout: float | None = None,
    series: bool = True,
    progress: RunsProgress,
    on_ids: Callable[[list[str]], None] = lambda ids: None,
    wanted: Callable[[int], bool] = lambda position: True,
) -> Tally:
    """Simulate those of ``experiments`` that ``store`` lacks, and those that failed.

    In place of a finished run, ``experiments`` may have its id; "" for an impossible one.
    ``series``: keep the series over time, and run what the store has without them. ``total``: how
    many are ``wanted``, by position; of the others, only the ids are found. ``on_ids``: called with
    Tally.ids (always the same list) when it grows. Raises StoreError if the store cannot be
    written; finished runs stay in it.
    """
    tally = Tally(total)
    queue = _Queue(experiments, store, tally, on_ids, timeout, series, wanted)
    if not queue.has_any():
        return tally
    with contextlib.closing(run(measure, queue)) as outcomes:
        for id_, outcome in outcomes:
            experiment = queue.done(id_)
            if isinstance(outcome, Measured):
                _check_models(outcome)
                store.add(id_, RUN if series else METRICS, outcome.file)
                tally.done += 1
            else:
                store.add(id_, FAILED, runfile.encode(experiment, outcome))
                tally.failed += 1
            progress.update(tally, queue.share_done)
    return tally


class _Queue:
    """Yields (id, task) of the runs to do, the longest known ones first.

    It examines experiments for a moment, and then a few more for each task that it yields. The
    first runs therefore start soon, and the rest is examined while they run.
    """

    def __init__(
        self,
        experiments: Iterable[Experiment | ConfigError | str],
        store: Store,
        tally: Tally,
        on_ids: Callable[[list[str]], None],
        timeout: float | None,
        series: bool,
        wanted: Callable[[int], bool],
    ) -> None:
        self._wanted = wanted
        self._rest = iter(experiments)
        self._store = store
        self._tally = tally
        self._on_ids = on_ids
        self._timeout = timeout
        self._series = series
        self._waiting: list[tuple[float, int, str]] = []  # a heap: −work, order, id
        self._pending: dict[str, Experiment] = {}  # waiting, or running
        self._tasks: dict[str, Task] = {}  # waiting
        self._like: OfAllSeeds[bytes] = OfAllSeeds()  # Task.like
        self._seen = 0
        self._work = self._work_done = 0.0

    def has_any(self) -> bool:
        """Examine experiments until one must run. Return whether there is one."""
        while not self._waiting:
            if not self._look():
                return False
        return True

    def __length_hint__(self) -> int:
        return len(self._waiting) + self._tally.total - self._seen

    def __iter__(self) -> Iterator[tuple[str, Task]]:
        until = time.monotonic() + _LOOK_SECONDS
        while time.monotonic() < until and self._look():
            pass
        while self.has_any():
            _, _, id_ = heapq.heappop(self._waiting)
            yield id_, self._tasks.pop(id_)
            for _ in range(_LOOK_AT_ONCE):
                if len(self._waiting) < _MOST_WAITING:
                    self._look()

    def done(self, id_: str) -> Experiment:
        """Return the experiment, which has been run."""
        experiment = self._pending.pop(id_)
        self._work_done += estimated_work(experiment)
        return experiment

    @property
    def share_done(self) -> float:
        """The finished share of all work, if the unknown rest is like the known part."""
        return self._work_done / self._work * self._seen / self._tally.total

    def _look(self) -> bool:
        """Examine one more experiment. Return whether there was one."""
        experiment = next(self._rest, None)
        if experiment is None:
            return False
        is_wanted = self._wanted(len(self._tally.ids))
        self._seen += is_wanted
        if isinstance(experiment, ConfigError) or experiment == "":
            self._tally.failed += is_wanted
            self._add("")
            return True
        if isinstance(experiment, str):
            self._tally.cached += is_wanted
            self._add(experiment)
            return True
        spec = spec_text(experiment_spec(experiment))
        id_ = spec_id(spec)
        self._add(id_)
        if not is_wanted:
            return True
        if id_ in self._pending or self._store.is_done(id_, series=self._series):
            self._tally.cached += 1
        else:
            work = estimated_work(experiment)
            self._work += work
            self._pending[id_] = experiment
            self._tasks[id_] = self._task(experiment, spec)
            heapq.heappush(self._waiting, (-work, self._seen, id_))
        return True

    def _task(self, experiment: Experiment, spec: str) -> Task:
        like = self._like.of(experiment.resolved, lambda: pickle.dumps(experiment))
        return Task(like, experiment.seed, spec, self._timeout, self._series)

    def _add(self, id_: str) -> None:
        self._tally.ids.append(id_)
        self._on_ids(self._tally.ids)


def _check_models(measured: Measured) -> None:
    if measured.models != model_version():
        raise TunnelccError(
            f"a worker has other models ({measured.models}) than this machine "
            f"({model_version()}); install the same build of tunnelcc on all machines"
        )
