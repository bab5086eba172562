# SPDX-License-Identifier: GPL-2.0-only
"""`make validate`: groups that need programs of the source tree, and what those may get wrong."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from helpers import ROOT, make_program
from tunnelcc.errors import RunError
from validation import exchanges, figures, page, stock, suite
from validation.check import Verdict

# The models' suites, optimised or under the sanitizers.
BUILDS = (exchanges.PROGRAM, ROOT / "build/asan" / exchanges.PROGRAM.name)
SUITES = [program for program in BUILDS if program.exists()]


def test_stock_ns3_has_a_figure_where_its_program_ran(tmp_path):
    program = make_program(tmp_path / "stock-ns3", """echo '{"goodput_bps": 9.5e6}'""")
    group = stock.group(program)
    report = suite.validate([replace(group, checks=group.checks[:1])])
    (picture,) = figures.draw(report).values()
    assert "TcpLinuxReno/10Mbps-100ms" in picture


def test_stock_program_that_fails(tmp_path):
    program = make_program(tmp_path / "stock-ns3", "exit 3")
    with pytest.raises(RunError, match="stock-ns3 failed"):
        stock.group(program)


@pytest.mark.parametrize("said", ["", "fast", "[]", "{}", '{"goodput_bps": null}'])
def test_program_that_is_not_stock_ns3(tmp_path, said):
    program = make_program(tmp_path / "stock-ns3", f"echo '{said}'")
    with pytest.raises(RunError, match="is it stock-ns3"):
        stock.group(program)


@pytest.mark.parametrize(
    ("make_group", "file"),
    [
        (stock.group, "nowhere"),
        (partial(exchanges.group, "exchanges"), "nowhere"),
        (partial(exchanges.group, "programs"), "/bin/true"),
    ],
)
def test_files_that_are_no_such_program(make_group, file):
    with pytest.raises(RunError, match=f"{file}.*make models"):
        make_group(Path(file))


def _runner(directory, report):
    """A program that lists one suite of exchanges among others, and reports on it."""
    (directory / "report").write_text(report)
    script = f"""
        [ "$1" = --list ] && printf 'tunnelcc-path\\ntunnelcc-transport-recovery\\n' && exit
        cat '{directory}/report'
        exit 1
    """
    return make_program(directory / "tunnelcc-tests", script)


CASES = """<Test>
  <Name>tunnelcc-transport-recovery</Name>
  <Result>FAIL</Result>
  <Test><Name>PRR: it&quot;s in time -&gt; 2 at 200 ms (RFC 9937)</Name><Result>PASS</Result></Test>
  <Test><Name>Of late -&gt; 2 at 200 ms (RFC 5682, 3.1)</Name><Result>FAIL</Result>
    <FailureDetails>
      <Condition>a (actual) == b (limit)</Condition>
      <Actual>2@201</Actual>
      <Limit>2@200</Limit>
      <Message>with the third
        SACK</Message>
      <File>/x/transport-recovery-test.cc</File>
      <Line>33</Line>
    </FailureDetails></Test>
  <Test><Name>PRR: it&quot;s in time -&gt; 3 (a probe) (unlike Linux tcp_x(), tcp_y())</Name>
    <Result>CRASH</Result></Test>
</Test>
"""


def test_exchanges_are_read_from_the_program(tmp_path):
    program = _runner(tmp_path, CASES)
    report = suite.validate([exchanges.group("exchanges", program)])
    assert [(it.check.name, it.check.condition, it.verdict) for it in report.outcomes] == [
        ("exchanges/recovery/prr-its-in-time", "PRR: it's in time", Verdict.PASS),
        ("exchanges/recovery/of-late", "Of late", Verdict.FAIL),
        ("exchanges/recovery/prr-its-in-time-2", "PRR: it's in time", Verdict.FAIL),
    ]
    assert not report.passed
    in_time, late, crashed = report.outcomes
    assert in_time.check.source == "RFC 9937"
    assert in_time.judgement.got == "as expected"
    assert in_time.check.comparison == exchanges.AsScripted("2 at 200 ms", ())
    assert late.check.source == "RFC 5682, 3.1"
    assert (
        late.judgement.got == "2@201 for 2@200 (with the third SACK; transport-recovery-test.cc:33)"
    )
    assert crashed.check.comparison.expected == "3 (a probe)"
    assert crashed.check.source == "unlike Linux tcp_x(), tcp_y()"


@pytest.mark.parametrize(
    "description", ["Of late", "Of late -> 2 at 200 ms", "Of late (RFC 5682)", "Of late -> 2 (me)"]
)
def test_an_exchange_without_source_or_expectation_is_an_error(tmp_path, description):
    report = CASES.replace("PRR: it&quot;s in time -&gt; 2 at 200 ms (RFC 9937)", description)
    with pytest.raises(RunError, match="expected 'what happens -> what is expected"):
        exchanges.group("exchanges", _runner(tmp_path, report.replace("->", "-&gt;")))


@pytest.mark.parametrize("said", ["", "<Test>", "Segmentation fault"])
def test_a_program_that_breaks_off_is_told(tmp_path, said):
    with pytest.raises(RunError, match="ended amid tunnelcc-transport-recovery"):
        exchanges.group("exchanges", _runner(tmp_path, said))


@pytest.mark.skipif(not SUITES, reason="needs the models' suites: make models, or make asan")
def test_scripted_exchanges():
    report = suite.validate([exchanges.group("exchanges", SUITES[0])])
    assert report.passed
    command = [SUITES[0], "--list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    suites = {name for name in listed.split() if name.startswith("tunnelcc-transport-")}
    assert {f"tunnelcc-transport-{o.check.name.split('/')[1]}" for o in report.outcomes} == suites
    assert "Linux tcp_cwnd_reduction()" in page.render(report)
