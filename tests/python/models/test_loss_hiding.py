# SPDX-License-Identifier: GPL-2.0-only
"""Congestion controls that hide losses rather than yield to them, end to end."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

import tunnelcc as tc
from tunnelcc import core
from tunnelcc.plots import run as run_plots

CAPACITY = 50e6 * 1448 / 1500
SEEDS = (1, 2, 3)


def run(
    *flows: object, duration: str = "40s", warmup: str = "10s", seed: int = 1, **path: object
) -> tc.Result:
    path = {"rate": "50Mbps", "rtt": "40ms", "phase": "0", "buffer": "1bdp"} | path
    experiment = tc.Experiment.parse({
        "path": path,
        "flows": [{"cc": cc} for cc in flows],
        "duration": duration,
        "warmup": warmup,
        "seed": seed,
    })  # fmt: skip
    return tc.run(experiment, progress=False)


def goodputs(result: tc.Result) -> list[float]:
    return [flow["flow_goodput"] for flow in result.to_dict()["flows"]]


def mean_goodput(cc: object, **keys: object) -> float:
    return statistics.mean(run(cc, seed=seed, **keys).goodput for seed in SEEDS)


# Unlimited --------------------------------------------------------------------------------------


def test_unlimited_fills_a_lossy_link_whose_buffer_holds_all_that_it_sends():
    # Each loss costs a recovery in which no more is sent than arrives.
    for loss, part in (("0%", 0.99), ("1%", 0.9), ("5%", 0.75)):
        assert mean_goodput("unlimited", loss=loss, buffer="5MB") > part * CAPACITY
    assert mean_goodput("cubic", loss="1%", buffer="5MB") < 0.2 * CAPACITY


# Brutal -----------------------------------------------------------------------------------------

BRUTAL = {"name": "brutal", "rate": "20Mbps"}


@pytest.mark.parametrize(("loss", "gain"), [(0, 2), (5, 2), (10, 2), (20, 2), (30, 4), (50, 4)])
def test_brutal_keeps_its_rate_as_its_arithmetic_says(loss, gain):
    # Sends rate / max(0.8, 1 - p), in payload: of it (1 - p) arrives.
    part = 1 - loss / 100
    cc = {**BRUTAL, "cwnd_gain": gain}
    result = run(cc, rate="100Mbps", loss=f"{loss}%", duration="60s")
    assert result.goodput == pytest.approx(20e6 * part / max(0.8, part), rel=0.03)
    sent = statistics.median(result.dataset["pacing_rate"].values.reshape(-1)[100:])
    assert sent == pytest.approx(20e6 / max(0.8, part), rel=0.02)


def test_brutal_is_held_back_at_half_of_all_lost_by_the_send_buffer():
    # Twice the window, twice the rate times the RTT: too little for a segment's sixth repair.
    result = run(BRUTAL, rate="100Mbps", loss="50%", duration="60s")
    assert 0.88 < result.goodput / (20e6 * 0.5 / 0.8) < 0.99
    limits = result.to_dict()["flows"][0]["legs"][0]["limit_share"]
    assert limits["send_buffer"] > 0.05
    assert limits["congestion_window"] < 0.05


def test_brutal_takes_the_link_from_cubic():
    own, cubic = goodputs(run({"name": "brutal", "rate": "60Mbps"}, "cubic"))
    assert own > 0.9 * CAPACITY
    assert cubic < 0.05 * CAPACITY


@pytest.mark.parametrize("cc", ["brutal", {"name": "brutal"}, {"name": "brutal", "slots": 3}])
def test_brutal_needs_a_rate(cc):
    with pytest.raises(tc.ConfigError) as error:
        tc.Experiment.parse({"path": {"rate": "50Mbps", "rtt": "40ms"}, "flows": {"cc": cc}})
    (problem,) = error.value.problems
    assert problem.key == "flows.0.cc.rate"
    assert "no default" in problem.expected


def test_only_brutal_needs_anything():
    required = [
        (name, parameter.name)
        for name in core.congestion_controls()
        for parameter in core.congestion_parameters(name)
        if parameter.is_required
    ]
    assert required == [("brutal", "rate")]
    (rate,) = (item for item in core.congestion_parameters("brutal") if item.name == "rate")
    assert rate.default is None


@pytest.mark.parametrize(
    ("key", "value"), [("rate", "100kbps"), ("cwnd_gain", 9), ("min_ack_rate", "120%"), ("gain", 2)]
)
def test_bad_parameters_of_brutal_are_told(key, value):
    with pytest.raises(tc.ConfigError) as error:
        tc.Flow(cc={**BRUTAL, key: value})
    assert error.value.problems[0].key == f"cc.{key}"


# QVegas -----------------------------------------------------------------------------------------


def test_qvegas_keeps_its_rate_at_a_loss_at_which_vegas_does_not():
    keys = {"duration": "120s", "warmup": "60s"}
    assert mean_goodput("qvegas", **keys) > 0.95 * CAPACITY
    assert mean_goodput("qvegas", loss="1%", **keys) > 0.75 * CAPACITY
    assert mean_goodput("vegas", loss="1%", **keys) < 0.1 * CAPACITY


def test_qvegas_loses_rate_to_the_fraction_of_a_millisecond_of_the_rtt():
    """As an ACK of a retransmission tells an RTT by its timestamp, whose clock counts whole ms
    (tcp_input.c tcp_rtt_tsopt_us()), the least RTT is too small by that fraction.
    """
    result = run("qvegas", duration="100s", warmup="60s", loss="1%", rtt="40.7ms")
    assert result.goodput < 0.5 * CAPACITY
    without = tc.run(result.experiment.with_({"tcp.timestamps": False}), progress=False)
    assert without.goodput > 0.75 * CAPACITY


# PCC --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cc", "loss", "warmup"),
    [
        ("pcc", 0, 20),
        ("pcc", 1, 40),
        ("pcc", 2, 100),
        *(("vivace", loss, 20) for loss in (0, 1, 2)),
    ],
)
def test_pcc_fills_a_link_with_little_random_loss(cc, loss, warmup):
    keys = {"loss": f"{loss}%", "duration": f"{warmup + 40}s", "warmup": f"{warmup}s"}
    assert mean_goodput(cc, **keys) > 0.85 * CAPACITY


def test_pcc_gives_up_where_more_than_it_tolerates_is_lost():
    for cc in ("pcc", "vivace"):
        assert run(cc, loss="10%").goodput < 0.15 * CAPACITY


@pytest.mark.parametrize("cc", ["pcc", "vivace"])
def test_two_flows_of_pcc_come_near_each_other(cc):
    first, second = goodputs(run(cc, cc, duration="90s", warmup="30s"))
    assert first + second > 0.85 * CAPACITY
    assert first == pytest.approx(second, rel=0.2)


# Zeta-like --------------------------------------------------------------------------------------


def test_zeta_like_yields_less_to_random_loss_than_reno():
    ours, reno = (mean_goodput(cc, loss="1%") for cc in ("zeta-like", "reno"))
    assert ours > 1.5 * reno


@pytest.mark.parametrize("start", ["0s", "5s"])
def test_zeta_likes_first_window_is_the_same_whenever_the_flow_starts(start):
    flow = {"cc": "zeta-like", "rate": "400kbps", "write_size": 1000, "start": start}
    result = tc.run(tc.Experiment(path={"rtt": "100ms"}, flows=flow, duration="6s", warmup="0s"))
    (leg,) = result.legs[0]
    windows = np.array(leg.cwnd)[result["time"] > float(start[:-1]) + 0.3]
    assert set(windows) == {44}


def test_zeta_like_is_told_apart_from_the_product_wherever_it_is_shown(capsys):
    from tunnelcc.report import catalogue, tables

    catalogue.print_list()
    catalogue.print_congestion_control("zeta-like")
    result = run("zeta-like", "cubic", duration="2s", warmup="0s")
    tables.print_result(result)
    shown = capsys.readouterr().out
    for line in shown.splitlines():
        if "zeta-like" in line:
            assert "not the product" in line
    figure = run_plots.plot_run(result)
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert any("zeta-like (not the product)" in text for text in legend)
    assert "zeta-like (not the product)" in figure.get_suptitle()
