# SPDX-License-Identifier: GPL-2.0-only
"""A sweep's results in a terminal: mean over seeds and farthest run at each point."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunnelcc.analysis.values import Finding
from tunnelcc.config.keys import key_info
from tunnelcc.metrics import confidence, drift, entries
from tunnelcc.output.tables import Table, console
from tunnelcc.schema.units import format_probability, format_rate, format_time
from tunnelcc.sweeps.columns import Variable, Variables
from tunnelcc.words import causes, findings
from tunnelcc.words.quantities import RATE, mbit_decimals, shown

#: Rows of a table in a terminal.
MOST_ROWS = 48

# Points that a line below the table names.
_MOST_NAMES = 4

# Axes of the flows' congestion control.
_CC_KEYS = ("cc", "flows.cc", "flows.0.cc")

#: Defaults of hosts that may limit a flow → a value that does not.
HOST_DEFAULTS = {"hosts.tcp_wmem": "64MiB", "hosts.tcp_rmem": "64MiB"}
#: Metric → heading, factor, digits (None: as many as ``mbit()`` writes).
_COLUMNS: dict[str, tuple[str, float, int | None]] = {
    "goodput": (RATE.heading("goodput"), RATE.factor, None),
    "utilisation": ("utilisation", 1, 3),
    "jain": ("Jain", 1, 3),
    "queue_delay_mean": ("queueing ms", 1e3, 2),
    "retransmission_ratio": ("retransmitted %", 1e2, 3),
}


#: Unit → digits (None: as many as ``mbit()`` writes).
_DIGITS: dict[str, int | None] = {"bit/s": None, "1": 4}


def conditions(
    data: Variables, coordinates: Variables, metrics: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """Yield a record of each condition: its axes, and mean, least and most of metrics over seeds.

    ``metrics``: in addition to those that every table has; of flows, as of_runs().
    """
    dims, goodputs, _ = data["goodput"]
    keys = [key for key, (along, _, _) in coordinates.items() if set(along) & set(dims[:-1])]
    names = list(dict.fromkeys((*_COLUMNS, *metrics)))
    values = {name: of_runs(data, name, keys) for name in names}
    for point in np.ndindex(*goodputs.shape[:-1]):
        at = dict(zip(dims, point, strict=False))
        row = {key: coordinates[key][1][at[coordinates[key][0][0]]] for key in keys}
        row["seeds"] = int(np.isfinite(goodputs[point]).sum())
        for name in names:
            finite = values[name][point][np.isfinite(values[name][point])]
            row[name] = finite.mean() if finite.size else None
            row[f"{name}.least"] = finite.min() if finite.size else None
            row[f"{name}.most"] = finite.max() if finite.size else None
        yield row


def print_results(
    data: Variables,
    coordinates: Variables,
    metrics: Sequence[str] = (),
    heading: str = "",
    confirmed: Mapping[tuple[int, ...], Sequence[Finding]] | None = None,
) -> None:
    """Print one row per point: the mean over the seeds ± the distance of the farthest run.

    ``metrics``: are also printed if the table has no column for them; of flows, as of_runs().
    ``heading``: a line above the table. ``confirmed``: point → what limits there, by more runs.
    """
    dims, goodputs, _ = data["goodput"]
    points, shape = dims[:-1], goodputs.shape[:-1]
    keys = [key for key, (along, _, _) in coordinates.items() if set(along) & set(points)]
    columns = list(_columns(data, keys, metrics))
    told, own = _without_effect(data, coordinates, points, shape)
    rows: list[list[str]] = []
    limits: list[tuple[str, float]] = []
    gains: list[tuple[str, str] | None] = []
    drifts: list[float] = []
    for point in itertools.islice((it for it in np.ndindex(*shape) if it in told), MOST_ROWS):
        at = dict(zip(points, point, strict=True))
        cells = [
            own[point] if key in _CC_KEYS and point in own
            else _coordinate(key, coordinates[key], at)
            for key in keys
        ]  # fmt: skip
        for column in columns:
            mean, farthest = (values[point] for values in column.spread)
            cells.append(column.written(mean, farthest))
        rows.append(cells)
        texts, shares = (data[f"flow_limited_{it}"][1][point] for it in ("by", "share"))
        limits.append(causes.at_point(texts, shares))
        found = (confirmed or {}).get(point)
        gains.append(findings.at_point(found) if found else None)
        drifts.append(drift.at_point(data["flow_drift"][1][point], data["goodput"][1][point]))
    headings = [*keys, *(column.heading for column in columns)]
    out = console()
    widths = [max(map(len, cells)) for cells in zip(headings, *rows, strict=True)]
    told_limits = (
        [f"{text} {share:.0%}" if text else "–" for text, share in limits]
        if not confirmed
        else [", ".join(filter(None, it or ("–",))) for it in gains]
    )
    longest = max(map(len, told_limits), default=0)
    has_room = sum(widths) + 2 * len(widths) + longest <= out.width
    if has_room:
        headings.append("limited by")
        rows = [[*cells, limit] for cells, limit in zip(rows, told_limits, strict=True)]
    if heading:
        out.print(heading, style="bold", markup=False)
    numbers = range(len(keys), len(widths))
    Table("", headings, rows, numbers, whole=range(len(widths))).print(out)
    if not has_room and confirmed:
        for name in dict.fromkeys(it[0] for it in gains if it):
            worth = [it[1] for it in gains if it and it[0] == name]
            alike = [cells for cells, it in zip(rows, gains, strict=True) if it and it[0] == name]
            line = findings.limited_by(name, worth)
            out.print(f"{line}: {_names(alike, len(keys))}", markup=False)
    elif not has_room:
        for text in dict.fromkeys(text for text, _ in limits if text):
            shares = [share for limit, share in limits if limit == text]
            alike = [cells for cells, limit in zip(rows, limits, strict=True) if limit[0] == text]
            least, most = f"{100 * min(shares):.0f}", f"{max(shares):.0%}"
            share = most if f"{least}%" == most else f"{least} to {most}"
            out.print(f"limited by {text} {share}: {_names(alike, len(keys))}", markup=False)
    if any(drifts):
        alike = [cells for cells, it in zip(rows, drifts, strict=True) if it]
        out.print(
            f"not steady, the goodput changed by up to {max(drifts):.0%} of its mean from the "
            f"first half of the time to the second: {_names(alike, len(keys))}. {drift.ADVICE}",
            markup=False,
        )
    if own:
        out.print(
            "any: the carrier has a congestion control of its own, and cc does not change the "
            "result",
            markup=False,
        )
    if goodputs.shape[-1] > 1:
        seeds = confidence.from_to(*confidence.fewest_and_most(goodputs))
        out.print(f"means of {seeds} seeds ± distance of the farthest run", markup=False)
    arrives = np.isfinite(data["flow_bytes"][1]) & np.isfinite(data["flow_start"][1])
    if (arrives & np.isnan(data["flow_completed"][1])).any():
        out.print("completion: without flows that start in the warm-up", markup=False)
    left = len(told) - MOST_ROWS
    if left > 0:
        out.print(f"… and {left} more; --output FILE.csv writes all", markup=False)


def _names(rows: Sequence[Sequence[str]], keys: int) -> str:
    """Name some points by the first ``keys`` cells of their rows."""
    named = ", ".join(" ".join(cells[:keys]) for cells in rows[:_MOST_NAMES])
    return named + (f" and {len(rows) - _MOST_NAMES} more" if len(rows) > _MOST_NAMES else "")


def _without_effect(
    data: Variables,
    coordinates: Variables,
    points: Sequence[str],
    shape: Sequence[int],
) -> tuple[set[tuple[int, ...]], dict[tuple[int, ...], str]]:
    """Return the points that a row tells of, and the cell of cc in those that stand for several.

    The flows' congestion control has no effect where a tunnel's carrier has one of its own. There,
    results are the same to the last digit.
    """
    told, own = set(np.ndindex(*shape)), {}
    for key in _CC_KEYS:
        dims = coordinates[key][0] if key in coordinates else ()
        alone = [it for it, (along, _, _) in coordinates.items() if set(along) & set(dims)]
        if len(dims) != 1 or alone != [key]:
            continue
        axis = list(points).index(dims[0])
        for first in [it for it in np.ndindex(*shape) if it[axis] == 0]:
            others = [(*first[:axis], i, *first[axis + 1 :]) for i in range(1, shape[axis])]
            across = data["flow_cc"][1][first].flat
            is_same = all(
                np.array_equal(data["goodput"][1][first], data["goodput"][1][it])
                and np.array_equal(data["flow_cc"][1][first], data["flow_cc"][1][it])
                for it in others
            )
            if others and is_same and np.isfinite(data["goodput"][1][first]).any():
                told -= set(others)
                own[first] = f"any ({next(filter(None, across), '')})"
    return told, own


def limiting_defaults(
    data: Variables, coordinates: Variables, given: Callable[[str], bool]
) -> dict[str, tuple[int, int]]:
    """Return the defaults of hosts that limited most flows at some points.

    Key → the number of these points, and of all: another value may change their order. ``given``:
    whether the scenario states a key.
    """
    keys = data["flow_limited_key"][1]
    points = np.isfinite(data["goodput"][1]).any(axis=-1)
    flows = (data["flow_limited_by"][1] != "").sum(axis=(-1, -2))
    found = {}
    for key in HOST_DEFAULTS:
        limited = points & (2 * (keys == key).sum(axis=(-1, -2)) > flows)
        if limited.any() and points.sum() > 1 and key not in coordinates and not given(key):
            found[key] = int(limited.sum()), int(points.sum())
    return found


@dataclass(frozen=True)
class _Column:
    """``spread``: mean over the seeds, and distance of the farthest, at each point."""

    heading: str
    factor: float
    digits: int | None
    spread: tuple[NDArray[np.float64], NDArray[np.float64]]

    def written(self, mean: float, farthest: float) -> str:
        if np.isnan(mean):
            return "–"
        digits = mbit_decimals(mean) if self.digits is None else self.digits
        text = f"{mean * self.factor:.{digits}f}"
        return text + ("" if np.isnan(farthest) else f" ± {farthest * self.factor:.{digits}f}")


def _columns(data: Variables, axes: Sequence[str], metrics: Sequence[str]) -> Iterator[_Column]:
    told = entries.told(data["flow_group"][1], axes)
    for metric in metrics:
        if metric in _COLUMNS or (metric == "flow_share" and told):
            continue
        unit = data[metric][2]["units"]
        heading, factor = shown_in(named(data, metric, axes), unit)
        spread = _mean_and_farthest(of_runs(data, metric, axes))
        yield _Column(heading, factor, _DIGITS.get(unit, 2), spread)
    yield from _completion_columns(data, metrics)
    finite = _finite(data)
    # Of one flow, or of flows that end, Jain's index tells nothing.
    goes_on = ~finite & np.isfinite(data["flow_group"][1])
    has_shares = finite.shape[-1] > 1 and goes_on.any()
    for name, (heading, factor, digits) in _COLUMNS.items():
        if name != "jain" or has_shares or "jain" in metrics:
            yield _Column(heading, factor, digits, _mean_and_farthest(data[name][1]))
        if name == "jain":
            for entry in told:
                shares = _mean_and_farthest(shares_of(data, entry))
                yield _Column(share_heading(entry), 1e2, 1, shares)


def share_heading(entry: int) -> str:
    """Return the heading of the shares (%) of an entry of ``flows``."""
    return f"flows.{entry} share %"


def shown_in(name: str, units: str) -> tuple[str, float]:
    """Return a metric's heading with its unit, and the factor from SI units."""
    if name in _COLUMNS:
        return _COLUMNS[name][:2]
    scale = shown(units)
    return scale.heading(name), scale.factor


def _completion_columns(data: Variables, metrics: Sequence[str]) -> Iterator[_Column]:
    """Yield how long finite flows take, and how many of those that arrive complete.

    Flows that start in the warm-up do not count.
    """
    completed = data["flow_completed"]
    if not np.isfinite(data["flow_bytes"][1]).any():
        return
    if "flow_completion_time" not in metrics:
        times = _mean_and_farthest(of_runs(data, "flow_completion_time"))
        yield _Column("completion s", 1, 3, times)
    if "flow_completed" not in metrics and (completed[1] == 0).any():
        yield _Column("completed %", 1e2, 1, _mean_and_farthest(of_runs(data, "flow_completed")))


def _mean_and_farthest(
    values: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean over the last dimension, seeds, and the distance of the value farthest away.

    NaN runs do not count. The distance is NaN if fewer than two runs remain.
    """
    count = np.isfinite(values).sum(axis=-1)
    mean = np.divide(
        np.nansum(values, axis=-1), count, where=count > 0, out=np.full(count.shape, np.nan)
    )
    away = np.nan_to_num(np.abs(values - mean[..., np.newaxis])).max(axis=-1)
    return mean, np.where(count > 1, away, np.nan)


def of_runs(data: Variables, metric: str, axes: Iterable[str] = ()) -> NDArray[np.float64]:
    """Return one value per run: of a metric of flows, see entries.of_runs().

    ``axes``: keys of the sweep.
    """
    dims, values, _ = data[metric]
    if "flow" not in dims:
        return values
    groups = data["flow_group"][1]
    return entries.of_runs(metric, values, groups, entries.told_of(metric, groups, axes))


def named(data: Variables, metric: str, axes: Iterable[str]) -> str:
    """Return the name of a metric and, of flows, whose it is."""
    return metric + entries.whose(entries.told_of(metric, data["flow_group"][1], axes))


def _finite(data: Variables) -> NDArray[np.bool_]:
    """Return which flows are of an entry of ``flows`` that has finite flows in any run."""
    groups = data["flow_group"][1]
    finite = {*groups[np.isfinite(data["flow_bytes"][1])].tolist()}
    return np.isin(groups, [*finite])


def shares_of(data: Variables, entry: int) -> NDArray[np.float64]:
    """Return the part of each run's goodput that the flows of one entry have together."""
    return entries.of_runs("flow_share", data["flow_share"][1], data["flow_group"][1], entry)


def _coordinate(key: str, variable: Variable, at: dict[str, int]) -> str:
    dims, values, attributes = variable
    return text(key, values[tuple(at[dim] for dim in dims)], attributes.get("units", ""))


def text(key: str, value: Any, unit: str) -> str:
    """Return a value of an axis (SI) with its unit, as a scenario writes it."""
    if isinstance(value, str):
        return value
    formats = {"s": format_time, "bit/s": format_rate}
    if unit in formats:
        return formats[unit](float(f"{value:.4g}"))
    if _is_percentage(key):
        return format_probability(float(f"{value:.4g}"))
    return f"{value:.6g}" + {"bdp": "bdp", "packet": "p", "byte": "B"}.get(unit, "")


def _is_percentage(key: str) -> bool:
    """Whether a key, or else a parameter of a congestion control, is shown in percent."""
    info = key_info(key)
    return "loss" in key if info is None else info.kind is not None and info.kind.in_percent
