# SPDX-License-Identifier: GPL-2.0-only
"""A program that nobody knows, at both ends of a path, in the Linux that has a virtual clock.

Its command lines are a user's own. In them SERVER is the address of the host that runs the server,
PORT the port at which the client's end listens, on 127.0.0.1, and TARGET what the server's end
connects to.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tunnelcc.config import Path as NetworkPath
from tunnelcc.errors import TunnelccError
from tunnelcc.measure import plan, virtual
from tunnelcc.scenario import Experiment

PORT, TARGET = 7001, 7000
#: Of what crosses the path, in each packet: IPv4 with TCP's timestamps, or UDP.
TCP_HEADER, UDP_HEADER = 52, 28


@dataclass(frozen=True)
class Asked:
    """What a program answered: by question, as ``probe.py`` has it.

    ``packets``: those of a capture at the client, each with time (s), whether it left, the protocol
    of IP, the client's port, whether it is a SYN, and its payload (bytes). ``what``: the kernel.
    """

    found: dict[str, Any]
    packets: list[tuple[float, bool, int, int, bool, int]]
    what: str


def ask(
    path: NetworkPath,
    server: str,
    client: str,
    questions: Sequence[str],
    *,
    seconds: float,
    header: int = TCP_HEADER,
    progress: Callable[[float], object] | None = None,
    **given: Any,
) -> Asked:
    """Start a program at both ends of a path, in a Linux with a virtual clock, and ask it.

    ``server``, ``client``: lines of a shell, with the words SERVER, PORT and TARGET. ``questions``:
    start, sizes, hold, bulk, message. ``seconds``: of simulated time, at most. ``header``: bytes of
    IP and transport in each packet. ``given``: keys of the questions: ``lasts`` (s) of bulk,
    ``message`` (bytes). Raises ConfigError, TunnelccError.
    """
    what = virtual.describe()
    flows = [{"rate": "10kbps"}]
    experiment = Experiment.parse({"path": path.table(), "flows": flows, "duration": f"{seconds}s"})
    made = plan.make(experiment, capture=True, iperf=False)
    words = {
        "SERVER": made.flows[0].destination, "PORT": str(PORT), "TARGET": f"127.0.0.1:{TARGET}"
    }  # fmt: skip
    commands = []
    for host, line, lead in (("server", server, plan.LEAD), ("client", client, plan.LEAD - 2)):
        for word, text in words.items():
            line = line.replace(word, text)
        argv = ["/bin/sh", "-c", line]
        commands.append(plan.Command(host, -lead, f"program-{host}", argv).table())
    part = {
        "module": "probe", "name": "probe", "ask": list(questions), "port": PORT,
        "target": TARGET, "rtt": round((path.rtt or 0) * 1e9), "header": header, **given,
    }  # fmt: skip
    made.table |= {"commands": commands, "traffic": [part]}
    with virtual.folder() as folder:
        virtual.run(made, folder, experiment.seed, progress)
        missing = [it for it in questions if it not in _found(folder)]
        if missing:
            raise TunnelccError(_why(folder))
        return Asked(_found(folder), list(_packets(folder / "client.pcap")), what)


def _found(folder: Path) -> dict[str, Any]:
    file = folder / "probe.json"
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return found


def _why(folder: Path) -> str:
    """Return why there is no answer: what the programs, or the probe, told at last."""
    told = []
    for name in ("program-server.err", "program-client.err", "log"):
        lines = (folder / name).read_text(errors="replace").strip().splitlines()
        told += [f"{name.removesuffix('.err')}: {lines[-1]}"] if lines else []
    return "; ".join(["the program did not answer", *told])


def _packets(capture: Path) -> Iterator[tuple[float, bool, int, int, bool, int]]:
    import dpkt

    with capture.open("rb") as file:
        for time, data in dpkt.pcap.Reader(file):
            packet = dpkt.ip.IP(data)
            inner = packet.data
            if not isinstance(inner, (dpkt.tcp.TCP, dpkt.udp.UDP)):
                continue
            is_up = packet.src[1] == 1  # 10.1.0.1 is the client
            is_tcp = isinstance(inner, dpkt.tcp.TCP)
            head = 4 * inner.off if is_tcp else 8
            is_syn = is_tcp and bool(inner.flags & dpkt.tcp.TH_SYN)
            yield (
                float(time), is_up, packet.p, inner.sport if is_up else inner.dport, is_syn,
                packet.len - 4 * packet.hl - head,
            )  # fmt: skip
