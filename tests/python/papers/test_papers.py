# SPDX-License-Identifier: GPL-2.0-only
"""The format of papers, its errors, and the arithmetic of comparing."""

from __future__ import annotations

import math
import re
import shutil
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings, strategies

import tunnelcc as tc
from tunnelcc import papers
from tunnelcc.cli import main
from tunnelcc.errors import Problem
from tunnelcc.papers import compare, export, expression, figures, published, tables
from tunnelcc.papers.claims import Claim, judge
from tunnelcc.papers.compare import Cell, Reproduction, Simulated
from tunnelcc.papers.format import Compared, Miss, Question, Reading
from tunnelcc.papers.page import write_index
from tunnelcc.papers.points import Observation, Point
from tunnelcc.papers.reproduce import calibrate, reproduce

PAPER = """
title = "A paper"
source = "made up for a test"

[[parameters]]
key = "path.rate"
label = "stated"
reason = "section 1"

[[parameters]]
key = "path.buffer"
label = "calibrated"
reason = "section 2"

[[parameters]]
key = "duration"
label = "stated"
reason = "section 3"

[[parameters]]
name = "weather"
value = "fair"
label = "stated"
reason = "section 4"

[[figures]]
id = "rates"
title = "Table 1"
scenario = "scenario.toml"

[figures.quantities.goodput]
measure = "goodput"

[figures.quantities.carrier_retransmits]
measure = "path_retransmits"

[figures.quantities.share]
formula = "goodput / rate"
unit = "1"

[[figures.values]]
published = "rate"
quantity = "goodput"
tolerance = 0.1
reason = "for a test"

[[figures.values]]
published = "retransmits"
quantity = "carrier_retransmits"
reason = "For a test."

[figures.axes.cc]
key = "cc"

[figures.axes.count]
key = "flows.count"

[figures.calibration]
key = "path.buffer"
where = { count = "2" }
reason = "unknown"
candidates = ["3kB", "1bdp"]

[[figures.claims]]
text = "They are alike"
kind = "ratio"
quantity = "goodput"
within = 0.1
axis = "cc"
over = "bbr"
under = "cubic"
where = { count = "1" }

[[figures.variants]]
id = "none"
title = "nothing"
role = "baseline"
where = { count = "1" }
settings = { "path.buffer" = "4bdp" }
reason = "for a test"

[[figures.variants]]
id = "half"
title = "half the rate"
role = "cause"
where = { count = "1" }
settings = { "path.rate" = "4Mbps" }
reason = "for a test"

[[figures.variants]]
id = "double"
title = "twice the rate"
role = "counterfactual"
where = { count = "1", cc = "bbr" }
settings = { "path.rate" = "16Mbps" }
reason = "for a test"
"""
SCENARIO = 'duration = "2s"\n[path]\nrate = "8Mbps"\nbuffer = "1bdp"\n'
CSV = """section,cc,count,metric,value,unit
1,cubic,1,rate,5.0,Mbit/s
1,bbr,1,rate,7.2,Mbit/s
1,cubic,2,rate,7.0,Mbit/s
1,bbr,2,rate,7.1,Mbit/s
1,bbr,2,retransmits,12,segments
"""


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "my-paper"
    path.mkdir()
    (path / "paper.toml").write_text(PAPER)
    (path / "scenario.toml").write_text(SCENARIO)
    (path / "published.csv").write_text(CSV)
    return path


def change(folder, file, old, new):
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1))


def test_a_wrong_value_in_a_list_is_told_once(folder):
    change(folder, "paper.toml", "tolerance = 0.1", 'tolerance = "x"')
    with pytest.raises(tc.ConfigError) as caught:
        papers.reproduce(str(folder))
    assert [problem.key for problem in caught.value.problems] == ["figures.0.values.0.tolerance"]


def test_all_missing_labels_are_told_at_once(folder):
    change(folder, "paper.toml", 'key = "path.rate"', 'name = "rate"\nvalue = "8"')
    change(folder, "paper.toml", 'key = "duration"', 'name = "time"\nvalue = "9"')
    with pytest.raises(tc.ConfigError) as caught:
        papers.reproduce(str(folder))
    told = sorted(problem.key for problem in caught.value.problems)
    assert told == [f"figures.0.scenario.toml.{key}" for key in ("duration", "path.rate")]


def test_a_folder_is_a_paper(folder):
    paper = papers.find(str(folder))
    (figure,) = paper.file.figures
    rows = paper.figure_rows(figure, "rate")
    assert [row.value for row in rows] == [5e6, 7.2e6, 7e6, 7.1e6]
    points = paper.points(figure)
    assert points[-1] == {"cc": "bbr", "count": "2"}
    experiment = paper.experiment(figure, points[-1])
    assert experiment.flows[0].cc.name == "bbr"
    assert experiment.flows[0].count == 2
    assert ("path.rate", "8Mbps", "stated", "section 1") in paper.parameters()
    assert ("weather", "fair", "stated", "section 4") in paper.parameters()


def test_the_papers_that_come_along():
    assert "gost-thesis" in papers.names()
    for name in papers.names():
        paper = papers.find(name)
        assert paper.title
        assert (paper.folder / "README.md").is_file()


BAD = {
    "no paper.toml": ("paper.toml", None, None, r"paper\.toml.*No such file"),
    "no scenario": ("scenario.toml", None, None, r"scenario\.toml.*No such file"),
    "no data": ("published.csv", None, None, r"published\.csv.*No such file"),
    "truncated TOML": ("paper.toml", '[[parameters]]\nkey = "path.rate"', '[["', "valid TOML"),
    "unknown key": ("paper.toml", "title =", "titel =", "titel.*did you mean 'title'"),
    "log without x": ("paper.toml", 'id = "rates"', 'id = "rates"\nlog = true', "log = True"),
    "panels without x": (
        "paper.toml",
        'id = "rates"',
        'id = "rates"\npanels = "cc"',
        "panels = 'cc'",
    ),
    "unknown label": ("paper.toml", '"stated"', '"guessed"', "label = 'guessed'.*'inferred'"),
    "no reason": ("paper.toml", 'reason = "section 1"', "", r"parameters\.0\.reason"),
    "label of nothing": ("paper.toml", '"path.rate"', '"path.rat"', r"path\.rate has no|path\.rat"),
    "value without label": ("scenario.toml", "[path]", 'warmup = "1s"\n[path]', "warmup = '1s'"),
    "unknown metric": ("paper.toml", 'published = "rate"', 'published = "rates"', "mean 'rate'"),
    "unknown measure": ("paper.toml", '"goodput"', '"goodputs"', "did you mean 'goodput'"),
    "unknown column": ("paper.toml", "axes.count]", "axes.counts]", r"axes\.counts.*column"),
    "unknown value": ("published.csv", "bbr,1", "brr,1", "'brr'.*did you mean"),
    "axis of nothing": ("paper.toml", 'key = "flows.count"', "", "a key, or values with"),
    "no such rows": ("paper.toml", '{ count = "2" }', '{ count = "3" }', r"calibration\.where"),
    "claim of nothing": ("paper.toml", 'axis = "cc"', 'axis = "bb"', r"claims\.0\.axis = 'bb'"),
    "claim without axis": ("paper.toml", 'axis = "cc"\n', "", r"claims\.0\.axis"),
    "claim with too much": (
        "paper.toml",
        'under = "cubic"',
        'under = "cubic"\nat = "1"',
        r"at = '1': expected for ratio the keys axis, over, under, within",
    ),
    "unknown quantity": ("paper.toml", 'quantity = "goodput"', 'quantity = "goodpt"', "goodput'"),
    "unknown in formula": ("paper.toml", "goodput / rate", "goodput / rte", "did you mean 'rate'"),
    "formula of code": ("paper.toml", "goodput / rate", "goodput.real", "not allowed"),
    "broken formula": ("paper.toml", "goodput / rate", "goodput /", "not arithmetic"),
    "no such flow": (
        "paper.toml",
        'measure = "goodput"',
        'measure = "goodput"\nflow = 7',
        "0 to 0",
    ),
    "flow of a count": (
        "paper.toml",
        'measure = "path_retransmits"',
        'measure = "path_retransmits"\nflow = 0',
        "no value except for goodput",
    ),
    "no such claim": ("paper.toml", 'over = "bbr"', 'over = "reno"', r"claims\.0\.over"),
    "bad setting": ("paper.toml", '"4Mbps"', '"4Mbpp"', r"path\.rate = '4Mbpp'"),
    "bad candidate": ("paper.toml", '"3kB"', '"-3kB"', r"path\.buffer = '-3kB'"),
    "bad scenario": ("scenario.toml", "8Mbps", "0Mbps", r"path\.rate = '0Mbps'"),
    "zero tolerance": ("paper.toml", "tolerance = 0.1", "tolerance = 0", "tolerance = 0"),
    "bad number": ("published.csv", "7.2", "fast", "line 3: value = 'fast'"),
    "negative": ("published.csv", "7.2", "-1", "line 3: value = '-1'"),
    "not a number": ("published.csv", "7.2", "nan", "line 3: value = 'nan'"),
    "bad unit": ("published.csv", "7.2,Mbit/s", "7.2,mbit/s", "line 3: unit.*mean 'Mbit/s'"),
    "missing value": ("published.csv", ",7.2,Mbit/s", ",7.2", "line 3"),
    "value too many": ("published.csv", "7.2,Mbit/s", "7.2,Mbit/s,1", "line 3"),
    "no unit column": ("published.csv", ",unit", ",units", "column unit"),
    "open quote": ("published.csv", "1,cubic,1", '1,"cubic,1', "valid CSV"),
}


@pytest.mark.parametrize(("file", "old", "new", "message"), BAD.values(), ids=BAD)
def test_malformed_papers_are_told_in_one_message(folder, file, old, new, message):
    if old is None:
        (folder / file).unlink()
    else:
        change(folder, file, old, new)
    with pytest.raises(tc.ConfigError, match=message) as caught:
        papers.find(str(folder))
    assert "paper.toml" in str(caught.value) or file in str(caught.value)


def test_unknown_papers_are_named():
    with pytest.raises(tc.ConfigError, match=r"gost-thesi'.*did you mean 'gost-thesis'"):
        papers.find("gost-thesi")


def test_empty_and_binary_data_are_refused(tmp_path):
    file = tmp_path / "published.csv"
    file.write_text("metric,value,unit\n")
    assert published.read(file) == ()  # claims alone may be compared
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(tc.ConfigError, match="UTF-8"):
        published.read(file)


def point(simulated=(100.0,), axes=None, **values):
    defaults = {"drops": 0.0, "window_share": 0.0, "utilisation": 0.0, **values}
    runs = [
        Observation(seed, {**defaults, "goodput": value}) for seed, value in enumerate(simulated, 1)
    ]
    return Point(axes or {"cc": "bbr"}, tc.Experiment(), runs)


def cell(printed="100", simulated=(100.0,), calibrated=False, **limit):
    row = published.Row(1, {}, "rate", published.parse_range(printed), "bit/s")
    limit = limit or {"tolerance": 0.1}
    compared = Compared(published="rate", quantity="goodput", reason="for a test", **limit)
    return Cell(point(simulated), row, compared, calibrated)


@pytest.mark.parametrize(
    ("value", "unit", "told"),
    [
        (20913.7, "segments", "20910"),
        (123456789, "packets", "123500000"),
        (9999.6, "1", "10000"),
        (5600, "segments", "5600"),
        (138.91e6, "Mbit/s", "138.9"),
        (2.5e-5, "1", "2.5e-05"),
        (math.inf, "1", "inf"),
    ],
)
def test_large_counts_are_written_without_powers_of_ten(value, unit, told):
    assert published.written(value, unit) == told


def test_what_there_is_not_has_no_number():
    assert published.written(math.nan, "Mbit/s") == "–"
    assert export._plain(math.nan) == ""


def test_means_spreads_and_ratios():
    it = cell("100", (90, 110, 130))
    assert it.mean == 110
    assert it.spread == (90, 130)
    assert it.ratio == pytest.approx(1.1)


@pytest.mark.parametrize(
    ("printed", "simulated", "fits"),
    [
        ("100", 90.0, True),
        ("~100", 109.0, True),
        ("100", 89.9, False),
        ("100", 111, False),
        (">100", 100, True),
        (">100", 99.9, False),
        ("<100", 99, True),
        ("<100", 101, False),
        ("90-95", 90, True),
        ("90-95", 95.1, False),
        ("100", math.inf, False),
        (">100", math.nan, False),
    ],
)
def test_the_tolerance_bounds_the_verdict(printed, simulated, fits):
    it = cell(printed, (simulated,), tolerance=0.1)
    assert it.verdict == ("reproduced" if fits else "not reproduced")


def test_a_margin_is_in_the_published_unit():
    row = published.Row(1, {}, "rate", published.parse_range("~0", 1e6), "Mbit/s")
    compared = Compared(published="rate", quantity="goodput", reason="for a test", margin=20)
    assert Cell(point((19e6,)), row, compared).fits
    assert not Cell(point((21e6,)), row, compared).fits


def test_what_is_only_shown_has_no_verdict():
    compared = Compared(published="rate", quantity="goodput", reason="for a test")
    assert Cell(point(), cell().row, compared).verdict == ""


def test_what_was_calibrated_is_never_reproduced():
    assert cell("100", (100,), calibrated=True).verdict == "calibrated: fits"
    assert cell("100", (50,), calibrated=True).verdict == "calibrated: no fit"
    assert cell("100", (100,), calibrated=True).rests_on == "calibrated"


def test_the_label_says_whether_the_calibrated_queue_mattered(folder):
    paper = papers.find(str(folder))
    axes = {"cc": "bbr", "count": "1"}
    for drops, label in ((0.0, "stated"), (1.0, "calibrated")):
        simulated = Simulated(paper, paper.file.figures[0], [point(axes=axes, drops=drops)])
        assert simulated.judged[0].rests_on == label


def test_a_row_that_is_said_to_be_compared_has_a_verdict():
    for name in papers.names():
        for figure in papers.find(name).figures():
            told = [item for item in figure.values if re.search("compared|decides", item.reason)]
            assert all(item.is_judged for item in told), (name, figure.id)


def test_what_a_paper_does_not_publish_is_not_called_stated():
    for name in papers.names():
        rows = papers.find(name).parameters()
        stated = [reason for _, _, label, reason in rows if label == "stated"]
        assert not any("not published" in reason for reason in stated), name


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "1e999", "5-3", ">", "1 2", "1e", "0x10"])
def test_what_is_no_published_value(text):
    with pytest.raises(ValueError, match=re.escape(text)):
        published.parse_range(text)


def read(**keys):
    """Return the claim on goodput that a paper's table says."""
    return Claim(text="it is", quantity="goodput", **keys)


def curve(kind, *means, **keys):
    """Judge a claim on a quantity over path.rtt."""
    rtts = ["10ms", "20ms", "40ms", "80ms"]
    points = [point((mean,), {"rtt": rtt}) for rtt, mean in zip(rtts, means, strict=False)]
    claim = read(kind=kind, axis="rtt", **keys)
    return judge(claim, points, {})


@pytest.mark.parametrize(
    ("held", "judged"),
    [
        (True, curve("rises", 1, 2, 1.95, 3)),
        (False, curve("rises", 1, 2, 1.5, 3)),
        (False, curve("rises", 1, 1, 1, 1)),
        (True, curve("falls", 3, 2, 1)),
        (False, curve("falls", 1, 2, 3)),
        (True, curve("flat", 1, 0.96, 1, within=0.05)),
        (False, curve("flat", 1, 0.94, 1, within=0.05)),
        (True, curve("power", 8, 4, 2, 1, exponent=-1, within=0.01)),
        (False, curve("power", 8, 8, 8, 8, exponent=-1, within=0.5)),
        (False, curve("power", 8, 0, 2, 1, exponent=-1, within=0.5)),
        (True, curve("knee", 10, 9.5, 5, 2, at="20ms", within=0.1)),
        (False, curve("knee", 10, 8.5, 5, 2, at="20ms", within=0.1)),
        (False, curve("knee", 10, 10, 10, 10, at="20ms", within=0.1)),
        (True, curve("order", 2, 1, over="10ms", under="20ms")),
        (False, curve("order", 1, 2, over="10ms", under="20ms")),
    ],
)
def test_claims(held, judged):
    assert judged.holds is held
    assert judged.got


@pytest.mark.parametrize(
    ("kind", "keys", "held"),
    [
        ("larger", {"than": "other"}, True),
        ("equal", {"to": "other", "within": 0.2}, False),
        ("equal", {"to": "other", "within": 0.6}, True),
    ],
)
def test_claims_on_two_quantities(kind, keys, held):
    assert judge(read(kind=kind, **keys), [point((150,), other=100.0)], {}).holds is held


def made(folder, factors, *, holds=True, **changed):
    """Return the folder's figure as if simulated values were published ones × ``factors``."""
    paper = papers.find(str(folder))
    ends = {"over": "bbr", "under": "cubic"} if holds else {"over": "cubic", "under": "bbr"}
    claim = Claim(kind="order", text="they are", quantity="goodput", axis="cc", **ends)
    figure = paper.file.figures[0]
    kept = {"claims": (claim,), "values": figure.values[:1], "variants": ()}
    kept["quantities"] = {"goodput": figure.quantities["goodput"]}
    figure = figure.model_copy(update={**kept, **changed})
    rows = {(row.columns["cc"], row.columns["count"]): row for row in paper.rows[:4]}
    places = paper.points(figure)
    points = [
        point((factor * rows[axes["cc"], axes["count"]].value,), axes)
        for factor, axes in zip(factors, places, strict=True)
    ]
    return Simulated(paper, figure, points)


def test_a_figure_is_told_in_one_line(folder):
    it = made(folder, (1.05, 1, 2, 1), calibration=None)
    assert compare.told(it) == "3 of 4 rows within 10 %. 1 of 1 claims hold"
    assert compare.told(made(folder, (1,) * 4, holds=False)).endswith("0 of 1 claims hold")
    calibrated = compare.told(made(folder, (1, 1, 1, 1), claims=()))
    assert calibrated == "4 of 4 rows within 10 %; 2 of them calibrated"
    by_range = Compared(published="rate", quantity="goodput", within_runs=True, reason="x")
    ranged = made(folder, (1, 1, 1.1, 0.9), values=(by_range,), claims=(), calibration=None)
    assert compare.told(ranged) == "2 of 4 rows within tolerance; 2 of them within the runs' range"
    verdicts = [row[4] for row in tables.side_by_side(compare.Reproduction(ranged)).rows]
    assert sorted(it == compare.IN_RANGE for it in verdicts) == [False, False, True, True]
    assert {tables.KINDS[it] for it in verdicts} == {"good", "bad"}
    unjudged = Compared(published="rate", quantity="goodput", reason="x")
    shown = made(folder, (1,) * 4, values=(unjudged,))
    assert compare.rows_told(shown.cells) == "4 rows shown without a verdict"
    bare = it.figure.model_copy(update={"claims": (), "values": ()})
    assert compare.told(Simulated(it.paper, bare, [])) == "nothing to compare a simulation with"


def drawn(folder, factors=(1,) * 4, **changed):
    """Return the folder's figure as it is drawn."""
    return figures.draw(Reproduction(made(folder, factors, calibration=None, **changed)))


def test_bounds_are_lines_and_ranges_bars_between_their_ends(folder):
    change(folder, "published.csv", "1,cubic,1,rate,5.0", "1,cubic,1,rate,>5.0")
    change(folder, "published.csv", "1,bbr,1,rate,7.2", "1,bbr,1,rate,7.2-7.4")
    drawing = drawn(folder)
    bars = [bar for axes in drawing.axes for bar in axes.patches if hasattr(bar, "get_height")]
    ends = sorted((bar.get_y(), bar.get_y() + bar.get_height()) for bar in bars)
    assert [low for low, _ in ends] == [0, 0, pytest.approx(7.2)]
    assert [high for _, high in ends] == pytest.approx([7.0, 7.1, 7.4])
    texts = [text.get_text() for axes in drawing.axes for text in axes.texts]
    assert ">5.0" in texts
    assert sorted(text for text in texts if text == "1.00") == ["1.00", "1.00"]


def test_bars_have_axes_in_words_and_panels_that_a_phone_can_show(folder):
    drawing = drawn(folder)
    assert drawing.get_size_inches()[0] < 6
    assert drawing.axes[-1].get_xlabel() == "flows"
    assert drawing.axes[0].get_ylabel() == "goodput (Mbit/s)"


def test_no_title_has_a_last_line_of_one_word(folder):
    title = "Uploads without a tunnel: four send buffers over RTT (section 4.1)"
    change(folder, "paper.toml", 'title = "Table 1"', f'title = "{title}"')
    first, second, _ = drawn(folder).get_suptitle().split("\n")
    assert f"{first} {second}" == title
    assert abs(len(first) - len(second)) < 12


def test_proportions_are_straight_lines(folder):
    claim = Claim(
        kind="power", text="so it is", quantity="goodput", axis="count", exponent=1, within=0.1
    )
    it = made(folder, (1,) * 4, calibration=None, x="count")
    it.figure = it.figure.model_copy(update={"claims": (claim,)})
    (axes,) = figures.draw(Reproduction(it)).axes
    assert axes.get_yscale() == "log"
    lines = [line for line in axes.get_lines() if line.get_label() == "in proportion"]
    assert [line.get_ydata()[1] / line.get_ydata()[0] for line in lines] == pytest.approx([2, 2])


def test_each_curve_of_another_reading_has_its_own_label(folder):
    it = made(folder, (1,) * 4, calibration=None, x="count", claims=())
    axes = {"system": it.figure.axes["cc"], "count": it.figure.axes["count"]}
    figure = it.figure.model_copy(update={"axes": axes, "values": ()})
    places = [{"system": name, "count": count} for name in ("bbr", "cubic") for count in "12"]
    taken, other = (
        Simulated(it.paper, figure, [point((goodput,), place) for place in places])
        for goodput in (1e6, 2e6)
    )
    readings = (
        Reading(id="taken", title="one", reason="for a test"),
        Reading(id="other", title="two", reason="for a test", settings={"path.rate": "4Mbps"}),
    )
    question = Question(id="rate", text="Which rate?", figures=("rates",), readings=readings)
    found = [(question, reading, it) for reading, it in zip(readings, (taken, other), strict=True)]
    (legend,) = figures.draw(Reproduction(taken, found)).legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert len(set(labels)) == len(labels) == 4
    assert sum("two" in label for label in labels) == 2


def test_an_axis_may_have_panels_and_another_a_logarithmic_scale(folder):
    it = made(folder, (1,) * 4, calibration=None, x="count", panels="cc", log=True)
    drawing = figures.draw(Reproduction(it))
    assert len(drawing.axes) == 2
    assert {axes.get_yscale() for axes in drawing.axes} == {"log"}
    titles = [axes.get_title("left") for axes in drawing.axes]
    assert sorted(title.rpartition(" ")[2] for title in titles) == ["bbr", "cubic"]


def test_whatever_was_missed_is_told_with_what_is_known_of_why(folder):
    misses = (Miss(where={"cc": "bbr"}, reason="a fast one"), Miss(reason="anything else"))
    it = made(folder, (2,) * 4, calibration=None, misses=misses[:1], holds=False)
    assert [it.reason(miss) for miss in it.missed] == reasons(it, "a fast one", "")
    both = made(folder, (2,) * 4, misses=misses, holds=False)
    assert [both.reason(miss) for miss in both.missed] == reasons(both, *(m.reason for m in misses))
    table = tables.missed([Reproduction(both)])
    assert {row[2] for row in table.rows} == {"a fast one", "anything else"}
    assert sum(row[1].count("2.000") for row in table.rows) == 4
    assert sum("they are" in row[1] for row in table.rows) == 1
    assert not tables.missed([Reproduction(made(folder, (1,) * 4))]).rows


def reasons(simulated, of_bbr, of_others):
    """Return what is to be told of each point, and of a claim on all of them."""
    places = (cell.point.axes["cc"] for cell in simulated.judged)
    return [*(of_bbr if cc == "bbr" else of_others for cc in places), of_others]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("sqrt(a / 2 * (1 + b) / (1 - b) / p)", math.sqrt(4.5 / 1e-4)),
        ("-a + max(b, 2) ** 3", 7),
        ("log2(8) * min(a, b)", 2.4),
        ("a / (b - b)", math.nan),
        ("sqrt(-a)", math.nan),
        ("(-a) ** 0.5", math.nan),
        ("9 ** 9 ** 9 ** 9", math.nan),
    ],
)
def test_formulas(text, value):
    got = expression.evaluate(text, {"a": 1, "b": 0.8, "p": 1e-4})
    assert got == pytest.approx(value, nan_ok=True)


@pytest.mark.parametrize("sign", ["~", "-", "not ", "(", "[", "1+"])
def test_a_formula_of_signs_is_refused_or_has_a_value(sign):
    text = sign * (490 // len(sign)) + "1" + ")" * 490 * (sign == "(") + "]" * 490 * (sign == "[")
    try:
        expression.names(text)
    except ValueError:
        return
    assert expression.evaluate(text, {}) in (1.0, -1.0, 246.0)


@settings(deadline=None)
@given(strategies.text(max_size=40))
def test_any_text_is_a_formula_or_refused(text):
    try:
        names = expression.names(text)
    except ValueError:
        return
    assert isinstance(expression.evaluate(text, dict.fromkeys(names, 1.0)), float)


@settings(deadline=None, max_examples=60)
@given(strategies.data())
def test_damaged_papers_end_with_an_error_that_names_the_file(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("damaged") / "my-paper"
    path.mkdir()
    files = {"paper.toml": PAPER, "scenario.toml": SCENARIO, "published.csv": CSV}
    name = data.draw(strategies.sampled_from(sorted(files)))
    text = files[name]
    begin = data.draw(strategies.integers(0, len(text)))
    end = data.draw(strategies.integers(begin, len(text)))
    middle = data.draw(strategies.text(max_size=5) | strategies.just(""))
    for file, content in {**files, name: text[:begin] + middle + text[end:]}.items():
        (path / file).write_text(content, encoding="utf-8", errors="replace")
    problems: tuple[Problem, ...] = ()
    try:
        papers.find(str(path))
    except tc.ConfigError as error:
        problems = error.problems
    assert all(problem.key and problem.expected for problem in problems)
    assert all(any(file in str(problem) for file in files) for problem in problems)


def test_misfit_weighs_half_and_double_alike():
    assert compare.misfit([0.5]) == pytest.approx(compare.misfit([2.0]))
    assert compare.misfit([2.0, 1.0, 0.5]) == pytest.approx(2 * math.log(2) ** 2)


def test_of_equal_candidates_the_first_is_best():
    assert compare.best([("a", 0.5), ("b", 0.1), ("c", 0.1000001), ("d", 0.2)]) == "b"


def test_share_of_the_gap_that_a_cause_closes():
    assert compare.explained(200, 200, 100) == 0
    assert compare.explained(200, 150, 100) == 0.5
    assert compare.explained(200, 50, 100) == 1.5
    assert math.isnan(compare.explained(100, 50, 100))


def test_reproduce_stores_tables_and_figures(folder, tmp_path, capsys):
    output = tmp_path / "new" / "directory"
    (found,) = reproduce(str(folder), seeds=2, jobs=2, output=output)
    names = {file.name for file in output.iterdir()}
    assert names == {"rates.csv", "rates.svg"}
    printed = capsys.readouterr().out
    assert "not reproduced" in printed  # CUBIC alone does not get 5 Mbit/s of 8
    end = printed[printed.index("side by side") :]
    assert end.index("published") < end.index("claims hold") < end.index("Missed")
    assert [len(it.runs) for it in found.simulated.points] == [2] * 4
    cause, half = next(it for it in found.variants if it[0].id == "half")
    assert all(it.mean("goodput") < 4e6 for it in half.points)
    baseline = next(it for variant, it in found.variants if variant.id == "none")
    for change, without in zip(compare.changes(found, cause, half), baseline.judged, strict=True):
        share = compare.explained(without.mean, change.value, without.published)
        assert change.closes == pytest.approx(share)
    assert found.simulated.judged[0].verdict == "not reproduced"
    share = found.simulated.points[0].mean("share")
    assert share == pytest.approx(found.simulated.points[0].mean("goodput") / 8e6)
    (claim,) = found.simulated.claims
    assert found.simulated.standing(claim) == "1 of 2 numbers missed"


def test_what_is_stored_depends_on_the_runs_alone(folder, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    reproduce(str(folder), seeds=1, jobs=1, output=first)
    reproduce(str(folder), seeds=1, jobs=2, output=second)
    for file in first.iterdir():
        assert file.read_bytes() == (second / file.name).read_bytes(), file.name


def test_calibrate_sweeps_the_candidates(folder, tmp_path, capsys):
    found = calibrate(str(folder), seeds=1, output=tmp_path / "out")
    assert found == {"rates": "1bdp"}  # two packets of room starve CUBIC
    assert "Least misfit: path.buffer = 1bdp" in capsys.readouterr().out
    lines = (tmp_path / "out" / "rates-calibration.csv").read_text().splitlines()
    assert len(lines) == 1 + 2 * 2


class Page(HTMLParser):
    """Ids, links and text of a page."""

    def __init__(self, file):
        super().__init__()
        self.ids, self.links, self.loaded, self.words = set(), [], [], []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        table = dict(attributes)
        self.ids.add(table.get("id"))
        if tag == "a":
            self.links.append(table["href"])
        if "src" in table or (tag == "link" and not table["href"].startswith("data:")):
            self.loaded.append(table)

    def handle_data(self, data):
        self.words.append(data)


def test_pages_are_whole_and_the_index_has_every_paper(folder, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    change(other, "paper.toml", 'title = "A paper"', 'title = "<b>&"')
    directory = tmp_path / "pages"
    found = [
        reproduce(str(path), seeds=1, jobs=2, store=tmp_path / "runs", report=directory)
        for path in (folder, other)
    ]
    write_index(found, directory)
    pages = {file.name: Page(file) for file in directory.glob("*.html")}
    assert set(pages) == {"index.html", "my-paper.html", "other.html"}
    for name, page in pages.items():
        assert not page.loaded
        for link in page.links:
            target, _, fragment = link.partition("#")
            assert not fragment or fragment in pages[target or name].ids, link
    text = "".join(pages["other.html"].words)
    assert "<b>&" in text
    assert "tunnelcc reproduce other --figure rates --seeds 1" in text
    assert "calibrated: fits" in text
    assert (directory / "other.html").read_text().count("<svg ") == 1
    index = "".join(pages["index.html"].words)
    assert "A paper" in index
    assert "not reproduced" in index
    assert "claims hold" in index
    assert index.index("published") < index.index("claims hold") < index.index("Missed")


def test_finished_runs_are_not_run_again(folder, tmp_path, monkeypatch):
    first = reproduce(str(folder), seeds=1, jobs=2, store=tmp_path / "runs")

    def fail(jobs, client):
        def run(function, tasks):
            for id_, _ in tasks:
                yield pytest.fail(f"{id_} runs again")

        return run

    monkeypatch.setattr("tunnelcc.papers.simulate.executor", fail)
    second = reproduce(str(folder), seeds=1, store=tmp_path / "runs")
    for a, b in zip(first[0].simulated.points, second[0].simulated.points, strict=True):
        assert a.runs[0].values == b.runs[0].values


def test_a_reading_is_judged_by_itself(folder):
    text = (folder / "paper.toml").read_text()
    question = """
[[questions]]
id = "rate"
text = "Which rate?"
figures = ["rates"]

[[questions.readings]]
id = "eight"
title = "8 Mbit/s"
reason = "for a test"

[[questions.readings]]
id = "five"
title = "5 Mbit/s"
settings = { "path.rate" = "5.4Mbps" }
reason = "for a test"
"""
    (folder / "paper.toml").write_text(text + question)
    (found,) = reproduce(str(folder), seeds=1, jobs=2, details=True)
    (_, _, taken), (_, _, other) = found.readings
    assert taken is found.simulated
    verdicts = {(it.point.axes["cc"], it.point.axes["count"]): it.verdict for it in other.judged}
    assert verdicts["cubic", "1"] == "reproduced"  # 5 Mbit/s are published
    assert verdicts["bbr", "1"] == "not reproduced"
    (folder / "paper.toml").write_text(text + question.replace("settings = {", "# "))
    with pytest.raises(tc.ConfigError, match="exactly one reading without settings"):
        papers.find(str(folder))


def test_nothing_to_calibrate_is_said(folder):
    text = (folder / "paper.toml").read_text()
    start, end = text.index("[figures.calibration]"), text.index("[[figures.claims]]")
    (folder / "paper.toml").write_text(text[:start] + text[end:])
    with pytest.raises(tc.ConfigError, match="parameter to calibrate"):
        calibrate(str(folder))


def test_output_that_cannot_be_a_directory(folder, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(tc.ConfigError, match="output"):
        reproduce(str(folder), output=tmp_path / "file")


def test_a_copied_folder_works_anywhere(tmp_path):
    shutil.copytree(papers.find("gost-thesis").folder, tmp_path / "copy")
    assert papers.find(str(tmp_path / "copy")).key == "copy"


def told(capsys, *arguments):
    """Return the exit code and what the command wrote to standard error."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    return caught.value.code, capsys.readouterr().err


def test_wrong_input_ends_with_one_message(capsys, folder):
    (folder / "published.csv").unlink()
    for arguments in (
        ("reproduce", "gost-thesi"),
        ("reproduce", str(folder)),
        ("reproduce", str(folder), "--calibrate"),
        ("reproduce", "gost-thesis", "--seeds", "0"),
        ("reproduce", "gost-thesis", "--figure", "goodputs"),
        ("reproduce", "gost-thesis", "--all"),
        ("reproduce", "--all", "--figure", "goodput"),
        ("reproduce",),
    ):
        code, message = told(capsys, *arguments)
        assert code == 2
        assert message.startswith("tunnelcc: ")
        assert message.count("\n") == 1


def test_the_command_prints_its_result_and_leads_to_details_and_figures(capsys, folder, tmp_path):
    command = ["reproduce", str(folder), "--seeds", "1", "--store", str(tmp_path / "store")]
    main(command)
    brief = capsys.readouterr()
    assert brief.out.split("\n\n")[1].startswith("Published and simulated, side by side")
    assert "calibrated" in brief.out
    assert "All points" not in brief.out
    for line in tables.LEGEND:
        assert line in brief.out.replace("\n", " ").replace("  ", " ")
    assert "reproduced if within ± 10 %" in brief.out
    assert "number, cc, count  " in brief.out
    assert brief.err.splitlines()[-1].startswith("--details ")
    main([*command, "--report", str(tmp_path / "report")])
    assert "--report" not in capsys.readouterr().err
    main([*command, "--details"])
    whole = capsys.readouterr()
    assert "--report" not in whole.err
    assert "All points" in whole.out
    result = brief.out[brief.out.index("Published and simulated, side by side") :]
    assert whole.out.endswith(result)


def test_the_command_lists_papers(capsys):
    main(["papers"])
    assert "gost-thesis" in capsys.readouterr().out
