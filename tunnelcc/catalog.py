# SPDX-License-Identifier: GPL-2.0-only
"""Tunnels as data: one TOML file each, with a label and a source for every number.

``catalog/*.toml`` are the built-in ones; a user's own file may be given by its path. A new kind of
tunnel adds its class to ``KINDS``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from tunnelcc.errors import MISSING, ConfigError, Problem, nearest
from tunnelcc.schema import SWITCH, Kind, Model, choice, size, time, whole
from tunnelcc.toml import read_toml
from tunnelcc.units import UnitError

DIRECTORY = Path(__file__).with_name("catalog")

LABELS = ("measured", "source code", "arithmetic", "published", "inferred")


def _parse_prose(value: object) -> str:
    if isinstance(value, str) and value.strip():
        return value
    raise UnitError("some text")


def _parse_costs(value: object) -> tuple[float, ...]:
    expected = "a list of CPU seconds per GB, each from 0 to 1000"
    if not isinstance(value, (list, tuple)) or not value:
        raise UnitError(expected)
    for cost in value:
        if isinstance(cost, bool) or not isinstance(cost, (int, float)) or not 0 <= cost <= 1000:
            raise UnitError(expected)
    return tuple(float(cost) for cost in value)


def _parse_counts(expected: str, least: int) -> Kind:
    def parse(value: object) -> tuple[int, ...]:
        if not isinstance(value, (list, tuple)):
            raise UnitError(expected)
        for count in value:
            if isinstance(count, bool) or not isinstance(count, int) or not least <= count <= 2**20:
                raise UnitError(expected)
        return tuple(value)

    return Kind(parse, list, expected)


Prose = Annotated[str, Kind(_parse_prose, str, "some text")]
Writes = Annotated[tuple[int, ...], _parse_counts("a list of sizes in bytes, each at least 1", 1)]
Counts = Annotated[tuple[int, ...], _parse_counts("a list of numbers of streams", 1)]
Costs = Annotated[tuple[float, ...], Kind(_parse_costs, list, "a list of CPU seconds per GB")]
Size = Annotated[int, size(0, 2**31 - 1)]
LayerSize = Annotated[int, whole(0, 2**24)]


class Cited(Model):
    """Numbers with what kind of evidence they have, and which."""

    label: Annotated[str, choice(*LABELS)]
    source: Prose


class Turn(Cited):
    """One turn of the handshake: writes of the client, then of the server, in bytes."""

    client: Writes
    server: Writes = ()


class Layer(Cited):
    """One encapsulation of the carrier's byte stream."""

    layer: Annotated[str, choice("websocket", "tls")]
    max_payload: LayerSize = 0  # bytes; 0: one frame per message
    masked: Annotated[bool, SWITCH] = False
    first_write: LayerSize = 0  # bytes of a frame handed down in a write of their own; 0: none
    overhead: LayerSize = 0  # bytes per record
    ramp_bytes: LayerSize = 0  # the k-th record carries at most k times as much …
    ramp_until: LayerSize = 0  # … until so many bytes were sent
    records_before: LayerSize = 0  # records that the handshake has sent already

    @model_validator(mode="after")
    def _check(self) -> Layer:
        foreign = {
            "websocket": ("overhead", "ramp_bytes", "ramp_until", "records_before"),
            "tls": ("masked", "first_write"),
        }[self.layer]
        for key in foreign:
            if getattr(self, key):
                raise ConfigError(
                    Problem(key, getattr(self, key), f"no value in a {self.layer} layer")
                )
        return self


class Bytes(Cited):
    """A size."""

    bytes: Size


class Carrier(Cited):
    """The connection across the path."""

    nodelay: Annotated[bool, SWITCH]


class Sockets(Cited):
    """What the two sockets of a loopback connection hold, as payload."""

    send_buffer: Annotated[int, size(4096, 2**31 - 1)]
    receive_window: Annotated[int, size(4096, 2**31 - 1)]


class LoopbackLink(Cited):
    """The loopback interface."""

    mss: Annotated[int, whole(536, 65483)]
    rtt: Annotated[float, time(1e-6, 1)]


class Loopback(Model):
    """Connections between an application and the relay on its own host."""

    link: LoopbackLink
    sending: Sockets  # where the data come from
    receiving: Sockets  # where they go to


class Cost(Cited):
    """CPU time per GB of carrier traffic (IP bytes) at both relays, by number of streams."""

    streams: Counts
    client: Costs
    server: Costs

    @model_validator(mode="after")
    def _check(self) -> Cost:
        ordered = sorted(set(self.streams))
        if not ordered or list(self.streams) != ordered:
            raise ConfigError(Problem("streams", self.streams, "rising numbers of streams"))
        for key in ("client", "server"):
            if len(getattr(self, key)) != len(self.streams):
                expected = f"as many values as streams, {len(self.streams)}"
                raise ConfigError(Problem(key, getattr(self, key), expected))
        return self


class Cpu(Model):
    """Costs per direction of the data."""

    to_server: Cost
    to_client: Cost


class Entry(Model):
    """A tunnel of the catalogue."""

    name: Prose
    kind: Prose
    summary: Prose
    software: Prose


class RelayEntry(Entry):
    """A tunnel that terminates TCP on both hosts, with one carrier connection per stream."""

    carrier: Carrier
    handshake: tuple[Turn, ...] = ()
    request: Bytes
    response: Bytes
    copy_buffer: Bytes
    to_server: tuple[Layer, ...] = Field(())
    to_client: tuple[Layer, ...] = Field(())
    loopback: Loopback
    cpu: Cpu

    @field_validator("copy_buffer")
    @classmethod
    def _not_zero(cls, buffer: Bytes) -> Bytes:
        if buffer.bytes < 1024:
            raise ConfigError(Problem("bytes", buffer.bytes, "at least 1KiB"))
        return buffer


KINDS: dict[str, type[Entry]] = {"relay": RelayEntry}


@cache
def names() -> tuple[str, ...]:
    """Return the names of the built-in tunnels."""
    return tuple(sorted(path.stem for path in DIRECTORY.glob("*.toml")))


def load(name: str) -> Entry:
    """Return the built-in tunnel ``name``, or the one in the file ``name`` if it ends in .toml.

    Raises ConfigError; its keys are relative to the tunnel.
    """
    if name in names():
        return _built_in(name)
    if name.endswith(".toml"):
        return _user_file(Path(name))
    expected = "one of " + ", ".join(names()) + ", none, or the path of a .toml file"
    raise ConfigError(Problem("", name, expected, nearest(name, names())))


@cache
def _built_in(name: str) -> Entry:
    return _read(DIRECTORY / f"{name}.toml", {"name": name})


def _user_file(path: Path) -> Entry:
    try:
        return _read(path, {"name": path.stem})
    except ConfigError as error:
        where = f"in {path}"
        raise ConfigError(
            *(replace(it, hint="; ".join(filter(None, (it.hint, where)))) for it in error.problems)
        ) from None


def _read(path: Path, defaults: dict[str, Any]) -> Entry:
    table = {**defaults, **read_toml(path)}
    kind = table.get("kind", MISSING)
    if not isinstance(kind, str) or kind not in KINDS:
        raise ConfigError(Problem("kind", kind, "one of " + ", ".join(KINDS)))
    entry: Entry = KINDS[kind].parse(table)
    return entry


def settings(entry: Model, prefix: str = "") -> Iterator[tuple[str, str, str, str]]:
    """Yield (key, values, label, source) for each cited table of an entry."""
    for name in type(entry).model_fields:
        value = getattr(entry, name)
        items = value if isinstance(value, tuple) else (value,)
        for index, item in enumerate(items):
            key = f"{prefix}{name}" + (f"[{index}]" if isinstance(value, tuple) else "")
            if isinstance(item, Cited):
                table = item.model_dump(exclude={"label", "source"}, exclude_defaults=True)
                text = ", ".join(f"{part} {value}" for part, value in table.items())
                yield key, text, item.label, item.source
            elif isinstance(item, Model):
                yield from settings(item, f"{key}.")
