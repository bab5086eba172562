# SPDX-License-Identifier: GPL-2.0-only
"""Results: the JSON's schema, the dataset's units, and that equal runs give equal bytes."""

from __future__ import annotations

import json
import pickle
import re

import numpy as np
import pytest

import tunnelcc as tc
from tunnelcc.scenario import Experiment

NUMBER, MAYBE, TEXT = (int, float), (int, float, type(None)), str

LEG = {
    "leg_name": TEXT, "leg_cc": TEXT, "payload_bytes": int, "retransmits": int, "rtos": int,
    "tail_loss_probes": int, "srtt_mean": MAYBE, "srtt_p95": MAYBE, "segments": int,
    "total_segments": int, "wire_bytes": int, "ack_wire_bytes": int, "established_at": MAYBE,
    "connect_failed_at": MAYBE, "finished_at": MAYBE, "limit_share": dict, "limit_pacing": NUMBER,
}  # fmt: skip
FLOW = {
    "flow": int, "flow_user": TEXT, "flow_carrier": (int, type(None)), "flow_messages_due": int,
    "flow_app_cc": TEXT, "flow_cc": TEXT, "flow_transport": TEXT, "flow_direction": TEXT,
    "flow_start": NUMBER, "flow_base_rtt": NUMBER, "flow_goodput": NUMBER,
    "flow_delivered_bytes": int, "flow_total_bytes": int, "flow_first_byte_at": MAYBE,
    "flow_completed_at": MAYBE, "flow_completion_time": MAYBE, "flow_socket_retransmits": int,
    "limited_by": dict, "legs": list,
}  # fmt: skip
LINK = {
    "link_utilisation": NUMBER, "link_queue_delay_mean": NUMBER, "link_queue_delay_p50": NUMBER,
    "link_queue_delay_p95": NUMBER, "link_queue_delay_p99": NUMBER, "link_queue_bytes_max": NUMBER,
    "link_packets": int, "link_bytes_sent": int, "link_queue_drops": int,
    "link_random_losses": int, "link_loss_rate": MAYBE, "link_marks": (int, type(None)),
    "link_policer_drops": (int, type(None)), "link_mtu_drops": MAYBE,
    "link_fragmented": MAYBE, "link_fragment_drops": MAYBE,
}  # fmt: skip
METRICS = {
    "goodput": NUMBER, "jain": MAYBE, "jain_users": MAYBE, "jain_carriers": MAYBE,
    "app_retransmits": NUMBER, "path_retransmits": NUMBER, "path_rtos": int, "path_segments": int,
    "path_wire_bytes": int, "efficiency": MAYBE,
}  # fmt: skip
HOST = {"host_cpu_time": NUMBER, "host_cpu": NUMBER}


def _check(table, schema):
    assert set(table) >= set(schema)
    for key, kinds in schema.items():
        assert isinstance(table[key], kinds), key


@pytest.fixture(params=["plain_result", "relay_result"])
def result(request):
    return request.getfixturevalue(request.param)


def test_the_json_has_its_schema(result):
    totals = json.loads(result.to_json())
    assert set(totals) == {
        "tunnelcc", "models", "kernel", "entries", "seed", "experiment", "derived", "since_start",
        "units", "metrics", "flows", "cross_traffic", "pings", "links", "tunnels", "hosts", "users",
        "carriers",
    }  # fmt: skip
    for flow in totals["flows"]:
        _check(flow, FLOW)
        for leg in flow["legs"]:
            _check(leg, LEG)
    link = totals["links"]["path"]
    assert (link["link_from"], link["link_to"]) == ("client", "server")
    for way in ("forward", "reverse"):
        _check(link[way], LINK)
    for host in ("client", "server"):
        _check(totals["hosts"][host], HOST)
    _check(totals["metrics"], METRICS)


def test_the_json_names_the_experiment_in_full(result):
    totals = json.loads(result.to_json())
    assert Experiment.parse(totals["experiment"]) == result.experiment
    assert totals["experiment"]["hosts"]["tcp_wmem"] == "4MiB"
    assert totals["derived"]["tcp_rmem_bytes"] == 32 * 2**20
    assert totals["tunnelcc"] == tc.__version__


def test_a_plain_flow_has_one_leg_and_a_relayed_one_three(plain_result, relay_result):
    assert [len(flow["legs"]) for flow in plain_result.to_dict()["flows"]] == [1, 1]
    for flow in relay_result.to_dict()["flows"]:
        assert [leg["leg_name"] for leg in flow["legs"]] == ["app", "carrier", "target"]
        assert [leg["leg_cc"] for leg in flow["legs"]] == ["cubic", "bbr", "cubic"]


def test_iperf_sees_the_loopback_and_not_the_path(relay_result):
    found = relay_result.to_dict()["metrics"]
    assert found["path_retransmits"] > 10
    assert found["app_retransmits"] == 0


def test_a_finite_flow_completes(plain_result):
    endless, finite = plain_result.to_dict()["flows"]
    assert endless["flow_completed_at"] is None
    assert finite["flow_total_bytes"] == 500_000
    assert 0.4 < finite["flow_completed_at"] < 5
    assert finite["legs"][0]["finished_at"] >= finite["flow_completed_at"]


def test_goodput_counts_what_was_read_after_the_warm_up(plain_result):
    flow = plain_result.to_dict()["flows"][0]
    assert flow["flow_goodput"] == pytest.approx(8 * flow["flow_delivered_bytes"] / 4)
    series = plain_result.dataset.flow_goodput_series.sel(flow=0)
    assert series[series.time > 1].mean() == pytest.approx(flow["flow_goodput"], rel=1e-9)


def test_the_path_carries_no_more_than_its_rate(result):
    totals = result.to_dict()
    assert 0.5 < totals["metrics"]["utilisation"] <= 1
    assert totals["metrics"]["goodput"] < 10e6
    assert 0.5 < totals["metrics"]["efficiency"] < 1448 / 1500


def test_every_variable_has_a_unit_and_a_name(result):
    dataset = result.dataset
    for name, variable in dataset.data_vars.items():
        assert variable.dtype.kind == "U" or variable.attrs["units"], name
        assert len(variable.attrs["long_name"]) > 5, name
    assert dataset.time.attrs["units"] == "s"
    assert set(dataset.dims) == {"time", "flow", "leg", "limit", "direction", "host", "link"}
    assert Experiment.parse(json.loads(dataset.attrs["experiment"])) == result.experiment


def test_probes_come_at_their_interval(result):
    steps = np.diff(result.dataset.time)
    assert steps == pytest.approx(0.1)
    assert result.dataset.time[-1] == pytest.approx(result.experiment.duration)


def test_the_queue_keeps_its_limit(result):
    limit = result.to_dict()["derived"]["buffer_bytes"]
    assert result.dataset.link_queue_bytes.sel(direction="forward").max() <= limit
    assert result.links["path"].forward.queue_bytes_max <= limit


def test_equal_experiments_give_equal_bytes(plain_result):
    again = tc.run(plain_result.experiment)
    assert again.to_json() == plain_result.to_json()
    assert again.digests() == plain_result.digests()


def test_another_seed_gives_another_result(relay_result):
    table = {**relay_result.experiment.table(), "seed": 2}
    assert tc.run(Experiment.parse(table)).digests() != relay_result.digests()


def test_results_can_be_pickled(result):
    copy = pickle.loads(pickle.dumps(result))
    assert copy.digests() == result.digests()
    assert copy.experiment == result.experiment


def test_digests_tell_what_changed(relay_result):
    other = pickle.loads(pickle.dumps(relay_result))
    other.measured["rtos"][0] += 1
    before, after = relay_result.digests(), other.digests()
    assert before.keys() == after.keys() == {"time", "flows", "legs", "links", "hosts"}
    assert {kind for kind in before if before[kind] != after[kind]} == {"legs"}


def test_nothing_of_this_machine_is_in_a_result(result):
    import platform

    text = result.to_json() + str(result.dataset.attrs)
    assert platform.node() not in text or len(platform.node()) < 4
    assert "/" not in json.dumps(result.experiment.table())


@pytest.fixture(scope="module")
def probed():
    """BBR, CUBIC through a relay, and KCP, with the state of their congestion controls."""
    return tc.run(
        {
            "path": {"rate": "50Mbps", "rtt": "40ms", "buffer": "1bdp"},
            "flows": [
                {"cc": "bbr", "tunnel": "none"},
                {"cc": "cubic", "start": "8s"},
                {"start": "20s", "tunnel": "kcp"},
            ],
            "tunnel": "gost-relay-ws",
            "tunnels": {"kcp": "gost-kcp"},
            "duration": "25s",
            "probe_interval": "10ms",
            "probe_congestion": True,
        },
        progress=False,
    ).dataset


def test_bbr_shows_its_cycle(probed):
    phase = probed["phase"].sel(flow=0, leg="app").values
    changes = [index for index in range(1, len(phase)) if phase[index] != phase[index - 1]]
    order = [phase[0], *(phase[index] for index in changes)]
    assert order[:5] == ["STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT", "PROBE_BW"]
    probes = [i for i in changes if phase[i] == "PROBE_RTT"]
    ends = [i for i in changes if phase[i - 1] == "PROBE_RTT"]
    # Ten seconds after the last least RTT, and at least 200 ms long (bbr_min_rtt_win_sec,
    # bbr_probe_rtt_mode_ms).
    assert 9.5 < probed["time"].values[probes[0]] < 10.7
    assert all(0.2 <= (end - begin) * 0.01 < 0.35 for begin, end in zip(probes, ends, strict=False))


def test_bbr_shows_what_it_believes_of_the_path(probed):
    alone = probed.sel(flow=0, leg="app").isel(time=slice(300, 700))
    payload = 50e6 * 1448 / 1500
    assert alone["bandwidth_estimate"].values == pytest.approx(payload, rel=0.04)
    assert alone["min_rtt_estimate"].values == pytest.approx(0.0402, abs=0.0003)
    gain = (alone["pacing_rate"] / alone["bandwidth_estimate"]).values
    # The cycle of PROBE_BW, below it by Linux's pacing margin of 1 %.
    assert {round(float(it), 2) for it in gain} == {0.74, 0.99, 1.24}


def test_cubic_shows_the_phases_of_rfc_5681(probed):
    carrier = probed.sel(flow=1, leg="carrier").isel(time=slice(790, None))
    phases = set(carrier["phase"].values.tolist())
    assert {"slow start", "congestion avoidance", "fast recovery"} <= phases
    grows = carrier["cwnd"] < carrier["ssthresh"]
    assert (carrier["phase"].values[grows.values] != "congestion avoidance").all()
    assert np.isnan(carrier["bandwidth_estimate"]).all()


def test_what_is_not_tcp_has_no_state_of_congestion(probed):
    carrier = probed.sel(flow=2, leg="carrier")
    assert set(carrier["phase"].values.tolist()) == {""}
    assert np.isnan(carrier["ssthresh"]).all()
    assert np.isnan(carrier["min_rtt_estimate"]).all()


def test_state_of_congestion_is_sampled_on_request_alone(plain_result):
    assert not {"ssthresh", "phase", "bandwidth_estimate"} & set(plain_result.dataset)


def _totals(value, key=""):
    """Yield each number with its name."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _totals(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from _totals(item, key)
    elif isinstance(value, (int, float)):
        yield key, value


@pytest.mark.parametrize(
    "tunnel",
    [
        {"name": "udpspeeder", "queue": 10},
        {"name": "kcptun"},
        {"name": "gost-relay-wss"},
    ],
    ids=lambda tunnel: tunnel["name"],
)
def test_the_json_says_which_totals_count_from_the_start(tunnel):
    found = []
    for warmup in ("0s", "2s"):
        experiment = tc.Experiment(
            path={"rate": "20Mbps", "rtt": "20ms", "loss": "2%", "buffer": "0.2bdp"},
            flows=[{"cc": "cubic", "count": 2}], tunnel=tunnel, duration="4s", warmup=warmup,
        )  # fmt: skip
        totals = json.loads(tc.run(experiment, progress=False).to_json())
        for key in ("tunnelcc", "models", "kernel", "seed", "experiment", "derived", "units"):
            del totals[key]
        found.append((totals.pop("since_start"), sorted(_totals(totals))))
    (since_start, whole), (_, later) = found
    counted = {key for key in dict(whole) if any(_of(whole, key))} - {"events"}
    same = {key for key in counted if _of(whole, key) == _of(later, key)}
    assert counted & set(since_start)
    assert counted & set(since_start) <= same
    # Numbers of things, moments and ratios may be equal by chance or always are.
    may_be_equal = re.compile(
        r"flow_(group|carrier|path_leg|start|bytes|base_rtt|first_byte_at|share|tunnel_share)"
        r"|flow|flows|carrier|established_at|jain.*|(link_)?queue_delay.*|.*_jain|bottleneck.*"
        r"|duration|probe_interval|receive_window|capacity|cpu.*|limit_.*|flow_limit.*|rise_time"
        r"|arq_.*|handshake|application|send_buffer|receive_window|congestion_window|pacing|cpu"
        r"|window_share|dip_interval|flow_phase|flow_tunnel_share|.*rtos|tail_loss_probes|.*drops|link_marks|.*random_losses"
    )
    assert not {key for key in same - set(since_start) if not may_be_equal.fullmatch(key)}


def _of(totals, key):
    return [value for name, value in totals if name == key]
