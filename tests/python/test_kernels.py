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


def test_send_buffer_of_6_18_as_measured():
    assert kernels()["6.18"].send_buffer(4 * MIB) == pytest.approx(4.09e6, rel=2e-3)


def test_two_thirds_of_the_send_buffer_hold_a_170_ms_flow_to_130_mbps():
    kernel = kernels()["6.18"]
    rate = 8 * kernel.send_wake_fraction * 4 * MIB / 0.170
    assert rate == pytest.approx(130e6, rel=0.02)


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
