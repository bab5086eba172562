# SPDX-License-Identifier: GPL-2.0-only
"""What each congestion control is for, end to end: 100 Mbit/s x 40 ms, a buffer of one BDP."""

from __future__ import annotations

import statistics

import pytest

import tunnelcc as tc
from tunnelcc import core

CAPACITY = 100e6 * 1448 / 1500
BDP = 100e6 * 0.04 / 8 / 1500
SEEDS = (1, 2, 3)


def run(*flows: object, duration: str = "30s", warmup: str = "5s", **keys: object) -> tc.Result:
    path = {"rate": "100Mbps", "rtt": "40ms", "buffer": "1bdp"}
    names = ("rate", "rtt", "buffer", "loss")
    path |= {key: keys.pop(key) for key in names if key in keys}
    experiment = tc.Experiment(
        path=path,
        flows=[tc.Flow(cc=cc) for cc in flows],
        duration=duration,
        warmup=warmup,
        **keys,
    )
    return tc.run(experiment, progress=False)


def goodputs(result: tc.Result) -> list[float]:
    return [flow["flow_goodput"] for flow in result.to_dict()["flows"]]


def mean_goodput(cc: object, loss: str, **keys: object) -> float:
    return statistics.mean(run(cc, loss=loss, seed=seed, **keys).goodput for seed in SEEDS)


@pytest.mark.parametrize("rtt", ["10ms", "40ms", "100ms"])
def test_bbr3_fills_the_link(rtt):
    # 2 % for PROBE_RTT (draft-ietf-ccwg-bbr, 5.3.4.2), 1 % for the pacing margin, and what DOWN
    # yields.
    assert run("bbr3", rtt=rtt).goodput >= 0.95 * CAPACITY


def test_bbr3_is_near_the_full_rate_up_to_one_percent_loss():
    # The draft's model (5.3.3.8.3): n rounds of cruising under loss p leave (1 - p)^n of the rate,
    # for 63 rounds at the most, and probing brings it back.
    model = statistics.mean(0.99**n for n in range(63))
    assert mean_goodput("bbr3", "1%") >= model * CAPACITY
    # Where few rounds lose anything, the pacing margin counts too: what a round with loss
    # delivered, and the next is bounded by, lies 1 % below the bound before.
    has_loss = 1 - 0.999**BDP
    model = statistics.mean((0.999 * (1 - 0.01 * has_loss)) ** n for n in range(63))
    assert mean_goodput("bbr3", "0.1%") >= model * CAPACITY


def test_bbr3_falls_above_two_percent_loss():
    # BBR.LossThresh: no probe is believed, and the volume falls towards its least.
    one, three, five = (mean_goodput("bbr3", loss) for loss in ("1%", "3%", "5%"))
    assert three < one / 2
    assert five < three
    assert mean_goodput("bbr", "5%") > 0.8 * CAPACITY
    assert mean_goodput({"name": "bbr3", "loss_threshold": "10%"}, "3%") > 2 * three


def test_bbr3_leaves_room_for_cubic():
    shares = {}
    for cc in ("bbr", "bbr3"):
        results = [run(cc, "cubic", duration="60s", warmup="10s", seed=seed) for seed in SEEDS]
        shares[cc] = statistics.mean(cubic / (own + cubic) for own, cubic in map(goodputs, results))
    assert shares["bbr"] < 0.15
    assert shares["bbr3"] > 1.5 * shares["bbr"]


def test_bbr3_paces_within_two_percent_of_the_link():
    # CRUISE paces at 99 % of max_bw: in most samples of a steady flow that is the pacing rate.
    data = run("bbr3").dataset
    rates = data["pacing_rate"].values.reshape(-1)[50:]
    max_bw = statistics.median(rates) / 0.99
    assert max_bw == pytest.approx(CAPACITY, rel=0.02)


def test_two_bbr3_flows_share():
    first, second = goodputs(run("bbr3", "bbr3", duration="60s", warmup="10s"))
    assert first + second >= 0.93 * CAPACITY
    assert 0.7 <= first / second <= 1 / 0.7


def test_bbr3_probes_the_rtt_as_often_as_it_is_told():
    # Half of the BDP in flight for 200 ms: a mark in the window that CRUISE does not leave.
    def dips(interval: str) -> int:
        result = run({"name": "bbr3", "probe_rtt_interval": interval}, probe_interval="50ms")
        is_low = result.dataset["cwnd"].values.reshape(-1)[100:] < 0.7 * BDP
        return int((is_low[1:] & ~is_low[:-1]).sum())

    assert dips("5s") in (4, 5)
    assert dips("1000s") == 0


@pytest.mark.parametrize(("alpha", "beta"), [(2, 4), (10, 14)])
def test_vegas_keeps_a_few_packets_waiting(alpha, beta):
    cc = {"name": "vegas", "alpha": alpha, "beta": beta}
    # Without bursts, whose length would wait too.
    result = run(cc, duration="60s", warmup="30s", tcp={"pacing_quantum": "0s"})
    assert result.goodput >= 0.99 * CAPACITY
    queue = (
        result.dataset["link_queue_bytes"].sel(link="path", direction="forward").values[300:] / 1500
    )
    # Two more: segments are counted whole, and one is on the link while its ACK is under way.
    assert alpha - 1 <= statistics.mean(queue) <= beta + 2


def test_westwood_beats_reno_under_random_loss():
    for loss in ("0.05%", "0.2%", "0.5%"):
        assert mean_goodput("westwood", loss) > 1.3 * mean_goodput("reno", loss)


@pytest.mark.parametrize("target", [0.05, 0.2])
def test_ns3_ledbat_keeps_its_queue_below_its_target(target):
    """RFC 6817. In ns-3 the window only falls to it from slow start, so not beyond half of it."""
    cc = {"name": "ns3::TcpLedbat", "TargetDelay": f"{target:g}s"}
    result = run(cc, rate="20Mbps", rtt="40ms", buffer="500p", duration="60s", warmup="30s")
    assert result.links["path"].forward.queue_delay_mean < target / 2
    assert result.goodput > 0.95 * 20e6 * 1448 / 1500


def test_two_dctcp_flows_without_bursts_share():
    """RFC 8257, of which ns3::TcpDctcp is the sender; the threshold is about a sixth of the BDP."""
    path = tc.Path(rate="100Mbps", rtt="10ms", buffer="500p", ecn_threshold="20p")
    flows = [tc.Flow(cc="ns3::TcpDctcp", count=2)]
    tcp = tc.Tcp(pacing_quantum="0s")
    experiment = tc.Experiment(path=path, flows=flows, tcp=tcp, duration="40s", warmup="10s")
    first, second = goodputs(tc.run(experiment, progress=False))
    assert first == pytest.approx(second, rel=0.1)
    assert first + second > 0.98 * 100e6 * 1448 / 1500


def test_ns3_lp_stands_back():
    """TCP-LP (Kuzmanovic and Knightly, 2006) leaves the path to Reno."""
    result = run("ns3::TcpLp", "ns3::TcpNewReno", rate="20Mbps", duration="60s", warmup="10s")
    modest, other = goodputs(result)
    assert modest < 0.2 * other


def test_hystart_plus_plus_loses_less_than_plain_slow_start():
    def lost(**parameters: object) -> float:
        cc = {"name": "cubic", **parameters}
        result = run(cc, duration="3s", warmup="0s", buffer="4bdp")
        return result.to_dict()["metrics"]["path_retransmits"]

    assert lost(hystart_plus_plus=True) < lost(hystart=False) / 2


def test_every_algorithm_runs_with_every_default_written_out():
    for name in core.congestion_controls():
        parameters = core.congestion_parameters(name)
        required = {item.name: 1e6 for item in parameters if item.is_required}
        written = {item.name: item.default for item in parameters} | required
        plain = run({"name": name, **required}, duration="3s", warmup="0s", loss="0.5%")
        assert plain.goodput > 0
        assert goodputs(
            run({"name": name, **written}, duration="3s", warmup="0s", loss="0.5%")
        ) == (goodputs(plain))


@pytest.mark.parametrize("count", [1, 3])
def test_fast_keeps_alpha_packets_of_each_flow_in_the_queue(count):
    """The equilibrium of Wei et al. 2006, section III."""
    keys = {"rate": "50Mbps", "buffer": "4bdp", "duration": "20s", "warmup": "10s"}
    result = run(*[{"name": "fast", "alpha": 20}] * count, **keys)
    assert result.goodput >= 0.99 * 50e6 * 1448 / 1500
    queue = result.dataset["link_queue_bytes"].sel(link="path", direction="forward") / 1500
    assert statistics.mean(queue.values[100:]) == pytest.approx(20 * count, rel=0.15)
    assert result.to_dict()["metrics"]["path_retransmits"] == 0
    assert min(goodputs(result)) > 0.9 * max(goodputs(result))


@pytest.mark.slow
def test_a_full_queue_has_a_favourite_where_the_rtt_is_a_multiple_of_its_time():
    """30 ms are the time of 50 packets at 20 Mbit/s; measured hosts take 0.1 to 0.2 ms more."""

    def sent_again(rtt: str) -> float:
        shares = []
        for seed in SEEDS:
            result = run("bbr", "cubic", rate="20Mbps", rtt=rtt, duration="40s", seed=seed)
            leg = result.to_dict()["flows"][1]["legs"][0]
            shares.append(leg["retransmits"] / leg["segments"])
        return statistics.mean(shares)

    assert sent_again("30.2ms") > 1.2 * sent_again("30ms")


@pytest.mark.parametrize("cc", ["pcc", "vivace"])
def test_pcc_grows_to_twice_the_fastest_link_where_nothing_limits_it(cc):
    path = {"rate": "20Mbps", "rtt": "5ms", "loss": "1%"}
    experiment = tc.Experiment(
        path=path,
        flows=[tc.Flow(cc=cc)],
        tunnel={"name": "sdwan-tcp-opt", "cc": "bbr"},
        duration="20s",
    )
    app = next(it for it in tc.run(experiment, progress=False).connections if it.name == "app")
    assert 400e9 < app.pacing_rate.max() <= 1.05 * 800e9
    assert app.pacing_rate.min() > 0
