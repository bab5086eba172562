# SPDX-License-Identifier: GPL-2.0-only
"""What limited each flow: the thing, its value, and the key that changes it.

Each sender of a run, and each stream on a shared carrier, counts for how long it waited and why
(``models/transport/send-limits.h``). From these times this module follows a flow along its
connections. The search begins at the connection across the path. If that one waited for data, the
reason lies before it, in the direction of the data; if it waited for its receiver, behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

from tunnelcc.config.queue import Cake
from tunnelcc.hosts.kernels import kernels
from tunnelcc.metrics import limits
from tunnelcc.metrics.samples import mean, median
from tunnelcc.network.connection import UNSCALED_WINDOW
from tunnelcc.network.topology import Step
from tunnelcc.schema.units import format_rate, format_size

if TYPE_CHECKING:
    from tunnelcc.catalog.relay import RelayEntry
    from tunnelcc.config.path import LinkDirection, Policer
    from tunnelcc.network.resolved import ResolvedFlow, ResolvedNetwork

# Above this utilisation, on average or for most of the time, the link is what limits.
_FULL = 0.95

# A link that is used this much is the limit although losses keep windows small: without them, flows
# would gain less.
_NEARLY_FULL = 0.8

# A program that is busy for this part of the time that its threads have, and more than the link, is
# what limits: after a loss, a congestion window leaves it idle until it has grown again.
_BUSY = 0.7

# A program that is busy for less than this did not limit: between bursts, it waited for more.
_SATURATED = 0.9

# A congestion window that nothing keeps small grows: what it meets for this share of the time is
# the limit.
_OFTEN = 0.2

# Above this share of packets that the queue drops, repairing them is what fills KCP's window.
_MANY = 0.05

# A flow with this share of all bytes has the link to itself.
_MOST = 0.9

_WINDOWS = ("send_buffer", "stream_window", "connection_window", "send_window", "receive_window")

# Limits that the network sets through congestion control.
_OF_NETWORK = ("congestion_window", "pacing")

# Limits behind which a busy program may be: it does not read, so that windows close, or it sends
# late, so that nothing else is left to wait for.
_OF_PROGRAMS = (*_WINDOWS, *_OF_NETWORK, "handshake")

# A flow has the rate that its application wants, but for the packets under way.
_ALL = 0.98


@dataclass(frozen=True)
class Limited:
    """What limited a flow.

    ``limit``: a name of ``metrics.limits.LIMITS``, or ``link``, ``queue``, ``policer``,
    ``device_queue``, ``socket_queue``, ``random_loss``; "": the flow was never active after the
    warm-up. ``what``: the thing, in words. ``value``: its value with a unit; "": it has none.
    ``key``: the key that changes it; "": there is none. ``share``: part of the flow's time for
    which the limit held. ``leg``: the connection.
    """

    limit: str
    what: str
    value: str
    key: str
    share: float
    leg: str

    @property
    def text(self) -> str:
        """The thing and its value: ``smux's stream window (16KiB)``."""
        return f"{self.what} ({self.value})" if self.value else self.what


NOTHING = Limited("", "", "", "", 0.0, "")


def path_leg(names: Sequence[str]) -> int:
    """Return which of a flow's legs crosses the path: the carrier, or a plain flow's only one."""
    return names.index("carrier") if "carrier" in names else 0


def of_flows(run: Any) -> list[Limited]:
    """Return what limited each flow of a run, its Parts."""
    return [
        NOTHING if flow.flow.transport == "udp" else _Flow(run, index, flow).limited()
        for index, flow in enumerate(run.network.flows)
    ]


class _Flow:
    """One flow, and its connections in the direction of its data."""

    def __init__(self, run: Any, index: int, placed: ResolvedFlow) -> None:
        self.run, self.index, self.placed = run, index, placed
        self.network: ResolvedNetwork = run.network
        self.connection = placed.connection
        self.is_up = placed.direction == "up"
        self.tunnel = self.connection.tunnel
        self.entry = self.tunnel.entry if self.tunnel else None
        self.legs = list(run.legs[index])
        channels = list(run.measured["flow_channels"][index])
        # In a tunnel of packets, the connection of the applications goes through the carrier.
        if not self.is_up and self._kind != "stream":
            self.legs.reverse()
            channels.reverse()
        hops = [number for number, leg in enumerate(self.legs) if leg.name.startswith("carrier")]
        self.channels = dict(zip(hops, channels, strict=False))

    @property
    def _kind(self) -> str:
        """The kind of the tunnel. Its class would import those of all layers."""
        return self.entry.kind if self.entry is not None else ""

    @property
    def sender(self) -> str:
        """The end of the tunnel at which the data enter."""
        return self.connection.in_tunnel.sender

    @property
    def receiver(self) -> str:
        """The end at which they leave it."""
        return "server" if self.sender == "client" else "client"

    def limited(self) -> Limited:
        """Return what limited the flow."""
        if self.run["flow_completed_at"][self.index] <= self.run.experiment.warmup:
            return NOTHING  # a carrier goes on with other flows
        found = self._follow()
        if found.limit in ("", "application"):
            return found
        if self._has_all():
            return Limited("application", *self._application(""), found.share, "app")
        # A window that a flow fills although it has the whole link to itself is no limit.
        if found.limit in (*_WINDOWS, "cpu") and self._has_full_link(found.key):
            return Limited("link", *self._rate(self._step), found.share, found.leg)
        share, host = self._most_often_busy()
        if found.limit in _OF_PROGRAMS and share > 0.5:
            cpu = self._cpu_of(host, self._program("carrier"))
            return Limited("cpu", *cpu, share, found.leg)
        return found

    def _has_all(self) -> bool:
        """Whether the flow has the rate that its application wants."""
        rate = self.placed.flow.rate
        if rate is None:
            return False
        goodput = mean(self.run["flow_goodput_series"][self.index][self._measured])
        return bool(goodput >= _ALL * rate)

    def _has_full_link(self, key: str) -> bool:
        """Whether the flow has a full link to itself, or shares it with flows of the same limit.

        ``key``: of its limit. To raise that of all flows gains nothing.
        """
        if not self._is_full(self._step):
            return False
        return self._is_alone or key.startswith("hosts.")

    @cached_property
    def _is_alone(self) -> bool:
        """Whether nearly all that flows deliver is the flow's."""
        flows = self.run.flows
        all_bytes = sum(flow.delivered_bytes for flow in flows)
        return bool(flows[self.index].delivered_bytes >= _MOST * all_bytes)

    def _is_full(self, step: Step) -> bool:
        """Whether a link is full: the start of a flow, when it cannot be, may not decide."""
        used, scale = self._utilisation(step), self._shaped(step)
        if not _FULL / 2 <= used < _FULL:
            return used >= _FULL
        series, during = self.run.way(step).utilisation_series, self._during
        return bool(during.any() and scale * median(series[during]) >= _FULL)

    def _utilisation(self, step: Step) -> float:
        """The mean utilisation of a link while the flow was active, after the warm-up."""
        link = self.run.way(step)
        if self._is_always_active:
            return float(self._shaped(step) * link.utilisation)
        return self._shaped(step) * mean(link.utilisation_series[self._during])

    def _shaped(self, step: Step) -> float:
        """The rate of a link divided by that of its shaper, as bytes of packets; 1: it has none."""
        link, shaper = self.run.way(step), self._shaper(step)
        if shaper is None or link.packets <= link.queue_drops:
            return 1.0
        packet = link.bytes_sent / (link.packets - link.queue_drops)
        rate = self.network.direction(step).rate or 0.0
        return float(rate / (shaper.bandwidth or inf) * shaper.shaped_bytes(packet) / packet)

    @cached_property
    def _measured(self) -> Any:
        """Which samples are those after the warm-up."""
        return self.run["time"] > self.run.experiment.warmup

    @cached_property
    def _during(self) -> Any:
        """Which of these are of the time in which the flow was active, as far as it is known."""
        time, interval = self.run["time"], self.run.experiment.probe_interval
        begin = self.run["flow_start"][self.index]
        end = self.run["flow_completed_at"][self.index]
        is_before = time <= begin  # no sample is before what is not a number
        return self._measured & ~is_before & ~(time >= end + interval)

    @cached_property
    def _is_always_active(self) -> bool:
        return bool((self._during == self._measured).all() or not self._during.any())

    def _follow(self) -> Limited:
        """Follow the flow from the connection across the path to the limit."""
        if not self.legs:
            return NOTHING
        place = self._slowest_hop()
        shares = self._shares(place)
        name = max(shares, key=lambda it: shares[it])
        if not shares[name]:
            return NOTHING
        if name == "application":
            for before in range(place - 1, -1, -1):
                earlier = self._shares(before)
                own = max(earlier, key=lambda it: earlier[it])
                is_hop = self.legs[before].name.startswith("carrier")
                is_loopback = self._kind == "relay" and not is_hop
                if own in ("receive_window", "send_buffer") and is_loopback:
                    # The application had data: the relay took them when it could, so what is left
                    # of the next connection's time tells.
                    later = self._shares(before + 1)
                    rest = {it: share for it, share in later.items() if it != "application"}
                    name = max(rest, key=lambda it: rest[it])
                    return self._named(name, before + 1, rest[name])
                if own != "application" or before == 0:
                    return self._named(own, before, earlier[own])
        if name == "receive_window":
            for behind in range(place + 1, len(self.legs)):
                later = self._shares(behind)
                own = max(later, key=lambda it: later[it])
                if own in ("application", "handshake"):
                    break  # it waited for data itself
                if own != "receive_window":
                    return self._named(own, behind, later[own])
        return self._named(name, place, shares[name])

    def _slowest_hop(self) -> int:
        """The connection across the path; of a chain, the last hop that does not wait for data."""
        names = [leg.name for leg in self.legs]
        hops = [place for place, name in enumerate(names) if name.startswith("carrier")]
        for place in reversed(hops[1:]):
            if limits.largest(self._shares(place))[0] not in ("application", "handshake"):
                return place
        return path_leg(names)

    def _shares(self, place: int) -> dict[str, float]:
        """Return the share of each limit in the time of a connection, or of the flow's stream."""
        return self._without_idle_cpu(self._measured_shares(place))

    def _without_idle_cpu(self, shares: dict[str, float]) -> dict[str, float]:
        """Count the time of a program that is not always busy as that of what it waited for."""
        waits = {it: share for it, share in shares.items() if it != "cpu" and share > 0}
        if not shares["cpu"] or not waits or self._most_busy()[0] >= _SATURATED:
            return shares
        longest = max(waits, key=lambda it: waits[it])
        return {**shares, "cpu": 0.0, longest: shares[longest] + shares["cpu"]}

    def _measured_shares(self, place: int) -> dict[str, float]:
        leg = self.legs[place]
        times = self._times(leg)
        own = limits.shares(self._until_end(times) if leg.name.startswith("carrier") else times)
        if place not in self.channels:
            return own
        times = dict(zip(limits.LIMITS, self.channels[place], strict=True))
        stream = limits.shares(self._until_end(times))
        # While the stream waited for the carrier, the carrier's limits held, as far as it had data.
        waits = stream.pop("send_buffer")
        # So they did while its window was full although the carrier had data: what fills the
        # window then waits in the carrier.
        full = stream.get("stream_window", 0.0) + stream.get("connection_window", 0.0)
        busy = max(full - own["application"], 0.0)
        for name in ("stream_window", "connection_window") if busy else ():
            stream[name] -= busy * stream[name] / full
        waits += busy
        active = sum(share for name, share in own.items() if name != "application")
        scale = waits / active if active else 0.0
        return {
            name: stream.get(name, 0.0) + (scale * own[name] if name != "application" else 0.0)
            for name in limits.LIMITS
        }

    def _times(self, leg: Any) -> dict[str, float]:
        """Return how long each limit of a connection held, s."""
        measured = self.run.measured
        return {name: float(measured[f"limit_{name}"][leg.place]) for name in limits.LIMITS}

    def _until_end(self, times: dict[str, float]) -> dict[str, float]:
        """Leave out for how long a carrier, or a stream in it, waited on when the flow was over."""
        app = next(it for it in self.legs if it.name == "app")
        after = max(sum(times.values()) - sum(self._times(app).values()), 0.0)
        return {**times, "application": max(times["application"] - after, 0.0)}

    def _named(self, name: str, place: int, share: float) -> Limited:
        """Name a limit of a connection, its value and its key."""
        leg = self.legs[place].name
        if name in _OF_NETWORK and leg != "target":
            return self._of_network(name, place, share)
        name_it: dict[str, Callable[[str], tuple[str, str, str]]] = {
            "application": self._application,
            "cpu": self._cpu,
            "send_buffer": self._send_buffer,
            "stream_window": self._stream_window,
            "connection_window": self._connection_window,
            "send_window": self._send_window,
            "receive_window": self._receive_window,
        }
        if name.endswith("_window") and self._overflows(leg):
            if (policer := self._policer(self._step)) is not None:
                return Limited("policer", *policer, share, leg)
            # A larger queue helps only where the link is idle between bursts.
            way, whose = self._direction, "which drops much of what KCP's windows let go"
            if way.rate is not None and self._link().utilisation >= _BUSY:
                what, value, key = self._rate(self._step)
                return Limited("link", f"{what}, {whose}", value, key, share, leg)
            what, key = f"the bottleneck's queue, {whose}", self._link_key("buffer")
            return Limited("queue", what, str(way.buffer), key, share, leg)
        if name in name_it:
            return Limited(name, *name_it[name](leg), share, leg)
        return Limited(name, f"the {limits.LIMITS[name]}", "", "", share, leg)

    def _application(self, leg: str) -> tuple[str, str, str]:
        flow, what = self.placed.flow, "the application"
        if flow.rate is not None:
            return what, format_rate(flow.rate), self._flow_key("rate")
        if self.placed.bytes is not None:
            return what, "", self._flow_key("bytes")
        return what, "", ""

    def _flow_key(self, name: str) -> str:
        return f"flows.{self.placed.group}.{name}"

    def _tunnel_key(self, name: str) -> str:
        key = self.network.tunnel_key(self.connection)
        return f"{key}.{name}"

    def _file_key(self, name: str) -> str:
        """A number of the tunnel's entry that no key of an experiment changes."""
        return f"{name} in the tunnel's file" if self.entry else f"{name}, which no key changes"

    def _end(self, leg: str, is_sender: bool) -> str:
        """The host at one end of a connection, in the direction of the data."""
        ends = [self.placed.client, self.placed.server]
        if self.tunnel is not None and (leg.startswith("carrier") or self._kind == "relay"):
            relays = self._relays()
            if leg.startswith("carrier"):
                hop = int(leg.removeprefix("carrier") or 1)
                ends = relays[hop - 1 : hop + 1]
            else:
                ends = [ends[0], relays[0]] if leg == "app" else [relays[-1], ends[1]]
        return ends[is_sender != self.is_up]

    def _relays(self) -> list[str]:
        """The hosts that run the tunnel, in order from the flow's client."""
        if TYPE_CHECKING:
            assert self.placed.tunnel is not None
        hosts = self.network.tunnels[self.placed.tunnel].hosts
        return hosts[::-1] if self.connection.is_turned else hosts

    def _host_key(self, host: str, name: str) -> str:
        """The key of a number of a host: of all, or of this one if it has one of its own."""
        experiment = self.run.experiment
        own: Any
        if experiment.network is not None:
            own, prefix = experiment.network.hosts.get(host), f"network.hosts.{host}"
        else:  # a relay of a chain is like the server
            side = "client" if host == "client" else "server"
            own, prefix = getattr(experiment.hosts, side), f"hosts.{side}"
        given = own is not None and getattr(own, name, None) is not None
        return f"{prefix}.{name}" if given else f"hosts.{name}"

    def _program(self, leg: str) -> str:
        is_relay = leg != "app" and self.tunnel is not None
        return self.tunnel.name if is_relay and self.tunnel else "the application"

    def _cpu(self, leg: str) -> tuple[str, str, str]:
        # The last loopback is fed at the receiver's end of the tunnel, the others at the sender's.
        return self._cpu_of(self._end(leg, is_sender=True), self._program(leg))

    def _cpu_of(self, host: str, program: str) -> tuple[str, str, str]:
        speed = f"speed {self.network.hosts[host].speed:g}"
        return f"the CPU of {host}, {program}", speed, self._host_key(host, "speed")

    def _send_buffer(self, leg: str) -> tuple[str, str, str]:
        quic = getattr(self.entry, "quic", None)
        if leg.startswith("carrier") and quic is not None:
            size = format_size(quic.writes.send_buffer)
            return "QUIC's send buffer", size, self._file_key("quic.writes.send_buffer")
        if (asked := self._asked(leg, is_sender=True)) is not None:
            return self._of_asker(leg, "send buffer", *asked)
        host = self._end(leg, is_sender=True)
        if (memory := self._memory(host, leg, self.network.hosts[host].send_buffer)) is not None:
            return memory
        wmem, key = self.network.hosts[host].tcp_wmem, self._host_key(host, "tcp_wmem")
        return f"the send buffer of {host}", format_size(wmem), key

    def _memory(self, host: str, leg: str, room: int) -> tuple[str, str, str] | None:
        """The memory of a host's sockets, if it keeps a buffer far below its limit of ``room``."""
        keys = self.network.hosts[host]
        if not keys.socket_memory:
            return None
        held = next(it for it in self.legs if it.name == leg).in_flight
        if median(held[self._during]) > room / 2:
            return None
        name = "memory" if keys.tcp_memory is None else "tcp_memory"
        value = format_size(getattr(keys, name))
        return f"the memory of {host}'s sockets", value, self._host_key(host, name)

    def _of_asker(self, leg: str, what: str, size: int, key: str) -> tuple[str, str, str]:
        """Name the buffer of ``size`` bytes that somebody asked for with ``key``."""
        is_carrier = self.tunnel is not None and leg.startswith("carrier")
        whose = f"{self.tunnel.name if is_carrier and self.tunnel else 'the application'}'s {what}"
        kernel = kernels()[self.network.hosts[self._end(leg, what == "send buffer")].kernel]
        if size > kernel.rmem_max:
            most = f"of which kernel {kernel.version} gives no more"
            return f"{whose}, {most}", format_size(kernel.rmem_max), "hosts.kernel"
        return whose, format_size(size), key

    def _asked(self, leg: str, is_sender: bool) -> tuple[int, str] | None:
        """Size and key of the buffer that somebody asked for at one end of a connection."""
        if leg.startswith("carrier"):
            name = "send_buffer" if is_sender else "receive_buffer"
            size = getattr(self.tunnel, name, None)
            return None if size is None else (size, self._tunnel_key(name))
        window = self.placed.flow.window
        if window is None:
            return None
        # A relay has the other end of each loopback.
        own = leg == ("app" if is_sender == self.is_up else "target")
        if self._kind == "relay" and not own:
            return None
        return window, self._flow_key("window")

    def _windows(self) -> Any:
        """Flow control of a shared carrier in the direction of the data."""
        mux = getattr(self.entry, "mux", None)
        return mux and (mux.to_server if self.sender == "client" else mux.to_client)

    def _stream_window(self, leg: str) -> tuple[str, str, str]:
        windows = self._windows()
        return self._shared_window(leg, "stream", windows and windows.stream_window)

    def _connection_window(self, leg: str) -> tuple[str, str, str]:
        windows = self._windows()
        return self._shared_window(leg, "connection", windows and windows.session_window)

    def _shared_window(self, leg: str, of: str, of_mux: int | None) -> tuple[str, str, str]:
        """Name the window of a stream or a connection, in a carrier or of a flow over QUIC.

        ``of_mux``: the entry's window; None: its carriers are not of TCP or KCP.
        """
        key, quic = self._flow_key, None
        if leg.startswith("carrier"):
            key, quic = self._tunnel_key, getattr(self.entry, "quic", None)
        if quic is None and of_mux is not None and self.tunnel is not None:
            protocol = self.entry.mux.protocol.partition(" ")[0]  # type: ignore[union-attr]
            size = getattr(self.tunnel, f"{of}_window") or of_mux
            what, window = f"{protocol}'s {of} window", self._tunnel_key(f"{of}_window")
            of_all = self.tunnel.connection_window or self._windows().session_window
            if of == "stream" and size == of_all:  # to raise one alone changes nothing
                what = f"{protocol}'s windows of a stream and of the connection"
                window += f" and {self._tunnel_key('connection_window')}"
            return what, format_size(size), window
        if quic is None:
            from tunnelcc.catalog.quic import transport

            quic = transport().with_windows(self.placed.flow.windows)
        window, what = getattr(quic, of), f"QUIC's {of} window"
        if of == "stream" and window.first < window.most and self._is_short(window.first):
            return f"{what} at first", format_size(window.first), key(f"first_{of}_window")
        return what, format_size(window.most), key(f"{of}_window")

    def _is_short(self, window: int) -> bool:
        """Whether the flow has sent so little that a window has doubled once at most."""
        return bool(self.run.flows[self.index].total_bytes <= 4 * window)

    def _kcp_window(self, side: str, what: str) -> tuple[str, str]:
        """Value and key of a window of KCP."""
        name = f"{side}_{what}_window"
        if TYPE_CHECKING:
            assert self.tunnel is not None
            assert isinstance(self.entry, RelayEntry)
            assert self.entry.kcp is not None
        given = self.tunnel.kcp and getattr(self.tunnel.kcp, name)
        size = given or getattr(self.entry.kcp.windows, f"{side}_{what}")
        return f"{size} segments", self._tunnel_key(f"kcp.{name}")

    def _overflows(self, leg: str) -> bool:
        """Whether KCP's windows are more than path and buffer hold."""
        link, is_kcp = self._link(), getattr(self.entry, "kcp", None) is not None
        drops = link.queue_drops + (link.policer_drops or 0)
        return is_kcp and leg.startswith("carrier") and drops > _MANY * link.packets

    def _send_window(self, leg: str) -> tuple[str, str, str]:
        return "KCP's send window", *self._kcp_window(self.sender, "send")

    def _receive_window(self, leg: str) -> tuple[str, str, str]:
        if leg.startswith("carrier") and getattr(self.entry, "kcp", None) is not None:
            return "KCP's receive window", *self._kcp_window(self.receiver, "receive")
        rudp = getattr(self.entry, "rudp", None)
        if leg.startswith("carrier") and rudp is not None:
            size = f"{rudp.packets.window} packets"
            return "RUDP's window", size, self._file_key("rudp.packets.window")
        if (asked := self._asked(leg, is_sender=False)) is not None:
            return self._of_asker(leg, "receive window", *asked)
        host = self._end(leg, is_sender=False)
        keys = self.network.hosts[host]
        if not self.connection.tcp.window_scaling and keys.receive_window > UNSCALED_WINDOW:
            what = f"the receive window of {host}, which is not scaled"
            return what, format_size(UNSCALED_WINDOW), "tcp.window_scaling"
        if (memory := self._memory(host, leg, keys.receive_window)) is not None:
            return memory
        rmem = format_size(keys.receive_buffer)
        return f"the receive window of {host}", rmem, self._host_key(host, "tcp_rmem")

    # The network ---------------------------------------------------------------------------------

    def _of_network(self, name: str, place: int, share: float) -> Limited:
        """Say why congestion control holds a connection back."""
        leg = self.legs[place]
        hops = [it.name for it in self.legs if it.name.startswith("carrier")]
        is_chain = len(hops) > 1 and leg.name in hops
        # Of a chain, each hop has links of its own.
        step = self._step_of(leg.name) if is_chain else self._step
        way, link = self.network.direction(step), self.run.way(step)

        def told(limit: str, what: str, value: str, key: str) -> Limited:
            return Limited(limit, what, value, key, share, leg.name)

        rate = self._set_rate(leg)
        if name == "pacing" and rate is not None:
            return told("pacing", "the rate that is set", *rate)
        if (policer := self._policer(step)) is not None:
            return told("policer", *policer)
        if way.rate is not None and self._is_full(step):
            return told("link", *self._rate(step))
        used, lost = self._utilisation(step), self._losses(leg, link)
        for tunnel in self._tunnel_ways[:1]:
            # A program that drops nothing is not why a window shrinks.
            is_cause = tunnel.device_drops + tunnel.socket_drops >= lost[0]
            least = max(_BUSY if is_cause else _SATURATED, used)
            if (busy := self._busy_host(least)) is not None:
                return told("cpu", *busy)
        if leg.name == "app" and (drops := self._tunnel_drops(step)) is not None:
            return told(*drops)
        if not sum(lost) and (met := self._met(place)) is not None:
            return met
        where = "inside the tunnel " if leg.name == "app" and self.entry is not None else ""
        # Of a chain, which may have a congestion control on each hop, it tells which one is slow.
        whose = f" {where}of {leg.name}, {leg.cc}" if is_chain else ""
        has_dropped = lost[1] > 0 or (self._has_lost_before(leg, link) and not way.loss)
        is_of_queue = has_dropped and lost[0] <= lost[1]
        is_near = used >= _NEARLY_FULL and way.rate is not None
        if is_near and (is_of_queue or (lost[0] and self._is_alone)):
            return told("link", *self._rate(step))
        if lost[0] > lost[1]:
            what = f"the {limits.LIMITS[name]}{whose}, which random loss keeps small"
            return told("random_loss", what, "", self._link_key("loss", step))
        if has_dropped:
            queue = "its link's queue" if is_chain else "the bottleneck's queue"
            what = f"the {limits.LIMITS[name]}{whose}, which {queue} keeps small"
            if way.queue.name == "drop-tail":
                return told("queue", what, str(way.buffer), self._link_key("buffer", step))
            return told("queue", what, way.queue.name, self._link_key("queue", step))
        if way.policer is not None and self._has_unexplained_losses(leg):
            return told("policer", *self._rate_or_burst(step, way.policer))
        if leg.cc == "kcp":
            return told(name, "KCP's congestion window", "", self._tunnel_key("kcp.congestion"))
        whose = whose or f" {where}of {leg.cc}"
        return told(name, f"the {limits.LIMITS[name]}{whose}", "", "")

    def _losses(self, leg: Any, link: Any) -> tuple[int, int]:
        """What a connection saw of a link's random losses, and of its queue's drops and marks.

        What a carrier or FEC has repaired, it did not see.
        """
        if leg.name == "app" and self._kind == "stream":
            return 0, 0
        for way in self._tunnel_ways[:1]:
            if (lost := way.fec_lost) is not None:  # it repairs bursts of drops last
                dropped = min(link.queue_drops, lost)
                return lost - dropped, dropped
        return link.random_losses, link.queue_drops + (link.marks or 0)

    def _has_lost_before(self, leg: Any, link: Any) -> bool:
        """Whether a connection saw drops of a link's queue, those of the warm-up included.

        A window may need longer than that to grow again.
        """
        is_repaired = leg.name == "app" and self._kind == "stream"
        return not is_repaired and bool(link.queue_drops_series[-1:].sum() > 0)

    @cached_property
    def _tunnel_ways(self) -> tuple[Any, ...]:
        """What was measured of a tunnel of packets: in the direction of the data, and back."""
        if self.placed.tunnel is None or (counts := self.run.tunnels[self.placed.tunnel]) is None:
            return ()
        first = self.network.tunnels[self.placed.tunnel].connection
        ways = counts.forward, counts.reverse
        return ways if first.sender == self.sender else ways[::-1]

    def _met(self, place: int) -> Limited | None:
        """The limit that a growing congestion window meets often, if there is one."""
        shares = self._shares(place)
        shares["cpu"], host = max((shares["cpu"], ""), self._most_often_busy())
        met = max((*_WINDOWS, "cpu"), key=lambda it: shares[it])
        if shares[met] < _OFTEN:
            return None
        if met == "cpu" and host:
            cpu = self._cpu_of(host, self._program("carrier"))
            return Limited("cpu", *cpu, shares[met], self.legs[place].name)
        return self._named(met, place, shares[met])

    @cached_property
    def _step(self) -> Step:
        """The bottleneck in the direction of the flow's data, or its own if it is not there."""
        loads, name = self.connection.loads, self.network.bottleneck.link
        crossed = (step for step in loads if step.link == name)
        return next(crossed, None) or self.network.narrowest(loads)

    def _step_of(self, carrier: str) -> Step:
        """The bottleneck, if the hop of this carrier crosses it, or else the hop's own."""
        hop = self.connection.hops[int(carrier.removeprefix("carrier") or 1) - 1]
        steps = hop.sent_by(self.sender)
        return (
            self._step if self._step in steps else self.network.narrowest(dict.fromkeys(steps, 1))
        )

    def _link(self) -> Any:
        return self.run.way(self._step)

    @property
    def _direction(self) -> LinkDirection:
        """The keys of the bottleneck in the direction of the flow's data."""
        return self.network.direction(self._step)

    def _link_key(self, name: str, step: Step | None = None) -> str:
        """A key of a link, by default of the bottleneck."""
        network, link = self.run.experiment.network, (step or self._step).link
        if network is None and self.tunnel is not None and self.tunnel.chain and link != "path":
            number = int(link.removeprefix("hop")) - 2
            if getattr(self.tunnel.chain[number], name, None) is not None:
                return self._tunnel_key(f"chain.{number}.{name}")
        return f"path.{name}" if network is None else f"network.links.{link}.{name}"

    def _shaper(self, step: Step) -> Cake | None:
        """CAKE, if its shaper is slower than the link."""
        way, queue = self.network.direction(step), self.network.direction(step).queue
        if not isinstance(queue, Cake) or queue.bandwidth is None:
            return None
        return queue if way.rate is not None and queue.bandwidth < way.rate else None

    def _rate(self, step: Step) -> tuple[str, str, str]:
        """The link or its shaper, its rate, or the least and the largest, and the key of that."""
        way, shaper = self.network.direction(step), self._shaper(step)
        if shaper is not None and shaper.bandwidth is not None:
            key = self._link_key("queue.bandwidth", step)
            return "CAKE's shaper", format_rate(shaper.bandwidth), key
        if way.varies("rate"):
            rates = [rate or 0.0 for _, rate in way.over_time("rate")]
            least, most = (format_rate(float(f"{it:.3g}")) for it in (min(rates), max(rates)))
            is_traced = way.trace is not None and "rate" in way.trace.given
            key = self._link_key("trace" if is_traced else "rate_steps", step)
            return "the link", f"{least} to {most}", key
        value = "" if way.rate is None else format_rate(way.rate)
        return "the link", value, self._link_key("rate", step)

    def _set_rate(self, leg: Any) -> tuple[str, str] | None:
        """The rate at which the connection sends whatever happens, if it does."""
        if leg.name.startswith("carrier") and self.tunnel is not None and self.tunnel.rate:
            return format_rate(self.tunnel.rate), self._tunnel_key("rate")
        parameters: Mapping[str, Any] = self.placed.flow.cc.parameters
        if leg.cc == "brutal" and "rate" in parameters:
            return format_rate(8 * parameters["rate"]), self._flow_key("cc.rate")
        return None

    def _policer(self, step: Step) -> tuple[str, str, str] | None:
        """The policer of a link, if it drops more than the queue, or if all passes that may."""
        policer, link = self.network.direction(step).policer, self.run.way(step)
        if policer is None:
            return None
        is_cause = (link.policer_drops or 0) > link.queue_drops
        if not is_cause and self._passed(step) < _FULL * policer.rate:
            return None
        return self._rate_or_burst(step, policer)

    def _rate_or_burst(self, step: Step, policer: Policer) -> tuple[str, str, str]:
        """The policer's rate, if half of it is used, or else how much it lets pass at once."""
        if self._passed(step) >= _FULL / 2 * policer.rate:
            return "the policer", format_rate(policer.rate), self._link_key("policer.rate", step)
        burst = format_size(policer.burst)
        return "the policer's burst", burst, self._link_key("policer.burst", step)

    def _passed(self, step: Step) -> float:
        """What passed a link and its policer, bit/s."""
        policer, link = self.network.direction(step).policer, self.run.way(step)
        is_behind = policer is not None and policer.position == "after" and link.packets > 0
        kept = 1 - (link.policer_drops or 0) / link.packets if is_behind else 1.0
        return float(8 * link.bytes_sent * kept / self.run.measured_time)

    def _has_unexplained_losses(self, leg: Any) -> bool:
        """Whether a connection repaired losses that no count of the whole run explains.

        What policers and far sockets drop is counted after the warm-up only.
        """
        series = getattr(leg, "retransmits_series", None)
        if series is None or not series[-1:].sum() or getattr(self.tunnel, "uplinks", None):
            return False
        for step in self.connection.loads:
            way, link = self.network.direction(step), self.run.way(step)
            if way.loss or way.jitter_reorders or link.random_losses:
                return False
            if link.queue_drops_series[-1:].sum():
                return False
        return True

    def _busy_host(self, least: float) -> tuple[str, str, str] | None:
        """The host whose program is busy for the part ``least`` of the time, if there is one."""
        share, host = self._most_busy()
        return self._cpu_of(host, self._program("carrier")) if share >= least else None

    def _most_busy(self) -> tuple[float, str]:
        """The host that runs the tunnel, or the flow, and is most busy.

        Its share is of the time that its threads have, as far as there are cores for them.
        """
        time, during = self.run.measured_time, self._during
        shares = [
            (cpu.cpu_time / (time * cores), host)
            if self._is_always_active
            else (mean(cpu.cpu_series[during]) * self.network.hosts[host].cores / cores, host)
            for host, cpu, cores in self._programs
        ]
        return max(shares, default=(0.0, ""))

    def _most_often_busy(self) -> tuple[float, str]:
        """The host whose program most often does nothing but work, and for which share of time."""
        during = self._during
        if not during.any():
            return 0.0, ""
        shares = [
            (mean(cpu.cpu_series[during] * self.network.hosts[host].cores / cores >= _FULL), host)
            for host, cpu, cores in self._programs
        ]
        return max(shares, default=(0.0, ""))

    @cached_property
    def _programs(self) -> list[tuple[str, Any, float]]:
        """The hosts that run the tunnel, or the flow, their CPUs, and the cores for its threads."""
        names, found = self.run.host_names, self.run.hosts
        hosts = [self.placed.client, self.placed.server] if self.tunnel is None else self._relays()
        machines = self.network.hosts
        return [
            (host, found[names.index(host)], min(self._threads(host), machines[host].cores))
            for host in hosts
            if host in names
        ]

    def _threads(self, host: str) -> float:
        """How many cores the program fills on a host if the thread with most work never rests."""
        if self._kind == "relay":
            return sum(flow.count for flow in self.connection.sharers)
        entry: Any = self.entry
        if not self._tunnel_ways or entry.threads.threads == 1:
            return 1
        from tunnelcc.simulation.spec_packets import packet_cost

        is_sender = (host == self._relays()[0]) == self.is_up
        work = []  # of the thread that the data keep busy, and of that for the other direction
        for way, encapsulates in zip(self._tunnel_ways, (is_sender, not is_sender), strict=True):
            cost = packet_cost(self.connection, entry, encapsulates)
            work.append(cost.per_call * way.inner_packets + cost.per_byte * way.inner_bytes)
        return sum(work) / max(work) if max(work) > 0 else 1

    def _tunnel_drops(self, step: Step) -> tuple[str, str, str, str] | None:
        """The queue of the tunnel's device or socket, if most losses are its drops.

        ``step``: the link that holds the connection back.
        """
        if self.tunnel is None or not self._tunnel_ways:
            return None
        way = self._tunnel_ways[0]
        leg, link = next(it for it in self.legs if it.name == "app"), self.run.way(step)
        drops, others = way.device_drops, sum(self._losses(leg, link))
        is_socket = way.socket_drops > max(drops, others)
        if not (drops or others):  # a window may need longer than the warm-up to grow again
            drops = way.device_drops_series[-1:].sum()
            others = link.queue_drops_series[-1:].sum() if self._has_lost_before(leg, link) else 0
            of_path = self.network.direction(step).policer is not None or self._kind == "stream"
            is_socket |= not (drops or of_path) and self._has_unexplained_losses(leg)
        if is_socket:
            queue = f"{self.connection.in_tunnel.socket_queue} packets"
            what = "the buffer of the tunnel's far socket"
            has_buffer = self.entry.socket.packet is not None  # type: ignore[union-attr]
            key = (
                self._tunnel_key("receive_buffer") if has_buffer else self._file_key("socket.queue")
            )
            return "socket_queue", what, queue, key
        if drops <= others:
            return None
        queue = f"{self.tunnel.queue or getattr(self.entry.device, 'queue', 0)} packets"  # type: ignore[union-attr]
        return "device_queue", "the queue of the tunnel's device", queue, self._tunnel_key("queue")
