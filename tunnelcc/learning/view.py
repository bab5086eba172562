# SPDX-License-Identifier: GPL-2.0-only
"""A policy's observations and reward of a flow, and the start of an episode."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.learning.session import Learner, Report, Session
from tunnelcc.scenario import Experiment
from tunnelcc.schema.units import UnitError, parse_time

#: Numbers of an observation for each interval, and the greatest.
FEATURES, LIMIT = 4, 10.0
#: Rates that a policy can reach, bit/s.
_LEAST_RATE, _GREATEST_RATE = 10e3, 100e9
_GREATEST_SEED = 2**31 - 1

#: A function of one's own, in place of the default reward.
Reward = Callable[[Report], float]
#: Draws the settings of an episode.
Vary = Callable[[np.random.Generator], Mapping[str, Any]]


class View:
    """The observations, the reward and the rates of one flow that a policy controls."""

    def __init__(self, experiment: Experiment, history: int, reward: Reward | None) -> None:
        rows = [[0.0] * FEATURES] * history
        self._history: deque[list[float]] = deque(rows, maxlen=history)
        self._reward = reward
        self._capacity = experiment.path.rate
        self._rate = first_rate(experiment)
        self._rtt = math.nan

    def see(self, report: Report) -> float:
        """Add an interval to the observations, and return its reward."""
        rtt = report.mean_rtt if report.mean_rtt > 0 else self._rtt  # none was measured
        sent = report.acked + report.lost
        part_lost = report.lost / sent if sent > 0 else 0.0
        inflation = rtt / report.min_rtt - 1
        features = [
            inflation, (rtt - self._rtt) / report.min_rtt, part_lost,
            report.rate / report.pacing_rate - 1,
        ]  # fmt: skip
        self._rtt = rtt
        self._history.append([0.0 if math.isnan(it) else it for it in features])
        if self._reward is not None:
            return float(self._reward(report))
        delay = 0.0 if math.isnan(inflation) else inflation
        return report.rate / self._capacity - 0.5 * delay - 5 * part_lost

    def observation(self) -> NDArray[np.float32]:
        """Return the last intervals, the latest last."""
        flat = np.array(self._history, np.float32).reshape(-1)
        return np.clip(flat, -LIMIT, LIMIT)

    def rate_after(self, action: Any) -> float:
        """Return the rate after an action, bit/s. Raises ConfigError."""
        numbers = np.asarray(action, np.float64).reshape(-1)
        if numbers.size != 1 or not -1 <= numbers[0] <= 1:
            raise ConfigError(Problem("action", action, "one number from -1 to 1"))
        self._rate = min(max(self._rate * 2.0 ** float(numbers[0]), _LEAST_RATE), _GREATEST_RATE)
        return self._rate


def first_rate(experiment: Experiment) -> float:
    """Return the rate of the first interval, bit/s: ten segments a round trip (RFC 6928)."""
    segment = experiment.tcp.mss * 8
    return 10 * segment / experiment.path.rtt


def begin(
    base: Experiment,
    flows: Iterable[int],
    interval: float | None,
    random: np.random.Generator,
    vary: Vary | None,
    options: Mapping[str, Any] | None,
) -> tuple[Experiment, Session, Report]:
    """Begin an episode; return its experiment, its run and the first report. Raises ConfigError."""
    settings: dict[str, Any] = {"seed": int(random.integers(1, _GREATEST_SEED))}
    if vary is not None:
        settings.update(vary(random))
    experiment = base.with_({**settings, **(options or {}).get("settings", {})})
    length = interval or 2 * experiment.path.rtt
    cc = {"name": Learner, "interval": length, "first_rate": first_rate(experiment)}
    learned = {f"flows.{flow}.cc": {**cc, "flow": flow} for flow in flows}
    session = Session(experiment.with_(learned))
    report = session.next()
    if not isinstance(report, Report):
        expected = f"longer than an interval of {length:g} s after the flow's start"
        raise ConfigError(Problem("duration", experiment.duration, expected))
    return experiment, session, report


def check_flow(experiment: Experiment, flow: object, key: str = "flow") -> int:
    """Return the position of a flow that can be learned. Raises ConfigError."""
    if (
        isinstance(flow, bool)
        or not isinstance(flow, int)
        or flow not in range(len(experiment.flows))
    ):
        expected = f"0 to {len(experiment.flows) - 1}, the flows of the experiment"
        raise ConfigError(Problem(key, flow, expected))
    if experiment.flows[flow].count != 1:
        expected = "a flow with count = 1: one flow is controlled"
        raise ConfigError(Problem(key, flow, expected))
    return flow


def check_history(history: object) -> int:
    """Return the number of intervals of an observation. Raises ConfigError."""
    if isinstance(history, bool) or not isinstance(history, int) or not 1 <= history <= 1000:
        raise ConfigError(Problem("history", history, "a whole number from 1 to 1000"))
    return history


def seconds(interval: str | float | None) -> float | None:
    """Return the length of an interval; None: it follows from the RTT. Raises ConfigError."""
    if interval is None:
        return None
    expected = 'a time from 100us, such as "40ms"'
    try:
        length = parse_time(interval) if isinstance(interval, str) else float(interval)
    except UnitError as error:
        raise ConfigError(Problem("interval", interval, error.expected, error.hint)) from None
    except (TypeError, ValueError):
        raise ConfigError(Problem("interval", interval or MISSING, expected)) from None
    if not 1e-4 <= length <= 1e4:
        raise ConfigError(Problem("interval", interval, expected))
    return length
