# SPDX-License-Identifier: GPL-2.0-only
"""The site: its generated pages have all that there is, and dead links in it are found.

`make docs` builds it and checks its links; the commands on its pages run in test_readmes.py.
"""

from __future__ import annotations

import re

import pytest

from helpers import ROOT, load_script, tables
from tunnelcc import catalog, core
from tunnelcc.metrics import METRICS
from tunnelcc.results.variables import VARIABLES
from tunnelcc.scenario import Experiment
from tunnelcc.schema import keys_of

DOCS = ROOT / "docs"
CHECK = load_script(DOCS / "check_site.py")


def _column(page: str, heading: str) -> list[str]:
    rows = (row for table in tables(page) for row in table if heading in row)
    return [row[heading].strip("`") for row in rows]


def test_the_reference_has_all_that_there_is():
    pages = load_script(DOCS / "reference.py").pages()
    keys = pages["reference/keys.md"]
    named = set(_column(keys, "key"))
    for taker, line in re.findall(r"^`(.+)` also takes these keys, .*\n(.+)$", keys, re.MULTILINE):
        named |= {f"{taker}.{name}" for name in re.findall("`(.+?)`", line)}
    assert named == {info.key for info in keys_of(Experiment)}
    assert "path.reverse.jitter" in named  # not repeated, but listed
    assert "path.reverse.jitter" not in _column(keys, "key")
    defaults = dict(zip(_column(keys, "key"), _column(keys, "default"), strict=True))
    assert defaults["path.rate"] == "100Mbps"
    assert _column(pages["reference/metrics.md"], "metric") == list(METRICS)
    measured = _column(pages["reference/measurements.md"], "variable")
    assert sorted(measured) == sorted((*core.measurements(), *VARIABLES))
    for name in catalog.names():
        assert f"[{name}](tunnels/{name}.md)" in _column(pages["reference/tunnels.md"], "name")
        settings = [setting for setting, *_ in catalog.settings(catalog.load(name))]
        assert _column(pages[f"reference/tunnels/{name}.md"], "setting") == settings
    programs = pages["reference/programs.md"]
    for name, program in catalog.programs().items():
        assert f"[{name}](#{name})" in _column(programs, "name")
        assert f"\n## {name}\n" in programs
        assert set(program.differs) <= set(_column(programs, "key of the entry"))
        assert not program.like or f"[{program.like}](" in programs
    for name in (*core.congestion_controls(), *core.ns3_congestion_controls()):
        page = pages[f"reference/congestion-controls/{name.replace('::', '-')}.md"]
        named = [parameter.name for parameter in core.congestion_parameters(name)]
        assert _column(page, "parameter") == named
    _, *parts = re.split(r"^## tunnelcc (.+)$", pages["reference/command-line.md"], flags=re.M)
    helps = dict(zip(parts[::2], parts[1::2], strict=True))
    for command in ("run", "compare", "sweep", "store export", "calibrate-host", "reproduce"):
        assert re.search(r"^Usage: tunnelcc (.+?) [\[A-Z]", helps[command], re.M)[1] == command


def test_dead_links_and_what_is_loaded_from_elsewhere_are_found(tmp_path):
    (tmp_path / "b.html").write_text('<h1 id="here">B</h1>')
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">good</a> <a href="https://example.org">good</a>'
        '<a href="b.html#there">bad</a> <a href="c.html">bad</a> <a href="#no">bad</a>'
        '<img src="none.png"><script src="https://example.org/x.js"></script>'
    )
    assert CHECK.problems(tmp_path) == [
        "a.html: none.png does not exist",
        "a.html: loads https://example.org/x.js",
        "a.html: b.html#there has no such anchor",
        "a.html: c.html does not exist",
        "a.html: #no has no such anchor",
    ]


def test_wide_figures_have_their_panels_below_each_other_on_a_phone():
    panels = load_script(DOCS / "panels.py")
    (first,), (second,) = panels.parts((ROOT / "results/readme/tunnelcc.svg").read_text())
    assert 220 < first[2] < 320
    assert 220 < second[2] < 320
    assert first[0] + first[2] == second[0]


def test_figures_of_the_site_fit_on_a_phone():
    """Those that its pages show; one that is wider than letters are legible ends the build."""
    panels = load_script(DOCS / "panels.py")
    pages = [*DOCS.rglob("*.md"), *(ROOT / "results").glob("*.md"), ROOT / "README.md"]
    shown = {
        (page.parent / name).resolve()
        for page in pages
        for name in re.findall(r"!\[[^\]]*\]\(([^()\s]+\.svg)\)", page.read_text("utf-8"))
        if "results/" in name
    }
    assert len(shown) > 40
    for file in sorted(shown):
        assert 'class="' in panels.figure("<img>", file.name, "it", file)


def test_a_figure_that_is_wider_than_a_phone_is_told(tmp_path):
    panels = load_script(DOCS / "panels.py")
    file = tmp_path / "wide.svg"
    # A point has 11/9 pixels, so that letters of 9 points have 11, and a phone has 390.
    file.write_text('<svg width="1" viewBox="0 0 310 200">')
    assert panels.figure("<img>", "wide.svg", "it", file) == '<span class="narrow"><img></span>'
    file.write_text('<svg width="1" viewBox="0 0 330 200">')
    with pytest.raises(ValueError, match=r"wide\.svg: 330 points beside each other"):
        panels.figure("<img>", "wide.svg", "it", file)


def test_a_text_that_a_phone_would_not_show_whole_is_told(tmp_path):
    panels = load_script(DOCS / "panels.py")
    text = (ROOT / "results/repair/loss-repair.svg").read_text()
    file = tmp_path / "cut.svg"
    file.write_text(text)
    assert "part 1 of" in panels.figure("<img>", "cut.svg", "it", file)
    # Its letters are of 10 points: three points more, and the last one ends beyond the panel.
    title = "translate(62.05918 30.799699)"
    assert text.count(title) == 1
    file.write_text(text.replace(title, "translate(65.05918 30.799699)"))
    with pytest.raises(ValueError, match=r"cut\.svg: a part that a phone shows ends in a text"):
        panels.figure("<img>", "cut.svg", "it", file)


def test_panels_below_each_other_are_one_column_on_a_phone():
    panels = load_script(DOCS / "panels.py")
    rows = panels.parts((ROOT / "results/li2018-bbr/idea-3.svg").read_text())
    assert len(rows) == 3  # its two rows of three panels begin a point apart
    assert all(90 < row[-1][2] < 220 for row in rows)


def test_panels_that_share_an_axis_have_it_on_a_phone():
    panels = load_script(DOCS / "panels.py")
    first, second, *legend = panels.parts(
        (ROOT / "results/mixtures/neighbours-tunnel.svg").read_text()
    )
    axis, panel = second
    assert len(first) == 1
    assert axis[0] == first[0][0]
    assert axis[2] < 60
    assert panel[0] == first[0][2]
    assert 200 < panel[2] < 300
    assert len(legend) == 2
    assert all(width < panels.MOST for ((_, _, width, _),) in legend)


def test_labels_of_two_lines_below_panels_are_whole_on_a_phone():
    panels = load_script(DOCS / "panels.py")
    text = (ROOT / "results/calls/through-tunnels.svg").read_text()
    of_panels = text[: re.search(r"^  <g id=\"(?:text|legend)_|\Z", text, re.MULTILINE).start()]
    lowest = max(float(y) for y in re.findall(r"translate\([\d.]+ ([\d.]+)\) scale", of_panels))
    for _, top, _, height in panels.parts(text)[0]:
        assert top + height > lowest + 3


def test_cells_of_stacked_tables_have_their_heading():
    panels = load_script(DOCS / "panels.py")
    rows = "<tr><th>key</th><th>default</th></tr> <tr><td>rate</td><td>1</td></tr>"
    content = panels.labelled(f'<div class="stacked"><table>{rows}</table></div><td>')
    assert '<td data-label="key">rate</td><td data-label="default">1</td>' in content
    assert content.endswith("<td>")


def test_answers_of_lessons_are_folded_on_the_site():
    panels = load_script(DOCS / "panels.py")
    text = "**Predict.** Who?\n\n**Compare.** BBR.\n\n**Explain.** So.\n\n## Part 2\n\nNext."
    before, folded, after = re.split(r"<details markdown>|</details>", panels.folded(text))
    assert before == "**Predict.** Who?\n\n"
    assert "BBR." in folded
    assert "**Explain.** So." in folded
    assert after.strip() == "## Part 2\n\nNext."
