# SPDX-License-Identifier: GPL-2.0-only
"""Queue disciplines, policers, bursty loss and jitter under TCP."""

from __future__ import annotations

import pytest

import tunnelcc as tc

HOSTS = tc.Hosts(tcp_rmem="64MiB", tcp_wmem="64MiB")


def run(path: dict, **keys) -> tc.Result:
    keys = {"flows": [tc.Flow(cc="cubic")], "duration": "20s", "warmup": "5s", **keys}
    path = {"rate": "50Mbps", "rtt": "40ms", "buffer": "8bdp", **path}
    return tc.run(tc.Experiment(path=path, hosts=HOSTS, **keys), progress=False)


@pytest.mark.parametrize(
    ("queue", "most"),
    # The median near each target; RED's thresholds of 5 and 15 packets are 1.2 and 3.6 ms.
    [("codel", 0.008), ("fq-codel", 0.008), ("pie", 0.020), ("red", 0.005)],
)
def test_disciplines_end_bufferbloat(queue, most):
    bloated = run({})
    assert bloated.links["path"].forward.queue_delay_p50 > 0.1
    short = run({"queue": queue})
    assert short.links["path"].forward.queue_delay_p50 < most
    assert short.links["path"].forward.queue_drops > 0
    assert short.links["path"].forward.utilisation > 0.75


@pytest.mark.parametrize("queue", ["drop-tail", "codel"])
def test_only_packets_that_have_waited_count(queue):
    # 40 kbit/s into 8 kbit/s: the queue of 60 packets of a second each outlasts the run.
    path = {"rate": "8kbps", "rtt": "100ms", "buffer": "60p", "queue": queue}
    udp = [tc.CrossTraffic(rate="40kbps", packet="1000B")]
    result = tc.run(
        {"path": path, "flows": {"bytes": "1B"}, "cross_traffic": udp, "duration": "20s"}
    )
    assert 1 < result.links["path"].forward.queue_delay_p99 < 20


@pytest.mark.parametrize("queue", ["codel", "fq-codel", "pie", "red"])
def test_ecn_replaces_drops(queue):
    result = run({"queue": queue}, tcp=tc.Tcp(ecn=True), duration="30s", warmup="10s")
    assert result.links["path"].forward.marks > 0
    assert result.links["path"].forward.queue_drops == 0
    assert (
        result.to_dict()["links"]["path"]["forward"]["link_marks"]
        == result.links["path"].forward.marks
    )
    silent = run({"queue": {"name": queue, "ecn": False}}, tcp=tc.Tcp(ecn=True))
    assert silent.links["path"].forward.marks is None
    assert silent.links["path"].forward.queue_drops > 0


def test_fq_codel_isolates_flows_from_udp():
    flood = [tc.CrossTraffic(rate="100Mbps")]
    starved = run({"queue": "codel"}, cross_traffic=flood)
    isolated = run({"queue": "fq-codel"}, cross_traffic=flood)
    assert starved.goodput < 1e6
    assert isolated.goodput > 20e6  # of the 25 that are its share


def test_fq_codel_shares_among_round_trip_times():
    flows = [tc.Flow(cc="cubic", rtt="10ms"), tc.Flow(cc="cubic", rtt="100ms")]
    shared = run({"queue": "fq-codel"}, flows=flows, duration="60s", warmup="20s")
    near, far = (flow.delivered_bytes for flow in shared.flows)
    assert 0.8 < near / far < 1.5


def test_a_policer_holds_flows_to_its_rate():
    for position in ("before", "after"):
        policer = {"rate": "20Mbps", "burst": "100kB", "position": position}
        result = run({"policer": policer}, flows=[tc.Flow(cc="bbr")])
        assert 12e6 < result.goodput < 20e6
        assert result.links["path"].forward.policer_drops > 0
        assert result.links["path"].forward.queue_delay_p50 == 0
    assert run({}).links["path"].forward.policer_drops is None


def test_bursty_loss_counts_as_random_loss():
    # p / (p + r) of the packets: 1 %.
    bursts = {"p": 0.0025252525, "r": 0.25}
    result = run({"gilbert_elliott": bursts}, flows=[tc.Flow(cc="bbr")], duration="60s")
    path = result.links["path"].forward
    assert path.random_losses / path.packets == pytest.approx(0.01, rel=0.15)


def test_jitter_lengthens_the_rtt_and_reorders_only_where_it_may():
    plain = run({"rtt": "40ms", "buffer": "1bdp"}, flows=[tc.Flow(rate="5Mbps")])
    ordered = run({"jitter": "5ms"}, flows=[tc.Flow(rate="5Mbps")])
    shuffled = run({"jitter": "5ms", "jitter_reorders": True}, flows=[tc.Flow(rate="5Mbps")])
    leg = [result.to_dict()["flows"][0]["legs"][0] for result in (plain, ordered, shuffled)]
    assert leg[1]["srtt_mean"] > leg[0]["srtt_mean"] + 0.004
    assert leg[0]["retransmits"] == leg[1]["retransmits"] == 0


def test_flows_start_and_stop():
    flows = [tc.Flow(cc="cubic"), tc.Flow(cc="cubic", start="5s", stop="10s")]
    result = run({"buffer": "1bdp"}, flows=flows, warmup="0s")
    first, second = result.dataset.flow_goodput_series.values / 1e6
    time = result.dataset.time.values
    assert second[time <= 5].max() == 0
    assert second[(time > 6) & (time < 10)].mean() > 5
    assert second[time > 11].max() == 0
    assert first[time > 14].mean() > 44
    legs = result.to_dict()["flows"][1]
    assert 10 < legs["flow_completed_at"] < 11.5


@pytest.mark.parametrize("tunnel", ["gost-relay-ws", None])
@pytest.mark.parametrize("direction", ["up", "down"])
def test_flows_stop_through_tunnels_and_in_both_directions(tunnel, direction):
    flows = [tc.Flow(cc="bbr", stop="3s"), tc.Flow(cc="bbr", rate="1Mbps", stop="3s")]
    result = run({}, flows=flows, tunnel=tunnel, direction=direction, duration="10s", warmup="0s")
    for flow in result.to_dict()["flows"]:
        assert 3 < flow["flow_completed_at"] < 6


def test_parameters_of_another_discipline_are_refused():
    with pytest.raises(tc.ConfigError, match=r"queue\.alpha = 1: expected one of the keys name"):
        tc.Experiment(path={"queue": {"name": "codel", "alpha": 1}})
    with pytest.raises(tc.ConfigError, match=r"path\.queue\.target.*one of the keys name"):
        tc.Experiment(path={"queue": {"name": "drop-tail", "target": "5ms"}})


def test_a_threshold_is_for_drop_tail():
    with pytest.raises(tc.ConfigError, match=r"ecn_threshold.*codel, which marks"):
        tc.Path(queue="codel", ecn_threshold="10p")


def test_bursts_exclude_independent_loss():
    with pytest.raises(tc.ConfigError, match=r"loss = '1%'.*gilbert_elliott"):
        tc.Path(loss="1%", gilbert_elliott={"p": "1%", "r": "50%"})


@pytest.mark.parametrize("packet", [128, 441, 1500])
@pytest.mark.parametrize(("overhead", "counted"), [("raw", 14), ("0B", 0), ("22B", 22)])
def test_cake_without_overhead_counts_ethernets_header(packet, overhead, counted):
    """Datagrams of 413 bytes, 441 of IP, have 3 % less than CAKE's bandwidth.

    Linux 6.12 sch_cake.c, cake_calc_overhead(): the network offset, 14 bytes behind an Ethernet
    interface, is taken off with CAKE_FLAG_OVERHEAD alone, which the option overhead sets.
    """
    queue = {"name": "cake", "bandwidth": "10Mbps", "overhead": overhead}
    result = tc.run(
        {
            "path": {"rate": "100Mbps", "rtt": "20ms", "buffer": "4MB", "queue": queue},
            "cross_traffic": [{"rate": "20Mbps", "packet": f"{packet}B"}],
            "flows": [{"start": "2.99s"}],
            "warmup": "1s",
            "duration": "3s",
        },
        progress=False,
    )
    rate = result.links["path"].forward.bytes_sent * 8 / result.measured_time
    assert rate == pytest.approx(10e6 * packet / (packet + counted), rel=1e-3)
