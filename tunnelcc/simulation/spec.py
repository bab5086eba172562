# SPDX-License-Identifier: GPL-2.0-only
"""Translation of an experiment into the numbers that the compiled module takes.

Those are tables with the members of the structs in ``models/spec/``, and what is left out keeps
its default there. Times become nanoseconds; nothing is decided here that an experiment or the
catalogue does not say.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
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
from tunnelcc.catalog.layers import StreamLayer
from tunnelcc.config import (
    CongestionControl,
    Experiment,
    Flow,
    Hosts,
    Path,
    derived,
)
from tunnelcc.config.queue import DropTail, Red
from tunnelcc.config.tcp import TIMESTAMP_BYTES
from tunnelcc.hosts import costs
from tunnelcc.hosts.kernels import kernels
from tunnelcc.schema import Model, keys_of
from tunnelcc.schema.units import Buffer

#: A struct of ``models/spec/`` as a table.
Spec = dict[str, Any]

# tcp_init(), net/ipv4/tcp.c: tcp_rmem's default, which a socket's receive buffer begins with.
_INITIAL_TCP_RMEM = 131072

# Bytes after which a carrier's TLS records have their full size.
_STEADY = 2**20
# What iperf3 writes on each connection before any data (COOKIE_SIZE in its source).
_IPERF_COOKIE = 37


def experiment_spec(experiment: Experiment) -> Spec:
    """Return the specification of ``experiment``."""
    return _same(experiment, "experiment") | {
        "path": _path(experiment, derived.paths(experiment)[0]),
        "tcp": _path_tcp(experiment, derived.mss(experiment)),
        "client": _host(experiment, "client"),
        "server": _host(experiment, "server"),
        "one_machine": experiment.hosts.one_machine,
        "flows": [
            _flow(experiment, flow, start, carrier)
            for (flow, start), carrier in zip(
                derived.flows(experiment), derived.carriers(experiment), strict=True
            )
        ],
        "cross_traffic": [_same(source, "datagram") for source in experiment.cross_traffic],
        "download": experiment.direction == "down",
        "tunnel": _tunnel(experiment),
    }


def spec_text(spec: Spec | Sequence[Spec]) -> str:
    """Return ``spec`` as the text (JSON) that the compiled module reads."""
    return json.dumps(spec, separators=(",", ":"), allow_nan=False)


def _same(model: Model, struct: str) -> Spec:
    """Return the keys of ``model`` that ``struct`` has under the same names, times in ns.

    What is not set keeps its default there.
    """
    spec: Spec = {}
    for name, is_time in _shared(type(model), struct):
        value = getattr(model, name)
        if value is not None:
            spec[name] = nanoseconds(value) if is_time else value
    return spec


@cache
def _shared(model: type[Model], struct: str) -> tuple[tuple[str, bool], ...]:
    """Return the keys that ``model`` and ``struct`` share, and whether each is a time."""
    members = core.load().spec_members()[struct]
    times = {info.key for info in keys_of(model) if info.kind and info.kind.unit == "s"}
    return tuple((name, name in times) for name in model.model_fields if name in members)


def _tunnel(experiment: Experiment) -> Spec | None:
    if experiment.tunnel is None:
        return None
    match experiment.tunnel.entry:
        case RelayEntry() as entry:
            return _relay(experiment, entry)
        case DatagramEntry() as entry:
            return _datagram_tunnel(experiment, entry)
        case StreamEntry() as entry:
            return _stream_tunnel(experiment, entry)
        case entry:
            raise AssertionError(f"no specification for tunnels of kind {entry.kind}")


def nanoseconds(seconds: float) -> int:
    """Return ``seconds`` in whole nanoseconds."""
    return round(seconds * 1e9)


def _path(experiment: Experiment, path: Path) -> Spec:
    experiment = experiment.model_copy(update={"path": path})
    forward = _same(path, "link") | _room(path, path.rate, path.buffer) | _rates(path)
    forward |= {
        "queue": _queue(experiment),
        "gilbert_elliott": path.gilbert_elliott and dict(path.gilbert_elliott),
        "policer": path.policer and _same(path.policer, "policer"),
        "jitter": _jitter(path),
    }
    reverse = _room(path, path.reverse_rate, path.reverse_buffer) | {
        "loss": path.reverse_loss,
        "loss_pattern": path.loss_pattern,
        "loss_position": path.loss_position,
    }
    return {"forward": forward, "reverse": reverse, "rtt": nanoseconds(path.rtt)}


def _rates(path: Path) -> Spec:
    """The rate of the link, and when it changes."""
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


def _queue(experiment: Experiment) -> Spec:
    path, tcp = experiment.path, experiment.tcp
    queue = path.queue
    spec: Spec = {"kind": queue.name}
    if isinstance(queue, DropTail):
        threshold = path.ecn_threshold
        spec["ecn_threshold"] = derived.queue_bytes(experiment, threshold) if threshold else 0
        return spec
    for name, value in queue:
        if name in ("target", "interval", "burst"):
            spec[name] = nanoseconds(value)
        elif name in ("min_threshold", "max_threshold"):
            spec[name] = derived.queue_bytes(experiment, value)
        elif name != "name":
            spec[name] = value
    if isinstance(queue, Red):
        packet = tcp.mss + tcp.header_bytes
        spec["mean_packet_time"] = nanoseconds(packet * 8 / path.rate) or 1
    return spec


def _jitter(path: Path) -> Spec | None:
    if not path.jitter:
        return None
    return {
        "mean": nanoseconds(path.jitter),
        "distribution": path.jitter_distribution,
        "reorders": path.jitter_reorders,
    }


def _room(path: Path, rate: float | None, buffer: Buffer) -> Spec:
    """The link in one direction, which has no queue unless its rate is limited."""
    if rate is None:
        return {}
    return {
        "rate": rate,
        "buffer_bytes": derived.buffer_bytes(buffer, rate, path.rtt),
        "buffer_packets": buffer.packets or 0,
        "framing": path.framing_bytes,
    }


def _tcp(experiment: Experiment) -> Spec:
    """What is the same on the path and on loopbacks; which end it is that a setting counts at."""
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


def _path_tcp(experiment: Experiment, mss: int) -> Spec:
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
        spec |= _nagle(entry.carrier, spec["nodelay"])
    return spec


def _nagle(carrier: relay.Carrier | stream.StreamCarrier, nodelay: bool) -> Spec:
    return {
        "listener_delays": not (nodelay or carrier.server_nodelay),
        "nodelay": nodelay or carrier.nodelay,
    }


def _initial_receive_window(experiment: Experiment, mss: int) -> int:
    """The window of a SYN, which cannot be scaled.

    tcp_select_initial_window(): full segments; the client, who sends its SYN first, does not know
    yet that there will be timestamps in them.
    """
    knows_timestamps = experiment.direction == "up" or not experiment.tcp.timestamps
    segment = mss if knows_timestamps else mss + TIMESTAMP_BYTES
    return derived.full_segments(derived.UNSCALED_WINDOW, segment)


def _send_buffer_per_segment(experiment: Experiment, mss: int, host: Hosts) -> float:
    payload = mss + (TIMESTAMP_BYTES if experiment.tcp.timestamps else 0)
    return kernels()[host.kernel].send_buffer_per_segment(payload)


def _host(experiment: Experiment, side: str) -> Spec:
    host = experiment.hosts.of(side)
    return _same(host, "host") | {
        "tcp_memory": derived.tcp_memory(host),
        "tcp_reserve": kernels()[host.kernel].tcp_reserve,
        "switch_cost": round(derived.switch_cost(experiment, side)),
        "app_per_byte": derived.app_cost(experiment, side),
    }


def _congestion(cc: CongestionControl) -> Spec:
    return {"name": cc.name, "parameters": cc.parameters}


def _flow(experiment: Experiment, flow: Flow, start: float, carrier_number: int) -> Spec:
    carrier = experiment.tunnel.cc if experiment.tunnel else None
    # The jitter shifts the whole flow: data that all began at once would make every seed alike.
    jitter = start - flow.start
    return _same(flow, "flow") | {
        "cc": _congestion(flow.cc),
        "carrier_cc": _congestion(carrier or flow.cc),
        "carrier": carrier_number,
        "start": nanoseconds(start),
        "data_start": nanoseconds(max(start, (flow.data_start or 0) + jitter)),
        "stop": 0 if flow.stop is None else nanoseconds(flow.stop + jitter),
        "preamble": _preamble(experiment, flow),
        "rtt": nanoseconds(flow.rtt or derived.paths(experiment)[0].rtt),
    }


def _preamble(experiment: Experiment, flow: Flow) -> int:
    if flow.preamble is not None:
        return flow.preamble
    return _IPERF_COOKIE if experiment.direction == "down" else 0


def _relay(experiment: Experiment, entry: RelayEntry) -> Spec:
    tunnel, loopback = experiment.tunnel, entry.loopback
    assert tunnel is not None
    client, server = loopback.sending, loopback.receiving
    if experiment.direction == "down":
        client, server = server, client
    beyond = derived.paths(experiment)[1:]
    return {
        "kind": "relay",
        "copy_buffer": tunnel.copy_buffer or entry.copy_buffer.bytes,
        "handshake": [_turn(turn) for turn in entry.handshake],
        "confirms": entry.carrier.confirms,
        "sent": {
            "client": _relay_direction(experiment, entry, is_up=True),
            "server": _relay_direction(experiment, entry, is_up=False),
        },
        "app_tcp": _loopback_tcp(experiment, loopback.link, client),
        "target_tcp": _loopback_tcp(experiment, loopback.link, server),
        "loopback_rtt": nanoseconds(loopback.link.rtt),
        "mux": entry.mux and _mux(entry.mux, tunnel.stream_window),
        "dials_early": entry.mux is not None and entry.carrier.early,
        "hops": [
            _hop(experiment, path, hop.cc if hop else None)
            for path, hop in zip_longest(beyond, tunnel.chain)
        ],
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
    if stream_window is not None:
        spec["stream_window"] = spec["first_stream_window"] = stream_window
        # smux version 2: when half of the buffer was read.
        spec["credit_step"] = min(windows.credit_step or stream_window // 2, stream_window // 2)
    return spec


def _hop(experiment: Experiment, path: Path, cc: CongestionControl | None) -> Spec:
    spec: Spec = {"path": _path(experiment, path), "relay": _host(experiment, "server")}
    return spec if cc is None else spec | {"cc": _congestion(cc)}


def _datagram_tunnel(experiment: Experiment, entry: DatagramEntry) -> Spec:
    return {
        "kind": "datagram",
        "end": {**_tunnel_end(experiment, entry), "socket_queue": entry.socket.queue},
        "outer": _sizes(experiment, entry),
        "copies_ecn": entry.ecn.copied,
    }


def _stream_tunnel(experiment: Experiment, entry: StreamEntry) -> Spec:
    assert experiment.tunnel is not None
    carrier_tcp = _path_tcp(experiment, derived.path_mss(experiment))
    carrier_tcp |= _nagle(entry.carrier, nodelay=False)  # the flows' is their own
    return {
        "kind": "stream",
        "end": _tunnel_end(experiment, entry),
        "writes": _sizes(experiment, entry),
        "handshake": [_turn(turn) for turn in entry.handshake],
        "layers": {
            "client": [layer.spec() for layer in entry.to_server],
            "server": [layer.spec() for layer in entry.to_client],
        },
        "carrier_tcp": carrier_tcp,
        "carrier_cc": _congestion(experiment.tunnel.cc or experiment.flows[0].cc),
    }


def _sizes(experiment: Experiment, entry: PacketEntry) -> Sequence[Sequence[int]]:
    """What the tunnel makes of packets, up to the largest that there will be."""
    assert experiment.tunnel is not None
    around = derived.surroundings(experiment, entry)
    largest = derived.mss(experiment) + experiment.tcp.header_bytes
    return packets.sizes(entry.layers(experiment.tunnel.mode), around, largest)


def _tunnel_end(experiment: Experiment, entry: PacketEntry) -> Spec:
    assert experiment.tunnel is not None
    return {
        "device_queue": experiment.tunnel.queue or entry.device.queue,
        "shares_thread": entry.threads.threads == 1,
        "encapsulate": _packet_cost(experiment, entry, encapsulates=True),
        "decapsulate": _packet_cost(experiment, entry, encapsulates=False),
    }


def _packet_cost(experiment: Experiment, entry: PacketEntry, encapsulates: bool) -> Spec:
    cost = derived.packet_cost(experiment, entry, encapsulates)
    return {"per_packet": cost.per_call, "per_byte": cost.per_byte}


def _turn(turn: relay.Turn) -> Spec:
    return {"client": list(turn.client), "server": list(turn.server)}


def layer_wire_bytes(
    layers: Sequence[StreamLayer], message: int, already_sent: int = 0
) -> list[int]:
    """Return the writes (bytes) that a message becomes in ``layers``, innermost first.

    ``already_sent``: bytes that have gone through them before.
    """
    text = spec_text([layer.spec() for layer in layers])
    writes: list[int] = core.load().layer_wire_bytes(text, message, already_sent)
    return writes


def _loopback_tcp(experiment: Experiment, link: relay.LoopbackLink, sockets: relay.Sockets) -> Spec:
    return _tcp(experiment) | {
        "mss": link.mss,
        "send_buffer_per_segment": _send_buffer_per_segment(experiment, link.mss, experiment.hosts),
        "send_buffer": sockets.send_buffer,
        "receive_window": sockets.receive_window,
    }


def _relay_direction(experiment: Experiment, entry: RelayEntry, is_up: bool) -> Spec:
    cost = entry.cpu.to_server if is_up else entry.cpu.to_client
    prefix = entry.request if is_up else entry.response
    layers = entry.to_server if is_up else entry.to_client
    writes = full_message(entry, is_up)
    sending, receiving = (cost.client, cost.server) if is_up else (cost.server, cost.client)
    return {
        "layers": [layer.spec() for layer in layers],
        "prefix": prefix.bytes,
        "send": _relay_work(experiment, cost, sending, writes),
        "receive": _relay_work(experiment, cost, receiving, writes),
    }


def full_message(entry: RelayEntry, is_up: bool) -> list[int]:
    """Return the writes on the carrier (bytes) that a full copy buffer of the entry becomes."""
    payload = entry.copy_buffer.bytes
    if entry.mux is not None:
        windows = entry.mux.to_server if is_up else entry.mux.to_client
        payload = entry.mux.frames.header + min(payload, windows.max_frame)
    layers = entry.to_server if is_up else entry.to_client
    return layer_wire_bytes(layers, payload, _STEADY)


def _relay_work(
    experiment: Experiment, cost: relay.Cost, values: Sequence[float], writes: Sequence[int]
) -> Spec:
    """What one relay spends on a message, of which full ones take what was measured.

    Measured is the CPU time per IP byte, by streams, with messages of so many ``writes``. What
    their system calls take of it by the reference profile goes by message and call, and by the
    profile of the experiment; the rest by byte.
    """
    streams, tcp = sum(flow.count for flow in experiment.flows), experiment.tcp
    per_ip_byte = _interpolate(streams, cost.streams, values)
    measured = per_ip_byte * sum(writes) * (tcp.mss + tcp.header_bytes) / tcp.mss
    then = derived.relay_calls(costs.REFERENCE)
    known = then.per_message + then.per_write * (len(writes) - 1)
    share = min(1.0, measured / known)
    now = derived.relay_calls(experiment.hosts.profile or costs.REFERENCE)
    return {
        "per_byte": (measured - share * known) / sum(writes),
        "per_message": share * now.per_message,
        "per_write": share * now.per_write,
    }


def _interpolate(x: int, known: Sequence[int], values: Sequence[float]) -> float:
    """Interpolate linearly over log x; constant outside of what is known."""
    x = min(max(x, known[0]), known[-1])
    for low, high, at_low, at_high in zip(known, known[1:], values, values[1:], strict=False):
        if low <= x <= high:
            return at_low + (at_high - at_low) * math.log(x / low) / math.log(high / low)
    return values[0]
