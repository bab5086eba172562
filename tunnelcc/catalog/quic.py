# SPDX-License-Identifier: GPL-2.0-only
"""QUIC (RFC 9000, RFC 9002): a connection whose streams are flows, or carriers of flows.

``transports/*.toml`` has what programs do with their defaults.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import model_validator

from tunnelcc.catalog.cited import Cited, Prose, Size
from tunnelcc.catalog.turn import Turn
from tunnelcc.catalog.values import datagram_headers
from tunnelcc.errors import MISSING, ConfigError, Problem, unknown_name
from tunnelcc.schema import SWITCH, Model, number, rate, size, time, whole
from tunnelcc.schema.toml import read_toml
from tunnelcc.schema.units import format_size

# Type, stream, offset (RFC 9000, section 19.8).
_LEAST_FRAME_HEADER = 6
_TRANSPORTS = Path(__file__).with_name("transports")

_IdLength = Annotated[int, whole(0, 20)]
_PacketSize = Annotated[int, whole(1200, 65527)]
_Window = Annotated[int, size(2**10, 2**40, at_zero=True)]

# The window of a connection is at least so many times that of a stream: quic-go's
# ConnectionFlowControlMultiplier.
_PER_STREAM = 1.5


class Packets(Cited):
    """Packets with a short header; sizes are of the UDP payload."""

    flags: Annotated[int, whole(1, 1)]
    id_to_server: _IdLength  # bytes of the connection ID in what the client sends
    id_to_client: _IdLength
    number: Annotated[int, whole(1, 4)]  # bytes of the packet number
    tag: Annotated[int, whole(0, 64)]  # of the AEAD
    first_to_server: _PacketSize  # largest packet before the search
    first_to_client: _PacketSize
    most: _PacketSize  # largest one that the search tries
    step: Annotated[int, whole(0, 1000)]  # the search ends when so little is left
    wait: Annotated[float, number(0, 1000)]  # RTTs before each of its probes


class Acks(Cited):
    """When packets are acknowledged."""

    every: Annotated[int, whole(1, 1000)]  # packets that ask for it
    delay: Annotated[float, time(1e-6, 16)]  # max_ack_delay
    ranges: Annotated[int, whole(1, 1000)]  # of packet numbers in an ACK
    alone: Annotated[int, whole(0, 2**20)]  # ACKs before one asks for an ACK itself; 0: never


class Loss(Cited):
    """When packets count as lost, by the names of RFC 9002's constants."""

    packets: Annotated[int, whole(1, 1000)]  # kPacketThreshold
    time: Annotated[float, number(1, 10)]  # kTimeThreshold
    granularity: Annotated[float, time(1e-6, 1)]  # kGranularity
    first_timeout: Annotated[float, time(1e-3, 60)]  # PTO before there is an RTT sample
    persistent: Annotated[int, whole(0, 1000)]  # kPersistentCongestionThreshold; 0: never
    probed_lose: Annotated[bool, SWITCH]  # a PTO's packets count as lost, but not as congestion


class Pacing(Cited):
    """Pacing where the congestion control sets no rate."""

    gain: Annotated[float, number(0.1, 100)]  # times cwnd / srtt
    burst: Annotated[float, time(1e-6, 10)]  # what leaves at once: this time's worth …
    packets: Annotated[int, whole(1, 10**6)]  # … or so many packets
    least: Annotated[float, time(1e-6, 1)]  # pause
    counts_acks: Annotated[bool, SWITCH]  # lone ACKs, which do not wait, count too


class Algorithm(Model):
    """A congestion control, and its parameters by its names for them."""

    cc: Prose
    beta: Annotated[float, number(0.01, 0.99)] | None = None
    hystart: Annotated[bool, SWITCH] | None = None
    fractions: Annotated[bool, SWITCH] | None = None
    startup_gain: Annotated[float, number(1, 16)] | None = None


class Congestion(Cited, Algorithm):
    """Congestion control and its window, in packets."""

    with_rate: Prose | None = None  # congestion control if the user sets a rate
    first: Annotated[int, whole(1, 10**6)]
    most: Annotated[int, whole(0, 10**9)]  # 0: no limit


class ChromiumBbr(Cited):
    """Constants of Chromium's BBR that Linux's has not."""

    #: Parameters of Linux's that Chromium's has, too.
    PARAMETERS: ClassVar[tuple[str, ...]] = (
        "startup_gain", "cwnd_gain", "probe_up_gain", "probe_down_gain", "bandwidth_window",
        "min_cwnd", "full_pipe_growth", "full_pipe_rounds", "probe_rtt_interval",
        "probe_rtt_duration",
    )  # fmt: skip

    startup_window: Annotated[float, number(1, 16)]  # BDP
    loss_events: Annotated[int, whole(1, 10**6)]  # ACKs with losses in a round that end start-up …
    loss_share: Annotated[float, number(0, 1)]  # … if more of what was in flight is lost
    least_rate: Annotated[float, rate(10e3, 400e9)]  # of pacing


class FlowControl(Cited):
    """What a receiver lets its peer send without a new limit."""

    first: _Window  # 0: no limit
    most: _Window  # doubled up to this
    update: Annotated[float, number(0.001, 1)]  # told again once this part was read


class Writes(Cited):
    """How much of a write the sender takes."""

    send_buffer: Size  # bytes without ACK of all streams; 0: until it is in packets
    one_frame: Annotated[bool, SWITCH]  # a packet has one of a stream, with data of one write


class UdpSocket(Cited):
    """The receive buffer that a program asks for (SO_RCVBUF) on the UDP socket of a connection."""

    asks: Annotated[int, size(4096, 2**30)]


class Threads(Cited):
    """The delay until a waiting thread reads a packet that has arrived."""

    wake_delay: Annotated[float, time(1e-6, 1, at_zero=True)]  # in the mean; 0: at once
    wake_least: Annotated[float, time(1e-6, 1, at_zero=True)]  # the rest is exponential


class FullPacket(NamedTuple):
    """Bytes of a packet."""

    data: int
    udp: int  # payload of UDP, which congestion windows count
    ip: int


class Quic(Model):
    """A QUIC connection.

    ``defaults`` names the file of ``transports/`` that has the tables which are not given.
    """

    packets: Packets
    acks: Acks
    loss: Loss
    pacing: Pacing
    congestion: Congestion
    bbr: ChromiumBbr | None = None
    stream: FlowControl
    connection: FlowControl
    writes: Writes
    threads: Threads
    udp_socket: UdpSocket | None = None  # else net.core.rmem_default
    handshake: tuple[Turn, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _read(cls, table: Any) -> Any:
        if not isinstance(table, dict) or "defaults" not in table:
            return table
        name, names = table["defaults"], sorted(path.stem for path in _TRANSPORTS.glob("*.toml"))
        if name not in names:
            raise unknown_name("defaults", name, names)
        given = {key: value for key, value in table.items() if key != "defaults"}
        return read_toml(_TRANSPORTS / f"{name}.toml") | given

    @model_validator(mode="after")
    def _check(self) -> "Quic":
        if not self.handshake or not self.handshake[0].server:
            expected = "a first turn that the server answers"
            raise ConfigError(Problem("handshake", MISSING, expected))
        if any(not turn.server for turn in self.handshake[:-1]):
            raise ConfigError(Problem("handshake", "[]", "an answer to each turn but the last"))
        for name in ("stream", "connection"):
            window = getattr(self, name)
            if window.first and window.most < window.first:
                expected = f"at least {name}.first = {window.first}"
                raise ConfigError(Problem(f"{name}.most", window.most, expected))
        if self.threads.wake_least > self.threads.wake_delay:
            expected = f"at least threads.wake_least = {self.threads.wake_least:g} s"
            raise ConfigError(Problem("threads.wake_delay", self.threads.wake_delay, expected))
        first = max(self.packets.first_to_server, self.packets.first_to_client)
        if self.packets.most < first:
            expected = f"at least packets.first_to_server and packets.first_to_client = {first}"
            raise ConfigError(Problem("packets.most", self.packets.most, expected))
        return self

    def with_windows(self, given: Mapping[str, int]) -> "Quic":
        """Return a copy with other windows (bytes), by the names of an experiment's keys.

        Raises ConfigError with such a key.
        """
        stream, connection = _asked("stream", self.stream, given), self.connection
        if connection.most and given.keys() & {"stream_window", "first_stream_window"}:
            # With less, the stream's window could not be used.
            least = {size: round(_PER_STREAM * getattr(stream, size)) for size in ("first", "most")}
            connection = connection.model_copy(
                update={size: max(getattr(connection, size), it) for size, it in least.items()}
            )
        connection = _asked("connection", connection, given)
        return self.model_copy(update={"stream": stream, "connection": connection})

    def overhead(self, is_up: bool) -> int:
        """Return the bytes of a packet around its frames, to the server or to the client."""
        packets = self.packets
        length = packets.id_to_server if is_up else packets.id_to_client
        return packets.flags + length + packets.number + packets.tag

    def full(self, is_up: bool) -> int:
        """The UDP payload of a full packet, once the search is over."""
        packets = self.packets
        size, most = packets.first_to_server if is_up else packets.first_to_client, packets.most
        while most - size > self.packets.step + 1:
            size = (size + most) // 2
        return size

    def full_packet(self, mtu: int, ip: int) -> FullPacket:
        """Return a full packet to the server.

        ``mtu``: of the hosts; the search for larger packets ends below it. ``ip``: the version. The
        frame's own header counts as the shortest one.
        """
        headers = datagram_headers(ip)
        size = min(self.full(is_up=True), mtu - headers)
        data = size - self.overhead(is_up=True) - _LEAST_FRAME_HEADER
        return FullPacket(data, size, size + headers)

    def first_packet(self, ip: int) -> int:
        """Return the IP bytes of the largest packet before the search for larger ones."""
        packets = self.packets
        return datagram_headers(ip) + max(packets.first_to_server, packets.first_to_client)

    @property
    def round_trips(self) -> int:
        """Round trips before a stream may send."""
        return sum(1 for turn in self.handshake if turn.server)

    def congestion_control(self, rate: float | None) -> dict[str, object]:
        """Return the name and parameters of the congestion control. ``rate``: bit/s, if set."""
        own = self.congestion
        if rate is not None and own.with_rate is not None:
            return {"name": own.with_rate, "rate": rate / 8, "exact": True}
        return {"name": own.cc, **self.parameters_of(own.cc)}

    def check_parameters(self, cc: dict[str, Any], name: str) -> None:
        """Raise ConfigError for parameters that the entry ``name`` has no use for."""
        if self.bbr is None or cc["name"] != "bbr":
            return
        for key, value in cc.items():
            if key not in ("name", *self.bbr.PARAMETERS):
                expected = (
                    f"no value with {name}, whose BBR is Chromium's and has no such parameter"
                )
                raise ConfigError(Problem(f"cc.{key}", value, expected))

    def parameters_of(self, cc: str) -> dict[str, Any]:
        """Return the program's parameters of its own algorithm; none of another one."""
        if cc != self.congestion.cc:
            return {}
        own = self.congestion.model_dump(include=set(Algorithm.model_fields), exclude_none=True)
        return {key: value for key, value in own.items() if key != "cc"}


def _asked(of: str, own: FlowControl, given: Mapping[str, int]) -> FlowControl:
    """Return the windows of a stream or a connection (``of``). Raises ConfigError."""
    most = given.get(f"{of}_window", own.most)
    first = given.get(f"first_{of}_window", most if f"{of}_window" in given else own.first)
    if most and first > most:
        expected = f"at most {of}_window ({format_size(most)})"
        raise ConfigError(Problem(f"first_{of}_window", format_size(first), expected))
    return own.model_copy(update={"first": first, "most": most})


@cache
def transport() -> Quic:
    """Return the QUIC of flows."""
    quic: Quic = Quic.parse({"defaults": "quic"})
    return quic
