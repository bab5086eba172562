# SPDX-License-Identifier: GPL-2.0-only
"""The experiment with this machine's kernel and the real tunnel program, over an emulated link.

``linux-link.cc`` makes two network namespaces and the link between them, and runs the flows. It,
the programs that it starts, and all devices are in namespaces without names, which end with the
process that measures.
"""

from __future__ import annotations

import csv
import io
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tunnelcc import catalog
from tunnelcc.config.queue import DropTail
from tunnelcc.errors import ConfigError, Problem, TunnelccError, as_written
from tunnelcc.formats.measurement import Measurement, Stream
from tunnelcc.measure.given import given
from tunnelcc.modules import compiler, trust
from tunnelcc.network.draws import single_flows
from tunnelcc.scenario import Experiment
from tunnelcc.schema.toml import read_toml

#: Late packets (ms, 99th percentile) from which on the machine is too busy to measure.
LATE = 0.5

_SOURCE = Path(__file__).with_name("linux-link.cc")
_CLIENT, _SERVER = "10.9.0.1", "10.9.0.2"  # linux-link's
_INNER_CLIENT, _INNER_SERVER = "10.8.0.1", "10.8.0.2"
_PORT, _FORWARDED = 5001, 6001
_LEAD = 5.0  # s for a tunnel to start
_NOT_ALLOWED = 3  # linux-link's exit status
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")

# Keys that are set on the link, the sockets and the programs.
_MEASURED = (
    "title", "duration", "warmup", "seed", "direction", "start_jitter", "probe_interval",
    "probe_congestion", "path.rate", "path.rate_steps", "path.rtt", "path.loss",
    "path.loss_pattern", "path.buffer", "path.reverse_rate", "path.reverse_buffer",
    "path.reverse_loss", "path.queue", "flows.cc", "flows.count", "flows.direction",
    "flows.start", "flows.rtt", "flows.rate", "flows.write_size", "flows.tunnel", "flows.user",
    "tunnel.name", "tunnel.cc", "tcp.nodelay", "hosts.tcp_rmem", "hosts.tcp_wmem",
)  # fmt: skip
# Keys that describe a host: this one is as it is.
_OF_HOST = ("hosts.kernel", "hosts.cores", "hosts.profile", "hosts.speed", "hosts.one_machine",
            "hosts.app_cost", "hosts.memory", "hosts.switch_cost")  # fmt: skip

# WireGuard of the kernel, or wireguard-go.
_WIREGUARD = """
umask 077
wg genkey > /run/{own}.key
wg pubkey < /run/{own}.key > /run/{own}.new
mv /run/{own}.new /run/{own}.pub
until [ -s /run/{other}.pub ]; do sleep 0.02; done
ip link add wg-{own} type wireguard || wireguard-go -f wg-{own} &
until wg set wg-{own} {port} private-key /run/{own}.key peer "$(cat /run/{other}.pub)" \
    allowed-ips 0.0.0.0/0 {endpoint}; do sleep 0.05; done
ip addr add {address} peer {to} dev wg-{own}
ip link set wg-{own} mtu 1420 up
exec sleep infinity
"""

# Ends when a connection to the address succeeds, or (a relay's) when somebody listens there.
_READY = """
import socket, time
while True:
    try:
        if {is_relay}:
            names = ("/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6")
            if any(":{port:04X} 0" in open(name).read() for name in names):
                break
        else:
            socket.create_connection(("{address}", {port}), 0.3)
            break
    except OSError:
        pass
    time.sleep(0.05)
"""


@dataclass(frozen=True)
class Measured:
    """What was measured: the flows over time, and what the link counted.

    ``queue``: mean time in queue and service, s. ``drops``, ``losses``: packets. ``late``: how late
    packets left the link (99th percentile, s). ``what``: the kernel, and the tunnel's program.
    ``series``: all samples as CSV.
    """

    flows: Measurement
    queue: float
    drops: int
    losses: int
    late: float
    what: str
    series: str
    values: dict[str, float] = field(default_factory=dict)  # as of beside.measured()


def measure_virtually(
    experiment: Experiment,
    link: str = "models",
    keep: Path | None = None,
    progress: Callable[[float], object] | None = None,
    iperf: bool = True,
) -> Measured:
    """Run the experiment in a kernel whose clock is virtual. Raises ConfigError, TunnelccError.

    ``link``: models or router, as ``plan.LINKS``; ``keep``: a folder for the programs' own files.
    ``progress`` is called with the simulated time, s. ``iperf`` as of plan.make().
    """
    from tunnelcc.measure import answers, beside, plan, virtual

    plan.check(experiment, link)
    plan.check_programs(experiment, link)
    for tunnel in {it.keys.name for it in experiment.resolved.tunnels} - {*catalog.names()}:
        trust.check_start(tunnel, catalog.script(tunnel))
    version = virtual.describe()
    made = plan.make(experiment, link, keep is not None, iperf)
    network = experiment.resolved
    with virtual.folder() as folder:
        found = virtual.run(made, folder, experiment.seed, progress)
        bottleneck = network.bottleneck
        number = [*network.topology.links].index(bottleneck.link)
        answer = answers.read(
            made, found, experiment.warmup, experiment.duration, number, bottleneck.is_reverse
        )
        if keep is not None:
            _keep(folder, keep)
    flows = answer.measurement(version)
    return Measured(
        flows, answer.queue_mean, int(answer.counts.get("drops", 0)),
        int(answer.counts.get("losses", 0)), found.link["late_p99"], version,
        _table(flows.streams), beside.measured(answer),
    )  # fmt: skip


def _keep(folder: Path, keep: Path) -> None:
    """Copy what programs wrote, under the names that say what it is."""
    keep.mkdir(parents=True, exist_ok=True)
    for file in sorted(folder.iterdir()):
        name = file.name
        if file.suffix == ".out":
            tool = name.partition("-")[0]
            suffix = {"flow": "iperf3.json", "cross": "iperf3.json", "ss": "log"}.get(tool, "txt")
            name = f"{file.stem}.{suffix}"
        elif file.suffix not in (".pcap", ".json") or file.name == "plan.json":
            continue
        if file.is_file() and file.stat().st_size:
            shutil.copyfile(file, keep / name)


def _table(streams: Sequence[Stream]) -> str:
    """Return the samples of all flows as CSV."""
    lines = ["flow,t,goodput_bps,srtt_s,cwnd_segments,retransmits"]
    for number, it in enumerate(streams):
        columns = (it.time, it.goodput, it.rtt, it.cwnd, it.retransmits)
        lines += [
            ",".join([str(number), *(f"{value:.9g}" for value in row)])
            for row in zip(*columns, strict=True)
        ]
    return "\n".join(lines) + "\n"


def measure(experiment: Experiment) -> Measured:
    """Run the experiment on this machine, as long as it says. Raises ConfigError, TunnelccError."""
    tunnel = check(experiment)
    arguments = [str(compiler.program(_SOURCE)), *_arguments(experiment, tunnel)]
    handle = os.memfd_create("series")
    try:
        process = subprocess.Popen(
            [*arguments, "--series", f"/dev/fd/{handle}", "--contained", str(os.getpid())],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            pass_fds=[handle],
        )  # fmt: skip
        try:
            printed, told = process.communicate()
        finally:
            process.kill()  # and with it all that it has started
            process.wait()
        with open(handle, encoding="utf-8", closefd=False) as file:
            series = file.read()
    finally:
        os.close(handle)
    if process.returncode == _NOT_ALLOWED:
        raise TunnelccError(
            "measuring needs namespaces: run it as root, or allow users to make them (sysctl "
            "kernel.unprivileged_userns_clone=1 or kernel.apparmor_restrict_unprivileged_userns=0)"
        )
    if process.returncode != 0:
        reason = told.strip().splitlines()[-1:] or [f"it ended with {process.returncode}"]
        hint = ""
        if "not up" in reason[0] and tunnel == "wireguard" and shutil.which("wireguard-go") is None:
            hint = ": this kernel may have no WireGuard; install wireguard-go"
        raise TunnelccError(f"the measurement failed: {reason[0]}{hint}")
    rows = list(csv.DictReader(io.StringIO(printed)))
    if any(float(row["goodput_mbps"]) == 0 for row in rows):
        raise TunnelccError("the measurement failed: a flow carried nothing")
    program = f", {tunnel}" if tunnel else ""
    what = f"Linux {platform.release()}{program}"
    return Measured(
        Measurement(what, list(_streams(series, experiment))),
        float(rows[0]["soj_mean_ms"]) / 1e3,
        sum(int(row["flow_queue_drops"]) for row in rows),
        sum(int(row["flow_random_drops"]) for row in rows),
        float(rows[0]["late_p99_ms"]) / 1e3,
        what,
        series,
    )


def may_measure() -> bool:
    """Whether this user may make the namespaces that a measurement with this kernel needs."""
    if os.geteuid() == 0:
        return True
    unshare = shutil.which("unshare")
    if unshare is None:
        return False
    return (
        subprocess.run([unshare, "-rn", "true"], capture_output=True, check=False).returncode == 0
    )


def check(experiment: Experiment) -> str:
    """Return the tunnel's name, "" without one. Raises ConfigError for what cannot be measured."""
    problems = []
    for key, value in given(experiment):
        if key not in (*_MEASURED, *_OF_HOST):
            problems.append(Problem(*as_written(key, value), "no value: it cannot be measured"))
    if problems:
        hint = f"keys that can be: {', '.join(_MEASURED)}"
        problems[-1] = replace(problems[-1], hint=hint)
    path = experiment.path
    if not isinstance(path.queue, DropTail):
        problems.append(Problem("path.queue", path.queue.name, "drop-tail, the emulated link's"))
    available = _AVAILABLE.read_text().split() if _AVAILABLE.exists() else []
    tunnels = {it.name for it in map(experiment.tunnel_of, experiment.flows) if it is not None}
    carrier = experiment.tunnel.cc if experiment.tunnel is not None else None
    for cc in {*(flow.cc.name for flow in experiment.flows), *([carrier.name] if carrier else [])}:
        if cc not in available:
            expected = f"one of this kernel's ({', '.join(available)}); modprobe tcp_NAME adds one"
            problems.append(Problem("cc", cc, expected))
    if len(tunnels) > 1:
        problems.append(Problem("tunnel", ", ".join(sorted(tunnels)), "one tunnel"))
    directions = {experiment.direction_of(flow) for flow in experiment.flows}
    if len(directions) > 1 or (tunnels and directions != {"up"}):
        expected = "up with a tunnel, and else one direction of all flows"
        problems.append(Problem("flows.direction", ", ".join(sorted(directions)), expected))
    for name in tunnels:
        if not (_programs(name) or name == "wireguard"):
            known = [it for it in read_toml(catalog.PROGRAMS) if _programs(it)]
            expected = f"a program that can be measured: wireguard, {', '.join(known)}"
            problems.append(Problem("tunnel", name, expected))
        if carrier is None and len({flow.cc.name for flow in experiment.flows}) > 1:
            expected = "the congestion control of all carriers, as the flows have several"
            problems.append(Problem("tunnel.cc", "none", expected))
        if any(flow.rtt is not None for flow in experiment.flows):
            problems.append(Problem("flows.rtt", "given", "no value with a tunnel"))
    if problems:
        raise ConfigError(*problems)
    tunnel = next(iter(tunnels), "")
    for program in ("ip", *_needed(tunnel)):
        if shutil.which(program) is None:
            raise TunnelccError(f"{program} is not installed, or not on PATH")
    return tunnel


def _programs(tunnel: str) -> dict[str, str]:
    """Return the commands of a relay's client and server; none: it has others."""
    found: dict[str, str] = read_toml(catalog.PROGRAMS).get(tunnel, {})
    return found if "client" in found else {}


def _needed(tunnel: str) -> list[str]:
    if tunnel == "wireguard":
        return ["wg"]
    return [text.split()[0] for text in _programs(tunnel).values()]


def _arguments(experiment: Experiment, tunnel: str) -> list[str]:
    """Return linux-link's."""
    path, hosts, network = experiment.path, experiment.hosts, experiment.resolved
    # With what the seed draws, as the simulation has it.
    link_rtt = path.rtt + network.phases["path"] / 1e9
    options: dict[str, object] = {
        "rtt": f"{1e3 * link_rtt:.9g}", "duration": f"{experiment.duration:g}",
        "warmup": f"{experiment.warmup:g}", "seed": experiment.seed % (1 << 20),
        "interval": f"{experiment.probe_interval:g}",
        "rmem": f"{hosts.receive_buffer / 2**20:g}", "wmem": f"{hosts.tcp_wmem / 2**20:g}",
    }  # fmt: skip
    # The link's first direction is that of the data, whichever end sends them.
    is_reverse = network.bottleneck.is_reverse
    ways = (path.backward, path) if is_reverse else (path, path.backward)
    for way, prefix in zip(ways, ("", "ack-"), strict=True):
        if way.rate is not None:
            later = "".join(f",{at:g}:{rate / 1e6:g}" for at, rate in way.rate_steps)
            options[f"{prefix}rate"] = f"{way.rate / 1e6:g}{later}"
            packets = path.queue_bytes(way.buffer, way.rate, 1500) / 1500
            options[f"{prefix}queue"] = max(round(packets), 1)
        if way.loss:
            periodic = way.loss_pattern == "periodic"
            options[f"{prefix}{'period' if periodic else 'loss'}"] = (
                round(1 / way.loss) if periodic else f"{way.loss:g}"
            )
    if tunnel:
        options |= _tunnel(tunnel)
        carrier = experiment.tunnel.cc if experiment.tunnel is not None else None
        options["carrier-cc"] = (carrier or experiment.flows[0].cc).name
    given = ["--header"]
    for name, value in options.items():
        given += [f"--{name}", str(value)]
    for number, it in enumerate(single_flows(experiment)):
        flow = it.flow
        keys = [flow.cc.name, f"start={it.start:.6g}", f"write={flow.write_size}"]
        if flow.rtt is not None:
            keys.append(f"rtt={1e3 * (network.rtt(number) - link_rtt):.9g}")
        keys += [f"app={flow.rate / 1e6:g}"] if flow.rate is not None else []
        keys += ["nodelay"] if experiment.tcp.nodelay else []
        keys += ["tunnel"] if experiment.tunnel_of(flow) is not None else []
        given += ["--flow", ",".join(keys)]
    return given


def _tunnel(tunnel: str) -> dict[str, object]:
    """Return linux-link's options that start a tunnel's programs."""
    relay = _programs(tunnel)
    target = ("127.0.0.1", _FORWARDED) if relay else (_INNER_SERVER, _PORT)
    if relay:
        places = {"PORT": _FORWARDED, "TARGET": f"127.0.0.1:{_PORT}", "SERVER": _SERVER}
        for end, command in relay.items():
            for name, value in places.items():
                command = command.replace(name, str(value))
            relay[end] = f"exec {command}"
    else:
        ends = (("client", "server"), ("server", "client"))
        addresses = {"client": _INNER_CLIENT, "server": _INNER_SERVER}
        relay = {
            own: _WIREGUARD.format(
                own=own, other=other, address=addresses[own], to=addresses[other],
                port="listen-port 51820" if own == "server" else "",
                endpoint=f"endpoint {_SERVER}:51820" if own == "client" else "",
            )
            for own, other in ends
        }  # fmt: skip
    ready = _READY.format(is_relay=target[1] == _FORWARDED, address=target[0], port=target[1])
    return {
        **{end: f"exec > /dev/null 2>&1\n{command}" for end, command in relay.items()},
        "target": f"{target[0]}:{target[1]}", "lead": f"{_LEAD:g}",
        "ready": shlex.join([sys.executable, "-c", ready]),
    }  # fmt: skip


def _streams(series: str, experiment: Experiment) -> Iterator[Stream]:
    """Yield the flows of linux-link's series."""
    table = np.genfromtxt(io.StringIO(series), delimiter=",", names=True)
    for number, it in enumerate(single_flows(experiment)):
        rows = table[table["flow"] == number]
        sent, time = rows["received"], rows["t"]

        def known(name: str, factor: float = 1.0, rows: Any = rows) -> Any:
            values = factor * rows[name]
            return np.where(values > 0, values, np.nan)

        busy = max(float(rows["busy_us"][-1]), 1.0)
        least = known("min_rtt_us", 1e-6)
        yield Stream(
            str(number), time, 8 * np.diff(sent, prepend=0.0) / np.diff(time, prepend=0.0),
            known("srtt_us", 1e-6), known("cwnd"), rows["retrans"], known("snd_wnd"),
            float(np.nanmin(least)) if np.isfinite(least).any() else float("nan"),
            {"receive_window": float(rows["rwnd_limited_us"][-1]) / busy,
             "send_buffer": float(rows["sndbuf_limited_us"][-1]) / busy},
            it.flow.cc.name,
        )  # fmt: skip


def goodput(measured: Measurement, flow: int, since: float) -> float:
    """Return the mean goodput of a flow after ``since`` (s), bit/s."""
    return Measurement(measured.source, [measured.streams[flow]]).mean_goodput(since)
