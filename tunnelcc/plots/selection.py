# SPDX-License-Identifier: GPL-2.0-only
"""A sweep's results as figures need them: axes, selected points, one line per group.

The Dataset has a dimension for each axis (or ``point`` for axes that vary together) and ``seed``.
Coordinates are in SI units. Variables are metrics; those of flows have the dimension ``flow``. If a
figure uses several axes that vary together, they become a grid with gaps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tunnelcc import core
from tunnelcc.errors import MISSING, ConfigError, Problem, nearest, unknown_name
from tunnelcc.metrics import entries as of_entries
from tunnelcc.plots import scales
from tunnelcc.plots.style import ALGORITHMS, algorithm_style, category_style, member_style
from tunnelcc.schema import units
from tunnelcc.schema.toml import parse_toml
from tunnelcc.words.quantities import spaced

if TYPE_CHECKING:
    import xarray

    from tunnelcc.scenario import Experiment

#: Ratio of the largest base RTT of a flow to the least, where a sweep varies it: a further axis.
RTT_RATIO = "rtt_ratio"
#: Groups the flows of a run by congestion control, or takes each for itself.
BY_FLOW = ("cc", "flow")
#: With more flows than this, a line for each says nothing.
MOST_FLOWS = 8
#: With more flows than this, a name and a band for each fill the figure.
MOST_NAMED = 12
# Names of one key: an axis of either is found by the other.
_ALIASES = (("tunnel", "tunnel.name"), ("cc", "flows.cc"))
_POINT = "point"
# How a flow is told from others: variable → text after the name of its congestion control.
_DIFFERENCES: dict[str, Callable[[str], str]] = {
    "flow_transport": lambda word: f" over {word.upper()}",
    "flow_tunnel": lambda word: "" if word == "none" else f" in {word}",
    "flow_direction": lambda word: f" {word}",
}
_PARSERS = {"s": units.parse_time, "bit/s": units.parse_rate, "byte": units.parse_size}


@dataclass(frozen=True)
class Line:
    """One line of a figure: ``values`` over axes and seed. ``algorithm``: its own, if any.

    ``is_one_of_many``: it shares label and style with others, and has no room for a band.
    """

    label: str
    style: dict[str, Any]
    values: xarray.DataArray
    algorithm: str = ""
    is_one_of_many: bool = False


class Selection:
    """The ``results`` of a sweep, at selected points if ``at`` gives values of axes.

    Raises ConfigError.
    """

    def __init__(
        self,
        results: xarray.Dataset,
        at: Mapping[str, object] | None = None,
        gaps: bool = False,
    ) -> None:
        if "goodput" not in results or "seed" not in results["goodput"].dims:
            expected = "results of a sweep with the dimension seed; figures take means themselves"
            raise ConfigError(Problem("results", MISSING, expected))
        self.results = _with_rtt_ratio(results)
        #: Kinds of flows whose lines look different; those of all panels of a figure.
        self.looks: list[tuple[str, str]] = []
        #: Whether points are missing because axes that varied together became a grid.
        self.gaps = gaps
        self.fixed: list[str] = []
        for key, value in (at or {}).items():
            self._fix(key, value)

    @property
    def axes(self) -> dict[str, xarray.DataArray]:
        """Key → coordinate of each axis that still has several values."""
        dims = set(self.results["goodput"].dims) - {"seed"}
        return {
            str(key): coordinate
            for key, coordinate in self.results.coords.items()
            if coordinate.ndim == 1 and key != _POINT and coordinate.dims[0] in dims
        }

    @property
    def ever_finite_flows(self) -> NDArray[np.bool_]:
        """Which flows have an end (``flows.bytes``) in any run; shape (flow,)."""
        sizes = self.results["flow_bytes"]
        finite: NDArray[np.bool_] = sizes.notnull().any(_others(sizes)).values
        return finite

    @property
    def finite_flows(self) -> NDArray[np.bool_]:
        """Which flows have an end (``flows.bytes``) in every run that has them; shape (flow,)."""
        sizes, entries = self.results["flow_bytes"], self.results["flow_group"]
        is_endless = (sizes.isnull() & entries.notnull()).any(_others(sizes)).values
        finite: NDArray[np.bool_] = self.ever_finite_flows & ~is_endless
        return finite

    @cached_property
    def base(self) -> Experiment:
        """The scenario that the axes change."""
        from tunnelcc.scenario import Experiment

        experiment: Experiment = Experiment.parse(self._scenario[0])
        return experiment

    @cached_property
    def _scenario(self) -> tuple[dict[str, Any], set[str]]:
        """The scenario's tables, and the keys of the axes."""
        table = parse_toml(str(self.results.attrs["scenario"]), "the scenario of the results")
        sweep = table.pop("sweep", {})
        return table, {*sweep, *sweep.get("zip", {})} - {"seeds", "zip"}

    def experiments(self, x: str) -> list[Experiment]:
        """Return the experiments that have results, each at one value of the axis ``x``.

        Raises ConfigError if they are not known: the results lack an axis of the sweep, or have
        values only as texts.
        """
        from tunnelcc import scenario

        table, keys = self._scenario
        if missing := keys - self.results.coords.keys():
            raise ConfigError(Problem("results", min(missing), "all axes of the sweep"))
        axes = {key: self.results.coords[key] for key in keys}
        texts = {
            key: scales.written(axis if axis.ndim else axis.expand_dims("only"))
            for key, axis in axes.items()
        }
        known = self.results["goodput"].notnull().any("seed")
        found: dict[tuple[str, ...], dict[str, str]] = {}
        for place in np.argwhere(known.values):
            at = dict(zip(known.dims, place, strict=True))
            point = {
                key: texts[key][at[axis.dims[0]] if axis.ndim else 0] for key, axis in axes.items()
            }
            found.setdefault(tuple(point[key] for key in keys - {x}), point)
        return [
            scenario.build(
                table, {key: scenario.parse_text(key, text) for key, text in point.items()}
            )
            for point in found.values()
        ]

    def metric(self, name: str, option: str) -> xarray.DataArray:
        """Return a metric by name. ``option``: its name in the error. Raises ConfigError."""
        known = [
            str(key)
            for key, variable in self.results.data_vars.items()
            if variable.dtype.kind == "f" and "time" not in variable.dims
        ]
        if name not in known:
            raise unknown_name(option, name, known, "one of the metrics")
        return self.results[name]

    def metric_with_values(self, name: str, option: str) -> xarray.DataArray:
        """Return a metric by name. Raises ConfigError, also if no run has a value."""
        metric = self.metric(name, option)
        if not np.isfinite(metric.values).any():
            which = "of the runs that --at leaves" if self.fixed else "run"
            raise ConfigError(
                Problem(option, name, f"a metric that at least one {which} has a value of")
            )
        return metric

    def axis(self, name: str, option: str, *, numeric: bool = False) -> xarray.DataArray:
        """Return an axis by key. Raises ConfigError if unknown, or ``numeric`` but of names."""
        name = self.key(name)
        known = [
            key for key, values in self.axes.items() if not numeric or scales.is_number(values)
        ]
        if name not in known:
            kind = "axes with numbers" if numeric else "axes"
            expected = f"one of the {kind} " + ", ".join(known) if known else "a sweep with axes"
            raise ConfigError(Problem(option, name, expected, nearest(name, known)))
        return self.axes[name]

    def key(self, name: str) -> str:
        """Return the key of the axis that has this name, which may be another name of the key."""
        others = [also for names in _ALIASES if name in names for also in names]
        return next((key for key in (name, *others) if key in self.axes), name)

    def use(self, x: str | None, *others: str | None) -> None:
        """Give each axis of a figure a dimension. Raise ConfigError if other axes are left.

        ``x`` may have several points with one value if no other used axis varies with it.
        """
        given = [key for key in (x, *others) if key is not None]
        for key in given:
            if given.count(key) > 1:
                raise ConfigError(Problem("results", key, "each axis only once in a figure"))
        undecided = self.undecided(x, *others)
        for left in undecided.values():
            self._complain(
                left,
                may_group=len(others) == 2 and others[0] is None,
                may_facet=others[-1:] == (None,),
            )
        keys = [key for key in dict.fromkeys((x, *others)) if key in self.axes]
        for dim in self._dims():
            used = [key for key in keys if self.axes[key].dims[0] == dim]
            if not used:
                self.results = self.results.isel({dim: 0})
            elif used not in ([dim], [x]):
                self.results = _as_grid(self.results, dim, used)
                self.gaps = True

    def undecided(self, x: str | None, *others: str | None) -> dict[str, list[str]]:
        """Return dimension → axes along it, of which a figure that uses some must use more."""
        found = {}
        for dim in self._dims():
            together = [key for key, axis in self.axes.items() if axis.dims[0] == dim]
            used = [key for key in together if key in (x, *others)]
            if used != [x] and not self._are_distinct(used, dim):
                left = [key for key in together if key not in used and self.distinct(key) > 1]
                found[dim] = [key for key in left if key != RTT_RATIO] or left
        return found

    def distinct(self, key: str) -> int:
        """Return the number of different values of an axis."""
        return len(set(self.axes[key].values.tolist()))

    def changed_entry(self, key: str | None) -> int | None:
        """Return the only entry of ``flows`` that the axis ``key`` changes, if any.

        None also if no flow of that entry is left: then the axis is shown for the others.
        """
        found = re.match(r"flows\.(\d+)\.", key or "")
        if not found or not bool((self.results["flow_group"] == int(found[1])).any()):
            return None
        return int(found[1])

    def told_entry(self, metric: str, by: str | None = None) -> int | None:
        """Return the entry of ``flows`` that a metric of flows tells of; None: all flows.

        ``by``: the axis with a line for each value.
        """
        changed = self.changed_entry(by)
        if changed is not None:
            return changed
        groups = self.results["flow_group"].values
        return of_entries.told_of(metric, groups, map(str, self.results.coords))

    def of_runs(self, metric: xarray.DataArray, by: str | None = None) -> xarray.DataArray:
        """Return one value per run of a metric; of flows, that of their told_entry()."""
        if "flow" not in metric.dims:
            return metric
        name = str(metric.name)
        of_flows = metric.transpose(..., "flow")
        groups = self.results["flow_group"].broadcast_like(of_flows).transpose(*of_flows.dims)
        values = of_entries.of_runs(name, of_flows.values, groups.values, self.told_entry(name, by))
        found: xarray.DataArray = of_flows.isel(flow=0, drop=True).copy(data=values)
        return found

    def _dims(self) -> list[str]:
        return list(dict.fromkeys(str(axis.dims[0]) for axis in self.axes.values()))

    def _complain(self, left: Sequence[str], *, may_group: bool, may_facet: bool) -> None:
        if not left:
            raise ConfigError(Problem("results", "equal points", "each point only once"))
        key = left[0]
        values = list(dict.fromkeys(scales.written(self.axes[key])))
        ways = ", ".join([f"--by {key}"] * may_group + [f"--facet {key}"] * may_facet)
        expected = f"{ways} or " * bool(ways) + f"--at {key}={values[len(values) // 2]}"
        hint = f"it has {len(values)} values: {', '.join(values)}"
        raise ConfigError(Problem(key, MISSING, expected, hint))

    def _are_distinct(self, keys: Sequence[str], dim: str) -> bool:
        """Return whether no two points along ``dim`` have equal values of the axes ``keys``."""
        size = self.results.sizes[dim]
        points = zip(*(self.axes[key].values.tolist() for key in keys), strict=True)
        return size <= 1 if not keys else len(set(points)) == size

    def lines(self, metric: xarray.DataArray, by: str | None) -> Iterator[Line]:
        """Yield one line per value of the axis ``by``, or per group of flows."""
        if by is not None and by in self.axes:
            yield from self._by_axis(metric, self.axes[by])
        elif "flow" in metric.dims:
            yield from self._by_flow(metric, each=by == "flow")
        else:
            yield Line("", category_style(0), metric, self._only_algorithm())

    def points(self, key: str | None) -> Iterator[tuple[str, Selection]]:
        """Yield title and part of the results for each value of the axis ``key``."""
        self.looks = self._kinds(self._differences())
        if key is None:
            yield "", self
            return
        coordinate = self.axis(key, "--facet")
        name = self._name_before_values(coordinate)
        for text, place in _groups(coordinate):
            part = Selection(self.results.isel({coordinate.dims[0]: place}), gaps=self.gaps)
            part.looks = self.looks
            yield name + text, part

    def number(self, key: str, default: float) -> Any:
        """Return the axis ``key`` as numbers in SI units, or its fixed value."""
        if key in self.results.coords:
            return self.results.coords[key]
        return default

    def title(self) -> str:
        """Return the scenario's title, and the fixed values."""
        own = self._title_of_scenario()
        title = own or spaced(str(self.results.attrs.get("title", "")))
        return ", ".join(part for part in (title, *self.fixed) if part)

    def _title_of_scenario(self) -> str:
        return self.base.title if "scenario" in self.results.attrs else ""

    def _fix(self, key: str, value: object) -> None:
        coordinate = self.axis(key, "--at")
        found = _find(coordinate, value)
        if not found:
            choices = ", ".join(dict.fromkeys(scales.written(coordinate)))
            raise ConfigError(Problem(f"--at {key}", value, f"one of {choices}"))
        self.fixed.append(scales.show_value(coordinate[found[:1]]))
        place = found[0] if len(found) == 1 else found
        self.results = self.results.isel({coordinate.dims[0]: place})

    def _by_axis(self, metric: xarray.DataArray, axis: xarray.DataArray) -> Iterator[Line]:
        name = self._name_before_values(axis)
        metric = self.of_runs(metric, str(axis.name))
        for index, (text, place) in enumerate(_groups(axis)):
            values = metric.isel({axis.dims[0]: place})
            if scales.is_algorithm(axis):
                yield Line(name + text, algorithm_style(text), values, text)
            else:
                yield Line(name + text, category_style(index), values, self._only_algorithm())

    def _name_before_values(self, axis: xarray.DataArray) -> str:
        """Return the name of an axis, to stand before its values where these do not say it."""
        is_alone = sum(map(scales.is_algorithm, self.results.coords.values())) < 2
        says_it = is_alone if scales.is_algorithm(axis) else not scales.is_number(axis)
        return "" if says_it else f"{scales.name_of(axis)} "

    def _by_flow(self, metric: xarray.DataArray, each: bool) -> Iterator[Line]:
        owners = self.results["flow_cc"].broadcast_like(metric)
        size, differences = metric.sizes["flow"], self._differences()
        kinds = self._kinds(differences)
        names = list(dict.fromkeys(name for name, _ in kinds))
        is_told = len(set(differences)) == 1  # by the algorithm alone
        has_groups = len(names) > 1 or (size > MOST_FLOWS and not is_told)
        if not each and (has_groups or size == 1):
            looks = list(dict.fromkeys([*self.looks, *kinds]))
            for name, text in kinds:
                is_one = (owners == name) & _flows_with(owners, differences, text)
                count = int(is_one.any(_others(owners)).sum())
                label = core.congestion_label(name) + text
                label = f"{label}, mean of {count}" if count > 1 else label
                look = looks.index((name, text))
                style = algorithm_style(name) if is_told else category_style(look)
                yield Line(label, style, metric.where(is_one).mean("flow"), name)
            return
        if not each and size > MOST_FLOWS:
            yield from self._by_rtt(metric, "" if len(names) > 1 else names[0])
            return
        if size > MOST_NAMED:
            yield from self._by_entry(metric, owners)
            return
        rtts = stated_rtts(self.results)
        has_rtts = float(rtts.max()) > float(rtts.min())
        for index in np.flatnonzero(metric.notnull().any(_others(metric)).values).tolist():
            known = np.unique(owners.isel(flow=index).values.astype(str)).tolist()
            owner = {str(name) for name in known} - {""}
            number = int(self.results["flow"][index])
            label, style, name = f"flow {number}", category_style(index), ""
            if len(owner) == 1:
                name = owner.pop()
                label = f"{label}, {core.congestion_label(name)}"
                style = member_style(name, index) if is_told else style
            label += differences[index]
            rtt = rtts.isel(flow=index)
            if has_rtts and float(rtt.min()) == float(rtt.max()):
                label += f", {scales.scale_of(rtt).text(float(rtt.max()))}"
            yield Line(label, style, metric.isel(flow=index), name)

    def _by_entry(self, metric: xarray.DataArray, owners: xarray.DataArray) -> Iterator[Line]:
        """Yield a thin line for each flow with values; those of an entry of ``flows`` look alike.

        Where points have different numbers of flows, a flow can be of one entry or another.
        """
        of_flows = self.results["flow_group"].transpose("flow", ...).values
        members: dict[tuple[int, ...], list[int]] = {}
        for flow in np.flatnonzero(metric.notnull().any(_others(metric)).values).tolist():
            numbers = of_flows[flow]
            entries = tuple(int(it) for it in np.unique(numbers[np.isfinite(numbers)]))
            members.setdefault(entries, []).append(flow)
        ccs = [
            {*map(str, owners.isel(flow=flows).values.flat)} - {""} for flows in members.values()
        ]
        has_own = all(len(names) == 1 for names in ccs) and len(set().union(*ccs)) == len(ccs)
        for index, ((entries, flows), names) in enumerate(zip(members.items(), ccs, strict=True)):
            name = min(names) if len(names) == 1 else ""
            parts = [core.congestion_label(name)] * bool(name)
            if len(members) > 1:
                parts.insert(0, " or ".join(f"flows.{entry}" for entry in entries))
            parts.append(f"{len(flows)} flows" if len(flows) > 1 else "1 flow")
            style = algorithm_style(name) if has_own else category_style(index)
            style = {
                **style, "linestyle": "-", "linewidth": 0.6, "alpha": 0.6, "marker": ".",
                "markersize": 3, "markeredgewidth": 0,
            }  # fmt: skip
            for flow in flows:
                values = metric.isel(flow=flow)
                yield Line(", ".join(parts), style, values, name, is_one_of_many=True)

    def _kinds(self, differences: Sequence[str]) -> list[tuple[str, str]]:
        """Return the algorithms of flows, each with its ``differences``, in the order of lines."""
        owners = self.results.get("flow_cc")
        if owners is None:
            return []
        names = {str(name) for name in np.unique(owners.values.astype(str))} - {""}
        ordered = sorted(names, key=lambda name: (name not in ALGORITHMS, name))
        return [
            (name, text)
            for name in ordered
            for text in dict.fromkeys(differences)
            if bool(((owners == name) & _flows_with(owners, differences, text)).any())
        ]

    def _differences(self) -> list[str]:
        """Return a text for each flow: its transport, tunnel and direction, if flows differ in it.

        What an axis changes is not told.
        """
        texts = [""] * self.results.sizes.get("flow", 0)
        for variable, told in _DIFFERENCES.items():
            found = self.results.get(variable)
            if found is None:
                continue
            of_flows = found.transpose("flow", ...).values.astype(str)
            known = [{*map(str, of_flow.flat)} - {""} for of_flow in of_flows]
            if all(len(words) < 2 for words in known) and len(set().union(*known)) > 1:
                texts = [
                    text + (told(words.pop()) if words else "")
                    for text, words in zip(texts, known, strict=True)
                ]
        return texts

    def _by_rtt(self, metric: xarray.DataArray, name: str) -> Iterator[Line]:
        """Yield the mean of the flows of each base RTT, or of all if there are too many RTTs."""
        rtts = stated_rtts(self.results)
        base = rtts.max(_others(rtts)).values
        known = np.unique(base[np.isfinite(base)])
        if known.size > MOST_FLOWS:
            yield Line(
                f"mean of {base.size} flows", member_style(name, 0), metric.mean("flow"), name
            )
            return
        scale = scales.scale_of(rtts)
        for index, rtt in enumerate(known):
            members = np.flatnonzero(base == rtt)
            values = metric.isel(flow=members).mean("flow")
            label = f"mean of {members.size} flows, {scale.text(float(rtt))}"
            yield Line(label, member_style(name, index), values, name)

    def _only_algorithm(self) -> str:
        owners = self.results.get("flow_cc")
        if owners is None:
            return ""
        names = {str(name) for name in np.unique(owners.values.astype(str))} - {""}
        return names.pop() if len(names) == 1 else ""


def _others(values: xarray.DataArray) -> list[Any]:
    return [dim for dim in values.dims if dim != "flow"]


def _groups(coordinate: xarray.DataArray) -> Iterator[tuple[str, Any]]:
    """Yield each value of an axis as text, and its position (several if several points have it)."""
    places: dict[Any, list[int]] = {}
    for index, value in enumerate(coordinate.values.tolist()):
        places.setdefault(value, []).append(index)
    texts, shared = scales.texts(coordinate), len(places) < coordinate.size
    for found in places.values():
        yield texts[found[0]], found if shared else found[0]


def _as_grid(results: xarray.Dataset, dim: str, keys: Sequence[str]) -> xarray.Dataset:
    """Return the results with a dimension for each of ``keys`` in place of ``dim``.

    Where there is no point, numbers are NaN and texts empty.
    """
    import xarray

    axes = {key: results.coords[key] for key in keys}
    values = {
        key: np.unique(axis.values) if scales.is_number(axis) else np.array(
            list(dict.fromkeys(axis.values.tolist())), dtype=object
        )
        for key, axis in axes.items()
    }  # fmt: skip
    place = np.full([len(known) for known in values.values()], -1)
    for point, at in enumerate(zip(*(axis.values.tolist() for axis in axes.values()), strict=True)):
        cell = [known.tolist().index(one) for known, one in zip(values.values(), at, strict=True)]
        place[tuple(cell)] = point
    where = xarray.DataArray(place, dims=list(keys))
    along = [name for name, axis in results.coords.items() if dim in axis.dims]
    grid = results.drop_vars(along).isel({dim: where})
    for name, variable in grid.data_vars.items():
        if where.dims[0] in variable.dims:
            empty = "" if variable.dtype == object else np.nan
            grid[name] = variable.where(where >= 0, empty).assign_attrs(variable.attrs)
    coordinates = {key: (key, known, axes[key].attrs) for key, known in values.items()}
    changed: xarray.Dataset = grid.assign_coords(coordinates)
    return changed


def _find(coordinate: xarray.DataArray, value: object) -> list[int]:
    """Return the position of a value, given as in a scenario (``40ms``) or in SI units."""
    text = str(value)
    if not scales.is_number(coordinate):
        found = np.flatnonzero(coordinate.values.astype(str) == text)
    else:
        number = _parse(text, str(coordinate.attrs.get("units", "1")))
        found = np.flatnonzero(np.isclose(coordinate.values, number, rtol=1e-9, atol=0))
    return [int(index) for index in found]


def _parse(text: str, unit: str) -> float:
    try:
        if unit in _PARSERS:
            return float(_PARSERS[unit](text))
        if text.endswith("%"):
            return float(units.parse_percentage(text))
        return float(text.removesuffix("bdp").removesuffix("p"))
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return float("nan")


def stated_rtts(results: xarray.Dataset) -> xarray.DataArray:
    """Return the base RTT (s) of each flow without what the seed drew, by which flows are told."""
    rtts: xarray.DataArray = results["flow_base_rtt"]
    if "flow_phase" not in results:
        return rtts
    stated: xarray.DataArray = (rtts - results["flow_phase"]).round(9)
    stated.attrs = rtts.attrs
    return stated


def _with_rtt_ratio(results: xarray.Dataset) -> xarray.Dataset:
    """Return the results with RTT_RATIO as a coordinate of the only axis that changes it."""
    if not results.sizes.get("flow") or RTT_RATIO in results.coords:
        return results
    rtts = stated_rtts(results)
    ratio = rtts.max("flow") / rtts.min("flow")
    varies = [dim for dim in ratio.dims if float((ratio.max(dim) - ratio.min(dim)).max()) > 1e-9]
    if len(varies) != 1:
        return results
    ratio = ratio.max([dim for dim in ratio.dims if dim != varies[0]])
    ratio.attrs = {"units": "1", "long_name": "ratio of the base RTTs"}
    ratio.name = RTT_RATIO
    changed: xarray.Dataset = results.assign_coords({RTT_RATIO: ratio})
    return changed


def _flows_with(owners: xarray.DataArray, texts: Sequence[str], text: str) -> xarray.DataArray:
    """Return which flows have ``text`` among ``texts``."""
    places = [index for index, it in enumerate(texts) if it == text]
    found: xarray.DataArray = owners["flow"].isin(owners["flow"].values[places])
    return found
