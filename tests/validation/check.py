# SPDX-License-Identifier: GPL-2.0-only
"""Checks as data: what is simulated, measured and expected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from tunnelcc.scenario import Experiment
from validation.compare import Comparison, Judgement
from validation.measure import Measurement

#: Values, one per run, out of the runs of each case.
Measure = Callable[[Sequence[Sequence[Measurement]]], list[float]]


@dataclass(frozen=True)
class Case:
    """What is simulated: variants of an experiment (with different start times), and how often.

    ``key``: unique name. ``seeds``: number of runs, which use the variants in turn. ``fixed``: too
    little randomness for more runs to be useful. ``fewest``: smallest useful number of runs.
    """

    key: str
    variants: tuple[Experiment, ...]
    seeds: int
    fixed: bool = False
    fewest: int = 1

    def runs(self, seeds: int | None) -> list[Experiment]:
        """Return the runs, ``seeds`` of them if given."""
        count = self.seeds if seeds is None or self.fixed else max(seeds, self.fewest)
        return [
            self.variants[index % len(self.variants)].model_copy(update={"seed": index + 1})
            for index in range(count)
        ]


class Kind(Enum):
    """The purpose of a check."""

    CELL = "cell"  # one of many: its metric as a whole has a share to reach
    MUST = "must"  # has to pass by itself
    TOLD = "told"  # shown to explain others; decides nothing


@dataclass(frozen=True)
class Check:
    """One expectation of the simulator.

    ``name``: unique, starts with its group. ``metric``: the metric that it is a cell of. ``source``
    and ``condition``: in words. ``slow``: not in the quick suite. ``cause``: the known cause of a
    miss, which is shown but changes no verdict. ``known_off``: a deviation with a measured cause;
    the check fails only if it is further off. ``full``: of a goodput, whether the measured link was
    full, so that rate and headers alone give it.
    """

    name: str
    metric: str
    source: str
    condition: str
    cases: tuple[Case, ...]
    measure: Measure
    comparison: Comparison
    kind: Kind = Kind.MUST
    slow: bool = False
    cause: str = ""
    known_off: float | None = None
    full: bool | None = None

    @property
    def group(self) -> str:
        """The name of the group that it belongs to."""
        return self.name.partition("/")[0]


@dataclass(frozen=True)
class Group:
    """Checks against one source.

    ``name``: first part of their names. ``title``: what they compare with. ``left_out``: what is
    not compared, and why. ``figure``: title of a figure with a row for each check, if any; all of
    its checks compare means.
    """

    name: str
    title: str
    checks: tuple[Check, ...]
    left_out: str = ""
    figure: str = ""


class Verdict(Enum):
    """The outcome of a check."""

    PASS = "pass"
    FAIL = "FAIL"
    KNOWN = "known"  # off as far as is known, for a reason that was measured
    MISS = "miss"  # a cell that is off; its metric may still reach its share


@dataclass(frozen=True)
class Outcome:
    """A check with its result. ``values``: one per run."""

    check: Check
    values: tuple[float, ...]
    judgement: Judgement

    @property
    def verdict(self) -> Verdict:
        """What became of it."""
        if self.judgement.passed:
            return Verdict.PASS
        if self.check.known_off is not None:
            known = self.judgement.off <= self.check.known_off
            return Verdict.KNOWN if known else Verdict.FAIL
        return Verdict.FAIL if self.check.kind is Kind.MUST else Verdict.MISS

    @property
    def cause(self) -> str:
        """The known cause of a miss, or an empty text."""
        return "" if self.judgement.passed else self.check.cause


@dataclass(frozen=True)
class Share:
    """How many cells of a metric pass, and the required share (None: decides nothing).

    ``known``: cells with a known deviation. They do not count in the share.
    """

    metric: str
    passed: int
    known: int
    cells: int
    target: float | None

    @property
    def share(self) -> float:
        """The share of the cells that pass."""
        return self.passed / max(1, self.cells - self.known)

    @property
    def reached(self) -> bool:
        """Whether enough cells pass."""
        return self.target is None or self.passed >= self.target * (self.cells - self.known)


#: A goodput of at least this part of what rate, headers and loss allow is that of a full link. No
#: measured cell of programs lies between 0.88 and 0.9.
FULL = 0.9
#: Ends the name of a metric of cells whose measured runs disagree. They decide nothing.
VARIES = ", where the program varies"
