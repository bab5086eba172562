# SPDX-License-Identifier: GPL-2.0-only
"""Congestion controls from C files as Linux has them: what works, and what ends a run.

The files here are our own. ``test_debian_modules`` runs Linux's.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import tunnelcc as tc
from tunnelcc import modules
from tunnelcc.modules import compiled
from tunnelcc.store.identity import run_id

#: Adds `step` segments a round trip, keeps `kept`/1024 of its window after a loss.
AIMD = """\
#include <linux/module.h>
#include <net/tcp.h>

static int step __read_mostly = 1;
static unsigned int kept __read_mostly = 512;
static bool limited __read_mostly = true;
static u32 calls;
module_param(step, int, 0644);
MODULE_PARM_DESC(step, "segments more each round trip");
module_param(kept, uint, 0644);
MODULE_PARM_DESC(kept, "part of 1024 that is left after a loss");
module_param(limited, bool, 0644);
MODULE_PARM_DESC(limited, "grow only if the window is used up");

struct aimd { u32 acks; u32 zero; };

static void aimd_init(struct sock *sk)
{
	struct aimd *ca = inet_csk_ca(sk);

	BUILD_BUG_ON(sizeof(struct aimd) > ICSK_CA_PRIV_SIZE);
	ca->acks = 0;
}

static void aimd_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct aimd *ca = inet_csk_ca(sk);

	ca->acks += acked;
	if (++calls == 300) {
		HERE;
	}
	if (limited && !tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, max(tp->snd_cwnd / step, 1U), acked);
}

static u32 aimd_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) * kept / 1024, 2U);
}

static struct tcp_congestion_ops aimd __read_mostly = {
	.init = aimd_init,
	.ssthresh = aimd_ssthresh,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.cong_avoid = aimd_cong_avoid,
	.owner = THIS_MODULE,
	.name = "aimd",
};

static int __init aimd_register(void)
{
	REGISTER;
	return tcp_register_congestion_control(&aimd);
}

static void __exit aimd_unregister(void)
{
	tcp_unregister_congestion_control(&aimd);
}

module_init(aimd_register);
module_exit(aimd_unregister);
MODULE_LICENSE("GPL");
"""
LINE = next(number for number, line in enumerate(AIMD.splitlines(), 1) if "HERE;" in line)
PATH = {"rate": "20Mbps", "rtt": "20ms"}


@pytest.fixture
def make(tmp_path):
    """Return a function that writes a module and returns its name."""

    def write(here="", register="", text=AIMD, name="tcp_aimd.c"):
        file = tmp_path / name
        file.write_text(text.replace("HERE", here).replace("REGISTER", register))
        return f"linux:{file}"

    return write


def _experiment(cc, **keys):
    return tc.Experiment(path=PATH, flows=[{"cc": cc}], duration="4s", warmup="1s", **keys)


def test_a_module_does_what_the_same_algorithm_does_here(make):
    ours = tc.run(_experiment("reno"))
    theirs = tc.run(_experiment(make()))
    # AIMD(1, 0.5) is Reno, to the bit. The name of the algorithm is part of the legs' digest.
    digests = [result.digests() for result in (ours, theirs)]
    assert digests[0].pop("legs") != digests[1].pop("legs")
    assert digests[0] == digests[1]
    windows = [result.dataset["cwnd"].values for result in (ours, theirs)]
    assert np.array_equal(*windows)


def test_parameters_are_the_modules(make, run):
    name = make()
    known = {it.name: it for it in modules.of(name).parameters}
    assert known["step"].default == 1
    assert known["step"].doc == "segments more each round trip"
    assert (known["kept"].default, known["kept"].minimum) == (512, 0)
    assert (known["limited"].default, known["limited"].kind) == (True, "switch")
    goodput = [
        tc.run(_experiment({"name": name, "step": step}).with_({"path.loss": "1%"})).goodput
        for step in (1, 8)
    ]
    assert goodput[1] > 1.5 * goodput[0]
    with pytest.raises(tc.ConfigError, match=r"flows\.0\.cc\.stp = 2.*did you mean 'step'"):
        _experiment({"name": name, "stp": 2})
    with pytest.raises(tc.ConfigError, match="true or false"):
        _experiment({"name": name, "limited": 3})
    _, out, _ = run("show", "cc", name)
    assert "segments more each round trip" in out


def test_runs_and_sets_of_parameters_share_no_variable(make):
    # After 300 calls of all connections with it, the module stops growing.
    name = make("step = 1000000")
    alone = tc.run(_experiment(name))
    assert tc.run(_experiment(name)).digests() == alone.digests()
    two = tc.Experiment(
        path=PATH, flows=[{"cc": name}, {"cc": {"name": name, "kept": 511}}], duration="4s"
    )
    assert tc.run(two).digests() == tc.run(two).digests()


@pytest.mark.parametrize(
    ("here", "expected"),
    [
        ("ca->acks /= ca->zero", f"division by zero, at tcp_aimd.c:{LINE} in aimd_cong_avoid()"),
        ("do_div(ca->acks, ca->zero)", f"division by zero, at tcp_aimd.c:{LINE}"),
        ("((u32 *)ca)[26] = 1", f"access outside of its memory, at tcp_aimd.c:{LINE}"),
        ("*(int *)8 = 1", f"access outside of its memory, at tcp_aimd.c:{LINE}"),
        ("((void (*)(void))0)()", f"access outside of its memory, at tcp_aimd.c:{LINE}"),
        ("BUG()", f"it stopped itself (BUG), at tcp_aimd.c:{LINE}"),
        ("tp->snd_cwnd = 0; return", "it set a congestion window of 0 segments"),
        ("for (;;) *(volatile u32 *)&ca->acks = 1", "a call did not return within 1 s: it loops"),
    ],
)  # fmt: skip
def test_a_failure_ends_its_run_and_no_more(make, here, expected):
    broken = _experiment(make(here))
    with pytest.raises(tc.RunError, match=re.escape(f"tcp_aimd.c: {expected}")):
        tc.run(broken)
    assert tc.run(_experiment("reno")).goodput > 15e6  # in the same process


_START = """\
static void aimd_start(struct sock *sk)
{
	u32 *two = kzalloc_objs(u32, 2, GFP_KERNEL);

	if (two[1] == tcp_ecn_mode_any(tcp_sk(sk)))
		BUG();
}
"""


def test_what_came_with_linux_7(make):
    text = AIMD.replace("static u32 aimd_ssthresh", f"{_START}\nstatic u32 aimd_ssthresh")
    text = text.replace(".cong_avoid =", ".cwnd_event_tx_start = aimd_start, .cong_avoid =")
    with pytest.raises(tc.RunError, match=r"it stopped itself \(BUG\), at .* in aimd_start\(\)"):
        tc.run(_experiment(make(text=text)))


def test_private_state_has_104_bytes(make):
    assert tc.run(_experiment(make("((u32 *)ca)[25] = 1"))).goodput > 15e6


def test_a_sweep_keeps_its_finished_runs(make, tmp_path):
    broken, good = make("ca->acks /= ca->zero"), make(name="tcp_good.c")
    results = tc.sweep(
        {"path": PATH, "duration": "2s"}, {"cc": [broken, "reno", good]}, seeds=1,
        store=tmp_path / "runs",
    )  # fmt: skip
    goodput = results["goodput"].values.ravel()
    assert [value > 1e6 for value in goodput] == [False, True, True]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"here": "tp->fastopen = 0"}, f"tcp_aimd.c:{LINE}: .*has no member named 'fastopen'"),
        ({"here": "tcp_fast(sk)"}, f"tcp_aimd.c:{LINE}: implicit declaration of .*'tcp_fast'"),
        ({"register": "tcp_register_congestion_control(&aimd)"}, "registers 2 congestion controls"),
        ({"register": "return 0"}, "registers 0 congestion controls"),
        ({"register": "return -EINVAL"}, r"its module_init\(\) returned -22"),
        ({"register": "calls = 100 / calls"}, "division by zero, at tcp_aimd.c"),
        ({"text": AIMD.replace("module_init(aimd_register);", "")}, r"has no module_init\(\)"),
        ({"text": AIMD.replace("u32 zero", "u32 zero[26]")}, "BUILD_BUG_ON: sizeof"),
        ({"text": AIMD.replace(".ssthresh = aimd_ssthresh,", "")}, "lack ssthresh"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_module_is_told_so(make, changes, expected):
    with pytest.raises(tc.ConfigError, match=expected):
        _experiment(make(**changes))


def test_names_that_are_no_file(tmp_path):
    (tmp_path / "tcp_near.c").write_text("")
    with pytest.raises(tc.ConfigError, match=r"flows\.0\.cc = 'linux:.*did you mean 'tcp_near\.c'"):
        _experiment(f"linux:{tmp_path}/tcp_near_.c")
    with pytest.raises(tc.ConfigError, match="the path of a file with a congestion control"):
        _experiment("linux:")


def test_the_identity_is_that_of_the_content(make, tmp_path):
    first = run_id(_experiment(make()))
    assert run_id(_experiment(make())) == first
    (tmp_path / "other").mkdir()
    assert run_id(_experiment(make(name="other/tcp_aimd.c"))) == first
    assert run_id(_experiment(make("calls = 0"))) != first
    assert run_id(_experiment("reno")) != first


def test_a_stored_run_needs_no_file(make, check_stored_run_needs_no_file):
    check_stored_run_needs_no_file(make())


def test_many_processes_compile_once(make, tmp_path):
    compiler = tmp_path / "cc"
    compiler.write_text('#!/bin/sh\necho compiled >> "$COUNT"\nexec gcc "$@"\n')
    compiler.chmod(0o755)
    code = "import sys; from tunnelcc import modules; modules.of(sys.argv[1])"
    environment = {**os.environ, "CC": str(compiler), "COUNT": str(tmp_path / "count")}
    started = [
        subprocess.Popen([sys.executable, "-c", code, make()], env=environment) for _ in range(4)
    ]
    assert [process.wait() for process in started] == [0] * 4
    assert (tmp_path / "count").read_text().split() == ["compiled"]


def test_without_a_compiler(make, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(tc.TunnelccError, match=r"no compiler \(no-such-compiler\): install one"):
        _experiment(make())


def test_the_folder_is_the_users_own(make):
    _experiment(make())
    folder = compiled.folder()
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    with pytest.raises(tc.TunnelccError, match="others may write to it"):
        _experiment(make("calls = 0"))


def test_a_scenario_needs_trust(make, tmp_path, run):
    make()
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(
        'duration = "1s"\nflows = [{ cc = "linux:tcp_aimd.c" }]\n[path]\nrate = "10Mbps"\n'
        '[sweep]\n"flows.cc" = ["linux:tcp_aimd.c"]\nseeds = 1\n'
    )
    code, _, err = run("sweep", scenario, "--store", tmp_path / "runs")
    assert code == 2
    assert "linux:" in err
    assert "--trust" in err
    assert not list(compiled.folder().glob("*.so"))
    text = scenario.read_text()
    scenario.write_text(text.partition("[sweep]")[0])
    with pytest.raises(tc.ConfigError, match="trust=True"):
        tc.run(scenario)
    assert tc.run(tc.load(scenario, trust=True)).goodput > 1e6
    assert tc.run(scenario).goodput > 1e6  # the same content was trusted


def test_a_flow_on_the_carrier_of_a_relay(make):
    relay = {"name": "gost-relay-wss", "cc": {"name": make(), "step": 2}}
    result = tc.run(_experiment("reno", tunnel=relay))
    assert {leg["leg_cc"] for leg in result.to_dict()["flows"][0]["legs"]} >= {"tcp_aimd.c", "reno"}
    assert result.goodput > 15e6
