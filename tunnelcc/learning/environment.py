# SPDX-License-Identifier: GPL-2.0-only
"""One flow's congestion control as an environment of Gymnasium."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunnelcc.errors import TunnelccError, install
from tunnelcc.learning.session import Report, Session
from tunnelcc.learning.view import (
    FEATURES,
    LIMIT,
    Reward,
    Vary,
    View,
    begin,
    check_flow,
    check_history,
    seconds,
)
from tunnelcc.scenario import Experiment, experiment_of

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as error:
    raise TunnelccError(
        f"environments need Gymnasium, which is not installed: {install('learn')}"
    ) from error


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
        vary: Vary | None = None,
        reward: Reward | None = None,
        history: int = 1,
    ) -> None:
        self._experiment = Experiment() if experiment is None else experiment_of(experiment)
        self._flow = check_flow(self._experiment, flow)
        self._interval = seconds(interval)
        self._vary = vary
        self._reward = reward
        self._history = check_history(history)
        self._session: Session | None = None
        self._view = View(self._experiment, history, reward)
        self.observation_space = spaces.Box(-LIMIT, LIMIT, (history * FEATURES,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode, and return the first observation.

        ``seed``: of all random draws from now on. ``options``: ``{"settings": {...}}`` has settings
        for this episode. Raises ConfigError, RunError.
        """
        super().reset(seed=seed)
        self.close()
        experiment, self._session, report = begin(
            self._experiment, [self._flow], self._interval, self.np_random, self._vary, options
        )
        self._view = View(experiment, self._history, self._reward)
        self._view.see(report)
        return self._view.observation(), {"report": report}

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
        self._session.send_at(self._view.rate_after(action))
        report = self._session.next()
        if not isinstance(report, Report):
            self._session = None
            return self._view.observation(), 0.0, False, True, {"result": report}
        reward = self._view.see(report)
        return self._view.observation(), reward, False, False, {"report": report}

    def close(self) -> None:
        """End the episode."""
        if self._session is not None:
            self._session.close()
        self._session = None
