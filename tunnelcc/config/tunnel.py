# SPDX-License-Identifier: GPL-2.0-only
"""A tunnel of the catalogue, and what differs from it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, field_validator, model_serializer, model_validator

from tunnelcc import catalog
from tunnelcc.catalog.packets import LEAST_MTU, MOST_DEVICE_MTU, MOST_MTU
from tunnelcc.config.congestion import CongestionControl
from tunnelcc.config.path import Path
from tunnelcc.config.values import LinkRate, Probability, QueueRoom, Rtt
from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.schema import CARRIERS, NAME, TEXT, Model, size, whole


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


class Tunnel(Model):
    """A catalogue entry by name or by the path of a TOML file, and what differs from it."""

    name: str = Field(
        description="`tunnelcc list` shows the names; none: no tunnel; or the path of a .toml file"
    )
    cc: CongestionControl | None = Field(
        None, description="congestion control of the carrier, else that of the flow"
    )
    copy_buffer: Annotated[int, size(1024, 2**24)] | None = Field(
        None, description="bytes that a relay reads and forwards at once, else the entry's"
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
    chain: tuple[Hop, ...] = Field(
        (), description="further relays, in order from the client, each with a path beyond it"
    )
    relays: Annotated[int, whole(0, 64)] | None = Field(
        None,
        description="further relays that divide path into equal parts, each with its share of the "
        "RTT and of the random loss, and with a queue like path's; instead of chain",
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

    @field_validator("chain", mode="before")
    @classmethod
    def _any_number_of_hops(cls, chain: Any) -> Any:
        return (chain,) if isinstance(chain, (Hop, dict)) else chain

    @model_validator(mode="after")
    def _check(self) -> Tunnel:
        self.entry.check(self._changes())
        if self.relays and self.chain:
            raise ConfigError(Problem("relays", self.relays, "no value beside chain"))
        return self

    @property
    def entry(self) -> catalog.Entry:
        """The catalogue's entry."""
        return catalog.load(self.name)

    def paths(self, path: Path) -> tuple[Path, ...]:
        """Return what lies between the ends of each carrier, in order from the client."""
        if self.relays:
            parts = 1 + self.relays
            return (path.part(parts),) * parts
        return (path, *(hop.path(path) for hop in self.chain))

    @model_serializer
    def _write(self) -> Any:
        changes = self._changes()
        return {"name": self.name, **changes} if changes else self.name

    def _changes(self) -> dict[str, Any]:
        """Return the keys that differ from the entry, as in TOML."""
        table: dict[str, Any] = {}
        if self.cc is not None:
            table["cc"] = self.cc.model_dump()
        for key in type(self).model_fields:
            if key not in ("name", "cc", "chain") and getattr(self, key) is not None:
                table[key] = getattr(self, key)
        if self.chain:
            table["chain"] = [hop.table() for hop in self.chain]
        return table


def _check_tunnel(key: str, name: object) -> None:
    if not isinstance(name, str):
        raise ConfigError(Problem(key, name, "the name of a tunnel"))
    try:
        catalog.load(name)
    except ConfigError as error:
        raise error.below(key) from None
