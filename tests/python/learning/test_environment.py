# SPDX-License-Identifier: GPL-2.0-only
"""The environment of Gymnasium: its interface, its seeds, its ends, its numbers."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import tunnelcc as tc
from tunnelcc.learning import CongestionEnv

SCENARIO = {"path": {"rate": "20Mbps", "rtt": "20ms"}, "duration": "3s"}


def _up(env, seed, number=0.2):
    """Return all that an episode of equal actions gives."""
    seen = [env.reset(seed=seed)[0]]
    while True:
        observation, reward, terminated, truncated, info = env.step(np.array([number], np.float32))
        seen.append([*observation, reward])
        assert not terminated
        if truncated:
            return seen, info["result"]


def _make():
    return CongestionEnv(SCENARIO, vary=lambda rng: {"path.rate": f"{rng.integers(5, 50)}Mbps"})


@pytest.fixture
def env():
    with CongestionEnv(SCENARIO, history=3) as made:
        yield made


def test_gymnasium_accepts_it(env):
    check_env(env, skip_render_check=True)


def test_seeds_repeat_episodes():
    with _make() as env:
        first = _up(env, 1)
        again = _up(env, 1)
        other = _up(env, 2)
    assert str(first[0]) == str(again[0])
    assert first[1].digests() == again[1].digests()
    assert str(first[0]) != str(other[0])


def test_actions_are_rates(env):
    env.reset(seed=1)
    rates = [env.step(np.array([0.5], np.float32))[4]["report"].pacing_rate for _ in range(3)]
    assert np.diff(np.log2(rates)) == pytest.approx([0.5, 0.5])
    env.reset(seed=1)
    steady = [env.step(np.array([0.0], np.float32)) for _ in range(8)][-1]
    report = steady[4]["report"]
    assert report.rate == pytest.approx(report.pacing_rate, rel=0.1)
    assert steady[1] == pytest.approx(report.rate / 20e6, abs=0.05)  # no delay, no loss
    assert steady[0].shape == (12,)


def test_a_step_after_the_end_needs_a_reset(env):
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
        env.step(np.array([0.0], np.float32))
    _up(env, 1)
    with pytest.raises(gymnasium.error.ResetNeeded, match="the episode is over"):
        env.step(np.array([0.0], np.float32))
    assert env.reset(seed=1)[0].shape == (12,)


def test_two_episodes_in_a_process_are_refused(env):
    env.reset()
    with _make() as other, pytest.raises(tc.RunError, match="AsyncVectorEnv"):
        other.reset()
    env.close()
    assert tc.run(SCENARIO).goodput > 1e6


def test_environments_in_processes():
    made = gymnasium.vector.AsyncVectorEnv([_make, _make])
    try:
        made.reset(seed=3)
        rewards = [made.step(np.full((2, 1), 0.2, np.float32))[1] for _ in range(3)]
    finally:
        made.close()
    with _make() as env:
        alone = _up(env, 3)[0]
    assert [it[0] for it in rewards] == pytest.approx([it[-1] for it in alone[1:4]])


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"flow": 1}, "flow = 1: expected 0 to 0"),
        ({"interval": "5"}, "interval = '5': expected a time"),
        ({"interval": 0.0}, "interval = 0"),
        ({"history": 0}, "history = 0"),
        ({"vary": lambda rng: {"path.rat": "1Mbps"}}, "did you mean 'rate'"),
        ({"interval": 10.0}, "duration = 3.0: expected longer than an interval of 10 s"),
    ],
)
def test_wrong_arguments_are_named(keys, expected):
    with pytest.raises(tc.ConfigError, match=expected), CongestionEnv(SCENARIO, **keys) as env:
        env.reset()


@pytest.mark.parametrize("action", [[2.0], [np.nan], [0.1, 0.2], []])
def test_wrong_actions_are_named(env, action):
    env.reset()
    with pytest.raises(tc.ConfigError, match="one number from -1 to 1"):
        env.step(np.array(action, np.float32))
