# SPDX-License-Identifier: GPL-2.0-only
"""All checks, what they simulate, and what comes out.

A case that several checks look at is simulated once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tunnelcc.errors import RunError
from tunnelcc.output.progress import Progress
from tunnelcc.simulation.result import Result
from tunnelcc.simulation.runner import estimated_work, run_many
from tunnelcc.validation import bbr, bbr3, causes, exchanges, linux, stock, theory
from tunnelcc.validation.check import Case, Check, Kind, Outcome, Share, Verdict
from tunnelcc.validation.measure import Measurement, measure

#: Group → what it compares with.
GROUPS = {
    "linux": "measurements of Linux 6.18",
    "exchanges": "exchanges scripted by hand",
    "theory": "response functions of loss-based algorithms",
    "bbr": "BBRv1's design and models of it",
    "bbr3": "BBRv3's draft and Google's code",
    "ns3": "stock ns-3's TCP without loss",
}
#: Group → what it does not compare, and why.
LEFT_OUT = {
    "linux": "Not compared: queueing delay and RTT of BBR alone from 10 % loss on, at 10 and "
    "100 ms (eight cells). They follow its goodput, which at 100 ms takes one of two branches: "
    "two to four runs of the reference give no mean of these. The rule goes by loss alone, so "
    "that it covers 10 ms, too, where the reference shows no branches; the numbers are in "
    "tunnelcc/validation/data/README.md.",
    "theory": "Not compared: the last row of RFC 9438's tables 1 and 2, a loss of 1e-8. At 100 "
    "million packets from one loss to the next, its four windows would take ten thousand million.",
}
#: Share of a metric's cells that has to pass.
TARGET = 0.9
#: Runs of a case in the quick suite.
QUICK_SEEDS = 3

# Results that are held at once.
_BATCH = 400


@dataclass(frozen=True)
class Report:
    """Outcomes in order, shares of the metrics, and the runs of each case by its key."""

    outcomes: tuple[Outcome, ...]
    shares: tuple[Share, ...]
    runs: dict[str, tuple[Measurement, ...]]

    @property
    def passed(self) -> bool:
        """Whether something ran, all that must pass did, and enough cells of each metric."""
        verdicts = {outcome.verdict for outcome in self.outcomes}
        ran = bool(verdicts - {Verdict.NOT_RUN})
        return ran and Verdict.FAIL not in verdicts and all(share.reached for share in self.shares)


def collect(
    groups: Iterable[str] = (),
    *,
    quick: bool = False,
    stock_ns3: Path | None = None,
    tests: Path | None = None,
) -> list[Check]:
    """Return the checks of ``groups`` (none named: all), without the slow ones if ``quick``.

    ``stock_ns3`` and ``tests``: programs of the source tree that two of the groups need.
    """
    chosen = set(groups) or set(GROUPS)
    makers: dict[str, Callable[[], Iterable[Check]]] = {
        "linux": linux.checks,
        "exchanges": lambda: exchanges.checks(tests),
        "theory": theory.checks,
        "bbr": bbr.checks,
        "bbr3": bbr3.checks,
        "ns3": lambda: stock.checks(stock_ns3),
    }
    checks = [check for group, make in makers.items() if group in chosen for check in make()]
    return [check for check in checks if not (quick and check.slow)]


def validate(
    checks: Sequence[Check],
    *,
    quick: bool = False,
    seeds: int | None = None,
    jobs: int | None = None,
) -> Report:
    """Simulate what ``checks`` need and judge it.

    ``seeds``: runs of each case where they differ; ``jobs``: processes, by default one per core.
    Raises RunError if a simulation fails.
    """
    cases = {case.key: case for check in checks for case in check.cases}
    runs = _simulate(list(cases.values()), seeds or (QUICK_SEEDS if quick else None), jobs)
    outcomes = tuple(_outcome(check, runs) for check in checks)
    return Report(outcomes, tuple(_shares(outcomes)), runs)


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


def _outcome(check: Check, runs: dict[str, tuple[Measurement, ...]]) -> Outcome:
    if check.comparison is None:
        return Outcome(check, Verdict.NOT_RUN, "", note=check.missing)
    values = tuple(check.measure([runs[case.key] for case in check.cases]))
    judgement = check.comparison.judge(values)
    if judgement.passed:
        return Outcome(check, Verdict.PASS, judgement.got, judgement.value, values)
    verdict = Verdict.FAIL if check.kind is Kind.MUST else Verdict.MISS
    note = causes.known(check.name)
    return Outcome(check, verdict, judgement.got, judgement.value, values, note)


def _shares(outcomes: Sequence[Outcome]) -> Iterable[Share]:
    metrics = dict.fromkeys(
        outcome.check.metric for outcome in outcomes if outcome.check.kind is not Kind.MUST
    )
    for metric in metrics:
        cells = [
            outcome
            for outcome in outcomes
            if outcome.check.metric == metric and outcome.verdict is not Verdict.NOT_RUN
        ]
        if not cells:
            continue
        passed = sum(outcome.verdict is Verdict.PASS for outcome in cells)
        target = TARGET if cells[0].check.kind is Kind.CELL else None
        yield Share(metric, passed, len(cells), target)
