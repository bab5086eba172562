# SPDX-License-Identifier: GPL-2.0-only
"""Metrics of whole runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tunnelcc as tc
from tunnelcc import metrics


@pytest.fixture(params=["plain_result", "relay_result"])
def result(request):
    return request.getfixturevalue(request.param)


def test_every_metric_has_a_unit_and_a_name(result):
    table = metrics.of_run(result.dataset)
    flows = len(result.flows)
    assert set(table.data_vars) == {*metrics.STORED, *metrics.TEXTS}
    for name, variable in table.data_vars.items():
        assert len(variable.attrs["long_name"]) > 3, name
        assert variable.shape == ((flows,) if name.startswith("flow_") else ()), name
        if name not in metrics.TEXTS:
            assert variable.attrs["units"] in ("1", "s", "bit/s", "byte", "1/min"), name


def test_plain_values_are_those_of_the_dataset(result):
    table = metrics.of_run(result.dataset)
    for name, value in metrics.values(result).items():
        np.testing.assert_array_equal(table[name].values, value)


def test_metrics_agree_with_the_totals(result):
    table, totals = metrics.of_run(result.dataset), result.to_dict()
    assert float(table.goodput) == pytest.approx(result.goodput)
    assert float(table.jain) == pytest.approx(totals["metrics"]["jain"])
    assert float(table.efficiency) == pytest.approx(totals["metrics"]["efficiency"])
    assert float(table.loss_rate) == pytest.approx(totals["metrics"]["loss_rate"])
    assert float(table.utilisation) == pytest.approx(totals["metrics"]["utilisation"])
    assert float(table.queue_delay_p95) == pytest.approx(totals["metrics"]["queue_delay_p95"])
    assert float(table.cpu_client) == pytest.approx(totals["hosts"]["client"]["host_cpu"])
    for index, flow in enumerate(totals["flows"]):
        assert float(table.flow_goodput[index]) == pytest.approx(flow["flow_goodput"])
        carrier = flow["legs"][len(flow["legs"]) // 2]
        socket = flow["legs"][0]
        for name, leg, part in (
            ("flow_rtt", carrier, "mean"),
            ("flow_rtt_p95", carrier, "p95"),
            ("flow_socket_rtt", socket, "mean"),
        ):
            told = leg[f"srtt_{part}"]
            told = math.nan if told is None else told
            assert float(table[name][index]) == pytest.approx(told, nan_ok=True)
        assert str(table.flow_cc[index].values) == carrier["leg_cc"]


def test_a_flow_has_no_rtt_once_it_is_over():
    flows = [{"bytes": "1MB"}, {"start": "10s"}]
    path = {"rate": "20Mbps", "rtt": "20ms", "buffer": "4bdp"}
    result = tc.run({"path": path, "flows": flows, "duration": "12s"}, progress=False)
    table = result.dataset
    over = table.time.values > result.to_dict()["flows"][0]["legs"][0]["finished_at"]
    srtt = table.srtt.values[0, 0]
    assert not math.isnan(srtt[~over][1:].max())
    assert all(math.isnan(value) for value in srtt[over])


def test_arguments_of_metrics_may_have_units(plain_result):
    metric = plain_result.metric
    assert metric("goodput", since="1500ms", until="3s") == metric(
        "goodput", since=1.5, until=np.int64(3)
    )
    assert metric("settling_time", within="10%") == metric("settling_time", within=0.1)
    for key, value in (("since", "1"), ("since", "soon"), ("until", [1]), ("within", "much")):
        with pytest.raises(tc.ConfigError, match=f"{key} = .*: expected "):
            metric("settling_time", **{key: value})


def test_flows_complete_unless_they_have_no_end_or_do_not_arrive():
    flows = [{"bytes": "20kB", "count": 2, "interarrival": "1h"}, {"bytes": "1GB"}, {}]
    run = tc.run(tc.Experiment(path={"rate": "10Mbps"}, flows=flows, duration="2s"))
    whole, absent, cut, endless = metrics.of_run(run.dataset).flow_completed.values
    assert (whole, cut) == (1, 0)
    assert math.isnan(absent)
    assert math.isnan(endless)


def test_completion_is_of_flows_that_start_after_the_warm_up():
    flows = [{}, *({"bytes": "20kB", "start": start} for start in ("0s", "999ms", "1s", "2s"))]
    table = {"path": {"rate": "10Mbps"}, "flows": flows, "duration": "4s", "start_jitter": "0s"}
    run = tc.run(tc.Experiment.parse({**table, "warmup": "1s"}), progress=False)
    found = metrics.of_run(run.dataset)
    assert np.isnan(found.flow_completion_time.values).tolist() == [True] * 3 + [False] * 2
    assert found.flow_completed.values == pytest.approx([math.nan] * 3 + [1] * 2, nan_ok=True)
    assert found.flow_bytes.values == pytest.approx([math.nan] + [20e3] * 4, nan_ok=True)
    told = [flow["flow_completion_time"] for flow in run.to_dict()["flows"]]
    assert told[:3] == [None] * 3
    assert told[3:] == found.flow_completion_time.values[3:].tolist()
    whole = tc.run(tc.Experiment.parse(table), progress=False)
    times = metrics.of_run(whole.dataset).flow_completion_time.values
    assert np.isfinite(times[1:]).all()
    assert (times[3:] == found.flow_completion_time.values[3:]).all()


def test_retransmissions_and_segments_count_after_the_warm_up():
    path = {"rate": "10Mbps", "rtt": "20ms", "loss": "5%"}
    whole = tc.run(tc.Experiment(path=path, flows={"cc": "bbr"}, duration="8s"))
    later = tc.run(tc.Experiment(path=path, flows={"cc": "bbr"}, duration="8s", warmup="6s"))
    for run in (whole, later):
        aggregate, dataset = run.to_dict()["metrics"], run.dataset
        ratio = aggregate["path_retransmits"] / aggregate["path_segments"]
        assert run.metric("retransmission_ratio") == ratio == pytest.approx(0.05, abs=0.015)
        assert float(dataset["path_retransmits"]) == aggregate["path_retransmits"]
        assert float(dataset["path_segments"]) == aggregate["path_segments"]
        assert aggregate["path_segments"] == sum(leg.segments for leg in run.connections)
    leg = later.connections[0]
    assert leg.segments == pytest.approx(leg.total_segments / 4, rel=0.1)
    assert leg.total_segments == whole.connections[0].segments


def test_congestion_events_are_reductions_of_the_window():
    """One packet of 10,000 is lost: one event each, and Mathis et al.'s constant is √(3/2)."""
    path = {"rate": "1Gbps", "rtt": "10ms", "loss": "0.01%", "loss_pattern": "periodic"}
    path["phase"] = "0"  # the constant is of this RTT
    experiment = {"path": path, "flows": {"cc": "reno"}, "duration": "60s", "warmup": "10s"}
    run = tc.run(tc.Experiment(**experiment))
    rate = run.metric("congestion_event_rate")
    assert rate == pytest.approx(1e-4, rel=0.02)
    assert run.metric("flow_congestion_events", flow=0) == run.connections[0].congestion_events
    constant = run.metric("goodput") / 8 / 1448 * run.metric("flow_rtt", flow=0) * rate**0.5
    assert constant == pytest.approx(1.5**0.5, rel=0.03)
    # A window that overflows the queue loses several segments in one event.
    path = {"rate": "10Mbps", "rtt": "20ms", "buffer": "1bdp"}
    for cc in ("cubic", "bbr"):
        run = tc.run(tc.Experiment(path=path, flows={"cc": cc}, duration="10s"))
        assert 0 < run.connections[0].congestion_events < run.connections[0].retransmits


def test_congestion_events_are_tcps():
    run = tc.run(tc.Experiment(flows={"cc": "cubic", "transport": "quic"}, duration="2s"))
    assert np.isnan(run.metric("flow_congestion_events", flow=0))
    assert np.isnan(run.metric("congestion_event_rate"))


def test_two_equal_flows_are_fair():
    run = tc.Experiment(
        path={"rate": "20Mbps", "rtt": "20ms"}, flows={"cc": "bbr", "count": 2}, duration="20s",
        warmup="5s",
    )  # fmt: skip
    table = metrics.of_run(tc.run(run).dataset)
    assert float(table.jain) > 0.95
    assert np.allclose(table.flow_max_min_share, 1, atol=0.2)
    assert float(table.max_min_share) == float(table.flow_max_min_share.min())
    assert float(table.flow_share.sum()) == pytest.approx(1)
    assert 0 <= float(table.fair_convergence_time) < 15
    assert np.all(table.flow_convergence_time < 15)


def test_capacity_is_the_payload_that_fits():
    slow = {"rate": "20Mbps", "rtt": "20ms", "rate_steps": [["3s", "10Mbps"]]}
    run = tc.run(tc.Experiment(path=slow, duration="5s", warmup="1s"))
    # After the warm-up two seconds of 20 Mbit/s and two of 10, 1448 bytes of every 1500.
    assert float(run.dataset.capacity) == pytest.approx(15e6 * 1448 / 1500, rel=1e-6)


@pytest.mark.parametrize(("framing", "extra"), [("ip", 0), ("tc", 14), ("ethernet", 38)])
def test_framing_takes_its_part_of_capacity_and_fair_rates(framing, extra):
    """`extra` are bytes per packet, on the wire only."""
    path = {"rate": "20Mbps", "rtt": "20ms", "framing": framing, "buffer": "2bdp"}
    source = {"rate": "5Mbps", "packet": 100}
    run = tc.run({"path": path, "cross_traffic": [source], "duration": "6s", "warmup": "2s"})
    payload = 1448 / (1500 + extra)
    assert float(run.dataset.capacity) == pytest.approx(20e6 * payload, rel=1e-3)
    fair = (20e6 - 5e6 * (100 + extra) / 100) * payload
    assert float(run.dataset.flow_fair_rate[0]) == pytest.approx(fair, rel=1e-3)
    assert run.metric("max_min_share") == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("way", ["forward", "reverse"])
def test_a_policer_limits_what_is_fair(way):
    policer = {"rate": "5Mbps"}
    path = {"rate": "20Mbps", "rtt": "20ms"}
    path |= {"policer": policer} if way == "forward" else {"reverse": {"policer": policer}}
    run = tc.run({"path": path, "duration": "4s", "warmup": "1s"})
    rate = 5e6 if way == "forward" else 20e6
    assert float(run.dataset.flow_fair_rate[0]) == pytest.approx(rate * 1448 / 1500, rel=1e-3)


def test_fair_rates_are_means_over_who_is_there():
    """Of 10 s, two flows are there in the last 6 and a source of UDP in the last 2."""
    run = tc.run(
        {
            "path": {"rate": "20Mbps", "rtt": "20ms"},
            "flows": [{"cc": "cubic"}, {"cc": "cubic", "start": "6s"}],
            "cross_traffic": [{"rate": "2Mbps", "start": "10s"}],
            "duration": "12s",
            "warmup": "2s",
            "start_jitter": "0s",
        }
    )
    payload = 20e6 * 1448 / 1500
    owed = [(4 * 1 + 4 * 0.5 + 2 * 0.45) / 10, (4 * 0.5 + 2 * 0.45) / 10]
    assert run.dataset.flow_fair_rate.values == pytest.approx(payload * np.array(owed), rel=1e-3)
    series = run.dataset.flow_fair_rate_series.sel(time=[3, 6.1, 9, 11], method="nearest")
    parts = [[1, 0.5, 0.5, 0.45], [0, 0.5, 0.5, 0.45]]
    assert series.values == pytest.approx(payload * np.array(parts), rel=1e-3)


def test_a_flow_that_is_stopped_has_no_completion_time_and_demands_nothing_more():
    fair = {}
    for size in (None, "500MB"):
        flows = [{"stop": "3s", "bytes": size}, {}]
        table = {"path": {"rate": "10Mbps"}, "flows": flows, "duration": "10s"}
        result = tc.run(tc.Experiment.parse(table), progress=False)
        first = result.to_dict()["flows"][0]
        assert 3 < first["flow_completed_at"] < 4
        assert first["flow_completion_time"] is None
        fair[size] = result.dataset.flow_fair_rate.values
    assert fair["500MB"] == pytest.approx(fair[None])
    assert fair[None][1] > 4 * fair[None][0]


def test_fair_rates_follow_the_rate_of_the_link():
    """Of 60 s, 20 have 50 Mbit/s for one flow, and 40 have 10 Mbit/s for two."""
    path = {"rate": "50Mbps", "rtt": "40ms", "rate_steps": [["20s", "10Mbps"]]}
    flows = [{"cc": "cubic"}, {"cc": "cubic", "start": "20s"}]
    run = tc.run({"path": path, "flows": flows, "duration": "60s", "start_jitter": "0s"})
    part = 1e6 * 1448 / 1500
    owed = [(20 * 50 + 40 * 5) / 60, 40 * 5 / 60]
    assert run.dataset.flow_fair_rate.values == pytest.approx(part * np.array(owed), rel=1e-6)
    series = run.dataset.flow_fair_rate_series.sel(time=[10, 30], method="nearest")
    assert series.values == pytest.approx(part * np.array([[50, 5], [0, 5]]), rel=1e-6)
    # Alone, a flow has at all times what is fair.
    alone = tc.run({"path": path, "flows": [{"cc": "cubic"}], "duration": "60s"})
    assert alone.metric("max_min_share") == pytest.approx(1, abs=0.03)
    assert alone.metric("flow_convergence_time") < 2
    # An application gets no more of the first 20 s than it writes, nor of the rest than there is.
    small = tc.run({"path": path, "flows": [{"rate": "20Mbps"}], "duration": "60s"})
    owed = [(20 * 20e6 + 40 * 10 * part) / 60]
    assert small.dataset.flow_fair_rate.values == pytest.approx(owed, rel=1e-3)


def test_fair_rates_follow_a_policed_trace_second_by_second(tmp_path):
    """Two seconds have 20 Mbit/s in bursts of 40, one has nothing, and five have 6."""
    trace = tmp_path / "bursts.csv"
    bursts = [f"{ms / 1000},{0 if ms % 100 else 40}" for ms in range(0, 2000, 50)]
    trace.write_text("\n".join(["time_s,rate_Mbps", *bursts, "2,0", "3,6"]))
    path = {"rtt": "40ms", "trace": str(trace), "policer": {"rate": "15Mbps"}}
    run = tc.run({"path": path, "flows": [{"cc": "cubic"}], "duration": "8s", "start_jitter": "0s"})
    part = 1e6 * 1448 / 1500
    owed = [(2 * 15 + 0 + 5 * 6) / 8 * part]
    assert run.dataset.flow_fair_rate.values == pytest.approx(owed, rel=1e-6)
    series = run.dataset.flow_fair_rate_series.sel(time=[0.5, 2.5, 5], method="nearest")
    assert series.values[0] == pytest.approx(part * np.array([15, 0, 6]), rel=1e-6)


def test_fair_rates_of_a_trace_that_repeats(tmp_path):
    """Three packets in 10 ms."""
    trace = tmp_path / "mahimahi"
    trace.write_text("\n".join(["4", "10", "10"]))
    run = tc.run(
        {
            "path": {"rtt": "40ms", "trace": str(trace)},
            "duration": "2.5s",
            "start_jitter": "0s",
        }
    )
    owed = 3 * 1500 * 8 / 10e-3 * 1448 / 1500
    assert run.dataset.flow_fair_rate_series.values[0][5:] == pytest.approx(owed, rel=1e-6)


def test_a_flow_that_ends_leaves_the_path_to_the_others():
    flows = [{"cc": "cubic"}, {"cc": "cubic", "bytes": "3MB"}]
    run = tc.run({"path": {"rate": "20Mbps", "rtt": "20ms"}, "flows": flows, "duration": "20s"})
    payload, end = 20e6 * 1448 / 1500, float(run.dataset.flow_completed_at[1])
    assert 2 < end < 6
    owed = [1 - end / 2 / 20, end / 2 / 20]
    assert run.dataset.flow_fair_rate.values == pytest.approx(payload * np.array(owed), rel=0.01)
    assert run.metric("flow_convergence_time", flow=0) < end + 1
    assert math.isnan(run.metric("flow_convergence_time", flow=1))


def test_a_late_flow_converges_to_what_is_fair_while_it_is_there():
    flows = [{"cc": "bbr"}, {"cc": "bbr", "start": "15s"}]
    path = {"rate": "20Mbps", "rtt": "20ms", "buffer": "2bdp"}
    run = tc.run({"path": path, "flows": flows, "duration": "30s"})
    assert run.metric("flow_max_min_share", flow=1) == pytest.approx(1, abs=0.15)
    assert run.metric("flow_convergence_time", flow=1) < 8
    assert run.metric("flow_convergence_time", flow=0) < 2


def test_a_flow_that_was_not_there_has_no_share():
    flows = [{"cc": "cubic"}, {"cc": "cubic", "bytes": "10kB"}]
    run = tc.run({"path": {"rate": "20Mbps", "rtt": "20ms"}, "flows": flows, "duration": "4s",
                  "warmup": "2s"})  # fmt: skip
    assert math.isnan(run.metric("flow_max_min_share", flow=1))
    assert run.metric("max_min_share") == run.metric("flow_max_min_share", flow=0)


def test_a_finite_flow_rises_to_what_it_had():
    run = tc.run({"path": {"rate": "20Mbps", "rtt": "40ms"}, "flows": {"bytes": "2MB"},
                  "duration": "20s"})  # fmt: skip
    assert 0.15 < run.metric("rise_time") < 0.6
    assert run.metric("settling_time") < 0.6


def test_settling_begins_with_the_end_of_the_warm_up():
    experiment = {"path": {"rate": "20Mbps", "rtt": "100ms"}, "duration": "12s", "warmup": "4s",
                  "flows": {"cc": "reno", "start": "2s"}}  # fmt: skip
    run = tc.run(experiment)
    assert run.metric("settling_time") == run.metric("settling_time", since=4)
    assert run.metric("settling_time", since=0) > run.metric("settling_time") + 1


def test_messages_that_do_not_arrive_are_told():
    def late(**keys):
        experiment = {"path": {"rate": "5Mbps", "rtt": "40ms", "buffer": "2000p"},
                      "flows": {"rate": "10Mbps", "write_size": 1448, **keys},
                      "duration": "10s", "warmup": "5s", "start_jitter": "0s"}  # fmt: skip
        run = tc.run(experiment)
        return run.flows[0], run

    messages, run = late()  # twice what the path carries: all that were due are still waiting
    assert messages.messages_due == pytest.approx(5 * 10e6 / 8 / 1448, abs=1)
    assert messages.messages_delivered == 0
    assert messages.message_latency_p50 is None
    assert run.metric("flow_message_delivered_share") == 0
    assert math.isnan(run.metric("flow_message_latency_mean"))
    few = late(rate="1Mbps", write_size=1000)[0]
    assert few.messages_due == 625
    assert few.messages_due - few.messages_delivered in (3, 4)  # under way at the end
    assert late(rate="1Mbps", write_size=1000, stop="6s")[0].messages_due == 125
    finite = late(rate="1Mbps", write_size=1000, bytes=700 * 1000)[0]
    assert (finite.messages_due, finite.messages_delivered) == (80, 80)
    assert late(rate="1Mbps", write_size=1000, stop="4s")[0].messages_due == 0


def test_a_flow_that_writes_slowly_is_owed_no_more_than_that():
    flows = [{"cc": "cubic"}, {"cc": "cubic", "rate": "2Mbps", "write_size": "10kB"}]
    run = tc.Experiment(
        path={"rate": "20Mbps", "rtt": "20ms"}, flows=flows, duration="10s", warmup="2s"
    )
    assert np.allclose(metrics.of_run(tc.run(run).dataset).flow_max_min_share, 1, atol=0.08)


def test_users_carriers_and_messages_are_metrics():
    run = tc.Experiment(
        path={"rate": "20Mbps", "rtt": "20ms"},
        tunnel={"name": "gost-relay-mws", "carriers": "user"},
        flows=[
            {"user": "two", "count": 2},
            {"user": "one"},
            {"user": "writer", "rate": "100kbps", "write_size": 500},
        ],
        duration="5s",
        warmup="1s",
    )
    result = tc.run(run)
    table, totals = metrics.of_run(result.dataset), result.to_dict()
    aggregate = totals["metrics"]
    assert float(table.jain_users) == pytest.approx(aggregate["jain_users"])
    assert float(table.jain_carriers) == pytest.approx(aggregate["jain_carriers"])
    assert float(table.jain_users) == float(table.jain_carriers) != float(table.jain)
    writer = totals["flows"][3]
    for part in ("mean", "p50", "p95", "p99"):
        latency = table[f"flow_message_latency_{part}"].values
        assert np.isnan(latency[:3]).all(), "no messages"
        assert latency[3] == pytest.approx(writer[f"flow_message_latency_{part}"])


@pytest.mark.words
def test_a_metric_is_looked_up_by_name(result):
    for name, metric in metrics.METRICS.items():
        value = result.metric(name)
        assert metric.units in ("1", "s", "bit/s", "byte", "packets", "segments", "1/min")
        assert math.isnan(value) or value >= 0, name
    assert result.metric("goodput") == result.goodput
    with pytest.raises(tc.ConfigError, match="argument = 'bogus': expected one of flow, since"):
        result.metric("goodput", bogus=1)
    with pytest.raises(tc.ConfigError, match="did you mean 'goodput'"):
        result.metric("goodputs")
    with pytest.raises(tc.ConfigError, match="since = 2"):
        result.metric("jain", since=2)


def test_a_metric_of_a_part_of_the_time_is_that_of_the_series(plain_result):
    rates = plain_result.dataset.flow_goodput_series
    late = rates.sel(time=rates.time > 3 + 1e-9)
    assert plain_result.metric("goodput", flow=0, since=3) == pytest.approx(
        float(late.sel(flow=0).mean())
    )
    assert plain_result.metric("goodput", since=3) == pytest.approx(
        float(late.sum("flow").mean("time"))
    )
    whole = plain_result.metric("goodput", flow=0, since=1, until=5)
    assert whole == pytest.approx(plain_result.metric("flow_goodput", flow=0))


def test_what_never_happens_is_not_a_number(plain_result):
    assert math.isnan(plain_result.metric("flow_completion_time", flow=0))
    assert math.isnan(plain_result.metric("interface_efficiency"))


def test_retransmissions_of_the_application_are_not_those_of_the_path(relay_result):
    aggregate = relay_result.to_dict()["metrics"]
    assert relay_result.metric("app_retransmits") == aggregate["app_retransmits"] == 0
    assert relay_result.metric("path_retransmits") == aggregate["path_retransmits"] > 0


@pytest.mark.parametrize(("segments", "round_trips"), [(10, 1.5), (30, 2.5), (70, 3.5)])
@pytest.mark.parametrize("duration", ["600ms", "2s"])
def test_a_flow_is_complete_when_its_last_byte_was_read(segments, round_trips, duration):
    """Slow start sends 10, 20, 40 segments; the stream's end may need another round trip."""
    result = tc.run(
        {
            "path": {"rate": "10Gbps", "rtt": "100ms"},
            "flows": [{"bytes": segments * 1448}],
            "start_jitter": "0s",
            "duration": duration,
        },
        progress=False,
    )
    time = result.metric("flow_completion_time", flow=0)
    assert time == pytest.approx(round_trips * 0.1, abs=2e-3)


@pytest.mark.parametrize("tunnel", ["kcptun", "gost-quic", "finalspeed"])
def test_data_in_flight_has_no_share_of_a_tcp_window_across_another_protocol(tunnel):
    path = {"rate": "20Mbps", "rtt": "40ms"}
    named = {"name": tunnel} | ({"rate": "10Mbps"} if tunnel == "finalspeed" else {})
    run = tc.run({"path": path, "tunnel": named, "duration": "2s"})
    assert math.isnan(run.metric("window_share"))
    plain = tc.run({"path": path, "duration": "2s"})
    assert 0 < plain.metric("window_share") < 0.02
