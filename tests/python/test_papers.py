# SPDX-License-Identifier: GPL-2.0-only
"""The format of papers, its errors, and the arithmetic of comparing."""

from __future__ import annotations

import math
import shutil

import pytest

import tunnelcc as tc
from tunnelcc import papers
from tunnelcc.cli import main
from tunnelcc.papers import compare, published
from tunnelcc.papers.compare import Cell
from tunnelcc.papers.conclusions import sentences
from tunnelcc.papers.measures import MEASURES, Run
from tunnelcc.papers.reproduce import calibrate, reproduce
from tunnelcc.papers.simulate import with_ns3_congestion

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

[[comparisons]]
id = "rates"
title = "Table 1"
scenario = "scenario.toml"
published = "rate"
simulated = "goodput"
tolerance = 0.1
tolerance_reason = "for a test"

[comparisons.axes.cc]
key = "cc"

[comparisons.axes.count]
key = "flows.count"

[comparisons.calibration]
key = "path.buffer"
where = { count = "2" }
reason = "unknown"
candidates = ["3kB", "1bdp"]
alternatives = ["5p"]

[[comparisons.beside]]
published = "retransmits"
simulated = ["carrier_retransmits"]
reason = "For a test."

[[comparisons.claims]]
text = "They are alike"
axis = "cc"
over = "bbr"
under = "cubic"
where = { count = "1" }

[[comparisons.variants]]
id = "none"
title = "nothing"
role = "baseline"
where = { count = "1" }
settings = { "path.buffer" = "4bdp" }
reason = "for a test"

[[comparisons.variants]]
id = "half"
title = "half the rate"
role = "cause"
where = { count = "1" }
settings = { "path.rate" = "4Mbps" }
reason = "for a test"

[[comparisons.variants]]
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
    assert [problem.key for problem in caught.value.problems] == ["comparisons.0.tolerance"]


def test_a_folder_is_a_paper(folder):
    paper = papers.find(str(folder))
    (comparison,) = paper.file.comparisons
    rows = paper.comparison_rows(comparison)
    assert [row.value for row in rows] == [5e6, 7.2e6, 7e6, 7.1e6]
    experiment = paper.experiment(comparison, rows[3])
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
    "unknown label": ("paper.toml", '"stated"', '"guessed"', "label = 'guessed'.*'inferred'"),
    "no reason": ("paper.toml", 'reason = "section 1"', "", r"parameters\.0\.reason"),
    "label of nothing": ("paper.toml", '"path.rate"', '"path.rat"', r"path\.rate has no|path\.rat"),
    "value without label": ("scenario.toml", "[path]", 'warmup = "1s"\n[path]', "warmup = '1s'"),
    "unknown metric": ("paper.toml", 'published = "rate"', 'published = "rates"', "mean 'rate'"),
    "unknown measure": ("paper.toml", '"goodput"', '"goodputs"', "did you mean 'goodput'"),
    "unknown column": ("paper.toml", "axes.count]", "axes.counts]", r"axes\.counts.*column"),
    "unknown value": ("published.csv", "bbr,1", "brr,1", "'brr'.*did you mean"),
    "axis of nothing": ("paper.toml", 'key = "flows.count"', "", "either key or values"),
    "no such rows": ("paper.toml", '{ count = "2" }', '{ count = "3" }', r"calibration\.where"),
    "no such claim": ("paper.toml", 'over = "bbr"', 'over = "reno"', r"claims\.0\.over"),
    "bad setting": ("paper.toml", '"4Mbps"', '"4Mbpp"', r"path\.rate = '4Mbpp'"),
    "bad candidate": ("paper.toml", '"5p"', '"-5p"', r"path\.buffer = '-5p'"),
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
    with pytest.raises(tc.ConfigError, match="at least one published value"):
        published.read(file)
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(tc.ConfigError, match="UTF-8"):
        published.read(file)


def cell(published_value=100.0, simulated=(100.0,), tolerance=0.1, calibrated=False, **values):
    defaults = {**dict.fromkeys(MEASURES, 0.0), **values}
    runs = [Run(seed, {**defaults, "goodput": value}) for seed, value in enumerate(simulated, 1)]
    return Cell({"cc": "bbr"}, published_value, "bit/s", "goodput", tolerance, calibrated, runs)


def test_means_spreads_and_ratios():
    it = cell(100, (90, 110, 130))
    assert it.mean() == 110
    assert it.spread() == (90, 130)
    assert it.ratio == pytest.approx(1.1)


@pytest.mark.parametrize(
    ("simulated", "verdict"),
    [
        (90.0, "reproduced"),
        (110.0, "reproduced"),
        (89.9, "not reproduced"),
        (111, "not reproduced"),
    ],
)
def test_the_tolerance_bounds_the_verdict(simulated, verdict):
    # 110 / 100 - 1 is 0.10000000000000009 in floating point.
    assert cell(100, (simulated,), tolerance=0.1 + 1e-12).verdict == verdict


def test_what_was_calibrated_is_never_reproduced():
    assert cell(100, (100,), calibrated=True).verdict == "calibrated: fits"
    assert cell(100, (50,), calibrated=True).verdict == "calibrated: no fit"
    assert cell(100, (100,), calibrated=True).label == "calibrated"


def test_the_label_says_whether_the_calibrated_queue_mattered():
    assert cell(drops=0.0).label == "inferred"
    assert cell(drops=1.0).label == "inferred, calibrated"


def test_a_full_window_without_drops_is_the_limit():
    assert cell(window_share=0.99).is_window_limited
    assert not cell(window_share=0.9).is_window_limited
    assert not cell(window_share=0.99, drops=5.0).is_window_limited


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


@pytest.mark.parametrize(
    ("share", "text"), [(0.976, "98 %"), (-0.001, "0 %"), (-0.06, "-6 %"), (math.nan, "–")]
)
def test_shares_in_percent(share, text):
    assert compare.percent(share) == text


def test_ns3_algorithms_take_the_place_of_ours():
    flows = [{"cc": "bbr"}, {"cc": "reno"}, {"cc": "ns3::TcpVegas"}]
    experiment = tc.Experiment(flows=flows, tunnel={"name": "gost-relay-ws", "cc": "cubic"})
    swapped = with_ns3_congestion(experiment)
    names = [flow.cc.name for flow in swapped.flows]
    assert names == ["ns3::TcpBbr", "ns3::TcpLinuxReno", "ns3::TcpVegas"]
    assert swapped.tunnel.cc.name == "ns3::TcpCubic"


def test_reproduce_stores_tables_and_figures(folder, tmp_path, capsys):
    output = tmp_path / "new" / "directory"
    (simulated,) = reproduce(str(folder), seeds=2, jobs=2, cc_set="ns3", output=output)
    names = {file.name for file in output.iterdir()}
    assert names == {"rates.csv", "rates.json", "rates.svg", "rates.png", "rates-causes.svg"}
    printed = capsys.readouterr().out
    assert "not reproduced" in printed  # CUBIC alone does not get 5 Mbit/s of 8
    assert "What the simulation says" in printed
    assert [len(it.runs) for it in simulated.cells] == [2] * 4
    assert [len(it.runs) for it in simulated.ns3] == [2] * 4
    half = {variant.id: cells for variant, cells in simulated.variants}["half"]
    assert all(it.mean() < 4e6 for it in half)
    assert simulated.cells[0].verdict == "not reproduced"
    claim, causes = sentences(simulated)[1:3]
    assert claim.endswith(
        "One of these rows is not reproduced, so that the simulation cannot judge the claim."
    )
    assert causes.endswith("None brings a row within the tolerance.")


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
    assert len(lines) == 1 + 3 * 2
    assert (tmp_path / "out" / "rates-calibration.svg").is_file()


def test_nothing_to_calibrate_is_said(folder):
    text = (folder / "paper.toml").read_text()
    start, end = text.index("[comparisons.calibration]"), text.index("[[comparisons.beside]]")
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
        ("reproduce", "gost-thesis", "--cc-set", "ns4"),
    ):
        code, message = told(capsys, *arguments)
        assert code == 2
        assert message.startswith("tunnelcc: ")
        assert message.count("\n") == 1


def test_the_command_lists_papers(capsys):
    main(["papers"])
    assert "gost-thesis" in capsys.readouterr().out
