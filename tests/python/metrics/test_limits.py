# SPDX-License-Identifier: GPL-2.0-only
"""What limits a flow, beside what Linux 6.18 counted over the same path.

100 Mbit/s × 100 ms, 833 packets of buffer, 20 s; `tunnelcc/measure/linux-link.cc`. Linux counts the
gaps between BBR's bursts as busy, whatever limits the rate, so that its times are lower bounds.
"""

from __future__ import annotations

import numpy as np
import pytest

import tunnelcc as tc
from tunnelcc.metrics.limits import LIMITS

DURATION = 20.0
SMALL_WINDOW = {"tcp_rmem": "200000B", "tcp_moderate_rcvbuf": False}  # as SO_RCVBUF of 100 kB


def limited(cc, *, rtt="100ms", flow=None, **hosts):
    """Return the seconds that each limit held."""
    buffers = {"tcp_rmem": "64MiB", "tcp_wmem": "64MiB"}
    experiment = tc.Experiment(
        path=tc.Path(rate="100Mbps", rtt=rtt, buffer="833p"),
        flows=[tc.Flow(cc=cc, **(flow or {}))],
        hosts=tc.Hosts(**(buffers | hosts)),
        duration=f"{DURATION:g}s",
        start_jitter="0s",
    )
    result = tc.run(experiment, progress=False)
    return {name: DURATION * result.metric(f"flow_limit_{name}") for name in LIMITS}


@pytest.mark.parametrize(
    ("cc", "hosts", "flow", "limit", "linux"),
    [
        ("bbr", {"tcp_wmem": "256KiB"}, {}, "send_buffer", 6.9),
        ("bbr", SMALL_WINDOW, {}, "receive_window", 10.4),
        ("cubic", SMALL_WINDOW, {}, "receive_window", 19.5),
        ("bbr", {}, {"rate": "10Mbps"}, "application", 0),
        ("cubic", {}, {"rate": "10Mbps"}, "application", 0),
    ],
)  # fmt: skip
def test_a_limit_beside_linux(cc, hosts, flow, limit, linux):
    times = limited(cc, flow=flow, **hosts)
    assert max(times, key=times.get) == limit
    assert times[limit] > 0.85 * DURATION
    assert times[limit] > 0.95 * linux
    others = {"send_buffer", "receive_window"} - {limit}
    assert all(times[name] < 0.01 * DURATION for name in others)  # Linux: 0


@pytest.mark.parametrize("cc", ["bbr", "cubic", "reno"])
@pytest.mark.parametrize("kernel", ["5.10", "6.18"])
def test_a_burst_that_waits_for_the_receiver_is_limited_by_it(cc, kernel):
    # 5.10 puts off what fills no whole burst until the next ACK: tcp_tso_should_defer() then sets
    # is_rwnd_limited, because the congestion window, twice as large, has room.
    experiment = tc.Experiment(
        path=tc.Path(rate="1Gbps", rtt="100ms"),
        flows=[tc.Flow(cc=cc)],
        hosts=tc.Hosts(kernel=kernel, tcp_rmem="1MiB"),
        duration="15s",
        warmup="5s",
    )
    result = tc.run(experiment, progress=False)
    assert result.metric("window_share") > 0.95
    assert result.metric("flow_limit_receive_window") > 0.93


@pytest.mark.parametrize("cc", ["bbr", "cubic"])
def test_pacing_of_quic_within_a_round_trip_of_the_window_is_limited_by_it(cc):
    # quic-go's stream window is 6 MiB, a quarter of what the path holds.
    experiment = tc.Experiment(
        path=tc.Path(rate="1Gbps", rtt="200ms"),
        flows=[tc.Flow(cc=cc, transport="quic")],
        duration="20s",
        warmup="8s",
    )
    result = tc.run(experiment, progress=False)
    assert result.metric("utilisation") < 0.3
    assert result.metric("flow_limit_stream_window") > 0.99
    wide = experiment.model_copy(update={"path": tc.Path(rate="100Mbps", rtt="20ms")})
    assert tc.run(wide, progress=False).metric("flow_limit_stream_window") == 0


@pytest.mark.parametrize("cc", ["bbr", "cubic"])
def test_congestion_control_limits_a_bulk_flow(cc):
    times = limited(cc)
    assert times["congestion_window"] + times["pacing"] > 0.98 * DURATION
    assert times["handshake"] == pytest.approx(0.1, abs=1e-3)  # one round trip
    assert sum(times.values()) == pytest.approx(DURATION, abs=1e-6)


def test_a_slow_application_is_told_from_its_cpu():
    times = limited("cubic", rtt="10ms", app_cost=1000.0)  # 1 µs a byte: 8 Mbit/s
    assert times["cpu"] > 0.8 * DURATION
    assert times["application"] < 0.05 * DURATION


@pytest.mark.parametrize("nodelay", [False, True])
def test_an_application_that_writes_little_limits_its_flow(nodelay):
    """What Nagle's rule holds back is less than a segment: the window has room."""
    flow = {"cc": "cubic", "rate": "3Mbps", "write_size": "1200B"}
    result = tc.run(
        {"path": {"rate": "20Mbps", "rtt": "20ms"}, "flows": flow, "tcp": {"nodelay": nodelay},
         "duration": "5s", "warmup": "1s"},
        progress=False,
    )  # fmt: skip
    assert result.metric("flow_limit_application") > 0.99


def test_a_late_flow_is_told_of_its_own_time():
    flows = [{"cc": "cubic"}, {"cc": "cubic", "start": "5s"}, {"cc": "cubic", "stop": "4s"}]
    result = tc.run({"flows": flows, "duration": "10s", "warmup": "1s"}, progress=False)
    for flow in range(3):
        shares = {name: result.metric(f"flow_limit_{name}", flow=flow) for name in LIMITS}
        assert sum(shares.values()) == pytest.approx(1)
        assert shares["congestion_window"] > 0.9
        assert result.to_dict()["flows"][flow]["legs"][0]["limit_share"] == pytest.approx(shares)


def test_dataset_has_the_shares_of_every_leg(relay_result):
    shares = relay_result.dataset.limit_share
    assert shares.dims == ("flow", "leg", "limit")
    assert list(shares.limit.values) == list(LIMITS)
    assert np.all((shares.sum("limit") <= 1 + 1e-9) & (shares >= 0))
    carrier = shares.sel(leg="carrier", limit="pacing").values
    assert carrier == pytest.approx(
        [relay_result.metric("flow_limit_pacing", flow=i) for i in range(len(carrier))]
    )


def test_run_says_what_limits_where_it_is_not_congestion_control(run):
    _, out, _ = run("run", "--rate", "1Gbps", "--rtt", "100ms", "--cc", "bbr", "--duration", "10s")
    assert "send buffer" in out
    assert "hosts.tcp_wmem" in out
    _, out, _ = run("run", "--rate", "100Mbps", "--rtt", "20ms", "--duration", "5s")
    assert "hosts." not in out


ARRIVALS = ("bytes=300kB", "interarrival=1s")


def test_flows_that_end_before_anything_limits_them_are_in_slow_start(run):
    flow = ",".join(("count=40", *ARRIVALS))
    _, out, _ = run("run", "--flow", flow, "--duration", "20s", "--warmup", "10s")
    row = next(line for line in out.splitlines() if line.startswith("40 flows"))
    assert row.endswith("slow start")
    assert "of 9)" in row  # of 40 flows, 21 arrive, and 9 after the warm-up


def test_run_names_no_limit_of_a_flow_that_was_over(run):
    flow = ",".join(("count=3", *ARRIVALS))
    _, out, _ = run("run", "--flow", flow, "--duration", "12s", "--warmup", "10s")
    assert "handshake" not in out
