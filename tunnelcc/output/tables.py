# SPDX-License-Identifier: GPL-2.0-only
"""Tables of text for terminals and pages."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table as Printed

_UNLIMITED = 10_000
_STYLES = {"good": "green", "fair": "yellow", "bad": "bold red", "note": "dim"}


def console(width: int = 120) -> Console:
    """Return standard output. If it is not a terminal, lines have ``width`` characters."""
    return Console(width=None if sys.stdout.isatty() else width, highlight=False, emoji=False)


class Column(NamedTuple):
    """``cell``: of a row. ``when``: whether there is such a column. For the rest, see Table."""

    heading: str
    cell: Callable[[Any], str]
    when: bool = True
    is_number: bool = True
    is_whole: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of text under a title.

    ``numbers``: columns that are right-aligned. ``whole``: columns whose text stays on one line,
    even if the table is then wider than the terminal.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Collection[int] = ()
    notes: Sequence[str] = ()
    whole: Collection[int] = ()

    @classmethod
    def of(cls, title: str, rows: Iterable[Any], columns: Iterable[Column]) -> Table:
        """Return a table of the columns that there are, with a row for each of ``rows``."""
        there, given = [it for it in columns if it.when], list(rows)
        places = range(len(there))
        return cls(
            title,
            [it.heading for it in there],
            [[it.cell(row) for it in there] for row in given],
            [place for place in places if there[place].is_number],
            whole=[place for place in places if there[place].is_whole],
        )

    def print(self, console: Console, kinds: Mapping[str, str] | None = None) -> None:
        """Print it. ``kinds``: text of a verdict cell → good, fair, bad or note."""
        if self.title:
            console.print(f"\n{self.title}", style="bold", markup=False)
        printed = Printed(box=None, pad_edge=False, header_style="dim")
        columns = range(len(self.columns))
        widths = [max((cell_len(row[i]) for row in self.rows), default=1) for i in columns]
        needed = sum(map(max, widths, map(cell_len, self.columns))) + 2 * len(widths)
        has_room = needed <= console.width
        for index, column in enumerate(self.columns):
            justify = "right" if index in self.numbers else "left"
            heading, widest = column, None
            if index in self.whole and not has_room:
                widest = max([widths[index], *map(cell_len, column.split())])
                heading = textwrap.fill(column, widest, break_on_hyphens=False)
            printed.add_column(
                escape(heading),
                justify=justify,  # type: ignore[arg-type]
                overflow="fold",
                min_width=widest,
                no_wrap=index in self.whole,
            )
        for row in self.rows:
            printed.add_row(*(_styled(text, kinds or {}) for text in row))
        width = console.width
        if self.whole:
            unlimited = console.options.update(max_width=_UNLIMITED)
            console.width = max(width, Measurement.get(console, unlimited, printed).minimum)
        console.print(printed)
        console.width = width
        for note in self.notes:
            console.print(note, markup=False)


def grid(rows: Iterable[tuple[str, ...]]) -> Printed:
    """Return names and what each is, in two columns or more without headings."""
    printed = Printed.grid(padding=(0, 2))
    for row in rows:
        printed.add_row(*map(escape, row))
    return printed


def _styled(text: str, kinds: Mapping[str, str]) -> str:
    return f"[{_STYLES[kinds[text]]}]{escape(text)}[/]" if text in kinds else escape(text)
