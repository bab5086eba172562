# SPDX-License-Identifier: GPL-2.0-only
"""What the Python file of a paper declares. ``scenarios/papers/README.md`` explains it to users.

Quantities are functions over a run's result, claims are functions over a table of means.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tunnelcc.apps.papers.sheets import LABELS, UNITS
from tunnelcc.errors import MISSING, ConfigError, Problem, unknown_name
from tunnelcc.metrics import METRICS
from tunnelcc.schema import units

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]
    from matplotlib.axes import Axes

    from tunnelcc import Result
    from tunnelcc.output.tables import Table

#: Keys of an experiment with their values, as in a scenario.
Settings = Mapping[str, Any]
#: Axes, or columns of published.csv, and the value of each.
Where = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A number of each run, SI. metric(), derived() and theory() make one.

    ``of``: from a Result if ``is_measured``, else from the numbers that are known (see derived()).
    ``is_of_runs``: False for theory. ``plot``: drawn, not only in tables. ``flow``, ``since`` and
    ``until`` (s): what is measured, for figures over time.
    """

    of: Callable[[Any], float]
    unit: str
    title: str = ""
    plot: bool = True
    is_measured: bool = False
    is_of_runs: bool = True
    measure: str = ""
    flow: int | None = None
    since: float | None = None
    until: float | None = None

    def __post_init__(self) -> None:
        one_of("unit", self.unit, UNITS)


def metric(
    measure: str | Callable[..., float], title: str = "", *, plot: bool = True, **selection: Any
) -> Quantity:
    """Return a metric of `tunnelcc show metrics`, or a function of your own as in ``tc.metric``.

    ``selection``: ``flow`` (from 0; default: all together, or the first), ``since`` and ``until``
    (default: the end of the warm-up and the end of the run), ``within`` (tolerance for an arrival
    or a dip). An event that does not happen takes for ever: it misses every number, but meets
    ``>2``.
    """
    known = METRICS[one_of("measure", measure, METRICS)] if isinstance(measure, str) else None
    for key in selection:
        if key not in (known.keys if known else ("flow",)):
            takers = ", ".join(name for name, it in METRICS.items() if key in it.keys) or "none"
            raise ConfigError(Problem(key, selection[key], f"no value except for {takers}"))
    parse = {"since": units.parse_time, "until": units.parse_time}
    times = {key: parse[key](value) for key, value in selection.items() if key in parse}
    if times.get("until", math.inf) <= times.get("since", 0):
        expected = f"a time after since ({selection.get('since')})"
        raise ConfigError(Problem("until", selection["until"], expected))
    unit = known.units if known else str(getattr(measure, "units", "1"))

    def of(result: Result) -> float:
        value = float(result.metric(measure, **selection))
        return math.inf if known and known.is_event and math.isnan(value) else value

    return Quantity(
        of=of, unit="Mbit/s" if unit == "bit/s" else unit, title=title, plot=plot,
        is_measured=True, measure=known.name if known else "", flow=selection.get("flow"),
        since=times.get("since"), until=times.get("until"),
    )  # fmt: skip


def derived(
    of: Callable[[Any], float], unit: str, title: str = "", *, plot: bool = True
) -> Quantity:
    """Return a number computed from the quantities before it and from the experiment, SI.

    ``of``: a function of an object with these as attributes: the quantities by name, and ``rate``,
    ``rtt``, ``loss``, ``bdp``, ``window``, ``mss``, ``packet``, ``outer`` and ``outer_packets`` (of
    a full segment, in the tunnel), ``initial_window``, ``flow_count``; sizes in bytes.
    """
    return Quantity(of=of, unit=unit, title=title, plot=plot)


def theory(
    of: Callable[[Any], float], unit: str, title: str = "", *, plot: bool = True
) -> Quantity:
    """Return a number computed from the experiment alone, as derived() does it."""
    return Quantity(of=of, unit=unit, title=title, plot=plot, is_of_runs=False)


@dataclass(frozen=True)
class Axis:
    """A varied quantity: a key with values, or values with settings of their own.

    Without ``values``, it takes those of the column in published.csv with the axis's name.
    """

    key: str = ""
    values: Sequence[Any] | Mapping[str, Settings] = ()
    label: str = "stated"
    reason: str = ""

    def __post_init__(self) -> None:
        one_of("label", self.label, LABELS)
        if bool(self.key) == isinstance(self.values, Mapping):
            expected = "a key, or values with their own settings"
            raise ConfigError(Problem("key", self.key or MISSING, expected))
        if self.label != "stated" and not self.reason:
            expected = f"a reason why the values are {self.label}"
            raise ConfigError(Problem("reason", MISSING, expected))

    @property
    def given(self) -> list[str]:
        """The values by name; none: those of published.csv."""
        return [str(value) for value in self.values]

    def settings(self, value: str) -> Settings:
        """Return the settings of one value."""
        if isinstance(self.values, Mapping):
            return self.values[value]
        return {self.key: int(value) if value.isdecimal() else value}


@dataclass(frozen=True)
class Claim:
    """A statement of the paper that can be false, but has no printed number.

    ``judge``: from the means at the points of ``where`` to whether it holds, and what the
    simulation has instead of words. The table has a line for each point: its index are the axes,
    its columns the quantities and, as ``published NAME``, the published numbers, SI. ``at``: the
    values of an axis whose numbers count, if not all do.
    """

    text: str
    quantity: str
    judge: Callable[[pd.DataFrame], tuple[bool, str]]
    where: Where = field(default_factory=dict)
    axis: str = ""
    at: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()  # other quantities


@dataclass(frozen=True)
class Fit:
    """A parameter that is fitted once to the published rows of ``where``."""

    key: str
    candidates: Sequence[Any]
    where: Where
    reason: str


@dataclass(frozen=True)
class Figure:
    """A figure, table or equation of the paper: experiments, and what is measured.

    ``axes``: a name and an Axis, a key (with the values of published.csv), or values with settings.
    ``seeds``: runs of each point at least. ``x``: the horizontal axis: ``time``, or the name of an
    axis; default: the last axis, as names. If ``x`` is an axis, ``panels`` names another one with
    one panel per value, and ``log`` makes the vertical axis logarithmic. ``draw`` adds to the
    drawing, ``tables`` to the page.
    """

    id: str
    title: str
    scenario: str
    quantities: Mapping[str, Quantity]
    axes: Mapping[str, Axis]
    settings: Settings
    claims: Sequence[Claim] = ()
    fit: Fit | None = None
    seeds: int = 1
    x: str = ""
    panels: str = ""
    log: bool = False
    draw: Callable[[Axes, Any], None] | None = None  # of a verdicts.Simulated
    tables: Sequence[Callable[[Any], Table]] = ()  # of a verdicts.Reproduction

    def title_of(self, quantity: str) -> str:
        """Return the name of a quantity in tables."""
        return self.quantities[quantity].title or quantity.replace("_", " ")

    @property
    def needs_runs(self) -> bool:
        """Whether anything is measured. A figure of theory only needs no simulation."""
        return any(quantity.is_measured for quantity in self.quantities.values())


class Paper:
    """What ``paper.py`` calls ``paper``."""

    def __init__(self, title: str, source: str) -> None:
        self.title = title
        self.source = source
        self.figures: list[Figure] = []

    def figure(
        self,
        id_: str,
        title: str,
        scenario: str,
        quantities: Mapping[str, Quantity],
        axes: Mapping[str, Axis | str | Mapping[str, Settings]] | None = None,
        settings: Settings | None = None,
        **more: Any,
    ) -> None:
        """Add a Figure, which explains the arguments. Raises ConfigError."""
        if id_ in (figure.id for figure in self.figures):
            raise ConfigError(Problem("figure", id_, "a different id for each figure"))
        given = {name: _axis(axis) for name, axis in (axes or {}).items()}
        figure = Figure(id_, title, scenario, quantities, given, settings or {}, **more)
        self.figures.append(figure)


def _axis(given: Axis | str | Mapping[str, Settings]) -> Axis:
    if isinstance(given, Axis):
        return given
    return Axis(key=given) if isinstance(given, str) else Axis(values=given)


def one_of(key: str, name: str, known: Iterable[str]) -> str:
    """Return ``name`` if it is known. Raises ConfigError with the nearest one."""
    names = list(known)
    if name not in names:
        raise unknown_name(key, name, names)
    return name
