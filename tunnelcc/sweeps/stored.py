# SPDX-License-Identifier: GPL-2.0-only
"""Results of a list of experiments, kept in a store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tunnelcc.errors import RunError
from tunnelcc.output.progress import RunsProgress
from tunnelcc.results.result import Result
from tunnelcc.scenario import Experiment, experiment_of
from tunnelcc.store import Store
from tunnelcc.sweeps.execute import complete, executor


def run_stored(
    experiments: Iterable[Experiment | Mapping[str, Any] | str | Path],
    store: Store | str | Path,
    *,
    jobs: int | None = None,
) -> Iterator[Result | RunError]:
    """Simulate in parallel what ``store`` lacks, then yield all results in the same order.

    Unlike run_many(), it keeps every finished run, and only one result at a time is in memory. A
    run that failed has a RunError. ``jobs``: number of processes; default: one per core. Raises
    ConfigError, and StoreError if the store cannot be written.

        >>> experiment = tc.Experiment(path=tc.Path(rate="10Mbps", rtt="20ms"), duration="1s")
        >>> for result in tc.run_stored([experiment], "kept"):
        ...     if isinstance(result, tc.Result):
        ...         print(f"{result.goodput / 1e6:.0f} Mbit/s")
        9 Mbit/s
        >>> len(list(tc.Store("kept").ids()))
        1
    """
    todo = list(map(experiment_of, experiments))
    store = store if isinstance(store, Store) else Store(store)
    with RunsProgress() as progress:
        tally = complete(todo, len(todo), store, executor(jobs, None), progress=progress)
    yield from map(store.load, tally.ids)
