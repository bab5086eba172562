# SPDX-License-Identifier: GPL-2.0-only
"""What a sweep costs beside its simulations, as `make bench` measures it.

Each step is `tunnelcc sweep` in a process of its own, start-up, storage and printing included. CPU
time is that of the process and its workers. What a run costs beside its simulation is measured with
as many runs, stored as fully, on a path so slow that there is little to simulate: next to 12 ms of
simulation, whose speed drifts by a fifth from minute to minute, it would drown.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

THOUSAND = """
duration = "20s"
[path]
rate = "50Mbps"
[sweep]
seeds = 20
cc = ["bbr", "cubic"]
"path.rtt" = ["10ms", "20ms", "40ms", "80ms", "160ms"]
"path.loss" = [0, "0.01%", "0.1%", "1%", "3%"]
"""
SLOW = THOUSAND.replace('rate = "50Mbps"', 'rate = "500kbps"\nbuffer = "30kB"')
TEN_THOUSAND = """
duration = "1s"
[path]
rate = "10Mbps"
[sweep]
seeds = 100
cc = ["bbr", "cubic"]
"path.rtt" = ["10ms", "20ms", "40ms", "80ms", "160ms"]
"path.loss" = { from = "0.1%", to = "3%", steps = 10, scale = "log" }
"""
OPEN = """
import time, sys, tunnelcc, xarray
started = time.perf_counter()
tunnelcc.open(sys.argv[1])["goodput"].mean()
print(time.perf_counter() - started)
"""
SIMULATE = """
import sys, time, tunnelcc as tc
experiments = list(tc.Sweep(sys.argv[1]).experiments())[::10]
tc.run(experiments[0], progress=False)
started = time.thread_time()  # numpy's threads, which do nothing here, spin at first
for experiment in experiments:
    tc.run(experiment, progress=False)
print((time.thread_time() - started) / len(experiments))
"""


@dataclass(frozen=True)
class Cost:
    """Of a process and its children: s, s, bytes (the largest of them)."""

    wall: float
    cpu: float
    memory: int


def run(command: list[str], directory: Path) -> Cost:
    """Run a command and return what it took."""
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise subprocess.CalledProcessError(status, command)
    wall = time.perf_counter() - started
    return Cost(wall, usage.ru_utime + usage.ru_stime, 1024 * usage.ru_maxrss)


def seconds(code: str, argument: str, directory: Path) -> float:
    """Return the number that a fresh interpreter prints for ``code``."""
    return float(subprocess.check_output([sys.executable, "-c", code, argument], cwd=directory))


def measure(directory: Path) -> dict[str, Any]:
    """Run everything in ``directory`` and return one table."""
    cores = len(os.sched_getaffinity(0))
    sweeps = {"slow": SLOW, "thousand": THOUSAND, "ten-thousand": TEN_THOUSAND}
    for name, text in sweeps.items():
        (directory / f"{name}.toml").write_text(text, "utf-8")
    sweep = [sys.executable, "-m", "tunnelcc", "sweep"]
    simulation = seconds(SIMULATE, "slow.toml", directory)
    slow = run([*sweep, "slow.toml"], directory)
    first = run([*sweep, "thousand.toml"], directory)
    again = run([*sweep, "thousand.toml"], directory)
    opened = seconds(OPEN, "runs/thousand", directory)
    many = run([*sweep, "ten-thousand.toml"], directory)
    continued = run([*sweep, "ten-thousand.toml"], directory)
    opened_many = seconds(OPEN, "runs/ten-thousand", directory)
    files = [it.stat().st_size for it in (directory / "runs").glob("runs/*/*.metrics")]
    return {
        "cores": cores,
        "sweep_seconds": first.wall,
        "sweep_cpu_seconds": first.cpu,
        "sweep_cpu_use": first.cpu / first.wall / cores,
        "overhead_seconds_per_run": slow.cpu / 1000 - simulation,
        "resume_seconds": again.wall,
        "resume_cpu_seconds": again.cpu,
        "open_seconds": opened,
        "ten_thousand_seconds": many.wall,
        "ten_thousand_memory_bytes": many.memory,
        "ten_thousand_resume_seconds": continued.wall,
        "ten_thousand_open_seconds": opened_many,
        "ten_thousand_bytes_per_run": sum(files) / len(files),
    }


#: What is measured, in which unit it is shown, and the goal.
ROWS = {
    "sweep_seconds": ("1,000 runs of 20 s × 50 Mbit/s", 1, "s", "< 180"),
    "sweep_cpu_use": ("use of all cores, start to end", 100, "%", "≥ 90"),
    "overhead_seconds_per_run": ("CPU time per run beside the simulation", 1e3, "ms", "< 2"),
    "resume_seconds": ("the same again, finished", 1, "s", "< 2"),
    "open_seconds": ("opening its results", 1, "s", "< 1"),
    "ten_thousand_seconds": ("10,000 runs of 1 s × 10 Mbit/s", 1, "s", ""),
    "ten_thousand_memory_bytes": ("memory of the largest process", 1e-6, "MB", "< 1000"),
    "ten_thousand_resume_seconds": ("the same again, finished", 1, "s", "< 2"),
    "ten_thousand_open_seconds": ("opening its results", 1, "s", "< 1"),
    "ten_thousand_bytes_per_run": ("a run in the store, without series", 1e-3, "kB", "< 10"),
}


def main() -> None:
    """Run the benchmark."""
    with tempfile.TemporaryDirectory() as directory:
        report = measure(Path(directory))
    print(f"\nSweeps on {report['cores']} cores")
    for name, (what, factor, unit, goal) in ROWS.items():
        print(f"{what:42}{report[name] * factor:9.3g} {unit:3}{goal}")


if __name__ == "__main__":
    main()
