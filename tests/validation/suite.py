# SPDX-License-Identifier: GPL-2.0-only
"""Simulations of checks, and their results.

A case that several checks use is simulated once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tunnelcc.errors import RunError
from tunnelcc.output.progress import Progress
from tunnelcc.results.result import Result
from tunnelcc.running.runner import estimated_work, run_many
from validation.check import Case, Group, Kind, Outcome, Share, Verdict
from validation.measure import Measurement, measure

#: Share of a metric's cells that has to pass.
TARGET = 0.9
#: Runs of a case in the quick suite.
QUICK_SEEDS = 3

# Results that are held at once.
_BATCH = 400


@dataclass(frozen=True)
class Report:
    """Groups with the outcomes of their checks, shares of the metrics, and runs by case's key."""

    groups: tuple[Group, ...]
    outcomes: tuple[Outcome, ...]
    shares: tuple[Share, ...]
    runs: dict[str, tuple[Measurement, ...]]

    @property
    def passed(self) -> bool:
        """Whether something ran, all that must pass did, and enough cells of each metric."""
        verdicts = {outcome.verdict for outcome in self.outcomes}
        reached = all(share.reached for share in self.shares)
        return bool(verdicts) and Verdict.FAIL not in verdicts and reached

    def of_group(self, group: Group) -> list[Outcome]:
        """Return the outcomes of a group's checks."""
        return [outcome for outcome in self.outcomes if outcome.check.group == group.name]


def collect(makers: Iterable[Callable[[], Group]], *, quick: bool = False) -> list[Group]:
    """Return the groups that ``makers`` make, without slow checks if ``quick``."""
    made = [make() for make in makers]
    if not quick:
        return made
    return [
        replace(group, checks=tuple(check for check in group.checks if not check.slow))
        for group in made
    ]


def validate(
    groups: Sequence[Group],
    *,
    quick: bool = False,
    seeds: int | None = None,
    jobs: int | None = None,
) -> Report:
    """Run the simulations of ``groups`` and judge them.

    ``seeds``: runs of each case in which they differ. ``jobs``: number of processes; default: one
    per core. Raises RunError if a simulation fails.
    """
    runs = _simulate(cases(groups), seeds or (QUICK_SEEDS if quick else None), jobs)
    return judge(groups, runs)


def cases(groups: Sequence[Group]) -> list[Case]:
    """Return what the checks of ``groups`` simulate."""
    every = {case.key: case for group in groups for check in group.checks for case in check.cases}
    return list(every.values())


def judge(groups: Sequence[Group], runs: dict[str, tuple[Measurement, ...]]) -> Report:
    """Judge ``runs`` of each case, by its key."""
    outcomes = []
    for check in (check for group in groups for check in group.checks):
        values = tuple(check.measure([runs[case.key] for case in check.cases]))
        outcomes.append(Outcome(check, values, check.comparison.judge(values)))
    return Report(tuple(groups), tuple(outcomes), tuple(_shares(outcomes)), runs)


def _simulate(
    cases: Sequence[Case], seeds: int | None, jobs: int | None
) -> dict[str, tuple[Measurement, ...]]:
    plan = [(case.key, experiment) for case in cases for experiment in case.runs(seeds)]
    work = sum(estimated_work(experiment) for _, experiment in plan)
    runs: dict[str, list[Measurement]] = {case.key: [] for case in cases}
    done = 0.0
    with Progress(work) as bar:
        for begin in range(0, len(plan), _BATCH):
            batch = plan[begin : begin + _BATCH]

            experiments = [experiment for _, experiment in batch]
            sizes = [estimated_work(experiment) for experiment in experiments]

            def report(index: int, _: Result | RunError, sizes: Sequence[float] = sizes) -> None:
                nonlocal done
                done += sizes[index]
                bar.update(done)

            results = run_many(experiments, jobs=jobs, progress=False, on_result=report)
            for (key, _), result in zip(batch, results, strict=True):
                if isinstance(result, RunError):
                    raise RunError(f"{key}: {result}")
                runs[key].append(measure(result))
    return {key: tuple(measured) for key, measured in runs.items()}


def _shares(outcomes: Sequence[Outcome]) -> Iterator[Share]:
    counted = (outcome for outcome in outcomes if outcome.check.kind is not Kind.MUST)
    for metric in dict.fromkeys(outcome.check.metric for outcome in counted):
        cells = [outcome for outcome in outcomes if outcome.check.metric == metric]
        passed = sum(outcome.verdict is Verdict.PASS for outcome in cells)
        known = sum(outcome.verdict is Verdict.KNOWN for outcome in cells)
        target = TARGET if cells[0].check.kind is Kind.CELL else None
        yield Share(metric, passed, known, len(cells), target)
