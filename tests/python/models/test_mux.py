# SPDX-License-Identifier: GPL-2.0-only
"""Flows that share carriers: who waits for whom, and who gets how much."""

from __future__ import annotations

import statistics

import pytest

import tunnelcc as tc
from helpers import edited_entry

LOSSY = {"rate": "20Mbps", "rtt": "40ms", "loss": "1%"}


def _run(tunnel, flows, **changes):
    return tc.run(tc.Experiment(tunnel=tunnel, flows=flows, **{"duration": "12s", **changes}))


def test_losses_of_a_bulk_flow_delay_messages_on_its_carrier_and_not_on_another():
    # Half of the rate, so that no queue forms, neither at the bottleneck nor in a send buffer.
    flows = [
        {"cc": "bbr", "rate": "10Mbps", "write_size": 10_000},
        {"cc": "bbr", "rate": "80kbps", "write_size": 1000, "start": "500ms"},
    ]
    p95 = {}
    for carriers in ("all", "flow"):
        for loss in ("0%", "1%"):
            tunnel = {"name": "gost-relay-mws", "cc": "bbr", "carriers": carriers}
            messages = []
            for seed in range(1, 6):  # in some the messages' own carrier loses several packets
                path = {**LOSSY, "loss": loss}
                result = _run(tunnel, flows, path=path, warmup="2s", seed=seed)
                messages.append(result.flows[1])
                assert messages[-1].messages_delivered == pytest.approx(100, abs=2)
                assert 0.02 < messages[-1].message_latency_p50 < 0.03
            p95[carriers, loss] = statistics.median(it.message_latency_p95 for it in messages)
    # Half a round trip; with a loss in flight, 1.5 and what it takes to notice.
    for undelayed in (p95["all", "0%"], p95["flow", "0%"], p95["flow", "1%"]):
        assert undelayed < 0.03
    assert p95["all", "1%"] > 0.05


def test_messages_are_timed_without_a_tunnel_too():
    flow = {"rate": "1Mbps", "write_size": 1000}
    path = {"rate": "20Mbps", "rtt": "40ms"}
    result = _run("none", [flow, {"start": "11s"}], path=path, tcp={"nodelay": True})
    timed, untimed = result.flows
    assert untimed.messages_due == 0
    assert timed.messages_delivered == pytest.approx(12 * 125, abs=20)
    # The first one waits for the connection, the others for half a round trip and its bytes.
    assert timed.message_latency_p50 == pytest.approx(0.0204, abs=0.0005)
    assert float(result.dataset.flow_message_latency_p50[0]) == timed.message_latency_p50
    assert result.dataset.flow_message_latency_p50.isnull()[1]


def test_a_user_with_many_flows_is_one_of_two_where_each_has_a_carrier():
    flows = [{"cc": "cubic", "user": "many", "count": 7}, {"cc": "cubic", "user": "one"}]
    path = {"rate": "20Mbps", "rtt": "20ms"}
    shares = {}
    for carriers in ("flow", "user"):
        tunnel = {"name": "gost-relay-mws", "carriers": carriers}
        result = _run(tunnel, flows, path=path, duration="30s", warmup="5s")
        totals = result.to_dict()
        goodputs = {user["user"]: user["goodput"] for user in totals["users"]}
        shares[carriers] = goodputs["one"] / sum(goodputs.values())
        assert [user["flows"] for user in totals["users"]] == [[0, 1, 2, 3, 4, 5, 6], [7]]
        assert list(result.dataset["flow_user"].values) == ["many"] * 7 + ["one"]
        assert len(totals["carriers"]) == (8 if carriers == "flow" else 2)
        aggregate = totals["metrics"]
        if carriers == "user":
            assert aggregate["jain_users"] == pytest.approx(aggregate["jain_carriers"])
            assert aggregate["jain_users"] > 0.9 > aggregate["jain"]
    assert shares["flow"] < 0.25
    assert shares["user"] > 0.35


def test_flows_on_one_carrier_get_equal_parts():
    result = _run("gost-relay-mwss", {"cc": "cubic", "count": 6}, path=LOSSY, warmup="2s")
    totals = result.to_dict()
    assert totals["metrics"]["jain"] > 0.999
    (carrier,) = totals["carriers"]
    assert carrier["flows"] == list(range(6))
    legs = [flow["legs"][1] for flow in totals["flows"]]
    assert all(leg == legs[0] for leg in legs)
    # What the carrier sent counts once.
    assert totals["metrics"]["path_wire_bytes"] == legs[0]["wire_bytes"]


# OpenSSH 9.2p1 on Linux 6.18 over linux-link at 1 Gbit/s: medians of iperf3's seconds 3 to 20.
@pytest.mark.parametrize(("direction", "measured"), [("up", 83.9e6), ("down", 157.1e6)])
def test_half_of_an_ssh_window_is_usable_for_uploads(direction, measured):
    # sshd without a session leaves Nagle's rule on, which lets its window adjusts, small segments,
    # out once in a round trip; the client's leave as they come.
    path, hosts = {"rate": "1Gbps", "rtt": "100ms"}, {"tcp_rmem": "64MiB", "tcp_wmem": "64MiB"}
    flows = {"cc": "cubic", "start": "2s"}
    result = _run("ssh-forward", flows, path=path, hosts=hosts, direction=direction, warmup="6s")
    assert result.goodput == pytest.approx(measured, rel=0.1)


MULTIPLEXED = ["gost-http2", "gost-relay-mws", "ssh-forward"]


@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize("tunnel", MULTIPLEXED)
def test_many_short_streams_all_end(tunnel, direction):
    # 1500 of 1 kB, each less than a credit's step, all more than the session's window of HTTP/2.
    flows = {"count": 1500, "bytes": "1kB"}
    path = {"rate": "1Gbps", "rtt": "10ms"}
    result = _run(tunnel, flows, path=path, duration="4s", direction=direction)
    assert all(flow["flow_completed_at"] is not None for flow in result.to_dict()["flows"])


@pytest.mark.parametrize("tunnel", MULTIPLEXED)
def test_many_slow_streams_go_on_at_their_rate(tunnel):
    flows = {"count": 300, "rate": "100kbps", "write_size": 500}
    path = {"rate": "1Gbps", "rtt": "10ms"}
    result = _run(tunnel, flows, path=path, duration="8s", warmup="5s")
    assert result.goodput == pytest.approx(300 * 100e3, rel=0.02)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("session_window = 1048576", "session_window = 4000", "session_window = 4000"),
        ("credit_step = 4096", "credit_step = 2000000", "stream_window = 1048576"),
        ("credit_step = 4096", "first_stream_window = 4095\ncredit_step = 4096", "= 4095"),
    ],
)
def test_windows_that_no_credit_reaches_are_refused(tmp_path, before, after, expected):
    tunnel = edited_entry(tmp_path, "gost-http2", before, after)
    with pytest.raises(tc.ConfigError, match=rf"mux\.to_server\.credit_step = .*{expected}"):
        tc.Experiment(tunnel=tunnel)


def test_http2_windows_limit_an_upload_sooner_than_a_download():
    path, hosts = {"rate": "1Gbps", "rtt": "100ms"}, {"tcp_rmem": "64MiB", "tcp_wmem": "64MiB"}
    rates = {}
    for direction in ("up", "down"):
        result = _run(
            "gost-http2", {"cc": "cubic", "count": 2}, path=path, hosts=hosts, direction=direction,
            warmup="6s",
        )  # fmt: skip
        rates[direction] = result.goodput
    one_window = 8 * 2**20 / 0.1  # 1 MiB for the whole connection, each round trip
    assert 0.8 * one_window < rates["up"] < 1.01 * one_window
    assert rates["down"] > 4 * one_window


def test_a_chain_reports_each_leg_and_each_path():
    tunnel = {
        "name": "gost-relay-ws",
        "cc": "bbr",
        "chain": [{"rtt": "10ms", "rate": "5Mbps", "cc": "cubic"}, {"loss": "2%"}],
    }
    result = _run(tunnel, {"cc": "cubic"}, path={"rate": "20Mbps", "rtt": "40ms"}, warmup="2s")
    totals = result.to_dict()
    legs = totals["flows"][0]["legs"]
    assert [leg["leg_name"] for leg in legs] == ["app", "carrier", "carrier2", "carrier3", "target"]
    assert [leg["leg_cc"] for leg in legs] == ["cubic", "bbr", "cubic", "bbr", "cubic"]
    first, second = (totals["links"][name]["forward"] for name in ("hop2", "hop3"))
    assert first["link_utilisation"] > 0.9 > totals["metrics"]["utilisation"]
    assert first["link_random_losses"] == 0 < second["link_random_losses"]
    assert totals["hosts"]["relay2"]["host_cpu_time"] > 0
    assert 4e6 < totals["metrics"]["goodput"] < 5e6


def test_a_chain_of_socks5_relays_dials_before_it_answers():
    """Each hop takes TCP's handshake, three turns and, on the way there, the first data."""
    for hops, trips in enumerate((4.5, 9, 13.5)):
        tunnel = {"name": "gost-socks5", "chain": [{}] * hops}
        path = {"rate": "100Gbps", "rtt": "1s"}
        result = _run(
            tunnel, {"bytes": 1}, path=path, hosts={"speed": 1000}, duration="30s",
            start_jitter="0s",
        )  # fmt: skip
        arrived = result.to_dict()["flows"][0]["flow_first_byte_at"]
        assert arrived == pytest.approx(trips, abs=0.05)


def test_a_tunnel_of_ones_own_may_multiplex(tmp_path):
    tunnel = edited_entry(tmp_path, "gost-relay-mws", "header = 8", "header = 800")
    path = {"rate": "20Mbps", "rtt": "20ms"}
    theirs, mine = (
        _run(name, {"cc": "cubic"}, path=path).to_dict()["metrics"]
        for name in ("gost-relay-mws", tunnel)
    )
    assert mine["path_wire_bytes"] / mine["goodput"] > 1.02 * (
        theirs["path_wire_bytes"] / theirs["goodput"]
    )


def test_a_hop_has_its_own_rate_where_the_path_follows_a_trace(tmp_path):
    file = tmp_path / "rates.csv"
    file.write_text("time_s,rate_Mbps\n0,30\n2,40\n")
    path = {"rtt": "20ms", "trace": str(file)}
    tunnel = {"name": "gost-relay-ws", "cc": "bbr"}
    slow, like = (
        _run({**tunnel, "chain": [hop]}, {"cc": "bbr"}, path=path, duration="4s", warmup="1s")
        for hop in ({"rate": "5Mbps"}, {})
    )
    assert 4e6 < slow.goodput < 5e6
    assert 25e6 < like.goodput < 40e6


def test_relays_on_the_way_save_a_carrier_from_loss():
    path = {"rate": "50Mbps", "rtt": "60ms", "loss": "1%"}
    plain, halved = (
        _run({"name": "gost-relay-ws", "relays": relays}, {"cc": "cubic"}, path=path, warmup="2s")
        for relays in (0, 1)
    )
    # Each half has half of the RTT and half of the loss: 2 √2 times the rate where loss limits.
    assert 1.8 < halved.goodput / plain.goodput < 4
    assert halved.links["hop2"].forward.random_losses > 0
