# SPDX-License-Identifier: GPL-2.0-only
"""An experiment as what ``inside.py`` does in a kernel: hosts, links, programs and their times.

The links are those of the simulation (``_core`` carries the packets), or routers of the kernel
itself, which share no code with the models: netem and the queue disciplines of tc(8).
"""

from __future__ import annotations

import math
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tunnelcc import catalog, core
from tunnelcc.config.path import LinkDirection
from tunnelcc.config.queue import Cake, Codel, DualPi2, FqCodel, Pie, Red
from tunnelcc.errors import ConfigError, Problem, TunnelccError, as_written
from tunnelcc.measure.given import given
from tunnelcc.network.resolved import ResolvedTunnel
from tunnelcc.network.traffic import ResolvedFlow
from tunnelcc.scenario import Experiment
from tunnelcc.specification import network_spec
from tunnelcc.specification.parts import spec_text

LEAD = 10.0  # s before time 0, in which programs start; tinc looks for the MTU for 9 s
ETHERNET = 14  # bytes of a packet that tc(8) counts beside IP's
IPERF_PORT, OWN_PORT = 5201, 7001
LINKS = ("models", "router")
_PROGRAMS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")

#: Round trips from iperf3's start to its first data: two connections, and parameters between.
IPERF_ROUNDS = 5.0

# Keys that are set on links, sockets and programs, in both kinds of links.
_MEASURED = (
    "title", "duration", "warmup", "seed", "direction", "start_jitter", "probe_interval",
    "path.rate", "path.rtt", "path.loss", "path.buffer", "path.queue", "path.reverse_rate",
    "path.reverse_buffer", "path.reverse_loss", "path.framing", "path.phase",
    "flows.cc", "flows.count", "flows.direction", "flows.start", "flows.interarrival",
    "flows.bytes", "flows.bytes_shape", "flows.bytes_most", "flows.rate", "flows.write_size",
    "flows.window", "flows.user", "flows.transport", "flows.traffic", "flows.gaps",
    "flows.tunnel", "tunnel", "tunnels",
    "cross_traffic", "pings",
    "tcp.nodelay", "tcp.ecn", "tcp.timestamps", "tcp.mss", "tcp.initial_window", "tcp.mtu_probing",
    "tcp.base_mss", "tcp.min_rto", "tcp.window_scaling",
    "hosts.tcp_rmem", "hosts.tcp_wmem", "hosts.tcp_moderate_rcvbuf",
)  # fmt: skip
# Keys of links that only the models' links have.
_OF_MODELS = (
    "path.rate_steps", "path.loss_steps", "path.buffer_steps", "path.rtt_steps", "path.handover",
    "path.trace", "path.loss_pattern", "path.loss_position", "path.gilbert_elliott",
    "path.policer", "path.reorder", "path.reorder_delay", "path.jitter",
    "path.jitter_distribution", "path.jitter_deviation", "path.jitter_reorders",
    "path.ecn_threshold", "path.reverse", "network", "flows.rtt", "flows.from", "flows.to",
    "flows.via", "flows.ack_route", "flows.mptcp",
)  # fmt: skip
# Describe the kernel, which is as it is.
_OF_HOST = ("hosts.kernel",)


@dataclass(frozen=True)
class Command:
    """A program on a host, from a time on (s); its output goes to files of its name."""

    host: str
    at: float
    name: str
    argv: list[str]
    wait: bool = False

    def table(self) -> dict[str, Any]:
        """Return it for the plan."""
        return {**vars(self), "at": round(self.at * 1e9)}


@dataclass(frozen=True)
class FlowPlan:
    """How a flow is made: by iperf3 (``client``, ``server``: names of output) or by traffic.py."""

    placed: ResolvedFlow
    kind: str  # iperf3, stream, datagrams
    name: str
    source: str = ""  # IPv4 addresses of what sends the data, and of what receives
    destination: str = ""
    port: int = 0
    rtt: float = 0.0  # s


@dataclass
class Plan:
    """What is written into plan.json, and what is known of it outside."""

    table: dict[str, Any]
    flows: list[FlowPlan] = field(default_factory=list)
    cross: list[FlowPlan] = field(default_factory=list)
    pings: list[str] = field(default_factory=list)


def check(experiment: Experiment, link: str = "models") -> None:
    """Raise ConfigError for what cannot be measured with this kind of link."""
    allowed = (*_MEASURED, *_OF_HOST, *(_OF_MODELS if link == "models" else ()))
    problems = []
    for key, value in given(experiment):
        if not any(key == it or key.startswith(f"{it}.") for it in allowed):
            where = " over a router" if link == "router" and key in _OF_MODELS else ""
            expected = f"no value: it cannot be measured{where}"
            problems.append(Problem(*as_written(key, value), expected))
    problems += _of_flows(experiment)
    problems += _of_tunnels(experiment, link)
    problems += _of_path(experiment, link)
    if problems:
        raise ConfigError(*problems)


def check_programs(experiment: Experiment, link: str = "models") -> None:
    """Raise TunnelccError if a program that measures is missing."""
    for program in ("ip", "iperf3", *(("tc",) if link == "router" else ()),
                    *(("ping",) if experiment.pings else ())):  # fmt: skip
        if find(program) is None:
            raise TunnelccError(f"{program} is not installed, or not on PATH")


def find(program: str) -> str | None:
    """Return where a program is, also of those that only root has on PATH."""
    return shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")


#: Of the kernel that measures (CONFIG_TCP_CONG_…).
CONGESTION_CONTROLS = (
    "bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv",
    "reno", "scalable", "vegas", "veno", "westwood", "yeah",
)  # fmt: skip


def kernel_name(cc: str) -> str | None:
    """Return what the kernel calls a congestion control; None: it has none like it."""
    name = cc.removeprefix("linux:tcp_").removesuffix(".c")
    name = {"ns3::TcpHighSpeed": "highspeed"}.get(name, name)
    return name if name in CONGESTION_CONTROLS else None


def _of_flows(experiment: Experiment) -> Iterator[Problem]:
    known = ", ".join(CONGESTION_CONTROLS)
    for flow in experiment.flows:
        if flow.transport == "quic":
            yield Problem("flows.transport", "quic", "tcp or udp: the kernel has no QUIC")
        elif flow.transport == "tcp" and kernel_name(flow.cc.name) is None:
            yield Problem("cc", flow.cc.name, f"one of the kernel's ({known})")
        elif flow.transport == "tcp" and flow.cc.parameters:
            yield Problem("cc", flow.cc.name, "no parameters: the kernel's are its defaults")
        if flow.mptcp is not None and flow.mptcp.scheduler != "default":
            expected = "default: the kernel has no other"
            yield Problem("flows.mptcp.scheduler", flow.mptcp.scheduler, expected)
    hosts = experiment.hosts
    if hosts.kernel != type(hosts).model_fields["kernel"].default:
        yield Problem("hosts.kernel", hosts.kernel, "no value: the kernel is the one that measures")


def _has_tcp_carriers(entry: catalog.Entry) -> bool:
    return entry.HAS_CARRIERS and entry.carrier_cc(None) is None


def _carriers(experiment: Experiment) -> list[str]:
    """Return the congestion controls of carriers over TCP."""
    network = experiment.resolved
    found = [
        (network.tunnels[it.tunnel].keys.cc or it.flow.cc).name
        for it in network.flows
        if it.tunnel is not None and _has_tcp_carriers(network.tunnels[it.tunnel].keys.entry)
    ]
    return [*dict.fromkeys(found)]


def _of_tunnels(experiment: Experiment, link: str) -> Iterator[Problem]:
    for number, placed in enumerate(experiment.resolved.tunnels):
        name, key = placed.keys.name, placed.key
        if not catalog.script(name):
            known = [it for it in catalog.names() if catalog.script(it)]
            expected = f"one of {', '.join(known)}; others are measured with --kernel host"
            yield Problem(key, name, expected)
        elif placed.lower is not None or placed.uplinks or len(placed.hosts) != 2:
            yield Problem(key, name, "a tunnel between two hosts, by one route, in no other")
        elif link == "router":
            yield Problem(
                key, name, "none over a router, which knows flows in it as this host does"
            )
        else:
            count = sum(it.tunnel == number for it in experiment.resolved.everyone)
            if (
                count > 1
                and "$PORTS" not in catalog.script(name)
                and not (placed.keys.entry.CARRIES_PACKETS)
            ):
                yield Problem("flows", str(count), f"one flow: {name} forwards one port")
            own = {"name"} | ({"cc"} if _has_tcp_carriers(placed.keys.entry) else set())
            given = set(placed.keys.model_fields_set) - own
            for it in sorted(given):
                yield Problem(
                    f"{key}.{it}", getattr(placed.keys, it), "no value: it has its default"
                )
    carriers = _carriers(experiment)
    for name in carriers:
        if kernel_name(name) is None:
            yield Problem(
                "tunnel.cc", name, f"one of the kernel's ({', '.join(CONGESTION_CONTROLS)})"
            )
    if len(carriers) > 1:
        expected = "the congestion control of all carriers, as the flows have several"
        yield Problem("tunnel.cc", "none", expected)
    for traffic in experiment.resolved.everyone:
        tunnel = traffic.tunnel
        if tunnel is not None and [*traffic.traffic.ends] != [
            *experiment.resolved.tunnels[tunnel].ends
        ]:
            yield Problem("tunnel", experiment.resolved.tunnels[tunnel].name,
                          "a tunnel that ends where its flows do")  # fmt: skip


def _of_path(experiment: Experiment, link: str) -> Iterator[Problem]:
    path = experiment.path
    if link == "models":
        for queue in (path.queue, path.backward.queue):
            if isinstance(queue, Cake) and queue.ack_filter != "none":
                yield Problem("path.queue.ack_filter", queue.ack_filter, "none: packets are opaque")
        return
    for queue in (path.queue, path.backward.queue):
        if isinstance(queue, DualPi2):
            yield Problem("path.queue", queue.name, "another: few releases of tc(8) know this one")
        if isinstance(queue, Red) and queue.gentle:
            expected = "false: the kernel's RED has no gentle slope"
            yield Problem("path.queue.gentle", "true", expected)


def make(
    experiment: Experiment, link: str = "models", capture: bool = False, iperf: bool = True
) -> Plan:
    """Return what is to be done. The experiment was checked.

    ``iperf``: whether iperf3 makes the flows that it can; else traffic.py makes all, which computes
    less: iperf3 asks the clock in a loop for a round trip, before it begins.
    """
    return _Planner(experiment, link, capture, iperf).plan()


class _Planner:
    def __init__(self, experiment: Experiment, link: str, capture: bool, iperf: bool) -> None:
        self.experiment, self.link, self.iperf = experiment, link, iperf
        self.network = experiment.resolved
        self.spec = network_spec(self.network)
        self.hosts = list(self.network.topology.hosts)
        self.classes: dict[tuple[int, int, int], int] = {}
        self.ways: list[tuple[int, int, int, bool, int, int]] = []
        self.addresses: dict[str, set[str]] = {it: set() for it in self.hosts}
        self.endpoints: dict[str, list[str]] = {it: [] for it in self.hosts}
        self.commands: list[Command] = []
        self.traffic: list[dict[str, Any]] = []
        self.capture = capture

    def plan(self) -> Plan:
        experiment = self.experiment
        made = Plan({})
        placed = list(zip(self.network.everyone, self.spec["flows"], strict=True))
        outside = [self._outside(number) for number in range(len(self.network.tunnels))]
        count, cross = len(self.network.flows), len(self.network.cross_traffic)
        for number, (it, spec) in enumerate(placed[:count]):
            made.flows.append(self._flow(number, f"flow-{number}", it, spec))
        for number, (it, spec) in enumerate(placed[count : count + cross], count):
            made.cross.append(self._flow(number, f"cross-{number - count}", it, spec))
        for number, (it, spec) in enumerate(placed[count + cross :]):
            made.pings.append(self._ping(f"ping-{number}", it, spec))
        for number, tunnel in enumerate(self.network.tunnels):
            flows = [it for it in made.flows + made.cross if it.placed.tunnel == number]
            self._tunnel(number, tunnel, outside[number], [it.port for it in flows])
        if self.capture:
            self._log_sockets()
        made.table = {
            "spec": spec_text({**self.spec, "flows": [], "tunnels": []}),
            "core": str(core.load().__file__),
            "path": ":".join(_search()),
            "hidden": [it for it in _homes() if os.path.isdir(it)],
            "shown": [it for it in _search() if any(_is_below(it, home) for home in _homes())],
            "hosts": self.hosts,
            "namespaces": self.hosts,
            "ways": self.ways,
            "router": "",
            "router_out": "",
            "router_rate": 0.0,
            "segment": [],
            "lead": round(LEAD * 1e9),
            "warmup": round(experiment.warmup * 1e9),
            "duration": round(experiment.duration * 1e9),
            "capture": self.capture,
            "global_sysctls": {
                "net.ipv4.tcp_mem": "1000000 1000000 1000000",
                "net.core.rmem_max": str(4 << 20),
                "net.core.wmem_max": str(4 << 20),
                "net.ipv4.tcp_allowed_congestion_control": " ".join(CONGESTION_CONTROLS),
            },
            "sysctls": self._sysctls(),
            "configure": self._devices(),
            "traffic": self.traffic,
            "commands": [it.table() for it in self.commands],
        }
        if self.link == "router":
            made.table |= self._routers()
        return made

    def _sysctls(self) -> dict[str, str]:
        tcp, hosts = self.experiment.tcp, self.experiment.hosts
        # Of sockets that choose none: those of tunnels.
        carriers = [kernel_name(it) or "" for it in _carriers(self.experiment)] or ["cubic"]
        return {
            "net.ipv4.tcp_congestion_control": carriers[0],
            "net.ipv4.tcp_rmem": _sizes(131072, hosts.receive_buffer),
            "net.ipv4.tcp_wmem": _sizes(16384, hosts.tcp_wmem),
            "net.ipv4.tcp_moderate_rcvbuf": str(int(hosts.tcp_moderate_rcvbuf)),
            "net.ipv4.tcp_ecn": str(int(tcp.ecn)),
            "net.ipv4.tcp_timestamps": str(int(tcp.timestamps)),
            "net.ipv4.tcp_window_scaling": str(int(tcp.window_scaling)),
            "net.ipv4.tcp_mtu_probing": str(tcp.mtu_probing),
            "net.ipv4.tcp_base_mss": str(tcp.base_mss),
            "net.ipv4.tcp_no_metrics_save": "1",
            "net.ipv4.ip_forward": "1",
            "net.ipv4.conf.all.rp_filter": "0",
            "net.ipv4.conf.default.rp_filter": "0",
            "net.ipv4.icmp_ratelimit": "0",
        }

    def _outside(self, number: int) -> tuple[str, str]:
        """Return the addresses of a tunnel's client and server."""
        route = self._route(number)
        return self._way({"route": route, "extra_delay": {"client": 0, "server": 0}})

    def _route(self, number: int) -> int:
        """Return a tunnel's route: its own, or (a relay's) that of the flows in it."""
        specs = (self.spec["tunnels"][number], *self.spec["flows"])
        found: int = next(
            it["route"] for it in specs if "route" in it and it.get("tunnel", number) == number
        )
        return found

    def _tunnel(
        self, number: int, placed: ResolvedTunnel, outside: tuple[str, str], ports: list[int]
    ) -> None:
        """Start a tunnel's programs at both ends; ``ports``: of the flows in it."""
        inside = _inside(number)
        ends = self.spec["routes"][self._route(number)]["hosts"]
        for end, other in (("client", "server"), ("server", "client")):
            here = end == "server"
            variables = {
                "END": end, "OTHER": other, "HERE": outside[here], "THERE": outside[not here],
                "OWN": inside[here], "PEER": inside[not here], "DEVICE": f"tunnel{number}",
                "PORTS": " ".join(map(str, ports)),
            }  # fmt: skip
            given = "".join(f"{name}={shlex.quote(text)}\n" for name, text in variables.items())
            script = f"set -e\n{given}{catalog.script(placed.keys.name)}\n"
            name = f"tunnel-{number}-{end}"
            argv = ["/bin/sh", "-c", script]
            self.commands.append(Command(self.hosts[ends[end]], -LEAD, name, argv))

    def _log_sockets(self) -> None:
        """Let ss(8) tell of all TCP sockets of each host, as the page on measurements says."""
        text = f"while sleep 0.2; do date +%s.%N; {find('ss') or 'ss'} -tin; done"
        for host in self.hosts:
            self.commands.append(Command(host, -2.0, f"ss-{host}", ["/bin/sh", "-c", text]))

    def _way(self, spec: Mapping[str, Any]) -> tuple[str, str]:
        """Return the addresses of a connection's client and server."""
        if (number := spec.get("tunnel")) is not None:
            entry = self.network.tunnels[number].keys.entry
            if entry.CARRIES_PACKETS and not entry.refuses_streams:
                return _inside(number)
            return "127.0.0.1", "127.0.0.1"  # a relay, beside each application
        route, extra = spec["route"], spec["extra_delay"]
        key = route, extra["client"], extra["server"]
        ends = self.spec["routes"][route]["hosts"]
        is_new = key not in self.classes
        place = self.classes.setdefault(key, len(self.classes) + 1)
        numbers = [(10 << 24) + ((ends[it] + 1) << 16) + place for it in ("client", "server")]
        texts = [".".join(str(it >> shift & 255) for shift in (24, 16, 8, 0)) for it in numbers]
        if is_new:
            self.ways.append((*numbers, route, False, extra["client"], ends["server"]))
            self.ways.append((*numbers[::-1], route, True, extra["server"], ends["client"]))
            for end, text in zip(("client", "server"), texts, strict=True):
                self.addresses[self.hosts[ends[end]]].add(text)
        return texts[0], texts[1]

    def _paths(self, spec: Mapping[str, Any], server: str) -> None:
        """Let the client of a connection of MPTCP have an address for each path but the first.

        Subflows go from these to the only address of the server, and back.
        """
        there = int.from_bytes(bytes(map(int, server.split("."))), "big")
        for path in spec["multipath"]["paths"][1:]:
            route = path["route"]
            ends = self.spec["routes"][route]["hosts"]
            client, host = self._way({**spec, "route": route})[0], self.hosts[ends["client"]]
            here = int.from_bytes(bytes(map(int, client.split("."))), "big")
            self.ways.append((here, there, route, False, 0, ends["server"]))
            self.ways.append((there, here, route, True, 0, ends["client"]))
            backup = " backup" if path["backup"] else ""
            self.endpoints[host].append(f"mptcp endpoint add {client} dev wire subflow{backup}")

    def _rtt(self, spec: Mapping[str, Any]) -> float:
        """Return the RTT of a connection's packets without queues, s."""
        total: int = sum(spec["extra_delay"].values())
        for steps in self.spec["routes"][spec["route"]]["sent"].values():
            for step in steps:
                way = "reverse" if step["is_reverse"] else "forward"
                total += self.spec["links"][step["link"]][way]["delay"]
        return total * 1e-9

    def _flow(
        self, number: int, name: str, placed: ResolvedFlow, spec: Mapping[str, Any]
    ) -> FlowPlan:
        client, server = self._way(spec)
        if spec["multipath"]:
            self._paths(spec, server)
        is_down = placed.direction == "down"
        source, destination = (server, client) if is_down else (client, server)
        found = FlowPlan(placed, "iperf3", name, source, destination, rtt=self._rtt(spec))
        if spec["datagrams"]:
            found = replace(found, kind="datagrams", port=OWN_PORT + number)
            self._own(found, spec)
        elif (
            not self.iperf or placed.flow.rate or placed.bytes is not None or placed.flow.stop
            or spec["multipath"]  # iperf3 3.12 has no MPTCP
            # Its control connection would share the carrier, and be slow to start in it.
            or (spec.get("tunnel") is not None
                and self.network.tunnels[spec["tunnel"]].keys.entry.HAS_CARRIERS)
        ):  # fmt: skip
            found = replace(found, kind="stream", port=OWN_PORT + number)
            self._own(found, spec)
        else:
            found = replace(found, port=IPERF_PORT + number)
            self._iperf(found, spec, client, server)
        return found

    def _own(self, planned: FlowPlan, spec: Mapping[str, Any]) -> None:
        placed, flow = planned.placed, planned.placed.flow
        ends = {"client": placed.client, "server": placed.server}
        other = "client" if placed.sender == "server" else "server"
        self.traffic.append(
            {
                "kind": planned.kind,
                "name": planned.name,
                "sender": {"host": ends[placed.sender], "address": planned.source},
                "receiver": {"host": ends[other], "address": planned.destination},
                "is_down": placed.direction == "down",
                "port": planned.port,
                "start": spec["start"],
                "stop": spec.get("stop") or 0,
                "cc": kernel_name(flow.cc.name) or "",
                "bytes": placed.bytes,
                "rate": flow.rate,
                "write": flow.write_size,
                "window": flow.window,
                "nodelay": self.experiment.tcp.nodelay,
                "mode": "nonblocking",
                "mptcp": flow.mptcp is not None,
                "datagrams": spec["datagrams"],
                "seed": self.experiment.seed * 1000 + planned.port,
            }
        )

    def _iperf(self, planned: FlowPlan, spec: Mapping[str, Any], client: str, server: str) -> None:
        placed, flow = planned.placed, planned.placed.flow
        iperf = find("iperf3") or "iperf3"
        begin = spec["data_start"] * 1e-9
        at = max(begin - (IPERF_ROUNDS - 1) * planned.rtt, -2.9)
        common = [iperf, "-p", str(planned.port), "-i", "0.1", "-J"]
        self.commands.append(
            Command(
                placed.server, -3.0, f"{planned.name}-server", [*common, "-s", "-1", "-B", server]
            )
        )
        last = round(self.experiment.duration - at) + 10
        options = ["-c", server, "-B", client, "-t", str(last),
                   "-C", kernel_name(flow.cc.name) or "", "-l", str(flow.write_size)]  # fmt: skip
        options += ["-R"] if placed.direction == "down" else []
        options += ["-w", str(flow.window)] if flow.window is not None else []
        options += ["-N"] if self.experiment.tcp.nodelay else []
        self.commands.append(
            Command(placed.client, at, f"{planned.name}-client", [*common, *options])
        )

    def _ping(self, name: str, placed: ResolvedFlow, spec: Mapping[str, Any]) -> str:
        client, server = self._way(spec)
        given = spec["datagrams"]
        size = given["last"] - given["header"]
        interval = 8 * given["last"] / given["rate"]
        argv = [find("ping") or "ping", "-n", "-D", "-i", f"{interval:g}", "-s", str(size),
                "-I", client, server]  # fmt: skip
        self.commands.append(Command(placed.client, spec["start"] * 1e-9, name, argv))
        return name

    def _devices(self) -> dict[str, list[str]]:
        found = {}
        tcp = self.experiment.tcp
        options = ""
        if tcp.initial_window != 10:
            options += f" initcwnd {tcp.initial_window}"
        if tcp.min_rto != 0.2:
            options += f" rto_min {round(1e3 * tcp.min_rto)}ms"
        advertised = tcp.mss + tcp.option_bytes
        if advertised != 1460:
            options += f" advmss {advertised}"
        for host in self.hosts:
            lines = ["link set lo up"]
            lines += ["link set wire mtu 1500 txqueuelen 10000 up"]
            lines += [f"address add {it}/32 dev wire" for it in sorted(self.addresses[host])]
            if self.link == "models":
                lines += [f"route add 10.0.0.0/8 dev wire{options}"]
            lines += self.endpoints[host]
            if any(self.endpoints.values()):
                lines += ["mptcp limits set subflow 8 add_addr_accepted 0"]
            found[f"ip {host}"] = lines
        return found

    # ----------------------------------------------------------------------- routers of the kernel

    def _routers(self) -> dict[str, Any]:
        """Two routers in a row: the first has the queue of the data, the second that of ACKs.

        Behind each queue is the delay, and loss at random: netem of the other router's device.
        """
        (client, server), path = self.hosts, self.experiment.path
        # The link's own direction is that of the data, whichever end sends them.
        is_down = not self.spec["routes"][0]["sent"]["server"][0]["is_reverse"]
        is_far = is_down != self.network.bottleneck.is_reverse
        ways = {"client": path.backward if is_down else path, "server": path}
        ways["server"] = path if is_down else path.backward
        link = self.spec["links"][0]
        to_client = link["forward" if is_down else "reverse"]
        to_server = link["reverse" if is_down else "forward"]
        mac = "02:00:00:00:00:01"

        def pair(one: str, device: str, other: str, peer: str) -> list[str]:
            return [
                f"link add {device} address {mac} type veth peer name {peer} address {mac} "
                f"netns {other}",
                f"link set {device} arp off txqueuelen 1000 up",
            ]

        ip: dict[str, list[str]] = {
            "ip near": [
                "link set lo up", *pair("near", "client", client, "wire"),
                *pair("near", "out", "far", "out"),
                "route add 10.1.0.0/16 dev client", "route add 10.2.0.0/16 dev out",
            ],
            "ip far": [
                "link set lo up", "link set out arp off up",
                *pair("far", "server", server, "wire"),
                "route add 10.2.0.0/16 dev server", "route add 10.1.0.0/16 dev out",
            ],
        }  # fmt: skip
        for host, lines in self._devices().items():
            ip[host] = [
                lines[0],
                "link set wire arp off",
                *lines[1:],
                "route add 10.0.0.0/8 dev wire",
            ]
        tc = {
            "tc near": [*self._queue("out", ways["client"], path),
                        _behind("client", to_client)],
            "tc far": [*self._queue("out", ways["server"], path),
                       _behind("server", to_server)],
        }  # fmt: skip
        return {
            "namespaces": [*self.hosts, "near", "far"],
            "router": "far" if is_far else "near",
            "router_out": "out",
            # CAKE lets a packet go at the beginning of its time, tbf and netem at its end.
            "router_rate": 0.0 if isinstance(path.queue, Cake) else path.rate,
            "segment": [(client, "wire"), (server, "wire")],
            "configure": {**ip, **tc},
        }

    def _queue(self, device: str, way: LinkDirection, path: Any) -> list[str]:
        """The commands of tc(8) that make a direction's link and its queue."""
        if way.rate is None:
            return []
        rate = f"{way.rate:.0f}bit"
        room: int = path.queue_bytes(way.buffer, way.rate, 1500)
        packets = max(round(room / 1500), 1)
        # The bytes that disciplines count are those of IP.
        table = f"stab overhead {path.framing_bytes - ETHERNET} linklayer ethernet"
        add = f"qdisc add dev {device}"
        if isinstance(way.queue, Cake):
            shown = f"{(way.queue.bandwidth or way.rate):.0f}bit"
            return [f"{add} root handle 1: {_cake(way.queue, shown)}"]
        child = _discipline(way, packets, room, path)
        if child is None:  # netem's own queue; it counts the packet in service, too
            return [f"{add} root handle 1: {table} netem rate {rate} limit {packets + 1}"]
        return [
            f"{add} root handle 1: {table} tbf rate {rate} burst 1540 limit 100000000",
            f"{add} parent 1: handle 2: {child}",
        ]


def _inside(tunnel: int) -> tuple[str, str]:
    """Return the addresses of both ends in a tunnel."""
    return f"10.200.{tunnel}.1", f"10.200.{tunnel}.2"


def _search() -> list[str]:
    """Return the folders in which programs are looked for."""
    found = (*os.environ.get("PATH", "").split(":"), *_PROGRAMS)
    return [*dict.fromkeys(it for it in found if os.path.isabs(it))]


def _homes() -> list[str]:
    """Return the folders of users, which the programs of a measurement do not see."""
    return [*dict.fromkeys(("/home", "/root", os.path.realpath(os.path.expanduser("~"))))]


def _is_below(folder: str, other: str) -> bool:
    return os.path.commonpath((os.path.realpath(folder), other)) == other


def _sizes(default: int, most: int) -> str:
    """Return the least, the first and the largest size of a buffer; the first is no maximum."""
    return f"{min(4096, most)} {min(default, most)} {most}"


def _behind(device: str, link: Mapping[str, Any]) -> str:
    loss = f" loss {100 * link['loss']:.6g}%" if link.get("loss") else ""
    return (
        f"qdisc add dev {device} root netem delay {link['delay'] / 1e3:.6g}us{loss} limit 1000000"
    )


def _time(seconds: float) -> str:
    return f"{1e6 * seconds:.6g}us"


def _discipline(way: LinkDirection, packets: int, room: int, path: Any) -> str | None:
    """Return a discipline's name and options; None: drop-tail."""
    queue = way.queue
    assert way.rate is not None
    ecn = "ecn" if getattr(queue, "ecn", False) else "noecn"
    if isinstance(queue, Codel):
        return (f"codel limit {packets} target {_time(queue.target)} "
                f"interval {_time(queue.interval)} {ecn}")  # fmt: skip
    if isinstance(queue, FqCodel):
        return (f"fq_codel limit {packets} target {_time(queue.target)} "
                f"interval {_time(queue.interval)} quantum {queue.quantum} "
                f"flows {queue.queues} {ecn}")  # fmt: skip
    if isinstance(queue, Pie):
        return (f"pie limit {packets} target {_time(queue.target)} "
                f"tupdate {_time(queue.interval)} alpha {round(16 * queue.alpha)} "
                f"beta {round(16 * queue.beta)} {ecn if ecn == 'ecn' else ''}").strip()  # fmt: skip
    if isinstance(queue, Red):
        least, most = (
            path.queue_bytes(it, way.rate, 1500)
            for it in (queue.min_threshold, queue.max_threshold)
        )
        words = f"red limit {room} min {least} max {most} avpkt 1500"
        words += f" burst {_red_burst(queue.weight, least / 1500)} bandwidth {way.rate:.0f}bit"
        words += f" probability {queue.max_probability:g}"
        return words + (" ecn harddrop" if queue.ecn else "")
    return None


def _red_burst(weight: float, least: float) -> int:
    """Return the burst from which tc(8) finds a weight, a power of two; least: threshold, packets.

    Of tc_red_eval_ewma() in iproute2, which takes the largest weight with which the average of such
    a burst stays below the threshold.
    """
    wanted = max(round(-math.log2(weight)), 1)

    def found(burst: int) -> int:
        for log in range(1, 32):
            part = 2.0**-log
            if burst + 1 - least <= (1 - (1 - part) ** burst) / part:
                return log
        return 32

    burst = max(math.ceil(least), 1)
    while found(burst) < wanted:
        burst += 1
    return burst


def _cake(queue: Cake, rate: str) -> str:
    overhead = str(queue.overhead)
    words = [f"cake bandwidth {rate} besteffort {queue.isolation} rtt {_time(queue.rtt)}"]
    words += ["raw" if overhead == "raw" else
              overhead if not overhead.isdigit() else f"overhead {overhead}"]  # fmt: skip
    if queue.ack_filter != "none":
        words += ["ack-filter" if queue.ack_filter == "normal" else "ack-filter-aggressive"]
    return " ".join(words)
