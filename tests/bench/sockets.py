# SPDX-License-Identifier: GPL-2.0-only
"""What tunnelcc::LinuxTcpSocket costs beside a socket of ns-3, on the same devices.

``.venv/bin/python tests/bench/sockets.py`` runs build/release/on-devices (`make programs`) and
prints a table of instructions and CPU time for each data packet that comes to the bottleneck. Each
is the difference of two runs, one twice as long, so that what a run takes once is not in it. The
packet crosses three links of ns-3, and so does its ACK.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
from pathlib import Path

import instructions

PROGRAM = Path(__file__).parents[2] / "build/release/on-devices"
COMMON = (
    "--buffer=167", "--rate=50Mbps", "--write=32768", "--rmem=4194304", "--wmem=4194304",
    "--nodelay=1",
)  # fmt: skip
#: Name → congestion control, flows, loss.
CASES = {
    "1 CUBIC": ("cubic", 1, 0.0),
    "1 BBR": ("bbr", 1, 0.0),
    "1 BBR, 1 % loss": ("bbr", 1, 0.01),
    "16 CUBIC": ("cubic", 16, 0.0),
}
STOCK = {"cubic": "ns3::TcpCubic", "bbr": "ns3::TcpBbr"}
SHORT = 2  # s
PAIRS = 5  # of runs whose CPU time is measured


def command(cc: str, flows: int, loss: float, stock: bool, seconds: float) -> tuple[str, ...]:
    """Return the command of a run."""
    name = STOCK[cc] if stock else cc
    ends = ",".join(f"{name}/40ms/{0.01 * it:.2f}s" for it in range(flows))
    return (
        str(PROGRAM), *COMMON, f"--loss={loss}", f"--duration={seconds}s", f"--flows={ends}",
        *(["--stock"] if stock else []),
    )  # fmt: skip


def cost(arguments: tuple[str, int, float], stock: bool) -> tuple[float, float]:
    """Return thousands of instructions, and µs of CPU time, for a packet."""
    counter = instructions.counter()
    if counter is None:
        raise SystemExit("neither perf nor valgrind counts instructions here")
    runs = [command(*arguments, stock, seconds) for seconds in (SHORT, 2 * SHORT)]
    packets, counts = [], []
    for run in runs:
        count, output = instructions.count((*counter, *run))
        packets.append(json.loads(output)["packets"])
        counts.append(count)
    more = packets[1] - packets[0]
    times = [_cpu_time(runs[1]) - _cpu_time(runs[0]) for _ in range(PAIRS)]
    return (counts[1] - counts[0]) / more / 1e3, 1e6 * statistics.median(times) / more


def _cpu_time(run: tuple[str, ...]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main() -> None:
    """Print the table."""
    print("| flows | instructions, thousands: ours | of ns-3 | CPU time, µs: ours | of ns-3 |")
    print("|---|---:|---:|---:|---:|")
    for name, arguments in CASES.items():
        ours, stock = (cost(arguments, it) for it in (False, True))
        print(f"| {name} | {ours[0]:.0f} | {stock[0]:.0f} | {ours[1]:.0f} | {stock[1]:.0f} |")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
