# SPDX-License-Identifier: GPL-2.0-only
"""Tunnels that carry packets in DATAGRAM frames of a QUIC connection (RFC 9221)."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import model_validator

from tunnelcc.catalog.cited import Cited
from tunnelcc.catalog.layers import Place
from tunnelcc.catalog.packets import ETHERNET_MTU, PacketEntry
from tunnelcc.catalog.quic import Quic
from tunnelcc.catalog.values import Use, datagram_headers
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.schema import SWITCH, choice, whole


class Datagrams(Cited):
    """How the connection takes what it sends in DATAGRAM frames.

    ``reserve``: bytes that the largest payload of a frame is smaller than a QUIC packet.
    """

    queue: Annotated[int, whole(1, 2**20)]  # frames that wait to be sent
    when_full: Annotated[str, choice("waits", "drops")]  # what the program does
    several: Annotated[bool, SWITCH]  # in a packet, without the last one's length; else one
    reserve: Annotated[int, whole(18, 1199)]
    too_large: Annotated[str, choice("dropped", "split")]  # a packet that does not fit


class Carries(Cited):
    """What goes into a frame: a packet with its IP header, or the payload of UDP."""

    what: Annotated[str, choice("packets", "udp")]


class Arrived(Cited):
    """Frames that arrived and wait for the program."""

    queue: Annotated[int, whole(1, 2**20)]


class QuicDatagramEntry(PacketEntry):
    """A tunnel that carries packets, or what UDP carries, in DATAGRAM frames."""

    OVERRIDES: ClassVar[tuple[str, ...]] = (
        "cc", "mode", "mtu", "mss", "queue", "datagram_queue", "receive_buffer",
        "ip", "mpquic", "under",
    )  # fmt: skip
    PLACES: ClassVar[tuple[Place, ...]] = (Place.PACKET, Place.STREAM)

    carries: Carries
    datagrams: Datagrams
    arrived: Arrived
    quic: Quic

    @model_validator(mode="after")
    def _fits(self) -> "QuicDatagramEntry":
        if self.clamp is not None and self.carries.what == "udp":
            raise ConfigError(Problem("clamp", "a table", "none: it carries no TCP"))
        return self

    @property
    def overrides(self) -> tuple[str, ...]:
        """Keys of an experiment's tunnel that override the entry."""
        has_rate = self.quic.congestion.with_rate is not None
        return (*self.OVERRIDES, *(("rate",) if has_rate else ()))

    def check(self, changes: Mapping[str, Any]) -> None:
        """Also raise ConfigError for parameters of a congestion control that QUIC has not."""
        super().check(changes)
        if isinstance(changes.get("cc"), dict):
            self.quic.check_parameters(changes["cc"], self.name)

    @property
    def asked_buffer(self) -> int | None:
        """As of RelayEntry."""
        return self.quic.udp_socket.asks if self.quic.udp_socket is not None else None

    @property
    def has_ecn(self) -> bool:
        """Return false: its connection does not use ECN."""
        return False

    @property
    def refuses_streams(self) -> str:
        """Why it does not carry TCP connections; "": it does."""
        return "" if self.carries.what == "packets" else "it carries UDP only"

    def carrier_cc(self, rate: float | None) -> dict[str, Any] | None:
        """Return the congestion control of the connection."""
        return self.quic.congestion_control(rate)

    def parameters_of(self, cc: str) -> dict[str, Any]:
        """Return the program's own parameters of a congestion control."""
        return self.quic.parameters_of(cc)

    def clamped_mss(self, use: Use) -> int:
        """Also raise ConfigError if the path does not take the first packets of QUIC."""
        least = self.quic.first_packet(use.versions.outer)
        if use.path_mtu < least:
            expected = (
                f"{least} or more with {self.name}, whose first packets may not be fragmented"
            )
            raise ConfigError(Problem("path.mtu", use.path_mtu, expected))
        return super().clamped_mss(use)

    def stripped(self, ip: int) -> int:
        """Return the bytes of a packet inside that do not go into a frame."""
        return datagram_headers(ip) if self.carries.what == "udp" else 0

    def payload(self, inner: int, use: Use) -> int:
        """Return the payload of the frame for a packet of ``inner`` IP bytes."""
        least = self.stripped(use.versions.inner)
        wrapped = self.outer(max(inner - least, 0), ETHERNET_MTU, use.mode, use.mtu)
        return sum(wrapped)

    def largest_payload(self, is_up: bool) -> int:
        """Return the largest payload of a frame, once the search for larger packets is over."""
        return self.quic.full(is_up) - self.datagrams.reserve

    def has_one_path(self, mode: str | None) -> bool:
        """Return true: all flows are in one connection."""
        return True

    def round_trips(self) -> dict[str, int]:
        """Return those of the connection and what the program asks for in it, and of the flow."""
        before = self.quic.round_trips
        return {"the tunnel, before any flow": before, "each flow": 1}
