# SPDX-License-Identifier: GPL-2.0-only
"""A paper as a folder: ``paper.toml``, ``published.csv`` and scenarios, checked as a whole.

``scenarios/papers/README.md`` documents the format. A user's own folder may be given by its path.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tunnelcc import scenario as scenarios
from tunnelcc.config import Experiment
from tunnelcc.errors import MISSING, ConfigError, Problem, nearest
from tunnelcc.papers import published
from tunnelcc.papers.format import Claim, Comparison, PaperFile
from tunnelcc.toml import read_toml

# In a source tree the folder beside the package, else what the wheel brings.
_PACKAGE = Path(__file__).parents[1]
DIRECTORIES = (_PACKAGE.parent / "scenarios" / "papers", _PACKAGE / "scenarios" / "papers")


class Paper:
    """A folder, read and checked as a whole: nothing runs before all of it makes sense."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = folder.resolve().name
        self.file: PaperFile = _in_file(folder / "paper.toml", PaperFile.parse)
        self.rows = published.read(folder / "published.csv")
        self._scenarios: dict[str, dict[str, Any]] = {}
        for index, comparison in enumerate(self.file.comparisons):
            self._check(f"comparisons.{index}", comparison)

    @property
    def title(self) -> str:
        """The paper's."""
        return self.file.title

    def comparison_rows(
        self, comparison: Comparison, where: Mapping[str, str] | None = None
    ) -> list[published.Row]:
        """Return the published rows that ``comparison`` is about."""
        return [
            row
            for row in self.rows
            if row.metric == comparison.published and row.matches(where or {})
        ]

    def experiment(
        self, comparison: Comparison, row: published.Row, settings: Mapping[str, Any] | None = None
    ) -> Experiment:
        """Return the experiment behind a published row, with further ``settings`` on top."""
        merged: dict[str, Any] = {}
        for column, axis in comparison.axes.items():
            merged.update(axis.settings(row.columns[column]) or {})
        merged.update(settings or {})
        try:
            return scenarios.build(self._scenario(comparison.scenario), merged)
        except ConfigError as error:
            raise _located(error, self.folder / comparison.scenario) from None

    def parameters(self) -> list[tuple[str, str, str, str]]:
        """Return (name, value, label, reason) of each parameter, values from the scenario."""
        table = Experiment.parse(self._scenario(self.file.comparisons[0].scenario)).table()
        return [
            (
                parameter.key or parameter.name or "",
                parameter.value or str(_lookup(table, parameter.key or "")),
                parameter.label,
                parameter.reason,
            )
            for parameter in self.file.parameters
        ]

    def _scenario(self, name: str) -> dict[str, Any]:
        if name not in self._scenarios:
            self._scenarios[name] = scenarios.read_scenario(self.folder / name)
        return self._scenarios[name]

    def _check(self, prefix: str, comparison: Comparison) -> None:
        file = self.folder / "paper.toml"
        try:
            self._check_labels(comparison)
            rows = self._check_rows(comparison)
            for index, variant in enumerate(comparison.variants):
                self._check_where(f"variants.{index}", variant.where, comparison)
                for row in self.comparison_rows(comparison, variant.where):
                    self.experiment(comparison, row, variant.settings)
            for index, claim in enumerate(comparison.claims):
                self._check_claim(f"claims.{index}", claim, comparison)
            if comparison.calibration:
                self._check_where("calibration", comparison.calibration.where, comparison)
                values = comparison.calibration
                for value in (*values.candidates, *(values.alternatives or ())):
                    self.experiment(comparison, rows[0], {values.key: value})
        except ConfigError as error:
            raise _located(
                ConfigError(*(it.below(prefix) for it in error.problems)), file
            ) from None

    def _check_labels(self, comparison: Comparison) -> None:
        """Every value that the scenario gives has a label, every label a value."""
        table = self._scenario(comparison.scenario)
        labelled = [parameter.key for parameter in self.file.parameters if parameter.key]
        given = dict(_leaves(table))
        for key in given:
            if key not in labelled and key not in ("title", "seed", "probe_interval"):
                expected = "a [[parameters]] entry that says how it is known"
                raise ConfigError(Problem(f"{comparison.scenario}.{key}", given[key], expected))
        full = Experiment.parse(table).table()
        for key in labelled:
            if _lookup(full, key) is None:
                hint = nearest(key, given)
                raise ConfigError(Problem("parameters.key", key, "a key of the scenario", hint))

    def _check_rows(self, comparison: Comparison) -> list[published.Row]:
        rows = self.comparison_rows(comparison)
        if not rows:
            metrics = {row.metric for row in self.rows}
            expected = "a metric of published.csv: " + ", ".join(sorted(metrics))
            hint = nearest(comparison.published, metrics)
            raise ConfigError(Problem("published", comparison.published, expected, hint))
        for row in rows:
            for column, axis in comparison.axes.items():
                if column not in row.columns:
                    expected = "a column of published.csv: " + ", ".join(row.columns)
                    raise ConfigError(Problem(f"axes.{column}", MISSING, expected))
                value = row.columns[column]
                if axis.settings(value) is None:
                    expected = f"settings for it, which published.csv has in line {row.line}"
                    raise ConfigError(Problem(f"axes.{column}.values.{value}", MISSING, expected))
            self.experiment(comparison, row)
        return rows

    def _check_where(self, key: str, where: Mapping[str, str], comparison: Comparison) -> None:
        if not self.comparison_rows(comparison, where):
            expected = "columns and values that published.csv has"
            raise ConfigError(Problem(f"{key}.where", dict(where), expected))

    def _check_claim(self, key: str, claim: Claim, comparison: Comparison) -> None:
        for part in ("over", "under"):
            where = {**claim.where, claim.axis: getattr(claim, part)}
            self._check_where(f"{key}.{part}", where, comparison)


def names() -> list[str]:
    """Return the keys of the papers that come with tunnelcc."""
    return sorted(
        {file.parent.name for folder in DIRECTORIES for file in folder.glob("*/paper.toml")}
    )


def find(key: str) -> Paper:
    """Return the paper called ``key``, or the one in the folder ``key``. Raises ConfigError."""
    for folder in DIRECTORIES:
        if key in names() and (folder / key / "paper.toml").is_file():
            return Paper(folder / key)
    if "/" in key or Path(key).is_dir():
        return Paper(Path(key))
    expected = "one of " + (", ".join(names()) or "no papers") + ", or the path of a folder"
    raise ConfigError(Problem("paper", key, expected, nearest(key, names())))


def _in_file(file: Path, parse: Any) -> Any:
    table = read_toml(file)
    try:
        return parse(table)
    except ConfigError as error:
        raise _located(error, file) from None


def _located(error: ConfigError, file: Path) -> ConfigError:
    where = f"in {file}"
    return ConfigError(
        *(
            Problem(it.key, it.value, it.expected, "; ".join(filter(None, (it.hint, where))))
            if where not in it.hint
            else it
            for it in error.problems
        )
    )


def _leaves(table: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Return dotted keys and values; flows without their number, short forms in full."""
    leaves: list[tuple[str, Any]] = []
    for name, value in table.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict):
            leaves += _leaves(value, f"{key}.")
        elif isinstance(value, list) and all(isinstance(item, dict) for item in value):
            for item in value:
                leaves += _leaves(item, f"{key}.")
        else:
            leaves.append((key, value))
    return leaves


def _lookup(table: Any, key: str) -> Any:
    """Return the value at a dotted key; in a list, that of the first element."""
    for part in key.split("."):
        if isinstance(table, list):
            table = table[0]
        if not isinstance(table, dict) or part not in table:
            return None
        table = table[part]
    return table
