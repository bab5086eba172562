# SPDX-License-Identifier: GPL-2.0-only
"""Windows and buffers per kernel, against what was measured."""

from __future__ import annotations

import pytest

import tunnelcc as tc
from tunnelcc.hosts.kernels import kernels
from tunnelcc.network.resolve import resolve
from tunnelcc.specification import experiment_spec

MIB = 2**20


def test_half_of_the_receive_buffer_before_6_6():
    assert kernels()["5.10"].receive_window(6 * MIB, None) == 3 * MIB


@pytest.mark.parametrize(
    ("scale", "window"),
    [(1, 3 * MIB), (2, 4.5 * MIB), (0, 6 * MIB), (-1, 3 * MIB), (-2, 1.5 * MIB)],
)
def test_adv_win_scale(scale, window):
    assert kernels()["5.10"].receive_window(6 * MIB, scale) == window


def test_a_scale_that_leaves_no_window_is_refused():
    with pytest.raises(tc.ConfigError, match=r"client\.tcp_adv_win_scale = -31: .* leaves 0"):
        tc.Hosts(kernel="5.10", client={"tcp_adv_win_scale": -31})


@pytest.mark.parametrize(("tcp_rmem", "window"), [(6 * MIB, 3_930_752), (64 * MIB, 41_943_040)])
def test_window_of_6_18_as_measured(tcp_rmem, window):
    assert kernels()["6.18"].receive_window(tcp_rmem, None) == pytest.approx(window, rel=1e-3)


@pytest.mark.parametrize(("kernel", "maximum"), [("5.10", 6 * MIB), ("6.18", 32 * MIB)])
def test_the_largest_receive_buffer_is_the_kernels_unless_given(kernel, maximum):
    assert tc.Hosts(kernel=kernel).receive_buffer == maximum
    assert tc.Hosts(kernel=kernel, tcp_rmem="1MiB").receive_buffer == MIB


def test_the_receive_buffers_of_small_hosts_are_a_128th_of_memory():
    assert tc.Hosts(memory="1GiB").receive_buffer == 8 * MIB
    assert tc.Hosts(memory="1GiB", kernel="5.10").receive_buffer == 6 * MIB
    assert tc.Hosts(memory="1GiB", tcp_rmem="16MiB").receive_buffer == 16 * MIB
    assert tc.Hosts(memory="8MiB").receive_buffer == 2**17


def test_each_host_has_its_own_kernels_receive_buffer():
    hosts = tc.Hosts(server={"kernel": "5.10"})
    assert hosts.of("client").receive_buffer == 32 * MIB
    assert resolve(tc.Experiment(hosts=hosts)).first.transport.receive_window == 3 * MIB
    down = resolve(tc.Experiment(hosts=hosts, direction="down"))
    assert down.first.transport.receive_window == 20 * MIB


@pytest.mark.parametrize(
    ("tcp_rmem", "kernel", "scale"),
    [
        ("6MiB", "5.10", 7),
        ("4KiB", "5.10", 2),  # by net.core.rmem_max, 212,992
        ("32MiB", "6.18", 10),
        ("1MiB", "6.18", 7),  # by net.core.rmem_max, 4 MiB
        ("64MiB", "6.18", 11),
        ("2147483647B", "6.18", 14),
    ],
)
def test_the_window_scale_lets_the_largest_buffer_fit(tcp_rmem, kernel, scale):
    experiment = tc.Experiment(hosts=tc.Hosts(tcp_rmem=tcp_rmem, kernel=kernel))
    assert resolve(experiment).first.transport.window_scale == scale


def test_no_window_exceeds_16_bits_and_a_scale_of_14():
    hosts = tc.Hosts(kernel="5.10", tcp_rmem=2**31 - 1, tcp_adv_win_scale=0)
    assert resolve(tc.Experiment(hosts=hosts)).first.transport.receive_window == 1_073_725_440


def test_windows_without_a_scale_are_full_segments_in_16_bits():
    experiment = tc.Experiment(tcp=tc.Tcp(window_scaling=False))
    transport = resolve(experiment).first.transport
    assert (transport.window_scale, transport.receive_window) == (0, 65_160)
    assert resolve(experiment).numbers["receive_window_bytes"] == 65_160
    small = tc.Experiment(tcp=tc.Tcp(window_scaling=False), hosts=tc.Hosts(tcp_rmem="4KiB"))
    assert resolve(small).first.transport.receive_window == 1448


def test_a_flow_without_window_scaling_carries_64_kb_a_round_trip():
    experiment = tc.Experiment(
        path=tc.Path(rate="100Mbps", rtt="100ms"),
        flows=[tc.Flow(cc="cubic")],
        tcp=tc.Tcp(window_scaling=False),
        duration="10s",
        warmup="2s",
    )
    assert tc.run(experiment, progress=False).goodput == pytest.approx(65_160 * 80, rel=0.01)


# SYN and SYN-ACK of Linux with timestamps offer 64240 and 65160 bytes: full segments, the client
# without knowing of the timestamps (tcp_select_initial_window()).
@pytest.mark.parametrize(("direction", "window"), [("up", 65_160), ("down", 64_240)])
def test_first_windows_are_full_segments(direction, window):
    spec = experiment_spec(tc.Experiment(direction=direction))
    assert spec["tcp"][0]["initial_receive_window"] == window


@pytest.mark.parametrize(
    ("side", "setting"),
    [("server", "receive_growth"), ("client", "prr_slow_start")],
)
def test_a_setting_is_of_the_kernel_at_its_end(side, setting):
    """Receivers grow windows, senders reduce their rate; data go up to the server, or down."""
    hosts = tc.Hosts(**{side: {"kernel": "5.10"}})
    up, down = (
        experiment_spec(tc.Experiment(hosts=hosts, direction=way)) for way in ("up", "down")
    )
    assert up["tcp"][0][setting] == getattr(kernels()["5.10"], setting)
    assert down["tcp"][0][setting] == getattr(kernels()["6.18"], setting)


@pytest.mark.parametrize(
    ("cc", "app_cost", "measured", "tolerance"),
    [("bbr", 0.23, 124, 0.05), ("cubic", 0.23, 143, 0.05), ("cubic", 0, 2 / 3 * 198, 0.05)],
    ids=["paced", "in bursts", "in bursts, written in no time"],
)
def test_a_blocked_writer_waits_for_a_third_of_the_send_buffer(cc, app_cost, measured, tolerance):
    """As measured (data/README.md), but for the last: 4.19 MB in 169 ms are 198 Mbit/s."""
    experiment = tc.Experiment(
        path=tc.Path(rate="10Gbps", rtt="169ms", buffer="64MiB"),
        flows=[tc.Flow(cc=cc)],
        hosts=tc.Hosts(tcp_rmem="5033165B", tcp_wmem="4MiB", app_cost=app_cost),
        duration="26s",
        warmup="4s",
    )
    result = tc.run(experiment, progress=False)
    assert result.goodput / 1e6 == pytest.approx(measured, rel=tolerance)


@pytest.mark.parametrize(
    ("writes", "stays"), [("nonblocking", True), ("polled", True), ("blocking", False)]
)
def test_bbr_stays_in_startup_if_each_filling_is_a_write_of_its_own(writes, stays):
    """As iperf3 in Linux 7.3: 51 ms in the queue (data/README.md, BBR that its send buffer)."""
    result = tc.run(
        {
            "path": {"rate": "50Mbps", "rtt": "80ms", "buffer": "1bdp"},
            "flows": [{"cc": "bbr", "writes": writes}],
            "hosts": {"tcp_wmem": "1MiB", "speed": 1000},
            "duration": "6s",
            "warmup": "2s",
            "probe_interval": "100ms",
            "probe_congestion": True,
        },
        progress=False,
    )
    phases = result.dataset["phase"].sel(flow=0, leg="app").values
    assert (set(phases) == {"STARTUP"}) == stays
    delay = 1e3 * float(result.metric("queue_delay_mean"))
    assert (delay == pytest.approx(51, rel=0.05)) == stays


@pytest.mark.parametrize(("write_size", "measured"), [("128KiB", 47.3), ("4104B", 1.97)])
def test_ten_writes_of_iperf3_exceed_a_small_send_buffer_as_measured(write_size, measured):
    """iperf3 3.12 in Linux 7.3 (data/README.md, a send buffer far below the BDP)."""
    result = tc.run(
        {
            "path": {"rate": "200Mbps", "rtt": "169ms", "buffer": "16MiB"},
            "flows": [{"cc": "cubic", "writes": "polled", "write_size": write_size}],
            "hosts": {"tcp_wmem": "46080B", "tcp_rmem": "64MiB", "speed": 1000},
            "duration": "12s",
            "warmup": "4s",
        },
        progress=False,
    )
    assert result.goodput / 1e6 == pytest.approx(measured, rel=0.03)


@pytest.mark.parametrize(("cc", "measured"), [("reno", 840), ("cubic", 42), ("bbr", 0)])
def test_receive_windows_let_slow_start_overshoot_as_measured(cc, measured):
    """50 Mbit/s, 40 ms, 667 packets of buffer (data/README.md, Reordering)."""
    path = tc.Path(rate="50Mbps", rtt="40ms", buffer="667p")
    experiment = tc.Experiment(path=path, flows=[tc.Flow(cc=cc)], duration="6s")
    (leg,) = tc.run(experiment, progress=False).connections
    assert leg.retransmits == pytest.approx(measured, rel=0.05)


def test_bursts_of_small_rtts_since_5_18_as_measured():
    def queue_delay(kernel: str) -> float:
        path = tc.Path(
            rate="100Mbps", rtt="2.3ms", buffer="1000p",
            jitter="0.015ms", jitter_distribution="half-normal",
        )  # fmt: skip
        experiment = tc.Experiment(
            path=path, flows=[tc.Flow(cc="bbr")], hosts=tc.Hosts(kernel=kernel),
            duration="8s", warmup="2s",
        )  # fmt: skip
        return tc.run(experiment, progress=False).metric("queue_delay_mean")

    measured = (3.51e-3 + 3.67e-3 + 3.29e-3) / 3  # validation/data/README.md
    assert queue_delay("6.18") == pytest.approx(measured, rel=0.05)
    assert queue_delay("5.10") < 0.98 * queue_delay("6.18")


def test_every_share_has_a_label_and_a_source():
    first, *others = kernels().values()
    for kernel in (first, *others):
        assert kernel.sources.keys() == first.sources.keys()
        for _, label, source in kernel.sources.values():
            assert label in ("measured", "source code", "inferred")
            assert len(source) > 20


def test_tcp_memory_follows_memory_unless_given():
    assert tc.Hosts().socket_memory == 0
    assert tc.Hosts(memory="3800MB").socket_memory == int(3.8e9 * 0.09375)
    assert tc.Hosts(memory="3800MB", tcp_memory="64MiB").socket_memory == 64 * MIB


@pytest.mark.parametrize(
    ("tunnel", "segments"), [(None, 4), ("gost-relay-ws", 4), ("wireguard", 2)]
)
def test_gro_merges_what_comes_within_its_time(tunnel: str | None, segments: int) -> None:
    """A segment takes 61 us, so that four come within 200 us; WireGuard's device does not merge."""
    path = tc.Path(rate="200Mbps", rtt="10ms", buffer="1bdp")
    result = tc.run(
        tc.Experiment(
            path=path,
            tunnel=tunnel,
            flows=[tc.Flow(cc="cubic")],
            hosts=tc.Hosts(gro="200us"),
            duration="2s",
        )
    )
    leg = result.connections[1 if tunnel == "gost-relay-ws" else 0]
    acks = leg.ack_wire_bytes / 52
    assert leg.segments / acks == pytest.approx(segments, rel=0.1)
