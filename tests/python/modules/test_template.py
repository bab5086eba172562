# SPDX-License-Identifier: GPL-2.0-only
"""Runs of compiled files in copies of a template: nothing of a run is in the next one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import tunnelcc as tc
from tunnelcc.modules import child

CXX = """\
#include "tunnelcc.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <unistd.h>

static int all = 0;

struct Mine : tc::CongestionControl
{
    void OnAck(tc::State& state, const tc::Ack& ack) override
    {
        if (++all == 100)
        {
            HERE;
        }
        state.cwnd += (all > 20000 ? 0.1 : 1.0) * ack.acked / state.cwnd;
    }
};
TUNNELCC_CONGESTION_CONTROL(Mine);
"""
ENDS = {
    "exit(0)": r"mine.cc: it ended the process \(exit\)",
    "_exit(0)": "mine.cc: the process it ran in was ended by it, with status 0",
    "abort()": "mine.cc: the process it ran in was killed by SIGABRT",
    "kill(getpid(), SIGKILL)": "mine.cc: .* killed by SIGKILL",
    "std::terminate()": "mine.cc: the process it ran in was killed by SIGABRT",
    "*(volatile int*)8 = 1": "mine.cc: access outside of its memory, at mine.cc:16",
    "for (;;) { *(volatile int*)&all = 1; }": "mine.cc: a call did not return within 1 s",
    "kill(getppid(), SIGKILL); abort()": "mine.cc: the process that started its run was ended",
}
NOTES = """
if (std::FILE* f = std::fopen("pids", "a"))
{
    std::fprintf(f, "%d %d %s\\n", getpid(), getppid(), std::getenv("TUNNELCC_TOLD"));
    std::fclose(f);
}
std::puts("printed");
std::fflush(stdout);
"""
KEYS = {"path": {"rate": "20Mbps", "rtt": "20ms"}, "duration": "2s"}


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(child, "_COPIES", 0)
    monkeypatch.setattr(child, "_template", None)
    yield
    if child._template is not None:
        child._template.close()


def _experiment(folder, here="", **keys):
    file = folder / "mine.cc"
    file.write_text(CXX.replace("HERE", here))
    return tc.Experiment(**KEYS | keys, flows=[{"cc": str(file)}])


def _copied(folder, monkeypatch, experiment):
    """Return the result of a run that a copy of this process does."""
    with monkeypatch.context() as patch:
        patch.setattr(child, "_COPIES", 10**9)
        patch.setattr(child, "_template", None)
        return tc.run(experiment)


def _pids(folder):
    lines = (folder / "pids").read_text().splitlines()
    return list(dict.fromkeys(tuple(line.split()) for line in lines))


def test_each_run_is_a_new_process_of_one_template(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUNNELCC_TOLD", "one")
    experiment = _experiment(tmp_path, NOTES)
    expected = _copied(tmp_path, monkeypatch, experiment)
    os.unlink("pids")
    capfd.readouterr()
    results = [tc.run(experiment) for _ in range(3)]
    assert capfd.readouterr().out == "printed\n" * 3
    for result in results:
        assert result.digests() == expected.digests()
        assert result.goodput == expected.goodput
    pids = _pids(tmp_path)
    assert len({run for run, _, _ in pids}) == 3  # no process has two runs
    assert {template for _, template, _ in pids} == {str(child._template._process.pid)}


def test_a_template_has_what_this_process_has(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUNNELCC_TOLD", "one")
    experiment = _experiment(tmp_path, NOTES)
    tc.run(experiment)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    tc.run(experiment)
    monkeypatch.setenv("TUNNELCC_TOLD", "two")
    tc.run(experiment)
    tc.run(experiment)
    assert [told for _, _, told in _pids(tmp_path)] == ["one"]
    assert [told for _, _, told in _pids(tmp_path / "other")] == ["one", "two", "two"]


def test_a_changed_file_is_what_runs(tmp_path):
    before = tc.run(_experiment(tmp_path))
    template = child._template
    changed = tc.run(_experiment(tmp_path, "state.cwnd = 2"))
    assert child._template is template is not None
    assert changed.digests() != before.digests()
    assert tc.run(_experiment(tmp_path)).digests() == before.digests()


@pytest.mark.parametrize(("here", "expected"), ENDS.items())
def test_after_a_crash_runs_are_right(tmp_path, monkeypatch, here, expected):
    good = _experiment(tmp_path)
    wanted = tc.run(good).digests()
    template = child._template
    bad = _experiment(tmp_path, here)
    with pytest.raises(tc.RunError, match=expected) as caught:
        tc.run(bad)
    assert "\n" not in str(caught.value)
    assert child._template is None
    assert template._process.returncode is not None
    assert tc.run(good).digests() == wanted
    assert child._template is not None


def test_an_exception_ends_a_run(tmp_path, monkeypatch):
    good = _experiment(tmp_path)
    wanted = tc.run(good).digests()

    def stop(*_):
        raise KeyboardInterrupt

    endless = {"duration": "30000s", "probe_interval": "10s"}
    with pytest.raises(KeyboardInterrupt):
        tc.run(_experiment(tmp_path, **endless), progress=stop)
    tc.run(good)
    before = signal.signal(signal.SIGALRM, stop)
    try:
        experiment = _experiment(tmp_path, "for (;;) sleep(60)", **endless)
        signal.alarm(2)
        with pytest.raises(tc.RunError, match=r"mine\.cc: interrupted in a call that does not"):
            tc.run(experiment)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert tc.run(good).digests() == wanted


def test_a_killed_template_is_replaced(tmp_path):
    experiment = _experiment(tmp_path)
    wanted = tc.run(experiment).digests()
    killed = child._template._process
    killed.kill()
    killed.wait()
    assert tc.run(experiment).digests() == wanted
    assert tc.run(experiment).digests() == wanted
    assert child._template._process.pid != killed.pid


def test_other_threads_and_forked_processes_run_too(tmp_path):
    experiment = _experiment(tmp_path)
    wanted = tc.run(experiment).digests()
    found = []
    thread = threading.Thread(target=lambda: found.append(tc.run(experiment).digests()))
    thread.start()
    thread.join()
    assert found == [wanted]
    template = child._template
    forked = os.fork()
    if forked == 0:
        os._exit(0 if tc.run(experiment).digests() == wanted else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]) == 0
    assert tc.run(experiment).digests() == wanted
    assert child._template is template


def _is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("here", [NOTES, NOTES + "for (;;) sleep(60);"])
def test_all_end_with_a_killed_parent(tmp_path, here):
    _experiment(tmp_path, here)
    script = (
        "import sys, tunnelcc as tc\n"
        "from tunnelcc.modules import child\n"
        "child._COPIES = 0\n"
        f"tc.run(tc.Experiment(path={KEYS['path']!r}, flows=[{{'cc': 'mine.cc'}}], "
        "duration='30000s', probe_interval='10s'))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "printed\n"
    ((run, template, _),) = _pids(tmp_path)
    assert template != str(process.pid)
    assert _is_alive(run)
    process.send_signal(signal.SIGKILL)
    process.wait()
    until = time.monotonic() + 10
    while _is_alive(run) or _is_alive(template):
        assert time.monotonic() < until
        time.sleep(0.05)
