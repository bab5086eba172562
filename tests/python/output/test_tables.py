# SPDX-License-Identifier: GPL-2.0-only
"""Tables of text."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from tunnelcc.output.tables import Table


def _printed(columns: list[str], row: list[str]) -> list[str]:
    file = StringIO()
    table = Table("", columns, [row], range(1, len(columns)), whole=range(len(columns)))
    table.print(Console(width=80, file=file))
    return file.getvalue().splitlines()


def test_whole_columns_are_not_broken_in_a_table_that_is_too_wide():
    columns = ["path.rtt", *["retransmitted %"] * 8]
    heading, units, row = _printed(columns, ["40ms", *["12.345 ± 0.123"] * 8])
    assert heading.count("retransmitted") == 8
    assert units.split()[-8:] == ["%"] * 8
    assert row.count("12.345 ± 0.123") == 8


def test_a_heading_stays_on_one_line_where_there_is_room():
    lines = _printed(["cc", "goodput Mbit/s"], ["bbr", "1.00"])
    assert [line.split() for line in lines] == [["cc", "goodput", "Mbit/s"], ["bbr", "1.00"]]
