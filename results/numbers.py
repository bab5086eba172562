# SPDX-License-Identifier: GPL-2.0-only
"""Fill the numbers of pages from the tables that they are of.

``.venv/bin/python results/numbers.py`` writes them; with ``--list`` it prints what of the pages has
numbers and no source. A comment below a paragraph, a list or a table says where its numbers come
from, in their order, all of them::

    <!-- numbers
    given: 20 Mbit/s, 40 ms
    vpn-of-eight: share; openvpn-2.6-tcp
    max neighbours-tunnel in %: harm; plain flows=8
    -->

- ``given``: what the experiment has, not what it gives. They are in the text as they are here.
- ``FILE: cell; column=cell``: of results/*/FILE.csv (or FOLDER/FILE) the row with these cells. Its
  column ``mean`` or ``simulated`` counts, or the one of ``FILE.column``. ``*/FILE`` is all of the
  name, and the cell ``*`` all rows.
- ``min``, ``max``, ``sum``, ``count`` before it: of all such rows; ``off``: how far the furthest
  ratio is from 1. ``A divided by B``: the ratio of two; of as many rows, of each and its like.
- ``drifting`` before it: of a run that has not settled, as the text says. Others must have.
- ``test: FILE`` alone: this test compares all numbers of the text with what they are of.

The unit is what stands behind the number, or behind the next one (6 to 12 %), or ``in UNIT``; that
of the table is in its column ``unit`` or the name of the column; ``in 1`` is as the table has it.
The digits stay as many.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent

#: Unit → what it is of, and how much of it.
UNITS = {
    "": ("", 1.0), "1": ("", 1.0), "%": ("", 0.01), "points": ("", 0.01), "×": ("", 1.0),
    "bit/s": ("bit/s", 1.0), "Mbit/s": ("bit/s", 1e6), "Gbit/s": ("bit/s", 1e9),
    "s": ("s", 1.0), "ms": ("s", 1e-3), "1/min": ("1/min", 1.0),
}  # fmt: skip
#: How names of columns end that have a unit.
ENDINGS = {
    "_mbps": "Mbit/s", "(Mbit/s)": "Mbit/s", "_ms": "ms", "(ms)": "ms", "_percent": "%",
    "_points": "points",
}  # fmt: skip
OF_ALL: dict[str, Callable[[list[float]], float]] = {
    "min": min,
    "max": max,
    "sum": sum,
    "count": len,
    "off": lambda ratios: max(abs(it - 1) for it in ratios),
}

_BLOCK = re.compile(r"((?:^[^\n]+\n)+)\n?<!-- numbers\n(.*?)\n-->$", re.MULTILINE | re.DOTALL)
# What is no text: targets of links, code, tags.
_HIDDEN = re.compile(r"\]\([^)]*\)|`[^`]*`|<[^>]*>")
_NUMBER = re.compile(r"(?<![\w.,])(?<![A-Za-z]-)\d+(?:,\d{3})*(?:\.\d+)?(?!\w|\.\d|,\d{3})")
_UNIT = re.compile(r"\s?(%|Mbit/s|Gbit/s|ms|s|points|×)(?!\w)")
_NEXT = re.compile(r"(?:\s(?:to|and|or)\s|,\s(?:and\s)?)$")
_LOOKUP = re.compile(r"([\w./*-]+?)(?:\.(\w+))?(?: in (\S+))?: (.+)")


class WrongError(ValueError):
    """What is wrong with a block, for whoever writes the page."""


@dataclass(frozen=True)
class Number:
    """A number of a text: where, and the unit behind it."""

    start: int
    end: int
    text: str
    unit: str


@dataclass(frozen=True)
class Source:
    """Rows of a table, and what of them is the number."""

    file: str
    column: str
    unit: str
    cells: tuple[str, ...]
    of_all: str = ""
    is_drifting: bool = False

    def rows(self, several: bool = False) -> list[dict[str, str]]:
        """Return the rows with all cells. ``several``: as a whole, they need not be one."""
        found = [it for it in read(self.file) if all(_has(it, cell) for cell in self.cells)]
        if not found or (len(found) > 1 and not (self.of_all or several)):
            raise WrongError(f"{len(found)} rows of {self.file} have {'; '.join(self.cells)}")
        return found

    def values(self, several: bool = False) -> tuple[list[float], str]:
        """Return what its rows have, and of what it is."""
        rows = self.rows(several)
        column = self.column or next((it for it in ("mean", "simulated") if it in rows[0]), "")
        if column not in rows[0]:
            raise WrongError(
                f"{self.file} has no column {column or 'mean'}, but {', '.join(rows[0])}"
            )
        drifts = [it for it in rows if float(it.get("drift") or it.get("drifts") or 0)]
        if bool(drifts) != self.is_drifting:
            raise WrongError(
                f"runs of {self.file}: {'; '.join(self.cells)} have "
                f"{'not ' * (not self.is_drifting)}settled"
            )
        endings = [unit for it, unit in ENDINGS.items() if it in column]
        unit = rows[0].get("unit", endings[0] if endings else "")
        if column == "ratio":
            unit = ""
        what, much = UNITS["1" if self.unit == "1" else unit]
        return [much * float(it[column]) for it in rows], what


def _has(row: dict[str, str], cell: str) -> bool:
    column, is_named, content = cell.partition("=")
    if is_named and column in row:
        return row[column] == content
    return cell == "*" or cell in row.values()


@cache
def read(name: str) -> list[dict[str, str]]:
    """Return the rows of a table of results."""
    files = sorted(HERE.glob(f"{name}.csv" if "/" in name else f"*/{name}.csv"))
    if not files or (len(files) > 1 and "*" not in name):
        raise WrongError(f"{len(files)} tables have the name {name}")
    rows: list[dict[str, str]] = []
    for it in files:
        with it.open(newline="", encoding="utf-8") as file:
            rows += csv.DictReader(line for line in file if not line.startswith("#"))
    return rows


def source(text: str) -> Source:
    """Return what a line of a block names."""
    words = text.split(" ")
    is_drifting = words[0] == "drifting"
    words = words[is_drifting:]
    of_all = words[0] if words[0] in OF_ALL else ""
    match = _LOOKUP.fullmatch(" ".join(words[bool(of_all) :]))
    if match is None:
        raise WrongError(f"{text} is not FILE: cell; …")
    cells = tuple(it.strip() for it in match[4].split(";"))
    return Source(match[1], match[2] or "", match[3] or "", cells, of_all, is_drifting)


def sources(line: str) -> list[Source]:
    """Return the source of a line, or both of a ratio."""
    return [source(it) for it in line.split(" divided by ")]


def numbers(text: str) -> list[Number]:
    """Return the numbers of a text."""
    shown = _HIDDEN.sub(lambda it: " " * len(it[0]), text)
    found: list[Number] = []
    for match in reversed(list(_NUMBER.finditer(shown))):
        unit = _UNIT.match(shown, match.end())
        name = unit[1] if unit else ""
        if not unit and found and _NEXT.fullmatch(shown[match.end() : found[0].start]):
            name = found[0].unit
        found.insert(0, Number(match.start(), match.end(), match[0], name))
    return found


def written(line: str, number: Number) -> str:
    """Return a number as its source has it, with as many digits as the text has."""
    of = sources(line)
    values, what = of[0].values()
    if len(of) == 2:
        others, what = of[1].values(several=bool(of[0].of_all))[0], ""
        if of[1].of_all:
            others = [OF_ALL[of[1].of_all](others)]
        if len(others) not in (1, len(values)):
            raise WrongError(f"{line}: {len(values)} rows, and {len(others)}")
        others *= len(values) // len(others)
        values = [one / other for one, other in zip(values, others, strict=True)]
    value = OF_ALL[of[0].of_all or "max"](values)
    is_of, size = UNITS[of[0].unit or number.unit]
    if is_of != what:
        raise WrongError(f"{number.text} {number.unit}: {line} is in {what or '1'}; add in UNIT")
    digits = len(number.text.partition(".")[2])
    comma = "," if "," in number.text else ""
    return f"{value / size:{comma}.{digits}f}"


def filled(page: str) -> str:
    """Return a page with its numbers as the tables have them."""

    def fill(match: re.Match[str]) -> str:
        text, lines = match[1], match[2].splitlines()
        found = numbers(text)
        wanted: list[str] = []
        if lines[0].startswith("test: "):
            if not (ROOT / lines[0].removeprefix("test: ")).is_file():
                raise WrongError(f"{lines[0]}: no such file")
            return match[0]
        for line in lines:
            if line.startswith("given: "):
                wanted += [f"={it.text}" for it in numbers(line.removeprefix("given: "))]
            else:
                wanted.append(line)
        if len(wanted) != len(found):
            raise WrongError(
                f"{len(found)} numbers ({', '.join(it.text for it in found)}) and {len(wanted)} "
                f"sources: {text[:60]}"
            )
        for number, line in reversed(list(zip(found, wanted, strict=True))):
            if line.startswith("="):
                if line[1:] != number.text:
                    raise WrongError(f"{number.text} is not the given {line[1:]}: {text[:60]}")
                continue
            text = text[: number.start] + written(line, number) + text[number.end :]
        return text + match[0][len(match[1]) :]

    return _BLOCK.sub(fill, page)


def used(page: str) -> Iterator[Source]:
    """Yield all sources of a page."""
    for block in _BLOCK.finditer(page):
        for line in block[2].splitlines():
            if not line.startswith(("given: ", "test: ")):
                yield from sources(line)


def untraced(page: str) -> list[str]:
    """Return the paragraphs, lists and tables that have numbers and no source."""
    page = re.sub(r"^```.*?^```$", "", _BLOCK.sub("", page), flags=re.MULTILINE | re.DOTALL)
    parts = re.split(r"\n\s*\n", re.sub(r"<!--.*?-->", "", page, flags=re.DOTALL))
    return [it.strip() for it in parts if numbers(it) and not it.lstrip().startswith(("#", "!["))]


def pages() -> list[Path]:
    """Return the pages whose numbers are looked after."""
    inside = [*sorted((ROOT / "docs/pages/results").glob("*.md"))]
    inside += sorted((ROOT / "docs/pages/questions").glob("*.md"))
    inside += sorted((ROOT / "scenarios/papers").glob("*/README.md"))
    return [ROOT / "README.md", *inside]


def main(arguments: list[str]) -> int:
    """Fill the pages, or list what has no source; return the exit status."""
    status = 0
    for file in pages():
        page = file.read_text("utf-8")
        name = file.relative_to(ROOT)
        if arguments == ["--list"]:
            for part in untraced(page):
                print(f"{name}: {' '.join(part.split())[:140]}")
            continue
        try:
            new = filled(page)
        except WrongError as wrong:
            print(f"{name}: {wrong}")
            status = 1
            continue
        if new != page:
            print(f"{name} has new numbers")
            file.write_text(new, encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
