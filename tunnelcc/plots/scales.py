# SPDX-License-Identifier: GPL-2.0-only
"""From SI values to axes: common units, logarithms for geometric values, ticks."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tunnelcc import core
from tunnelcc.config.keys import key_info
from tunnelcc.schema import units
from tunnelcc.words.quantities import LARGE_RATE, LONG_TIME, PERCENT, RATE, TIME, Scale, short

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

# Metrics and parameters that are shown in percent; other ratios (Jain's index, shares) are not. Of
# a key, its Kind says so.
_PERCENTAGES = ("loss", "loss_rate", "utilisation", "retransmission_ratio", "cpu", "completed")
# What axes are called that sweeps use most; the key's description is a sentence.
_NAMES = {
    "path.rtt": "base RTT",
    "path.loss": "random loss",
    "path.buffer": "buffer",
    "path.rate": "bottleneck rate",
    "flows.count": "flows",
    "flows.interarrival": "mean time between arrivals",
    "cc": "congestion control",
    "flows.cc": "congestion control",
    "tunnel": "tunnel",
    "tunnel.name": "tunnel",
    "tunnel.cc": "carrier's congestion control",
    "tunnel.carriers": "connections across the path",
    "tunnel.relays": "relays on the way",
    "tcp.mss": "segment size (MSS)",
    "hosts.tcp_rmem": "largest receive buffer (tcp_rmem)",
    "hosts.tcp_wmem": "largest send buffer (tcp_wmem)",
    "rtt": "base RTT",
    "loss": "random loss",
}
_OF_FLOW = re.compile(r"flows\.(\d+)\.(\w+)")
_LONGEST_NAME = 60
# Numbers with a range of more than this are shown on a logarithmic axis if they are goodputs.
_WIDE = 30
# Over a smaller range than this a logarithm shows nothing that a straight axis does not.
_LEAST_GEOMETRIC = 6
# Sizes of writes and packets are shown in bytes, those of buffers in kB or MB.
_LEAST_KILOBYTE, _MOST_BYTES = 1000, 1e5
# With more values than this, an axis has ticks of its own choice.
_MOST_TICKS = 9
# Unit → how a scenario writes it.
_WRITERS: dict[str, Callable[[float], str]] = {
    "s": units.format_time,
    "bit/s": units.format_rate,
    "byte": lambda size: units.format_size(round(size)),
}


def scale_of(variable: xarray.DataArray) -> Scale:
    """Return the scale for a variable or a coordinate in SI units."""
    return scale_for(str(variable.name), str(variable.attrs.get("units", "1")), variable.values)


def scale_for(name: str, unit: str, values: ArrayLike) -> Scale:
    """Return the scale for ``values`` in SI units of a metric or key."""
    numbers = np.asarray(values, dtype=float)
    largest = float(np.nanmax(np.abs(numbers), initial=0)) if np.isfinite(numbers).any() else 0.0
    if unit == "s":
        return LONG_TIME if largest >= 2 or not largest else TIME
    if unit == "bit/s":
        return LARGE_RATE if largest >= 1e10 else RATE
    if unit == "byte":
        positive = numbers[numbers > 0]
        if positive.size and positive.min() < _LEAST_KILOBYTE and largest < _MOST_BYTES:
            return Scale(1, "bytes")
        return Scale(1e-6, "MB") if largest >= 1e6 else Scale(1e-3, "kB")
    if unit == "1" and is_percentage(name):
        return PERCENT
    return Scale(1, {"1": "", "bdp": "BDP", "packet": "packets"}.get(unit, unit))


def is_percentage(name: str) -> bool:
    """Return whether the ratio of that name is shown in percent."""
    info = key_info(name)
    if info is not None:
        return info.kind is not None and info.kind.in_percent
    last = name.rpartition(".")[2]
    return any(last.endswith(word) or last.startswith(f"{word}_") for word in _PERCENTAGES)


def name_of(variable: xarray.DataArray) -> str:
    """Return the name of a metric or an axis in figures."""
    key = str(variable.name)
    name = str(variable.attrs.get("long_name", key))
    return name_of_key(key, name if len(name) <= _LONGEST_NAME else key)


def name_of_key(key: str, otherwise: str, first: int | None = None) -> str:
    """Return the name of a key in figures: ``flows.1.rtt`` is the base RTT of flows.1.

    ``first``: the number that a paper gives to the first entry of ``flows``.
    """
    if match := _OF_FLOW.fullmatch(key):
        number, name = match.groups()
        words = _NAMES.get(f"flows.{name}") or _NAMES.get(name)
        entry = f"flows.{number}" if first is None else f"flow {int(number) + first}"
        return f"{words or name.replace('_', ' ')} of {entry}"
    return _NAMES.get(key, otherwise)


def is_algorithm(axis: xarray.DataArray) -> bool:
    """Return whether an axis has names of congestion controls."""
    return not is_number(axis) and str(axis.name).endswith("cc")


def is_number(variable: xarray.DataArray) -> bool:
    """Return whether the values of an axis are numbers."""
    return bool(np.issubdtype(variable.dtype, np.number))


def is_geometric(values: ArrayLike) -> bool:
    """Return whether the values (without 0) are spaced more evenly as logarithms."""
    numbers = np.unique(np.asarray(values, dtype=float))
    positive = numbers[numbers > 0]
    if positive.size < 3 or numbers[0] < 0 or positive[-1] < _LEAST_GEOMETRIC * positive[0]:
        return False
    linear, logarithmic = np.diff(positive), np.diff(np.log(positive))
    return float(np.std(logarithmic) / np.mean(logarithmic)) < float(
        np.std(linear) / np.mean(linear)
    )


def is_wide(values: ArrayLike) -> bool:
    """Return whether positive values need a logarithm to show the smallest."""
    numbers = np.asarray(values, dtype=float)
    numbers = numbers[np.isfinite(numbers)]
    return bool(numbers.size) and 0 < numbers.min() * _WIDE < numbers.max()


_NO_TUNNEL = "no tunnel"


def plain(value: float) -> str:
    """Write a tick of a logarithmic axis as all others are: 0.00001, and not 1e-05."""
    return np.format_float_positional(float(f"{value:.6g}"), trim="-")


class Positions:
    """The positions of the values of a numeric axis, in the shown unit.

    A logarithmic axis has no place for 0, so 0 is one step left of the smallest value.
    """

    def __init__(self, coordinate: xarray.DataArray) -> None:
        self.scale = scale_of(coordinate)
        self.logarithmic = is_geometric(coordinate.values)
        self._values = np.unique(np.asarray(coordinate.values, dtype=float))
        self._zero = 0.0
        if self.logarithmic and self._values[0] == 0:
            first, second = self._values[1:3]
            self._zero = self.scale.factor * first * min(first / second, 0.4)

    def of(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return the positions of values (SI) on the axis."""
        shown = np.asarray(values, dtype=float) * self.scale.factor
        return np.where(shown == 0, self._zero, shown)

    def span(self, count: int = 200) -> NDArray[np.float64]:
        """Return ``count`` values (SI) from the least to the largest, without 0 if logarithmic."""
        values = self._values
        if self.logarithmic:
            positive = values[values > 0]
            return np.geomspace(positive[0], positive[-1], count)
        return np.linspace(values[0], values[-1], count)

    def draw(self, axes: Axes, name: str) -> None:
        """Set scale, ticks and label of the horizontal axis."""
        axes.set_xlabel(self.scale.label(name))
        if self.logarithmic:
            axes.set_xscale("log")
        if self.logarithmic or len(self._values) <= _MOST_TICKS:
            chosen = _thinned(self._values, self.of(self._values), self.logarithmic)
            texts = [short(self.scale.factor * value) for value in chosen]
            axes.set_xticks([float(self.of(value)) for value in chosen], texts)
            axes.minorticks_off()


def _thinned(
    values: NDArray[np.float64], positions: NDArray[np.float64], logarithmic: bool
) -> Sequence[float]:
    """Return values whose labels do not overlap."""
    places = np.log(positions) if logarithmic else positions
    least = 0.07 * (places[-1] - places[0])
    chosen, latest = [], -math.inf
    for value, place in zip(values, places, strict=True):
        if place - latest >= least:
            chosen.append(float(value))
            latest = place
    return chosen


def names_of(coordinate: xarray.DataArray) -> list[str]:
    """Return the values of an axis of names as people say them."""
    names, key = [str(value) for value in coordinate.values], str(coordinate.name)
    if key.rpartition(".")[2] == "cc":
        return [core.congestion_label(name) for name in names]
    is_tunnel = key.removesuffix(".name").rpartition(".")[2] == "tunnel"
    return [_NO_TUNNEL if is_tunnel and name == "none" else name for name in names]


def texts(coordinate: xarray.DataArray) -> list[str]:
    """Return the values of an axis as texts with units."""
    if not is_number(coordinate):
        return names_of(coordinate)
    scale = scale_of(coordinate)
    return [scale.text(float(value)) for value in np.atleast_1d(coordinate.values)]


def written(coordinate: xarray.DataArray) -> list[str]:
    """Return the values of an axis as in a scenario: ``20ms``, ``1%``, ``1bdp``."""
    if not is_number(coordinate):
        return [str(value) for value in coordinate.values]
    unit = str(coordinate.attrs.get("units", "1"))
    numbers = [float(f"{value:.6g}") for value in coordinate.values.tolist()]
    if unit in _WRITERS:
        return [_WRITERS[unit](number) for number in numbers]
    if is_percentage(str(coordinate.name)):
        return [units.format_probability(number) for number in numbers]
    suffix = {"bdp": "bdp", "packet": "p"}.get(unit, "")
    return [f"{number:g}{suffix}" for number in numbers]


def show_value(coordinate: Any) -> str:
    """Return ``long name value unit`` of a coordinate's only value."""
    (text,) = texts(coordinate.expand_dims("only") if coordinate.ndim == 0 else coordinate)
    return text if text == _NO_TUNNEL else f"{name_of(coordinate)} {text}"
