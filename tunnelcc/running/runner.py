# SPDX-License-Identifier: GPL-2.0-only
"""Run experiments: one in this process, or many in worker processes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tunnelcc import modules
from tunnelcc.core.simulation import simulate
from tunnelcc.errors import Interrupted, RunError
from tunnelcc.metrics import AnyMetric, own_metrics
from tunnelcc.network.resolved import ResolvedNetwork
from tunnelcc.output.progress import Progress
from tunnelcc.results.result import Result
from tunnelcc.running import memory
from tunnelcc.running.capture import Capture
from tunnelcc.scenario import Experiment, experiment_of
from tunnelcc.specification import experiment_spec, spec_text

_running = threading.Lock()
_NO_CAPTURE = 0, 0, ""  # packets, bytes, and why it ends early


def run(
    experiment: Experiment | Mapping[str, Any] | str | Path,
    *,
    metrics: Sequence[AnyMetric] = (),
    progress: Callable[[float], None] | bool | None = None,
    capture: Capture | str | Path | None = None,
) -> Result:
    """Simulate one experiment and return its Result.

    ``experiment``: an Experiment, nested tables (dict), or the path of a TOML file.

    ``metrics``: functions of your own, beside those of tunnelcc: each takes the run's Dataset and
    returns a number, or one for each flow.

    ``progress``: None (default) shows a bar on a terminal for runs of more than two seconds; False
    shows nothing; a function is called a few times per second with the simulated seconds. An
    exception that it raises (KeyboardInterrupt too) ends the run.

    ``capture``: the packets to write to a file, or the file's name: see Capture. The result is the
    same with and without it.

    Raises ConfigError for a wrong experiment or one that needs more memory than is available.
    Raises RunError if another simulation is running in this process, or if the simulator fails.

        >>> path = tc.Path(rate="10Mbps", rtt="20ms")
        >>> result = tc.run(tc.Experiment(path=path, duration="1s"))
        >>> f"{result.goodput / 1e6:.0f} Mbit/s"
        '9 Mbit/s'
    """
    own = own_metrics(metrics)
    experiment = experiment_of(experiment)
    memory.check(experiment.resolved)
    spec = spec_text(experiment_spec(experiment))
    if isinstance(capture, (str, Path)):
        capture = Capture(capture)
    return Result(experiment, _run(experiment, spec, progress, capture), own)


def _run(
    experiment: Experiment,
    spec: str,
    progress: Callable[[float], None] | bool | None,
    capture: Capture | None = None,
) -> Mapping[str, Any]:
    """Return what the models measured: name → array."""
    if not _running.acquire(blocking=False):
        raise RunError("no other simulation may run in this process; use run_many()")
    try:
        with Progress(experiment.duration, enabled=progress is None) as bar:
            report = progress if callable(progress) else bar.update
            function = partial(_simulate, spec, experiment.resolved, capture)
            plain = None if capture else lambda measured: (measured, _NO_CAPTURE)
            measured: Mapping[str, Any]
            measured, captured = modules.run(spec, function, report, plain)
    finally:
        _running.release()
    if capture is not None:
        capture.packets, capture.bytes, capture.note = captured
    return measured


def _simulate(
    spec: str,
    network: ResolvedNetwork,
    capture: Capture | None,
    classes: modules.Classes,
    report: modules.Report,
) -> tuple[Mapping[str, Any], tuple[int, int, str]]:
    """Return what was measured, and what was captured. Raises RunError, ConfigError."""
    if capture is None:
        return simulate(spec, report, None, classes), _NO_CAPTURE
    with capture.opened(network) as file:
        measured = simulate(spec, report, file, classes)
    return measured, (capture.packets, capture.bytes, capture.note)


def run_many(
    experiments: Iterable[Experiment | Mapping[str, Any] | str | Path],
    *,
    jobs: int | None = None,
    metrics: Sequence[AnyMetric] = (),
    progress: Callable[[int, int], None] | bool | None = None,
    on_result: Callable[[int, Result | RunError], None] | None = None,
) -> list[Result | RunError]:
    """Simulate ``experiments`` in parallel and return their Results in the same order.

    The longest runs start first. If a run fails, or its process dies, its place has a RunError.

    ``jobs``: number of processes; default: one per core. ``metrics``: as in run(); they are
    computed in this process, when they are asked for. ``progress``: as in run(), or a function
    that is called with the finished runs and all runs. ``on_result``: a function that is called
    with index and result when a run ends. Raises ConfigError before any run starts if one of them
    needs more memory than is available, and at Ctrl-C Interrupted, a KeyboardInterrupt that has the
    results of the finished runs.

        >>> experiment = tc.Experiment(path=tc.Path(rate="10Mbps", rtt="20ms"), duration="1s")
        >>> results = tc.run_many([experiment, experiment.with_({"path.rate": "20Mbps"})])
        >>> [f"{it.goodput / 1e6:.0f} Mbit/s" for it in results if isinstance(it, tc.Result)]
        ['9 Mbit/s', '18 Mbit/s']
    """
    from tunnelcc.running.pool import parallel  # takes a while, and one run needs none of it

    own = own_metrics(metrics)
    todo = list(map(experiment_of, experiments))
    for experiment in todo:
        memory.check(experiment.resolved)
    order = sorted(range(len(todo)), key=lambda index: -estimated_work(todo[index]))
    tasks = [(index, todo[index]) for index in order]
    results: dict[int, Result | RunError] = {}
    work = sum(estimated_work(experiment) for experiment in todo)
    done = 0.0
    try:
        with Progress(work, enabled=progress is None) as bar:
            for index, outcome in parallel(measure, tasks, jobs):
                result = outcome
                if not isinstance(outcome, RunError):
                    result = Result(todo[index], outcome, own)
                results[index] = result
                done += estimated_work(todo[index])
                bar.update(done)
                if on_result is not None:
                    on_result(index, result)
                if callable(progress):
                    progress(len(results), len(todo))
    except KeyboardInterrupt:
        raise Interrupted([results.get(index) for index in range(len(todo))]) from None
    return [results[index] for index in range(len(todo))]


def estimated_work(experiment: Experiment) -> float:
    """Return an estimate of the work: packets that the path can carry."""
    flows = sum(flow.count for flow in experiment.flows)
    legs = 3 if experiment.tunnel else 1
    return experiment.duration * (experiment.path.rate / 12e3 * (1 + legs) / 2 + flows)


def measure(
    experiment: Experiment, spec: str | None = None, timeout: float | None = None
) -> Mapping[str, Any]:
    """Run ``experiment`` without a bar, and return what the models measured: name → array.

    ``spec``: its specification, if that is known. Raises RunError after ``timeout`` seconds of real
    time.
    """
    started = time.monotonic()

    def watch(seconds: float) -> None:
        if timeout is not None and time.monotonic() - started > timeout:
            raise RunError(f"the run took more than {timeout:g} s")

    memory.check(experiment.resolved)
    return _run(experiment, spec or spec_text(experiment_spec(experiment)), watch)
