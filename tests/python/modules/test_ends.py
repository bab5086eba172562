# SPDX-License-Identifier: GPL-2.0-only
"""Code that ends its process: the run ends with a sentence that names the file."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time

import pytest

import tunnelcc as tc

PYTHON = """\
import ctypes, os, signal, sys, time
import tunnelcc as tc

calls = 0


class Mine(tc.CongestionControl):
    def on_ack(self, state, ack):
        global calls
        calls += 1
        if calls == 100:
            HERE
        state.cwnd += ack.acked / state.cwnd
"""
CXX = """\
#include "tunnelcc.h"
#include <csignal>
#include <cstdlib>
#include <exception>
#include <unistd.h>

struct Mine : tc::CongestionControl
{
    void OnAck(tc::State& state, const tc::Ack& ack) override
    {
        if (++calls == 100)
        {
            HERE;
        }
        state.cwnd += ack.acked / state.cwnd;
    }

    int Deep(volatile int* from)
    {
        volatile int more[1000] = {*from};
        return Deep(more) + more[1];
    }

    int calls = 0;
};
TUNNELCC_CONGESTION_CONTROL(Mine);
"""
ENDS = [
    (PYTHON, "os._exit(0)", "mine.py:Mine: the process it ran in was ended by it, with status 0"),
    (PYTHON, "os._exit(7)", "mine.py:Mine: .* with status 7"),
    (PYTHON, "os.abort()", "mine.py:Mine: the process it ran in was killed by SIGABRT"),
    (PYTHON, "os.kill(os.getpid(), signal.SIGKILL)", "mine.py:Mine: .* killed by SIGKILL"),
    (PYTHON, "ctypes.string_at(0)", "mine.py:Mine: .* killed by SIGSEGV"),
    (PYTHON, "raise BaseException('mine')", r"raised BaseException: mine, at mine.py:12"),
    (PYTHON, "raise KeyboardInterrupt", r"on_ack\(\) raised KeyboardInterrupt, at mine.py:12"),
    (PYTHON, "raise GeneratorExit", r"on_ack\(\) raised GeneratorExit, at mine.py:12"),
    (CXX, "exit(0)", r"mine.cc: it ended the process \(exit\)"),
    (CXX, "_exit(0)", "mine.cc: the process it ran in was ended by it, with status 0"),
    (CXX, "abort()", "mine.cc: the process it ran in was killed by SIGABRT"),
    (CXX, "std::terminate()", "mine.cc: the process it ran in was killed by SIGABRT"),
    (CXX, "*(volatile int*)8 = 1", "mine.cc: access outside of its memory, at mine.cc:13"),
    (CXX, "calls = Deep(&calls)", "mine.cc: access outside of its memory, at mine.cc:"),
    (CXX, "for (;;) { *(volatile int*)&calls = 1; }", "mine.cc: a call did not return within 1 s"),
]  # fmt: skip
PATH = {"rate": "20Mbps", "rtt": "20ms"}


def _file(folder, text, here):
    file = folder / ("mine.py" if "import tunnelcc" in text else "mine.cc")
    file.write_text(text.replace("HERE", here or "pass" * (file.suffix == ".py")))
    return file


def _experiment(cc, **keys):
    return tc.Experiment(path=PATH, flows=[{"cc": str(cc)}], duration="3s", **keys)


@pytest.mark.parametrize(("text", "here", "expected"), ENDS)
def test_the_end_of_a_run_is_a_sentence(tmp_path, text, here, expected):
    experiment = _experiment(_file(tmp_path, text, here))
    with pytest.raises(tc.RunError, match=expected) as caught:
        tc.run(experiment)
    assert "\n" not in str(caught.value)
    assert tc.run(_experiment("reno")).goodput > 15e6  # in the same process


def test_two_files_of_which_one_ends(tmp_path):
    (tmp_path / "good").mkdir()
    good = _file(tmp_path / "good", CXX, "")
    bad = _file(tmp_path, PYTHON, "os._exit(0)")
    flows = [{"cc": str(good)}, {"cc": str(bad)}]
    with pytest.raises(
        tc.RunError,
        match=r"mine\.py:Mine or mine\.cc: .* status 0|mine\.cc or mine\.py:Mine: .* status 0",
    ):
        tc.run(tc.Experiment(path=PATH, flows=flows, duration="3s"))


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        (PYTHON, "calls = 0", "os._exit(0)", "mine.py: the process .* with status 0"),
        (PYTHON, "calls = 0", "raise BaseException", "it raised BaseException, at mine.py:4"),
        (CXX, "int calls = 0;", "Mine() { exit(0); }\nint calls = 0;", "ended the process"),
        (CXX, "struct Mine", "int at_load = (abort(), 1);\nstruct Mine", "killed by SIGABRT"),
    ],
)
def test_a_file_that_ends_the_process_when_it_is_loaded(tmp_path, text, old, new, expected):
    file = _file(tmp_path, text.replace(old, new, 1), "")
    with pytest.raises(tc.ConfigError, match=expected):
        _experiment(file)


def test_other_runs_go_on(tmp_path):
    good = _experiment(_file(tmp_path, CXX, ""))
    experiments, expected = [], []
    for number, (text, here, told) in enumerate(ENDS):
        folder = tmp_path / str(number)
        folder.mkdir()
        experiments += [_experiment(_file(folder, text, here)), good]
        expected.append(told)
    results = tc.run_many(experiments, jobs=2)
    for failed, told in zip(results[::2], expected, strict=True):
        assert isinstance(failed, tc.RunError)
        with pytest.raises(tc.RunError, match=told):
            raise failed
    assert all(it.goodput > 10e6 for it in results[1::2])


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_a_command_tells_it_in_a_line(tmp_path, run, command):
    file = _file(tmp_path, PYTHON, "os._exit(0)")
    more = ["--axis", "path.loss=0", "--seeds", "1", "--store", tmp_path / "s"]
    options = ["--set", f"flows.cc={file}", "--set", "duration=3s"]
    code, _, err = run(command, *options, *(more if command == "sweep" else ()))
    assert code == 1
    assert "mine.py" in err
    assert "status 0" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("here", ["while True: pass", "time.sleep(60)"])
def test_an_interrupt_ends_a_loop_with_the_files_name(tmp_path, here):
    file = _file(tmp_path, PYTHON, f"print('here', flush=True)\n            {here}")
    process = subprocess.Popen(
        [sys.executable, "-m", "tunnelcc", "run", "--cc", str(file), "--duration", "3s"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "here\n"
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert time.monotonic() - started < 5
    assert process.returncode == 1
    assert err == "tunnelcc: mine.py:Mine: interrupted in a call that does not return\n"


def test_an_interrupt_ends_a_run_that_goes_on(tmp_path):
    file = _file(tmp_path, PYTHON, "print('here', flush=True)")
    process = subprocess.Popen(
        [sys.executable, "-m", "tunnelcc", "run", "--cc", str(file), "--duration", "10000s"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "here\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err.strip()) == (130, "tunnelcc: interrupted")


def test_what_is_printed_comes_once_and_in_order(tmp_path):
    (tmp_path / "script.py").write_text(
        textwrap.dedent("""
        import tunnelcc as tc

        log = open("log", "w")
        log.write("script ")
        print("script", end=" ")

        class Mine(tc.CongestionControl):
            def on_start(self, state):
                print("class", end=" ")
                log.write("class ")

            def on_ack(self, state, ack):
                state.cwnd += ack.acked / state.cwnd

        tc.run(tc.Experiment(flows=[tc.Flow(cc=Mine)], duration="1s"))
        print("end")
        log.write("end")
        """)
    )
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "script class class end\n"  # both ends of the connection have one
    assert (tmp_path / "log").read_text() == "script class class end"


def test_progress_and_captures_come_from_the_child(tmp_path):
    file = _file(tmp_path, CXX, "")
    told = []
    captures = [tc.Capture(tmp_path / f"{it}.pcapng") for it in "ab"]
    alone = tc.run(_experiment(file), capture=captures[0], progress=told.append)
    assert told == sorted(told)
    assert captures[0].packets > 1000
    assert (tmp_path / "a.pcapng").stat().st_size == captures[0].bytes
    assert tc.run(_experiment(file)).digests() == alone.digests()

    def stop(seconds):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        tc.run(
            _experiment(file).with_({"duration": "30000s", "probe_interval": "10s"}), progress=stop
        )
    with pytest.raises(tc.ConfigError, match="a file that can be written"):
        tc.run(_experiment(file), capture=tmp_path / "no" / "such.pcapng")
