# SPDX-License-Identifier: GPL-2.0-only
"""A goodput that has not settled is told, and cycles of congestion controls are not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import tunnelcc as tc
from tunnelcc import scenario
from tunnelcc.metrics import METRICS, drift

INTERVAL = 0.1
TIME = np.arange(600) * INTERVAL
NOISE = np.random.default_rng(1).normal(size=TIME.size)


def test_the_change_is_that_of_the_halves_without_the_start():
    # From 10 to 20; without the first tenth, the halves' means are 13.25 and 17.75.
    rising = 10 + 10 * TIME / TIME[-1]
    assert drift.change(rising + 0.1 * NOISE) == pytest.approx(4.5 / 15.5, abs=0.01)
    assert drift.change(rising[::-1]) == pytest.approx(-4.5 / 14.5, abs=0.01)


@pytest.mark.parametrize(
    "rate",
    [
        10 + NOISE,
        10 + 5 * NOISE,
        np.where(TIME < 4, 0, 10) + 0.1 * NOISE,  # slow start
        np.where(TIME % 10 < 0.2, 1, 10) + 0.1 * NOISE,  # BBR's PROBE_RTT
        7 + 3 * (TIME % 8) / 8,  # a sawtooth
        10 + 0.2 * np.cumsum(np.convolve(NOISE, [1, -1], "same")),
        10 + 1.5 * TIME / TIME[-1],  # a change that is too small to tell
    ],
)
def test_noise_cycles_and_the_start_are_no_drift(rate):
    assert drift.change(rate) == 0


@pytest.mark.parametrize("rate", [[], [1.0] * 7, [0.0] * 600])
def test_too_few_samples_or_no_data_tell_nothing(rate):
    assert math.isnan(drift.change(rate))


PLACE = np.arange(200) + 0.5


def cosine(periods):
    return np.cos(2 * np.pi * periods * PLACE / PLACE.size)


@pytest.mark.parametrize(
    ("quick", "slow", "count", "errors"),
    [
        # A wave of 20 samples has positive autocorrelations up to a lag of 5. Their sum from 0 on
        # is 3.66 (cosines of 0° to 90° in steps of 18°), and the time 2 · 3.66 − 1 = 6.3 samples.
        # Twelve of these are in 200 samples 2.6 times, so there are two cosines.
        (cosine(10), 0.3 * cosine(1), 2, 4.303),
        # Alternating samples remember nothing: there are as many cosines as may be, ten.
        (np.where(np.arange(PLACE.size) % 2, -5, 5), 3 * cosine(10), 10, 2.228),
    ],
)
def test_a_change_must_exceed_students_t_of_what_is_slow(quick, slow, count, errors):
    """Steps between the halves, beside a cosine of amplitude A that is among those that count.

    A cosine's projection on itself is A/2; the others, and that of the step, are 0. The error of
    the difference is twice that of the mean: 2 √(2 · (A/2)² / ν) = A √(2/ν) with ν cosines. The
    limit is Student's t, two-sided, 5 %, with ν degrees of freedom (Lazarus et al., 2018).
    """
    assert errors == pytest.approx(stats.t.isf(0.025, count), abs=5e-4)
    limit = errors * slow.max() * math.sqrt(2 / count)
    for step, is_told in ((0.98 * limit, False), (1.02 * limit, True)):
        rate = 3 * limit + np.where(PLACE < 100, -step, step) / 2 + quick + slow
        found = drift.change(np.concatenate([np.zeros(23), rate]))  # of 223, a tenth is left out
        assert found == (pytest.approx(step / (3 * limit)) if is_told else 0)


def _drifts(table):
    result = tc.run(scenario.build(table, {}), progress=False)
    return METRICS["flow_drift"](result)


SLOW = {"rate": "20Mbps", "rtt": "40ms"}
#: Runs that are steady from their warm-up on, but remember their rate for seconds.
WITH_MEMORY = {
    "CUBIC with losses": {
        "path": {**SLOW, "loss": "0.1%"}, "warmup": "20s", "duration": "50s",
    },
    "Reno with losses": {
        "path": {"rate": "50Mbps", "rtt": "60ms", "loss": "0.05%"}, "flows": {"cc": "reno"},
        "warmup": "30s", "duration": "90s",
    },
    "CUBIC and Reno": {
        "path": SLOW, "flows": [{"cc": "cubic"}, {"cc": "reno"}], "start_jitter": "1s",
        "warmup": "60s", "duration": "120s",
    },
}  # fmt: skip


def test_of_steady_runs_one_in_twenty_raises_an_alarm():
    """An AR(1) process with a memory of a tenth of each half, too."""
    alarms = [
        bool(_drifts({**table, "seed": seed}).any())
        for table in WITH_MEMORY.values()
        for seed in range(50)
    ]
    draws = np.random.default_rng(1).normal(size=(200, 800))
    rates = np.zeros_like(draws)
    for time in range(1, draws.shape[1]):
        rates[:, time] = 0.93 * rates[:, time - 1] + draws[:, time]
    alarms += (drift.change(10 + 2 * rates[:, 200:]) != 0).tolist()
    assert sum(alarms) <= 0.07 * len(alarms), sum(alarms)


PATH = {"rate": "50Mbps", "rtt": "40ms"}
DEEP = {**PATH, "buffer": "32bdp"}


def test_one_bbr_flow_beside_four_of_cubic_in_a_deep_buffer_has_not_settled():
    flows = [{"cc": "bbr"}, {"cc": "cubic", "count": 4}]
    found = _drifts({"path": DEEP, "flows": flows, "duration": "120s"})
    assert found[0] > drift.LEAST
    assert not found[1:].any()  # their sum is nearly the whole rate


def test_flows_that_end_have_no_drift_and_those_that_start_late_count_from_then_on():
    flows = [{"cc": "cubic", "bytes": "1MB"}, {"cc": "bbr"}, {"cc": "bbr", "start": "3s"}]
    found = _drifts({"path": PATH, "flows": flows, "duration": "12s"})
    assert math.isnan(found[0])
    assert np.isfinite(found[1:]).all()


#: Long runs, whose later half is steady: paths with a number of flows of one congestion control.
STEADY = [
    {"path": {"rate": rate, "rtt": rtt, "loss": loss, "buffer": buffer},
     "flows": {"cc": cc, "count": count}}
    for cc in ("cubic", "bbr", "newreno", "bbr3")
    for rate, rtt, loss, buffer in (
        ("50Mbps", "40ms", 0, "1bdp"), ("20Mbps", "100ms", 0, "1bdp"),
        ("50Mbps", "40ms", "1%", "1bdp"), ("20Mbps", "20ms", 0, "4bdp"),
    )
    for count in (1, 2, 4)
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("warmup", ["100s", "180s"])
def test_few_steady_runs_raise_an_alarm(warmup):
    found = [_drifts({**table, "duration": "220s", "warmup": warmup}) for table in STEADY]
    alarms = sum(np.nan_to_num(it).any() for it in found)
    assert alarms <= 0.05 * len(found), alarms


@pytest.mark.slow
def test_few_runs_with_few_losses_raise_an_alarm():
    alarms = []
    for seed in range(1, 13):
        for cc, loss, count in (
            ("cubic", "0.01%", 1), ("cubic", "0.1%", 1), ("newreno", "0.1%", 1),
            ("newreno", "0.01%", 1), ("bbr", "0.01%", 1), ("cubic", 0, 2), ("newreno", 0, 2),
            ("bbr", 0, 2),
        ):  # fmt: skip
            table = {"path": {"rate": "100Mbps", "rtt": "40ms", "loss": loss}, "seed": seed}
            table["flows"] = {"cc": cc, "count": count}
            table["start_jitter"] = "1s" if count > 1 else "0s"
            found = _drifts({**table, "duration": "130s", "warmup": "100s"})
            alarms.append(bool(np.nan_to_num(found).any()))
    assert sum(alarms) <= 0.07 * len(alarms), alarms


@pytest.mark.slow
def test_shares_that_have_not_converged_are_found():
    hits = []
    for count in (1, 2, 4, 8, 16):
        for seed in (1, 2, 3):
            flows = [{"cc": "bbr"}, {"cc": "cubic", "count": count}]
            table = {"path": DEEP, "flows": flows, "start_jitter": "1s", "seed": seed}
            hits.append(bool(_drifts({**table, "duration": "120s"})[0]))
    # In three of the others, the share of BBR changes by less than a quarter in this time, and in
    # one by 37 %, not told from chance.
    assert sum(hits) >= 11, hits


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e9])
def test_the_change_does_not_depend_on_the_unit(unit):
    rate = 10 + 10 * TIME / TIME[-1] + 2 * np.convolve(NOISE, np.ones(40) / 40, "same")
    assert drift.change(rate) > 0
    assert drift.change(unit * rate) == pytest.approx(drift.change(rate))


@pytest.mark.parametrize(
    ("changes", "goodputs", "told"),
    [
        ([[0.0], [0.0]], [1, 1], 0.0),
        ([[0.3, 0.0], [0.0, -0.4], [0.0, 0.0]], [1, 1, 1], 0.4),
        ([[0.3], [0.0], [0.0]], [1, 1, 1], 0.0),  # less than half of the runs
        ([[0.3], [0.0], [math.nan]], [1, 1, math.nan], 0.3),  # half of those that there are
        ([[0.1], [0.0]], [1, 1], 0.1),
    ],
)
def test_a_point_drifts_where_half_of_its_runs_do(changes, goodputs, told):
    assert drift.at_point(changes, goodputs) == told


def test_a_change_needs_students_t_of_5_percent():
    for count, errors in drift.ERRORS.items():
        assert errors == pytest.approx(stats.t.ppf(0.975, count), abs=5e-4)


def test_twelve_samples_are_enough_and_eleven_are_not():
    """A tenth is left out, rounded up; each half needs five of the rest."""
    assert math.isnan(drift.change(np.ones(11)))
    assert drift.change(np.ones(12)) == 0


def test_a_change_by_a_quarter_is_not_told_and_by_more_it_is():
    """Halves of one value each: a step has no part in cosines of whole periods."""
    start = [0.0] * 2  # of 20 samples, a tenth
    assert drift.change([*start, *[7.0] * 9, *[9.0] * 9]) == 0  # 2 of 8
    assert drift.change([*start, *[7.0] * 9, *[9.25] * 9]) == pytest.approx(2.25 / 8.125)
    assert drift.change([*start, *[9.25] * 9, *[7.0] * 9]) == pytest.approx(-2.25 / 8.125)
    assert drift.change([0.0, *[7.0] * 9, *[9.25] * 9]) != pytest.approx(2.25 / 8.125)


def test_many_samples_are_averaged_to_between_100_and_200_of_a_half():
    for length, of_half in ((99, 99), (199, 199), (200, 100), (299, 149), (300, 100)):
        rows = np.arange(2.0 * length).reshape(2, length)
        thin = drift._thin(rows)
        assert thin.shape == (2, of_half)
        assert thin[:, -1] == pytest.approx(rows[:, -(length // of_half) :].mean(axis=-1))


def test_a_memory_of_an_ar_1_process_is_found():
    """1 + 2 (φ + φ² + …) = (1 + φ) / (1 − φ), 3 for one half; 1 without memory."""
    draw = np.random.default_rng(5).normal(size=200_000)
    series = np.zeros(draw.size)
    for at in range(1, draw.size):
        series[at] = 0.5 * series[at - 1] + draw[at]
    times = [drift._correlation_time(it) for it in series.reshape(1000, 200)]
    assert np.mean(times) == pytest.approx(3, rel=0.12)
    assert drift._correlation_time(np.ones(50)) == 1
    assert drift._correlation_time(np.array([1.0, -1.0] * 25)) == 1
