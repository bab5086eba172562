# SPDX-License-Identifier: GPL-2.0-only
"""A tunnel of the catalogue, and what differs from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, field_validator, model_serializer, model_validator

from tunnelcc import catalog
from tunnelcc.catalog.kcp import Interval, Resend, WindowSize
from tunnelcc.catalog.layers import PARITY
from tunnelcc.catalog.layers.fec import NO_FEC
from tunnelcc.catalog.packets import LEAST_MTU, MOST_DEVICE_MTU, MOST_MTU
from tunnelcc.catalog.rudp import Rate
from tunnelcc.config.congestion import CongestionControl
from tunnelcc.config.path import Path
from tunnelcc.config.values import LinkRate, Probability, QueueRoom, Rtt
from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.schema import CARRIERS, NAME, SWITCH, TEXT, Kind, Model, size, time, whole
from tunnelcc.schema.units import format_rate, format_time

if TYPE_CHECKING:
    from typing_extensions import Self


FEC = Kind(
    lambda value: value if value == NO_FEC else PARITY.parse(value),
    str,
    f"{PARITY.expected}, or {NO_FEC} with KCP",
)


class Hop(Model):
    """A relay of a chain.

    It is a host like the server, and a path beyond it, which is as ``path`` where nothing else is
    given; or ``host``, one of a network.
    """

    host: Annotated[str, NAME] | None = Field(
        None, description="host of network on which the relay runs; goes with network"
    )

    rate: LinkRate | None = Field(
        None,
        description="bottleneck rate beyond a relay, constant; not given: as in path, with its "
        "rate_steps or rate_trace",
    )
    rtt: Rtt | None = Field(None, description="base round-trip time beyond it")
    loss: Probability | None = Field(
        None,
        description="random loss beyond it; not given: as in path, with its gilbert_elliott",
    )
    buffer: QueueRoom | None = Field(None, description="queue beyond it")
    cc: CongestionControl | None = Field(
        None, description="congestion control of the carriers beyond it, else the first carrier's"
    )

    def path(self, first: Path) -> Path:
        """Return the path beyond the relay."""
        changes = {name: getattr(self, name) for name in ("rate", "rtt", "loss", "buffer")}
        return first.with_keys({key: it for key, it in changes.items() if it is not None})


class PacketTunnel(Model):
    """A catalogue entry by name or by the path of a TOML file, and what differs from it."""

    name: str = Field(
        description="`tunnelcc list` shows the names; none: no tunnel; or the path of a .toml file"
    )
    mode: Annotated[str, TEXT] | None = Field(
        None, description="how a tunnel of packets is run, such as its cipher, else the entry's"
    )
    mtu: Annotated[int, whole(LEAST_MTU, MOST_DEVICE_MTU)] | None = Field(
        None,
        description="largest packet (IP bytes) that a tunnel's device takes, else the entry's",
    )
    mss: Annotated[int, whole(128, MOST_MTU)] | None = Field(
        None,
        description="MSS (bytes, TCP options included) to which the tunnel clamps connections "
        "through it, else the entry's",
    )
    queue: Annotated[int, whole(1, 2**20)] | None = Field(
        None, description="packets that wait at the tunnel's device at most, else the entry's"
    )
    fec: Annotated[str, FEC] | None = Field(
        None,
        description="data and parity shards of a group of a tunnel with FEC, such as 20:10, or a "
        "list for groups of other sizes, such as 2:4,20:10, else the entry's; none: no FEC (KCP)",
    )
    fec_timeout: Annotated[float, time(1e-6, 3600)] | None = Field(
        None,
        description="how long after its first packet a group of a tunnel with FEC is closed that "
        "is not full, else the entry's",
    )

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        if isinstance(data, str):
            _check_tunnel("", data)
            return {"name": data}
        if isinstance(data, dict):
            if "name" not in data:
                raise ConfigError(Problem("name", MISSING, "a tunnel, for its other keys to hold"))
            _check_tunnel("name", data["name"])
        return data

    @model_validator(mode="after")
    def _check_entry(self) -> Self:
        self.entry.check(self._changes())
        return self

    @property
    def entry(self) -> catalog.Entry:
        """The catalogue's entry."""
        return catalog.load(self.name)

    @model_serializer
    def _write(self) -> Any:
        changes = self._changes()
        return {"name": self.name, **changes} if changes else self.name

    def _changes(self) -> dict[str, Any]:
        """Return the keys that differ from the entry, as in TOML."""
        given = {key: getattr(self, key) for key in type(self).model_fields if key != "name"}
        changes = {key: value for key, value in given.items() if value is not None}
        if self.fec_timeout is not None:
            changes["fec_timeout"] = format_time(self.fec_timeout)
        return changes


class Under(PacketTunnel):
    """The datagram tunnel that carriers of a relay go through."""

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if not isinstance(self.entry, catalog.DatagramEntry):
            entries = ((name, catalog.load(name)) for name in catalog.names())
            fitting = [name for name, it in entries if isinstance(it, catalog.DatagramEntry)]
            raise ConfigError(
                Problem("name", self.name, "a datagram tunnel: one of " + ", ".join(fitting))
            )
        return self


class KcpKeys(Model):
    """What differs from the KCP of a catalogue entry."""

    nodelay: Annotated[bool, SWITCH] | None = Field(
        None, description="time-outs from 30 ms on, which grow by half; with mode manual"
    )
    interval: Interval | None = Field(
        None, description="time between flushes by the clock; with mode manual"
    )
    resend: Resend | None = Field(
        None,
        description="ACKs of higher numbers before a segment is sent again, 0: never; with mode "
        "manual",
    )
    congestion: Annotated[bool, SWITCH] | None = Field(
        None, description="a congestion window, too (nc = 0); with mode manual"
    )
    client_send_window: WindowSize | None = Field(
        None, description="segments that the client sends without an ACK, else the entry's"
    )
    client_receive_window: WindowSize | None = Field(
        None, description="segments that wait for the client's reader, else the entry's"
    )
    server_send_window: WindowSize | None = Field(
        None, description="segments that the server sends without an ACK, else the entry's"
    )
    server_receive_window: WindowSize | None = Field(
        None, description="segments that wait for the server's reader, else the entry's"
    )


class Tunnel(PacketTunnel):
    """A tunnel, and what differs from its catalogue entry."""

    cc: CongestionControl | None = Field(
        None, description="congestion control of the carrier, else that of the flow"
    )
    copy_buffer: Annotated[int, size(1024, 2**24)] | None = Field(
        None, description="bytes that a relay reads and forwards at once, else the entry's"
    )
    under: Under | None = Field(
        None,
        description="the datagram tunnel that a relay's carriers go through, such as wireguard, "
        "else the entry's",
    )
    carriers: Annotated[str | int, CARRIERS] | None = Field(
        None,
        description="who shares a carrier: all flows, those of a user, none (flow), or a number of "
        "carriers that flows take in turn; not given: all where the tunnel multiplexes, else flow",
    )
    stream_window: Annotated[int, size(1024, 2**30)] | None = Field(
        None,
        description="bytes that a stream on a shared carrier may have under way unread, as with "
        "smux version 2, else the entry's",
    )
    kcp: KcpKeys | None = Field(None, description="what differs from the entry's KCP")
    rate: Rate | None = Field(
        None,
        description="data that each end of a tunnel with a fixed rate sends at most, what is sent "
        "again too, without headers; finalspeed needs it",
    )
    chain: tuple[Hop, ...] = Field(
        (), description="further relays, in order from the client, each with a path beyond it"
    )
    relays: Annotated[int, whole(0, 64)] | None = Field(
        None,
        description="further relays that divide path into equal parts, each with its share of the "
        "RTT and of the random loss, and with a queue like path's; instead of chain",
    )

    @field_validator("chain", mode="before")
    @classmethod
    def _any_number_of_hops(cls, chain: Any) -> Any:
        return (chain,) if isinstance(chain, (Hop, dict)) else chain

    @model_validator(mode="after")
    def _check_relays(self) -> Tunnel:
        if self.relays and self.chain:
            raise ConfigError(Problem("relays", self.relays, "no value beside chain"))
        carrier = self.entry.carrier if isinstance(self.entry, catalog.RelayEntry) else None
        for key, model in (("under", Under), ("cc", CongestionControl)):
            name = getattr(carrier, key, None)
            try:
                if name is not None:
                    model.parse(name)
            except ConfigError as error:
                where = catalog.path_of(self.name)
                raise error.below(f"carrier.{key}").located_in(where) from None
        return self

    @property
    def below(self) -> Tunnel | None:
        """The datagram tunnel that carries the relays' connections, if there is one."""
        under = self.under.model_dump() if self.under else self._entry_under()
        return None if under is None else Tunnel.model_validate(under)

    def _entry_under(self) -> str | None:
        return self.entry.carrier.under if isinstance(self.entry, catalog.RelayEntry) else None

    @property
    def has_one_path(self) -> bool:
        """Whether flows cannot have RTTs of their own: packets of all are in what crosses it."""
        entry = self.entry
        fec = entry.fec(self.mode) if isinstance(entry, catalog.DatagramEntry) else None
        return entry.HAS_ONE_PATH or (fec is not None and fec.blob is not None)

    @property
    def carrier_cc(self) -> CongestionControl | None:
        """The congestion control of the carriers; None: that of the flow."""
        entry = self.entry
        if isinstance(entry, catalog.RelayEntry) and entry.carrier.cc and self.cc is None:
            return CongestionControl(name=entry.carrier.cc)
        return self.cc

    def paths(self, path: Path) -> tuple[Path, ...]:
        """Return what lies between the ends of each carrier, in order from the client."""
        if self.relays:
            parts = 1 + self.relays
            return (path.part(parts),) * parts
        return (path, *(hop.path(path) for hop in self.chain))

    def _changes(self) -> dict[str, Any]:
        changes = super()._changes()
        for key in ("cc", "under"):
            if key in changes:
                changes[key] = changes[key].model_dump()
        if self.kcp is not None:
            changes["kcp"] = self.kcp.table()
        if self.rate is not None:
            changes["rate"] = format_rate(self.rate)
        changes["chain"] = [hop.table() for hop in self.chain]
        if not self.chain:
            del changes["chain"]
        return changes


def _check_tunnel(key: str, name: object) -> None:
    if not isinstance(name, str):
        raise ConfigError(Problem(key, name, "the name of a tunnel"))
    try:
        catalog.load(name)
    except ConfigError as error:
        raise error.below(key) from None
