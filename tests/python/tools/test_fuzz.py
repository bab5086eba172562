# SPDX-License-Identifier: GPL-2.0-only
"""The fuzzers run, and tell of what they find."""

from __future__ import annotations

import subprocess
import sys

import pytest

from helpers import ROOT


def _fuzz(*arguments: str, before: str = "pass") -> subprocess.CompletedProcess[str]:
    code = f"import sys; from tests.fuzz import __main__ as fuzz; {before}; sys.exit(fuzz.main())"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["experiments", "folders", "inputs", "measurements", "specs", "steps", "store", "kills"],
)
def test_a_case_is_tried(name):
    done = _fuzz("--only", name, "--case", "3")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{name}: 1 cases, 0 finds (")


def test_random_experiments_end_well():
    done = _fuzz("--only", "experiments", "--cases", "20")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("experiments: 20 cases, 0 finds (")


def test_changed_inputs_of_the_models_are_refused_or_run_to_their_end():
    done = _fuzz("--only", "specs", "--cases", "200")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("specs: 200 cases, 0 finds (")


def test_steps_to_what_is_there_change_nothing():
    done = _fuzz("--only", "steps", "--cases", "100")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("steps: 100 cases, 0 finds (")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["folders", "measurements", "steps"])
def test_nothing_is_found_for_ten_minutes(name):
    done = _fuzz("--only", name, "--seconds", "600", "--seed", "4")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_all_fuzzers_find_nothing_for_a_while():
    done = _fuzz("--seconds", "45", "--seed", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(" 0 finds (") == 8


@pytest.mark.slow
def test_what_is_wrong_is_found_and_can_be_repeated():
    careless = "from tunnelcc.store import runfile; runfile._digest = lambda data: 'same'"
    done = _fuzz("--only", "store", "--seconds", "30", before=careless)
    assert done.returncode == 1
    assert "repeat: python -m tests.fuzz --seed 1 --only store --case " in done.stdout


# Each case is run once more: that ten cases have one of those by chance, no seed promises.
_RESULT = (
    "import os; from tests.fuzz import experiments; experiments._AGAIN = 1.0; "
    "from tunnelcc import Result; made = Result.__init__; Result.__init__ = "
)


@pytest.mark.parametrize(
    ("careless", "told"),
    [
        (
            "lambda self, *of: (made(self, *of), self.measured['link_queue_drops'].fill(10**9))[0]",
            "lost 1000000000 of",
        ),
        ("lambda *_: os.abort()", "the process ended with -6"),
        (
            "lambda self, *of: (made(self, *of),"
            " self.measured['rtos'].fill(os.getpid() + 10**6))[0]",
            "a process of its own has other results",
        ),
    ],
)
def test_a_wrong_experiment_is_found(careless, told):
    done = _fuzz("--only", "experiments", "--cases", "10", before=_RESULT + careless)
    assert done.returncode == 1
    assert told in done.stderr
    assert "repeat: python -m tests.fuzz --seed 1 --only experiments --case " in done.stdout
