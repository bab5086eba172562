# SPDX-License-Identifier: GPL-2.0-only
"""Runs that go on until differences are known: they keep their promise, with few runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtri

import tunnelcc as tc
from tunnelcc.metrics import paired
from tunnelcc.sweeps.precision import look_until_known, wanted_runs


def source_of(runs):
    """Return a source of the runs of an array, shape (condition, seed)."""

    def source(seeds):
        values = np.full((len(runs), max(seeds.values())), np.nan)
        for (point,), count in seeds.items():
            values[point, :count] = runs[point, :count]
        return values

    return source


def test_promises_hold_at_whatever_look_they_end():
    """Normal runs, of which many looks would break a promise that each look makes alone."""
    generator = np.random.default_rng(1)
    held, looks, used = [], [], []
    for _ in range(120):
        common, *own = generator.normal(size=(4, 400))
        means = np.array([10.0, 9.5, 11.0])
        runs = means[:, None] * (1 + 0.1 * (0.8 * common + 0.6 * np.array(own)))
        known = look_until_known(source_of(runs), {(1,): (0,), (2,): (0,)}, 0.03, 5, 400)
        assert not known.open
        held.append(all(
            it.half_width <= 0.03 and it.low <= means[at] / 10 - 1 <= it.high
            for (at,), it in known.found.items()
        ))  # fmt: skip
        looks.append(known.looks)
        used.append(sum(known.seeds.values()))
    assert np.mean(held) >= 0.95
    assert max(looks) > 2


def test_each_condition_ends_for_itself_and_none_passes_the_limit():
    generator = np.random.default_rng(2)
    y = 1 + 0.1 * generator.normal(size=50)
    runs = np.array([y, 0.9 * y + 1e-3 * generator.normal(size=50),
                     1 + 0.1 * generator.normal(size=50)])  # fmt: skip
    known = look_until_known(source_of(runs), {(1,): (0,), (2,): (0,)}, 0.01, 5, 50)
    assert known.seeds == {(0,): 50, (1,): 5, (2,): 50}
    assert known.open == {(2,)}
    assert known.found[1,].verdict == "less"
    assert known.found[2,].is_helped is False


def test_runs_that_are_wanted_are_those_of_the_first_seeds():
    wanted = wanted_runs({(0, 1): 2, (1, 0): 3}, (2, 2, 4))
    assert [it for it in range(16) if wanted(it)] == [4, 5, 8, 9, 10]


SMALL = ("--rate", "5Mbps", "--rtt", "10ms", "--duration", "1s", "--loss", "1%")


def test_compare_runs_until_differences_are_known(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ("compare", "--tunnel", "none,wireguard", "--cc", "bbr,cubic", *SMALL, "--name", "it",
               "--precision", "5%", "--seeds", "3", "--most-seeds", "12")  # fmt: skip
    code, out, err = run(*command)
    assert code == 0, err
    lines = out.splitlines()
    start = lines.index("goodput, difference to tunnel.name=none with the same seeds")
    rows = [line.split() for line in lines[start + 2 : start + 4]]
    assert [row[:2] for row in rows] == [["wireguard", "bbr"], ["wireguard", "cubic"]]
    results = tc.open("runs/it")
    for row, cc in zip(rows, ("bbr", "cubic"), strict=True):
        seeds = int(row[-1])
        assert 3 <= seeds <= 12
        runs = results.goodput.sel(cc=cc).isel(seed=slice(seeds))
        means = runs.mean("seed").values
        assert float(row[2].replace("−", "-")) == pytest.approx(
            100 * (means[1] / means[0] - 1), abs=0.06
        )
    assert (tmp_path / "compare-differences.png").stat().st_size > 1000
    # The same again finds all runs, and another precision may follow.
    code, again, _ = run(*command)
    assert code == 0
    assert again.splitlines()[start : start + 4] == lines[start : start + 4]
    assert "(0 run," in again
    code, out, _ = run(*command[:-6], "--precision", "50%", "--seeds", "3", "--to", "wireguard")
    assert code == 0
    assert "(0 run," in out
    assert "difference to tunnel.name=wireguard" in out
    # So does the same with fewer seeds, and what the store has stays.
    code, out, err = run(*command[:-6], "--seeds", "2")
    assert (code, "(0 run, 8 cached, 0 failed)" in out) == (0, True), err
    assert tc.open("runs/it").sizes == results.sizes
    code, _, err = run("plot", "runs/it", "--kind", "differences", "--to", "cubic", "-o", "d.svg")
    assert code == 0, err
    assert "tunnel.name" not in (tmp_path / "d.svg").read_text()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--precision", "2"), "--precision = '2': expected a percentage"),
        (("--precision", "0%"), "--precision = '0%'"),
        (("--precision", "2%", "--seeds", "1"), "--seeds = 1: expected at least 2 seeds"),
        (("--to", "wireguardd"), "--to = 'wireguardd'"),
    ],
)
def test_wrong_options_are_told_before_anything_runs(run, tmp_path, monkeypatch, options, told):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("compare", "--tunnel", "none,wireguard", *SMALL, *options)
    assert (code, out) == (2, "")
    assert told in err
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_precision_keeps_its_promise_in_simulations(tmp_path):
    """100 repetitions with other seeds: all differences hold in at least 95.

    The truth is the mean of all runs. A fixed number of seeds without pairs, for the same
    promise, is what the deviations of all runs ask for.
    """
    precision, repetitions, most = 0.05, 100, 60
    base = {"path": {"rate": "5Mbps", "rtt": "20ms", "loss": "1%"}, "duration": "4s"}
    tunnels = ["none", "wireguard", "gost-relay-ws"]
    results = tc.sweep(
        base, {"tunnel": tunnels}, seeds=repetitions * most, store=tmp_path, progress=False
    )
    runs = results.goodput.transpose("tunnel", "seed").values
    truth = runs.mean(axis=1) / runs[0].mean() - 1
    pairs = {(1,): (0,), (2,): (0,)}
    held, used, missed = [], [], 0
    for part in np.split(runs, repetitions, axis=1):
        known = look_until_known(source_of(part), pairs, precision, 5, most)
        missed += len(known.open)
        held.append(all(it.low <= truth[at] <= it.high for (at,), it in known.found.items()))
        used.append(sum(known.seeds.values()))
    deviations = runs.std(axis=1, ddof=1) / runs[0].mean()
    z = ndtri(0.5 + paired.each_of(len(pairs)) / 2)
    variance = max(deviations[0] ** 2 * (1 + truth[at]) ** 2 + deviations[at] ** 2 for at in (1, 2))
    fixed = len(tunnels) * math.ceil(z**2 * variance / precision**2)
    print(f"held {sum(held)}, {np.mean(used)} runs instead of {fixed}, {missed} not reached")
    assert sum(held) >= 95
    assert missed <= 0.05 * repetitions
    assert np.mean(used) < 0.7 * fixed
