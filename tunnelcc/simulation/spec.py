# SPDX-License-Identifier: GPL-2.0-only
"""Translation of an experiment into the numbers that the compiled module takes.

Times become nanoseconds; nothing is decided here that an experiment or the catalogue does not say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from tunnelcc import catalog, core
from tunnelcc.catalog import (
    DatagramEntry,
    PacketEntry,
    RelayEntry,
    StreamEntry,
    packets,
    relay,
    stream,
)
from tunnelcc.config import (
    CongestionControl,
    CrossTraffic,
    Experiment,
    Flow,
    GilbertElliott,
    Hosts,
    Path,
    Policer,
    derived,
)
from tunnelcc.config.tcp import TIMESTAMP_BYTES
from tunnelcc.config.traces import RateTrace
from tunnelcc.hosts import costs
from tunnelcc.hosts.kernels import kernels
from tunnelcc.schema.units import Buffer

# tcp_init(), net/ipv4/tcp.c: tcp_rmem's default, which a socket's receive buffer begins with.
_INITIAL_TCP_RMEM = 131072

# tcp_sndbuf_expand() on x86-64: a full segment with its headers (320), skb_shared_info (320),
# rounded up to a power of two, and sk_buff (256).
_SEND_BUFFER_OVERHEAD = 640
_SK_BUFF = 256

# Bytes after which a carrier's TLS records have their full size.
_STEADY = 2**20
# What iperf3 writes on each connection before any data (COOKIE_SIZE in its source).
_IPERF_COOKIE = 37


def experiment_spec(experiment: Experiment) -> Any:
    """Return the ``_core.ExperimentSpec`` of ``experiment``."""
    spec = core.load().ExperimentSpec()
    spec.path = _path(experiment, derived.paths(experiment)[0])
    spec.tcp = _path_tcp(experiment, derived.mss(experiment))
    spec.client = _host(experiment, "client")
    spec.server = _host(experiment, "server")
    spec.one_machine = experiment.hosts.one_machine
    spec.flows = [
        _flow(experiment, flow, start, carrier)
        for (flow, start), carrier in zip(
            derived.flows(experiment), derived.carriers(experiment), strict=True
        )
    ]
    spec.cross_traffic = [_datagrams(source) for source in experiment.cross_traffic]
    spec.download = experiment.direction == "down"
    if experiment.tunnel is not None:
        _add_tunnel(spec, experiment, catalog.load(experiment.tunnel.name))
    spec.duration = nanoseconds(experiment.duration)
    spec.warmup = nanoseconds(experiment.warmup)
    spec.probe_interval = nanoseconds(experiment.probe_interval)
    spec.seed = experiment.seed
    return spec


def _add_tunnel(spec: Any, experiment: Experiment, entry: catalog.Entry) -> None:
    if isinstance(entry, RelayEntry):
        spec.has_relay = True
        spec.relay = _relay(experiment, entry)
    elif isinstance(entry, DatagramEntry):
        spec.has_datagram_tunnel = True
        spec.datagram_tunnel = _datagram_tunnel(experiment, entry)
    elif isinstance(entry, StreamEntry):
        spec.has_stream_tunnel = True
        spec.stream_tunnel = _stream_tunnel(experiment, entry)
    else:
        raise AssertionError(f"no specification for tunnels of kind {entry.kind}")


def nanoseconds(seconds: float) -> int:
    """Return ``seconds`` in whole nanoseconds."""
    return round(seconds * 1e9)


def _path(experiment: Experiment, path: Path) -> Any:
    experiment = experiment.model_copy(update={"path": path})
    spec = core.load().PathSpec()
    spec.forward = _link(experiment, path.rate, path.buffer, path.loss)
    spec.forward.rate_changes = [_rate_change(*step) for step in path.rate_steps]
    if path.rate_trace is not None:
        _follow(path.rate_trace, spec.forward)
    if path.ecn_threshold is not None:
        spec.forward.ecn_threshold = derived.queue_bytes(experiment, path.ecn_threshold)
    if path.queue.name != "drop-tail":
        spec.forward.queue = _queue(experiment)
    spec.forward.gilbert_elliott = _gilbert_elliott(path.gilbert_elliott)
    spec.forward.policer = _policer(path.policer)
    spec.forward.reorder = path.reorder
    spec.forward.reorder_delay = nanoseconds(path.reorder_delay)
    spec.forward.jitter = _jitter(path)
    spec.reverse = _link(experiment, path.reverse_rate, path.reverse_buffer, path.reverse_loss)
    spec.rtt = nanoseconds(path.rtt)
    return spec


def _follow(trace: RateTrace, link: Any) -> None:
    """Let the rate of ``link`` be that of ``trace``."""
    (_, link.rate), *later = trace.steps
    if trace.period:
        later.append((trace.period, link.rate))
    link.rate_changes = [_rate_change(*step) for step in later]
    link.rate_period = nanoseconds(trace.period)


def _queue(experiment: Experiment) -> Any:
    """The discipline's parameters; those that it lacks stay 0."""
    path, tcp = experiment.path, experiment.tcp
    queue = path.queue
    spec = core.load().QueueSpec()
    spec.discipline = queue.name
    for name in (
        "quantum",
        "queues",
        "alpha",
        "beta",
        "max_probability",
        "weight",
        "gentle",
        "ecn",
    ):
        if (value := queue.value(name)) is not None:
            setattr(spec, name, value)
    for name in ("target", "interval", "burst"):
        setattr(spec, name, nanoseconds(queue.value(name) or 0))
    for name in ("min_threshold", "max_threshold"):
        if (length := queue.value(name)) is not None:
            setattr(spec, name, derived.queue_bytes(experiment, length))
    spec.mean_packet_time = nanoseconds((tcp.mss + tcp.header_bytes) * 8 / path.rate) or 1
    return spec


def _gilbert_elliott(bursts: GilbertElliott | None) -> Any:
    spec = core.load().GilbertElliottSpec()
    if bursts is not None:
        spec.p, spec.r, spec.h, spec.k = bursts.p, bursts.r, bursts.h, bursts.k
    return spec


def _policer(policer: Policer | None) -> Any:
    spec = core.load().PolicerSpec()
    if policer is not None:
        spec.rate = policer.rate
        spec.burst = policer.burst
        spec.before = policer.position == "before"
    return spec


def _jitter(path: Path) -> Any:
    spec = core.load().JitterSpec()
    spec.mean = nanoseconds(path.jitter)
    spec.distribution = path.jitter_distribution
    spec.reorders = path.jitter_reorders
    return spec


def _rate_change(moment: float, rate: float) -> Any:
    change = core.load().RateChange()
    change.time = nanoseconds(moment)
    change.rate = rate
    return change


def _link(experiment: Experiment, rate: float | None, buffer: Buffer, loss: float) -> Any:
    path = experiment.path
    spec = core.load().LinkSpec()
    spec.loss = loss
    spec.loss_periodic = path.loss_pattern == "periodic"
    spec.loss_before = path.loss_position == "before"
    if rate is not None:
        spec.rate = rate
        spec.buffer_bytes = derived.buffer_bytes(buffer, rate, path.rtt)
        spec.buffer_packets = buffer.packets or 0
        spec.framing = path.framing_bytes
    return spec


def _tcp(experiment: Experiment) -> Any:
    tcp = experiment.tcp
    sender, receiver = derived.sides(experiment)
    spec = core.load().TcpSpec()
    spec.mss = tcp.mss
    spec.header_bytes = tcp.header_bytes
    spec.syn_bytes = tcp.syn_bytes
    spec.deferral_limit = nanoseconds(kernels()[sender.kernel].deferral_limit)
    spec.initial_window = tcp.initial_window
    spec.syn_linear_timeouts = kernels()[experiment.hosts.of("client").kernel].syn_linear_timeouts
    spec.min_rto = nanoseconds(tcp.min_rto)
    spec.delayed_ack = nanoseconds(tcp.delayed_ack)
    spec.ack_every = tcp.ack_every
    spec.jiffy = nanoseconds(kernels()[sender.kernel].jiffy)
    spec.ping_pong_answers = kernels()[receiver.kernel].ping_pong_answers
    spec.acks_pushed = kernels()[receiver.kernel].acks_pushed
    spec.is_prr_repair_bound = kernels()[sender.kernel].is_prr_repair_bound
    spec.pacing_quantum = nanoseconds(tcp.pacing_quantum)
    spec.ecn = tcp.ecn
    spec.nodelay = tcp.nodelay
    return spec


def _path_tcp(experiment: Experiment, mss: int) -> Any:
    sender, receiver = derived.sides(experiment)
    spec = _tcp(experiment)
    spec.mss = mss
    spec.send_buffer = derived.send_buffer(sender)
    spec.send_buffer_per_segment = _send_buffer_per_segment(spec.mss, sender)
    spec.receive_window = derived.receive_window(experiment)
    spec.window_scale = derived.window_scale(experiment)
    spec.is_receive_room_cushioned = kernels()[receiver.kernel].is_growth_cushioned
    if receiver.tcp_moderate_rcvbuf:
        spec.initial_receive_window = _initial_receive_window(experiment, mss)
        spec.initial_receive_room = kernels()[receiver.kernel].receive_window(
            _INITIAL_TCP_RMEM, receiver.tcp_adv_win_scale
        )
    if experiment.tunnel is not None:
        entry = catalog.load(experiment.tunnel.name)
        if isinstance(entry, RelayEntry):
            _set_nodelay(spec, entry.carrier)
    return spec


def _set_nodelay(spec: Any, carrier: relay.Carrier | stream.StreamCarrier) -> None:
    spec.listener_delays = not (spec.nodelay or carrier.server_nodelay)
    spec.nodelay = spec.nodelay or carrier.nodelay


def _initial_receive_window(experiment: Experiment, mss: int) -> int:
    """The window of a SYN, which cannot be scaled.

    tcp_select_initial_window(): full segments; the client, who sends its SYN first, does not know
    yet that there will be timestamps in them.
    """
    knows_timestamps = experiment.direction == "up" or not experiment.tcp.timestamps
    segment = mss if knows_timestamps else mss + TIMESTAMP_BYTES
    return derived.full_segments(derived.UNSCALED_WINDOW, segment)


def _send_buffer_per_segment(mss: int, host: Hosts) -> float:
    """Payload (bytes) by which the send buffer grows with each segment of the window."""
    buffer = (1 << (mss + _SEND_BUFFER_OVERHEAD - 1).bit_length()) + _SK_BUFF
    return buffer * kernels()[host.kernel].send_fraction


def _host(experiment: Experiment, side: str) -> Any:
    host = experiment.hosts.of(side)
    spec = core.load().HostSpec()
    spec.cores = host.cores
    spec.speed = host.speed
    spec.tcp_memory = derived.tcp_memory(host)
    spec.tcp_reserve = kernels()[host.kernel].tcp_reserve
    spec.switch_cost = round(derived.switch_cost(experiment, side))
    spec.app_per_byte = derived.app_cost(experiment, side)
    return spec


def _congestion(cc: CongestionControl) -> Any:
    spec = core.load().CongestionSpec()
    spec.name = cc.name
    spec.parameters = list(cc.parameters.items())
    return spec


def _flow(experiment: Experiment, flow: Flow, start: float, carrier_number: int) -> Any:
    carrier = experiment.tunnel.cc if experiment.tunnel else None
    spec = core.load().FlowSpec()
    spec.cc = _congestion(flow.cc)
    spec.carrier_cc = _congestion(carrier or flow.cc)
    spec.carrier = carrier_number
    spec.start = nanoseconds(start)
    # The jitter shifts the whole flow: data that all began at once would make every seed alike.
    jitter = start - flow.start
    spec.data_start = nanoseconds(max(start, (flow.data_start or 0) + jitter))
    if flow.stop is not None:
        spec.stop = nanoseconds(flow.stop + jitter)
    spec.preamble = _preamble(experiment, flow)
    spec.bytes = flow.bytes or 0
    spec.rate = flow.rate or 0
    spec.write_size = flow.write_size
    spec.rtt = nanoseconds(flow.rtt or derived.paths(experiment)[0].rtt)
    return spec


def _preamble(experiment: Experiment, flow: Flow) -> int:
    if flow.preamble is not None:
        return flow.preamble
    return _IPERF_COOKIE if experiment.direction == "down" else 0


def _datagrams(source: CrossTraffic) -> Any:
    spec = core.load().DatagramSpec()
    spec.rate = source.rate
    spec.packet_bytes = source.packet
    spec.start = nanoseconds(source.start)
    spec.stop = nanoseconds(source.stop or 0)
    spec.on_time = nanoseconds(source.on or 0)
    spec.off_time = nanoseconds(source.off or 0)
    return spec


def _relay(experiment: Experiment, entry: RelayEntry) -> Any:
    assert experiment.tunnel is not None
    _core = core.load()
    loopback = entry.loopback
    spec = _core.RelaySpec()
    spec.copy_buffer = experiment.tunnel.copy_buffer or entry.copy_buffer.bytes
    spec.handshake = [_turn(turn) for turn in entry.handshake]
    spec.confirms = entry.carrier.confirms
    spec.request_bytes = entry.request.bytes
    spec.response_bytes = entry.response.bytes
    spec.to_server = [layer_spec(layer) for layer in entry.to_server]
    spec.to_client = [layer_spec(layer) for layer in entry.to_client]
    spec.cost_to_server = _relay_cost(experiment, entry, is_up=True)
    spec.cost_to_client = _relay_cost(experiment, entry, is_up=False)
    client, server = loopback.sending, loopback.receiving
    if experiment.direction == "down":
        client, server = server, client
    spec.app_tcp = _loopback_tcp(experiment, loopback.link, client)
    spec.target_tcp = _loopback_tcp(experiment, loopback.link, server)
    spec.loopback_rtt = nanoseconds(loopback.link.rtt)
    if entry.mux is not None:
        spec.has_mux = True
        spec.mux = _mux(entry.mux, experiment.tunnel.stream_window)
        spec.dials_early = entry.carrier.early
    beyond = derived.paths(experiment)[1:]
    spec.hops = [
        _hop(experiment, path, hop.cc if hop else None)
        for path, hop in zip_longest(beyond, experiment.tunnel.chain)
    ]
    return spec


def _mux(mux: relay.Mux, stream_window: int | None) -> Any:
    spec = core.load().MuxSpec()
    for name in ("header", "open", "accept", "credit", "close"):
        setattr(spec, f"{name}_bytes", getattr(mux.frames, name))
    spec.to_server = _mux_direction(mux.to_server, stream_window)
    spec.to_client = _mux_direction(mux.to_client, stream_window)
    return spec


def _mux_direction(windows: relay.Windows, stream_window: int | None) -> Any:
    spec = core.load().MuxDirectionSpec()
    for name in ("max_frame", "session_buffer", "stream_window", "session_window", "credit_step"):
        setattr(spec, name, getattr(windows, name))
    spec.first_stream_window = windows.first_stream_window or windows.stream_window
    if stream_window is not None:
        spec.stream_window = spec.first_stream_window = stream_window
        # smux version 2: when half of the buffer was read.
        spec.credit_step = min(windows.credit_step or stream_window // 2, stream_window // 2)
    return spec


def _hop(experiment: Experiment, path: Path, cc: CongestionControl | None) -> Any:
    spec = core.load().HopSpec()
    spec.path = _path(experiment, path)
    if cc is not None:
        spec.cc = _congestion(cc)
    spec.relay = _host(experiment, "server")
    return spec


def _datagram_tunnel(experiment: Experiment, entry: DatagramEntry) -> Any:
    assert experiment.tunnel is not None
    spec = core.load().DatagramTunnelSpec()
    spec.end = _tunnel_end(experiment, entry)
    spec.end.socket_queue = entry.socket.queue
    spec.outer = _sizes(experiment, entry)
    spec.copies_ecn = entry.ecn.copied
    return spec


def _stream_tunnel(experiment: Experiment, entry: StreamEntry) -> Any:
    assert experiment.tunnel is not None
    spec = core.load().StreamTunnelSpec()
    spec.end = _tunnel_end(experiment, entry)
    spec.writes = _sizes(experiment, entry)
    spec.handshake = [_turn(turn) for turn in entry.handshake]
    spec.to_server = [layer_spec(layer) for layer in entry.to_server]
    spec.to_client = [layer_spec(layer) for layer in entry.to_client]
    spec.carrier_tcp = _path_tcp(experiment, derived.path_mss(experiment))
    spec.carrier_tcp.nodelay = False  # the flows' is their own
    _set_nodelay(spec.carrier_tcp, entry.carrier)
    spec.carrier_cc = _congestion(experiment.tunnel.cc or experiment.flows[0].cc)
    return spec


def _sizes(experiment: Experiment, entry: PacketEntry) -> Any:
    """What the tunnel makes of packets, up to the largest that there will be."""
    assert experiment.tunnel is not None
    around = derived.surroundings(experiment, entry)
    largest = derived.mss(experiment) + experiment.tcp.header_bytes
    return packets.sizes(entry.layers(experiment.tunnel.mode), around, largest)


def _tunnel_end(experiment: Experiment, entry: PacketEntry) -> Any:
    assert experiment.tunnel is not None
    end = core.load().TunnelEndSpec()
    end.device_queue = experiment.tunnel.queue or entry.device.queue
    end.shares_thread = entry.threads.threads == 1
    end.encapsulate = _packet_cost(experiment, entry, encapsulates=True)
    end.decapsulate = _packet_cost(experiment, entry, encapsulates=False)
    return end


def _packet_cost(experiment: Experiment, entry: PacketEntry, encapsulates: bool) -> Any:
    cost = derived.packet_cost(experiment, entry, encapsulates)
    spec = core.load().PacketCostSpec()
    spec.per_packet = cost.per_call
    spec.per_byte = cost.per_byte
    return spec


def _turn(turn: relay.Turn) -> Any:
    spec = core.load().HandshakeTurn()
    spec.client = list(turn.client)
    spec.server = list(turn.server)
    return spec


def layer_spec(layer: relay.Layer) -> Any:
    """Return the ``_core.LayerSpec`` of a catalogue layer."""
    spec = core.load().LayerSpec()
    spec.kind = layer.layer
    for name in (
        "max_payload", "block", "masked", "first_write", "overhead",
        "ramp_bytes", "ramp_until", "records_before",
    ):  # fmt: skip
        setattr(spec, name, getattr(layer, name))
    return spec


def _loopback_tcp(experiment: Experiment, link: relay.LoopbackLink, sockets: relay.Sockets) -> Any:
    spec = _tcp(experiment)
    spec.mss = link.mss
    spec.send_buffer_per_segment = _send_buffer_per_segment(link.mss, experiment.hosts)
    spec.send_buffer = sockets.send_buffer
    spec.receive_window = sockets.receive_window
    return spec


def _relay_cost(experiment: Experiment, entry: RelayEntry, is_up: bool) -> Any:
    cost = entry.cpu.to_server if is_up else entry.cpu.to_client
    writes = full_message(entry, is_up)
    spec = core.load().RelayCostSpec()
    spec.send = _relay_work(experiment, cost, cost.client if is_up else cost.server, writes)
    spec.receive = _relay_work(experiment, cost, cost.server if is_up else cost.client, writes)
    return spec


def full_message(entry: RelayEntry, is_up: bool) -> list[int]:
    """Return the writes on the carrier (bytes) that a full copy buffer of the entry becomes."""
    payload = entry.copy_buffer.bytes
    if entry.mux is not None:
        windows = entry.mux.to_server if is_up else entry.mux.to_client
        payload = entry.mux.frames.header + min(payload, windows.max_frame)
    layers = [layer_spec(layer) for layer in (entry.to_server if is_up else entry.to_client)]
    writes: list[int] = core.load().layer_wire_bytes(layers, payload, _STEADY)
    return writes


def _relay_work(
    experiment: Experiment, cost: relay.Cost, values: Sequence[float], writes: Sequence[int]
) -> Any:
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
    spec = core.load().RelayWorkSpec()
    spec.per_byte = (measured - share * known) / sum(writes)
    spec.per_message = share * now.per_message
    spec.per_write = share * now.per_write
    return spec


def _interpolate(x: int, known: Sequence[int], values: Sequence[float]) -> float:
    """Interpolate linearly over log x; constant outside of what is known."""
    x = min(max(x, known[0]), known[-1])
    for low, high, at_low, at_high in zip(known, known[1:], values, values[1:], strict=False):
        if low <= x <= high:
            return at_low + (at_high - at_low) * math.log(x / low) / math.log(high / low)
    return values[0]
