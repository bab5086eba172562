# SPDX-License-Identifier: GPL-2.0-only
"""Speed and memory of tunnelcc against stock ns-3, as `make bench` measures them.

Each run is a fresh process; tunnelcc's have made the same run once before. Of runs that take less
than 10 s, the fastest of five counts. A packet is a data segment that was sent across the path;
segments on a host's loopback do not count, nor do those inside a tunnel, so that TCP over TCP
simulates two for each that counts.
The segments of all connections are shown beside it. "Fast hosts" are eight times as fast as the
default: the path limits the flows as it does without a tunnel, and both simulate the same traffic,
where default hosts drop packets before the tunnel.
Time is the CPU time of the simulation alone: neither imports nor the building of the experiment.
Instructions are those of scratch/run-spec (see instructions.py), in shorter runs.
The baseline, ``stock-ns3``, runs the same flows over ns-3's TcpSocketBase and ns3::TcpBbr until it
is done or reaches the limit of CPU time; its rate is then that of the part it did simulate.
If `htsim.sh` has built ``htsim``, it runs the same paths with its NewReno.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    import tunnelcc as tc

ROOT = Path(__file__).resolve().parents[2]
FAST = 8.0  # times as fast as the host on which costs were measured
CUBIC = "plain, CUBIC"
TUNNELS = {  # a relay, of datagrams, of a stream; and how fast the hosts are
    "gost-relay-wss": ("gost-relay-wss", 1.0),
    "wireguard": ("wireguard", 1.0),
    "wireguard, fast hosts": ("wireguard", FAST),
    "openvpn-2.6-tcp": ("openvpn-2.6-tcp", 1.0),
    "openvpn-2.6-tcp, fast hosts": ("openvpn-2.6-tcp", FAST),
}
KINDS = ("plain", CUBIC, *TUNNELS)
OTHERS = {"stock": "stock ns-3", "htsim": "htsim, NewReno"}
REPEATS = 5
LONG = 10.0  # s of CPU time, from which on a run of another simulator is not repeated
COUNTED = 100e3  # packets of a run whose instructions are counted, unless those are few RTTs
COUNTED_RTTS = 20
IP_PACKET = 1500  # bytes
# Bytes that a flow of the baseline advertises: enough for what its path holds. It is quadratic in
# the window; with tunnelcc's default of 20 MiB it takes up to 70 times as long for a packet.
WINDOW = 3 << 20
BASELINE = (
    "The baseline is stock ns-3 (TcpSocketBase, ns3::TcpBbr) on the PyPI wheel, which is built "
    "with assertions and logging; an optimised source build of ns-3 is about 7× faster than it."
)


@dataclass(frozen=True)
class Case:
    """BBR flows over one bottleneck with a buffer of 1 BDP."""

    name: str
    flows: int
    rate: float  # bit/s
    rtt: float  # s
    loss: float  # probability
    duration: float  # simulated s
    goal: float  # packets per CPU second; through a tunnel, half of it


CASES = (
    Case("1 flow, 100 Mbit/s × 100 ms", 1, 100e6, 0.1, 0, 30, 3e6),
    Case("1 flow, 100 Mbit/s × 100 ms, 1 % loss", 1, 100e6, 0.1, 0.01, 30, 3e6),
    Case("16 flows, 2 Gbit/s × 170 ms", 16, 2e9, 0.17, 0, 20, 1.5e6),
    Case("128 flows, 10 Gbit/s × 20 ms", 128, 10e9, 0.02, 0, 5, 1e6),
)


def peak_rss_bytes() -> int:
    """Return this process's peak resident memory (getrusage's includes the parent's)."""
    status = Path("/proc/self/status").read_text("ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return 1024 * int(line.split()[1])


def experiment_of(case: Case, kind: str) -> tc.Experiment:
    """Return a case's experiment, plain or through a tunnel."""
    import tunnelcc as tc

    tunnel, speed = TUNNELS.get(kind, (None, 1.0))
    return tc.Experiment(
        path=tc.Path(
            rate=f"{case.rate:.0f}bps",
            rtt=f"{case.rtt * 1e3:.0f}ms",
            loss=f"{case.loss * 100:g}%",
            buffer="1bdp",
        ),
        flows=[tc.Flow(cc="cubic" if kind == CUBIC else "bbr", count=case.flows)],
        tunnel=tunnel,
        hosts=tc.Hosts(speed=speed),
        duration=f"{case.duration:g}s",
        seed=1,
    )


def simulate(case: Case, kind: str) -> dict[str, Any]:
    """Run a case in this process for the second time, and return what it took."""
    import tunnelcc as tc

    experiment = experiment_of(case, kind)
    run = tc.run
    run(experiment, progress=False)
    before = time.thread_time()  # numpy's threads, which do nothing here, spin at first
    result = run(experiment, progress=False)
    cpu = time.thread_time() - before
    return {
        "timed_out": False,
        "simulated_seconds": case.duration,
        "cpu_seconds": cpu,
        "data_segments": int(result["path_segments"]),
        "all_segments": sum(leg.segments or 0 for leg in result.connections),
        "goodput_bps": result.goodput,
        "events": int(result["events"]),
        "peak_rss_bytes": peak_rss_bytes(),
    }


def in_fresh_processes(index: int) -> dict[str, dict[str, Any]]:
    """Run a case without and with each tunnel, and return of each the fastest run."""
    runs: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    for _ in range(REPEATS):
        for kind, repeated in runs.items():
            command = [sys.executable, __file__, "--case", str(index), "--kind", kind]
            repeated.append(parsed(subprocess.check_output(command)))
    return {kind: fastest(repeated) for kind, repeated in runs.items()}


def fastest(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the run of least CPU time: other programs on the machine only ever add to it."""
    return min(runs, key=lambda run: float(run["cpu_seconds"]))


def count_instructions(program: Path, case: Case, kind: str) -> float | None:
    """Return the instructions for a packet of a case; None: they cannot be counted here."""
    import instructions

    counter = instructions.counter()
    if counter is None:
        return None
    experiment = experiment_of(case, kind)
    counted = max(COUNTED * 8 * IP_PACKET / case.rate, COUNTED_RTTS * case.rtt)
    shorter = experiment.model_copy(update={"duration": min(case.duration, counted)})
    return instructions.per_segment(program, shorter, counter)


def elsewhere(program: list[str], case: Case, limit: float) -> dict[str, Any]:
    """Run a case on another simulator for at most ``limit`` seconds of CPU time."""
    command = [
        *program,
        f"--flows={case.flows}",
        f"--rate={case.rate:.0f}",
        f"--rtt={case.rtt}",
        f"--loss={case.loss}",
        f"--buffer={case.rate * case.rtt / 8 / IP_PACKET:.0f}",
        f"--duration={case.duration}",
        f"--cpu-limit={limit}",
    ]
    run = parsed(subprocess.check_output(command))
    if run["cpu_seconds"] >= LONG:
        return run
    return fastest([run, *(parsed(subprocess.check_output(command)) for _ in range(REPEATS - 1))])


def parsed(output: bytes) -> dict[str, Any]:
    """Return a run's JSON with the quantities that follow from it."""
    run: dict[str, Any] = json.loads(output.splitlines()[-1])  # after what htsim says of drops
    run["packets_per_cpu_second"] = run["data_segments"] / run["cpu_seconds"]
    if "all_segments" in run:
        run["segments_per_cpu_second"] = run["all_segments"] / run["cpu_seconds"]
    run["events_per_packet"] = run["events"] / run["data_segments"]
    return run


def import_seconds(statement: str) -> float:
    """Return the median time that a fresh interpreter takes for ``statement``, in seconds."""
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    command = [sys.executable, "-c", code]
    return statistics.median(float(subprocess.check_output(command)) for _ in range(REPEATS))


def processor() -> str:
    """Return the name of this machine's processor."""
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if "model name" in line), "?")


def measure(others: dict[str, list[str]], run_spec: Path, limit: float) -> dict[str, Any]:
    """Run everything and return one table. ``others``: the programs of other simulators."""
    cases = []
    for index, case in enumerate(CASES):
        print(f"{case.name} …", file=sys.stderr)
        runs = in_fresh_processes(index)
        for kind, run in runs.items():
            run["instructions_per_packet"] = count_instructions(run_spec, case, kind)
        runs |= {name: elsewhere(program, case, limit) for name, program in others.items()}
        speed = {name: run["packets_per_cpu_second"] for name, run in runs.items()}
        segments = {name: runs[name]["segments_per_cpu_second"] for name in KINDS}
        cases.append(
            {
                "case": case.name,
                "goal_packets_per_cpu_second": case.goal,
                "runs": runs,
                "tunnel_to_plain": {name: speed[name] / speed["plain"] for name in TUNNELS},
                "tunnel_to_plain_in_segments": {
                    name: segments[name] / segments["plain"] for name in TUNNELS
                },
                "plain_to_stock": speed["plain"] / speed["stock"],
            }
        )
    return {
        "processor": processor(),
        "python": ".".join(map(str, sys.version_info[:3])),
        "baseline": BASELINE,
        "stock_cpu_limit_seconds": limit,
        "import_seconds": import_seconds("import tunnelcc"),
        "import_and_load_seconds": import_seconds(
            "import tunnelcc; tunnelcc.run; from tunnelcc import core; core.load()"
        ),
        "cases": cases,
    }


def show(report: dict[str, Any]) -> None:
    """Print a table for each case on the terminal."""
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 175)
    console.print(f"Data segments across the path per CPU second on {report['processor']}")
    for case in report["cases"]:
        console.print(table(case))
    console.print(
        f"import tunnelcc: {report['import_seconds'] * 1e3:.0f} ms; "
        f"with the compiled module: {report['import_and_load_seconds'] * 1e3:.0f} ms"
    )
    console.print(report["baseline"])
    console.print(
        f"Time-out: stopped after {report['stock_cpu_limit_seconds']:g} s of CPU time; "
        "speed, memory and goodput are those of the part that was simulated."
    )


def table(case: dict[str, Any]) -> Table:
    """Return the table of one case."""
    from rich.table import Table

    goal = case["goal_packets_per_cpu_second"]
    goals = dict.fromkeys(("plain", CUBIC), f"{goal / 1e6:g} M")
    goals |= dict.fromkeys(TUNNELS, f"{goal / 2e6:g} M")
    compared = {name: f"{ratio:.2f} × plain" for name, ratio in case["tunnel_to_plain"].items()}
    compared["plain"] = f"{case['plain_to_stock']:.0f} × stock"
    in_segments = {
        name: f"{ratio:.2f} × plain" for name, ratio in case["tunnel_to_plain_in_segments"].items()
    }
    table = Table(title=case["case"], title_justify="left", title_style="bold")
    table.add_column("")
    for heading in (
        *("simulated", "CPU", "packets/s", "goal", "instructions/pkt", "events/pkt", "memory"),
        "Mbit/s",
    ):
        table.add_column(heading, justify="right", min_width=8)
    table.add_column("", justify="right", min_width=12)
    table.add_column("all segments", justify="right", min_width=12)
    for kind, run in case["runs"].items():
        table.add_row(
            OTHERS.get(kind, kind),
            f"{run['simulated_seconds']:.4g} s",
            "time-out" if run["timed_out"] else f"{run['cpu_seconds']:.2f} s",
            engineering(run["packets_per_cpu_second"]),
            goals.get(kind, ""),
            f"{count:.0f}" if (count := run.get("instructions_per_packet")) else "",
            f"{run['events_per_packet']:.2f}",
            f"{run['peak_rss_bytes'] / 1e6:.0f} MB",
            f"{run['goodput_bps'] / 1e6:.1f}",
            compared.get(kind, ""),
            in_segments.get(kind, ""),
        )
    return table


def engineering(rate: float) -> str:
    """Return a rate with a prefix: 2.31 M, 4.7 k."""
    return f"{rate / 1e6:.2f} M" if rate >= 1e6 else f"{rate / 1e3:.1f} k"


def main() -> None:
    """Run the benchmark, or with --case one case of it."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--stock", type=Path, default=ROOT / "build/release/stock-ns3")
    parser.add_argument("--htsim", type=Path, default=ROOT / "build/htsim")
    parser.add_argument("--stock-limit", type=float, default=60, metavar="SECONDS")
    parser.add_argument("--write", action="store_true", help="store it as results/bench.json")
    parser.add_argument("--case", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--kind", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case is not None:
        print(json.dumps(simulate(CASES[arguments.case], arguments.kind)))
        return
    run_spec = arguments.stock.parent / "scratch/run-spec"
    others = {"stock": [str(arguments.stock), f"--window={WINDOW}"]}
    if arguments.htsim.exists():
        others["htsim"] = [str(arguments.htsim)]
    report = measure(others, run_spec, arguments.stock_limit)
    show(report)
    if arguments.write:
        target = ROOT / "results" / "bench.json"
        target.parent.mkdir(exist_ok=True)
        target.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", "utf-8")
        print(f"written to {target.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
