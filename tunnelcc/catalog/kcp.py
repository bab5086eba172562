# SPDX-License-Identifier: GPL-2.0-only
"""KCP of kcp-go: a carrier over UDP that repairs loss itself."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import model_validator

from tunnelcc.catalog.cited import Cited, Prose
from tunnelcc.catalog.values import (
    NO_FEC,
    PARITY,
    Interval,
    Resend,
    WindowSize,
    parity_counts,
)
from tunnelcc.errors import ConfigError, Problem, unknown_name
from tunnelcc.schema import SWITCH, Model, choice, time, whole

#: IKCP_OVERHEAD, kcp-go's kcp.go: the header of a segment.
SEGMENT_HEADER = 24


class Session(Cited):
    """Settings that both ends share."""

    generation: Annotated[str, choice("2017", "2020", "2025")]
    mtu: Annotated[int, whole(128, 9000)]  # bytes of UDP payload at most
    cipher: Annotated[int, whole(0, 64)]  # of them nonce, checksum, tag


class SessionWindows(Cited):
    """Segments that each end sends without an ACK, and receives before they are read."""

    client_send: WindowSize
    client_receive: WindowSize
    server_send: WindowSize
    server_receive: WindowSize


class SessionFec(Cited):
    """Parity for groups of datagrams."""

    parity: Annotated[str, PARITY]  # data and parity shards of a group
    header: Annotated[int, whole(0, 64)]  # bytes of each datagram
    memory: Annotated[int, whole(1, 2**20)]  # groups before the newest that can be decoded
    gap: Annotated[float, time(1e-3, 3600)] | None = None  # no parity after such a silence


class SessionMode(Cited):
    """How fast it sends again."""

    nodelay: Annotated[bool, SWITCH]  # time-outs from 30 ms on, which grow by half
    interval: Interval  # between flushes by the clock
    resend: Resend  # ACKs of higher numbers before a segment is sent again; 0: never
    congestion: Annotated[bool, SWITCH]  # a congestion window, too (nc = 0)


#: Keys of ``SessionMode`` that an experiment may set with MANUAL.
MODE_KEYS = ("nodelay", "interval", "resend", "congestion")
MANUAL = "manual"


class Kcp(Model):
    """A KCP session, and the modes of its program."""

    mode: Prose
    session: Session
    windows: SessionWindows
    fec: SessionFec | None = None
    modes: dict[str, SessionMode]

    @model_validator(mode="after")
    def _check(self) -> "Kcp":
        if self.mode not in self.modes:
            raise ConfigError(Problem("mode", self.mode, "one of " + ", ".join(self.modes)))
        if self.fec is not None:
            check_shards("fec.parity", self.fec.parity)
        if self.payload(self.fec) < 1:
            expected = (
                f"more than {self.session.mtu - self.payload(self.fec)}, the bytes of its headers"
            )
            raise ConfigError(Problem("session.mtu", self.session.mtu, expected))
        return self

    def check(self, changes: Mapping[str, Any], name: str) -> None:
        """Raise ConfigError for wrong keys of an experiment's tunnel."""
        mode = changes.get("mode", self.mode)
        if mode not in self.modes:
            raise unknown_name("mode", mode, self.modes)
        for key in MODE_KEYS:
            if key in changes.get("kcp", {}) and mode != MANUAL:
                expected = f"no value with mode {mode}, which sets it; use mode {MANUAL}"
                raise ConfigError(Problem(f"kcp.{key}", changes["kcp"][key], expected))
        parity = changes.get("fec", NO_FEC)
        if parity != NO_FEC:
            if self.fec is None:
                raise ConfigError(Problem("fec", parity, f"no value with {name}, which has no FEC"))
            check_shards("fec", parity)

    def mode_with(self, mode: str | None, changes: Mapping[str, Any]) -> SessionMode:
        """Return a mode (None: the default) with the changes of an experiment."""
        found = self.modes[mode or self.mode]
        return found.model_copy(update={key: changes[key] for key in MODE_KEYS if key in changes})

    def fec_with(self, parity: str | None) -> SessionFec | None:
        """Return the FEC with other shards, or None."""
        if self.fec is None or parity == NO_FEC:
            return None
        return self.fec.model_copy(update={"parity": parity} if parity else {})

    def header(self, fec: SessionFec | None) -> int:
        """Return the bytes of a datagram outside its segments, without UDP and IP."""
        return self.session.cipher + (fec.header if fec else 0)

    def room(self, fec: SessionFec | None) -> int:
        """Return the most bytes of segments in a datagram, with their headers."""
        return self.session.mtu - self.header(fec)

    def payload(self, fec: SessionFec | None) -> int:
        """Return the most bytes of data in a segment."""
        return self.room(fec) - SEGMENT_HEADER


def check_shards(key: str, parity: str) -> None:
    """Raise ConfigError unless all groups have one size, as in kcp-go."""
    if "," in parity or parity_counts(parity)[-1] == 0:
        expected = f"data and parity shards of every group, such as 10:3, or {NO_FEC}"
        raise ConfigError(Problem(key, parity, expected))
