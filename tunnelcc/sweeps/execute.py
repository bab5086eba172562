# SPDX-License-Identifier: GPL-2.0-only
"""Running what a store has not yet: in processes of this machine, or on a Dask cluster.

Experiments come one at a time and are looked at in portions, so that a grid of any size takes no
memory; within a portion the longest run starts first.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tunnelcc.config import Experiment
from tunnelcc.errors import ConfigError, TunnelccError
from tunnelcc.progress import RunsProgress
from tunnelcc.runner import estimated_work, parallel, simulate
from tunnelcc.store import Store, model_version, run_id, runfile
from tunnelcc.store.summary import summarise

if TYPE_CHECKING:
    import distributed

_PORTION = 10_000  # runs

#: Runs (key, argument) tasks with a function and yields (key, outcome or RunError) as they end.
Executor = Callable[
    [Callable[[Any], Any], Iterable[tuple[str, Any]]],
    Generator[tuple[str, Any], None, None],
]


@dataclass
class Tally:
    """Runs by what became of them; ``cached``: they were in the store."""

    total: int
    done: int = 0
    failed: int = 0
    cached: int = 0

    @property
    def finished(self) -> int:
        """Runs that need no more attention, failed ones included."""
        return self.done + self.failed + self.cached


@dataclass(frozen=True)
class Measured:
    """What a worker returns: whose models it ran, the file of the run, and its metrics."""

    models: str
    file: bytes
    metrics: dict[str, Any]


def measure(task: tuple[Experiment, float | None]) -> Measured:
    """Simulate an experiment, in a worker. Raises RunError, ConfigError."""
    experiment, timeout = task
    result = simulate(experiment, timeout)
    return Measured(model_version(), runfile.encode(experiment, result), summarise(result))


def executor(jobs: int | None, client: distributed.Client | str | None) -> Executor:
    """Return what runs tasks: ``client`` or the scheduler at that address, else processes here."""
    if client is not None:
        from tunnelcc.sweeps.cluster import Cluster

        return Cluster(client).parallel
    return lambda function, tasks: parallel(function, tasks, jobs)


def complete(
    experiments: Iterable[Experiment | ConfigError],
    total: int,
    store: Store,
    run: Executor,
    *,
    timeout: float | None = None,
    progress: RunsProgress,
    on_portion: Callable[[list[str]], None],
) -> Tally:
    """Simulate those of ``experiments`` that ``store`` does not have, failed ones included.

    ``on_portion``: called with the ids of each portion before it runs, "" for an experiment that
    cannot be. Raises StoreError when the store cannot be written; finished runs stay there.
    """
    tally = Tally(total)
    remaining, seen = iter(experiments), 0
    while portion := list(itertools.islice(remaining, _PORTION)):
        ids = ["" if isinstance(item, ConfigError) else run_id(item) for item in portion]
        on_portion(ids)
        tally.failed += ids.count("")
        missing: dict[str, Experiment] = {}
        for id_, experiment in zip(ids, portion, strict=True):
            if isinstance(experiment, ConfigError):
                continue
            row = store.row(id_) if id_ not in missing else None
            if row is not None and not row.error:
                tally.cached += 1
            elif id_ in missing:
                tally.cached += 1  # the same run, declared twice
            else:
                missing[id_] = experiment
        seen += len(portion)
        del portion
        if missing:
            _run_portion(missing, store, run, timeout, tally, progress, seen / total)
    return tally


def _run_portion(
    missing: dict[str, Experiment],
    store: Store,
    run: Executor,
    timeout: float | None,
    tally: Tally,
    progress: RunsProgress,
    share: float,
) -> None:
    work = {id_: estimated_work(experiment) for id_, experiment in missing.items()}
    progress.begin(sum(work.values()), share)
    order = sorted(missing, key=work.__getitem__, reverse=True)
    tasks = ((id_, (missing[id_], timeout)) for id_ in order)
    with contextlib.closing(run(measure, tasks)) as outcomes:
        for id_, outcome in outcomes:
            if isinstance(outcome, Measured):
                _check_models(outcome)
                store.add(id_, outcome.file, outcome.metrics)
                tally.done += 1
            else:
                store.add(id_, runfile.encode(missing[id_], outcome), {})
                tally.failed += 1
            progress.update(tally, work[id_])


def _check_models(measured: Measured) -> None:
    if measured.models != model_version():
        raise TunnelccError(
            f"a worker has other models ({measured.models}) than this machine "
            f"({model_version()}); install the same build of tunnelcc on all of them"
        )
