# SPDX-License-Identifier: GPL-2.0-only
"""What limited each flow: a table of causes, over what the run counted.

A flow is followed along its connections, from the one across the path. If that one waited for data,
the reason lies before it, in the direction of the data; if it waited for its receiver, behind it.
``CAUSES`` has what may be behind the limit that is found, in the order of preference.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from tunnelcc.analysis.counters import FULL, SATURATED, Counters, Losses, path_leg
from tunnelcc.analysis.values import Cause, Evidence, Key, Quantity, Where
from tunnelcc.hosts.kernels import kernels
from tunnelcc.metrics import limits
from tunnelcc.metrics.samples import mean, median
from tunnelcc.network.transport import UNSCALED_WINDOW
from tunnelcc.schema.units import format_rate, format_time

# A link that is used this much is the limit although losses keep windows small: without them, flows
# would gain less.
_NEARLY_FULL = 0.8
# A program that is busy for this part of the time that its threads have, and more than the link, is
# what limits: after a loss, a congestion window leaves it idle until it has grown again.
_BUSY = 0.7
# A congestion window that nothing keeps small grows: what it meets for this share of the time is
# the limit.
_OFTEN = 0.2
# Above this share of packets that the queue drops, repairing them is what fills KCP's window.
_MANY = 0.05
# A flow has the rate that its application wants, but for the packets under way.
_ALL = 0.98
# A limit is relaxed by this factor.
_MORE = 4

_WINDOWS = ("send_buffer", "stream_window", "connection_window", "send_window", "receive_window")
# Limits behind which a busy program may be: it does not read, so that windows close, or it sends
# late, so that nothing else is left to wait for.
_OF_PROGRAMS = (*_WINDOWS, *limits.CONGESTION_CONTROL, "handshake")


def of_flows(run: Any) -> list[Cause | None]:
    """Return what limited each flow of a run, its Parts.

    None: the flow was never active after the warm-up, or it is of datagrams.
    """
    return [
        None if flow.flow.transport == "udp" else _of_flow(Counters(run, index, flow))
        for index, flow in enumerate(run.network.flows)
    ]


def _of_flow(flow: Counters) -> Cause | None:
    if flow.run["flow_completed_at"][flow.index] <= flow.run.experiment.warmup:
        return None  # a carrier goes on with other flows
    if (held := _held(flow)) is None:
        return None
    cause = _cause(held)
    if cause.limit == "application":
        return cause
    rate, found = flow.placed.flow.rate, cause.evidence
    goodputs = flow.run["flow_goodput_series"][flow.index][flow.measured]
    if rate is not None and mean(goodputs) >= _ALL * rate:
        return _application(_Held(flow, flow.app, found.held, found.share))
    # A window that a flow fills although it has the whole link to itself, or shares it with flows
    # of the same limit, is no limit: to raise that of all gains nothing.
    is_of_all = flow.is_alone or any(it.path.startswith("hosts.") for it in cause.keys)
    if cause.limit in (*_WINDOWS, "cpu") and is_of_all and flow.is_full(flow.step):
        return _link(_Held(flow, held.place, found.held, found.share))
    if cause.limit in _OF_PROGRAMS:
        share, host = flow.most_often_busy()
        if share > 0.5:
            return _cpu(_Held(flow, held.place, found.held, share), host)
    return cause


def _held(flow: Counters) -> _Held | None:
    """Follow the flow from the connection across the path to the limit."""
    if not flow.legs:
        return None
    # Of a chain, the last hop that does not wait for data.
    shares = [limits.largest(flow.shares(place)) for place in range(len(flow.legs))]
    waits = ("application", "handshake")
    last = (place for place in reversed(flow.hops[1:]) if shares[place][0] not in waits)
    place = next(last, path_leg([leg.name for leg in flow.legs]))
    name, share = shares[place]
    if not share:
        return None
    if name == "application":
        for before in range(place - 1, -1, -1):
            own = shares[before][0]
            is_loopback = flow.kind == "relay" and before not in flow.hops
            if own in ("receive_window", "send_buffer") and is_loopback:
                # The application had data: the relay took them when it could, so what is left of
                # the next connection's time tells.
                later = flow.shares(before + 1)
                del later["application"]
                return _Held(flow, before + 1, *limits.largest(later))
            if own != "application" or before == 0:
                return _Held(flow, before, *shares[before])
    if name == "receive_window":
        for behind in range(place + 1, len(flow.legs)):
            if shares[behind][0] in waits:
                break  # it waited for data itself
            if shares[behind][0] != "receive_window":
                return _Held(flow, behind, *shares[behind])
    return _Held(flow, place, name, share)


def _cause(held: _Held) -> Cause:
    """Return the first cause of the table that holds."""
    is_known = held.leg.name != "target" or held.limit not in limits.CONGESTION_CONTROL
    causes = (cause(held) for cause in CAUSES.get(held.limit, ()) if is_known)
    return next(filter(None, causes), None) or held.by("limit")


class _Held:
    """What held a flow back: a limit of one of its connections, for a share of the time."""

    def __init__(self, flow: Counters, place: int, limit: str, share: float) -> None:
        self.flow, self.place, self.limit, self.share = flow, place, limit, share
        self.leg, self.is_carrier = flow.legs[place], place in flow.hops
        # One of several carriers in a row has links of its own.
        self.is_hop = self.is_carrier and len(flow.hops) > 1
        is_own = self.is_hop and limit in limits.CONGESTION_CONTROL
        self.step = flow.step_of(self.leg.name) if is_own else flow.step
        self.link: Any = flow.run.way(self.step)
        self.way: Any = flow.network.direction(self.step)
        self.is_sent = limit != "receive_window"

    @cached_property
    def host(self) -> str:
        """The host at the end whose limit it is."""
        placed, name = self.flow.placed, self.leg.name
        ends = [placed.client, placed.server]
        if self.is_carrier:
            hop = int(name.removeprefix("carrier") or 1)
            ends = self.flow.relays[hop - 1 : hop + 1]
        elif self.flow.kind == "relay":  # the last loopback is fed at the receiver's end of it
            relays = self.flow.relays
            ends = [ends[0], relays[0]] if name == "app" else [relays[-1], ends[1]]
        return ends[self.is_sent != self.flow.is_up]

    @cached_property
    def keys(self) -> Any:
        """The keys of that host."""
        return self.flow.network.hosts[self.host]

    @cached_property
    def lost(self) -> Losses:
        """What dropped packets of the connection."""
        return self.flow.losses(self.leg, self.step)

    def of_entry(self, table: str) -> Any:
        """Return a table of the tunnel's entry, if it is that of the connection; else None."""
        return getattr(self.flow.entry, table, None) if self.is_carrier else None

    def by(
        self,
        thing: str,
        value: float | str | None = None,
        unit: str = "",
        *keys: str,
        limit: str = "",
        relaxed: Any = None,
        most: float | None = None,
        **where: str,
    ) -> Cause:
        """Return a cause of it. ``keys``: as in ``_key()``. ``limit``: default: what held it.

        ``relaxed``: of the keys, default: an amount that is larger. ``where``: host and program, if
        they are not those of the connection; kernel.
        """
        leg, tunnel = self.leg, self.flow.tunnel
        at = Where(
            leg=leg.name, hop=leg.name if self.is_hop else "", cc=leg.cc,
            is_inside=leg.name == "app" and tunnel is not None,
            **{"host": self.host, "program": tunnel.name if self.is_carrier and tunnel else ""}
            | where,
        )  # fmt: skip
        amount = Quantity(value, unit, most) if isinstance(value, (int, float)) else value
        if relaxed is None and isinstance(amount, Quantity) and most is None:
            relaxed = _MORE * amount.amount
            relaxed = format_rate(relaxed) if unit == "bit/s" else relaxed
        found = tuple(self._key(it, at.host, relaxed) for it in keys)
        evidence = Evidence(self.limit, self.share)
        return Cause(limit or self.limit, thing, evidence, amount, found, at)

    def _key(self, key: str, host: str, relaxed: Any) -> Key:
        """Return a key. ``flow``, ``tunnel``, ``host``, ``link``: the table of this one.

        A host's key is that of all, or of this one if it has one of its own. ``file``: what only
        the tunnel's file has.
        """
        flow, experiment, link = self.flow, self.flow.run.experiment, self.step.link
        table, _, name = key.partition(".")
        network, tunnel = experiment.network, flow.tunnel
        if table == "file":
            return Key(name, place="entry" if flow.entry else "model")
        if table == "flow":
            table = f"flows.{flow.placed.group}"
        elif table == "tunnel":
            table = flow.network.tunnel_key(flow.traffic)
        elif table == "link":
            table = "path" if network is None else f"network.links.{link}"
            if network is None and tunnel is not None and tunnel.chain and link != "path":
                number = int(link.removeprefix("hop")) - 2
                if getattr(tunnel.chain[number], name, None) is not None:
                    table = f"{flow.network.tunnel_key(flow.traffic)}.chain.{number}"
        elif table == "host":
            side = "client" if host == "client" else "server"  # a relay of a chain is like it
            of_one = f"hosts.{side}" if network is None else f"network.hosts.{host}"
            hosts = experiment.hosts
            own = getattr(hosts, side) if network is None else network.hosts.get(host)
            table = of_one if getattr(own, name, None) is not None else "hosts"
        return Key(f"{table}.{name}", relaxed)


# Applications and programs -----------------------------------------------------------------------


def _application(held: _Held) -> Cause:
    placed = held.flow.placed
    if placed.flow.rate is not None:
        return held.by("application", placed.flow.rate, "bit/s", "flow.rate", limit="application")
    keys = ["flow.bytes"] if placed.bytes is not None else []
    return held.by("application", None, "", *keys, relaxed=_MORE * (placed.bytes or 0))


def _cpu(held: _Held, busy: str = "") -> Cause:
    """``busy``: the host; default: the sender's."""
    tunnel, host = held.flow.tunnel, busy or held.host
    is_relay = tunnel is not None and (bool(busy) or held.leg.name != "app")
    program = tunnel.name if tunnel is not None and is_relay else ""
    speed = held.flow.network.hosts[host].speed
    return held.by("cpu", speed, "speed", "host.speed", limit="cpu", host=host, program=program)


def _udp_socket(held: _Held) -> Cause | None:
    """The program behind a UDP socket is slower than the wire, and the socket overflows."""
    drops, link = getattr(held.leg, "udp_socket_drops", None), held.link
    if not drops or drops <= link.random_losses + link.queue_drops:
        return None
    _, host = held.flow.most_busy()
    speed = held.flow.network.hosts[host].speed
    return held.by("udp_socket", speed, "speed", "host.speed", limit="cpu", host=host)


# Windows and buffers -----------------------------------------------------------------------------


def _kcp_overflow(held: _Held) -> Cause | None:
    """KCP's windows are more than path and buffer hold."""
    drops = held.link.queue_drops + (held.link.policer_drops or 0)
    if held.of_entry("kcp") is None or drops <= _MANY * held.link.packets:
        return None
    if (policer := _policer(held)) is not None:
        return policer
    # A larger queue helps only where the link is idle between bursts.
    if held.way.rate is not None and held.link.utilisation >= _BUSY:
        return _link(held, "overflowed_")
    return _buffer(held, "overflowed_queue")


def _kcp_window(held: _Held) -> Cause | None:
    tunnel: Any = held.flow.tunnel
    if (kcp := held.of_entry("kcp")) is None:
        return None
    side, what = held.flow.receiver, "receive"
    if held.is_sent:
        side, what = held.flow.sender, "send"
    size = tunnel.kcp and getattr(tunnel.kcp, f"{side}_{what}_window")
    size = size or getattr(kcp.windows, f"{side}_{what}")
    return held.by(f"kcp_{what}_window", size, "segment", f"tunnel.kcp.{side}_{what}_window")


def _rudp_window(held: _Held) -> Cause | None:
    if (rudp := held.of_entry("rudp")) is None:
        return None
    return held.by("rudp_window", rudp.packets.window, "packet", "file.rudp.packets.window")


def _quic_buffer(held: _Held) -> Cause | None:
    if (quic := held.of_entry("quic")) is None:
        return None
    return held.by("quic_buffer", quic.writes.send_buffer, "byte", "file.quic.writes.send_buffer")


def _asked_buffer(held: _Held) -> Cause | None:
    """A buffer that the tunnel or the application asked for."""
    flow, size, key = held.flow, held.flow.placed.flow.window, "flow.window"
    if held.is_carrier:
        name = "send_buffer" if held.is_sent else "receive_buffer"
        size, key = getattr(flow.tunnel, name, None), f"tunnel.{name}"
    elif flow.kind == "relay":  # it has the other end of each loopback
        is_own = held.leg.name == ("app" if held.is_sent == flow.is_up else "target")
        size = size if is_own else None
    kernel = kernels()[held.keys.kernel]
    if size is None or size <= kernel.rmem_max:
        return None if size is None else held.by("asked", size, "byte", key)
    newest, most = [*kernels()][-1], kernel.rmem_max
    return held.by("asked", most, "byte", "hosts.kernel", relaxed=newest, kernel=kernel.version)


def _unscaled(held: _Held) -> Cause | None:
    is_small = held.keys.receive_window <= UNSCALED_WINDOW
    if held.flow.traffic.transport.tcp.window_scaling or is_small:
        return None
    return held.by("unscaled", UNSCALED_WINDOW, "byte", "tcp.window_scaling", relaxed=True)


def _memory(held: _Held) -> Cause | None:
    """The memory of the host's sockets, if it keeps a buffer far below its limit."""
    keys = held.keys
    room = keys.tcp_wmem if held.is_sent else keys.receive_window
    if not keys.socket_memory or median(held.leg.in_flight[held.flow.during]) > room / 2:
        return None
    name = "memory" if keys.tcp_memory is None else "tcp_memory"
    return held.by("memory", getattr(keys, name), "byte", f"host.{name}")


def _host_buffer(held: _Held) -> Cause:
    if held.is_sent:
        return held.by("host_buffer", held.keys.tcp_wmem, "byte", "host.tcp_wmem")
    return held.by("host_buffer", held.keys.receive_buffer, "byte", "host.tcp_rmem")


def _mux_window(held: _Held) -> Cause | None:
    """The window of a stream or of a connection, in a carrier of TCP or KCP."""
    flow, tunnel = held.flow, held.flow.tunnel
    mux: Any = getattr(flow.entry, "mux", None)
    windows = mux and (mux.to_server if flow.sender == "client" else mux.to_client)
    if tunnel is None or not windows or held.of_entry("quic") is not None:
        return None
    of_all = tunnel.connection_window or windows.session_window
    of_each = tunnel.stream_window or windows.stream_window
    size, thing = of_all if held.limit == "connection_window" else of_each, held.limit
    keys = [f"tunnel.{held.limit}"]
    if thing == "stream_window" and size == of_all:  # to raise one alone changes nothing
        thing, keys = "equal_windows", [*keys, "tunnel.connection_window"]
    program = mux.protocol.partition(" ")[0]
    return None if size is None else held.by(thing, size, "byte", *keys, program=program)


def _quic_window(held: _Held) -> Cause:
    """The window of a stream or of a connection, in a carrier of QUIC or of a flow over it."""
    from tunnelcc.catalog.quic import transport

    flow, name, thing = held.flow, held.limit, held.limit
    quic, table = held.of_entry("quic"), "tunnel"
    if quic is None:
        quic, table = transport().with_windows(flow.placed.flow.windows), "flow"
    window = quic.stream if name == "stream_window" else quic.connection
    size = window.most
    # The flow has sent so little that the window has doubled once at most.
    is_short = flow.run.flows[flow.index].total_bytes <= 4 * window.first
    if name == "stream_window" and window.first < size and is_short:
        size, name, thing = window.first, "first_stream_window", "first_window"
    return held.by(thing, size, "byte", f"{table}.{name}", program="QUIC")


# The network -------------------------------------------------------------------------------------


def _link(held: _Held, prefix: str = "") -> Cause:
    """The link or its shaper, with its rate, or the least and the largest."""
    way, shaper = held.way, held.flow.shaper(held.step)
    thing, rate, key, most, steps = "link", way.rate, "link.rate", None, None
    if shaper is not None:
        thing, rate, key = "shaper", shaper.bandwidth, "link.queue.bandwidth"
    elif way.varies("rate"):
        rates: list[float] = [it or 0.0 for _, it in way.over_time("rate")]
        rate, most, key = min(rates), max(rates), "link.trace"
        if way.trace is None or "rate" not in way.trace.given:
            key = "link.rate_steps"
            steps = [[format_time(at), format_rate(_MORE * it)] for at, it in way.rate_steps]
    return held.by(f"{prefix}{thing}", rate, "bit/s", key, limit="link", most=most, relaxed=steps)


def _set_rate(held: _Held) -> Cause | None:
    """The connection sends at a rate whatever happens."""
    tunnel, parameters = held.flow.tunnel, held.flow.placed.flow.cc.parameters
    rate: Any = tunnel.rate if held.is_carrier and tunnel is not None else None
    key = "tunnel.rate"
    if not rate and held.leg.cc == "brutal" and "rate" in parameters:
        rate, key = 8 * parameters["rate"], "flow.cc.rate"
    return held.by("set_rate", rate, "bit/s", key) if rate and held.limit == "pacing" else None


def _policer(held: _Held) -> Cause | None:
    """The link's policer, if it drops more than the queue, or if all passes that may."""
    if (policer := held.way.policer) is None:
        return None
    is_cause = (held.link.policer_drops or 0) > held.link.queue_drops
    if is_cause or held.flow.passed(held.step) >= FULL * policer.rate:
        return _rate_or_burst(held)
    return None


def _rate_or_burst(held: _Held) -> Cause:
    """The policer's rate, if half of it is used, or else how much it lets pass at once."""
    policer = held.way.policer
    if held.flow.passed(held.step) >= FULL / 2 * policer.rate:
        return held.by("policer", policer.rate, "bit/s", "link.policer.rate", limit="policer")
    return held.by("burst", policer.burst, "byte", "link.policer.burst", limit="policer")


def _full_link(held: _Held) -> Cause | None:
    is_full = held.way.rate is not None and held.flow.is_full(held.step)
    return _link(held) if is_full else None


def _busy_program(held: _Held) -> Cause | None:
    for tunnel in held.flow.tunnel_ways[:1]:
        # A program that drops nothing is not why a window shrinks.
        is_cause = tunnel.device_drops + tunnel.socket_drops >= held.lost.random
        least = max(_BUSY if is_cause else SATURATED, held.flow.utilisation(held.step))
        share, host = held.flow.most_busy()
        if share >= least:
            return _cpu(held, host)
    return None


def _tunnel_drops(held: _Held) -> Cause | None:
    """The queue of the tunnel's device or socket."""
    tunnel, layer, lost = held.flow.tunnel, held.flow.traffic.packet_tunnel, held.lost
    if tunnel is None or layer is None or not held.flow.tunnel_ways or held.leg.name != "app":
        return None
    entry: Any = tunnel.entry
    on_path, of_path = lost.random + lost.queue, held.way.policer or held.flow.kind == "stream"
    queue = "device" if lost.device > on_path else ""
    if lost.socket > max(lost.device, on_path) or (lost.is_unexplained and not of_path):
        queue = "socket"
    if not queue:
        return None
    key, size, relaxed = "tunnel.queue", tunnel.queue or getattr(entry.device, "queue", 0), None
    if queue == "socket" and held.flow.kind == "quic-datagram":
        key, size = "file.arrived.queue", entry.arrived.queue
    elif queue == "socket":
        key, size = "file.socket.queue", layer.socket_queue
        if entry.socket.packet is not None:
            key, asked = "tunnel.receive_buffer", tunnel.receive_buffer or entry.socket.asks
            relaxed = asked and _MORE * asked
    thing = f"{queue}_queue"
    return held.by(thing, size, "packet", key, limit=thing, relaxed=relaxed)


def _met(held: _Held) -> Cause | None:
    """The limit that a growing congestion window meets often."""
    shares = held.flow.shares(held.place)
    shares["cpu"], host = max((shares["cpu"], ""), held.flow.most_often_busy())
    name, share = limits.largest({it: shares[it] for it in (*_WINDOWS, "cpu")})
    if held.lost.is_recent or share < _OFTEN:
        return None
    met = _Held(held.flow, held.place, name, share)
    return _cpu(met, host) if name == "cpu" else _cause(met)


def _nearly_full_link(held: _Held) -> Cause | None:
    lost, of_all = held.lost, held.lost.random > 0 and held.flow.is_alone
    is_near = held.flow.utilisation(held.step) >= _NEARLY_FULL and held.way.rate is not None
    is_cause = of_all or 0 < lost.queue >= lost.random
    return _link(held) if is_near and is_cause else None


def _random_loss(held: _Held) -> Cause | None:
    if held.lost.random <= held.lost.queue:
        return None
    return held.by("random_loss", None, "", "link.loss", limit="random_loss", relaxed=0)


def _queue(held: _Held) -> Cause | None:
    if not held.lost.queue:
        return None
    if held.way.queue.name == "drop-tail":
        return _buffer(held, "queue")
    return held.by(
        "queue", held.way.queue.name, "", "link.queue", relaxed="drop-tail", limit="queue"
    )


def _buffer(held: _Held, thing: str) -> Cause:
    room, larger = str(held.way.buffer), str(held.way.buffer.times(_MORE))
    return held.by(thing, room, "", "link.buffer", relaxed=larger, limit="queue")


def _burst(held: _Held) -> Cause | None:
    return _rate_or_burst(held) if held.way.policer and held.lost.is_unexplained else None


def _congestion_control(held: _Held) -> Cause:
    if held.leg.cc == "kcp":
        return held.by("kcp_congestion", None, "", "tunnel.kcp.congestion", relaxed=False)
    return held.by("congestion")


_Ask = Callable[[_Held], Cause | None]

_NETWORK: tuple[_Ask, ...] = (
    _udp_socket, _set_rate, _policer, _full_link, _busy_program, _tunnel_drops, _met,
    _nearly_full_link, _random_loss, _queue, _burst, _congestion_control,
)  # fmt: skip

#: What a sender waited for → what may have caused that. The first that holds is told.
CAUSES: dict[str, tuple[_Ask, ...]] = {
    "application": (_application,),
    "cpu": (_cpu,),
    "send_buffer": (_quic_buffer, _asked_buffer, _memory, _host_buffer),
    "stream_window": (_kcp_overflow, _mux_window, _quic_window),
    "connection_window": (_kcp_overflow, _mux_window, _quic_window),
    "send_window": (_kcp_overflow, _kcp_window),
    "receive_window": (
        _kcp_overflow, _kcp_window, _rudp_window, _asked_buffer, _unscaled, _memory, _host_buffer,
    ),
    "congestion_window": _NETWORK,
    "pacing": _NETWORK,
}  # fmt: skip
