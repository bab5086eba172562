# SPDX-License-Identifier: GPL-2.0-only
"""Numbers of results pages are those of their tables, whose runs have settled."""

from __future__ import annotations

import csv

import pytest

import tunnelcc as tc
from helpers import ROOT, load_script

NUMBERS = load_script(ROOT / "results/numbers.py")
SWEEPS = ROOT / "scenarios/sweeps"
SEEDS = (101, 102, 103)

PAGES = {
    str(file.relative_to(ROOT)): text
    for file in NUMBERS.pages()
    if "<!-- numbers\n" in (text := file.read_text("utf-8"))
}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_the_numbers_of_its_tables(page):
    """Which includes that no run still changes where the page does not say so."""
    assert NUMBERS.filled(PAGES[page]) == PAGES[page]
    assert PAGES[page].count("<!-- numbers\n") == len(NUMBERS._BLOCK.findall(PAGES[page]))


def test_the_tables_of_linux_modules_are_those_of_its_files():
    page = PAGES["docs/pages/results/linux-modules.md"]
    assert load_script(ROOT / "results/linux-modules/draw.py").page(page) == page


def test_all_numbers_of_results_and_questions_have_a_source():
    """The README's have where they are of tables; it has tests of its own."""
    parts = {
        it.name: found
        for it in NUMBERS.pages()
        if it.name != "README.md" and (found := NUMBERS.untraced(it.read_text("utf-8")))
    }
    assert parts == {}


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Return a folder of results with a table."""
    (tmp_path / "some").mkdir()
    (tmp_path / "some/rates.csv").write_text(
        "tunnel,quantity,unit,mean,least,most,drift\n"
        "none,goodput,bit/s,40e6,38e6,41e6,0\n"
        "vpn,goodput,bit/s,20.4e6,17e6,22e6,0\n"
        "vpn,share,1,0.256,0.2,0.3,0\n"
        "slow,goodput,bit/s,3e6,1e6,5e6,0.4\n"
    )
    (tmp_path / "some/counts.csv").write_text("unit,simulated,ratio\nbit/s,3,1.1\ns,4,0.85\n")
    monkeypatch.setattr(NUMBERS, "HERE", tmp_path)
    NUMBERS.read.cache_clear()
    yield tmp_path
    NUMBERS.read.cache_clear()


def _page(text, *lines):
    return f"{text}\n\n<!-- numbers\n" + "\n".join(lines) + "\n-->\n"


@pytest.mark.parametrize(
    ("text", "line", "new"),
    [
        ("It has 50 Mbit/s.", "rates: none", "It has 40 Mbit/s."),
        ("It has 9.9 Mbit/s.", "rates.least: goodput; vpn", "It has 17.0 Mbit/s."),
        ("It has 9 %.", "some/rates: share", "It has 26 %."),
        ("It has 9.", "rates in %: share", "It has 26."),
        ("Twice: 1.5 times.", "rates: none divided by rates: goodput; vpn", "Twice: 2.0 times."),
        ("At most 9 Mbit/s.", "max rates: goodput; tunnel=vpn", "At most 20 Mbit/s."),
        ("Still 9 Mbit/s.", "drifting rates: slow", "Still 3 Mbit/s."),
        ("All have 9.", "sum */counts.simulated in 1: *", "All have 7."),
        ("Off by 9 %.", "off counts.ratio in %: *", "Off by 15 %."),
        ("In 9 rows.", "count counts.simulated in 1: *", "In 2 rows."),
        # Each row beside its like: 3/1.1 and 4/0.85.
        ("9 at most.", "max counts.simulated in 1: * divided by counts.ratio: *", "5 at most."),
        ("Off by 9 %.", "off rates: none divided by rates: goodput; vpn", "Off by 96 %."),
    ],
)
def test_a_number_is_filled_from_its_row(tables, text, line, new):
    assert NUMBERS.filled(_page(text, line)) == _page(new, line)


def test_a_unit_may_stand_behind_the_next_number_and_conditions_stay(tables):
    lines = ("given: 40 ms", "rates: goodput; vpn", "rates: none")
    text = _page("At 40 ms it has 1 to 2 Mbit/s ([how](a.md#3-x), `--flows 4`).", *lines)
    assert "At 40 ms it has 20 to 40 Mbit/s ([how](a.md#3-x), `--flows 4`)." in NUMBERS.filled(text)


@pytest.mark.parametrize(
    ("text", "lines", "told"),
    [
        ("1 and 2 Mbit/s", ["rates: none"], "2 numbers"),
        ("1 Mbit/s", ["rates: vpn"], "2 rows"),
        ("1 Mbit/s", ["rates: tunnel=wireguard"], "0 rows"),
        ("1 Mbit/s", ["nothing: none"], "0 tables"),
        ("1 ms", ["rates: none"], "is in bit/s"),
        ("1 Mbit/s", ["rates: slow"], "have not settled"),
        ("1 Mbit/s", ["drifting rates: none"], "have settled"),
        ("50 ms", ["given: 40 ms"], "not the given 40"),
        ("1", ["max counts.ratio: * divided by max rates: *"], "have not settled"),
        ("1", ["max rates: goodput; tunnel=vpn divided by counts.ratio: *"], "1 rows, and 2"),
    ],
)
def test_what_a_table_does_not_have_is_told(tables, text, lines, told):
    with pytest.raises(NUMBERS.WrongError, match=told):
        NUMBERS.filled(_page(text, *lines))


def test_paragraphs_without_a_source_are_listed():
    page = "# 3 things\n\nIt has 5 Mbit/s.\n\nNo number.\n\n" + _page("It has 6.", "given: 6")
    assert NUMBERS.untraced(page) == ["It has 5 Mbit/s."]


def _again(table, name=""):
    """Return a sweep with other seeds, of a scenario or of its table."""
    base = SWEEPS / f"{table}.toml" if isinstance(table, str) else table
    return tc.sweep(base, name=name or None, seeds=SEEDS, store="again", progress=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "script"),
    [
        ("calls", "draw"),
        ("curves", "draw"),
        ("mixtures", "draw"),
        ("repair", "draw"),
        ("repair", "accelerators"),
    ],
)
def test_other_seeds_say_the_same(folder, script, tmp_path, monkeypatch):
    """A mean beside one of three other seeds: within a fifth, or how far seeds differ."""
    monkeypatch.chdir(tmp_path)
    draw = load_script(ROOT / "results" / folder / f"{script}.py")
    used = [it for text in PAGES.values() for it in NUMBERS.used(text)]
    for name, rows in draw.TABLES.items():
        wanted = [it for it in used if it.file == name]
        if not wanted:
            continue
        with (ROOT / "results" / folder / f"{name}.csv").open(newline="") as file:
            told = list(csv.DictReader(file))
        new = rows(_again)
        assert len(new) == len(told)
        for source in wanted:
            for row in source.rows():
                value, mean = (float(it["mean"]) for it in (new[told.index(row)], row))
                spread = float(row["most"]) - float(row["least"])
                assert value == pytest.approx(mean, rel=0.2, abs=spread), row
