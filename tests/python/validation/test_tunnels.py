# SPDX-License-Identifier: GPL-2.0-only
"""The comparison of tunnels with the measured programs: its data, and that it can fail."""

from __future__ import annotations

import csv
from dataclasses import replace

import matplotlib as mpl
import pytest

from helpers import ROOT, load_script
from tunnelcc.plots import STYLE
from validation import programs, reference, suite
from validation.check import Group, Kind, Verdict
from validation.reference import DATA, ProgramCell, ProgramRun, program_cells

MEASURE = load_script(ROOT / "tests/reference/tunnels.py")
DRAW = load_script(ROOT / "results/programs/draw.py")
CHECKS = list(programs.checks())


def _rows():
    with (DATA / "programs/tunnels.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_tunnel_was_measured_and_no_tunnel_beside_them():
    tunnels = {cell.tunnel for cell in program_cells()}
    assert tunnels == {"none", *MEASURE.TUNNELS}
    assert all(len(cell.runs) > 1 for cell in program_cells())


def test_a_run_is_there_once_and_nothing_in_it_broke_off():
    rows = _rows()
    keys = [tuple(row[name] for name in [*list(rows[0])[:8], "seed"]) for row in rows]
    assert len(set(keys)) == len(keys)
    for row in rows:
        flows = [float(it) for it in row["flows_mbps"].split()]
        assert len(flows) == int(row["flows"])
        assert min(flows) > 0
        assert sum(flows) == pytest.approx(float(row["goodput_mbps"]), rel=0.002)
        assert float(row["late_p99_ms"]) < MEASURE.LATE


def test_losses_are_independent_and_as_many_as_set():
    rows = [row for row in _rows() if float(row["loss"]) > 0]
    lost = sum(int(row["lost"]) for row in rows)
    expected = sum(float(row["loss"]) * int(row["packets"]) for row in rows)
    assert lost == pytest.approx(expected, rel=0.02)
    same = [row["lost"] for row in rows if row["loss"] == "0.01"]
    assert len(set(same)) > len(same) / 2


def test_an_experiment_has_the_measured_condition():
    for cell in program_cells():
        experiment = programs.experiment(cell)
        measured = MEASURE.Cell(
            cell.tunnel, cell.rtt, float(cell.buffer_bdp), cell.loss, cell.cc, cell.carrier_cc,
            cell.flows, cell.beside,
        )  # fmt: skip
        assert experiment.path.rate == MEASURE.RATE * 1e6
        assert experiment.path.rtt == pytest.approx(cell.rtt / 1e3)
        assert experiment.path.buffer.packets == cell.buffer == measured.buffer
        assert experiment.path.loss == pytest.approx(cell.loss)
        assert len(experiment.flows) == cell.flows + cell.beside + 1
        *flows, messages = experiment.flows
        begin = flows[0].start
        assert [flow.start - begin for flow in flows] == pytest.approx(
            [MEASURE.APART * index for index in range(len(flows))]
        )
        assert messages.start - begin == pytest.approx(MEASURE.MESSAGE_START[round(cell.rtt)])
        assert messages.rate == 8 * MEASURE.MESSAGE.size / MEASURE.MESSAGE_INTERVAL
        assert experiment.duration - begin == MEASURE.DURATION
        assert experiment.warmup - begin == MEASURE.STEADY


def _cell(*goodputs, share=(1.0,), late=0.05):
    runs = tuple(
        ProgramRun(
            tuple(part * goodput for part in share), None, 50.0, None, None, None, None, 5.0, late
        )
        for goodput in goodputs
    )
    return ProgramCell("vtun", 40, 167, "1", 0, "cubic", "cubic", len(share), False, runs)


@pytest.mark.parametrize(
    ("goodputs", "kind"), [((40, 42, 43), Kind.CELL), ((40, 42, 45), Kind.TOLD)]
)
def test_a_program_that_does_not_repeat_itself_decides_nothing(monkeypatch, goodputs, kind):
    monkeypatch.setattr(programs, "program_cells", lambda: (_cell(*goodputs),))
    checks = {check.name.split("/")[1]: check for check in programs.checks()}
    assert checks["goodput"].kind is kind
    assert checks["goodput"].comparison.target == pytest.approx(sum(goodputs) / 3)
    assert checks["latency"].kind is Kind.CELL
    assert checks.keys() == {"goodput", "latency", "queue", "cpu"}


def test_share_is_of_the_fastest_flow_or_of_the_tunnel_beside_a_plain_one():
    (run,) = _cell(40, share=(0.25, 0.75)).runs
    assert run.share == pytest.approx(75)
    assert replace(run, flows=(10.0,), beside=30.0).share == pytest.approx(25)
    assert replace(run, flows=(10.0,)).share is None


def test_without_its_data_the_comparison_fails(monkeypatch, tmp_path):
    program_cells.cache_clear()
    monkeypatch.setattr(reference, "DATA", tmp_path)
    with pytest.raises(FileNotFoundError):
        programs.group()
    program_cells.cache_clear()


def _judge(check, **changes):
    report = suite.validate([Group("programs", "some", (replace(check, **changes),))], seeds=1)
    return report.outcomes[0].verdict


def test_a_wrong_number_is_noticed():
    name = "programs/goodput/wireguard/cubic-1/40ms-1bdp-0%"
    (check,) = (check for check in CHECKS if check.name == name)
    assert _judge(check) is Verdict.PASS
    wrong = replace(check.comparison, target=1.12 * check.comparison.target)
    assert _judge(check, comparison=wrong) is Verdict.MISS


def test_the_figure_has_a_mark_for_each_cell():
    chosen = [check for check in CHECKS if "/none/cubic-1/40ms-1bdp-0%" in check.name]
    chosen += [check for check in CHECKS if "/openvpn-2.6-tcp/cubic-2/40ms-1bdp-1%" in check.name]
    report = suite.validate([Group("programs", "some", tuple(chosen))], seeds=1)
    with mpl.rc_context(STYLE):
        figure = DRAW.measured(report)
    marks = sum(line.get_marker() != "None" for axes in figure.axes for line in axes.lines)
    assert marks == len(chosen)
    assert "results/programs/measured.svg" in (ROOT / "README.md").read_text()
