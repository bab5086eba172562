# SPDX-License-Identifier: GPL-2.0-only
"""The phase of an RTT: the seed draws it, so that round numbers do not give the exception."""

from __future__ import annotations

import numpy as np
import pytest

import tunnelcc as tc
from tunnelcc.plots.selection import stated_rtts
from tunnelcc.report.tables import print_result
from tunnelcc.specification import experiment_spec

PATH = {"rate": "20Mbps", "rtt": "60ms", "buffer": "100p"}
SERVICE = 600_000  # ns: a full packet of PATH
MIX = [{"cc": "cubic"}, {"cc": "bbr"}]


def rtts(**table) -> list[int]:
    """The RTT (ns) of each link."""
    links = experiment_spec(tc.Experiment.parse(table))["links"]
    return [link["forward"]["delay"] + link["reverse"]["delay"] for link in links]


def flow_rtts(**table) -> list[int]:
    """The RTT (ns) of each flow over the only link."""
    spec = experiment_spec(tc.Experiment.parse(table))
    (link,) = rtts(**table)
    return [link + sum(flow["extra_delay"].values()) for flow in spec["flows"]]


def test_seeds_draw_all_phases():
    drawn = np.array([rtts(path=PATH, seed=seed)[0] - 60_000_000 for seed in range(1, 401)])
    assert drawn.min() >= 0
    assert drawn.max() < SERVICE
    counts, _ = np.histogram(drawn, bins=4, range=(0, SERVICE))
    assert counts.min() > 70, "uniform: 100 each"


def test_zero_is_the_exact_rtt():
    exact = {**PATH, "phase": "0"}
    flows = [{}, {"rtt": "30ms"}]
    assert {flow_rtts(path=exact, flows=flows, seed=seed)[1] for seed in (1, 2)} == {30_000_000}
    assert rtts(path={**PATH, "phase": 0}) == [60_000_000]
    with pytest.raises(tc.ConfigError, match="phase = '1ms': expected one of 'drawn', '0'"):
        tc.Path(phase="1ms")


def test_what_was_stated_stays_within_a_hundredth():
    slow = {"rate": "1Mbps", "rtt": "60ms"}  # a packet takes 12 ms
    drawn = [rtts(path=slow, seed=seed)[0] / 60e6 for seed in range(1, 101)]
    assert min(drawn) < 1.001 < 1.009 < max(drawn) < 1.01
    both = [flow_rtts(path=PATH, flows=[{}, {"rtt": "10ms"}], seed=seed) for seed in range(1, 101)]
    assert max(of_path for of_path, _ in both) < 60_100_000
    assert max(own for _, own in both) < 10_200_000, "a hundredth by the path, and one of its own"


def test_a_flow_with_its_own_rtt_has_its_own_phase():
    """Otherwise all packets of some would come right before or right after those of others."""
    flows = [{}, {"rtt": "90ms"}, {"rtt": "90ms", "count": 2}]
    found = np.array([flow_rtts(path=PATH, flows=flows, seed=seed) for seed in range(1, 101)])
    phases = (found - (60_000_000, 90_000_000, 90_000_000, 90_000_000)) % SERVICE
    assert abs(np.corrcoef(phases[:, 0], phases[:, 1])[0, 1]) < 0.3
    assert abs(np.corrcoef(phases[:, 1], phases[:, 2])[0, 1]) < 0.3
    assert abs(np.corrcoef(phases[:, 2], phases[:, 3])[0, 1]) < 0.3


def test_one_rtt_of_all_flows_is_as_that_of_the_path():
    path = {**PATH, "rtt": "40ms"}
    alike = flow_rtts(path=path, flows=[{"rtt": "60ms"}, {"rtt": "60ms", "count": 2}], seed=2)
    assert len(set(alike)) == 1
    own = flow_rtts(path=PATH, flows=[{}, {"rtt": "60ms"}], seed=2)
    assert len(set(own)) == 1


def test_each_link_of_a_network_has_its_own():
    links = {
        "one": {"between": ["a", "b"], "rate": "20Mbps", "rtt": "60ms"},
        "other": {"between": ["b", "c"], "rate": "20Mbps", "rtt": "60ms"},
        "near": {
            "between": ["c", "d"],
            "rate": "20Mbps",
            "rtt": "0ms",
            "buffer": "9p",
            "reverse_buffer": "9p",
        },
        "exact": {"between": ["d", "e"], "rate": "20Mbps", "rtt": "60ms", "phase": "0"},
    }
    flows = [{"from": "a", "to": "e"}]
    one, other, near, exact = rtts(network={"links": links}, flows=flows)
    assert 60_000_000 < one != other > 60_000_000
    assert (near, exact) == (0, 60_000_000)


def test_steps_of_the_rtt_are_longer_by_the_same():
    path = {**PATH, "rtt_steps": [["1s", "30ms"]]}
    link = experiment_spec(tc.Experiment(path=path))["links"][0]
    (there,), (back,) = (link[way]["delay_steps"] for way in ("forward", "reverse"))
    drawn = link["forward"]["delay"] + link["reverse"]["delay"] - 60_000_000
    assert 0 < drawn < 300_000
    assert there["delay"] + back["delay"] == 30_000_000 + drawn


def test_a_trace_has_the_service_time_of_its_mean_rate(tmp_path):
    file = tmp_path / "rates.csv"
    file.write_text("time_s,rate_Mbps\n0,0\n1,40\n2,20\n")
    drawn = [rtts(path={"trace": str(file), "rtt": "90ms"}, seed=seed)[0] for seed in range(1, 51)]
    assert 90_500_000 < max(drawn) < 90_600_000


def test_results_have_the_drawn_rtt():
    table = {"path": PATH, "flows": [{"cc": "reno"}, {"rtt": "90ms"}], "duration": "1s", "seed": 3,
             "pings": {"interval": "200ms"}, "start_jitter": "0s"}  # fmt: skip
    result = tc.run(table, progress=False)
    expected = [rtt / 1e9 for rtt in flow_rtts(**{**table, "pings": []})]
    assert [result.metric("flow_base_rtt", flow=flow) for flow in (0, 1)] == expected
    phases = result.dataset["flow_phase"].values.tolist()
    assert phases == [result.network.phase(0), result.network.phase(1)]
    assert expected == pytest.approx([0.06 + phases[0], 0.09 + phases[1]])
    assert len(set(phases)) == 2
    assert min(phases) > 0


def test_figures_tell_flows_by_the_rtts_that_were_stated(tmp_path):
    flows = [{"rtt": "30ms"}, {"rtt": "60ms"}]
    table = {"path": PATH, "flows": flows, "duration": "1s"}
    sweep = tc.sweep(table, {"path.rate": ["20Mbps", "40Mbps"]}, seeds=2, store=tmp_path)
    assert sweep["flow_base_rtt"].min("seed").values.min() > 0.03
    rtts = stated_rtts(sweep)
    assert np.unique(rtts.values).tolist() == [0.03, 0.06]
    assert rtts.attrs["units"] == "s"


def retransmissions(rtt: str, phase: str, seeds: range) -> np.ndarray:
    """Of CUBIC beside BBR, % of its segments, one for each seed."""
    path = {**PATH, "rtt": rtt, "phase": phase}
    found = []
    for seed in seeds:
        table = {"path": path, "flows": MIX, "duration": "15s", "seed": seed}
        leg = tc.run(table, progress=False).sender_leg(0)
        found.append(100 * leg.retransmits / leg.segments)
    return np.array(found)


def test_an_rtt_of_whole_service_times_is_no_exception():
    seeds = range(1, 25)
    at, between = (retransmissions(rtt, "drawn", seeds) for rtt in ("60ms", "60.3ms"))
    error = float(np.hypot(*(it.std(ddof=1) / len(seeds) ** 0.5 for it in (at, between))))
    assert abs(at.mean() - between.mean()) < 3 * error
    exact, off = (retransmissions(rtt, "0", range(1, 9)).mean() for rtt in ("60ms", "60.3ms"))
    assert off > 1.4 * exact
    assert at.min() < (exact + off) / 2 < at.max(), "seeds span what a phase changes"


def test_a_run_tells_what_was_drawn(capsys):
    table = {"path": PATH, "duration": "200ms", "flows": MIX}
    print_result(tc.run(table, progress=False))
    assert "seed 1, RTT 60.0547ms" in capsys.readouterr().out
    print_result(tc.run({**table, "path": {**PATH, "phase": "0"}}, progress=False))
    out = capsys.readouterr().out
    assert "seed 1\n" in out
    assert "path.rtt" not in out


def test_a_slow_link_tells_that_the_answer_hangs_on_the_exact_rtt(capsys):
    slow = {"rate": "1Mbps", "rtt": "60ms", "buffer": "20p"}
    for table, is_told in (
        ({"flows": MIX}, True),
        ({"flows": MIX, "path": {**slow, "phase": "0"}}, False),
        ({"flows": {"count": 2}}, False),
        ({"flows": MIX, "path": {**slow, "queue": "codel"}}, False),
    ):
        print_result(tc.run({"path": slow, "duration": "200ms", **table}, progress=False))
        out = " ".join(capsys.readouterr().out.split())
        assert ("path.rtt: a packet takes 12ms, 20 % of the RTT" in out) is is_told
