# SPDX-License-Identifier: GPL-2.0-only
"""What a metric is, and metrics of one's own: functions of a run."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tunnelcc.errors import ConfigError, Problem, TunnelccError

#: What metrics read: name → array, as ``Result.dataset`` has them.
Run = Any

#: The arguments that select a part of a run. ``flow``: from 0; default: all flows. ``since`` and
#: ``until``: s; default: the end of the warm-up and the end of the run. ``within``: relative
#: distance to a level that counts as reached.
SELECTION = ("flow", "since", "until", "within")

_Function = TypeVar("_Function", bound=Callable[..., Any])


class MetricError(TunnelccError):
    """A user's metric failed, or returned something else than a number or one for each flow."""


@dataclass(frozen=True)
class Metric:
    """A metric. ``definition``: formula and source. ``of``: its value in SI units, for a run.

    ``per_flow``: one value for each flow. ``is_stored``: part of every run of a sweep.
    ``is_event``: the time until an event; NaN if it does not happen. ``since_start``: the warm-up
    counts. ``is_own``: a user's.
    """

    name: str
    units: str
    long_name: str
    definition: str
    of: Callable[..., Any]
    per_flow: bool = False
    is_stored: bool = True
    is_event: bool = False
    since_start: bool = False
    is_own: bool = False

    def __call__(self, run: Run, **selection: Any) -> Any:
        """Return its value in a run: a number, or one for each flow.

        ``run``: a Result, or its Dataset.
        """
        return self.of(arrays(run), **selection)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of SELECTION that it accepts."""
        if self.is_own:
            return ("flow",)
        own = self.of.__kwdefaults__ or {}
        return tuple(key for key in SELECTION if key in own or (self.per_flow and key == "flow"))

    @property
    def dims(self) -> tuple[str, ...]:
        """Its dimensions in the Dataset of a run."""
        return ("flow",) if self.per_flow else ()

    @property
    def attributes(self) -> dict[str, str]:
        """Attributes of the metric in a Dataset: name and units."""
        return {"units": self.units, "long_name": self.long_name}


#: A metric's name, or a function of a Dataset.
AnyMetric = str | Metric | Callable[..., Any]


def arrays(run: Run) -> Run:
    """Return a run's variables as arrays. ``run``: a Dataset, or what has arrays already."""
    if not hasattr(run, "data_vars"):
        return run
    return {str(name): variable.values for name, variable in run.variables.items()}


def metric(units: str = "1", label: str = "") -> Callable[[_Function], _Function]:
    """Tell the unit of a metric of one's own, and its name in tables and figures.

    The unit is one of SI, written as those of tunnelcc: ``"s"``, ``"bit/s"``, ``"byte"``, ``"1"``.

        >>> @tc.metric("s", "time until the first byte")
        ... def first_byte(run):
        ...     return run["flow_first_byte_at"] - run["flow_start"]
        >>> path = tc.Path(rate="10Mbps", rtt="20ms")
        >>> result = tc.run(tc.Experiment(path=path, duration="1s"))
        >>> 0.02 < result.metric(first_byte, flow=0) < 0.1
        True
    """

    def declare(function: _Function) -> _Function:
        function.units, function.label = units, label  # type: ignore[attr-defined]
        return function

    return declare


def own(given: object, known: Iterable[str], option: str = "metrics") -> Metric:
    """Return the metric of a function, or of ``module:function``. Raises ConfigError.

    ``known``: the names of tunnelcc's metrics, which it cannot have.
    """
    if isinstance(given, Metric):
        return given
    function = _import(given, option) if isinstance(given, str) else given
    name = getattr(function, "__name__", "")
    if not callable(function) or not name.isidentifier():
        expected = "a function with a name: def my_metric(run): …"
        raise ConfigError(Problem(option, given, expected))
    if name in known:
        expected = "a function with another name, because tunnelcc has a metric of this one"
        raise ConfigError(Problem(option, name, expected))
    units, label = getattr(function, "units", "1"), getattr(function, "label", "")
    definition = " ".join((getattr(function, "__doc__", None) or "").split())
    long_name = label or name.replace("_", " ")
    return Metric(name, units, long_name, definition, function, is_own=True)


def _import(text: str, option: str) -> Any:
    module, _, name = text.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # the current directory, where a user's module is
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        expected = "a module that Python finds, here or installed, and a function of it"
        raise ConfigError(Problem(option, text, expected, str(error))) from None
    except AttributeError:
        expected = f"a function of the module {module}"
        raise ConfigError(Problem(option, text, expected)) from None
    except Exception as error:
        expected = f"a module that can be imported: {type(error).__name__}: {error}"
        raise ConfigError(Problem(option, text, expected)) from None


def evaluate(metric: Metric, run: Run) -> NDArray[np.float64]:
    """Return a user's metric of a run: shape () or (flow,). Raises MetricError.

    ``run``: a Result.
    """
    try:
        value = metric.of(run)
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        name = getattr(error, "name", None) if isinstance(error, AttributeError) else None
        hint = f'; write run["{name}"]' if name in run else ""
        raise MetricError(
            f"the metric {metric.name} failed: {type(error).__name__}: {error} "
            f"({frame.filename}, line {frame.lineno}{hint})"
        ) from error
    try:
        found = None if value is None else np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        found = None
    flows = len(run.flows)
    if found is None or found.shape not in ((), (flows,)):
        shape = f"an array of shape {found.shape}" if found is not None else repr(value)[:60]
        raise MetricError(
            f"the metric {metric.name} returned {shape}: expected a number, or one number for each "
            f"of the {flows} flows"
        )
    return found
