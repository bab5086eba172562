# SPDX-License-Identifier: GPL-2.0-only
"""Translate an experiment into the input of the compiled module.

The input is tables with the members of the structs in ``models/spec/``. A member that is left out
has its default there. Times become nanoseconds. Nothing is decided here that the experiment or the
catalogue does not define.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import zip_longest
from typing import Any

from tunnelcc import core
from tunnelcc.catalog import (
    DatagramEntry,
    PacketEntry,
    RelayEntry,
    StreamEntry,
    packets,
    relay,
    stream,
)
from tunnelcc.catalog.kcp import DATAGRAM_HEADERS, Kcp, SessionFec
from tunnelcc.catalog.layers import Fec, PacketLayers, StreamLayer
from tunnelcc.catalog.layers.fec import parity_counts
from tunnelcc.catalog.rudp import Rudp
from tunnelcc.config import (
    CongestionControl,
    Experiment,
    Flow,
    Hosts,
    LinkDirection,
    Tcp,
    Tunnel,
    derived,
)
from tunnelcc.config.keys import ExperimentKeys
from tunnelcc.config.layout import Placed, PlacedTunnel, layout
from tunnelcc.config.path import DuplexLink
from tunnelcc.config.queue import DropTail, Red
from tunnelcc.config.tcp import TIMESTAMP_BYTES
from tunnelcc.config.topology import Route, Step
from tunnelcc.config.tunnel import KcpKeys
from tunnelcc.hosts import costs
from tunnelcc.hosts.kernels import kernels
from tunnelcc.schema import Model, kind_of

#: A struct of ``models/spec/`` as a table.
Spec = dict[str, Any]

_JSON = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False)

# tcp_init(), net/ipv4/tcp.c: tcp_rmem's default, which a socket's receive buffer begins with.
_INITIAL_TCP_RMEM = 131072

# Bytes after which a carrier's TLS records have their full size.
_STEADY = 2**20
# What iperf3 writes on each connection before any data (COOKIE_SIZE in its source).
_IPERF_COOKIE = 37


def experiment_spec(experiment: Experiment) -> Spec:
    """Return the specification of ``experiment``."""
    return _Builder(experiment).spec()


class _Builder:
    """Collects what flows and tunnels refer to by number: hosts, links, routes, TCP settings."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.layout = layout(experiment)
        topology = self.layout.topology
        self.hosts = {name: number for number, name in enumerate(topology.hosts)}
        self.links = {name: number for number, name in enumerate(topology.links)}
        self.routes: dict[Route, int] = {}
        self.tcp: list[Spec] = []

    def spec(self) -> Spec:
        """Return the specification."""
        experiment, topology = self.experiment, self.layout.topology
        flows = list(self._flows())
        tunnels = [
            self._tunnel(tunnel) | self._tunnel_start(tunnel, number)
            for number, tunnel in enumerate(self.layout.tunnels)
        ]
        cross_traffic = [self._cross_traffic(i) for i in range(len(experiment.cross_traffic))]
        lists = {
            "hosts": [self._host(name) for name in topology.hosts],
            "links": [_link(experiment.tcp, link.path) for link in topology.links.values()],
            "routes": list(map(self._route, self.routes)),
            "tcp": self.tcp,
            "tunnels": tunnels,
            "flows": flows,
            "cross_traffic": cross_traffic,
        }
        rest = _same(experiment, "experiment")
        return {**lists, **{name: value for name, value in rest.items() if name not in lists}}

    def _host(self, name: str) -> Spec:
        host = self.layout.host(name)
        return _same(host, "host") | {
            "machine": 0 if self.layout.is_on_first_machine(name) else self.hosts[name],
            "tcp_memory": derived.tcp_memory(host),
            "tcp_reserve": kernels()[host.kernel].tcp_reserve,
            "switch_cost": round(self._switch_cost(name, host)),
        }

    def _switch_cost(self, name: str, host: Hosts) -> float:
        entries = [it.tunnel.entry for it in self.layout.tunnels if name in self.layout.ends(it)]
        return derived.switch_cost(host, any(entry.IS_COST_WHOLE for entry in entries))

    def _number(self, route: Route) -> int:
        """Return the number of ``route`` in the list, after adding it if it is new."""
        return self.routes.setdefault(route, len(self.routes))

    def _route(self, route: Route) -> Spec:
        return {
            "hosts": {"client": self.hosts[route.client], "server": self.hosts[route.server]},
            "sent": {
                "client": self._steps(route.to_server),
                "server": self._steps(route.to_client),
            },
        }

    def _tcp_number(self, spec: Spec) -> int:
        """Return the number of TCP settings in the list, after adding them if they are new."""
        if spec not in self.tcp:
            self.tcp.append(spec)
        return self.tcp.index(spec)

    def _steps(self, steps: Sequence[Step]) -> list[Spec]:
        return [{"link": self.links[step.link], "is_reverse": step.is_reverse} for step in steps]

    def _flows(self) -> Iterator[Spec]:
        """Single flows. Values that equal flows share are computed once."""
        known: dict[tuple[Any, ...], Spec] = {}
        for placed in self.layout.flows:
            if placed.kind not in known:
                known[placed.kind] = self._alike(placed)
            # The jitter shifts the whole flow: data that all began at once would make every seed
            # alike.
            flow = placed.flow
            jitter = placed.start - flow.start
            yield known[placed.kind] | {
                "carrier": placed.carrier,
                "start": nanoseconds(placed.start),
                "data_start": nanoseconds(max(placed.start, (flow.data_start or 0) + jitter)),
                "stop": 0 if flow.stop is None else nanoseconds(flow.stop + jitter),
            }

    def _alike(self, placed: Placed) -> Spec:
        view, flow = self.layout.view(placed), placed.flow
        carrier = view.tunnel.carrier_cc if view.tunnel else None
        spec = _same(flow, "flow") | {
            "route": self._number(self.layout.route(placed)),
            "extra_delay": self._extra_delay(placed),
            "sender": placed.sender,
            "tunnel": placed.tunnel,
            "tcp": self._tcp_number(_path_tcp(view, derived.mss(view))),
            "app_per_byte": {side: derived.app_cost(view, side) for side in ("client", "server")},
            "cc": _congestion(flow.cc),
            "carrier_cc": _congestion(carrier or flow.cc),
            "preamble": _preamble(view, flow),
        }
        entry = view.tunnel.entry if view.tunnel else None
        if isinstance(entry, RelayEntry):
            link, near, far = entry.loopback.link, entry.loopback.sending, entry.loopback.receiving
            if placed.direction == "down":
                near, far = far, near
            spec["app_tcp"] = self._tcp_number(_loopback_tcp(view, link, near))
            spec["target_tcp"] = self._tcp_number(_loopback_tcp(view, link, far))
        return spec

    def _extra_delay(self, placed: Placed) -> Spec:
        """The delay that flows.rtt adds to the links' delay, half of it in each direction."""
        rtt, (first, *_) = placed.flow.rtt, self.layout.hops(placed)
        if rtt is None:
            return {"client": 0, "server": 0}
        delays = {"client": self._delay(first.to_server), "server": self._delay(first.to_client)}
        half = nanoseconds(rtt) // 2
        return {
            end: (half if end == placed.sender else nanoseconds(rtt) - half) - delay
            for end, delay in delays.items()
        }

    def _delay(self, steps: Sequence[Step]) -> int:
        links = self.layout.topology.links
        return sum(_delays(links[step.link].path)[step.is_reverse] for step in steps)

    def _cross_traffic(self, index: int) -> Spec:
        source = self.experiment.cross_traffic[index]
        route, sender = self.layout.cross_traffic(index)
        spec = _same(source, "datagram") | {"route": self._number(route), "sender": sender}
        if index > 0:
            # Else equal sources would send at the same moments, whatever the seed.
            interval = 8 * source.packet / source.rate
            phase = derived.uniform(self.experiment.seed, "cross traffic", index) * interval
            spec["start"] = nanoseconds(source.start + phase)
        return spec

    def _tunnel_start(self, placed: PlacedTunnel, number: int) -> Spec:
        """Time when a tunnel connects without waiting for a flow: 0, or jittered beside others.

        Without one, two equal tunnels would take turns in the same way whatever the seed.
        """
        is_alone = sum(it.hop is None for it in self.layout.tunnels) == 1
        if is_alone or isinstance(placed.tunnel.entry, DatagramEntry):
            return {}
        seed, jitter = self.experiment.seed, self.experiment.start_jitter
        return {"start": nanoseconds(jitter * derived.uniform(seed, "tunnel", number))}

    def _tunnel(self, placed: PlacedTunnel) -> Spec:
        view, hops = self.layout.view(placed.first), self.layout.hops(placed.first)
        match placed.tunnel.entry:
            case RelayEntry() as entry:
                ccs = [None, *(hop.cc for hop in placed.tunnel.chain)]
                spec = _relay(view, entry)
                spec["hops"] = [
                    {"route": self._number(hop), "under": self.layout.under(placed, number)}
                    | ({"cc": _congestion(cc)} if cc else {})
                    for number, (hop, cc) in enumerate(zip_longest(hops, ccs[: len(hops)]))
                ]
                return spec
            case DatagramEntry() as entry:
                view = view.model_copy(update={"tunnel": placed.tunnel})
                return _datagram_tunnel(view, entry) | {
                    "route": self._number(hops[placed.hop or 0])
                }
            case StreamEntry() as entry:
                return _stream_tunnel(view, entry) | {"route": self._number(hops[0])}
            case entry:
                raise AssertionError(f"no specification for tunnels of kind {entry.kind}")


def spec_text(spec: Spec | Sequence[Spec]) -> str:
    """Return ``spec`` as the JSON text that the compiled module reads."""
    return _JSON.encode(spec)


def _same(model: Model, struct: str) -> Spec:
    """Return the keys of ``model`` that ``struct`` has under the same names, times in ns.

    Keys that are not set keep their default in the struct.
    """
    values = vars(model)
    return {
        name: nanoseconds(value) if is_time else value
        for name, is_time in _shared(type(model), struct)
        if (value := values[name]) is not None
    }


@cache
def _shared(model: type[Model], struct: str) -> tuple[tuple[str, bool], ...]:
    """Return the keys that ``model`` and ``struct`` share, and whether each is a time."""
    members = core.load().spec_members()[struct]
    kinds = {name: kind_of(field) for name, field in model.model_fields.items() if name in members}
    return tuple((name, kind is not None and kind.unit == "s") for name, kind in kinds.items())


def nanoseconds(seconds: float) -> int:
    """Return ``seconds`` in whole nanoseconds."""
    return round(seconds * 1e9)


def _link(tcp: Tcp, link: DuplexLink) -> Spec:
    """Both directions of a link."""
    forward_delay, reverse_delay = _delays(link)
    return {
        "forward": _direction(tcp, link, link) | {"delay": forward_delay},
        "reverse": _direction(tcp, link, link.backward) | {"delay": reverse_delay},
    }


def _delays(link: DuplexLink) -> tuple[int, int]:
    """The delay (ns) of each direction."""
    rtt = nanoseconds(link.rtt)
    return rtt // 2, rtt - rtt // 2


def _direction(tcp: Tcp, link: DuplexLink, direction: LinkDirection) -> Spec:
    return (
        _same(direction, "link")
        | _room(link, direction)
        | _rates(direction)
        | {
            "queue": _queue(tcp, link, direction),
            "gilbert_elliott": direction.gilbert_elliott and dict(direction.gilbert_elliott),
            "policer": direction.policer and _same(direction.policer, "policer"),
            "jitter": _jitter(direction),
        }
    )


def _rates(path: LinkDirection) -> Spec:
    """The rate of the link, and its changes."""
    if path.rate is None:
        return {}
    steps, period, rate = path.rate_steps, 0.0, path.rate
    if path.rate_trace is not None:
        (_, rate), *later = path.rate_trace.steps
        period = path.rate_trace.period
        steps = (*later, (period, rate)) if period else tuple(later)
    return {
        "rate": rate,
        "rate_changes": [{"time": nanoseconds(moment), "rate": it} for moment, it in steps],
        "rate_period": nanoseconds(period),
    }


def _queue(tcp: Tcp, link: DuplexLink, direction: LinkDirection) -> Spec:
    queue, rate, threshold = direction.queue, direction.rate or 0.0, direction.ecn_threshold
    spec: Spec = {"kind": queue.name}
    if isinstance(queue, DropTail):
        marks = derived.queue_bytes(threshold, tcp, link, rate) if threshold else 0
        return spec | {"ecn_threshold": marks}
    for name, value in queue:
        if name in ("target", "interval", "burst"):
            spec[name] = nanoseconds(value)
        elif name in ("min_threshold", "max_threshold"):
            spec[name] = derived.queue_bytes(value, tcp, link, rate)
        elif name != "name":
            spec[name] = value
    if isinstance(queue, Red):
        packet = tcp.mss + tcp.header_bytes
        spec["mean_packet_time"] = nanoseconds(packet * 8 / rate) or 1
    return spec


def _jitter(path: LinkDirection) -> Spec | None:
    if not path.jitter:
        return None
    return {
        "mean": nanoseconds(path.jitter),
        "distribution": path.jitter_distribution,
        "reorders": path.jitter_reorders,
    }


def _room(link: DuplexLink, direction: LinkDirection) -> Spec:
    """The queue of a direction; it has none if its rate is not limited."""
    if direction.rate is None:
        return {"framing": 0}
    return {
        "buffer_bytes": derived.buffer_bytes(direction.buffer, direction.rate, link.rtt),
        "buffer_packets": direction.buffer.packets or 0,
        "framing": link.framing_bytes,
    }


def _tcp(experiment: ExperimentKeys) -> Spec:
    """Settings that the path and loopbacks share, and the end that each setting belongs to."""
    tcp = experiment.tcp
    sender, receiver = (kernels()[host.kernel] for host in derived.sides(experiment))
    client = kernels()[experiment.hosts.of("client").kernel]
    return _same(tcp, "tcp") | {
        "header_bytes": tcp.header_bytes,
        "syn_bytes": tcp.syn_bytes,
        "tso_deferral_limit": nanoseconds(sender.tso_deferral_limit),
        "jiffy": nanoseconds(sender.jiffy),
        "prr_slow_start": sender.prr_slow_start,
        "ping_pong_answers": receiver.ping_pong_answers,
        "pushed_acks": receiver.pushed_acks,
        "syn_linear_timeouts": client.syn_linear_timeouts,
    }


def _path_tcp(experiment: ExperimentKeys, mss: int) -> Spec:
    sender, receiver = derived.sides(experiment)
    kernel = kernels()[receiver.kernel]
    spec = _tcp(experiment)
    spec |= {
        "mss": mss,
        "send_buffer": derived.send_buffer(sender),
        "send_buffer_per_segment": _send_buffer_per_segment(experiment, mss, sender),
        "receive_window": derived.receive_window(experiment),
        "window_scale": derived.window_scale(experiment),
        "receive_growth": kernel.receive_growth,
    }
    if receiver.tcp_moderate_rcvbuf:
        spec["initial_receive_window"] = _initial_receive_window(experiment, mss)
        spec["initial_receive_room"] = kernel.receive_window(
            _INITIAL_TCP_RMEM, receiver.tcp_adv_win_scale
        )
    entry = experiment.tunnel and experiment.tunnel.entry
    if isinstance(entry, RelayEntry):
        spec |= _own_socket(entry.carrier)
    if not isinstance(entry, PacketEntry):  # whose device has no GRO
        spec["gro"] = nanoseconds(receiver.gro)
    return spec


def _own_socket(carrier: relay.Carrier | stream.StreamCarrier) -> Spec:
    """What the program does with its own connection, whatever the applications set on theirs."""
    return {
        "listener_delays": not carrier.server_nodelay,
        "nodelay": bool(carrier.nodelay),
        "writes": carrier.writes,
    }


def _initial_receive_window(experiment: ExperimentKeys, mss: int) -> int:
    """The window of a SYN, which is never scaled.

    As tcp_select_initial_window(): full segments. The client sends its SYN first and does not know
    yet that segments will have timestamps.
    """
    knows_timestamps = experiment.direction == "up" or not experiment.tcp.timestamps
    segment = mss if knows_timestamps else mss + TIMESTAMP_BYTES
    return derived.full_segments(derived.UNSCALED_WINDOW, segment)


def _send_buffer_per_segment(experiment: ExperimentKeys, mss: int, host: Hosts) -> float:
    payload = mss + (TIMESTAMP_BYTES if experiment.tcp.timestamps else 0)
    return kernels()[host.kernel].send_buffer_per_segment(payload)


def _congestion(cc: CongestionControl) -> Spec:
    return {"name": cc.name, "parameters": cc.parameters}


def _preamble(experiment: ExperimentKeys, flow: Flow) -> int:
    if flow.preamble is not None:
        return flow.preamble
    return _IPERF_COOKIE if experiment.direction == "down" else 0


def _relay(experiment: ExperimentKeys, entry: RelayEntry) -> Spec:
    tunnel = experiment.tunnel
    assert tunnel is not None
    then = derived.relay_calls(costs.REFERENCE)
    profile = experiment.hosts.profile
    now = derived.relay_calls(profile) if profile else then
    return {
        "kind": "relay",
        "copy_buffer": tunnel.copy_buffer or entry.copy_buffer.bytes,
        "handshake": [_turn(turn) for turn in entry.handshake],
        "confirms": entry.carrier.confirms,
        "sent": {
            "client": _relay_direction(experiment, entry, then, now, is_up=True),
            "server": _relay_direction(experiment, entry, then, now, is_up=False),
        },
        "loopback_rtt": nanoseconds(entry.loopback.link.rtt),
        "mux": entry.mux and _mux(entry.mux, tunnel.stream_window),
        "dials_early": entry.mux is not None and entry.carrier.early,
        "kcp": entry.kcp and _kcp(tunnel, entry.kcp),
        "rudp": entry.rudp and tunnel.rate and _rudp(tunnel.rate, entry.rudp),
    }


def _kcp(tunnel: Tunnel, kcp: Kcp) -> Spec:
    keys = tunnel.kcp or KcpKeys()
    given = {key: getattr(keys, key) for key in KcpKeys.model_fields}
    changes = {key: value for key, value in given.items() if value is not None}
    mode, fec = kcp.mode_with(tunnel.mode, changes), kcp.fec_with(tunnel.fec)

    def windows(what: str) -> Spec:
        return {
            end: changes.get(f"{end}_{what}_window", getattr(kcp.windows, f"{end}_{what}"))
            for end in ("client", "server")
        }

    return {
        "generation": kcp.session.generation,
        "mtu": kcp.room(fec),
        "header": kcp.header(fec),
        "nodelay": mode.nodelay,
        "interval": nanoseconds(mode.interval),
        "resend": mode.resend,
        "congestion": mode.congestion,
        "send_window": windows("send"),
        "receive_window": windows("receive"),
        "fec": fec and _session_fec(fec),
    }


def _rudp(rate: float, rudp: Rudp) -> Spec:
    return {
        "packet": rudp.packets.data,
        "header": rudp.packets.header + DATAGRAM_HEADERS,
        "window": rudp.packets.window,
        "doubled": rudp.packets.doubled,
        "close_bytes": rudp.packets.close + DATAGRAM_HEADERS,
        "ack_interval": nanoseconds(rudp.acks.interval),
        "acks": rudp.acks.most,
        "ack_header": rudp.acks.header + DATAGRAM_HEADERS,
        "ack_bytes": rudp.acks.number,
        "rate": {"client": rate / 8, "server": rudp.server_rate(rate) / 8},
        "first_rate": {"client": 0.0, "server": rudp.pacing.first / 8},
        "burst": rudp.pacing.burst,
        "resend": {
            "extra": rudp.resends.extra,
            "least": nanoseconds(rudp.resends.least),
            "most": rudp.resends.most,
        },
        "ping": {
            "bytes": rudp.pings.bytes + DATAGRAM_HEADERS,
            "reply_bytes": rudp.pings.reply + DATAGRAM_HEADERS,
            "interval": nanoseconds(rudp.pings.interval),
            "limit": nanoseconds(rudp.pings.limit),
            "first": nanoseconds(rudp.pings.first),
        },
        "wake_delay": nanoseconds(rudp.threads.wake_delay),
    }


def _session_fec(fec: SessionFec) -> Spec:
    parity = parity_counts(fec.parity)
    return {
        "packing": "packets",
        "data": len(parity),
        "parity": parity,
        "gap": nanoseconds(fec.gap or 0),
        "memory": fec.memory,
    }


def _mux(mux: relay.Mux, stream_window: int | None) -> Spec:
    names = ("header", "open", "accept", "credit", "close")
    spec: Spec = {f"{name}_bytes": getattr(mux.frames, name) for name in names}
    return spec | {
        "sent": {
            "client": _mux_direction(mux.to_server, stream_window),
            "server": _mux_direction(mux.to_client, stream_window),
        },
    }


def _mux_direction(windows: relay.Windows, stream_window: int | None) -> Spec:
    names = ("max_frame", "session_buffer", "stream_window", "session_window", "credit_step")
    spec: Spec = {name: getattr(windows, name) for name in names}
    spec["first_stream_window"] = windows.first_stream_window or windows.stream_window
    spec["credits_first_read"] = windows.credits_first_read
    if stream_window is not None:
        spec["stream_window"] = spec["first_stream_window"] = stream_window
        # smux version 2: when half of the buffer was read.
        spec["credit_step"] = min(windows.credit_step or stream_window // 2, stream_window // 2)
    return spec


def _datagram_tunnel(experiment: ExperimentKeys, entry: DatagramEntry) -> Spec:
    tunnel = experiment.tunnel
    assert tunnel is not None
    spec = {
        "kind": "datagram",
        "end": {**_tunnel_end(experiment, entry), "socket_queue": entry.socket.queue},
        "copies_ecn": entry.ecn.copied,
    }
    fec = entry.fec(tunnel.mode, tunnel.fec, tunnel.fec_timeout)
    if fec is None:
        return spec | {"outer": _sizes(experiment, entry, entry.layers(tunnel.mode))}
    inside, outside = entry.around_fec(tunnel.mode)
    inner = [sum(parts) for parts in _sizes(experiment, entry, inside)]
    largest = fec.header + (fec.blob.mtu if fec.blob else inner[-1])
    around = derived.surroundings(experiment, entry)
    outer = packets.sizes(outside, around, largest)[fec.header :]
    return spec | {"outer": outer, "fec": _fec(fec, inner)}


def _fec(fec: Fec, inner: list[int]) -> Spec:
    parity = fec.parity_counts
    spec: Spec = {
        "data": len(parity),
        "parity": parity,
        "timeout": nanoseconds(fec.timeout or 0),
        "memory": fec.memory,
        "inner": inner,
    }
    if fec.blob is None:
        return spec | {"packing": "packets"}
    return spec | {
        "packing": "blob",
        "max_packets": fec.blob.packets,
        "max_shard": fec.blob.mtu,
        "blob_header": fec.blob.header,
        "packet_header": fec.blob.packet_header,
        "shard_cost": fec.blob.cost,
    }


def _stream_tunnel(experiment: ExperimentKeys, entry: StreamEntry) -> Spec:
    assert experiment.tunnel is not None
    carrier_tcp = _path_tcp(experiment, derived.path_mss(experiment))
    carrier_tcp |= _own_socket(entry.carrier)
    carrier_tcp["gro"] = nanoseconds(derived.sides(experiment)[1].gro)
    return {
        "kind": "stream",
        "end": _tunnel_end(experiment, entry),
        "writes": _sizes(experiment, entry, entry.layers(experiment.tunnel.mode)),
        "handshake": [_turn(turn) for turn in entry.handshake],
        "layers": {
            "client": [layer.spec() for layer in entry.to_server],
            "server": [layer.spec() for layer in entry.to_client],
        },
        "carrier_tcp": carrier_tcp,
        "carrier_cc": _congestion(experiment.tunnel.carrier_cc or experiment.flows[0].cc),
    }


def _sizes(
    experiment: ExperimentKeys, entry: PacketEntry, layers: PacketLayers
) -> Sequence[Sequence[int]]:
    """What the tunnel's layers do to packets of every size up to the largest one."""
    around = derived.surroundings(experiment, entry)
    largest = derived.mss(experiment) + experiment.tcp.header_bytes
    return packets.sizes(layers, around, largest)


def _tunnel_end(experiment: ExperimentKeys, entry: PacketEntry) -> Spec:
    assert experiment.tunnel is not None
    return {
        "device_queue": experiment.tunnel.queue or entry.device.queue,
        "shares_thread": entry.threads.threads == 1,
        "encapsulate": _packet_cost(experiment, entry, encapsulates=True),
        "decapsulate": _packet_cost(experiment, entry, encapsulates=False),
    }


def _packet_cost(experiment: ExperimentKeys, entry: PacketEntry, encapsulates: bool) -> Spec:
    cost = derived.packet_cost(experiment, entry, encapsulates)
    return {"per_packet": cost.per_call, "per_byte": cost.per_byte}


def _turn(turn: relay.Turn) -> Spec:
    return {"client": list(turn.client), "server": list(turn.server)}


def layer_wire_bytes(
    layers: Sequence[StreamLayer], message: int, already_sent: int = 0
) -> list[int]:
    """Return the writes (bytes) that a message becomes in ``layers``, innermost first.

    ``already_sent``: bytes that passed the layers before.
    """
    text = spec_text([layer.spec() for layer in layers])
    writes: list[int] = core.load().layer_wire_bytes(text, message, already_sent)
    return writes


def _loopback_tcp(
    experiment: ExperimentKeys, link: relay.LoopbackLink, sockets: relay.Sockets
) -> Spec:
    return _tcp(experiment) | {
        "mss": link.mss,
        "send_buffer_per_segment": _send_buffer_per_segment(experiment, link.mss, experiment.hosts),
        "send_buffer": sockets.send_buffer,
        "receive_window": sockets.receive_window,
    }


def _relay_direction(
    experiment: ExperimentKeys,
    entry: RelayEntry,
    then: derived.RelayCalls,
    now: derived.RelayCalls,
    is_up: bool,
) -> Spec:
    cost = entry.cpu.to_server if is_up else entry.cpu.to_client
    prefix = entry.request if is_up else entry.response
    layers = entry.to_server if is_up else entry.to_client
    writes = full_message(entry, is_up)
    sending, receiving = (cost.client, cost.server) if is_up else (cost.server, cost.client)
    return {
        "layers": [layer.spec() for layer in layers],
        "prefix": prefix.bytes,
        "send": _relay_work(experiment, cost, sending, writes, then, now),
        "receive": _relay_work(experiment, cost, receiving, writes, then, now),
    }


def full_message(entry: RelayEntry, is_up: bool) -> list[int]:
    """Return the writes on the carrier (bytes) for a full message of the entry.

    A full message is a copy buffer, a frame of a shared carrier, or a packet of RUDP.
    """
    payload = min(entry.copy_buffer.bytes, entry.rudp.packets.data if entry.rudp else 2**31)
    if entry.mux is not None:
        windows = entry.mux.to_server if is_up else entry.mux.to_client
        payload = entry.mux.frames.header + min(payload, windows.max_frame)
    layers = entry.to_server if is_up else entry.to_client
    return layer_wire_bytes(layers, payload, _STEADY)


def _relay_work(
    experiment: ExperimentKeys,
    cost: relay.Cost,
    values: Sequence[float],
    writes: Sequence[int],
    then: derived.RelayCalls,
    now: derived.RelayCalls,
) -> Spec:
    """What one relay spends on a message; full messages take the measured time.

    Streams measured the CPU time per IP byte, with so many ``writes`` per message. The reference
    profile gives the part of its system calls (``then``): it counts per message and call, with the
    costs of the experiment's profile (``now``). The rest counts per byte.
    """
    streams, tcp = sum(flow.count for flow in experiment.flows), experiment.tcp
    per_ip_byte = _interpolate(streams, cost.streams, values)
    measured = per_ip_byte * sum(writes) * (tcp.mss + tcp.header_bytes) / tcp.mss
    known = then.per_message + then.per_write * (len(writes) - 1)
    share = min(1.0, measured / known)
    return {
        "per_byte": (measured - share * known) / sum(writes),
        "per_message": share * now.per_message,
        "per_write": share * now.per_write,
    }


def _interpolate(x: int, known: Sequence[int], values: Sequence[float]) -> float:
    """Interpolate linearly over log x. The ends are constant."""
    x = min(max(x, known[0]), known[-1])
    for low, high, at_low, at_high in zip(known, known[1:], values, values[1:], strict=False):
        if low <= x <= high:
            return at_low + (at_high - at_low) * math.log(x / low) / math.log(high / low)
    return values[0]
