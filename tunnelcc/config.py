# SPDX-License-Identifier: GPL-2.0-only
"""Experiments as users write them, in Python and in TOML with the same keys.

Values are given with units and stored in SI units (bit/s, seconds, bytes, probabilities). What
depends on other keys (the window that a receive buffer allows, bytes of one BDP) is worked out in
``derived``. Every error is a ConfigError that names the key.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field, field_validator, model_serializer, model_validator

from tunnelcc import catalog, core, costs, derived, payloads
from tunnelcc.catalog.packets import LEAST_MTU, MOST_MTU, PacketEntry
from tunnelcc.catalog.stream import StreamEntry
from tunnelcc.derived import buffer_bytes
from tunnelcc.errors import MISSING, ConfigError, Problem, nearest
from tunnelcc.kernels import kernels
from tunnelcc.parameters import parse_parameter
from tunnelcc.queues import Queue
from tunnelcc.schema import (
    BUFFER,
    CARRIERS,
    POSITIVE_SHARE,
    PROBABILITY,
    RATE_STEPS,
    SHARE,
    SWITCH,
    TEXT,
    Kind,
    Model,
    choice,
    number,
    rate,
    size,
    time,
    whole,
)
from tunnelcc.traces import TRACE, RateTrace, parse_trace
from tunnelcc.units import Buffer, UnitError, format_probability, format_rate, format_time

MAX_FLOWS = 4096

# Each write is an event of the simulation; cheaper ones would be without number.
_LEAST_WRITE_COST = 1000  # ns

# Options of a TCP segment with timestamps: 12 bytes (RFC 7323, with padding).
_TIMESTAMP_BYTES = 12
_ETHERNET_MSS = 1460

LinkRate = Annotated[float, rate(1e3, 400e9)]
Rtt = Annotated[float, time(1e-6, 60)]
RunTime = Annotated[float, time(1e-3, 100_000)]
Moment = Annotated[float, time(0, 100_000)]
Timer = Annotated[float, time(1e-6, 60)]
Probability = Annotated[float, PROBABILITY]
QueueRoom = Annotated[Buffer, BUFFER]
SocketBuffer = Annotated[int, size(4096, 2**31 - 1)]
Memory = Annotated[int, size(2**20, 2**50)]
KernelVersion = Annotated[str, choice(*kernels())]
Switch = Annotated[bool, SWITCH]
CpuCost = Annotated[float, number(0, 1e6)]


def _parse_profile(value: object) -> str:
    if not isinstance(value, str):
        raise UnitError("the name of a cost profile")
    costs.load(value)
    return value


Profile = Annotated[str, Kind(_parse_profile, str, "a cost profile of `tunnelcc list`, or a file")]


class GilbertElliott(Model):
    """Loss in bursts, by two states: good and bad. The letters are those of netem's gemodel."""

    p: Annotated[float, POSITIVE_SHARE] = Field(
        description="probability that a packet in the good state is the last before the bad one"
    )
    r: Annotated[float, POSITIVE_SHARE] = Field(
        description="probability that a packet in the bad state is the last before the good one: "
        "bad states last 1/r packets in the mean"
    )
    h: Annotated[float, SHARE] = Field(
        0.0, description="share of the packets in the bad state that arrive"
    )
    k: Annotated[float, SHARE] = Field(
        1.0, description="share of the packets in the good state that arrive"
    )

    @model_validator(mode="after")
    def _check(self) -> GilbertElliott:
        if self.h == self.k == 1:
            raise ConfigError(
                Problem("h", "100%", "less than 100% where k is 100%: nothing is lost")
            )
        return self


class Policer(Model):
    """A token bucket in the direction of the data: it drops what exceeds it and delays nothing."""

    rate: LinkRate = Field(description="rate at which tokens come, in bytes as path.rate counts")
    burst: Annotated[int, size(64, 2**30)] = Field(
        65536, description="bytes that pass at once when nothing did before"
    )
    position: Annotated[str, choice("before", "after")] = Field(
        "before", description="in front of the bottleneck's queue, or behind the bottleneck"
    )


class Path(Model):
    """What lies between the two hosts, seen from the sender of the data."""

    rate: LinkRate = Field(
        100e6,
        description="bottleneck rate in the direction of the data; with rate_trace, what 1bdp is "
        "measured with, else the trace's mean",
    )
    rate_steps: Annotated[tuple[tuple[float, float], ...], RATE_STEPS] = Field(
        (), description="later rates in that direction: when, and what"
    )
    rate_trace: Annotated[RateTrace, TRACE] | None = Field(
        None,
        description="rates in that direction from a file: .csv, or a mahimahi trace, which repeats",
    )
    rtt: Rtt = Field(0.04, description="base round-trip time, half of it in each direction")
    loss: Probability = Field(
        0.0, description="random loss of packets in the direction of the data, independent"
    )
    buffer: QueueRoom = Field(
        Buffer(bdp=1.0),
        description="most that waits before the bottleneck, packet in service not counted; "
        "1bdp = rate * rtt",
    )
    queue: Queue = Field(
        default_factory=lambda: Queue(name="drop-tail"),
        description="queue discipline before the bottleneck",
    )
    reverse_rate: LinkRate | None = Field(
        None, description="rate in the direction of the ACKs; not given: not limited"
    )
    reverse_buffer: QueueRoom = Field(
        Buffer(bdp=1.0),
        description="queue before reverse_rate, 1bdp = reverse_rate * rtt; not used without it",
    )
    reverse_loss: Probability = Field(
        0.0, description="random loss of packets in the direction of the ACKs, independent"
    )
    ecn_threshold: QueueRoom | None = Field(
        None,
        description="drop-tail queue above which packets of tcp.ecn are marked; not given: never",
    )
    mtu: Annotated[int, whole(LEAST_MTU, MOST_MTU)] = Field(
        1500,
        description="IP bytes above which the packets of datagram tunnels are fragmented; those of "
        "TCP have tcp.mss",
    )
    framing: Annotated[str, choice("ip", "ethernet")] = Field(
        "ip",
        description="bytes the rate counts: ip packets, or ethernet frames with preamble and gap "
        "(38 bytes more each)",
    )
    loss_pattern: Annotated[str, choice("random", "periodic")] = Field(
        "random",
        description="random: packets are lost independently of each other; periodic: one in every "
        "1/loss is, as response functions assume",
    )
    loss_position: Annotated[str, choice("after", "before")] = Field(
        "after", description="whether random loss acts after the bottleneck or before its queue"
    )
    gilbert_elliott: GilbertElliott | None = Field(
        None, description="loss in bursts in the direction of the data, in place of loss"
    )
    policer: Policer | None = Field(None, description="token bucket in the direction of the data")
    reorder: Probability = Field(
        0.0, description="packets in the direction of the data that come reorder_delay late"
    )
    reorder_delay: Timer = Field(
        0.01, description="how late they are; packets sent within that time overtake them"
    )
    jitter: Annotated[float, time(1e-6, 10, at_zero=True)] = Field(
        0.0,
        description="mean of a random delay of each packet in the direction of the data, on top of "
        "the constant one",
    )
    jitter_distribution: Annotated[str, choice("uniform", "exponential", "half-normal")] = Field(
        "uniform", description="of that delay; uniform: from 0 to twice the mean"
    )
    jitter_reorders: Switch = Field(
        False,
        description="whether packets overtake each other; false: they wait for those before them",
    )

    @model_validator(mode="before")
    @classmethod
    def _mean_rate(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("rate_trace") is not None and "rate" not in data:
            try:
                mean = parse_trace(data["rate_trace"]).mean_rate
            except UnitError:
                return data  # told of where the key is read
            return {**data, "rate": format_rate(mean)}
        return data

    @model_validator(mode="after")
    def _check(self) -> Path:
        problems = list(self._conflicts())
        if problems:
            raise ConfigError(*problems)
        return self

    def _conflicts(self) -> Iterator[Problem]:
        if self.rate_trace is not None and self.rate_steps:
            yield Problem("rate_steps", len(self.rate_steps), "no steps with rate_trace")
        if self.gilbert_elliott is not None and self.loss > 0:
            loss = format_probability(self.loss)
            yield Problem("loss", loss, "no independent loss with gilbert_elliott")
        if self.ecn_threshold is not None and self.queue.name != "drop-tail":
            expected = f"no threshold with {self.queue.name}, which marks by itself"
            yield Problem("ecn_threshold", str(self.ecn_threshold), expected)


class CongestionControl(Model):
    """An algorithm by name, with the parameters that differ from its defaults.

    Written as the name alone or as a table ``{ name = "bbr", probe_rtt_interval = "5s" }``, and
    shown as one key.
    """

    name: str
    parameters: dict[str, float] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        if isinstance(data, str):
            data = {"name": data}
        if not isinstance(data, dict):
            raise ConfigError(Problem("", data, "the name of a congestion control, such as 'bbr'"))
        table = dict(data)
        name = table.pop("name", None)
        parameters = table.pop("parameters", {})
        if not isinstance(parameters, dict):
            raise ConfigError(Problem("parameters", parameters, "a table of numbers"))
        parameters = {**parameters, **table}
        if not isinstance(name, str) or not core.has_congestion_control(name):
            known = (*core.congestion_controls(), *core.ns3_congestion_controls())
            expected = "one of " + ", ".join(core.congestion_controls()) + " or an ns-3 TypeId"
            raise ConfigError(Problem("", name, expected, nearest(str(name), known)))
        return {"name": name, "parameters": _read_parameters(name, parameters)}

    @model_serializer
    def _write(self) -> Any:
        return {"name": self.name, **self.parameters} if self.parameters else self.name


def _read_parameters(name: str, parameters: dict[str, Any]) -> dict[str, float]:
    if not parameters:
        return {}
    known = {parameter.name: parameter for parameter in core.congestion_parameters(name)}
    values = {}
    for key, value in parameters.items():
        if key not in known:
            expected = f"a parameter of {name}: " + (", ".join(known) or "it has none")
            raise ConfigError(Problem(key, value, expected, nearest(key, known)))
        try:
            values[key] = parse_parameter(known[key], value)
        except UnitError as error:
            raise ConfigError(Problem(key, value, error.expected, error.hint)) from None
    return values


class Flow(Model):
    """One application's byte stream, or ``count`` equal ones."""

    cc: CongestionControl = Field(
        default_factory=lambda: CongestionControl(name="cubic"),
        description="congestion control of the applications' sockets",
    )
    count: Annotated[int, whole(1, MAX_FLOWS)] = Field(1, description="number of such flows")
    start: Moment = Field(0.0, description="when the flow connects; start_jitter comes on top")
    stop: Moment | None = Field(
        None,
        description="when the application writes no more and closes; start_jitter comes on top; "
        "not given: at the end of the run",
    )
    rtt: Rtt | None = Field(None, description="base round-trip time of the flow, else path.rtt")
    bytes: Annotated[int, size(1, 2**50)] | None = Field(
        None, description="bytes to send, then the connection closes; not given: until the end"
    )
    rate: LinkRate | None = Field(
        None,
        description="rate at which the application writes, write_size at a time; not given: as "
        "fast as its socket takes",
    )
    preamble: Annotated[int, size(0, 2**20)] | None = Field(
        None,
        description="bytes that the client writes on connecting; else 0, and 37 (iperf3's cookie) "
        "where direction is down: the server sends when it has read some",
    )
    data_start: Moment | None = Field(
        None,
        description="when the data begin, if later than the connection; start_jitter comes on top",
    )
    payload: Annotated[str, choice(*payloads.CORPORA)] = Field(
        "random",
        description="what the data are, for tunnels that compress: a payload of `tunnelcc list`, "
        "the same for all flows",
    )
    write_size: Annotated[int, size(1, 2**24)] = Field(
        131072,
        description="bytes per application write (iperf3: 128 KiB); with rate, each write is a "
        "message whose latency is measured",
    )
    user: Annotated[str, TEXT] | None = Field(
        None, description="to whom the flow belongs; not given: to a user of its own"
    )

    @model_validator(mode="after")
    def _check(self) -> Flow:
        if self.data_start is not None and self.data_start < self.start:
            raise ConfigError(Problem("data_start", self.data_start, "a time not before start"))
        begin = self.start if self.data_start is None else self.data_start
        if self.stop is not None and self.stop <= begin:
            expected = f"a time after the data begin, {format_time(begin)}"
            raise ConfigError(Problem("stop", format_time(self.stop), expected))
        if self.rate is not None and self.write_size * 8e9 < self.rate * _LEAST_WRITE_COST:
            expected = "writes that are 1us or more apart at flows.rate"
            raise ConfigError(Problem("write_size", self.write_size, expected))
        return self


class Hop(Model):
    """A relay of a chain, a host like the server, and the path beyond it.

    What is not given is as in ``path``.
    """

    rate: LinkRate | None = Field(None, description="bottleneck rate beyond a relay")
    rtt: Rtt | None = Field(None, description="base round-trip time beyond it")
    loss: Probability | None = Field(None, description="random loss beyond it")
    buffer: Annotated[Buffer, BUFFER] | None = Field(None, description="queue beyond it")
    cc: CongestionControl | None = Field(
        None, description="congestion control of the carriers beyond it, else the first carrier's"
    )

    def path(self, first: Path) -> Path:
        """Return the path beyond the relay."""
        changes = {name: getattr(self, name) for name in ("rate", "rtt", "loss", "buffer")}
        given = {name: value for name, value in changes.items() if value is not None}
        return first.model_copy(update={"rate_steps": (), **given})


class Tunnel(Model):
    """A catalogue entry by name or by the path of a TOML file, and what differs from it."""

    name: str = Field(
        description="`tunnelcc list` shows the names; none: no tunnel; or the path of a .toml file"
    )
    cc: CongestionControl | None = Field(
        None, description="congestion control of the carrier, else that of the flow"
    )
    copy_buffer: Annotated[int, size(1024, 2**24)] | None = Field(
        None, description="bytes that a relay reads and forwards at once, else the entry's"
    )
    mode: Annotated[str, TEXT] | None = Field(
        None, description="how a tunnel of packets is run, such as its cipher, else the entry's"
    )
    mtu: Annotated[int, whole(LEAST_MTU, MOST_MTU)] | None = Field(
        None,
        description="largest packet (IP bytes) that a tunnel's device takes, else the entry's",
    )
    mss: Annotated[int, whole(128, MOST_MTU)] | None = Field(
        None,
        description="MSS (bytes, TCP options included) to which the tunnel clamps connections "
        "through it, else the entry's",
    )
    queue: Annotated[int, whole(1, 2**20)] | None = Field(
        None, description="packets that wait at the tunnel's device at most, else the entry's"
    )
    carriers: Annotated[str | int, CARRIERS] | None = Field(
        None,
        description="who shares a carrier: all flows, those of a user, none (flow), or a number of "
        "carriers that flows take in turn; not given: all where the tunnel multiplexes, else flow",
    )
    stream_window: Annotated[int, size(1024, 2**30)] | None = Field(
        None,
        description="bytes that a stream on a shared carrier may have under way unread, as with "
        "smux version 2, else the entry's",
    )
    chain: tuple[Hop, ...] = Field(
        (), description="further relays, in order from the client, each with a path beyond it"
    )

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        if isinstance(data, str):
            _check_tunnel("", data)
            return {"name": data}
        if isinstance(data, dict):
            if "name" not in data:
                raise ConfigError(Problem("name", MISSING, "a tunnel, for its other keys to hold"))
            _check_tunnel("name", data["name"])
        return data

    @field_validator("chain", mode="before")
    @classmethod
    def _any_number_of_hops(cls, chain: Any) -> Any:
        return (chain,) if isinstance(chain, (Hop, dict)) else chain

    @model_validator(mode="after")
    def _check(self) -> Tunnel:
        entry = catalog.load(self.name)
        for key in type(self).model_fields:
            value = getattr(self, key)
            if key != "name" and value not in (None, ()) and key not in entry.OVERRIDES:
                expected = f"no value with {entry.name}, whose keys are " + ", ".join(
                    entry.OVERRIDES
                )
                raise ConfigError(Problem(key, value, expected))
        if isinstance(entry, PacketEntry):
            entry.layers(self.mode)
        if isinstance(entry, catalog.RelayEntry) and entry.mux is None:
            expected = f"no value with {entry.name}, which has a carrier for each flow"
            if self.stream_window is not None:
                raise ConfigError(Problem("stream_window", self.stream_window, expected))
            if self.carriers not in (None, "flow"):
                raise ConfigError(Problem("carriers", self.carriers, expected))
        return self

    @model_serializer
    def _write(self) -> Any:
        table: dict[str, Any] = {"name": self.name}
        if self.cc is not None:
            table["cc"] = self.cc.model_dump()
        for key in ("copy_buffer", "carriers", "stream_window", "mode", "mtu", "mss", "queue"):
            if getattr(self, key) is not None:
                table[key] = getattr(self, key)
        if self.chain:
            table["chain"] = [hop.table() for hop in self.chain]
        return table if len(table) > 1 else self.name


def _check_tunnel(key: str, name: object) -> None:
    if not isinstance(name, str):
        raise ConfigError(Problem(key, name, "the name of a tunnel"))
    try:
        catalog.load(name)
    except ConfigError as error:
        raise ConfigError(*(problem.below(key) for problem in error.problems)) from None


class Tcp(Model):
    """Connections across the path. Those on a host's loopback are the tunnel's affair."""

    mss: Annotated[int, whole(88, 65483)] = Field(
        _ETHERNET_MSS - _TIMESTAMP_BYTES,
        description="payload bytes of a full segment; 1460 without timestamps",
    )
    timestamps: Switch = Field(True, description="RFC 7323 timestamps: 12 bytes in each segment")
    initial_window: Annotated[int, whole(1, 1000)] = Field(10, description="segments (RFC 6928)")
    min_rto: Timer = Field(0.2, description="least retransmission time-out (Linux TCP_RTO_MIN)")
    delayed_ack: Timer = Field(0.04, description="longest delay of an ACK (Linux TCP_DELACK_MIN)")
    ack_every: Annotated[int, whole(1, 64)] = Field(2, description="segments per ACK")
    pacing_quantum: Annotated[float, time(1e-6, 1, at_zero=True)] = Field(
        0.001, description="time's worth of data in one burst (Linux TSO); 0: packet by packet"
    )
    ecn: Switch = Field(False, description="explicit congestion notification (RFC 3168)")
    nodelay: Switch = Field(False, description="no Nagle algorithm (TCP_NODELAY)")

    @model_validator(mode="before")
    @classmethod
    def _default_mss(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("timestamps") is False and "mss" not in data:
            return {**data, "mss": _ETHERNET_MSS}
        return data

    @property
    def header_bytes(self) -> int:
        """IPv4 and TCP headers of a segment."""
        return 40 + (_TIMESTAMP_BYTES if self.timestamps else 0)

    @property
    def syn_bytes(self) -> int:
        """A SYN with MSS, SACK permitted, window scale and, if on, timestamps."""
        return 60 if self.timestamps else 52


class HostOverrides(Model):
    """What differs on one of the two hosts; the keys mean what they mean in ``hosts``."""

    kernel: KernelVersion | None = None
    tcp_rmem: SocketBuffer | None = None
    tcp_wmem: SocketBuffer | None = None
    tcp_adv_win_scale: Annotated[int, whole(-31, 31)] | None = None
    tcp_moderate_rcvbuf: Switch | None = None
    cores: Annotated[int, whole(1, 1024)] | None = None
    speed: Annotated[float, number(0, 1000, above=True)] | None = None
    memory: Memory | None = None
    tcp_memory: Memory | None = None
    app_cost: CpuCost | None = None
    switch_cost: CpuCost | None = None


class Hosts(Model):
    """The two hosts, equal unless ``client`` or ``server`` says otherwise."""

    kernel: KernelVersion = Field("6.18", description="Linux version, for the use of buffers")
    tcp_rmem: SocketBuffer = Field(6 * 2**20, description="net.ipv4.tcp_rmem, the maximum")
    tcp_wmem: SocketBuffer = Field(4 * 2**20, description="net.ipv4.tcp_wmem, the maximum")
    tcp_adv_win_scale: Annotated[int, whole(-31, 31)] | None = Field(
        None, description="net.ipv4.tcp_adv_win_scale, 1 on kernel 5.10; later kernels ignore it"
    )
    tcp_moderate_rcvbuf: Switch = Field(
        True,
        description="net.ipv4.tcp_moderate_rcvbuf: windows grow with what is read; false: "
        "they have their full size at once",
    )
    cores: Annotated[int, whole(1, 1024)] = Field(2, description="CPU cores")
    speed: Annotated[float, number(0, 1000, above=True)] = Field(
        1.0, description="of a core, relative to the host where the tunnel's costs were measured"
    )
    memory: Memory | None = Field(
        None, description="RAM; sets tcp_memory as Linux does (tcp_mem); not given: not limited"
    )
    tcp_memory: Memory | None = Field(
        None, description="bytes all sockets may hold together, else from memory"
    )
    profile: Profile | None = Field(
        None,
        description="what operations cost: a profile of `tunnelcc list`, or a file written by "
        "`tunnelcc calibrate-host`; not given: reference-host for tunnels of packets, and the "
        "applications' system calls and switches between threads cost nothing",
    )
    app_cost: CpuCost = Field(
        0.0,
        description="CPU time of the application, ns per byte, one thread for all flows; with a "
        "profile, its system calls come on top",
    )
    switch_cost: CpuCost | None = Field(
        None, description="CPU time of a core's change to another thread, ns, else the profile's"
    )
    one_machine: Switch = Field(
        False, description="both hosts are on one machine, say in network namespaces, and share it"
    )
    client: HostOverrides = Field(default_factory=HostOverrides)
    server: HostOverrides = Field(default_factory=HostOverrides)

    def of(self, side: str) -> Hosts:
        """Return the host called ``side`` (client or server), without overrides."""
        if not (self.client.model_fields_set or self.server.model_fields_set):
            return self
        overrides: HostOverrides = getattr(self, side)
        changed = {
            name: value
            for name in HostOverrides.model_fields
            if (value := getattr(overrides, name)) is not None
        }
        return self.model_copy(
            update={**changed, "client": HostOverrides(), "server": HostOverrides()}
        )

    @model_validator(mode="after")
    def _check(self) -> Hosts:
        for prefix, side in (
            ("", self),
            ("client.", self.of("client")),
            ("server.", self.of("server")),
        ):
            kernel = kernels()[side.kernel]
            if side.tcp_adv_win_scale is not None and not kernel.has_adv_win_scale:
                raise ConfigError(
                    Problem(
                        f"{prefix}tcp_adv_win_scale",
                        side.tcp_adv_win_scale,
                        f"no value with kernel {side.kernel}, where it has no effect",
                    )
                )
        client, server = self.of("client"), self.of("server")
        for key in ("cores", "speed", "memory", "tcp_memory", "switch_cost"):
            if self.one_machine and getattr(client, key) != getattr(server, key):
                expected = "equal values on client and server, which are on one machine"
                raise ConfigError(Problem(key, getattr(server, key), expected))
        return self


class CrossTraffic(Model):
    """UDP traffic in the direction of the data, at a constant rate while it sends."""

    rate: LinkRate = Field(description="rate in IP bytes while it sends")
    packet: Annotated[int, size(28, 65535)] = Field(1500, description="IP bytes of a datagram")
    start: Moment = Field(0.0, description="when it begins")
    stop: Moment | None = Field(None, description="when it ends; not given: with the run")
    on: Timer | None = Field(
        None, description="how long it sends before each silence; not given: all the time"
    )
    off: Timer | None = Field(None, description="how long each silence is; goes with on")

    @model_validator(mode="after")
    def _check(self) -> CrossTraffic:
        if (self.on is None) != (self.off is None):
            given, missing = ("on", "off") if self.off is None else ("off", "on")
            raise ConfigError(Problem(missing, MISSING, f"a time, as {given} is given"))
        if self.stop is not None and self.stop <= self.start:
            raise ConfigError(
                Problem("stop", format_time(self.stop), f"after start = {format_time(self.start)}")
            )
        return self


class Experiment(Model):
    """One path, its flows, the tunnel they go through: one simulation."""

    title: Annotated[str, TEXT] = Field("", description="heading of tables and plots")
    path: Path = Field(default_factory=Path)
    flows: tuple[Flow, ...] = Field(default_factory=lambda: (Flow(),))
    cross_traffic: tuple[CrossTraffic, ...] = ()
    tunnel: Tunnel | None = Field(None, description="tunnel of all flows")
    direction: Annotated[str, choice("up", "down")] = Field(
        "up", description="up: the client sends; down: the server does"
    )
    tcp: Tcp = Field(default_factory=Tcp)
    hosts: Hosts = Field(default_factory=Hosts)
    duration: RunTime = Field(30.0, description="simulated time, warm-up included")
    warmup: Moment = Field(0.0, description="time before measurements begin")
    probe_interval: Annotated[float, time(1e-4, 3600)] = Field(
        0.1, description="time between samples of the series"
    )
    start_jitter: Annotated[float, time(1e-6, 60, at_zero=True)] = Field(
        0.005, description="each flow starts up to this much later, drawn from the seed"
    )
    seed: Annotated[int, whole(0, 2**63 - 1)] = Field(
        1, description="of every random draw; equal seeds give equal results"
    )

    @field_validator("flows", mode="before")
    @classmethod
    def _one_or_more(cls, flows: Any) -> Any:
        flows = [flows] if isinstance(flows, (Flow, dict)) else flows
        if not isinstance(flows, (list, tuple)) or not flows:
            raise ConfigError(Problem("", flows, "a list of at least one flow"))
        return tuple(flows)

    @field_validator("cross_traffic", mode="before")
    @classmethod
    def _any_number(cls, sources: Any) -> Any:
        return (sources,) if isinstance(sources, (CrossTraffic, dict)) else sources

    @field_validator("tunnel", mode="before")
    @classmethod
    def _no_tunnel(cls, tunnel: Any) -> Any:
        name = tunnel.get("name") if isinstance(tunnel, dict) else tunnel
        return None if name == "none" else tunnel

    @model_validator(mode="after")
    def _check(self) -> Experiment:
        problems = list(self._problems())
        if problems:
            raise ConfigError(*problems)
        return self

    def _problems(self) -> Iterator[Problem]:
        count = sum(flow.count for flow in self.flows)
        if count > MAX_FLOWS:
            yield Problem("flows", count, f"at most {MAX_FLOWS} flows in all")
        if self.warmup >= self.duration:
            expected = f"a time before the end (duration = {format_time(self.duration)!r})"
            yield Problem("warmup", format_time(self.warmup), expected)
        if self.probe_interval > self.duration:
            yield Problem(
                "probe_interval", format_time(self.probe_interval), "at most the duration"
            )
        for index, flow in enumerate(self.flows):
            for key in ("start", "data_start"):
                moment = getattr(flow, key)
                if moment is not None and moment >= self.duration:
                    expected = "a time before the end of the run"
                    yield Problem(f"flows.{index}.{key}", format_time(moment), expected)
            if flow.payload != self.flows[0].payload:
                expected = "the payload of flows.0, as a tunnel compresses alike for all flows"
                yield Problem(f"flows.{index}.payload", flow.payload, expected)
            if flow.preamble == 0 and self.direction == "down":
                expected = "at least 1 byte where direction is down: the server waits for a request"
                yield Problem(f"flows.{index}.preamble", 0, expected)
        yield from self._problems_in_stream()
        for index, source in enumerate(self.cross_traffic):
            if source.start >= self.duration:
                expected = "a time before the end of the run"
                yield Problem(f"cross_traffic.{index}.start", format_time(source.start), expected)
        missing = list(self._missing_costs())
        yield from missing
        for side in ("client", "server") if not missing else ():
            per_byte = derived.app_cost(self, side) / self.hosts.of(side).speed
            for index, flow in enumerate(self.flows):
                cost = flow.write_size * per_byte
                if 0 < cost < _LEAST_WRITE_COST:
                    expected = (
                        "writes that occupy the CPU for 1us or more (hosts.app_cost, hosts.speed), "
                        "as a system call does"
                    )
                    yield Problem(f"flows.{index}.write_size", flow.write_size, expected)
        yield from self._buffer_problems()

    def _missing_costs(self) -> Iterator[Problem]:
        """Tell of an operation whose cost hosts.profile does not know."""
        entry = catalog.load(self.tunnel.name) if self.tunnel else None
        try:
            for side in ("client", "server"):
                derived.app_cost(self, side)
                derived.switch_cost(self.hosts.of(side))
            if isinstance(entry, PacketEntry):
                derived.packet_cost(self, entry, encapsulates=True)
                derived.packet_cost(self, entry, encapsulates=False)
        except ConfigError as error:
            yield from (problem.below("hosts.profile") for problem in error.problems)

    def _problems_in_stream(self) -> Iterator[Problem]:
        """A tunnel's one connection crosses the path for all flows."""
        if self.tunnel is None or not isinstance(catalog.load(self.tunnel.name), StreamEntry):
            return
        for index, flow in enumerate(self.flows):
            if flow.rtt is not None:
                expected = f"no value with {self.tunnel.name}: all flows cross path.rtt in it"
                yield Problem(f"flows.{index}.rtt", format_time(flow.rtt), expected)

    def _buffer_problems(self) -> Iterator[Problem]:
        packet = derived.largest_packet(self)
        yield from self._queue_problems(packet)
        for key, bottleneck in (
            ("buffer", self.path.rate),
            ("reverse_buffer", self.path.reverse_rate),
        ):
            buffer: Buffer = getattr(self.path, key)
            if bottleneck and buffer.packets is None:
                room = buffer_bytes(buffer, bottleneck, self.path.rtt)
                needed = packet if key == "buffer" else self.tcp.syn_bytes
                if room < needed:
                    yield Problem(
                        f"path.{key}", str(buffer), f"room for one packet, {needed} bytes",
                        f"it is {room} bytes",
                    )  # fmt: skip

    def _queue_problems(self, packet: int) -> Iterator[Problem]:
        """``packet``: bytes of a full segment."""
        path = self.path
        if path.policer is not None and path.policer.burst < packet:
            expected = f"room for one packet, {packet} bytes"
            yield Problem("path.policer.burst", path.policer.burst, expected)
        if path.queue.name == "red":
            least, most = (
                derived.queue_bytes(self, path.queue.value(key))
                for key in ("min_threshold", "max_threshold")
            )
            if not 0 < least < most:
                expected = f"less than max_threshold, {path.queue.value('max_threshold')}"
                yield Problem(
                    "path.queue.min_threshold", str(path.queue.value("min_threshold")), expected
                )
