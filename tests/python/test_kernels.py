# SPDX-License-Identifier: GPL-2.0-only
"""Windows and buffers per kernel, against what was measured."""

from __future__ import annotations

import pytest

import tunnelcc as tc
from tunnelcc import derived
from tunnelcc.kernels import kernels

MIB = 2**20


def test_half_of_the_receive_buffer_before_6_6():
    assert kernels()["5.10"].receive_window(6 * MIB, None) == 3 * MIB


@pytest.mark.parametrize(
    ("scale", "window"),
    [(1, 3 * MIB), (2, 4.5 * MIB), (0, 6 * MIB), (-1, 3 * MIB), (-2, 1.5 * MIB)],
)
def test_adv_win_scale(scale, window):
    assert kernels()["5.10"].receive_window(6 * MIB, scale) == window


@pytest.mark.parametrize(("tcp_rmem", "window"), [(6 * MIB, 3_930_752), (64 * MIB, 41_943_040)])
def test_window_of_6_18_as_measured(tcp_rmem, window):
    assert kernels()["6.18"].receive_window(tcp_rmem, None) == pytest.approx(window, rel=1e-3)


@pytest.mark.parametrize(("kernel", "maximum"), [("5.10", 6 * MIB), ("6.18", 32 * MIB)])
def test_the_largest_receive_buffer_is_the_kernels_unless_given(kernel, maximum):
    assert derived.tcp_rmem(tc.Hosts(kernel=kernel)) == maximum
    assert derived.tcp_rmem(tc.Hosts(kernel=kernel, tcp_rmem="1MiB")) == MIB


def test_each_host_has_its_own_kernels_receive_buffer():
    hosts = tc.Hosts(server={"kernel": "5.10"})
    assert derived.tcp_rmem(hosts.of("client")) == 32 * MIB
    assert derived.receive_window(hosts.of("server")) == 3 * MIB


def test_send_buffer_of_6_18_as_measured():
    assert kernels()["6.18"].send_buffer(4 * MIB) == pytest.approx(4.09e6, rel=2e-3)


@pytest.mark.parametrize(
    ("cc", "app_cost", "measured", "tolerance"),
    [("bbr", 0.23, 124, 0.05), ("cubic", 0.23, 143, 0.05), ("cubic", 0, 2 / 3 * 198, 0.05)],
    ids=["paced", "in bursts", "in bursts, written in no time"],
)
def test_a_blocked_writer_waits_for_a_third_of_the_send_buffer(cc, app_cost, measured, tolerance):
    """As measured (data/README.md, Traces), but for the last: 4.19 MB in 169 ms are 198 Mbit/s."""
    experiment = tc.Experiment(
        path=tc.Path(rate="10Gbps", rtt="169ms", buffer="64MiB"),
        flows=[tc.Flow(cc=cc)],
        hosts=tc.Hosts(tcp_rmem="5033165B", tcp_wmem="4MiB", app_cost=app_cost),
        duration="26s",
        warmup="4s",
    )
    result = tc.run(experiment, progress=False)
    assert result.goodput / 1e6 == pytest.approx(measured, rel=tolerance)


def test_every_share_has_a_label_and_a_source():
    for kernel in kernels().values():
        assert len(kernel.sources) == 9
        for label, source in kernel.sources.values():
            assert label in ("measured", "source code", "inferred")
            assert len(source) > 20


def test_tcp_memory_follows_memory_unless_given():
    assert derived.tcp_memory(tc.Hosts()) == 0
    assert derived.tcp_memory(tc.Hosts(memory="3800MB")) == int(3.8e9 * 0.09375)
    assert derived.tcp_memory(tc.Hosts(memory="3800MB", tcp_memory="64MiB")) == 64 * MIB
