# SPDX-License-Identifier: GPL-2.0-only
"""The keys of ``paper.toml``. ``scenarios/papers/README.md`` explains them to users."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from tunnelcc.errors import MISSING, ConfigError, Problem, nearest
from tunnelcc.metrics import METRICS, Metric
from tunnelcc.papers import expression
from tunnelcc.papers.claims import Claim
from tunnelcc.papers.published import UNITS
from tunnelcc.papers.values import (
    Formula,
    Fraction,
    Moment,
    Name,
    Names,
    Points,
    Prose,
    Published,
    Settings,
    Values,
    Where,
)
from tunnelcc.schema import SWITCH, Model, choice, number, whole
from tunnelcc.schema.units import format_time

LABELS = ("stated", "inferred", "calibrated", "choice")
ROLES = ("baseline", "cause", "counterfactual")


class Parameter(Model):
    """A known parameter of the experiment and its evidence: a key of the scenario, or a fact."""

    key: Prose | None = None
    name: Prose | None = None
    value: Prose | None = None
    label: Annotated[str, choice(*LABELS)]
    reason: Prose
    figures: Names | None = None  # of which it speaks, else all

    @model_validator(mode="after")
    def _check(self) -> Parameter:
        if self.key is None and (self.name is None or self.value is None):
            raise ConfigError(Problem("key", MISSING, "a key of the scenario, or name and value"))
        if self.key is not None and (self.name is not None or self.value is not None):
            given = self.value or self.name
            raise ConfigError(
                Problem("value", given, "no value with key, because the scenario has it")
            )
        return self

    def concerns(self, figure: str) -> bool:
        """Whether it applies to the figure with this id."""
        return self.figures is None or figure in self.figures


class Axis(Model):
    """A varied quantity: a key with values, or values with their own settings.

    Without ``values``, it takes those of the column in published.csv with the axis's name.
    """

    key: Prose | None = None
    values: Points | None = None
    label: Annotated[str, choice(*LABELS)] = "stated"
    reason: Prose | None = None

    @model_validator(mode="after")
    def _check(self) -> Axis:
        own_settings = self.values is not None and None not in self.values.values()
        if (self.key is None) != own_settings:
            expected = "a key, or values with their own settings"
            raise ConfigError(Problem("key", self.key or MISSING, expected))
        if self.label != "stated" and self.reason is None:
            raise ConfigError(
                Problem("reason", MISSING, f"a reason why the values are {self.label}")
            )
        return self

    def settings(self, value: str) -> dict[str, Any] | None:
        """Return the settings of one value, or None if the axis does not have it."""
        if self.values is not None and value not in self.values:
            return None
        if self.key is None:
            assert self.values is not None
            settings: dict[str, Any] = self.values[value]
            return settings
        return {self.key: int(value) if value.isdecimal() else value}


class Quantity(Model):
    """A number from each run: a measure, or a formula of the experiment and other quantities.

    ``flow``: the flow (from 0); default: all together. ``since`` and ``until``: the time range;
    default: the end of the warm-up and the end of the run. ``within``: tolerance for an arrival or
    a dip.
    """

    measure: Annotated[str, choice(*METRICS)] | None = None
    formula: Formula | None = None
    title: Prose | None = None
    unit: Annotated[str, choice(*UNITS)] | None = None
    flow: Annotated[int, whole(0, 4095)] | None = None
    since: Moment | None = None
    until: Moment | None = None
    within: Fraction | None = None
    plot: bool = True

    @model_validator(mode="after")
    def _check(self) -> Quantity:
        if (self.measure is None) == (self.formula is None):
            raise ConfigError(Problem("measure", MISSING, "either a measure or a formula"))
        if self.formula is not None and self.unit is None:
            raise ConfigError(Problem("unit", MISSING, "the unit of the formula's value"))
        for key in ("flow", "since", "until", "within"):
            needs = self.metric is not None and key in self.metric.keys
            if getattr(self, key) is not None and not needs:
                takers = [name for name, it in METRICS.items() if key in it.keys]
                expected = f"no value except for {', '.join(takers)}"
                raise ConfigError(Problem(key, getattr(self, key), expected))
        if self.since is not None and self.until is not None and self.until <= self.since:
            expected = f"a time after since ({format_time(self.since)})"
            raise ConfigError(Problem("until", format_time(self.until), expected))
        return self

    @property
    def metric(self) -> Metric | None:
        """What is measured."""
        return METRICS[self.measure] if self.measure is not None else None

    @property
    def shown_in(self) -> str:
        """The unit in tables; rates are in Mbit/s."""
        unit = self.unit or (self.metric.units if self.metric else "1")
        return "Mbit/s" if unit == "bit/s" and self.unit is None else unit


class Compared(Model):
    """Published numbers, and the quantity to compare them with.

    Rows are judged if there is a ``tolerance`` (of |simulated / published − 1|), a ``margin`` (of
    the difference, in the published unit) or ``within_runs`` (between the smallest and the largest
    run). Otherwise they are only shown, and ``reason`` says why.
    """

    published: Prose  # a metric of published.csv
    quantity: Name
    where: Where = Field(default_factory=dict)
    tolerance: Fraction | None = None
    margin: Annotated[float, number(0, 1e12, above=True)] | None = None
    within_runs: Annotated[bool, SWITCH] = False
    reason: Prose

    @property
    def is_judged(self) -> bool:
        """Whether there is a verdict."""
        return self.tolerance is not None or self.margin is not None or self.within_runs

    def where_points(self, axes: Iterable[str]) -> dict[str, str]:
        """Return the part of ``where`` that selects points of a figure with these axes."""
        return {name: value for name, value in self.where.items() if name in axes}


class Calibration(Model):
    """A parameter that is fitted once to some of the published rows."""

    key: Prose
    where: Where
    reason: Prose
    candidates: Values


class Variant(Model):
    """Another experiment at some points: the scenario with other settings."""

    id: Prose
    title: Prose
    role: Annotated[str, choice(*ROLES)]
    where: Where = Field(default_factory=dict)
    settings: Settings
    reason: Prose


class Evidence(Model):
    """Independent measurements of a quantity on which paper and simulation differ."""

    quantity: Name
    variant: Prose | None = None  # in which the simulation is comparable, else the scenario's
    published: Published
    measured: Published
    source: Prose
    reason: Prose


class Miss(Model):
    """The known cause why rows and claims with the values of ``where`` are missed."""

    where: Where = Field(default_factory=dict)
    reason: Prose


class Figure(Model):
    """A figure, table or equation of the paper: experiments, and how to compare them.

    ``x``: the horizontal axis: ``time``, or the name of an axis; default: bars over the last axis.
    If ``x`` is an axis, ``panels`` names another one with one panel per value, and ``log`` makes
    the vertical axis logarithmic.
    """

    id: Name
    title: Prose
    text: Prose | None = None
    scenario: Prose
    settings: Settings | None = None
    seeds: Annotated[int, whole(1, 1000)] = 1  # runs of each point at least
    axes: dict[str, Axis] = Field(default_factory=dict)
    quantities: dict[str, Quantity] = Field(min_length=1)
    values: tuple[Compared, ...] = ()
    claims: tuple[Claim, ...] = ()
    calibration: Calibration | None = None
    variants: tuple[Variant, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    limits: tuple[Prose, ...] = ()
    misses: tuple[Miss, ...] = ()  # the first that speaks of a place tells why
    x: Name | None = None
    panels: Name | None = None
    log: Annotated[bool, SWITCH] = False

    @model_validator(mode="after")
    def _check(self) -> Figure:
        self._check_quantities()
        for group in ("values", "claims", "evidence"):
            for index, item in enumerate(getattr(self, group)):
                for key in ("quantity", "than", "to"):
                    name = getattr(item, key, None)
                    if name:
                        _one_of(f"{group}.{index}.{key}", name, self.quantities)
                if getattr(item, "axis", None):
                    _one_of(f"{group}.{index}.axis", item.axis, self.axes)
        for index, evidence in enumerate(self.evidence):
            if evidence.variant is not None:
                ids = [variant.id for variant in self.variants]
                _one_of(f"evidence.{index}.variant", evidence.variant, ids)
        if self.x is not None:
            _one_of("x", self.x, ("time", *self.axes))
        self._check_drawing()
        if self.calibration and not any(item.is_judged for item in self.values):
            raise ConfigError(Problem("values", MISSING, "judged values to calibrate on"))
        return self

    def _check_drawing(self) -> None:
        others = [axis for axis in self.axes if self.x in self.axes and axis != self.x]
        if self.panels is not None:
            _one_of("panels", self.panels, others)
        if self.log and self.x not in self.axes:
            raise ConfigError(Problem("log", True, "none but where x names an axis"))

    def _check_quantities(self) -> None:
        known = list(expression.EXPERIMENT)
        for name, quantity in self.quantities.items():
            for used in expression.names(quantity.formula) if quantity.formula else ():
                _one_of(f"quantities.{name}.formula", used, known)
            known.append(name)

    @field_validator("quantities")
    @classmethod
    def _named(cls, quantities: dict[str, Quantity]) -> dict[str, Quantity]:
        for name in quantities:
            if not name.isidentifier() or name in expression.RESERVED:
                expected = "a new name of letters, digits and _ for formulas"
                raise ConfigError(Problem(name, MISSING, expected))
        return quantities

    def title_of(self, quantity: str) -> str:
        """Return the name of a quantity in tables."""
        return self.quantities[quantity].title or quantity.replace("_", " ")

    def is_of_runs(self, quantity: str) -> bool:
        """Whether it is measured, or a formula of what is."""
        it = self.quantities[quantity]
        used = expression.names(it.formula) if it.formula else ()
        return it.measure is not None or any(
            self.is_of_runs(name) for name in used if name in self.quantities
        )

    @property
    def needs_runs(self) -> bool:
        """Whether anything is measured. A figure with formulas only needs no simulation."""
        return any(quantity.measure for quantity in self.quantities.values())


class Reading(Model):
    """One reading of an open question; the scenarios use the one without settings."""

    id: Name
    title: Prose
    reason: Prose
    settings: Settings | None = None


class Question(Model):
    """A question that the paper leaves open, or an error in it, and its possible readings."""

    id: Name
    text: Prose
    figures: Names
    readings: Annotated[tuple[Reading, ...], Field(min_length=2)]

    @model_validator(mode="after")
    def _check(self) -> Question:
        taken = [reading.id for reading in self.readings if reading.settings is None]
        if len(taken) != 1:
            expected = "exactly one reading without settings, which the scenarios use"
            raise ConfigError(Problem("readings", taken, expected))
        return self


class PaperFile(Model):
    """The contents of ``paper.toml``."""

    title: Prose
    source: Prose
    parameters: tuple[Parameter, ...]
    figures: tuple[Figure, ...] = Field(min_length=1)
    questions: tuple[Question, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> PaperFile:
        ids = [figure.id for figure in self.figures]
        for figure in ids:
            if ids.count(figure) > 1:
                raise ConfigError(Problem("figures", figure, "a different id for each figure"))
        for group in ("parameters", "questions"):
            for index, item in enumerate(getattr(self, group)):
                for name in item.figures or ():
                    _one_of(f"{group}.{index}.figures", name, ids)
        return self


def _one_of(key: str, name: str, known: Iterable[str]) -> None:
    names = list(known)
    if name not in names:
        expected = "one of " + (", ".join(names) or "none")
        raise ConfigError(Problem(key, name, expected, nearest(name, names)))
