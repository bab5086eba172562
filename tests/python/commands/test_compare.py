# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc compare``, and options that have several values or several flows."""

from __future__ import annotations

import numpy as np
import pytest

import tunnelcc as tc
from tunnelcc.commands.compare import declare
from tunnelcc.commands.options import KEYS, experiment_of, listed

NOTHING = dict.fromkeys(KEYS)
SMALL = ("--rate", "5Mbps", "--rtt", "10ms", "--duration", "2s")


def flows(groups=(), settings=(), file=None, **options):
    """Return (algorithm, count, RTT, tunnel) of each group of flows that the options make."""
    made = experiment_of(file, {**NOTHING, **options}, groups, settings)
    return [(flow.cc.name, flow.count, flow.rtt, flow.tunnel) for flow in made.flows]


def test_several_algorithms_are_flows_beside_each_other():
    assert flows(cc="bbr,cubic") == [("bbr", 1, None, None), ("cubic", 1, None, None)]
    assert flows(cc="bbr, reno", flows="3") == [("bbr", 3, None, None), ("reno", 3, None, None)]
    assert flows(cc="bbr", flows="3") == [("bbr", 3, None, None)]


def test_each_flow_option_is_a_group_of_flows():
    groups = ("cc=bbr,rtt=20ms", "cc=cubic,count=4,tunnel=none")
    expected = [("bbr", 1, 0.02, None), ("cubic", 4, None, "none")]
    assert flows(groups, tunnel="wireguard") == expected
    assert flows(("count=2", "cc=bbr"), cc="reno") == [
        ("reno", 2, None, None),
        ("bbr", 1, None, None),
    ]
    assert flows(("cc=bbr",), ("flows.0.count=7",)) == [("bbr", 7, None, None)]


def test_flows_are_added_to_those_of_a_file(tmp_path):
    file = tmp_path / "two.toml"
    file.write_text("[[flows]]\ncount = 2\n[[flows]]\ncc = 'bbr'\n")
    assert len(flows(file=file)) == 2
    assert [cc for cc, *_ in flows(("cc=reno",), file=file)] == ["cubic", "bbr", "reno"]


def test_commas_within_brackets_part_nothing():
    assert listed("a, b,c") == ["a", "b", "c"]
    assert listed("route=[\"a\", 'b'],cc={name='bbr', x=1},count=2") == [
        "route=[\"a\", 'b']", "cc={name='bbr', x=1}", "count=2",
    ]  # fmt: skip
    assert listed(None) == listed(" ,") == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--flow", "cc=bbrr"), "flows.0.cc = 'bbrr'"),
        (("--flow", "cc=bbr", "--flow", "county=2"), "flows.1.county"),
        (("--flow", "bbr"), "--flow = 'bbr'"),
        (("--flow", ""), "--flow = ''"),
        (("--flow", "cc=bbr", "--flows", "2"), "--flows = '2'"),
        (("--flow", "cc=bbr", "--cc", "bbr,cubic"), "--cc = 'bbr,cubic'"),
        (("--set", "flows.1.cc=bbr"), "--flow cc=bbr"),
    ],
)
def test_wrong_flows_are_told_in_one_line(run, arguments, told):
    code, out, err = run("run", *arguments)
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1


def test_options_with_several_values_are_axes():
    options = {**NOTHING, "tunnel": "none,wireguard", "loss": "0,1%", "rate": "5Mbps"}
    declared = declare(None, options, ("hosts.cores=2",), "2", None)
    assert len(declared) == 2 * 2 * 2
    experiments = list(declared.experiments())
    assert {(it.tunnel.name if it.tunnel else None, it.path.loss) for it in experiments} == {
        (None, 0), (None, 0.01), ("wireguard", 0), ("wireguard", 0.01),
    }  # fmt: skip
    assert {(it.path.rate, it.hosts.cores) for it in experiments} == {(5e6, 2)}


def test_each_comparison_has_a_name_of_its_own():
    def name(seeds=None, given=None, **options):
        return declare(None, {**NOTHING, **options}, (), seeds, given).name

    assert name(cc="bbr,cubic") == name(cc="bbr,cubic")
    assert name(cc="bbr,cubic") != name(cc="bbr,reno") != name("2", cc="bbr,reno")
    assert name(given="mine", cc="bbr,cubic") == "mine"
    with pytest.raises(tc.ConfigError, match="several values"):
        declare(None, {**NOTHING, "loss": "0,1%"}, (), None, None)


def test_compare_prints_a_table_and_draws_bars(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ("compare", "--tunnel", "none,wireguard", "--cc", "bbr,cubic", "--seeds", "3", *SMALL)
    code, out, err = run(*command)
    assert code == 0, err
    assert (tmp_path / "compare.png").stat().st_size > 1000
    table, _, differences = out.partition("goodput, difference to tunnel.name=none")
    assert [line.split()[:2] for line in differences.splitlines() if "[−" in line] == [
        ["wireguard", "bbr"], ["wireguard", "cubic"],
    ]  # fmt: skip
    rows = [line for line in table.splitlines() if line.startswith(("none", "wireguard"))]
    assert [row.split()[:2] for row in rows] == [
        [tunnel, cc] for tunnel in ("none", "wireguard") for cc in ("bbr", "cubic")
    ]
    assert all("±" in row for row in rows)
    assert out.splitlines()[0] == "1 flow, 5Mbps × 10ms, buffer 1bdp, 2s"
    assert "Jain" not in out  # of one flow it tells nothing, unless one asks for it
    again = run(*command, "--plot", "again.svg", "--output", "again.csv", "--metric", "jain")
    assert again[0] == 0
    assert "Jain" in again[1]
    assert "12 cached" in again[1]
    assert len(list((tmp_path / "runs" / "sweeps").glob("compare-*.json"))) == 1
    assert len((tmp_path / "again.csv").read_text().splitlines()) > 8
    assert run(*command, "--plot", "again.txt")[0] == 2
    assert run(*command, "--metric", "goodputs")[0] == 2


@pytest.mark.parametrize(("metric", "factor"), [("flow_rtt", 1e3), ("loss_rate", 1)])
def test_the_metric_of_the_bars_is_in_the_table(run, tmp_path, monkeypatch, metric, factor):
    monkeypatch.chdir(tmp_path)
    _, out, _ = run(
        "compare", "--cc", "bbr,cubic", "--flows", "2", "--seeds", "2", *SMALL, "--name", "one",
        "--metric", metric,
    )  # fmt: skip
    runs = factor * tc.open("runs/one")[metric]
    runs = runs.mean("flow") if "flow" in runs.dims else runs
    *lines, last = (line for line in out.splitlines() if "±" in line)
    assert last == "means of 2 seeds ± distance of the farthest run"
    rows = {line.split()[0]: line.split() for line in lines}
    assert metric in out.splitlines()[1] + out.splitlines()[2]
    for cc in ("bbr", "cubic"):
        mean, farthest = float(rows[cc][1]), float(rows[cc][3])
        assert mean == pytest.approx(float(runs.sel(cc=cc).mean("seed")), abs=0.006)
        least, most = (float(end(runs.sel(cc=cc))) for end in (np.min, np.max))
        assert farthest == pytest.approx(max(most - mean, mean - least), abs=0.012)


def test_the_values_that_bars_are_drawn_for_are_told(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    axes = ("--cc=bbr,cubic", "--rtt=10ms,20ms,30ms", "--rate=2Mbps,5Mbps")
    code, out, _ = run("compare", *axes, "--seeds=1", "--duration=1s")
    assert code == 0
    assert out.splitlines()[-1] == "compare.png"  # three axes: bars, colours and panels
    code, out, _ = run("compare", *axes, "--loss=0,1%", "--seeds=1", "--duration=1s")
    assert code == 0
    assert out.splitlines()[-1].startswith("compare.png (only path.loss=1%; ")


def test_an_unknown_metric_is_told_before_anything_is_simulated(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("compare", "--cc", "bbr,cubic", *SMALL, "--metric", "flow_rt")
    assert (code, out) == (2, "")
    assert "--metric = 'flow_rt'" in err
    assert not (tmp_path / "runs").exists()
