# SPDX-License-Identifier: GPL-2.0-only
"""Congestion controls of the user's own in Python and C++: what works, and what ends a run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tunnelcc as tc
from tunnelcc.modules import compiled, python
from tunnelcc.store.identity import run_id

PYTHON = """\
import time
import tunnelcc as tc

calls = 0

class Mine(tc.CongestionControl):
    step = 1.0
    kept = 0.5
    careful = False

    def on_ack(self, state, ack):
        global calls
        calls += 1
        if calls == 100:
            HERE
        left = state.slow_start(ack.acked) if state.in_slow_start else ack.acked
        state.cwnd += self.step * left / state.cwnd

    def on_loss(self, state):
        state.cwnd *= self.kept
"""
CXX = """\
#include "tunnelcc.h"
#include <exception>

struct Error : std::exception
{
    const char* what() const noexcept override { return "of mine"; }
};

class Mine : public tc::CongestionControl
{
  public:
    double step = 1;

    void Describe(tc::Parameters& parameters) override
    {
        parameters.Add("step", step, "segments more each round trip", 0.1, 100);
    }

    void OnAck(tc::State& state, const tc::Ack& ack) override
    {
        if (++calls == 100) {
            HERE;
        }
        double left = state.InSlowStart() ? state.SlowStart(ack.acked) : ack.acked;
        state.cwnd += step * left / state.cwnd;
    }

    int calls = 0;
    int zero = 0;
};

TUNNELCC_CONGESTION_CONTROL(Mine);
"""
LINES = {
    text: next(number for number, line in enumerate(text.splitlines(), 1) if "HERE" in line)
    for text in (PYTHON, CXX)
}
PATH = {"rate": "20Mbps", "rtt": "20ms"}


@pytest.fixture
def make(tmp_path):
    """Return a function that writes a file and returns its name."""

    def write(text=PYTHON, here=None, name=None):
        is_python = "import tunnelcc" in text
        file = tmp_path / (name or ("mine.py" if is_python else "mine.cc"))
        file.write_text(text.replace("HERE", here or ("pass" if is_python else "")))
        return str(file)

    return write


def _experiment(cc, **keys):
    return tc.Experiment(path=PATH, flows=[{"cc": cc}], duration="3s", warmup="1s", **keys)


@pytest.mark.parametrize(
    ("here", "expected"),
    [
        ("1 / 0", "on_ack() raised ZeroDivisionError: division by zero, at mine.py:LINE"),
        ("state.cwmd = 3", "on_ack() raised AttributeError"),
        ("state.cwnd = 'three'; return", "on_ack() raised TypeError: what is set is no number"),
        ("state.cwnd = float('nan'); return", "on_ack() set a congestion window of nan"),
        ("state.cwnd = -3; return", "on_ack() set a congestion window of -3"),
        ("state.cwnd = 1e12; return", "on_ack() set a congestion window of 1e+12"),
        ("state.pacing_rate = -1", "on_ack() set a pacing rate of -1"),
        ("state.ssthresh = float('nan'); return", "on_ack() set a slow start threshold of nan"),
        ("raise SystemExit(0)", "on_ack() raised SystemExit: 0, at mine.py:LINE"),
        ("while True: pass", "on_ack() did not return within 0.3 s: it loops or sleeps"),
        ("time.sleep(60)", "on_ack() did not return within 0.3 s: it loops or sleeps"),
    ],
)  # fmt: skip
def test_a_class_that_fails_ends_its_run_and_no_more(make, monkeypatch, here, expected):
    monkeypatch.setattr(python, "_LONGEST_CALL", 0.3)
    expected = expected.replace("LINE", str(LINES[PYTHON]))
    with pytest.raises(tc.RunError, match=re.escape(f"mine.py:Mine: {expected}")):
        tc.run(_experiment(make(here=here)))
    assert tc.run(_experiment("reno")).goodput > 15e6  # in the same process


@pytest.mark.parametrize(
    ("here", "expected"),
    [
        ("calls /= zero", "division by zero, at mine.cc:LINE in Mine::OnAck()"),
        ("*(volatile int*)8 = 1", "access outside of its memory, at mine.cc:LINE"),
        ("throw Error()", "it threw an exception: of mine"),
        ("state.cwnd = NAN; return", "OnAck() set a congestion window of nan"),
    ],
)  # fmt: skip
def test_a_class_in_cxx_that_fails_ends_its_run_and_no_more(make, here, expected):
    expected = expected.replace("LINE", str(LINES[CXX]))
    with pytest.raises(tc.RunError, match=re.escape(f"mine.cc: {expected}")):
        tc.run(_experiment(make(CXX, here)))
    assert tc.run(_experiment("reno")).goodput > 15e6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x =", r"raised SyntaxError: invalid syntax, at mine\.py:1"),
        ("import no_such_module", r"raised ModuleNotFoundError: .*, at mine\.py:1"),
        ("raise SystemExit(3)", "raised SystemExit: 3"),
        ("import tunnelcc as tc\ntc.run(tc.Experiment())", "simulates while it is loaded"),
        ("x = 1", "it has none"),
        (PYTHON + "\nclass Other(Mine): pass", "it has Mine, Other: add a colon and a name"),
        (PYTHON.replace("def on_ack", "def onack"), r"it has no on_ack\(\)"),
        (PYTHON.replace("careful = False", "interval = 'day'"), "interval is 'day'"),
        (PYTHON.replace("careful = False", "interval = -1"), "interval is -1"),
        (PYTHON.replace("careful = False", "interval = 1"), r"no on_interval\(\)"),
        (PYTHON + "\n    def __init__(self, x): pass", r"__init__\(\) raised TypeError"),
        (PYTHON + "\n    most = 10**400", "ValueError: most does not fit into 64 bits"),
    ],
)  # fmt: skip
def test_a_file_without_a_class_is_told_so(make, text, expected):
    with pytest.raises(tc.ConfigError, match=expected):
        _experiment(make(text, name="mine.py"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CXX.replace("HERE", "wndow = 3"), rf"mine\.cc:{LINES[CXX]}: 'wndow' was not declared"),
        (CXX.replace("HERE", "void f(); f()"), rf"mine\.cc:{LINES[CXX]}: undefined reference"),
        (CXX.replace("tc::State& state, const", "const"), "mine.cc:[0-9]+: .*OnAck.* 'override'"),
        (CXX.replace("TUNNELCC", "//"), r"ends with TUNNELCC_CONGESTION_CONTROL\(Class\)"),
        (CXX.replace("HERE", "").replace("(Mine)", "(Yours)"), r"mine\.cc:[0-9]+: 'Yours'"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_compile_is_told_its_first_error(make, text, expected):
    with pytest.raises(tc.ConfigError, match=expected):
        _experiment(make(text, name="mine.cc"))


def test_names_that_are_no_file(make):
    make()
    with pytest.raises(tc.ConfigError, match=r"No such file or directory, did you mean 'mine\.py'"):
        _experiment(make().replace("mine", "mines"))
    with pytest.raises(tc.ConfigError, match="did you mean 'Mine'"):
        _experiment(make() + ":Min")
    with pytest.raises(tc.ConfigError, match="did you mean 'cubic'"):
        _experiment("cubi")
    with pytest.raises(TypeError, match="the base of classes of your own"):
        tc.CongestionControl(name="cubic")


def _imported(make, **changes):
    module = type(sys)("imported_mine")
    module.__file__ = make(**changes)
    sys.modules["imported_mine"] = module
    text = Path(module.__file__).read_text()
    exec(compile(text, module.__file__, "exec"), vars(module))
    return module.Mine


def test_the_class_and_its_file_are_the_same(make):
    cls = _imported(make)
    name = make()
    assert _experiment(cls) == _experiment(name) == _experiment(f"{name}:Mine")
    assert _experiment(cls(step=2)) == _experiment({"name": name, "step": 2})
    assert _experiment({"name": cls, "kept": 0.7}) == _experiment(cls(kept=0.7))
    assert tc.run(_experiment(cls)).digests() == tc.run(_experiment(name)).digests()
    cls.kept = 0.9
    assert _experiment(cls) == _experiment({"name": name, "kept": 0.9})
    with pytest.raises(tc.ConfigError, match=r"flows\.0\.cc\.stp = 2.*did you mean 'step'"):
        _experiment(cls(stp=2))
    with pytest.raises(tc.ConfigError, match=r"flows\.0\.cc\.careful = 2.*true or false"):
        _experiment(cls(careful=2))
    make(here="state.cwnd = 2")
    with pytest.raises(tc.ConfigError, match="has changed since it was imported"):
        _experiment(cls)


def test_each_run_begins_with_fresh_variables(make):
    # After 100 calls of all runs, the file's class stops growing.
    name = make(here="self.step = 0")
    first = tc.run(_experiment(name)).digests()
    assert tc.run(_experiment(name)).digests() == first
    draws = make(here="self.step = self.random.random()")
    assert tc.run(_experiment(draws)).digests() == tc.run(_experiment(draws)).digests()
    assert tc.run(_experiment(draws, seed=2)).digests() != tc.run(_experiment(draws)).digests()


def test_an_interval_is_called_once_each(tmp_path):
    file = tmp_path / "steady.py"
    file.write_text(
        textwrap.dedent("""
        import pathlib
        import tunnelcc as tc

        class Steady(tc.CongestionControl):
            interval = 0.1
            owns_window = True

            def on_interval(self, state, interval):
                state.cwnd = 20
                state.pacing_rate = 5e6
                with pathlib.Path(__file__).with_suffix(".log").open("a") as log:
                    print(interval.duration, interval.rate, interval.mean_rtt, file=log)
        """)
    )

    def intervals(length):
        tc.run(_experiment({"name": str(file), "interval": length}))
        log = file.with_suffix(".log")
        rows = [tuple(map(float, line.split())) for line in log.read_text().splitlines()]
        log.unlink()
        return rows

    rows = intervals("100ms")
    assert len(rows) == pytest.approx(29, abs=2)
    assert all(duration == pytest.approx(0.1, abs=0.01) for duration, _, _ in rows)
    assert rows[-1][1] == pytest.approx(5e6, rel=0.1)
    assert rows[-1][2] == pytest.approx(0.02, rel=0.1)
    assert len(intervals("20ms")) == pytest.approx(130, abs=20)


def test_a_sweep_over_parameters_in_worker_processes(make, tmp_path):
    broken = make(here="1 / 0", name="broken.py")
    results = tc.sweep(
        {"path": {**PATH, "loss": "1%"}, "duration": "2s"},
        {"cc": [{"name": make(), "step": step} for step in (1, 8)] + [broken]},
        seeds=1, store=tmp_path / "runs",
    )  # fmt: skip
    goodput = results["goodput"].values.ravel()
    assert goodput[1] > 1.3 * goodput[0]
    assert not goodput[2] > 0
    axis = {"flows.cc.step": {"from": 1, "to": 8, "steps": 2}}
    base = {"path": PATH, "duration": "1s", "flows": [{"cc": make()}]}
    assert tc.sweep(base, axis, seeds=1, store=tmp_path / "other")["goodput"].shape == (2, 1)


def test_a_class_that_workers_cannot_import(tmp_path):
    namespace = {"__name__": "typed_in", "tc": tc}
    exec(PYTHON.replace("HERE", "pass"), namespace)
    experiment = _experiment(namespace["Mine"])
    assert tc.run(experiment).goodput > 15e6
    (result,) = tc.run_many([experiment], jobs=1)
    assert isinstance(result, tc.RunError)
    assert "typed in" in str(result)

    class Local(tc.CongestionControl):
        pass

    with pytest.raises(tc.ConfigError, match="a class at the top of a file"):
        _experiment(Local)


@pytest.mark.slow
def test_a_script_whose_class_workers_import(tmp_path):
    script = PYTHON.replace("HERE", "pass") + textwrap.dedent("""
    experiment = tc.Experiment(duration="1s", flows=[tc.Flow(cc=Mine(step=2))])
    """)
    run = "results = tc.run_many([experiment])\nprint(results[0])\n"
    guarded = f'if __name__ == "__main__":\n{textwrap.indent(run, "    ")}'
    for text, expected in ((guarded, "Result"), (run, "simulates while it is loaded")):
        (tmp_path / "script.py").write_text(script + text)
        done = subprocess.run(
            [sys.executable, "script.py"], cwd=tmp_path, text=True, capture_output=True, timeout=60
        )
        assert expected in done.stdout, done.stderr


def test_the_identity_is_that_of_the_source(make, tmp_path):
    first = run_id(_experiment(make()))
    assert run_id(_experiment(make())) == first
    assert run_id(_experiment(make(here="state.cwnd = 5"))) != first
    helped = PYTHON.replace("import time", "import helper")
    (tmp_path / "helper.py").write_text("x = 1")
    first = run_id(_experiment(make(helped, name="mine.py")))
    (tmp_path / "helper.py").write_text("x = 2")
    assert run_id(_experiment(make(helped, name="mine.py"))) != first


def test_a_stored_run_needs_no_file(make, check_stored_run_needs_no_file):
    check_stored_run_needs_no_file(make())


def test_without_a_compiler(make, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(tc.TunnelccError, match=r"no compiler \(no-such-compiler\): install one"):
        _experiment(make(CXX))


@pytest.mark.parametrize("text", [PYTHON, CXX])
def test_a_scenario_needs_trust(make, tmp_path, text):
    name = make(text)
    marker = tmp_path / "ran"
    if text == PYTHON:
        make(f"open({str(marker)!r}, 'w')\n{PYTHON}", name="mine.py")
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(f'duration = "1s"\nflows = [{{ cc = "{os.path.basename(name)}" }}]\n')
    with pytest.raises(tc.ConfigError, match="trust=True"):
        tc.run(scenario)
    assert not marker.exists()
    assert not list(compiled.folder().glob("*.so"))
    assert tc.run(tc.load(scenario, trust=True)).goodput > 1e6
    assert tc.run(scenario).goodput > 1e6  # the same content was trusted


@pytest.mark.parametrize("options", [pytest.param([], marks=pytest.mark.slow), ["--python"]])
def test_new_files_run_as_they_are(tmp_path, monkeypatch, run, options):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run("new", "cc", "my_cc", *options)
    assert code == 0
    subprocess.run([sys.executable, "test_my_cc.py"], check=True)
    assert "python test_my_cc.py" in out
    code, out, _ = run("run", "my_cc.toml", "--trust", "--duration", "2s")
    assert code == 0
    assert "my_cc." in out
    code, _, err = run("new", "cc", "my_cc", *options)
    assert code == 2
    assert "is there" in err


@pytest.mark.parametrize(
    "command",
    [
        ("run", "--cc", "./logs.py"),
        (
            *("sweep", "--set", "flows.cc=./logs.py"),
            *("--axis", "path.rtt=9ms,40ms", "--seeds", "1", "--jobs", "2"),
        ),
    ],
)
def test_what_a_class_writes_to_its_file_is_there_when_the_command_ends(tmp_path, command):
    """In the command's own process and in workers. The class leaves its file open."""
    (tmp_path / "logs.py").write_text(
        "import os\n"
        + PYTHON.replace("calls = 0\n", "log = open(f'{os.getpid()}.log', 'a')\ncalls = 0\n", 1)
        .replace("HERE", "pass")
        .replace("left =", "log.write('ack\\n')\n        left =")
    )
    keys = ("path.rate=2Mbps", "duration=1s")
    options = [it for key in keys for it in ("--set", key)]
    subprocess.run([sys.executable, "-m", "tunnelcc", *command, *options], check=True, cwd=tmp_path)
    texts = [file.read_text() for file in tmp_path.glob("*.log")]
    assert sum(text.count("ack\n") > 20 for text in texts) == (1 if command[0] == "run" else 2)
