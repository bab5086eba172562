# SPDX-License-Identifier: GPL-2.0-only
"""Several flows that learn on one path, as an environment of PettingZoo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from numpy.typing import NDArray

from tunnelcc.errors import ConfigError, Problem, TunnelccError, install
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
    from pettingzoo import AECEnv
except ImportError as error:
    raise TunnelccError(
        f"environments of several flows need PettingZoo, which is not installed: {install('learn')}"
    ) from error


class SharedCongestionEnv(AECEnv):  # type: ignore[misc]
    """Flows whose sending rates policies set, each at the end of its own monitor intervals.

    The agent ``flow_0`` is the first flow. An agent's turn comes when its interval is over, so
    agents need not alternate. ``flows``: positions of those that learn; default: all. All else
    is as in CongestionEnv. All agents are truncated when the experiment ends.

        >>> from tunnelcc.learning import SharedCongestionEnv
        >>> flows = [tc.Flow(), tc.Flow()]
        >>> env = SharedCongestionEnv(tc.Experiment(flows=flows, duration="1s"))
        >>> env.reset(seed=1)
        >>> for agent in env.agent_iter():
        ...     observation, reward, terminated, truncated, info = env.last()
        ...     env.step(None if truncated else np.array([0.1], np.float32))
        >>> env.possible_agents
        ['flow_0', 'flow_1']
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": [], "name": "tunnelcc_shared_v0", "is_parallelizable": False,
    }  # fmt: skip

    def __init__(
        self,
        experiment: Experiment | Mapping[str, Any] | str,
        *,
        flows: Sequence[int] | None = None,
        interval: str | float | None = None,
        vary: Vary | None = None,
        reward: Reward | None = None,
        history: int = 1,
    ) -> None:
        super().__init__()
        self._experiment = experiment_of(experiment)
        chosen = range(len(self._experiment.flows)) if flows is None else flows
        self._flows = {
            f"flow_{flow}": check_flow(self._experiment, flow, "flows") for flow in chosen
        }
        if not self._flows:
            raise ConfigError(Problem("flows", flows, "at least one flow"))
        self._interval = seconds(interval)
        self._vary = vary
        self._reward = reward
        self._history = check_history(history)
        self._session: Session | None = None
        self._random, _ = seeding.np_random(None)
        self._views: dict[str, View] = {}
        self.possible_agents = list(self._flows)
        self.agents: list[str] = []
        self.render_mode = None
        shape = (history * FEATURES,)
        self.observation_spaces = {
            agent: spaces.Box(-LIMIT, LIMIT, shape, np.float32) for agent in self._flows
        }
        self.action_spaces = {
            agent: spaces.Box(-1.0, 1.0, (1,), np.float32) for agent in self._flows
        }

    def observation_space(self, agent: str) -> spaces.Box:
        """Return the space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Box:
        """Return the space of an agent's actions."""
        return self.action_spaces[agent]

    def observe(self, agent: str) -> NDArray[np.float32]:
        """Return what an agent sees: its last intervals."""
        return self._views[agent].observation()

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode; the agent whose interval ends first has the turn.

        ``seed``, ``options``: as in CongestionEnv. Raises ConfigError, RunError.
        """
        if seed is not None:
            self._random, _ = seeding.np_random(seed)
        self.close()
        experiment, self._session, report = begin(
            self._experiment, self._flows.values(), self._interval, self._random, self._vary,
            options,
        )  # fmt: skip
        self.agents = list(self.possible_agents)
        self._views = {it: View(experiment, self._history, self._reward) for it in self.agents}
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._turn(report)

    def step(self, action: NDArray[np.float32] | None) -> None:
        """Let the agent whose turn it is send at another rate, until the next turn of any agent."""
        if not self.agents:
            raise TunnelccError(
                "the episode is over, or none has begun: call reset() before step()"
            )
        agent = self.agent_selection
        if self.truncations[agent]:
            self._was_dead_step(action)
            return
        assert self._session is not None
        self._session.send_at(self._views[agent].rate_after(action))
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        outcome = self._session.next()
        if isinstance(outcome, Report):
            self.rewards[self._turn(outcome)] = self._paid
            self._accumulate_rewards()
            return
        self._session = None
        self.truncations = dict.fromkeys(self.agents, True)
        self.infos = {agent: {"result": outcome} for agent in self.agents}
        self._deads_step_first()

    def close(self) -> None:
        """End the episode."""
        if self._session is not None:
            self._session.close()
        self._session = None

    def _turn(self, report: Report) -> str:
        """Give the turn to the agent of a report, and return it."""
        agent = f"flow_{report.flow}"
        self._paid = self._views[agent].see(report)
        self.infos[agent] = {"report": report}
        self.agent_selection = agent
        return agent
