# SPDX-License-Identifier: GPL-2.0-only
"""The keys of ``paper.toml``; ``scenarios/papers/README.md`` explains them to users."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from tunnelcc.errors import MISSING, ConfigError, Problem, nearest
from tunnelcc.papers.measures import MEASURES
from tunnelcc.schema import Kind, Model, choice, number
from tunnelcc.units import UnitError

LABELS = ("stated", "inferred", "calibrated", "choice")
ROLES = ("baseline", "cause", "counterfactual")


def _prose(value: object) -> str:
    if isinstance(value, str) and value.strip():
        return value.strip()
    raise UnitError("some text")


def _strings(value: object) -> dict[str, str]:
    if isinstance(value, dict) and all(isinstance(item, (str, int)) for item in value.values()):
        return {str(key): str(item) for key, item in value.items()}
    raise UnitError("a table of columns of published.csv and their values")


def _settings(value: object) -> dict[str, Any]:
    if isinstance(value, dict) and value:
        return value
    raise UnitError("a table of keys of an experiment, such as { 'path.rtt' = '40ms' }")


def _settings_by_value(value: object) -> dict[str, dict[str, Any]]:
    if isinstance(value, dict):
        return {str(key): _settings(item) for key, item in value.items()}
    raise UnitError("a table from values of the column to settings")


def _values(value: object) -> tuple[Any, ...]:
    if isinstance(value, (list, tuple)) and value:
        return tuple(value)
    raise UnitError("a list of at least one value")


Prose = Annotated[str, Kind(_prose, str, "some text")]
Where = Annotated[dict[str, str], Kind(_strings, dict, "columns and values")]
Settings = Annotated[dict[str, Any], Kind(_settings, dict, "keys of an experiment")]
SettingsByValue = Annotated[
    dict[str, dict[str, Any]], Kind(_settings_by_value, dict, "settings by value")
]
Values = Annotated[tuple[Any, ...], Kind(_values, list, "a list of values")]
Measure = Annotated[str, choice(*MEASURES)]


class Parameter(Model):
    """What is known of the experiment, and how: a key of the scenario, or a fact in words."""

    key: Prose | None = None
    name: Prose | None = None
    value: Prose | None = None
    label: Annotated[str, choice(*LABELS)]
    reason: Prose

    @model_validator(mode="after")
    def _check(self) -> Parameter:
        if self.key is None and (self.name is None or self.value is None):
            raise ConfigError(Problem("key", MISSING, "a key of the scenario, or name and value"))
        if self.key is not None and (self.name is not None or self.value is not None):
            given = self.value or self.name
            raise ConfigError(Problem("value", given, "none beside key: the scenario has it"))
        return self


class Axis(Model):
    """A column of published.csv and what its values mean for the experiment."""

    key: Prose | None = None  # the value is set as this key, or
    values: SettingsByValue | None = None  # each value has settings of its own

    @model_validator(mode="after")
    def _check(self) -> Axis:
        if (self.key is None) == (self.values is None):
            raise ConfigError(Problem("key", self.key or MISSING, "either key or values"))
        return self

    def settings(self, value: str) -> dict[str, Any] | None:
        """Return the settings of one value, None if it is unknown."""
        if self.values is not None:
            return self.values.get(value)
        assert self.key is not None
        return {self.key: int(value) if value.isdecimal() else value}


class Calibration(Model):
    """A parameter that is fitted to some of the published rows, once."""

    key: Prose
    where: Where
    reason: Prose
    candidates: Values
    alternatives: Values | None = None  # shown for comparison, not to be chosen


class Variant(Model):
    """Another experiment on some rows: the scenario with other settings."""

    id: Prose
    title: Prose
    role: Annotated[str, choice(*ROLES)]
    where: Where
    settings: Settings
    reason: Prose


class Claim(Model):
    """What the paper concludes from the ratio of two values of an axis."""

    text: Prose
    axis: Prose
    over: Prose
    under: Prose
    where: Where


class Beside(Model):
    """Another published metric, shown with simulated ones and without a verdict."""

    published: Prose
    simulated: Annotated[tuple[str, ...], Kind(_values, list, "a list of measures")]
    reason: Prose

    @field_validator("simulated")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in MEASURES:
                expected = "one of " + ", ".join(MEASURES)
                raise ConfigError(Problem("", name, expected, nearest(str(name), MEASURES)))
        return names


class Comparison(Model):
    """One figure or table: published rows, the experiments behind them, how they compare.

    The axes are in the order in which figures use them: panels, series, horizontal axis.
    """

    id: Prose
    title: Prose
    scenario: Prose
    published: Prose  # a metric of published.csv
    simulated: Measure
    tolerance: Annotated[float, number(0, 1, above=True)]  # of |simulated / published - 1|
    tolerance_reason: Prose
    axes: dict[str, Axis]
    calibration: Calibration | None = None
    beside: tuple[Beside, ...] = ()
    variants: tuple[Variant, ...] = ()
    claims: tuple[Claim, ...] = ()


class PaperFile(Model):
    """What ``paper.toml`` holds."""

    title: Prose
    source: Prose
    parameters: tuple[Parameter, ...]
    comparisons: tuple[Comparison, ...] = Field(min_length=1)
