# SPDX-License-Identifier: GPL-2.0-only
"""Quantities: what is written is read back, and nothing else is read."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunnelcc.schema import units
from tunnelcc.schema.units import Buffer, UnitError

PARSERS = (
    units.parse_rate,
    units.parse_time,
    units.parse_size,
    units.parse_probability,
    units.parse_buffer,
)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("100Mbps", 100e6),
        ("2.03Gbps", 2.03e9),
        ("100 Mb/s", 100e6),
        ("1.5Mbit/s", 1.5e6),
        ("12.5MB/s", 100e6),
        ("1kbps", 1e3),
        ("1Kbps", 1e3),
        ("1Kibps", 1024),
        ("800bps", 800),
        ("1e3kbps", 1e6),
    ],
)
def test_rate(text, rate):
    assert units.parse_rate(text) == rate


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("40ms", 0.04),
        ("169.0ms", 0.169),
        ("30s", 30),
        ("2min", 120),
        ("5us", 5e-6),
        (0, 0),
        ("0", 0),
    ],
)
def test_time(text, seconds):
    assert units.parse_time(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4MiB", 4 * 2**20),
        ("64KiB", 65536),
        ("3800MB", 3_800_000_000),
        ("6291456B", 6291456),
        (6291456, 6291456),
        ("6291456", 6291456),
        ("1.5KiB", 1536),
    ],
)
def test_size(text, size):
    assert units.parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "probability"), [("1%", 0.01), (0.01, 0.01), ("0.01", 0.01), (0, 0), ("99.9%", 0.999)]
)
def test_probability(text, probability):
    assert units.parse_probability(text) == probability


@pytest.mark.parametrize(
    ("text", "buffer"),
    [
        ("1bdp", Buffer(bdp=1)),
        ("0.25bdp", Buffer(bdp=0.25)),
        ("200p", Buffer(packets=200)),
        ("64KiB", Buffer(bytes=65536)),
        ("1500B", Buffer(bytes=1500)),
        ("50ms", Buffer(seconds=0.05)),
    ],
)
def test_buffer(text, buffer):
    assert units.parse_buffer(text) == buffer


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize(
    "value",
    [None, "", " ", True, [], {}, "ms", "-", "1 2ms", "0x10ms", float("nan"), float("inf"),
     "nan", "1e999s", "1e99999999999999999999s", "٣ms?", "1" * 100],
)  # fmt: skip
def test_nonsense_is_refused(parse, value):
    with pytest.raises(UnitError, match="expected"):
        parse(value)


@pytest.mark.parametrize(
    ("text", "size"), [("2.6MiB", 2726298), ("0.3KiB", 307), ("1.0005kB", 1000), ("1.5kB", 1500)]
)
def test_a_size_with_a_prefix_is_rounded_to_bytes(text, size):
    assert units.parse_size(text) == size


@pytest.mark.parametrize(
    ("parse", "value", "hint"),
    [
        (units.parse_rate, "100ms", "unknown unit 'ms'"),
        (units.parse_rate, 100, "unit is missing"),
        (units.parse_rate, "100mbps", "did you mean 'Mbps'"),
        (units.parse_time, "40", "unit is missing"),
        (units.parse_time, "40Mbps", "unknown unit"),
        (units.parse_size, "4kb", "did you mean 'kB'"),
        (units.parse_size, "1.5B", "not a whole number"),
        (units.parse_buffer, "1.5p", "not a whole number"),
        (units.parse_buffer, "1bpd", "unknown unit"),
        (units.parse_buffer, "3000", "did you mean '3000p'"),
        (units.parse_buffer, 3000, "did you mean '3000p'"),
        (units.parse_buffer, "1BDP", "did you mean '1bdp'?"),
        (units.parse_probability, "1%%", "unknown unit"),
    ],
)
def test_wrong_units_are_explained(parse, value, hint):
    with pytest.raises(UnitError, match=hint):
        parse(value)


@pytest.mark.parametrize(
    ("value", "unit", "least", "most", "text"),
    [
        (40, "s", 1e-6, 60, "40ms"),
        (40, "s", 1e-6, 100_000, "40s"),
        (1, "s", 1e-6, 60, "1ms"),
        (0.03, "s", 1e-6, 60, "30ms"),
        ("1e-7", "s", 1e-6, 60, ""),
        (100, "bit/s", 1e3, 400e9, "100Mbps"),
        (0.5, "bit/s", 1e3, 400e9, "500kbps"),
        (2.5e7, "bit/s", 1e3, 400e9, "25Mbps"),
        ("900", "bit/s", 1e3, 10e6, "900kbps"),
        (1000, "bit/s", 1e3, 400e9, "1kbps"),
        (-3, "bit/s", 1e3, 10e6, ""),
    ],
)
def test_a_number_without_a_unit_is_told_with_a_likely_one(value, unit, least, most, text):
    assert units.likely(value, unit, least, most) == text


@pytest.mark.parametrize(
    ("value", "hint"),
    [(1, "1%"), ("2.5", "2.5%"), (0.5e2, "50%"), (100, ""), (-1, ""), ("100%", "")],
)
def test_a_number_that_looks_like_a_percentage_is_told(value, hint):
    with pytest.raises(UnitError) as error:
        units.parse_probability(value)
    assert error.value.hint == (f"did you mean '{hint}'?" if hint else "")


@pytest.mark.parametrize("value", ["100%", "150%", 1, 1.0, "-1%", -0.1, "99.99999999999999999999%"])
def test_a_probability_is_less_than_one(value):
    with pytest.raises(UnitError, match="at least 0 and less than 1"):
        units.parse_probability(value)


@given(st.floats(1e-9, 1e15))
def test_rates_survive_writing(rate):
    assert units.parse_rate(units.format_rate(rate)) == rate


@given(st.floats(1e-12, 1e9) | st.just(0.0))
def test_times_survive_writing(seconds):
    assert units.parse_time(units.format_time(seconds)) == seconds


@given(st.integers(0, 2**60))
def test_sizes_survive_writing(size):
    assert units.parse_size(units.format_size(size)) == size


@given(st.floats(1e-30, 1, exclude_max=True) | st.just(0.0))
def test_probabilities_survive_writing(probability):
    assert units.parse_probability(units.format_probability(probability)) == probability


@given(
    st.builds(Buffer, bdp=st.floats(1e-9, 1e9))
    | st.builds(Buffer, packets=st.integers(0, 10**9))
    | st.builds(Buffer, bytes=st.integers(0, 2**60))
    | st.builds(Buffer, seconds=st.floats(1e-9, 1e3))
)
def test_buffers_survive_writing(buffer):
    assert units.parse_buffer(str(buffer)) == buffer


@pytest.mark.parametrize("parse", PARSERS)
@given(
    value=st.text() | st.floats() | st.from_regex(r"-?[0-9.]{1,6}(e[0-9]{1,3})?[ a-zA-Zµ%/]{0,6}")
)
def test_any_input_is_read_or_refused(parse, value):
    with contextlib.suppress(UnitError):
        assert parse(value) is not None


@pytest.mark.parametrize(
    ("buffer", "larger"),
    [
        (Buffer(bdp=0.5), Buffer(bdp=1.25)),
        (Buffer(packets=11), Buffer(packets=28)),  # whole packets and bytes
        (Buffer(bytes=1001), Buffer(bytes=2502)),
        (Buffer(seconds=0.02), Buffer(seconds=0.05)),
        (Buffer(packets=0), Buffer(packets=0)),
    ],
)
def test_a_buffer_that_is_larger_by_a_factor(buffer, larger):
    assert buffer.times(2.5) == larger


@pytest.mark.parametrize(
    ("text", "share"), [("25%", 0.25), (0.25, 0.25), ("100%", 1), (1, 1), (0, 0), ("0%", 0)]
)
def test_a_share_is_a_part_of_one(text, share):
    assert units.parse_share(text) == share


@pytest.mark.parametrize("value", ["101%", 1.01, "-1%", -0.01, 2, "2p"])
def test_a_share_is_at_most_one(value):
    with pytest.raises(UnitError, match="at most 1"):
        units.parse_share(value)


@pytest.mark.parametrize(("text", "ratio"), [("2%", 0.02), ("125%", 1.25), ("100%", 1)])
def test_a_percentage_may_be_more_than_all(text, ratio):
    assert units.parse_percentage(text) == ratio


@pytest.mark.parametrize(
    ("buffer", "size"),
    [
        (Buffer(bdp=2), 250_000), (Buffer(seconds=0.05), 125_000), (Buffer(bytes=1500), 1500),
        (Buffer(packets=10), 0),
    ],
)  # fmt: skip
def test_a_buffer_at_20_mbit_and_50_ms(buffer, size):
    # One BDP is 20e6 bit/s × 0.05 s / 8 bits.
    assert buffer.at(20e6, 0.05) == size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1h", 3600), ("1min", 60), ("1ms", 1e-3), ("1us", 1e-6), ("1µs", 1e-6), ("1ns", 1e-9)],
)
def test_each_unit_of_time(text, seconds):
    assert units.parse_time(text) == seconds


@pytest.mark.parametrize(
    ("prefix", "scale"),
    [("", 1), ("k", 1e3), ("K", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12),
     ("Ki", 2**10), ("Mi", 2**20), ("Gi", 2**30), ("Ti", 2**40)],
)  # fmt: skip
def test_each_prefix_of_bits_and_bytes(prefix, scale):
    assert units.parse_rate(f"1{prefix}bps") == scale
    assert units.parse_rate(f"1{prefix}B/s") == 8 * scale
    assert units.parse_size(f"1{prefix}B") == scale


def test_numbers_are_written_without_an_exponent_unless_they_are_tiny():
    assert units.format_time(1e-9) == "1ns"
    assert units.format_probability(1e-11) == "0.000000001%"
    assert units.format_probability(1e-12) == "1E-10%"
    assert units.format_size(0) == "0B"
    assert units.format_size(1500) == "1500B"
    assert units.format_size(2_000_000) == "2MB"
    assert units.format_rate(0) == "0bps"


@pytest.mark.parametrize(
    ("value", "is_read"),
    [
        (2**200 - 1, False),
        (10**39, True),
        (10**40, False),
        ("1" * 63, False),
        ("0." + "0" * 60 + "1", False),
    ],
)
def test_numbers_that_no_quantity_has_are_refused(value, is_read):
    if is_read:
        assert units.parse_rate(f"{value}bps") == float(value)
    else:
        with pytest.raises(UnitError):
            units.parse_rate(f"{value}bps")


def test_what_is_less_than_the_smallest_unit_is_written_in_it():
    assert units.format_time(1e-10) == "0.1ns"
    assert units.format_rate(0.25) == "0.25bps"


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("1e39bps", True), ("1e40bps", False), ("1e-39bps", True), ("1e-40bps", False),
        ("1" + " " * 59 + "bps", True), ("1" + " " * 60 + "bps", False),
    ],
)  # fmt: skip
def test_quantities_have_40_digits_and_63_characters_at_most(text, is_read):
    if is_read:
        assert units.parse_rate(text) == float(text[: text.index("bps")])
    else:
        with pytest.raises(UnitError):
            units.parse_rate(text)


@pytest.mark.parametrize(
    ("value", "most", "text"),
    [(30, 60, "30ms"), (30, 61, "30s"), (0.5, 60, "500ms"), (1, 60, "1ms")],
)
def test_a_number_is_in_ms_where_no_time_is_longer_than_a_minute(value, most, text):
    assert units.likely(value, "s", 1e-6, most) == text


@pytest.mark.parametrize(
    ("value", "text"), [(999, "999Mbps"), (1000, "1kbps"), (999.5, "999.5Mbps")]
)
def test_a_rate_from_1000_on_is_in_bit_s(value, text):
    assert units.likely(value, "bit/s", 1, 1e12) == text


@pytest.mark.parametrize(
    ("probability", "text"), [(1e-9, "0.0000001%"), (1e-11, "0.000000001%"), (9e-12, "9E-10%")]
)
def test_less_than_a_billionth_is_written_with_an_exponent(probability, text):
    assert units.format_probability(probability) == text
