# SPDX-License-Identifier: GPL-2.0-only
"""One flow's congestion control as an environment of Gymnasium."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunnelcc.config import Experiment
from tunnelcc.config.scenario import experiment_of
from tunnelcc.errors import MISSING, ConfigError, Problem, TunnelccError
from tunnelcc.learning.session import Learner, Report, Session
from tunnelcc.schema.units import UnitError, parse_time

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as error:
    raise TunnelccError(
        "environments need Gymnasium, which is not installed: pip install 'tunnelcc[learn]'"
    ) from error

#: Rates that a policy can reach, bit/s.
_LEAST_RATE, _GREATEST_RATE = 10e3, 100e9
_FEATURES = 4
_LIMIT = 10.0
_GREATEST_SEED = 2**31 - 1


class CongestionEnv(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """A flow whose sending rate a policy sets, at the end of each monitor interval.

    ``experiment``: as for run(). ``flow``: position of the flow that is controlled; its own ``cc``
    does not count. ``interval``: length of an interval; default: two base RTTs. ``vary``: a
    function of a ``numpy.random.Generator`` that returns settings for an episode, such as
    ``{"path.rate": "20Mbps"}``. ``reward``: a function of a Report, in place of the default.
    ``history``: intervals that an observation has.

    Observation, of each interval, the latest last: RTT over the least RTT − 1; its change since the
    interval before, over the least RTT; part lost; delivered rate over the sending rate − 1. All
    are cut at ±10. They are like those of Aurora (Jay et al., ICML 2019, section 4.1).

    Action: one number from −1 to 1. The rate is multiplied by two to its power.

    Reward: delivered rate over the bottleneck's − 0.5 · (RTT over the least RTT − 1) − 5 · part
    lost.

    An episode ends, truncated, with the experiment; then ``info["result"]`` is its Result. A
    process has one simulation at a time: several environments need
    ``gymnasium.vector.AsyncVectorEnv``.

        >>> from tunnelcc.learning import CongestionEnv
        >>> path = tc.Path(rate="10Mbps", rtt="20ms")
        >>> env = CongestionEnv(tc.Experiment(path=path, duration="2s"))
        >>> observation, info = env.reset(seed=1)
        >>> observation, reward, terminated, truncated, info = env.step(np.array([0.5]))
        >>> env.close()
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        experiment: Experiment | Mapping[str, Any] | str | None = None,
        *,
        flow: int = 0,
        interval: str | float | None = None,
        vary: Callable[[np.random.Generator], Mapping[str, Any]] | None = None,
        reward: Callable[[Report], float] | None = None,
        history: int = 1,
    ) -> None:
        self._experiment = Experiment() if experiment is None else experiment_of(experiment)
        if not 0 <= flow < len(self._experiment.flows):
            expected = f"0 to {len(self._experiment.flows) - 1}, the flows of the experiment"
            raise ConfigError(Problem("flow", flow, expected))
        if self._experiment.flows[flow].count != 1:
            expected = "a flow with count = 1: one flow is controlled"
            raise ConfigError(Problem("flow", flow, expected))
        if isinstance(history, bool) or not isinstance(history, int) or not 1 <= history <= 1000:
            raise ConfigError(Problem("history", history, "a whole number from 1 to 1000"))
        self._flow = flow
        self._interval = _seconds(interval)
        self._vary = vary
        self._reward = reward
        self._history: deque[list[float]] = deque(maxlen=history)
        self._session: Session | None = None
        self._capacity = math.nan
        self._rate = math.nan
        self._rtt = math.nan
        shape = (history * _FEATURES,)
        self.observation_space = spaces.Box(-_LIMIT, _LIMIT, shape, np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode, and return the first observation.

        ``seed``: of all random draws from now on. ``options``: settings for this episode. Raises
        ConfigError, RunError.
        """
        super().reset(seed=seed)
        self.close()
        settings: dict[str, Any] = {"seed": int(self.np_random.integers(1, _GREATEST_SEED))}
        if self._vary is not None:
            settings.update(self._vary(self.np_random))
        experiment = self._experiment.with_({**settings, **(options or {})})
        interval = self._interval or 2 * experiment.path.rtt
        self._rate = 10 * 1448 * 8 / experiment.path.rtt  # RFC 6928: ten segments
        cc = {"name": Learner, "interval": interval, "first_rate": self._rate}
        experiment = experiment.with_({f"flows.{self._flow}.cc": cc})
        self._capacity = experiment.path.rate
        self._rtt = math.nan
        width = self._history.maxlen or 1
        self._history.extend([[0.0] * _FEATURES] * width)
        self._session = Session(experiment)
        report = self._session.next()
        if not isinstance(report, Report):
            self._session = None
            expected = f"longer than an interval of {interval:g} s after the flow's start"
            raise ConfigError(Problem("duration", experiment.duration, expected))
        self._see(report)
        return self._observation(), {"report": report}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Send at another rate until the next interval is over.

        Raises gymnasium.error.ResetNeeded after the end of an episode.
        """
        if self._session is None:
            raise gymnasium.error.ResetNeeded(
                "the episode is over, or none has begun: call reset() before step()"
            )
        number = float(np.asarray(action, np.float64).reshape(-1)[0]) if np.size(action) else np.nan
        if np.size(action) != 1 or not -1 <= number <= 1:
            raise ConfigError(Problem("action", action, "one number from -1 to 1"))
        self._rate = min(max(self._rate * 2.0**number, _LEAST_RATE), _GREATEST_RATE)
        self._session.send_at(self._rate)
        report = self._session.next()
        if not isinstance(report, Report):
            self._session = None
            return self._observation(), 0.0, False, True, {"result": report}
        self._see(report)
        reward = self._reward(report) if self._reward is not None else self._default(report)
        return self._observation(), float(reward), False, False, {"report": report}

    def close(self) -> None:
        """End the episode."""
        if self._session is not None:
            self._session.close()
        self._session = None

    def _see(self, report: Report) -> None:
        rtt = report.mean_rtt if report.mean_rtt > 0 else self._rtt  # none was measured
        change = (rtt - self._rtt) / report.min_rtt
        features = [
            rtt / report.min_rtt - 1, change, _part_lost(report),
            report.rate / report.pacing_rate - 1,
        ]  # fmt: skip
        self._rtt = rtt
        self._history.append([0.0 if math.isnan(it) else it for it in features])

    def _observation(self) -> NDArray[np.float32]:
        flat = np.array(self._history, np.float32).reshape(-1)
        return np.clip(flat, -_LIMIT, _LIMIT)

    def _default(self, report: Report) -> float:
        inflation = self._rtt / report.min_rtt - 1
        delay = 0.0 if math.isnan(inflation) else inflation
        return report.rate / self._capacity - 0.5 * delay - 5 * _part_lost(report)


def _part_lost(report: Report) -> float:
    sent = report.acked + report.lost
    return report.lost / sent if sent > 0 else 0.0


def _seconds(interval: str | float | None) -> float | None:
    """Raises ConfigError."""
    if interval is None:
        return None
    expected = 'a time from 100us, such as "40ms"'
    try:
        seconds = parse_time(interval) if isinstance(interval, str) else float(interval)
    except UnitError as error:
        raise ConfigError(Problem("interval", interval, error.expected, error.hint)) from None
    except (TypeError, ValueError):
        raise ConfigError(Problem("interval", interval or MISSING, expected)) from None
    if not 1e-4 <= seconds <= 1e4:
        raise ConfigError(Problem("interval", interval, expected))
    return seconds
