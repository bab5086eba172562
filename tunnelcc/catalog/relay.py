# SPDX-License-Identifier: GPL-2.0-only
"""Tunnels that terminate TCP on both hosts and carry its bytes on their own connection."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import field_validator, model_validator

from tunnelcc.catalog.cited import Bytes, Cited, Prose, Size
from tunnelcc.catalog.entry import Entry
from tunnelcc.catalog.kcp import Kcp
from tunnelcc.catalog.layers import StreamLayers
from tunnelcc.catalog.quic import Quic, UdpSocket
from tunnelcc.catalog.rudp import Rudp
from tunnelcc.catalog.turn import Counts, Turn
from tunnelcc.catalog.values import IP_HEADERS, RUDP_RATE, Use, datagram_headers
from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.schema import SWITCH, Kind, Model, choice, size, time, whole
from tunnelcc.schema.units import UnitError


def _parse_costs(value: object) -> tuple[float, ...]:
    expected = "a list of CPU seconds per GB, each from 0 to 1000"
    if not isinstance(value, (list, tuple)) or not value:
        raise UnitError(expected)
    for cost in value:
        if isinstance(cost, bool) or not isinstance(cost, (int, float)) or not 0 <= cost <= 1000:
            raise UnitError(expected)
    return tuple(float(cost) for cost in value)


Costs = Annotated[tuple[float, ...], Kind(_parse_costs, list, "a list of CPU seconds per GB")]
LayerSize = Annotated[int, whole(0, 2**24)]
#: A relay reads a message from one connection and hands it to the other, down to the device.
MESSAGE_CALLS = ("tcp-receive", "tcp-send")
#: Further writes or reads on the carrier find the connection busy, and only enter the kernel.
WRITE_CALLS = ("syscall",)
_MOST_LOOPBACK_MSS = 65483  # of IPv4, with timestamps
LEAST_COPY_BUFFER, MOST_COPY_BUFFER = 2**10, 2**24


# How a program writes to its socket, which decides when it fills a full send buffer again.
WriteMode = Annotated[str, choice("nonblocking", "polled", "blocking")]


class Carrier(Cited):
    """The connection across the path."""

    protocol: Annotated[str, choice("tcp", "kcp", "rudp", "quic")] = "tcp"
    nodelay: Annotated[bool, SWITCH] | None = None  # of TCP, which needs it
    server_nodelay: Annotated[bool, SWITCH] = True  # of the end that listens, if nodelay
    writes: WriteMode = "nonblocking"
    early: Annotated[bool, SWITCH] = False  # dialled when the tunnel starts, not by the first flow
    confirms: Annotated[bool, SWITCH] = False  # servers end the handshake once they have dialled on
    cc: Prose | None = None  # congestion control, else that of the flow
    under: Prose | None = None  # the datagram tunnel that it goes through


class Frames(Cited):
    """Frames of streams that share a carrier, in bytes without layers."""

    header: LayerSize  # of a frame of data
    open: LayerSize  # begins a stream
    accept: LayerSize = 0  # answers that; 0: nobody waits for an answer
    credit: LayerSize = 0  # lets the peer send more, on a stream or on all
    close: LayerSize  # ends a stream


class Windows(Cited):
    """Flow control in one direction of a shared carrier; bytes of data, 0: no limit."""

    max_frame: Annotated[int, whole(1, 2**24)]
    session_buffer: Size = 0  # unread data of all streams at which the receiver stops reading
    stream_window: Size = 0  # what a stream may send without credit …
    first_stream_window: Size = 0  # … and before its first credit, if that differs
    session_window: Size = 0  # what all streams together may
    credit_step: Size = 0  # what readers take before a window is credited
    credits_first_read: Annotated[bool, SWITCH] = False  # and what a stream's reader takes first

    @model_validator(mode="after")
    def _check(self) -> "Windows":
        if self.session_window and not self.stream_window:
            expected = "no value without stream_window, because credit goes to both"
            raise ConfigError(Problem("session_window", self.session_window, expected))
        for key in ("first_stream_window", "credits_first_read"):
            if getattr(self, key) and not self.stream_window:
                expected = "no value without stream_window"
                raise ConfigError(Problem(key, getattr(self, key), expected))
        if self.stream_window:
            self._check_step()
        return self

    def _check_step(self) -> None:
        # A window below the step is used up before anything is credited, but for the first read.
        first = () if self.credits_first_read else ("first_stream_window",)
        keys = ("stream_window", *first, "session_window")
        given = {key: getattr(self, key) for key in keys if getattr(self, key)}
        least = min(given, key=lambda key: given[key])
        if not 0 < self.credit_step <= given[least]:
            expected = f"from 1 to {least} = {given[least]}"
            raise ConfigError(Problem("credit_step", self.credit_step, expected))


class Mux(Model):
    """How streams share a carrier."""

    protocol: Prose
    frames: Frames
    to_server: Windows
    to_client: Windows

    @property
    def has_session_buffer(self) -> bool:
        """Whether a receiver stops reading when the unread data of all streams are too many."""
        return bool(self.to_server.session_buffer or self.to_client.session_buffer)

    @property
    def has_session_window(self) -> bool:
        """Whether there is a window for all streams together."""
        return bool(self.to_server.session_window or self.to_client.session_window)


class Sockets(Cited):
    """Buffers of the two sockets of a loopback connection: memory (``sk_sndbuf``), and payload."""

    send_buffer: Annotated[int, size(4096, 2**31 - 1)]
    receive_window: Annotated[int, size(4096, 2**31 - 1)]


class LoopbackLink(Cited):
    """The loopback interface."""

    mss: Annotated[int, whole(536, _MOST_LOOPBACK_MSS)]
    rtt: Annotated[float, time(1e-6, 1)]

    def mss_of(self, ip: int) -> int:
        """Return the MSS over a version of IP.

        IPv4 limits the whole packet to 65535 bytes; IPv6 limits only what follows its header
        (RFC 8200, section 3). So a packet of IPv6 fills the interface's MTU, 65536.
        """
        is_limited = ip == 6 and self.mss == _MOST_LOOPBACK_MSS
        return self.mss - (IP_HEADERS[ip] - IP_HEADERS[4]) + is_limited


class Loopback(Model):
    """Connections between an application and the relay on the same host."""

    link: LoopbackLink
    sending: Sockets  # where the data come from
    receiving: Sockets  # where they go to


class Cost(Cited):
    """CPU time per GB of carrier traffic (IP bytes) at both relays, by number of streams."""

    streams: Counts
    client: Costs
    server: Costs

    @model_validator(mode="after")
    def _check(self) -> "Cost":
        ordered = sorted(set(self.streams))
        if not ordered or list(self.streams) != ordered:
            raise ConfigError(Problem("streams", self.streams, "rising numbers of streams"))
        for key in ("client", "server"):
            if len(getattr(self, key)) != len(self.streams):
                expected = f"as many values as streams ({len(self.streams)})"
                raise ConfigError(Problem(key, getattr(self, key), expected))
        return self


class Cpu(Model):
    """Costs per direction of the data."""

    to_server: Cost
    to_client: Cost


class Udp(Cited):
    """How relays carry the datagrams of applications over UDP; ``refused``: why they do not."""

    frame: LayerSize = 0  # bytes in front of each datagram on the carrier
    separate: Annotated[bool, SWITCH] = False  # the frame is a write of its own
    queue: Annotated[int, whole(0, 2**20)] = 0  # most datagrams that wait for the relay
    refused: Prose | None = None

    @model_validator(mode="after")
    def _carries_or_refuses(self) -> "Udp":
        if self.refused is None and not (self.frame and self.queue):
            missing = "queue" if self.frame else "frame"
            raise ConfigError(Problem(missing, MISSING, "a number, unless there is refused"))
        return self


class RelayEntry(Entry):
    """A tunnel that terminates TCP on both hosts. Without ``mux``, each flow has a carrier."""

    OVERRIDES: ClassVar[tuple[str, ...]] = (
        "cc",
        "nodelay",
        "send_buffer",
        "receive_buffer",
        "copy_buffer",
        "carriers",
        "stream_window",
        "connection_window",
        "session_buffer",
        "mptcp",
        "under",
        "chain",
        "relays",
        "ip",
    )
    #: Those of them that carriers over UDP do not have.
    TCP_OVERRIDES: ClassVar[tuple[str, ...]] = (
        "cc", "nodelay", "send_buffer", "receive_buffer", "mptcp", "under",
    )  # fmt: skip
    #: Those of entries whose carriers are KCP sessions.
    KCP_OVERRIDES: ClassVar[tuple[str, ...]] = ("mode", "fec", "kcp", "receive_buffer")
    #: Those of entries whose carriers are connections of RUDP.
    RUDP_OVERRIDES: ClassVar[tuple[str, ...]] = ("rate",)
    #: Those of entries whose carriers are streams of QUIC; `rate` if a congestion control needs it.
    QUIC_OVERRIDES: ClassVar[tuple[str, ...]] = (
        "cc", "copy_buffer", "carriers", "stream_window", "first_stream_window",
        "connection_window", "first_connection_window", "receive_buffer", "mpquic", "chain",
        "relays", "ip",
    )  # fmt: skip
    IS_COST_WHOLE: ClassVar[bool] = True

    carrier: Carrier
    kcp: Kcp | None = None
    rudp: Rudp | None = None
    quic: Quic | None = None
    udp_socket: UdpSocket | None = None  # of a carrier over UDP; else that of quic
    handshake: tuple[Turn, ...] = ()
    request: Bytes
    response: Bytes
    udp: Udp | None = None
    copy_buffer: Bytes
    to_server: StreamLayers = ()
    to_client: StreamLayers = ()
    mux: Mux | None = None
    loopback: Loopback
    cpu: Cpu

    @model_validator(mode="after")
    def _has_its_protocol(self) -> "RelayEntry":
        protocol = self.carrier.protocol
        for name in ("kcp", "rudp", "quic"):
            table = getattr(self, name)
            if table is None and protocol == name:
                raise ConfigError(
                    Problem(name, MISSING, f"a table, because carrier.protocol is {name}")
                )
            if table is not None and protocol != name:
                expected = f"{name}, because there is a table {name}"
                raise ConfigError(Problem("carrier.protocol", protocol, expected))
        if protocol == "kcp" and self.mux is None:
            expected = "a table, because carrier.protocol is kcp: nothing else ends a stream on it"
            raise ConfigError(Problem("mux", MISSING, expected))
        if protocol == "tcp" and self.carrier.nodelay is None:
            raise ConfigError(Problem("carrier.nodelay", MISSING, "a value"))
        expected = f"no value, because carrier.protocol is {protocol}"
        for key in ("nodelay", "cc", "under") if protocol != "tcp" else ():
            if getattr(self.carrier, key) is not None:
                raise ConfigError(Problem(f"carrier.{key}", getattr(self.carrier, key), expected))
        refused = {"rudp": ("mux", "to_server", "to_client"), "quic": ("mux",)}
        for key in refused.get(protocol, ()):
            if getattr(self, key):
                raise ConfigError(Problem(key, "a table", expected))
        return self

    @model_validator(mode="after")
    def _confirms_what_it_is_told(self) -> "RelayEntry":
        if self.carrier.confirms and (self.mux or self.request.bytes or not self.handshake):
            expected = "false with mux, with a request after the handshake, and without a handshake"
            raise ConfigError(Problem("carrier.confirms", True, expected))
        return self

    @field_validator("copy_buffer")
    @classmethod
    def _not_zero(cls, buffer: Bytes) -> Bytes:
        if not LEAST_COPY_BUFFER <= buffer.bytes <= MOST_COPY_BUFFER:
            raise ConfigError(Problem("bytes", buffer.bytes, "from 1KiB to 16MiB"))
        return buffer

    def answers(self, receiver: str) -> bool:
        """Return whether that end has a part in the handshake, a header, or frames of windows."""
        first = self.request if receiver == "client" else self.response
        writes = (getattr(turn, receiver) for turn in self.handshake)
        return self.mux is not None or first.bytes > 0 or any(writes)

    def check(self, changes: Mapping[str, Any]) -> None:
        """Also raise ConfigError for keys that need shared carriers, or a certain protocol."""
        super().check(changes)
        if self.kcp is not None:
            self.kcp.check(changes, self.name)
        if self.rudp is not None and "rate" not in changes:
            expected = (
                f"a rate such as '20Mbps', because {self.name} sends at a rate that the user sets"
            )
            raise ConfigError(Problem("rate", MISSING, expected))
        if self.rudp is not None:
            _check_rate(changes["rate"])
        if self.carrier.protocol in ("kcp", "rudp"):
            self._check_chain(changes)
        if self.quic is not None and isinstance(changes.get("cc"), dict):
            self.quic.check_parameters(changes["cc"], self.name)
        window = changes.get("connection_window")
        if window is not None and not (self.quic or (self.mux and self.mux.has_session_window)):
            expected = f"no value with {self.name}, whose carriers have no window for all streams"
            raise ConfigError(Problem("connection_window", window, expected))
        buffer = changes.get("session_buffer")
        if self.mux is not None and buffer is not None and not self.mux.has_session_buffer:
            expected = f"no value with {self.name}, whose receivers never stop reading the carrier"
            raise ConfigError(Problem("session_buffer", buffer, expected))
        if self.mux is not None or self.quic is not None:
            return
        expected = f"no value with {self.name}, which has a carrier for each flow"
        for key in ("stream_window", "session_buffer"):
            if key in changes:
                raise ConfigError(Problem(key, changes[key], expected))
        if changes.get("carriers", "flow") != "flow":
            raise ConfigError(Problem("carriers", changes["carriers"], expected))

    def _check_chain(self, changes: Mapping[str, Any]) -> None:
        for index, hop in enumerate(changes.get("chain", ())):
            if "cc" in hop:
                expected = f"no value with {self.name}, whose carriers are not TCP connections"
                raise ConfigError(Problem(f"chain.{index}.cc", hop["cc"], expected))

    @property
    def overrides(self) -> tuple[str, ...]:
        """Keys of an experiment's tunnel that override the entry."""
        if self.carrier.protocol == "tcp":
            return self.OVERRIDES
        if self.quic is not None:
            has_rate = self.quic.congestion.with_rate is not None
            return (*self.QUIC_OVERRIDES, *(("rate",) if has_rate else ()))
        kept = tuple(key for key in self.OVERRIDES if key not in self.TCP_OVERRIDES)
        return (*kept, *(self.KCP_OVERRIDES if self.kcp else self.RUDP_OVERRIDES))

    @property
    def asked_buffer(self) -> int | None:
        """The receive buffer (bytes) that the program asks for on its UDP sockets, if it does."""
        socket = self.udp_socket or (self.quic.udp_socket if self.quic is not None else None)
        return socket.asks if socket is not None else None

    @property
    def has_ecn(self) -> bool:
        """Whether the carriers can use ECN: those over QUIC do not."""
        return self.quic is None

    def carrier_cc(self, rate: float | None) -> dict[str, Any] | None:
        """Return the congestion control of the carriers. None: that of the flows."""
        if self.quic is not None:
            return self.quic.congestion_control(rate)
        return {"name": self.carrier.cc} if self.carrier.cc else None

    def parameters_of(self, cc: str) -> dict[str, Any]:
        """Return the program's own parameters of a congestion control of the carriers."""
        return self.quic.parameters_of(cc) if self.quic is not None else {}

    @property
    def under(self) -> str | None:
        """The datagram tunnel that the carriers go through, if any."""
        return self.carrier.under

    def stream_layers(self, is_up: bool) -> StreamLayers:
        """Return the layers around what the carriers send to the server, or to the client."""
        return self.to_server if is_up else self.to_client

    def clamped_mss(self, use: Use) -> int | None:
        """Raise ConfigError if datagrams do not fit, because nothing fragments them."""
        least = 0  # TCP adapts its segments
        if self.quic is not None:
            least = self.quic.first_packet(use.versions.outer)
        elif self.kcp is not None:
            least = self.kcp.session.mtu + datagram_headers(use.versions.outer)
        elif self.rudp is not None:
            least = self.rudp.largest + datagram_headers(use.versions.outer)
        if least > use.path_mtu:
            expected = f"a path.mtu of at least {least}, the size of its datagrams"
            hint = "or a smaller kcp.mtu" if self.kcp is not None else ""
            raise ConfigError(Problem("name", self.name, expected, hint))
        return None

    @property
    def refuses_datagrams(self) -> str:
        """Why relays do not carry the datagrams of applications; "": they do."""
        if self.udp is None:
            return "its file does not tell how it carries UDP (a table udp)"
        return self.udp.refused or ""

    def host_mss(self, mss: int, ip: int) -> int:
        """Return the MSS of the loopback interface, between application and relay."""
        return self.loopback.link.mss_of(ip)

    def has_one_path(self, mode: str | None) -> bool:
        """Whether connections go by one session's pings, which measure one RTT."""
        return self.rudp is not None

    def sharing(self, carriers: str | int | None) -> str | int:
        """Return which flows share a carrier: all, if streams can."""
        return carriers or ("flow" if self.mux is None and self.quic is None else "all")

    @property
    def reads_apart(self) -> bool:
        """Whether other threads than that which writes to the carrier read from applications.

        So do programs in Go whose streams share a carrier; one that polls has one thread.
        """
        return self.mux is not None and self.carrier.writes != "polled"

    def all_operations(self, mode: str | None) -> tuple[str, ...]:
        """Return the system calls for a message."""
        return (*MESSAGE_CALLS, *WRITE_CALLS)

    def round_trips(self, mode: str | None = None) -> dict[str, int]:
        """Return those of the handshake, and of streams on a shared carrier.

        ``mode``: of KCP. Its congestion window starts with one segment, which is the request of the
        first flow.
        """
        if self.quic is not None:
            return self._quic_round_trips(self.quic)
        opening = 1 if self.carrier.protocol == "tcp" else 0
        if self.kcp is not None and self.kcp.mode_with(mode, {}).congestion:
            opening = 1
        handshake = opening + sum(1 for turn in self.handshake if turn.server)
        if self.mux is None:
            return {"each flow": handshake}
        stream = 1 if self.mux.frames.accept else 0
        if self.carrier.early:
            return {"the tunnel, before any flow": handshake, "each flow": stream}
        return {"the first flow": handshake + stream, "later ones": stream}

    def _quic_round_trips(self, quic: Quic) -> dict[str, int]:
        stream = sum(1 for turn in self.handshake if turn.server)
        if self.carrier.early:
            return {"the tunnel, before any flow": quic.round_trips, "each flow": stream}
        return {"the first flow": quic.round_trips + stream, "later ones": stream}


def _check_rate(rate: object) -> None:
    """Raise ConfigError for a rate that RUDP cannot have."""
    try:
        RUDP_RATE.parse(rate)
    except UnitError as error:
        raise ConfigError(Problem("rate", rate, error.expected, error.hint)) from None
