# SPDX-License-Identifier: GPL-2.0-only
"""A paper as a folder: ``paper.toml``, ``published.csv`` and scenarios, checked together.

``scenarios/papers/README.md`` documents the format. A user's own folder may be given by its path.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tunnelcc import scenario as scenarios
from tunnelcc.errors import MISSING, ConfigError, Problem, nearest
from tunnelcc.papers import published
from tunnelcc.papers.claims import Claim
from tunnelcc.papers.format import Figure, PaperFile, Parameter
from tunnelcc.scenario import Experiment
from tunnelcc.schema.toml import read_toml

# In a source tree the folder beside the package, else what the wheel brings.
_PACKAGE = Path(__file__).parents[1]
DIRECTORIES = (_PACKAGE.parent / "scenarios" / "papers", _PACKAGE / "scenarios" / "papers")

#: Keys that need no label: they do not change what is simulated, or only by chance.
_UNLABELLED = ("title", "seed", "probe_interval")


class Paper:
    """A folder that is read and checked completely before anything runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = folder.resolve().name
        table = read_toml(folder / "paper.toml")
        self.rows = published.read(folder / "published.csv")
        self._scenarios: dict[str, dict[str, Any]] = {}
        try:
            self.file: PaperFile = PaperFile.parse(table)
            self._check()
        except ConfigError as error:
            raise error.located_in(folder / "paper.toml") from None

    @property
    def title(self) -> str:
        """The title of the paper."""
        return self.file.title

    def figures(self, ids: Sequence[str] = ()) -> list[Figure]:
        """Return the figures with these ids, or all. Raises ConfigError."""
        known = [figure.id for figure in self.file.figures]
        for name in ids:
            if name not in known:
                expected = "one of " + ", ".join(known)
                raise ConfigError(Problem("--figure", name, expected, nearest(name, known)))
        return [figure for figure in self.file.figures if not ids or figure.id in ids]

    def figure_rows(
        self, figure: Figure, metric: str, where: Mapping[str, str] | None = None
    ) -> list[published.Row]:
        """Return the published rows of a metric that belong to ``figure``.

        If published.csv has a column ``figure``, it selects them.
        """
        return [
            row
            for row in self.rows
            if row.metric == metric
            and row.columns.get("figure", figure.id) == figure.id
            and row.matches({it: value for it, value in (where or {}).items() if it in row.columns})
        ]

    def axis_values(self, figure: Figure) -> dict[str, list[str]]:
        """Return the values of each axis, in order."""
        values = {}
        for name, axis in figure.axes.items():
            if axis.values is not None:
                values[name] = list(axis.values)
            else:
                rows = [
                    row
                    for item in figure.values
                    for row in self.figure_rows(figure, item.published)
                ]
                cells = dict.fromkeys(row.columns.get(name, "") for row in rows)
                values[name] = [cell for cell in cells if cell]
        return values

    def points(
        self, figure: Figure, where: Mapping[str, str] | None = None
    ) -> list[dict[str, str]]:
        """Return the points of the figure's grid: a value for each axis."""
        axes = self.axis_values(figure)
        grid = [
            dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())
        ]
        return [point for point in grid if matches(point, where or {})]

    def experiment(
        self,
        figure: Figure,
        point: Mapping[str, str],
        *settings: Mapping[str, Any] | None,
    ) -> Experiment:
        """Return the experiment of a point, with further ``settings`` on top."""
        merged: dict[str, Any] = dict(figure.settings or {})
        for name, value in point.items():
            merged.update(figure.axes[name].settings(value) or {})
        for more in settings:
            merged.update(more or {})
        try:
            merged = scenarios.beside(self.folder / figure.scenario, merged)
            return scenarios.build(self._scenario(figure.scenario), merged)
        except ConfigError as error:
            raise error.located_in(self.folder / figure.scenario) from None

    def parameters(self, figure: Figure | None = None) -> list[tuple[str, str, str, str]]:
        """Return (name, value, label, reason) of each parameter. Values are the scenario's."""
        figures = self.file.figures if figure is None else (figure,)
        rows = []
        for parameter in self.file.parameters:
            concerned = [it for it in figures if parameter.concerns(it.id)]
            if parameter.key is None:
                values = [parameter.value or ""] if concerned else []
            else:
                given = (pair for it in concerned for pair in self._given(it))
                values = [str(value) for key, value in given if key == parameter.key]
            if values:
                name = parameter.key or parameter.name or ""
                value = ", ".join(dict.fromkeys(values))
                rows.append((name, value, parameter.label, parameter.reason))
        if figure is not None:
            for name, axis in figure.axes.items():
                value = ", ".join(self.axis_values(figure)[name])
                rows.append((axis.key or name, value, axis.label, axis.reason or "varied"))
        return rows

    def _scenario(self, name: str) -> dict[str, Any]:
        if name not in self._scenarios:
            self._scenarios[name] = scenarios.read_scenario(self.folder / name)
        return self._scenarios[name]

    def _table(self, figure: Figure) -> dict[str, Any]:
        scenario = self._scenario(figure.scenario)
        table: dict[str, Any] = scenarios.build(scenario, figure.settings or {}).table()
        return table

    def _given(self, figure: Figure) -> list[tuple[str, Any]]:
        """Return the settings of the figure and its scenario, by dotted key."""
        return _leaves(scenarios.apply(self._scenario(figure.scenario), figure.settings or {}))

    def _check(self) -> None:
        self._check_labels()
        for index, figure in enumerate(self.file.figures):
            try:
                self._check_figure(figure)
            except ConfigError as error:
                raise error.below(f"figures.{index}") from None
        for index, parameter in enumerate(self.file.parameters):
            self._check_parameter(f"parameters.{index}", parameter)
        for index, question in enumerate(self.file.questions):
            for number, reading in enumerate(question.readings):
                for figure in self.figures(question.figures):
                    try:
                        self.experiment(figure, self.points(figure)[0], reading.settings)
                    except ConfigError as error:
                        raise error.below(f"questions.{index}.readings.{number}") from None

    def _check_figure(self, figure: Figure) -> None:
        self._check_values(figure)
        for name, values in self.axis_values(figure).items():
            if not values:
                expected = f"values, or a column {name} with values in published.csv"
                raise ConfigError(Problem(f"axes.{name}", MISSING, expected))
        for point in self.points(figure):
            experiment = self.experiment(figure, point)
            flows = sum(flow.count for flow in experiment.flows)
            for name, quantity in figure.quantities.items():
                if quantity.flow is not None and quantity.flow >= flows:
                    expected = f"a flow from 0 to {flows - 1}"
                    raise ConfigError(Problem(f"quantities.{name}.flow", quantity.flow, expected))
        for index, variant in enumerate(figure.variants):
            self._check_where(f"variants.{index}", variant.where, figure)
            for point in self.points(figure, variant.where):
                self.experiment(figure, point, variant.settings)
        for index, miss in enumerate(figure.misses):
            self._check_where(f"misses.{index}", miss.where, figure)
        for index, claim in enumerate(figure.claims):
            self._check_claim(f"claims.{index}", claim, figure)
        if figure.calibration:
            self._check_where("calibration", figure.calibration.where, figure)
            point = self.points(figure)[0]
            calibration = figure.calibration
            for value in calibration.candidates:
                self.experiment(figure, point, {calibration.key: value})

    def _check_labels(self) -> None:
        """Check that every value in the scenarios and settings of figures has a label."""
        missing: dict[str, tuple[str, Any, list[str]]] = {}  # first place and value, all figures
        for index, figure in enumerate(self.file.figures):
            labelled = {it.key for it in self.file.parameters if it.concerns(figure.id)}
            try:
                given = [*self._given(figure)]
            except ConfigError as error:
                raise error.below(f"figures.{index}") from None
            for key, value in given:
                if key not in labelled and key not in _UNLABELLED:
                    name = f"{figure.scenario}.{key}"
                    place = f"figures.{index}.{name}"
                    missing.setdefault(name, (place, value, []))[2].append(figure.id)
        problems = []
        for place, value, ids in missing.values():
            figures = f"figure{'s' * (len(ids) > 1)} {', '.join(ids)}"
            expected = f"a [[parameters]] entry with its evidence ({figures})"
            problems.append(Problem(place, value, expected))
        if problems:
            raise ConfigError(*problems)

    def _check_parameter(self, prefix: str, parameter: Parameter) -> None:
        """Check that every label names a key that a figure gives."""
        if parameter.key is None:
            return
        figures = [it for it in self.file.figures if parameter.concerns(it.id)]
        given = {key for figure in figures for key, _ in self._given(figure)}
        known = {key for figure in figures for key, _ in _leaves(self._table(figure))}
        if parameter.key not in given | known:
            hint = nearest(parameter.key, given)
            expected = "a key of the scenario"
            raise ConfigError(Problem(f"{prefix}.key", parameter.key, expected, hint))

    def _check_values(self, figure: Figure) -> None:
        for index, item in enumerate(figure.values):
            prefix = f"values.{index}"
            rows = self.figure_rows(figure, item.published, item.where)
            if not rows:
                metrics = {
                    row.metric
                    for row in self.rows
                    if row.columns.get("figure", figure.id) == figure.id
                }
                expected = "a metric of published.csv: " + (", ".join(sorted(metrics)) or "none")
                hint = nearest(item.published, metrics)
                raise ConfigError(Problem(f"{prefix}.published", item.published, expected, hint))
            chosen = item.where_points(figure.axes)
            if chosen:
                self._check_where(prefix, chosen, figure)
            known = (*figure.axes, *rows[0].columns)
            for name in item.where:
                if name not in known:
                    expected = "an axis of the figure or a column of published.csv"
                    key = f"{prefix}.where.{name}"
                    raise ConfigError(Problem(key, MISSING, expected, nearest(name, known)))
            for row in rows:
                self._check_row(row, figure, item.where)

    def _check_row(self, row: published.Row, figure: Figure, where: Mapping[str, str]) -> None:
        for column, values in self.axis_values(figure).items():
            if column not in row.columns and column in where:
                continue
            if column not in row.columns:
                expected = "a column of published.csv: " + ", ".join(row.columns)
                raise ConfigError(Problem(f"axes.{column}", MISSING, expected))
            value = row.columns[column]
            if value and value not in values:
                expected = f"settings for this value, which is in line {row.line} of published.csv"
                raise ConfigError(Problem(f"axes.{column}.values.{value}", MISSING, expected))

    def _check_where(self, key: str, where: Mapping[str, str], figure: Figure) -> None:
        if not self.points(figure, where):
            axes = self.axis_values(figure)
            expected = "axes and values of the figure: " + "; ".join(
                f"{name}: {', '.join(values)}" for name, values in axes.items()
            )
            raise ConfigError(Problem(f"{key}.where", dict(where), expected))

    def _check_claim(self, key: str, claim: Claim, figure: Figure) -> None:
        self._check_where(key, claim.where, figure)
        for part in ("over", "under", "at"):
            if place := getattr(claim, part):
                where = {**claim.where, claim.axis: place}
                self._check_where(f"{key}.{part}", where, figure)


def matches(point: Mapping[str, str], where: Mapping[str, str]) -> bool:
    """Whether a point has all the values of ``where``."""
    return all(point.get(name) == value for name, value in where.items())


def names() -> list[str]:
    """Return the keys of the papers in the package."""
    return sorted(
        {file.parent.name for folder in DIRECTORIES for file in folder.glob("*/paper.toml")}
    )


def find(key: str) -> Paper:
    """Return the paper ``key``, or the one in the folder ``key``. Raises ConfigError."""
    for folder in DIRECTORIES:
        if key in names() and (folder / key / "paper.toml").is_file():
            return Paper(folder / key)
    if "/" in key or Path(key).is_dir():
        return Paper(Path(key))
    expected = "one of " + (", ".join(names()) or "no papers") + ", or the path of a folder"
    raise ConfigError(Problem("paper", key, expected, nearest(key, names())))


def _leaves(table: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Return dotted keys and values; keys of every flow have no index."""
    leaves: list[tuple[str, Any]] = []
    for name, value in table.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict):
            leaves += _leaves(value, f"{key}.")
        elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            for item in value:
                leaves += _leaves(item, f"{key}.")
        else:
            leaves.append((key, value))
    return leaves
