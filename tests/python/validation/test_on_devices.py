# SPDX-License-Identifier: GPL-2.0-only
"""Linux's cells on devices of ns-3: applications on LinuxTcpSocket, held to the same tolerances."""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pytest

from helpers import ROOT
from validation import linux, suite
from validation.check import Kind, Verdict

PROGRAM = ROOT / "build/release/on-devices"
#: Runs of a condition; their start times differ, and what is lost at random.
RUNS = 2
#: ns-3's point-to-point devices count frames, a path's rate counts packets.
FRAME = 1502 / 1500
#: One flow or several, with loss, in small and large buffers, with limits of buffers and writes.
CASES = {
    *(f"a_{cc}_rtt{rtt}_p0" for cc in ("bbr", "cubic", "reno") for rtt in (10, 100)),
    *(f"a_{cc}_rtt{rtt}_p0.01" for cc in ("bbr", "cubic", "reno") for rtt in (10, 100)),
    "a_bbr_rtt100_p0.05", "a_cubic_rtt10_p0.1", "a_cubic_rtt100_p0.2",
    *(f"b_1{cc}_{depth}bdp" for cc in ("bbr", "cubic") for depth in (0.25, 1)),
    "b_1bbr1cubic_1bdp", "d_bbr_rtt40", "c_cubic_10v50_bdp_long", "f_cubic_rmem6M_wmem4M",
    "k_1bbr1cubic_0.1bdp",
}  # fmt: skip


def run(experiment):
    """Return what checks measure of a run of ``on-devices``."""
    path = experiment.path
    command = [
        PROGRAM, f"--rate={FRAME * path.rate:.0f}bps", f"--buffer={path.buffer.packets}",
        f"--loss={path.loss}", f"--jitter={path.jitter}s",
        f"--nodelay={int(experiment.tcp.nodelay)}", f"--write={experiment.flows[0].write_size}",
        f"--rmem={experiment.hosts.tcp_rmem}", f"--wmem={experiment.hosts.tcp_wmem}",
        f"--warmup={experiment.warmup}s", f"--duration={experiment.duration}s",
        f"--RngRun={experiment.seed}",
        "--flows=" + ",".join(f"{it.cc.name}/{it.rtt}s/{it.start}s" for it in experiment.flows),
    ]  # fmt: skip
    told = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    flows = [SimpleNamespace(**it) for it in told["flows"]]
    return SimpleNamespace(
        flows=flows,
        goodput=sum(it.goodput for it in flows),
        queue_ms=told["queue_ms"] + 8e3 * 1500 / path.rate,  # and in service
        retransmission_ratio=100
        * sum(it.retransmits for it in flows)
        / sum(it.segments for it in flows),
    )


@pytest.mark.slow
def test_linux_cells_hold_on_devices_of_ns3():
    group = linux.group()
    checks = tuple(
        it for it in group.checks if it.cases[0].key in CASES and it.kind is not Kind.TOLD
    )
    assert {it.cases[0].key for it in checks} == CASES
    groups = [replace(group, checks=checks)]
    plan = [(case.key, it) for case in suite.cases(groups) for it in case.runs(RUNS)]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        measured = list(pool.map(run, [experiment for _, experiment in plan]))
    runs = {}
    for (key, _), it in zip(plan, measured, strict=True):
        runs.setdefault(key, []).append(it)
    outcomes = suite.judge(groups, runs).outcomes
    off = [it for it in outcomes if it.verdict in (Verdict.MISS, Verdict.FAIL)]
    told = [(it.check.name, it.check.comparison.expected, it.judgement.got) for it in off]
    print(f"{len(off)} of {len(outcomes)}:", *told, sep="\n")
    # Of all cells together: a metric alone needs as many runs as `make validate` has.
    assert len(off) <= (1 - suite.TARGET) * len(outcomes), told
