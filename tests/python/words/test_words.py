# SPDX-License-Identifier: GPL-2.0-only
"""Words are made in one room, and nothing else depends on them."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tunnelcc as tc
from helpers import ROOT, TOKEN, load_script, replace_words
from tunnelcc.analysis import causes as analysis
from tunnelcc.apps.fit import fit
from tunnelcc.errors import Problem
from tunnelcc.formats.measurement import Measurement, Stream
from tunnelcc.words import causes, fits, lists

check_words = load_script(ROOT / "waf-config/check-words.py")

PATH = {"rate": "20Mbps", "rtt": "20ms"}
#: Experiments whose runs have limits of many kinds, warnings, and metrics since the start.
EXPERIMENTS = {
    "link": {"path": PATH},
    "window": {"path": PATH, "hosts": {"tcp_rmem": "16KiB"}},
    "several": {"path": {**PATH, "buffer": "4p"}, "flows": [{"cc": "cubic", "count": 3}]},
    "carrier": {"path": PATH, "tunnel": {"name": "kcptun", "stream_window": 16384}},
    "CPU": {"path": PATH, "tunnel": "vtun", "hosts": {"speed": 0.005}},
    "FEC": {"path": {**PATH, "loss": "1%"}, "tunnel": {"name": "tinyfecvpn", "fec": "5:2"}},
}


@pytest.fixture
def tokens(monkeypatch):
    """Every sentence is the same token."""
    replace_words(monkeypatch.setattr)


def _without_words(value):
    """Return the numbers of a table, and its names."""
    if isinstance(value, dict):
        told = {"what", "key", "flow_limited_by", "flow_limited_key"}
        return {name: _without_words(it) for name, it in value.items() if name not in told}
    return [_without_words(it) for it in value] if isinstance(value, list) else value


def _run(name):
    experiment = {"duration": "2s", "warmup": "1s", "flows": [{"cc": "cubic"}], **EXPERIMENTS[name]}
    return tc.run(experiment, progress=False)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_run_means_the_same_without_words(name, request):
    before = _run(name)
    request.getfixturevalue("tokens")
    after = _run(name)
    assert after.limited == before.limited
    assert all(causes.text(it).startswith(TOKEN) for it in after.limited if it)
    assert _without_words(json.loads(after.to_json())) == _without_words(
        json.loads(before.to_json())
    )


@pytest.mark.slow
def test_rooms_that_print_nothing_do_without_words():
    """Tests that look at words are left out."""
    rooms = [str(ROOT / "tests" / "python" / room) for room in ("analysis", "metrics", "results")]
    command = [sys.executable, "-m", "pytest", "-q", "--tokens", "-m", "not slow", *rooms]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_a_fit_finds_the_same_without_words(request):
    time = np.arange(1.0, 21)
    rates, rtts, windows = np.full(20, 11.6e6), np.full(20, 0.09), np.full(20, 131072.0)
    stream = Stream("1", time, rates, rtts, np.full(20, 400.0), np.zeros(20), windows)
    before = fit.direct(Measurement("made", [stream]), "cubic")
    request.getfixturevalue("tokens")
    after = fit.direct(Measurement("made", [stream]), "cubic")
    assert (after.estimates, after.limit, after.table) == (
        before.estimates,
        before.limit,
        before.table,
    )
    assert fits.reason(after.estimates["rate"].reason) == TOKEN


def test_an_experiment_is_refused_for_the_same_values_without_words(request):
    """Problems say the same of other files, keys and values, whatever was expected."""
    tables = [
        {"path": {"rate": "100"}},
        {"warmup": "9s", "duration": "2s"},
        {"flows": [{"tunnel": "nothing"}]},
        {"tunnel": {"name": "wireguard", "between": ["client", "nobody"]}},
    ]

    def found():
        problems = []
        for table in tables:
            with pytest.raises(tc.ConfigError) as error:
                tc.scenario.Experiment.parse(table)
            problems.append([(it.key, it.value) for it in error.value.problems])
        return problems

    before = found()
    request.getfixturevalue("tokens")
    assert found() == before


@pytest.mark.parametrize(
    ("code", "is_wrong"),
    [
        ("'the start' in it.long_name", True),
        ("it.expected.replace('a', 'b')", True),
        ("it.definition == 'x'", True),
        ("problem.hint.partition(' ')[0]", True),
        ("causes.text(it).removeprefix('the ')", True),
        ("causes.text(it) == causes.text(other)", True),
        ("it.long_name", False),
        ("it.hint == ''", False),
        ("it.name.startswith('x')", False),
    ],
)
def test_code_that_reads_words_is_found(code, is_wrong):
    source = f"from tunnelcc.words import causes\nfound = {code}\n"
    assert bool([*check_words.reads(ast.parse(source))]) == is_wrong


def test_code_that_reads_an_error_is_found():
    source = "try: f()\nexcept E as error:\n    if 'x' in str(error): g()\n"
    assert [*check_words.reads(ast.parse(source))] == [3]


def test_no_code_reads_words():
    assert check_words.main() == 0


def test_each_thing_has_a_name():
    calls = (it for it in ast.walk(ast.parse(Path(analysis.__file__).read_text("utf-8"))))
    named = {
        call.args[0].value
        for call in calls
        if isinstance(call, ast.Call)
        and getattr(call.func, "attr", "") == "by"
        and isinstance(call.args[0], ast.Constant)
    }
    assert len(named) > 10
    assert named <= {*causes.THINGS}


def test_equal_sentences_are_one():
    flows = [{"cc": "cubic", "rate": "1Mbps", "count": 8}, {"rate": "2Mbps"}]
    result = tc.run({"path": PATH, "flows": flows, "duration": "2s"}, progress=False)
    cause = causes.most(result.limited[:8])[0]
    text = causes.sentence(lists.flows(range(8)), 8, [0.91, 0.9, 0.92], cause)
    assert text == (
        "Flows 0 to 7 were limited for 90 to 92 % of the time by the application, 1Mbps "
        "(flows.0.rate changes it)."
    )


def test_numbers_in_a_row_are_folded():
    assert lists.numbers([3]) == "3"
    assert lists.numbers([0, 1]) == "0 and 1"
    assert lists.numbers([0, 1, 2, 5, 6, 8]) == "0 to 2, 5, 6 and 8"


def test_a_problem_names_each_file_once():
    inner, outer = Path("tunnel.toml"), Path("paper.toml")
    problem = Problem("rate", "1", "a rate", "did you mean '1bps'?").located_in(inner)
    assert problem.located_in(inner) == problem
    assert str(problem.located_in(outer)) == (
        "rate = '1': expected a rate (did you mean '1bps'?; in tunnel.toml; in paper.toml)"
    )


def test_results_tell_which_counts_have_the_warmup():
    found = _run("FEC").to_dict()["since_start"]
    own = {"efficiency", "parity_share", "recovery_delay", "path_wire_bytes", "fec_parity_bytes"}
    assert own <= {*found}
    assert "goodput" not in found
