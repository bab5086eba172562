# SPDX-License-Identifier: GPL-2.0-only
"""Byte streams of applications."""

import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import field_validator, model_serializer, model_validator

from tunnelcc import core, payloads
from tunnelcc.catalog import traffic as kinds
from tunnelcc.config.congestion import CongestionControl, GivenAlgorithm
from tunnelcc.config.ends import Ends, Route
from tunnelcc.config.flow_control import FlowControl
from tunnelcc.config.multipath import Mptcp, as_given
from tunnelcc.config.values import LinkRate, Moment, Rtt, Timer
from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.schema import (
    MORE,
    TEXT,
    Field,
    Key,
    Table,
    choice,
    number,
    size,
    time,
    whole,
)
from tunnelcc.schema.units import format_rate, format_size, format_time

MAX_FLOWS = 16_384

MOST_BYTES = 2**50
MOST_DATAGRAM = 65507  # payload of UDP over IPv4 (RFC 768, RFC 791)
# Of a distribution of sizes: the bound, if none is given, as a multiple of the mean.
_MOST_OF_MEAN = 1000

# Each write is an event of the simulation; cheaper ones would be without number.
LEAST_WRITE_COST = 1000  # ns


# Keys that a flow of datagrams does not have, beside cc.
_OF_STREAMS = (
    "bytes", "bytes_shape", "bytes_most", "preamble", "data_start", "window", "writes",
)  # fmt: skip
# Keys that only such a flow has.
_OF_DATAGRAMS = ("traffic", "gaps", "playout")


class Flow(FlowControl, Ends):
    """One application's byte stream, or ``count`` equal ones.

    Each flow is a connection of TCP or QUIC from a client to a server, through a tunnel if it has
    one. Over UDP it is a flow of datagrams without congestion control.

        >>> flow = tc.Flow(cc="bbr", count=4, start="1s", bytes="10MB")
        >>> flow.bytes
        10000000
    """

    transport: Annotated[str, choice("tcp", "quic", "udp")] = Field(
        default="tcp",
        description="protocol of the application's connection; quic: as quic-go, whose own "
        "congestion control is reno; udp: datagrams of flows.traffic",
    )
    traffic: Annotated[str, choice(*kinds.NAMES)] = Field(
        default="constant",
        description="what is sent over udp: constant (iperf3 -u, needs rate), one direction of a "
        "call or of a video call, a game server's updates, or dns requests; `tunnelcc list`",
    )
    gaps: kinds.Gaps = Field(
        default="equal",
        description="times between the datagrams of constant traffic: equal, or drawn from an "
        "exponential distribution (a Poisson process)",
    )
    playout: Key[Timer | None, str | None] = Field(
        default=None,
        description="length of the receiver's playout buffer: a datagram that comes so much later "
        "than the fastest one of the last 10 s is late; default: that of the traffic",
    )
    cc: Key[CongestionControl, GivenAlgorithm] = Field(
        default=CongestionControl.model_construct(name="cubic"),
        description="congestion control of the application's socket; also of a carrier over TCP, "
        "unless tunnel.cc is given",
    )
    count: Annotated[int, whole(1, MAX_FLOWS)] = Field(
        default=1, description="number of equal flows"
    )
    start: Key[Moment, str] = Field(
        default=0.0, description="time when the flow connects; start_jitter is added"
    )
    interarrival: Key[Annotated[float, time(1e-6, 3600)] | None, str | None] = Field(
        default=None,
        description="mean time between arrivals of the count flows, a Poisson process whose first "
        "one is at start; stop and data_start move along; default: all start together",
    )
    stop: Key[Moment | None, str | None] = Field(
        default=None,
        description="time when the application stops writing and closes; start_jitter is added; "
        "default: the end of the run",
    )
    rtt: Key[Rtt | None, str | None] = Field(
        default=None, description="base round-trip time of this flow; default: path.rtt"
    )
    bytes: Key[Annotated[int, size(1, MOST_BYTES)] | None, int | str | None] = Field(
        default=None,
        description="bytes to send before the connection closes, with bytes_shape their mean; "
        "default: send until the end",
    )
    bytes_shape: Annotated[float, number(1, 10, above=True)] | None = Field(
        default=None,
        description="shape of a bounded Pareto distribution, from which the seed draws the bytes "
        "of each flow: the smaller, the heavier its tail; default: all flows send the mean",
    )
    bytes_most: Key[Annotated[int, size(1, MOST_BYTES)] | None, int | str | None] = Field(
        default=None, description="bound of this distribution; default: 1000 times the mean"
    )
    rate: Key[LinkRate | None, str | None] = Field(
        default=None,
        description="rate at which the application writes, write_size at a time; default: as fast "
        "as the socket accepts; over udp of the payload, of a call and a video that of the codec",
    )
    preamble: Key[Annotated[int, size(0, 2**20)] | None, int | str | None] = Field(
        default=None,
        description="bytes that the client writes after it connects; the server sends once it has "
        "read some; default: 0, or 37 (iperf3's cookie) if direction is down",
    )
    window: Key[Annotated[int, size(4096, 2**30), MORE] | None, int | str | None] = Field(
        default=None,
        description="socket buffers that the applications at both ends ask for, as iperf3 -w "
        "(SO_SNDBUF, SO_RCVBUF): the kernel doubles them, at most to twice net.core.rmem_max "
        "(4 MiB in kernel 6.18, 208 KiB in 5.10), and they do not grow; default: they grow to "
        "hosts.tcp_wmem and hosts.tcp_rmem",
    )
    data_start: Key[Moment | None, str | None] = Field(
        default=None,
        description="time when the data start, if later than the connection; start_jitter is added",
    )
    payload: Annotated[str, choice(*payloads.CORPORA)] = Field(
        default="random",
        description="contents of the data, for tunnels that compress: a payload of `tunnelcc "
        "list`; the same for all flows",
    )
    write_size: Key[Annotated[int, size(1, 2**24)], int | str] = Field(
        default=131072,
        description="bytes per write (iperf3: 128 KiB); with rate, each write is a message with a "
        "measured latency; over udp the payload of each datagram, default: a full segment of TCP",
    )
    writes: Annotated[str, choice("blocking", "nonblocking", "polled")] = Field(
        default="blocking",
        description="what a write does that finds the socket's send buffer full: it waits, or it "
        "returns, and the application writes again once a third is free (most servers); polled: as "
        "iperf3 up to 3.15, which asks poll(2) before each ten writes (with rate: before each)",
    )
    user: Annotated[str, TEXT] | None = Field(
        default=None,
        description="user that the flow belongs to; default: a separate user for each flow, who is "
        "called 'flow 0', 'flow 1' and so on",
    )

    tunnel: Annotated[str, TEXT] | None = Field(
        default=None,
        description="the flow's tunnel: a name from tunnels, a catalogue name (flows with the same "
        "name share the tunnel) or none; default: the experiment's tunnel",
    )
    ack_route: Key[Route | None, Sequence[str] | None] = Field(
        default=None,
        description="hosts that packets to the client pass, listed from the server's host to the "
        "client's; default: the reverse of the route",
    )

    mptcp: Key[Mptcp | None, Mptcp | Table | None] = Field(
        default=None,
        description="several paths at once; default: one path, TCP",
    )

    @field_validator("tunnel", mode="before")
    @classmethod
    def _is_named(cls, tunnel: Any) -> Any:
        if isinstance(tunnel, dict):
            expected = (
                "a tunnel's name: its keys are those of tunnels.NAME, and its ends are the flow's "
                "own hosts (from, to)"
            )
            raise ConfigError(Problem("", tunnel, expected))
        return tunnel

    @model_serializer(mode="wrap")
    def _write(self, write: Any) -> Any:
        """Leave out what a flow of datagrams does not have, unless it is given."""
        written = write(self)
        if self.transport == "udp":
            for key in {"cc", "write_size"} - self.model_fields_set:
                written.pop(key, None)
        return written

    @property
    def label(self) -> str:
        """Return the name of the congestion control, and of the transport unless it is TCP."""
        if self.transport == "udp":
            return "UDP" if self.traffic == "constant" else self.traffic
        name = core.congestion_label(self.cc.name)
        return name if self.transport == "tcp" else f"{name} over {self.transport.upper()}"

    @property
    def largest(self) -> int:
        """Return the bound of the distribution of sizes, bytes."""
        mean = self.bytes or 0
        return min(_MOST_OF_MEAN * mean, MOST_BYTES) if self.bytes_most is None else self.bytes_most

    @model_validator(mode="after")
    def _check_datagrams(self) -> "Flow":
        given = self.model_fields_set
        if self.transport != "udp":
            for key in _OF_DATAGRAMS:
                if key in given and getattr(self, key) != type(self).model_fields[key].default:
                    expected = "no value without transport = 'udp'"
                    raise ConfigError(Problem(key, getattr(self, key), expected))
            return self
        for key in _OF_STREAMS:
            value = getattr(self, key)
            if key in given and value != type(self).model_fields[key].default:
                expected = "no value with transport = 'udp', whose datagrams have no connection"
                raise ConfigError(Problem(key, value, expected))
        if self.cc != type(self).model_fields["cc"].default:
            expected = "no value with transport = 'udp', whose datagrams have no congestion control"
            hint = "set it in the entries of flows over tcp; tunnel.cc is that of a carrier"
            raise ConfigError(Problem("cc", self.cc.name, expected, hint))
        kind = kinds.load(self.traffic)
        if kind.interval is None and self.rate is None:
            expected = "a rate, because the datagrams of constant traffic have no other limit"
            raise ConfigError(Problem("rate", MISSING, expected))
        if kind.interval is not None:
            keys = ("write_size", "gaps", *(("rate",) if kind.rate is None else ()))
            for key in keys:
                if key in given and getattr(self, key) != type(self).model_fields[key].default:
                    expected = f"no value with traffic = {self.traffic!r}, which has its own"
                    given_value = getattr(self, key)
                    shown = format_rate(given_value) if key == "rate" else given_value
                    raise ConfigError(Problem(key, shown, expected))
        if "write_size" in given and not MOST_DATAGRAM >= self.write_size:
            expected = f"at most {MOST_DATAGRAM}, the payload of a datagram"
            raise ConfigError(Problem("write_size", self.write_size, expected))
        return self

    @model_validator(mode="after")
    def _check_paths(self) -> "Flow":
        if self.mptcp is None:
            return self
        paths = [as_given(it) for it in self.mptcp.paths]
        if self.transport != "tcp":
            expected = f"no value with transport = {self.transport!r}: MPTCP is of TCP"
            raise ConfigError(Problem("mptcp.paths", paths, expected))
        for key, why in (
            ("route", "whose paths are in mptcp.paths"),
            ("ack_route", "whose ACKs go back over the path of their data"),
            ("rtt", "whose paths have the delays of their links"),
        ):
            if (value := getattr(self, key)) is not None:
                shown = format_time(value) if key == "rtt" else list(value)
                raise ConfigError(Problem(key, shown, f"no value with mptcp, {why}"))
        return self

    @model_validator(mode="after")
    def _check_window(self) -> "Flow":
        if self.window is not None and self.transport == "quic":
            expected = "no value with transport = 'quic', whose windows have keys of their own"
            hint = "see stream_window"
            raise ConfigError(Problem("window", format_size(self.window), expected, hint))
        if self.windows and self.transport != "quic":
            key, given = next(iter(self.windows.items()))
            expected = "no value without transport = 'quic'"
            hint = "see window" if self.transport == "tcp" else ""
            raise ConfigError(Problem(key, format_size(given), expected, hint))
        if self.windows:
            from tunnelcc.catalog.quic import transport  # few flows need it

            transport().with_windows(self.windows)
        return self

    @model_validator(mode="after")
    def _check_sizes(self) -> "Flow":
        if self.bytes_most is not None and self.bytes_shape is None:
            expected = "a number above 1, because bytes_most is given"
            raise ConfigError(Problem("bytes_shape", MISSING, expected))
        if self.bytes_shape is None:
            return self
        if self.bytes is None:
            expected = "the mean of the sizes, because bytes_shape is given"
            raise ConfigError(Problem("bytes", MISSING, expected))
        if self.largest <= self.bytes:
            expected = f"more than the mean, bytes ({format_size(self.bytes)})"
            raise ConfigError(Problem("bytes_most", format_size(self.largest), expected))
        return self

    @model_validator(mode="after")
    def _check(self) -> "Flow":
        if self.data_start is not None and self.data_start < self.start:
            raise ConfigError(Problem("data_start", self.data_start, "a time at or after start"))
        if self.user is not None and re.fullmatch(r"flow \d+", self.user):
            expected = "another name: flows without a user are called so"
            raise ConfigError(Problem("user", self.user, expected))
        begin = self.start if self.data_start is None else self.data_start
        if self.stop is not None and self.stop <= begin:
            expected = f"a time after the data start ({format_time(begin)})"
            raise ConfigError(Problem("stop", format_time(self.stop), expected))
        size = self.write_size
        if self.transport == "udp" and "write_size" not in self.model_fields_set:
            size = 1000
        if self.rate is not None and size * 8e9 < self.rate * LEAST_WRITE_COST:
            expected = "writes at intervals of 1us or more (write_size / flows.rate)"
            raise ConfigError(Problem("write_size", size, expected))
        return self
