# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc plot`` on the results of real sweeps."""

from __future__ import annotations

import pytest

import tunnelcc as tc
from tunnelcc.plots.selection import Selection

DUEL = {
    "path": {"rate": "5Mbps", "rtt": "20ms"},
    "flows": [{"cc": "bbr"}, {"cc": "cubic"}],
    "duration": "3s",
    "warmup": "1s",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    directory = tmp_path_factory.mktemp("store")
    axes = {"path.buffer": ["1bdp", "2bdp", "4bdp"], "path.rtt": ["10ms", "20ms"]}
    tc.sweep(DUEL, axes, seeds=2, name="duel", store=directory, jobs=1, progress=False)
    alone = {**DUEL, "flows": [{}]}
    axes = {**axes, "cc": ["bbr", "cubic"]}
    tc.sweep(alone, axes, seeds=2, name="alone", store=directory, jobs=1, progress=False)
    return directory


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--x", "path.buffer", "--y", "flow_share", "--facet", "path.rtt"],
        ["--x", "path.buffer", "--at", "path.rtt=10ms", "--no-theory"],
        ["--by", "path.rtt"],
        ["--kind", "scatter", "--by", "path.rtt"],
        ["--kind", "map", "--x", "path.buffer", "--y", "path.rtt", "--value", "jain"],
        ["--kind", "series", "--facet", "path.buffer", "--at", "path.rtt=20ms"],
    ],
)
def test_a_figure_of_each_kind(store, tmp_path, run, options):
    file = tmp_path / "figure.svg"
    assert run("plot", store / "duel", *options, "--output", file) == (0, f"{file}\n", "")
    assert file.read_text().startswith("<?xml")
    assert file.stat().st_size > 5000


def test_the_name_of_a_sweep_leads_to_its_results(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "did you mean" not in run("plot", "mine")[2]
    tc.sweep(DUEL, {"path.rtt": ["9ms", "7ms"]}, seeds=1, name="mine", jobs=1, progress=False)
    assert "(did you mean 'runs/mine'?)" in run("plot", "mine")[2]
    assert run("plot", "runs/mine")[0] == 0


def test_the_standard_set_with_harm(store, tmp_path, run):
    directory = tmp_path / "new" / "set"
    arguments = [store / "duel", "--standard", "--baseline", store / "alone", "-o", directory]
    _, out, _ = run("plot", *arguments, "--format", "pdf")
    files = sorted(directory.iterdir())
    assert sorted(out.split()) == list(map(str, files))
    names = {file.stem for file in files}
    assert {
        "goodput-over-path-buffer", "goodput-over-path-rtt", "flow-share-over-path-buffer",
        "flow-harm-over-path-buffer", "jain-over-path-buffer", "queueing-delay",
        "utilisation-over-path-buffer-and-path-rtt", "over-time",
    } <= names  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--x", "path.bufer"], "did you mean 'path.buffer'?"),
        (["--by", "cc"], "--by = 'cc': expected one of the axes path.buffer, path.rtt"),
        (["--by", "path.rtt", "--at", "path.buffer=1bdp"], "--x: expected one of the axes"),
        (["--x", "path.buffer", "--y", "jane"], "did you mean 'jain'?"),
        (
            ["--x", "path.buffer"],
            "path.rtt: expected --by path.rtt, --facet path.rtt or --at path.rtt=20ms",
        ),
        (["--x", "path.buffer", "--facet", "cc"], "one of the axes path.buffer, path.rtt"),
        (["--x", "path.buffer", "--at", "path.rtt"], "KEY=VALUE"),
        (["--kind", "curve"], "did you mean 'curves'?"),
        (
            ["--kind", "series", "--y", "cwnd"],
            "expected no --y with --kind series, which takes --facet and --at",
        ),
        (["--x", "path.rtt", "--value", "jain"], "--value = 'jain'"),
        (["--x", "path.buffer", "--output", "figure.gif"], "ending in .png, .svg, .pdf"),
        (["--x", "path.buffer", "--format", "pgn"], "did you mean 'png'?"),
        (["--x", "path.buffer", "--y", "flow_harm"], "one of the metrics"),
    ],
)
def test_one_clear_complaint(store, tmp_path, run, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    code, out, complaint = run("plot", store / "duel", *options)
    assert (code, out) == (2, "")
    assert message in complaint
    assert len(complaint.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_missing_sweep_is_named(store, run):
    code, _, complaint = run("plot", store / "dual", "--standard")
    assert code == 2
    assert "did you mean 'duel'?" in complaint


def test_results_of_a_run_are_not_those_of_a_sweep(run, tmp_path):
    file = tmp_path / "run.nc"
    assert run("run", "--rate", "5Mbps", "--duration", "1s", "--output", file)[0] == 0
    code, _, err = run("plot", file)
    assert code == 2
    assert "tunnelcc run --plot" in err


def test_a_metric_without_a_value_at_what_is_chosen_tells_of_the_choice(store):
    """At 10 ms, no pair of flows differs: another RTT has a value."""
    made = tc.open(store / "duel")
    made["jain"] = made["jain"].where(made["path.rtt"] > 0.015)
    everywhere = Selection(made)
    assert everywhere.metric_with_values("jain", "--y").name == "jain"
    with pytest.raises(tc.ConfigError) as caught:
        Selection(made, {"path.rtt": "10ms"}).metric_with_values("jain", "--y")
    assert "--at" in caught.value.problems[0].expected


def test_commands_of_stores_take_the_name_that_a_sweep_prints(store, run, tmp_path):
    """As STORE/NAME, whatever --store is."""
    file = tmp_path / "x.csv"
    assert run("store", "export", "alone", tmp_path / "same.csv", "--store", store)[0] == 0
    assert run("store", "export", store / "alone", file)[0] == 0
    assert file.read_bytes() == (tmp_path / "same.csv").read_bytes()
    for command in ("ls", "show"):
        plain = run("store", command, "alone", "--store", store)
        assert run("store", command, store / "alone") == plain
        assert plain[0] == 0
    other = tmp_path / "other"
    assert run("store", "merge", store, "--store", other)[0] == 0
    assert run("store", "rm", other / "alone", other / "duel")[0] == 0
    assert run("store", "ls", "--store", other)[1].startswith("0 runs")


def test_harm_has_no_table_of_dashes_where_all_flows_are_in_the_tunnel(run):
    keys = ("--rate", "5Mbps", "--duration", "2s", "--tunnel", "wireguard", "--harm")
    code, out, _ = run("run", *keys)
    assert code == 0
    assert "Harm of tunnels" not in out
    assert "No flow is outside the tunnel" in out
    out = run("run", *keys, "--flow", "cc=cubic", "--flow", "cc=cubic,tunnel=none")[1]
    assert "Harm of tunnels" in out
