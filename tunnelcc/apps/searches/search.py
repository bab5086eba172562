# SPDX-License-Identifier: GPL-2.0-only
"""Search the keys of a scenario for where a metric is least or greatest (the extra ``search``).

Optuna proposes points, in batches, and learns from their runs. Its random numbers have a seed, and
finished runs are in the store. So a search that was interrupted goes on when it is asked for again,
and one with a larger budget begins with what is known.

The best of many noisy values is too good. So the best points run again with seeds that the search
did not use, and the one that is best then is the find.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import tunnelcc as tc
from tunnelcc.errors import MISSING, ConfigError, Problem, RunError, TunnelccError, install
from tunnelcc.metrics import AnyMetric, Metric, find, mean_and_half_width
from tunnelcc.modules import trust
from tunnelcc.output.progress import RunsProgress
from tunnelcc.scenario import Experiment, build, experiment_of
from tunnelcc.sweeps.axes import Interval, check_has_effect, parse_interval
from tunnelcc.sweeps.execute import complete, executor

__all__ = ["Find", "Goal", "Point", "search"]

#: Points that are proposed at once, whatever the number of processes: so proposals can be repeated.
_BATCH = 10
#: Part of the budget that is drawn at random, before what is known is used.
_RANDOM_PART = 0.25
#: Points that run again with fresh seeds.
_FINALISTS = 5
_MOST_POINTS = 100_000
#: The key of a trace of rates.
_STEPS = ".rate_steps"
_MOST_STEPS = 100


@dataclass(frozen=True)
class Goal:
    """A metric to make least, or greatest. ``flow``: of a metric of flows."""

    metric: Metric
    is_greatest: bool
    flow: int | None

    @property
    def words(self) -> str:
        """Describe the goal, as ``least flow_rtt of flow 0``."""
        of = "" if self.flow is None else f" of flow {self.flow}"
        return f"{'greatest' if self.is_greatest else 'least'} {self.metric.name}{of}"


@dataclass(frozen=True)
class Point:
    """A set of values, and the metric there. ``value``: mean over seeds; NaN: it has none."""

    settings: Mapping[str, Any]
    value: float
    error: str = ""


@dataclass(frozen=True)
class Find:
    """What a search found.

    ``value``, ``half_width``: mean with fresh ``seeds``, and half of its 95 % confidence interval.
    ``searched``: the value in the search. ``points``: all points, in their order. ``experiment``:
    the scenario with the find's settings, and the first fresh seed.
    """

    goal: Goal
    settings: Mapping[str, Any]
    value: float
    half_width: float
    searched: float
    seeds: Sequence[int]
    points: Sequence[Point]
    experiment: Experiment


def search(
    base: Experiment | Mapping[str, Any] | str | Path,
    over: Mapping[str, Any],
    *,
    minimise: AnyMetric | None = None,
    maximise: AnyMetric | None = None,
    flow: int | None = None,
    budget: int = 200,
    seeds: int = 1,
    fresh_seeds: int = 5,
    store: str | Path = "runs",
    jobs: int | None = None,
    on_point: Callable[[int, Point], None] | None = None,
) -> Find:
    """Search for the values of keys at which a metric is least or greatest.

    - ``base``: the scenario.
    - ``over``: key → a list of values, or an interval ``{"from": "1ms", "to": "1s"}``, with
      ``"scale": "log"`` if wanted. For ``path.rate_steps``, ``{"from": "5Mbps", "to": "50Mbps",
      "steps": 8}`` searches a trace: eight rates follow the first one, each for as long.
    - ``minimise``, ``maximise``: one metric, of a run or of a flow (``flow``, from 0, which is
      needed where there are several).
    - ``budget``: runs of the search; each point takes ``seeds`` of them.
    - ``fresh_seeds``: seeds with which the best points run again.
    - ``on_point``: a function that is called with number and Point when a point is known.

    Raises ConfigError, also if no point has a value; TunnelccError.

        >>> base = {"path": {"rate": "10Mbps", "rtt": "20ms"}, "duration": "1s"}
        >>> over = {"path.loss": {"from": "0%", "to": "2%"}}
        >>> found = tc.search(base, over, minimise="goodput", budget=4, fresh_seeds=1)
        >>> list(found.settings)
        ['path.loss']
    """
    optuna = _optuna()
    trust.agree(over)
    experiment = experiment_of(base)
    goal = _goal(minimise, maximise, flow, experiment)
    _check_count("budget", budget, _MOST_POINTS)
    _check_count("seeds", seeds, budget)
    _check_count("fresh_seeds", fresh_seeds, 10_000)
    table = experiment.table()
    space = {key: _values(key, values, table, experiment) for key, values in over.items()}
    if not space:
        raise ConfigError(Problem("over", MISSING, "at least one key and its values"))
    runs = _Runs(table, goal, tc.Store(store), jobs)
    searched = [experiment.seed + it for it in range(seeds)]
    count = budget // seeds
    study = optuna.create_study(
        direction="maximize" if goal.is_greatest else "minimize",
        sampler=optuna.samplers.TPESampler(
            seed=experiment.seed, multivariate=True, constant_liar=True,
            n_startup_trials=max(math.ceil(count * _RANDOM_PART), _BATCH),
        ),
    )  # fmt: skip
    points: list[Point] = []
    while len(points) < count:
        trials = [study.ask() for _ in range(min(_BATCH, count - len(points)))]
        asked = [{key: _suggested(trial, key, it) for key, it in space.items()} for trial in trials]
        for trial, point in zip(trials, runs.points(asked, searched), strict=True):
            if math.isnan(point.value):
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(trial, point.value)
            points.append(point)
            if on_point is not None:
                on_point(len(points), point)
    return _confirmed(points, runs, searched[-1] + 1, fresh_seeds)


def _confirmed(points: Sequence[Point], runs: _Runs, first: int, count: int) -> Find:
    """Return the best point with fresh seeds. Raises ConfigError if no point has a value."""
    goal = runs.goal
    sign = -1 if goal.is_greatest else 1
    known = {str(it.settings): it for it in points if not math.isnan(it.value)}
    best = sorted(known.values(), key=lambda it: sign * it.value)[:_FINALISTS]
    if not best:
        reason = next((it.error for it in points if it.error), "it is NaN in every run")
        expected = "a metric that has a value in at least one of the runs"
        raise ConfigError(Problem("goal", goal.metric.name, expected, reason))
    seeds = [first + it for it in range(count)]
    rows = runs.values([it.settings for it in best], seeds)
    means = [float(np.nanmean(row)) if not np.all(np.isnan(row)) else math.nan for row in rows]
    order = [index for index, mean in enumerate(means) if not math.isnan(mean)]
    if not order:
        raise TunnelccError("no run with a fresh seed has a value; `tunnelcc store` has the runs")
    chosen = min(order, key=lambda index: sign * means[index])
    _, half = mean_and_half_width(rows[chosen])
    settings = best[chosen].settings
    return Find(
        goal, settings, means[chosen], float(half), best[chosen].value, seeds, points,
        build(runs.table, {**settings, "seed": first}),
    )  # fmt: skip


@dataclass(frozen=True)
class _Trace:
    """Rates that follow the path's first one, each for as long."""

    rates: Interval
    steps: int
    duration: float

    def suggested(self, trial: Any, key: str) -> list[list[str]]:
        """Return a trial's ``rate_steps``."""
        length = self.duration / (self.steps + 1)
        parts = [trial.suggest_float(f"{key}.{step}", 0.0, 1.0) for step in range(self.steps)]
        return [
            [f"{step * length:.6g}s", self.rates.rounded(part)]
            for step, part in enumerate(parts, 1)
        ]


class _Runs:
    """Values of the goal at points, from the store or from runs."""

    def __init__(
        self, table: Mapping[str, Any], goal: Goal, store: tc.Store, jobs: int | None
    ) -> None:
        self.table = table
        self.goal = goal
        self._store = store
        self._jobs = jobs

    def points(self, asked: Sequence[Mapping[str, Any]], seeds: Sequence[int]) -> list[Point]:
        """Return a Point for each of ``asked``."""
        found = []
        errors: dict[int, str] = {}
        for index, row in enumerate(self.values(asked, seeds, errors)):
            error = errors.get(index, "")
            # A point that works with some seeds alone is no point.
            found.append(Point(asked[index], math.nan if error else float(np.mean(row)), error))
        return found

    def values(
        self,
        asked: Sequence[Mapping[str, Any]],
        seeds: Sequence[int],
        errors: dict[int, str] | None = None,
    ) -> list[np.ndarray[Any, np.dtype[np.float64]]]:
        """Return the values at each point, with each seed. ``errors``: gets why one has none."""
        errors = {} if errors is None else errors
        experiments: list[Experiment | ConfigError] = []
        for settings in asked:
            for seed in seeds:
                try:
                    experiments.append(build(self.table, {**settings, "seed": seed}))
                except ConfigError as impossible:
                    experiments.append(impossible)
        with RunsProgress(enabled=False) as shown:
            tally = complete(
                experiments, len(experiments), self._store, executor(self._jobs, None),
                progress=shown,
            )  # fmt: skip
        rows = []
        for index in range(len(asked)):
            row = []
            for at in range(index * len(seeds), (index + 1) * len(seeds)):
                value, error = self._value(experiments[at], tally.ids[at])
                row.append(value)
                if error:
                    errors[index] = error
            rows.append(np.array(row))
        return rows

    def _value(self, experiment: Experiment | ConfigError, id_: str) -> tuple[float, str]:
        if isinstance(experiment, ConfigError):
            return math.nan, str(experiment)
        result = self._store.load(id_)
        if isinstance(result, RunError):
            return math.nan, str(result)
        if self.goal.metric.is_own:
            result.own_metrics = (self.goal.metric,)
        selection = {} if self.goal.flow is None else {"flow": self.goal.flow}
        return result.metric(self.goal.metric.name, **selection), ""


def _goal(
    minimise: AnyMetric | None, maximise: AnyMetric | None, flow: int | None, base: Experiment
) -> Goal:
    """Raises ConfigError."""
    given = [it for it in (minimise, maximise) if it is not None]
    if len(given) != 1:
        expected = "one metric to minimise or to maximise; `tunnelcc show metrics` lists them"
        raise ConfigError(Problem("goal", MISSING, expected))
    metric = find(given[0], "minimise" if maximise is None else "maximise")
    if flow is not None and "flow" not in metric.keys and not metric.is_own:
        raise ConfigError(Problem("flow", flow, f"no flow, because {metric.name} is of all flows"))
    flows = sum(it.count for it in base.flows)
    if flow is None and metric.per_flow and flows > 1:
        expected = f"a flow from 0 to {flows - 1} (--flow), because {metric.name} is of each flow"
        raise ConfigError(Problem("flow", MISSING, expected))
    if flow is not None and not 0 <= flow < flows:
        raise ConfigError(Problem("flow", flow, f"a flow from 0 to {flows - 1}"))
    return Goal(metric, maximise is not None, flow)


def _values(
    key: str, values: object, table: Mapping[str, Any], base: Experiment
) -> Interval | _Trace | Sequence[Any]:
    """Return where a key is searched. Raises ConfigError."""
    check_has_effect(f"over.{key}", key, values)
    if isinstance(values, Mapping) and key.endswith(_STEPS):
        steps = values.get("steps")
        if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= _MOST_STEPS:
            expected = f"a whole number from 1 to {_MOST_STEPS}: how many rates follow"
            raise ConfigError(Problem(f"over.{key}.steps", steps, expected))
        limits = {name: it for name, it in values.items() if name != "steps"}
        rates = _values(key.removesuffix(_STEPS) + ".rate", limits, table, base)
        assert isinstance(rates, Interval)
        return _Trace(rates, steps, base.duration)
    if isinstance(values, Mapping):
        try:
            return parse_interval(key, values, table)
        except ConfigError as error:
            build(table, {key: values.get("from")})  # it may be that there is no such key
            named = (
                replace(it, key=it.key.replace("sweep.sample", "over")) for it in error.problems
            )
            raise ConfigError(*named) from None
    if isinstance(values, (list, tuple)) and values:
        return values
    expected = 'a list of values, or an interval such as {"from": "1ms", "to": "300ms"}'
    raise ConfigError(Problem(f"over.{key}", values, expected))


def _suggested(trial: Any, key: str, space: Interval | _Trace | Sequence[Any]) -> Any:
    if isinstance(space, _Trace):
        return space.suggested(trial, key)
    if isinstance(space, Interval):
        return space.rounded(trial.suggest_float(key, 0.0, 1.0))
    return space[trial.suggest_categorical(key, range(len(space)))]


def _check_count(name: str, value: object, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise ConfigError(Problem(name, value, f"a whole number from 1 to {most}"))


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise TunnelccError(
            f"a search needs Optuna, which is not installed: {install('search')}"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna
