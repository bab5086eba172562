# SPDX-License-Identifier: GPL-2.0-only
"""Reports of results: what a page, a table and references for a paper hold."""

from __future__ import annotations

import csv
import re

import pytest

import tunnelcc as tc
from tunnelcc.report import results as reports
from tunnelcc.report.cell import Cell

NAN = float("nan")


@pytest.mark.parametrize(
    ("mean", "half", "shown"),
    [
        (19.1764, 0.4123, "19.18 ± 0.41"),
        (33.4, 16.2, "33 ± 16"),
        (0.99472, 0.00834, "0.9947 ± 0.0083"),
        (1.234, 0.0996, "1.23 ± 0.10"),
        (1234.5, 300.0, "1234 ± 300"),
        (12.3456, NAN, "12.35"),
        (12.3456, 0.0, "12.35"),
        (0.5, 3e-17, "0.5"),
        (NAN, NAN, "–"),
    ],
)
def test_a_mean_ends_where_its_interval_does(mean, half, shown):
    assert str(Cell(mean, half)) == shown


def test_an_interval_of_what_is_never_below_0_begins_there():
    assert str(Cell(2.1, 3.31)) == "2.1 [0, 5.4]"
    assert str(Cell(2.1, 3.31, is_signed=True)) == "2.1 ± 3.3"


def test_text_is_not_taken_for_latex():
    assert reports.latex("50 % of a_b & c\\") == r"50 \% of a\_b \& c\textbackslash{}"


def test_a_report_of_a_scenario_and_of_its_results(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reports, "_MOST_FIGURES", 1)
    (tmp_path / "it.toml").write_text(
        'duration = "2s"\n[path]\nrate = "4Mbps"\nrtt = "20ms"\nloss = "1%"\n'
        '[sweep]\n"tunnel.name" = ["none", "wireguard"]\n'
    )
    command = ("report", "it.toml", "--seeds", "3", "--question", "Is <it> 1 % slower?")
    code, out, err = run(*command, "--metric", "utilisation", "-o", "out")
    assert code == 0, err
    assert "out/report.html" in out
    page = (tmp_path / "out" / "report.html").read_text()
    for told in ("Is &lt;it&gt; 1 % slower?", "path.loss", "limited by the", "models", "<svg"):
        assert told in page
    answer = page.index("utilisation, compared with tunnel.name=none")
    assert page.index("<h1>") < answer < page.index("Path and traffic")
    assert re.search(r"[−+]?\d[\d.]* % \[[^]]*\] with wireguard", page[answer:])
    assert "loss 1 %, buffer 1bdp, 2s" in page[answer:]
    rows = list(csv.DictReader((tmp_path / "out" / "table.csv").open()))
    assert [row["tunnel.name"] for row in rows] == ["none", "wireguard"]
    assert 1 < float(rows[0]["goodput Mbit/s"]) < 4
    assert 0 < float(rows[0]["goodput Mbit/s, ±"]) < 3
    table = (tmp_path / "out" / "table.tex").read_text()
    assert table.count(r"\\") == 3
    made = rows[0]["provenance"]
    assert made.startswith(f"tunnelcc {tc.__version__}, models ")
    assert "seeds 1 to 3" in made
    assert "\n% " + made.split("; ")[0] + "\n" in table
    assert rf"none & {rows[0]['goodput Mbit/s']}" in table
    references = (tmp_path / "out" / "references.bib").read_text()
    for key in ("@software{tunnelcc,", "ns3,", "@misc{cubic,", "@misc{wireguard,"):
        assert key in references
    assert "@misc{bbr," not in references
    assert (tmp_path / "out" / "differences.pdf").stat().st_size > 1000
    code, out, err = run("report", "runs/it", "-o", "again")
    assert code == 0, err
    assert (
        "tunnelcc sweep again/scenario.toml --name it"
        in (tmp_path / "again" / "report.html").read_text()
    )
    code, out, err = run("report", "runs/it", "--seeds", "3", "-o", "again")
    assert code == 2
    assert "--seeds = '3': expected no value, because the results have their seeds" in err
    (tmp_path / "other.toml").write_text(
        'duration = "2s"\n[path]\nrate = "4Mbps"\nrtt = "20ms"\n[[flows]]\ncount = 2\n'
    )
    code, out, err = run("report", "runs/it", "other.toml", "--seeds", "2", "-o", "both")
    assert code == 0, err
    rows = list(csv.DictReader((tmp_path / "both" / "table.csv").open()))
    assert [row["results"] for row in rows] == ["it", "it", "other"]
    assert [row["tunnel.name"] for row in rows] == ["none", "wireguard", "–"]
    (jain,) = (key for key in rows[0] if "jain" in key.lower() and "±" not in key)
    assert [bool(row[jain]) for row in rows] == [False, False, True]
    page = (tmp_path / "both" / "report.html").read_text()
    assert "path.loss (it)" in page
    assert "path.rate (" not in page  # of both
    assert "tunnelcc sweep both/it.toml --name it" in page
    assert "What all have in common" not in page
    (tmp_path / "slower.toml").write_text(
        (tmp_path / "it.toml").read_text().replace("4Mbps", "2Mbps").replace('"none", ', "")
    )
    code, out, err = run("report", "runs/it", "slower.toml", "--seeds", "2", "-o", "both")
    assert code == 0, err
    assert "What all have in common" in (tmp_path / "both" / "report.html").read_text()
    lines = (tmp_path / "both" / "compared.tex").read_text().splitlines()
    (goodput,) = (line.split(" & ") for line in lines if "goodput" in line)
    ours = tc.open("runs/it").goodput.sel({"tunnel.name": "wireguard"})[:2].mean().item()
    theirs = tc.open("runs/slower").goodput.mean().item()
    assert goodput[0] == "wireguard"
    told = float(goodput[4].split()[0].replace("$-$", "-"))
    assert told == pytest.approx(100 * (theirs / ours - 1), abs=0.2)
    assert (tmp_path / "both" / "differences.pdf").stat().st_size > 1000
    code, _, err = run("report", "runs/it", "it.toml")
    assert (code, "names that differ" in err) == (2, True)
    code, out, err = run("report", "nothing.toml")
    assert code == 2
    code, out, err = run("report", "it.toml", "--seeds", "2", "--metric", "goodputt")
    assert "goodput" in err


@pytest.mark.slow
def test_one_experiment_without_a_sweep_has_a_report(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.toml").write_text('duration = "1s"\n[path]\nrate = "4Mbps"\nrtt = "20ms"\n')
    code, _, err = run("report", "one.toml", "--seeds", "2", "-o", "out")
    assert code == 0, err
    rows = list(csv.reader((tmp_path / "out" / "table.csv").open()))
    assert len(rows) == 2
    assert rows[0][0] == "goodput Mbit/s"


def test_metrics_of_flows_are_compared_by_entry(tmp_path, monkeypatch):
    monkeypatch.setattr(reports, "_figures", lambda results: [])
    flows = [{"cc": "bbr"}, {"cc": "cubic", "count": 2}]
    results = {}
    for name, rate in {"slow": "4Mbps", "fast": "8Mbps"}.items():
        table = {"path": {"rate": rate, "rtt": "20ms"}, "flows": flows, "duration": "1s"}
        results[name] = tc.sweep(
            table, {"path.buffer": ["1bdp", "2bdp"]}, seeds=2, store=tmp_path / name, progress=False
        )
    report = reports.together(results, metrics=("flow_share", "flow_rtt"))
    rows = {(row[0], row[1]): row for row in report.compared.rows}
    goodput = results["slow"]["flow_goodput"].isel({"path.buffer": 0}).values  # seed, flow
    share = 100 * (goodput[:, 0] / goodput.sum(axis=-1)).mean()
    told = rows["1bdp", "flows.0 share %"]
    assert float(told[2].split()[0]) == pytest.approx(share, rel=0.1)
    assert told[4] != "–"
    assert ("2bdp", "flow_rtt ms") in rows
    assert {heading for _, heading in rows} <= {*report.headings}
