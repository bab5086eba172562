# SPDX-License-Identifier: GPL-2.0-only
"""Quantities as people read them."""

from __future__ import annotations

import pytest

from tunnelcc.analysis.values import Quantity
from tunnelcc.words import quantities
from tunnelcc.words.quantities import RATE, TIME


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (0, "0.00"), (1, "0.000001"), (14_912, "0.0149"), (524_000, "0.524"), (1e6, "1.00"),
        (22_661_000, "22.66"), (float("nan"), "–"),
    ],
)  # fmt: skip
def test_rates_in_mbit_have_three_digits(rate, text):
    assert quantities.mbit(rate) == text


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("20Mbps × 40ms, buffer 1bdp", "20 Mbit/s × 40 ms, buffer 1 BDP"),
        ("link (2.5Gbps), 100p, 64KiB, 0.3%", "link (2.5 Gbit/s), 100 packets, 64 KiB, 0.3 %"),
        ("500us of h2s, 1.0s", "500 µs of h2s, 1.0 s"),
        ("openvpn-2.6-tcp 20 Mbit/s", "openvpn-2.6-tcp 20 Mbit/s"),
    ],
)
def test_figures_have_a_space_before_a_unit(written, spoken):
    assert quantities.spaced(written) == spoken


def test_a_scale_writes_values_intervals_and_headings():
    assert RATE.text(12.345e6) == "12.3 Mbit/s"
    assert TIME.text(0.01, 0.02) == "10 to 20 ms"
    assert (RATE.heading("goodput"), RATE.label("goodput")) == (
        "goodput Mbit/s",
        "goodput (Mbit/s)",
    )
    assert quantities.shown("1").heading("Jain") == "Jain"
    assert quantities.shown("byte").text(40) == "40 byte"


@pytest.mark.parametrize(
    ("scale", "value", "text"),
    [
        (quantities.LARGE_RATE, 2.5e9, "2.5 Gbit/s"), (quantities.LONG_TIME, 3, "3 s"),
        (quantities.PERCENT, 0.125, "12.5 %"), (quantities.KIBIBYTES, 4096, "4 KiB"),
    ],
)  # fmt: skip
def test_scales_lead_from_si_to_their_unit(scale, value, text):
    assert scale.text(value) == text


def test_times_and_shares_have_their_unit():
    assert quantities.ms(0.0123) == "12.3"
    assert quantities.percent(0.0123) == "1.23 %"
    assert quantities.rate(1.5e6) == "1.50 Mbit/s"


def test_what_there_is_not_is_a_dash():
    nothing = [quantities.mbit(None), quantities.ms(None), quantities.number(float("nan"), 1)]
    assert nothing == ["–"] * 3


def test_shares_that_differ_are_a_range():
    assert quantities.percents([0.5, 0.5]) == "50 %"
    assert quantities.percents([0.9, 0.95, 0.92]) == "90 to 95 %"


def test_numbers_of_a_thousand_keep_their_digits_and_kibibytes_have_1024_bytes():
    assert [quantities.short(it) for it in (999.4, 1000, 123_456)] == ["999", "1000", "123456"]
    assert quantities.KIBIBYTES.text(65_536) == "64 KiB"


def test_a_value_without_a_unit_is_written_as_it_is():
    assert quantities.PLAIN.text(3) == "3"
    assert quantities.shown("segments").text(3) == "3 segments"
    assert quantities.short(-1234.5) == "-1234"  # all digits of a large one, of either sign
    assert quantities.short(-0.98765) == "-0.988"


@pytest.mark.parametrize(
    ("rate", "decimals"), [(0, 2), (1e6, 2), (999_000, 3), (99_000, 4), (9_000, 5), (90, 6)]
)
def test_a_rate_has_as_many_decimals_as_three_digits_need_and_at_most_six(rate, decimals):
    assert quantities.mbit_decimals(rate) == decimals


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""), ("", ""), ("drop-tail", "drop-tail"),
        (Quantity(20e6, "bit/s"), "20Mbps"), (Quantity(65536.4, "byte"), "64KiB"),
        (Quantity(100, "packet"), "100 packets"), (Quantity(10, "segment"), "10 segments"),
        (Quantity(0.5, "speed"), "speed 0.5"),
        (Quantity(1.23456e6, "bit/s", 9.87654e6), "1.23Mbps to 9.88Mbps"),
    ],
)  # fmt: skip
def test_a_value_is_told_as_a_scenario_has_it(value, text):
    assert quantities.as_given(value) == text


def test_shares_have_three_digits():
    assert quantities.percents([0.12345, 0.98765]) == "12.3 to 98.8 %"
    assert quantities.percent(None) == "–"
