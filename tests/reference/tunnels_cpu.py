# SPDX-License-Identifier: GPL-2.0-only
"""Measure how fast tunnel programs carry data where the CPU alone limits them.

As root on an idle machine, with what tunnels.py asks for and iperf3::

    python tests/reference/tunnels_cpu.py FOLDER

writes ``cpu.csv`` into ``tests/validation/data/programs``. ``host.toml`` beside it is what
``tunnelcc calibrate-host`` wrote on the same machine. A pair of virtual Ethernet devices joins two
network namespaces, which share the machine's cores. Runs without a tunnel come between the others.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import tunnels
from tunnels import PORT, SERVER, TUNNELS, Running, Table, as_text, call, shell

CLIENT = "10.9.0.1"
NAMESPACES = ("tunnelcc-client", "tunnelcc-server")
FLOWS = (1, 8)
SEEDS = (1,)
DURATION = 6  # s
OMITTED = 1  # s at the start


@contextmanager
def namespaces() -> Iterator[None]:
    """Have the two namespaces and what joins them."""
    client, server = NAMESPACES
    try:
        call(
            *shell(
                f"ip netns add {client}; ip netns add {server}",
                f"ip link add tcc0 netns {client} type veth peer name tcc1 netns {server}",
            )
        )
        for name, device, address in ((client, "tcc0", CLIENT), (server, "tcc1", SERVER)):
            call(
                *shell(
                    f"ip -n {name} addr add {address}/24 dev {device}",
                    f"ip -n {name} link set {device} up; ip -n {name} link set lo up",
                )
            )
        yield
    finally:
        for name in NAMESPACES:
            subprocess.run(["ip", "netns", "del", name], check=False)


@contextmanager
def programs(tunnel: str, folder: Path) -> Iterator[list[Running]]:
    """Have the tunnel's server and client run."""
    running: list[Running] = []
    try:
        if tunnel != "none":
            entry = TUNNELS[tunnel]
            for name, command in zip(
                reversed(NAMESPACES), (entry.server, entry.client), strict=True
            ):
                log = folder / f"{name}.log"
                given = ["ip", "netns", "exec", name, *command(folder)]
                running.append(Running(given, log, real_time=False))
                time.sleep(1)
            time.sleep(entry.lead)
            for program in running:
                program.check()
        yield running
    finally:
        for program in running:
            program.stop()


def busy() -> tuple[float, float]:
    """Return the CPU seconds that all processes used, and those that others took (steal)."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _, _, irq, softirq, steal = (int(it) for it in fields[:8])
    tick = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) / tick, steal / tick


def measure(tunnel: str, flows: int, seed: int, folder: Path) -> dict[str, object]:
    """Return one run's row."""
    target, port = (SERVER, PORT) if tunnel == "none" else TUNNELS[tunnel].target
    enter = ["ip", "netns", "exec"]
    server = [*enter, NAMESPACES[1], "iperf3", "-s", "-p", str(PORT)]
    client = [*enter, NAMESPACES[0], "iperf3", "-c", target, "-p", str(port), "-J"]
    client += ["-P", str(flows), "-t", str(DURATION), "-O", str(OMITTED)]
    with programs(tunnel, folder) as running:
        reader = subprocess.Popen(server, stdout=subprocess.DEVNULL)
        try:
            time.sleep(0.5)
            before, (cpu, stolen) = [it.cpu() for it in running], busy()
            done = subprocess.run(client, capture_output=True, text=True, timeout=60)
            after, (cpu_after, stolen_after) = [it.cpu() for it in running], busy()
        finally:
            reader.terminate()
            reader.wait()
    result = json.loads(done.stdout)
    if "error" in result:
        raise RuntimeError(result["error"])
    end = result["end"]
    server_cpu, client_cpu = (
        (b - a for a, b in zip(before, after, strict=True)) if running else ("", "")
    )
    return {
        "tunnel": tunnel,
        "flows": flows,
        "seed": seed,
        "goodput_mbps": end["sum_received"]["bits_per_second"] / 1e6,
        "segments_sent_again": end["sum_sent"]["retransmits"],
        "client_cpu_s": client_cpu,
        "server_cpu_s": server_cpu,
        "all_cpu_s": cpu_after - cpu,
        "stolen_s": stolen_after - stolen,
        "seconds": DURATION + OMITTED,
    }


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # and remove the namespaces
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("programs", type=Path, help="folder with wireguard-go and gost")
    parser.add_argument("--tunnel", action="append", help="only this one; none: without a tunnel")
    parser.add_argument("--output", type=Path, default=tunnels.DATA, help="folder of the table")
    given = parser.parse_args()
    names: Sequence[str] = given.tunnel or ("none", *TUNNELS)
    path: Path = given.output / "cpu.csv"
    path.unlink(missing_ok=True)
    table = Table(path)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tunnels.prepare(folder, given.programs)
        for seed in SEEDS:
            for tunnel in names:
                for flows in FLOWS:
                    with namespaces():
                        _try(tunnel, flows, seed, folder, table)


def _try(tunnel: str, flows: int, seed: int, folder: Path, table: Table) -> None:
    for _ in range(3):  # programs do not always come up
        with suppress(RuntimeError, subprocess.SubprocessError):
            row = measure(tunnel, flows, seed, folder)
            table.add(row)
            print(*map(as_text, row.values()), flush=True)
            return
    print(f"{tunnel}, {flows} flows: no run came to its end", flush=True)


if __name__ == "__main__":
    main()
