# SPDX-License-Identifier: GPL-2.0-only
"""Flows over QUIC: what they deliver, in which packets, through which tunnels, and what is refused.

That their rates are those of quic-go is checked in test_quic_measured.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tunnelcc as tc
from tunnelcc import core, plots
from tunnelcc.catalog.quic import transport
from tunnelcc.formats import iperf3
from tunnelcc.metrics.limits import LIMITS
from tunnelcc.specification import experiment_spec
from tunnelcc.sweeps.conditions import conditions

PATH = {"rate": "50Mbps", "rtt": "40ms", "buffer": "1bdp"}


def _experiment(**keys: Any) -> tc.Experiment:
    flows = {"transport": "quic", "cc": "cubic"} | keys.pop("flows", {})
    table = {"path": PATH | keys.pop("path", {}), "flows": flows, "duration": "5s"}
    return tc.Experiment.parse({**table, **keys})


def _run(**keys: Any) -> tc.Result:
    return tc.run(_experiment(**keys), progress=False)


def test_a_flow_fills_the_path_with_its_own_packets():
    result = _run(warmup="4s", duration="10s", flows={"cc": "bbr"})
    full = transport().full(is_up=True)
    # Of 1441 bytes, 23 are of the packet and 6 to 8 of the frame; 28 are UDP's and IP's.
    most = 50e6 * (full - 23 - 6) / (full + 28)
    assert 0.95 * most < result.goodput <= most
    (leg,) = result.connections
    assert (leg.name, leg.cc) == ("app", "bbr")


@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize("tunnel", [None, "wireguard", "openvpn-tcp", "udpspeeder"])
def test_a_finite_flow_arrives_whole(direction, tunnel):
    keys = {"tunnel": tunnel} if tunnel else {}
    path = {"loss": "1%", "reverse_loss": "1%"}
    result = _run(flows={"bytes": "1MB"}, path=path, direction=direction, duration="30s", **keys)
    (flow,) = result.flows
    assert flow.total_bytes == 1_000_000
    assert 0 < flow.completed_at < 30


def test_connecting_takes_a_round_trip():
    result = _run(flows={"bytes": "1kB"}, path={"rate": "1Gbps"})
    (leg,), (flow,) = result.connections, result.flows
    start = result.network.flows[0].start
    assert leg.established_at == pytest.approx(start + 0.040, abs=1e-3)
    assert flow.first_byte_at == pytest.approx(start + 0.060, abs=1e-3)


@pytest.mark.parametrize(
    "name", [it for it in core.congestion_controls() if it not in ("brutal", "prague")]
)
def test_every_congestion_control_runs(name):
    result = _run(flows={"cc": name}, path={"loss": "0.1%"})
    assert result.goodput > 5e6
    assert result.connections[0].cc == name


def test_the_programs_own_algorithm_has_its_parameters():
    def parameters(cc: Any) -> dict[str, float]:
        return experiment_spec(_experiment(flows={"cc": cc}))["flows"][0]["cc"]["parameters"]

    own = transport().congestion
    assert own.cc == "reno"
    assert parameters("reno") == {"beta": 0.7, "hystart": 1, "fractions": 1}
    assert parameters({"name": "reno", "beta": 0.5})["beta"] == 0.5
    assert parameters("cubic") == {}


def test_packets_fit_the_devices_they_leave_through():
    # The search would like to send 1480 bytes; WireGuard's device takes 1420 and adds 60.
    result = _run(tunnel="wireguard", warmup="2s")
    (tunnel,) = result.tunnels
    assert tunnel.forward.inner_bytes / tunnel.forward.inner_packets <= 1420
    sizes = experiment_spec(_experiment(path={"mtu": 1400}))["quic"][0]["packets"]
    assert sizes["mtu"] == 1400
    assert _run(path={"mtu": 1400}, warmup="2s").goodput > 40e6


def test_small_segments_of_tcp_do_not_limit_packets_of_quic():
    result = _run(tunnel="wireguard", tcp={"mss": 500}, warmup="2s")
    (tunnel,) = result.tunnels
    assert tunnel.forward.inner_bytes / tunnel.forward.inner_packets > 1300


def test_tcp_and_quic_share_a_path():
    flows = [{"cc": "reno", "transport": it, "count": 2} for it in ("tcp", "quic")]
    table = {"path": PATH, "flows": flows, "duration": "40s", "warmup": "10s", "start_jitter": "1s"}
    result = tc.run(table, progress=False)
    shares = np.array([flow.delivered_bytes for flow in result.flows], dtype=float)
    shares /= shares.sum()
    assert result.goodput > 45e6
    assert 0.2 < shares[:2].sum() < 0.8
    assert "over QUIC" in result.heading
    assert np.isnan(result.metric("window_share"))


def test_equal_seeds_give_equal_results():
    runs = [_run(path={"loss": "1%"}, seed=7) for _ in range(2)]
    assert runs[0].dataset.identical(runs[1].dataset)


def test_messages_have_a_latency():
    result = _run(flows={"rate": "2Mbps", "write_size": 1200})
    (flow,) = result.flows
    assert flow.message_latency_mean == pytest.approx(0.020, abs=2e-3)


def test_encrypting_costs_cpu_time():
    tcp, quic = (
        _run(flows={"transport": it}, hosts={"profile": "reference-host"}).hosts[0].cpu_time
        for it in ("tcp", "quic")
    )
    assert 0 < tcp < quic


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"tunnel": "gost-relay-wss"}, "tcp with gost-relay-wss"),
        ({"path": {"mtu": 1300}}, "at most 1300 bytes, and the first of QUIC 1308"),
        ({"flows": {"transport": "quick"}}, "did you mean 'quic'?"),
    ],
)
def test_what_cannot_be_is_refused(keys, expected):
    with pytest.raises(tc.ConfigError, match=r"flows\.0\.transport") as caught:
        _experiment(**keys)
    assert expected in str(caught.value)


@pytest.mark.parametrize("cc", ["prague", "ns3::TcpDctcp"])
def test_algorithms_that_need_marks_are_refused(cc):
    with pytest.raises(tc.ConfigError, match=r"flows\.0\.cc = .*: expected .* without ECN"):
        _experiment(flows={"cc": cc})


@pytest.mark.parametrize("key", ["tunnel.cc", "tunnel.chain.0.cc"])
def test_carriers_over_quic_cannot_use_what_needs_marks(key):
    keys = {"cc": "prague"}
    tunnel = {"name": "gost-quic", **(keys if key == "tunnel.cc" else {"chain": [keys]})}
    with pytest.raises(tc.ConfigError, match=key + " = 'prague': expected .* without ECN"):
        tc.Experiment.parse({"tunnel": tunnel})
    assert tc.Experiment.parse({"tunnel": {**tunnel, "name": "gost-relay-wss"}})


def test_a_finite_flow_ends():
    results = [_run(flows={"transport": it, "bytes": "1MB"}, warmup="0s") for it in ("tcp", "quic")]
    for result in results:
        (leg,), (flow,) = result.connections, result.flows
        # The last byte was read, and half a round trip later its ACK is back.
        assert 0.019 < leg.finished_at - flow.completed_at < 0.05
        assert np.isnan(leg.srtt[-1])
        held = sum(getattr(leg, f"limit_{name}") for name in LIMITS)
        assert held == pytest.approx(leg.finished_at, abs=0.02)


def test_what_a_packet_costs_does_not_depend_on_tcp():
    busy = [
        # The phase that is drawn is a part of the time of TCP's packet.
        _run(hosts={"profile": "reference-host"}, tcp={"mss": it}, path={"phase": "0"})
        .hosts[0]
        .cpu_time
        for it in (500, 1448)
    ]
    assert busy[0] == pytest.approx(busy[1], rel=1e-6)


def test_payload_is_encrypted():
    with pytest.raises(tc.ConfigError, match=r"flows\.0\.payload = 'text': expected random"):
        _experiment(flows={"payload": "text"}, tunnel={"name": "ethudp", "mode": "lz4"})


def test_what_is_fair_counts_packets_of_quic():
    result = _run(path={"mtu": 9000}, tcp={"mss": 8948}, flows={"cc": "bbr"}, warmup="4s",
                  duration="10s")  # fmt: skip
    assert 0.95 < result.metric("max_min_share") <= 1.005


def test_a_carrier_has_the_programs_parameters_by_name():
    named, own = (
        experiment_spec(tc.Experiment.parse({"tunnel": {"name": "gost-quic", **cc}}))
        for cc in ({"cc": "reno"}, {})
    )
    assert named["flows"][0]["carrier_cc"] == own["flows"][0]["carrier_cc"]


def test_parameters_that_chromiums_bbr_lacks_are_refused():
    cc = {"name": "bbr", "pacing_margin": 0.05}
    with pytest.raises(tc.ConfigError, match=r"tunnel\.cc\.pacing_margin = .* no value with hyst"):
        tc.Experiment.parse({"tunnel": {"name": "hysteria2", "cc": cc}})
    tc.Experiment.parse({"tunnel": {"name": "hysteria2", "cc": {"name": "bbr", "cwnd_gain": 3}}})


def test_sweeps_and_figures_tell_of_the_transport(tmp_path):
    flows = [{"transport": it} for it in ("quic", "tcp")]
    base = {"path": PATH, "flows": flows, "duration": "2s"}
    sweep = tc.sweep(base, {"cc": ["reno", "cubic"], "path.loss": [0, 0.01]}, seeds=1, name="one",
                     store=tmp_path, progress=False)  # fmt: skip
    drawn = plots.curves(sweep, "path.loss", "flow_goodput", at={"cc": "reno"})
    labels = [text.get_text() for text in drawn.legends[0].get_texts()] if drawn.legends else [
        line.get_label() for line in drawn.axes[0].lines
    ]  # fmt: skip
    assert any("over QUIC" in it for it in labels)
    assert any("over TCP" in it for it in labels)
    told = conditions(tc.Experiment.parse(base), ["cc"])
    assert told.startswith("1 flow over QUIC, 1 flow over TCP")


def test_iperf3_counts_packets_of_quic():
    table = iperf3.write(_run(path={"mtu": 9000}, tcp={"mss": 8948}))
    assert table["start"]["test_start"]["protocol"] == "QUIC"
    assert table["start"]["tcp_mss"] == 1441
