# SPDX-License-Identifier: GPL-2.0-only
"""The environment of PettingZoo: its interface, its seeds, its turns."""

from __future__ import annotations

import numpy as np
import pytest
from pettingzoo.test import api_test

import tunnelcc as tc
from tunnelcc.learning import SharedCongestionEnv

SCENARIO = {
    "path": {"rate": "20Mbps", "rtt": "20ms"}, "duration": "2s",
    "flows": [{}, {"start": "0.5s"}, {"cc": "reno"}],
}  # fmt: skip


def _make():
    return SharedCongestionEnv(SCENARIO, flows=[0, 1])


def _episode(env, seed):
    """Return the turns of an episode of equal actions: time, agent, reward; and its Result."""
    env.reset(seed=seed)
    turns = []
    for agent in env.agent_iter():
        _, reward, _, truncated, info = env.last()
        if not truncated:
            assert info["report"].flow == int(agent[-1])
            turns.append((info["report"].now, agent, reward))
        env.step(None if truncated else np.array([0.05], np.float32))
    return turns, info["result"]


@pytest.mark.filterwarnings("ignore:Environment has not defined a render")
def test_pettingzoo_accepts_it():
    env = _make()
    try:
        api_test(env, num_cycles=50)
    finally:
        env.close()


def test_a_turn_comes_when_an_interval_is_over():
    env = _make()
    turns, result = _episode(env, 1)
    assert result.goodput > 1e6
    assert turns == sorted(turns)
    assert {agent for now, agent, _ in turns if now < 0.5} == {"flow_0"}
    for flow in ("flow_0", "flow_1"):
        assert any(reward for _, agent, reward in turns if agent == flow)
    with pytest.raises(tc.TunnelccError, match="call reset"):
        env.step(None)


def test_seeds_repeat_episodes():
    env = _make()
    first = _episode(env, 1)[0]
    assert _episode(env, 1)[0] == first
    assert _episode(env, 2)[0] != first


def test_wrong_flows_are_named():
    with pytest.raises(tc.ConfigError, match="flows = 3: expected 0 to 2"):
        SharedCongestionEnv(SCENARIO, flows=[3])
    with pytest.raises(tc.ConfigError, match="at least one flow"):
        SharedCongestionEnv(SCENARIO, flows=[])
