# SPDX-License-Identifier: GPL-2.0-only
"""What a tunnel of the catalogue does to an application's bytes, without a simulation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import zip_longest

from tunnelcc import catalog
from tunnelcc.catalog import Entry
from tunnelcc.catalog.kcp import SEGMENT_HEADER, Kcp
from tunnelcc.catalog.layers import PacketLayer, StreamLayer, Surroundings, wrap
from tunnelcc.catalog.packets import PacketEntry
from tunnelcc.catalog.quic import Quic
from tunnelcc.catalog.quic_datagram import QuicDatagramEntry
from tunnelcc.catalog.relay import RelayEntry
from tunnelcc.catalog.rudp import Rudp
from tunnelcc.catalog.values import (
    IP_HEADERS,
    MOST_MTU,
    Use,
    datagram_headers,
    parity_counts,
    plain_headers,
)
from tunnelcc.errors import ConfigError, Problem

#: Writes (bytes) for which an overview tells the overhead.
WRITE_SIZES = (64, 256, 1024, 4096, 16384, 32768, 131072)

# The version of IP that sizes are told for.
_IP = 4
# With timestamps, 12.
_HEADERS = plain_headers(_IP) + 12
_PATH_MTU = 1500
_MSS = _PATH_MTU - _HEADERS
# Bytes after which Go's TLS records have their full size.
_STEADY = 2**20
# Of a STREAM frame that ends its packet: type 1, stream 1, offset 4 (16 KiB to 1 GiB).
_QUIC_STREAM_HEADER = 6


@dataclass(frozen=True)
class StackLayer:
    """One layer: its name, and what it adds to the server and to the client."""

    name: str
    to_server: str
    to_client: str


@dataclass(frozen=True)
class Overview:
    """``stack``: from the application's bytes out to the wire.

    ``round_trips``: cause → round trips before the first byte leaves the client; also how many of
    the tunnel's own are simulated, if not all. ``wire_bytes``: size of a write (bytes) → IP bytes
    per application byte, to the server and to the client; the connection is idle before and after
    the write, and compressed data are random bytes. ``mode``: the shown one of ``modes``.
    """

    stack: tuple[StackLayer, ...]
    round_trips: dict[str, int]
    wire_bytes: dict[int, tuple[float, float]]
    mode: str = ""
    modes: tuple[str, ...] = ()


@singledispatch
def overview(entry: Entry, mode: str | None = None) -> Overview:
    """Return the overview of a catalogue entry, in ``mode`` or its default one.

    Raises ConfigError for an unknown mode.
    """
    raise AssertionError(f"no overview of tunnels of kind {entry.kind}")


# Relays -----------------------------------------------------------------------------------------


@overview.register(RelayEntry)
def _relay(entry: RelayEntry, mode: str | None = None) -> Overview:
    if entry.kcp is not None:
        entry.check({} if mode is None else {"mode": mode})
    elif mode is not None:
        raise ConfigError(Problem("mode", mode, f"no value, because {entry.name} has no modes"))
    return Overview(
        _relay_stack(entry, mode),
        entry.round_trips(mode),
        {
            size: (_relay_bytes(entry, size, True), _relay_bytes(entry, size, False))
            for size in WRITE_SIZES
        },
        (mode or entry.kcp.mode) if entry.kcp else "",
        tuple(entry.kcp.modes) if entry.kcp else (),
    )


def _relay_stack(entry: RelayEntry, mode: str | None) -> tuple[StackLayer, ...]:
    chunk = f"≤ {entry.copy_buffer.bytes} B at once"
    layers = [*_same("application", chunk)]
    if entry.request.bytes:
        layers.append(
            StackLayer(
                "relay",
                f"request of {entry.request.bytes} B before the first data",
                f"response of {entry.response.bytes} B before the first data",
            )
        )
    if entry.mux is not None:
        header = entry.mux.frames.header
        layers.append(
            StackLayer(
                entry.mux.protocol,
                f"{header} B per frame of ≤ {entry.mux.to_server.max_frame} B",
                f"{header} B per frame of ≤ {entry.mux.to_client.max_frame} B",
            )
        )
    for up, down in zip_longest(entry.to_server, entry.to_client):
        layers.append(_stream_layer(up, down))
    if entry.kcp is not None:
        return (*layers, *_kcp_stack(entry.kcp, mode))
    if entry.rudp is not None:
        return (*layers, *_rudp_stack(entry.rudp))
    if entry.quic is not None:
        return (*layers, *_quic_stack(entry.quic))
    below = _below(entry)
    if below is None:
        return (*layers, *_transport(_MSS))
    mss = _through(below, below.mode)
    return (*layers, *_transport(mss), *_packet_layers(below, below.mode, mss))


def _kcp_stack(kcp: Kcp, mode: str | None) -> Iterator[StackLayer]:
    how, windows = kcp.modes[mode or kcp.mode], kcp.windows
    text = f"{SEGMENT_HEADER} B per segment of ≤ {kcp.payload(kcp.fec)} B, window "
    yield StackLayer(
        f"KCP of {kcp.session.generation}",
        f"{text}{min(windows.client_send, windows.server_receive)}",
        f"{text}{min(windows.server_send, windows.client_receive)}",
    )
    resend = f"resend after {how.resend} ACKs" if how.resend else "resend only after time-outs"
    control = ", congestion window" if how.congestion else ""
    delay = ", nodelay" if how.nodelay else ""
    yield from _same(
        f"mode {mode or kcp.mode}", f"clock {how.interval * 1e3:g} ms, {resend}{delay}{control}"
    )
    if kcp.fec is not None:
        data, parity = kcp.fec.parity.split(":")
        added = f"{kcp.fec.header} B per datagram, {parity} of parity after {data}"
        yield from _same("Reed–Solomon", added)
    yield from _same("cipher", f"{kcp.session.cipher} B per datagram")
    yield from (*_same("UDP", "8 B"), *_same(f"IPv{_IP}", f"{IP_HEADERS[_IP]} B"))


def _rudp_stack(rudp: Rudp) -> Iterator[StackLayer]:
    packets, resends = rudp.packets, rudp.resends
    yield from _same(
        "RUDP", f"{packets.header} B per packet of ≤ {packets.data} B, window {packets.window}"
    )
    wait = f"{1 + resends.extra:g} pings, at least {resends.least * 1e3:g} ms"
    yield from _same("resend", f"after {wait}, at most {resends.most} times")
    yield from (*_same("UDP", "8 B"), *_same(f"IPv{_IP}", f"{IP_HEADERS[_IP]} B"))


def _quic_stack(quic: Quic) -> Iterator[StackLayer]:
    yield StackLayer(
        "QUIC",
        *(
            f"{quic.overhead(is_up) + _QUIC_STREAM_HEADER} B per packet of ≤ {quic.full(is_up)} B"
            for is_up in (True, False)
        ),
    )
    for name, window in (("stream", quic.stream), ("connection", quic.connection)):
        text = "no limit"
        if window.first:
            most = f" to {window.most / 2**20:g} MiB" if window.most > window.first else ""
            text = f"{window.first / 2**20:g} MiB{most}"
        yield from _same(f"{name} window", text)
    yield from _quic_control(quic)


def _quic_control(quic: Quic) -> Iterator[StackLayer]:
    own = quic.congestion
    rated = f", {own.with_rate} if tunnel.rate is set" if own.with_rate else ""
    yield from _same("congestion control", f"{own.cc}{rated}, {own.first} packets at first")
    yield from (*_same("UDP", "8 B"), *_same(f"IPv{_IP}", f"{IP_HEADERS[_IP]} B"))


def _below(entry: RelayEntry) -> PacketEntry | None:
    """The datagram tunnel that the carriers go through."""
    if entry.under is None:
        return None
    below = catalog.load(entry.under)
    assert isinstance(below, PacketEntry)
    return below


def _stream_layer(up: StreamLayer | None, down: StreamLayer | None) -> StackLayer:
    """``up``, ``down``: direction to the server, and to the client; at least one is not None."""
    title = next(layer.title for layer in (up, down) if layer)
    return StackLayer(title, *(layer.adds() if layer else "–" for layer in (up, down)))


def _same(name: str, text: str) -> tuple[StackLayer]:
    return (StackLayer(name, text, text),)


def _transport(mss: int) -> tuple[StackLayer, ...]:
    return *_same("TCP", f"32 B per segment of ≤ {mss} B"), *_same(
        f"IPv{_IP}", f"{IP_HEADERS[_IP]} B"
    )


def _relay_bytes(entry: RelayEntry, size: int, is_up: bool) -> float:
    """IP bytes per application byte of a write whose pieces each leave at once (TCP_NODELAY)."""
    from tunnelcc.specification import layer_wire_bytes

    layers = entry.stream_layers(is_up)
    header, most = 0, entry.copy_buffer.bytes
    if entry.mux is not None:
        header = entry.mux.frames.header
        windows = entry.mux.to_server if is_up else entry.mux.to_client
        most = min(most, windows.max_frame)
    pieces = [most] * (size // most) + ([size % most] if size % most else [])
    writes = [
        write for piece in pieces for write in layer_wire_bytes(layers, header + piece, _STEADY)
    ]
    if entry.kcp is not None:
        return _kcp_bytes(entry.kcp, writes) / size
    if entry.rudp is not None:
        packets = sum(-(-write // entry.rudp.packets.data) for write in writes)
        header = entry.rudp.packets.header + datagram_headers(_IP)
        return (sum(writes) + header * packets) / size
    if entry.quic is not None:
        header = entry.quic.overhead(is_up) + _QUIC_STREAM_HEADER
        data = entry.quic.full(is_up) - header
        apart = writes if entry.quic.writes.one_frame else [sum(writes)]
        packets = sum(-(-it // data) for it in apart)
        return (sum(writes) + (header + datagram_headers(_IP)) * packets) / size
    below = _below(entry)
    if below is not None:
        mss = _through(below, below.mode)
        return sum(_packets_bytes(below, below.mode, it, mss, is_up) * it for it in writes) / size
    return float(sum(write + _HEADERS * -(-write // _MSS) for write in writes)) / size


def _kcp_bytes(kcp: Kcp, writes: Sequence[int]) -> float:
    """IP bytes of writes whose segments each leave at once, with their share of parity.

    Parity is as long as the longest datagram of its group; here all writes are equal. The KCP of
    2017 delayed writes until the next clock tick, and writes shared segments.
    """
    writes = [sum(writes)] if kcp.session.generation == "2017" else writes
    most = kcp.payload(kcp.fec)
    header = datagram_headers(_IP) + kcp.header(kcp.fec) + SEGMENT_HEADER
    segments = [min(most, write - at) for write in writes for at in range(0, write, most)]
    data = sum(segments) + header * len(segments)
    if kcp.fec is None:
        return data
    parity = parity_counts(kcp.fec.parity)
    return data + (max(segments) + header) * len(segments) * parity[-1] / len(parity)


# Packets ----------------------------------------------------------------------------------------


@overview.register(PacketEntry)
def _packets(entry: PacketEntry, mode: str | None = None) -> Overview:
    mode = entry.mode if mode is None else mode
    mss = _through(entry, mode)
    layers = [
        *_same("application", "a TCP connection across the tunnel"),
        *_transport(mss),
        *_packet_layers(entry, mode, mss),
    ]
    if isinstance(entry, QuicDatagramEntry):
        layers = [*_datagram_stack(entry, layers)]
    elif entry.HAS_CARRIERS:
        for up, down in zip_longest(entry.stream_layers(True), entry.stream_layers(False)):
            layers.append(_stream_layer(up, down))
        layers += _transport(_MSS)
    return Overview(
        tuple(layers),
        entry.round_trips(),
        {
            size: (
                _packets_bytes(entry, mode, size, mss, True),
                _packets_bytes(entry, mode, size, mss, False),
            )
            for size in WRITE_SIZES
        },
        mode,
        tuple(entry.modes),
    )


def _datagram_stack(entry: QuicDatagramEntry, layers: Sequence[StackLayer]) -> Iterator[StackLayer]:
    """What goes into a frame, and what waits for room in a packet."""
    if entry.carries.what == "udp":
        yield from _same("application", "datagrams over UDP")
        layers = layers[3:]
    yield from layers
    datagrams = entry.datagrams
    yield from _same(
        "DATAGRAM frame",
        f"at most {datagrams.queue} wait; a full queue: the program {datagrams.when_full}",
    )
    frame = _frame_bytes(entry)
    yield StackLayer(
        "QUIC",
        *(
            f"{entry.quic.overhead(it) + frame} B per packet of ≤ {entry.quic.full(it)} B"
            for it in (True, False)
        ),
    )
    yield from _quic_control(entry.quic)


def _frame_bytes(entry: QuicDatagramEntry) -> int:
    """Type, and length if the frame has it."""
    return 1 if entry.datagrams.several else 3


def _frames_bytes(entry: QuicDatagramEntry, payload: int, is_up: bool) -> int:
    """IP bytes of the QUIC packets with a frame of so much payload, or several."""
    header, most = entry.payload(0, Use(_PATH_MTU)), entry.largest_payload(is_up)
    around = entry.quic.overhead(is_up) + _frame_bytes(entry) + datagram_headers(_IP)
    parts = -(-(payload - header) // (most - header)) if payload > most else 1
    return payload + (parts - 1) * header + parts * around


def _through(entry: PacketEntry, mode: str) -> int:
    """Return the payload (bytes) of a full segment through a tunnel."""
    return entry.clamped_mss(Use(_PATH_MTU, mode)) + plain_headers(_IP) - _HEADERS


def _packet_layers(entry: PacketEntry, mode: str, mss: int) -> Iterator[StackLayer]:
    around, layers = Surroundings(entry.mtu(Use(_PATH_MTU)), MOST_MTU), entry.layers(mode)
    for index, layer in enumerate(layers):
        yield from _same(layer.layer, _adds(layers[: index + 1], mss, around))


def _adds(layers: Sequence[PacketLayer], mss: int, around: Surroundings) -> str:
    """Return what the last of ``layers`` adds to packets of 1 byte to a full segment."""
    added = set()
    for inner in range(_HEADERS + 1, _HEADERS + mss + 1):
        inside, outside = (sum(wrap(it, inner, around)) for it in (layers[:-1], layers))
        added.add(outside - inside)
    size = str(min(added)) if len(added) == 1 else f"{min(added)} to {max(added)}"
    parameters = layers[-1].parameters()
    return f"{size} B per packet" + (f"; {parameters}" if parameters else "")


def _packets_bytes(entry: PacketEntry, mode: str, size: int, mss: int, is_up: bool) -> float:
    """IP bytes per application byte of a write, if each packet leaves at once.

    With FEC, groups are full.
    """
    pieces = [mss] * (size // mss) + ([size % mss] if size % mss else [])
    if isinstance(entry, QuicDatagramEntry):
        headers = datagram_headers(_IP) if entry.carries.what == "udp" else _HEADERS
        payloads = [entry.payload(piece + headers, Use(_PATH_MTU, mode)) for piece in pieces]
        return sum(_frames_bytes(entry, it, is_up) for it in payloads) / size
    writes = [write for piece in pieces for write in entry.outer(piece + _HEADERS, _PATH_MTU, mode)]
    if not entry.HAS_CARRIERS:
        fec = entry.fec(mode)
        return sum(writes) * (1 + fec.redundancy if fec else 1) / size
    from tunnelcc.specification import layer_wire_bytes

    layers = entry.stream_layers(is_up)
    sent = [outer for write in writes for outer in layer_wire_bytes(layers, write, _STEADY)]
    return float(sum(outer + _HEADERS * -(-outer // _MSS) for outer in sent)) / size
