# SPDX-License-Identifier: GPL-2.0-only
"""models/deviations.md: what it measured comes out again, and the tests that it names exist."""

from __future__ import annotations

import re

import pytest

import tunnelcc as tc
from helpers import ROOT, load_script, tables

PAGE = (ROOT / "models/deviations.md").read_text()


MEASURE = load_script(ROOT / "results/deviations/measure.py")
#: Key of an effect → its row of the page.
ROWS = {
    re.search(r"test_effect\[(.+)\]", row["test"])[1]: row
    for table in tables(PAGE)
    for row in table
    if "test_effect" in row["test"]
}


@pytest.mark.parametrize("effect", MEASURE.EFFECTS, ids=lambda effect: effect.key)
def test_effect(effect):
    ours, theirs = effect.values()
    least, most = effect.ratio
    assert least <= theirs / ours <= most
    row = ROWS[effect.key]
    told = float(row["ours"]), float(row["ns-3's"])
    assert told == pytest.approx((ours, theirs), rel=0.1)


def test_page_has_every_effect_and_no_other():
    assert ROWS.keys() == {effect.key for effect in MEASURE.EFFECTS}


def test_every_test_that_the_page_names_exists():
    named = re.findall(r"`([a-z0-9_/-]+\.(?:cc|py))::(\w+)`((?:, `\w+`)*)", PAGE)
    assert len(named) > 25
    for file, name, others in named:
        folder = ROOT / "tests" / ("models" if file.endswith(".cc") else "python")
        text = (folder / file).read_text()
        for test in (name, *re.findall(r"\w+", others)):
            declared = rf"^(class |def |TEST_CASE\([\w:]+,\s+){test}\b"
            is_there = re.search(declared, text, re.MULTILINE)
            assert is_there, (file, test)


def test_a_relay_hides_no_loopback_losses(relay_result):
    for legs in relay_result.legs:
        assert [leg.retransmits for leg in legs if leg.name != "carrier"] == [0, 0]
        assert next(leg.retransmits for leg in legs if leg.name == "carrier") > 0


@pytest.mark.parametrize(("renews", "times"), [(False, 6), (True, 1)])
def test_ties_put_probe_rtt_off(renews, times):
    flow = tc.Flow(
        cc={"name": "bbr", "renew_min_rtt_on_tie": renews}, rate="50Mbps", write_size="16KiB"
    )
    path = tc.Path(rate="100Mbps", rtt="40ms")
    experiment = tc.Experiment(path=path, flows=[flow], duration="65s", probe_interval="20ms")
    cwnd = tc.run(experiment, progress=False).connections[0].cwnd[100:]  # not the initial windows
    is_low = cwnd <= 4
    assert (is_low[1:] & ~is_low[:-1]).sum() == times


@pytest.mark.parametrize("rtt", ["2.3ms", "40ms"])
def test_a_shorter_quantum_hardly_matters(rtt):
    def queue_delay(quantum: str) -> float:
        experiment = tc.Experiment(
            path=tc.Path(rate="100Mbps", rtt=rtt, buffer="1000p"), flows=[tc.Flow(cc="bbr")],
            tcp=tc.Tcp(pacing_quantum=quantum), duration="8s", warmup="2s",
        )  # fmt: skip
        return tc.run(experiment, progress=False).metric("queue_delay_mean")

    assert queue_delay("976.5625us") == pytest.approx(queue_delay("1ms"), rel=0.05)


def test_bbr3_does_not_see_marks():
    def queue_delay(**path: object) -> float:
        experiment = tc.Experiment(
            path=tc.Path(rate="100Mbps", rtt="40ms", **path), flows=[tc.Flow(cc="bbr3")],
            tcp=tc.Tcp(ecn=True), duration="10s",
        )  # fmt: skip
        return tc.run(experiment, progress=False).links["path"].forward.queue_delay_p95

    assert queue_delay(ecn_threshold="10p") == queue_delay()


@pytest.mark.parametrize(("kernel", "seconds"), [("5.10", 127), ("6.18", 131)])
def test_a_connection_without_answer_fails(kernel, seconds):
    experiment = tc.Experiment(
        path=tc.Path(loss=0.999999), hosts=tc.Hosts(kernel=kernel), duration="140s",
        start_jitter="0s",
    )  # fmt: skip
    (flow,) = tc.run(experiment, progress=False).to_dict()["flows"]
    assert flow["legs"][0]["connect_failed_at"] == pytest.approx(seconds)
    assert flow["legs"][0]["established_at"] is None
