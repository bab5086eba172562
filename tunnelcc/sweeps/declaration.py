# SPDX-License-Identifier: GPL-2.0-only
"""The declaration of a sweep: a scenario, axes over its keys, and seeds.

In TOML it is a scenario with a table ``[sweep]``::

    [sweep]
    seeds = 5
    "path.rtt" = ["10ms", "40ms", "100ms"]
    "path.loss" = { from = "0.01%", to = "5%", steps = 6, scale = "log" }
    cc = ["bbr", "cubic"]

    [sweep.zip]          # axes that vary together, along one dimension "point"; or:
    [sweep.sample]       # points drawn from intervals
    points = 100

In Python the axes are the same table as a dict. Runs are counted first, and then created one at a
time, so a grid of any size needs no memory.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tunnelcc import scenario
from tunnelcc.errors import MISSING, ConfigError, Problem, unknown_name
from tunnelcc.modules import trust
from tunnelcc.results import provenance
from tunnelcc.scenario import Experiment
from tunnelcc.schema.toml import write_toml
from tunnelcc.sweeps.axes import (
    SEED,
    Axis,
    Coordinate,
    Table,
    axis_length,
    check_has_effect,
    coordinate,
    parse_axis,
    parse_interval,
    plain,
    sample,
)
from tunnelcc.sweeps.conditions import conditions

DEFAULT_SEEDS = 5
POINT = "point"
_METHODS = ("latin-hypercube", "random")
_SAMPLE_KEYS = ("points", "method", "seed")
_MAX_POINTS = 1_000_000
_MAX_SEED = 2**63 - 1
# So many points are looked at to find one that is possible, the first ones in their order.
_MOST_TRIED = 1000
_FIRST_TRIED = 100
_GOLDEN_RATIO = 0.6180339887  # steps of so large a part spread points evenly, however many


@dataclass(frozen=True)
class Dimension:
    """One dimension of the results: one axis, or several that vary together."""

    name: str
    axes: tuple[Axis, ...]

    def __len__(self) -> int:
        return len(self.axes[0].values)


class Sweep:
    """All combinations of the axes' values and the seeds, as experiments.

    - ``base``: an Experiment, nested tables, or the path of a TOML file. If ``axes`` is None, the
      file's table ``[sweep]`` defines them.
    - ``axes``: key → values or range, ``zip`` or ``sample``, as in TOML: ``{"path.rtt": ["10ms",
      "40ms"], "cc": ["bbr", "cubic"]}``.
    - ``seeds``: how many (from the scenario's ``seed`` on, 1 by default), or a list; default: those
      of the file, or 5.
    - ``on_count``: a function that is called with the number of runs before their values are made,
      which takes long for millions.
    - ``is_record``: the sweep was run; it is read even if files that it names have changed.

    Raises ConfigError.

        >>> axes = {"path.rtt": ["10ms", "40ms"], "cc": ["bbr", "cubic"]}
        >>> tc.Sweep({"duration": "10s"}, axes, seeds=3).shape
        (2, 2, 3)
    """

    def __init__(
        self,
        base: Experiment | Mapping[str, Any] | str | Path,
        axes: Mapping[str, Any] | None = None,
        seeds: int | Sequence[int] | None = None,
        name: str | None = None,
        *,
        on_count: Callable[[int], None] = lambda runs: None,
        is_record: bool = False,
    ) -> None:
        self._is_record = is_record
        table = _table(base)
        if not is_record and not isinstance(base, (str, Path)):
            trust.agree(table)
        trust.agree(axes or {})
        declared = table.pop("sweep", {})
        if not isinstance(declared, Mapping):
            raise ConfigError(Problem("sweep", declared, "a table of axes"))
        declared = _flat(declared)
        if "" in declared:
            raise ConfigError(Problem('sweep.""', declared[""], "a key such as path.rtt"))
        listed = declared.pop("seeds", DEFAULT_SEEDS)
        if axes is not None:
            expected = 'a table of axes, such as {"cc": ["bbr", "cubic"]}'
            declared = _flat(scenario.as_table("axes", axes, expected))
        self.base: dict[str, Any] = table
        self.seeds = seeds_of(listed if seeds is None else seeds, table.get(SEED, 1))
        on_count(_count(declared, table) * len(self.seeds))
        self.dimensions = _dimensions(declared, table)
        self.name = name or _default_name(base, table)
        if not is_record:
            self._check()

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each dimension, the seeds last."""
        return (*map(len, self.dimensions), len(self.seeds))

    @property
    def dims(self) -> tuple[str, ...]:
        """The name of each dimension."""
        return (*(dimension.name for dimension in self.dimensions), SEED)

    def __len__(self) -> int:
        return math.prod(self.shape)

    def with_seeds(self, count: int) -> Sweep:
        """Return the same sweep with ``count`` seeds: its own first, then those that follow."""
        found = copy.copy(self)
        following = itertools.count(max(self.seeds) + 1)
        found.seeds = (*self.seeds, *itertools.islice(following, max(count - len(self.seeds), 0)))
        return found

    def settings(self, position: int) -> dict[str, Any]:
        """Return key → value of the run at ``position`` (row-major, the seed varies fastest)."""
        position, seed = divmod(position, len(self.seeds))
        chosen: dict[str, Any] = {}
        for dimension in reversed(self.dimensions):
            position, index = divmod(position, len(dimension))
            chosen = {axis.key: axis.values[index] for axis in dimension.axes} | chosen
        return {**chosen, SEED: self.seeds[seed]}

    def experiment(self, position: int) -> Experiment:
        """Return the experiment at ``position``. Raises ConfigError if it is impossible."""
        return scenario.build(self.base, {**self.settings(position), "title": ""})

    def experiments(self) -> Iterator[Experiment | ConfigError]:
        """Yield every experiment in order, or why it is impossible."""
        for it in self.unknown(lambda position: None):
            assert not isinstance(it, str)
            yield it

    def unknown(
        self, known: Callable[[int], str | None]
    ) -> Iterator[Experiment | ConfigError | str]:
        """Yield as experiments() does, but what ``known`` has for a position unless that is None.

        To make an experiment takes much longer.
        """
        for start in range(0, len(self), len(self.seeds)):
            first: Experiment | ConfigError | None = None
            for offset, seed in enumerate(self.seeds):
                if (it := known(start + offset)) is not None:
                    yield it
                    continue
                if first is None:
                    try:
                        first = self.experiment(start)
                    except ConfigError as error:
                        first = error
                # No other key depends on the seed.
                if isinstance(first, Experiment) and first.seed != seed:
                    yield first.with_seed(seed)
                else:
                    yield first

    @cached_property
    def coordinates(self) -> dict[str, tuple[str, Coordinate]]:
        """Axis → its dimension and its values in SI units."""
        first = scenario.apply(self.base, self.settings(0))
        return {
            axis.key: (dimension.name, coordinate(axis, first, self.base, lenient=self._is_record))
            for dimension in self.dimensions
            for axis in dimension.axes
        }

    @cached_property
    def conditions(self) -> str:
        """What all runs have in common, in words; empty if none of those tried is possible."""
        keys = [axis.key for dimension in self.dimensions for axis in dimension.axes]
        found = self.first_possible
        return "" if isinstance(found, ConfigError) else conditions(found, keys)

    @property
    def kernels(self) -> str:
        """The profiles of the kernel that its hosts have: the values of axes, or the base's."""
        axes = (axis for it in self.dimensions for axis in it.axes if axis.key.endswith(".kernel"))
        if values := sorted({str(value) for axis in axes for value in axis.values}):
            return ", ".join(values)
        found = self.first_possible
        return "" if isinstance(found, ConfigError) else provenance.kernels(found.resolved)

    @cached_property
    def first_possible(self) -> Experiment | ConfigError:
        """Return an experiment that is possible; else what all that were tried refuse alike.

        If they have nothing in common, why the first one is impossible; without a problem if some
        were not tried.
        """
        tried = list[ConfigError]()
        for point in self._spread():
            try:
                return self.experiment(point * len(self.seeds))
            except ConfigError as error:
                tried.append(error)
        common = tried[0].problems
        for other in tried:
            common = tuple(it for it in common if it in other.problems)
        if not common and len(self) <= _MOST_TRIED * len(self.seeds):
            return tried[0]
        return ConfigError(*common)

    def samples(self) -> Iterator[tuple[int, Experiment]]:
        """Yield position and experiment of possible runs from all over the grid, at most 1,000."""
        for point in self._spread():
            with contextlib.suppress(ConfigError):
                yield point * len(self.seeds), self.experiment(point * len(self.seeds))

    def of_each(self, word: str) -> Iterator[Experiment]:
        """Yield a possible experiment, and those of each value of axes with ``word`` in their key.

        Other axes have their first value there.
        """
        if isinstance(self.first_possible, Experiment):
            yield self.first_possible
        step = len(self.seeds)
        for dimension in reversed(self.dimensions):
            if any(word in axis.key for axis in dimension.axes):
                for index in range(len(dimension)):
                    with contextlib.suppress(ConfigError):
                        yield self.experiment(index * step)
            step *= len(dimension)

    def _spread(self) -> Iterator[int]:
        """Yield at most _MOST_TRIED points: the first ones, then others from all over the grid."""
        points = math.prod(self.shape[:-1])
        yield from range(min(points, _FIRST_TRIED))
        step = max(round(points * _GOLDEN_RATIO), 1)
        while math.gcd(step, points) > 1:
            step += 1
        reached = (number * step % points for number in range(min(points, _MOST_TRIED)))
        yield from (point for point in reached if point >= _FIRST_TRIED)

    def to_toml(self) -> str:
        """Return the scenario with its sweep; ranges and samples are replaced by their values."""
        declared: dict[str, Any] = {"seeds": list(self.seeds)}
        for dimension in self.dimensions:
            values = {axis.key: list(axis.values) for axis in dimension.axes}
            declared |= {"zip": values} if dimension.name == POINT else values
        return write_toml({**self.base, "sweep": declared})

    def _check(self) -> None:
        """Check every single value before anything runs. Raises ConfigError."""
        for name, (dimension, values) in self.coordinates.items():
            unique = set(values.values)
            if dimension != POINT and len(unique) < len(values.values):
                twice = next(v for v in values.values if values.values.count(v) > 1)
                raise ConfigError(Problem(f"sweep.{name}", twice, "each value only once"))
        self._check_that_axes_have_effect()
        found = self.first_possible
        if isinstance(found, ConfigError) and found.problems:
            raise found  # nothing would run

    def _check_that_axes_have_effect(self) -> None:
        """Raise ConfigError if an axis sets only what another one sets again."""
        axes = {axis.key: axis for dimension in self.dimensions for axis in dimension.axes}
        first = {key: axis.values[0] for key, axis in axes.items()}
        for key, axis in axes.items():
            changed = {key: axis.values[-1]}
            if len(axis.values) == 1 or self._differ(first, changed):
                continue
            for other in first.keys() - {key}:
                without = {name: value for name, value in first.items() if name != other}
                if self._differ(without, changed):
                    expected = f"no axis, because sweep.{other} sets the same key again"
                    raise ConfigError(Problem(f"sweep.{key}", MISSING, expected))

    def _differ(self, settings: Mapping[str, Any], changed: Mapping[str, Any]) -> bool:
        """Whether the scenario differs with ``changed`` values in ``settings``."""
        one, other = settings, {**settings, **changed}
        return scenario.apply(self.base, one) != scenario.apply(self.base, other)


def _table(base: Experiment | Mapping[str, Any] | str | Path) -> dict[str, Any]:
    if isinstance(base, Experiment):
        return base.table()
    if isinstance(base, (str, Path)):
        return scenario.read_scenario(Path(base))
    return dict(scenario.tables_of(base))


def _default_name(base: object, table: Mapping[str, Any]) -> str:
    if isinstance(base, (str, Path)):
        return Path(base).stem
    title = table.get("title")
    allowed = "".join(c if c.isalnum() and c.isascii() else "-" for c in str(title or "")).strip(
        "-"
    )
    return allowed.lower()[:100] or "sweep"


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return dotted key → value of a table that may be nested: ``path.rtt = […]``."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        key = f"{prefix}{name}"
        if key in ("zip", "sample"):
            flat[key] = _flat(value) if isinstance(value, Mapping) else value
        elif isinstance(value, Mapping) and not value.keys() & {"from", "to", "steps"}:
            flat |= _flat(value, f"{key}.")
        else:
            flat[key] = plain(value)
    return flat


def seeds_of(
    seeds: int | Sequence[int] | object, first: object, key: str = "sweep.seeds"
) -> tuple[int, ...]:
    """Return the seeds. Raises ConfigError.

    ``seeds``: how many, or which; ``first``: where a number of them begins, unless it is no seed;
    ``key``: that of ``seeds``, for errors.
    """
    expected = "the number of seeds, from 1 to 1000000, or a list of different whole numbers"
    if isinstance(seeds, int) and not isinstance(seeds, bool) and 1 <= seeds <= 1_000_000:
        begin = first if isinstance(first, int) and 0 <= first <= _MAX_SEED - seeds else 1
        return tuple(range(begin, begin + seeds))
    if isinstance(seeds, Iterable) and not isinstance(seeds, (str, bytes, Mapping)):
        listed = tuple(seeds)
        whole = all(
            isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed <= _MAX_SEED
            for seed in listed
        )
        if listed and whole and len(set(listed)) == len(listed):
            return listed
        raise ConfigError(Problem(key, list(listed), expected))
    raise ConfigError(Problem(key, seeds, expected))


def _count(declared: Mapping[str, Any], table: Mapping[str, Any]) -> int:
    """Return the number of points. They are checked when they are made."""
    first = scenario.apply(table, _first_values(declared))
    sizes = []
    for key, values in declared.items():
        if key == "zip":
            axes = values.values() if isinstance(values, Mapping) else ()
            sizes.append(max((len(it) for it in axes if isinstance(it, list)), default=1))
        elif key == "sample":
            sizes.append(_points(values))
        elif key not in (SEED, "title"):
            sizes.append(axis_length(key, values, first))
    return math.prod(sizes)


def _points(table: object) -> int:
    """Return the number of points that ``[sweep.sample]`` asks for. Raises ConfigError."""
    if not isinstance(table, Mapping):
        raise ConfigError(Problem("sweep.sample", table, "a table with points and intervals"))
    points = table.get("points", MISSING)
    if isinstance(points, bool) or not isinstance(points, int) or not 1 <= points <= _MAX_POINTS:
        expected = f"a whole number from 1 to {_MAX_POINTS}"
        raise ConfigError(Problem("sweep.sample.points", points, expected))
    return points


def _dimensions(declared: Mapping[str, Any], table: Mapping[str, Any]) -> tuple[Dimension, ...]:
    first = scenario.apply(table, _first_values(declared))
    dimensions = []
    for key, values in declared.items():
        if key in ("zip", "sample"):
            read: Callable[[Any, Table], tuple[Axis, ...]]
            read = _zipped if key == "zip" else _sampled
            dimensions.append(Dimension(POINT, read(values, first)))
        else:
            check_has_effect(f"sweep.{key}", key, values)
            dimensions.append(Dimension(key, (parse_axis(key, values, first),)))
    dimensions.sort(key=lambda dimension: dimension.name == POINT)  # last, as in TOML
    keys = [axis.key for dimension in dimensions for axis in dimension.axes]
    for key in keys:
        if keys.count(key) > 1:
            raise ConfigError(Problem(f"sweep.{key}", MISSING, "one axis only"))
    if "zip" in declared and "sample" in declared:
        raise ConfigError(Problem("sweep.sample", MISSING, "no sample, because sweep.zip is given"))
    return tuple(dimensions)


def _first_values(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return one value of each listed axis. A range may depend on them (its algorithm)."""
    listed = dict(declared)
    listed |= listed.pop("zip", {}) if isinstance(listed.get("zip", {}), Mapping) else {}
    return {
        key: values[0]
        for key, values in listed.items()
        if isinstance(values, (list, tuple)) and values and key not in (SEED, "title")
    }


def _zipped(table: object, first: Table) -> tuple[Axis, ...]:
    if not isinstance(table, Mapping) or not table:
        raise ConfigError(Problem("sweep.zip", table, "a table of axes of equal length"))
    axes = tuple(parse_axis(key, values, first) for key, values in table.items())
    for axis in axes:
        if len(axis.values) != len(axes[0].values):
            expected = f"as many values as {axes[0].key} has ({len(axes[0].values)})"
            raise ConfigError(Problem(f"sweep.zip.{axis.key}", len(axis.values), expected))
    return axes


def _sampled(table: Mapping[str, Any], first: Table) -> tuple[Axis, ...]:
    points = _points(table)
    method = table.get("method", _METHODS[0])
    if method not in _METHODS:
        raise unknown_name("sweep.sample.method", method, _METHODS)
    seed = table.get("seed", 1)
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= _MAX_SEED:
        raise ConfigError(
            Problem("sweep.sample.seed", seed, f"a whole number from 0 to {_MAX_SEED}")
        )
    intervals = {
        key: parse_interval(key, value, first)
        for key, value in table.items()
        if key not in _SAMPLE_KEYS
    }
    if not intervals:
        raise ConfigError(Problem("sweep.sample", MISSING, "at least one interval"))
    return sample(intervals, points, method, seed)
