# SPDX-License-Identifier: GPL-2.0-only
"""A paper as a folder: ``paper.py``, scenarios and CSV files, checked before anything runs.

``scenarios/papers/README.md`` documents it. A user's own folder may be given by its path.
"""

from __future__ import annotations

import itertools
import os
import runpy
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunnelcc import scenario as scenarios
from tunnelcc import system
from tunnelcc.apps.papers import sheets
from tunnelcc.apps.papers.declare import Figure, Paper, Settings, Where, one_of
from tunnelcc.apps.papers.sheets import Compare, Other
from tunnelcc.errors import MISSING, ConfigError, Problem, nearest
from tunnelcc.modules import trust

if TYPE_CHECKING:
    from tunnelcc import Experiment

# In a source tree the folder beside the package, else what the wheel brings.
_PACKAGE = Path(__file__).parents[2]
DIRECTORIES = (_PACKAGE.parent / "scenarios" / "papers", _PACKAGE / "scenarios" / "papers")

#: Keys that need no label: they do not change what is simulated, or only by chance.
_UNLABELLED = ("title", "seed", "probe_interval")


class Folder:
    """A paper's folder, read and checked. Raises ConfigError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.key = path.resolve().name
        self.rows = sheets.published(path / "published.csv")
        self.parameters = sheets.parameters(path / "parameters.csv")
        self.compared = sheets.compared(path / "compared.csv")
        self.notes = sheets.notes(path / "notes.csv")
        self.others = sheets.others(path / "settings.csv")
        self.paper = _declared(path / "paper.py")
        self._scenarios: dict[str, dict[str, Any]] = {}
        try:
            self._check()
        except ConfigError as error:
            raise error.located_in(path / "paper.py") from None

    def figures(self, ids: Sequence[str] = ()) -> list[Figure]:
        """Return the figures with these ids, or all. Raises ConfigError."""
        known = [figure.id for figure in self.paper.figures]
        for name in ids:
            one_of("--figure", name, known)
        return [figure for figure in self.paper.figures if not ids or figure.id in ids]

    def values(self, figure: Figure) -> list[Compare]:
        """Return what is compared in a figure."""
        return [it for it in self.compared if it.concerns(figure.id)]

    def variants(self, figure: Figure) -> list[Other]:
        """Return the other settings with which some points of a figure run."""
        found = [it for it in self.others if it.role not in ("question", "reading")]
        return [it for it in found if it.concerns(figure.id)]

    @property
    def questions(self) -> list[tuple[Other, list[Other]]]:
        """What the paper leaves open, or errors in it, each with its readings."""
        found: list[tuple[Other, list[Other]]] = []
        for it in self.others:
            if it.role == "question":
                found.append((it, []))
            elif it.role == "reading" and found:
                found[-1][1].append(it)
        return found

    def told(self, figure: Figure, kind: str, where: Where | None = None) -> list[str]:
        """Return the notes of a kind on a figure, and on the place ``where``."""
        notes = (it for it in self.notes if it.kind == kind and it.concerns(figure.id))
        return [it.reason for it in notes if matches(where or {}, it.where)]

    def figure_rows(
        self, figure: Figure, metric: str, where: Where | None = None
    ) -> list[sheets.Row]:
        """Return the published rows of a metric that belong to a figure.

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
        metrics = (item.published for item in self.values(figure))
        rows = [row for metric in metrics for row in self.figure_rows(figure, metric)]
        return {
            name: axis.given
            or list(dict.fromkeys(it for row in rows if (it := row.columns.get(name, ""))))
            for name, axis in figure.axes.items()
        }

    def points(self, figure: Figure, where: Where | None = None) -> list[dict[str, str]]:
        """Return the points of the figure's grid: a value for each axis."""
        axes = self.axis_values(figure)
        grid = (dict(zip(axes, it, strict=True)) for it in itertools.product(*axes.values()))
        return [point for point in grid if matches(point, where or {})]

    def experiment(self, figure: Figure, point: Where, more: Settings | None = None) -> Experiment:
        """Return the experiment of a point, with further settings on top. Raises ConfigError."""
        merged = dict(figure.settings)
        for name, value in point.items():
            merged |= figure.axes[name].settings(value)
        file = self.path / figure.scenario
        try:
            merged = scenarios.beside(file, {**merged, **(more or {})})
            return scenarios.build(self._scenario(figure), merged)
        except ConfigError as error:
            raise error.located_in(file) from None

    def evidence(self, figure: Figure | None = None) -> list[tuple[str, str, str, str]]:
        """Return (name, value, label, reason) of each parameter, of a figure with its axes."""
        figures = self.paper.figures if figure is None else [figure]
        rows = []
        for it in self.parameters:
            concerned = [figure for figure in figures if it.concerns(figure.id)]
            given = (pair for figure in concerned for pair in self._given(figure))
            values = [str(value) for key, value in given if key == it.name]
            if it.value:
                values = [it.value] if concerned else []
            if values:
                rows.append((it.name, ", ".join(dict.fromkeys(values)), it.label, it.reason))
        for name, values in self.axis_values(figure).items() if figure else ():
            axis = figures[0].axes[name]
            rows.append((axis.key or name, ", ".join(values), axis.label, axis.reason or "varied"))
        return rows

    def _scenario(self, figure: Figure) -> dict[str, Any]:
        if figure.scenario not in self._scenarios:
            read = scenarios.read_scenario(self.path / figure.scenario)
            self._scenarios[figure.scenario] = read
        return self._scenarios[figure.scenario]

    def _given(self, figure: Figure) -> list[tuple[str, Any]]:
        """Return the settings of the figure and its scenario, by dotted key."""
        return _leaves(scenarios.apply(self._scenario(figure), figure.settings))

    def _check(self) -> None:
        for sheet, name in (
            (self.parameters, "parameters"), (self.compared, "compared"), (self.notes, "notes"),
            (self.others, "settings"),
        ):  # fmt: skip
            for it in sheet:
                with _below(f"{name}.csv: line {it.line}"):
                    self.figures(it.figures)
        self._check_labels()
        for figure in self.paper.figures:
            with _below(f"figure {figure.id}"):
                self._check_figure(figure)
        for question, readings in self.questions:
            taken = [it.id for it in readings if not it.settings]
            if len(taken) != 1:
                expected = "exactly one reading without settings, which the scenarios use"
                place = f"settings.csv: line {question.line}: readings"
                raise ConfigError(Problem(place, taken, expected))
            for figure, it in itertools.product(self.figures(question.figures), readings):
                with _below(f"settings.csv: line {it.line}"):
                    self.experiment(figure, self.points(figure)[0], it.settings)

    def _check_labels(self) -> None:
        """Check that every value in scenarios and settings has a label, and every label a value."""
        missing: dict[str, tuple[Any, list[str]]] = {}  # value, and all figures
        known: dict[str, set[str]] = {}
        for figure in self.paper.figures:
            given = self._given(figure)
            whole = scenarios.build(self._scenario(figure), figure.settings).table()
            known[figure.id] = {key for key, _ in (*given, *_leaves(whole))}
            labelled = {it.name for it in self.parameters if it.concerns(figure.id)}
            for key, value in given:
                if key not in labelled and key not in _UNLABELLED:
                    place = f"{figure.scenario}.{key}"
                    missing.setdefault(place, (value, []))[1].append(figure.id)
        expected = "a line in parameters.csv with its evidence (figures {})"
        problems = [
            Problem(place, value, expected.format(", ".join(ids)))
            for place, (value, ids) in missing.items()
        ]
        if problems:
            raise ConfigError(*problems)
        for it in self.parameters:
            keys = set().union(*(known[id_] for id_ in it.figures or known))
            if not it.value and it.name not in keys:
                expected = "a key of the scenario, or a fact with its value"
                where = f"parameters.csv: line {it.line}"
                raise ConfigError(Problem(where, it.name, expected, nearest(it.name, keys)))

    def _check_figure(self, figure: Figure) -> None:
        axes, values = figure.axes, self.values(figure)
        for name, found in self.axis_values(figure).items():
            if not found:
                expected = f"values, or a column {name} with values in published.csv"
                raise ConfigError(Problem(f"axes.{name}", MISSING, expected))
        for item in values:
            with _below(f"compared.csv: line {item.line}"):
                self._check_value(item, figure)
        if figure.x:
            one_of("x", figure.x, ("time", *axes))
        if figure.panels:
            one_of(
                "panels", figure.panels, [it for it in axes if figure.x in axes and it != figure.x]
            )
        if figure.log and figure.x not in axes:
            raise ConfigError(Problem("log", True, "none but where x names an axis"))
        for point in self.points(figure):
            flows = sum(flow.count for flow in self.experiment(figure, point).flows)
            for name, quantity in figure.quantities.items():
                if quantity.flow is not None and not 0 <= quantity.flow < flows:
                    expected = f"a flow from 0 to {flows - 1}"
                    raise ConfigError(Problem(f"quantities.{name}.flow", quantity.flow, expected))
        for claim in figure.claims:
            with _below(f"claim “{claim.text}”"):
                for name in (claim.quantity, *claim.uses):
                    one_of("quantity", name, figure.quantities)
                if claim.axis:
                    one_of("axis", claim.axis, axes)
                for where in [{claim.axis: place} for place in claim.at] or [{}]:
                    self._check_where({**claim.where, **where}, figure)
        for variant in self.variants(figure):
            with _below(f"settings.csv: line {variant.line}"):
                self._check_where(variant.where, figure)
                for point in self.points(figure, variant.where):
                    self.experiment(figure, point, variant.settings)
        if (fit := figure.fit) is not None:
            with _below("fit"):
                self._check_where(fit.where, figure)
                if not any(item.is_judged for item in values):
                    raise ConfigError(Problem("values", MISSING, "judged values to calibrate on"))
                for value in fit.candidates:
                    self.experiment(figure, self.points(figure)[0], {fit.key: value})
        for note in self.notes:
            if note.figures and note.concerns(figure.id):
                with _below(f"notes.csv: line {note.line}"):
                    self._check_where(note.where, figure)

    def _check_value(self, item: Compare, figure: Figure) -> None:
        one_of("quantity", item.quantity, figure.quantities)
        mine = [row for row in self.rows if row.columns.get("figure", figure.id) == figure.id]
        one_of("published", item.published, dict.fromkeys(row.metric for row in mine))
        rows = self.figure_rows(figure, item.published, item.where)
        if not rows:
            raise ConfigError(Problem("where", dict(item.where), "rows of published.csv"))
        self._check_where(on_axes(item.where, figure), figure)
        columns = rows[0].columns
        for name in item.where:
            one_of("where", name, (*figure.axes, *columns))
        for axis, values in self.axis_values(figure).items():
            if axis not in item.where:
                one_of("axes", axis, columns)
            for row in rows if axis in columns else ():
                if row.columns[axis] not in ("", *values):
                    expected = f"a value for line {row.line} of published.csv"
                    raise ConfigError(
                        Problem(f"axes.{axis}.{row.columns[axis]}", MISSING, expected)
                    )

    def _check_where(self, where: Where, figure: Figure) -> None:
        if not self.points(figure, where):
            expected = "axes and values of the figure: " + "; ".join(
                f"{name}: {', '.join(values)}" for name, values in self.axis_values(figure).items()
            )
            raise ConfigError(Problem("where", dict(where), expected))


@contextmanager
def _below(place: str) -> Iterator[None]:
    """Tell where in the paper a problem is."""
    try:
        yield
    except ConfigError as error:
        raise error.below(place) from None


def on_axes(where: Where, figure: Figure) -> dict[str, str]:
    """Return the part of ``where`` that selects points of the figure."""
    return {name: value for name, value in where.items() if name in figure.axes}


def matches(point: Where, where: Where) -> bool:
    """Whether a point has all the values of ``where``."""
    return all(point.get(name) == value for name, value in where.items())


def names() -> list[str]:
    """Return the keys of the papers in the package."""
    return sorted(
        {file.parent.name for folder in DIRECTORIES for file in folder.glob("*/paper.py")}
    )


def find(key: str) -> Folder:
    """Return the paper ``key``, or the one in the folder ``key``.

    The Python of a folder that did not come with the package runs only if the user agrees. Raises
    ConfigError.
    """
    for folder in DIRECTORIES:
        if key in names() and (folder / key / "paper.py").is_file():
            return Folder(folder / key)
    path = Path(key)
    if "/" not in key and not path.is_dir():
        expected = "one of " + (", ".join(names()) or "no papers") + ", or the path of a folder"
        raise ConfigError(Problem("paper", key, expected, nearest(key, names())))
    if path.resolve().parent not in DIRECTORIES and os.path.lexists(path / "paper.py"):
        trust.check_code(path / "paper.py", "paper")
    return Folder(path)


def _declared(file: Path) -> Paper:
    """Run ``paper.py`` and return what it calls ``paper``. Raises ConfigError."""
    try:
        with system.opened(file):  # runpy runs what is in a folder, too
            pass
        paper = runpy.run_path(str(file)).get("paper")
    except OSError as error:
        expected = "a readable Python file"
        raise ConfigError(Problem("file", str(file), expected, error.strerror or "")) from None
    except ConfigError as error:
        raise error.located_in(file) from None
    except Exception as error:
        raise wrong_code(error, file) from error
    if not isinstance(paper, Paper):
        raise ConfigError(Problem("file", str(file), "paper = Paper(…) in it"))
    return paper


def wrong_code(error: Exception, file: Path) -> ConfigError:
    """Return what to tell of an exception in ``paper.py``: the line, and what was wrong."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [it.lineno for it in frames if it.filename == str(file)]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else "?"
    got = f"{type(error).__name__}: {error}"
    return ConfigError(Problem(f"{file}: line {line}", MISSING, "Python that runs", got))


def _leaves(table: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Return dotted keys and values; keys of every flow have no index."""
    leaves: list[tuple[str, Any]] = []
    for name, value in table.items():
        inner = value if isinstance(value, list) and value else [value]
        if all(isinstance(item, dict) for item in inner):
            for item in inner:
                leaves += _leaves(item, f"{prefix}{name}.")
        else:
            leaves.append((f"{prefix}{name}", value))
    return leaves
