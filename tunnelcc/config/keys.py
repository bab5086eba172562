# SPDX-License-Identifier: GPL-2.0-only
"""The keys of an experiment."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any

from pydantic import (
    field_serializer,
    field_validator,
    model_serializer,
    model_validator,
)

from tunnelcc import catalog
from tunnelcc.config.ends import Ends
from tunnelcc.config.flow import Flow
from tunnelcc.config.hosts import Hosts
from tunnelcc.config.network import Network
from tunnelcc.config.path import Path
from tunnelcc.config.tcp import Tcp
from tunnelcc.config.traffic import CrossTraffic, Ping
from tunnelcc.config.tunnel import Tunnel, Under
from tunnelcc.config.values import Moment
from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.schema import (
    PRECISION,
    SWITCH,
    TEXT,
    Field,
    Key,
    KeyInfo,
    Model,
    Table,
    by_name,
    choice,
    keys_of,
    listed_as,
    time,
    whole,
)

RunTime = Annotated[float, time(1e-3, 100_000)]


class ExperimentKeys(Model):
    """The keys of an experiment. Each value is checked alone."""

    title: Annotated[str, TEXT] = Field(default="", description="title of tables and plots")
    path: Key[Path, Path | Table] = Field(default=Path.default())
    network: Key[Network | None, Network | Table | None] = Field(
        default=None,
        description="links and their hosts; default: one path between client and server",
    )
    flows: Key[tuple[Flow, ...], Sequence[Flow | Table] | Flow | Table] = Field(
        default=(Flow.default(),)
    )
    cross_traffic: Key[
        tuple[CrossTraffic, ...], Sequence[CrossTraffic | Table] | CrossTraffic | Table
    ] = Field(default=())
    pings: Key[tuple[Ping, ...], Sequence[Ping | Table] | Ping | Table] = Field(default=())
    tunnel: Key[Tunnel | None, Tunnel | str | Table | None] = Field(
        default=None, description="tunnel of all flows that do not name another"
    )
    tunnels: Key[dict[str, Tunnel | None], Mapping[str, Tunnel | str | Table | None]] = Field(
        default_factory=dict, description="more tunnels by name, which flows.tunnel selects"
    )
    direction: Annotated[str, choice("up", "down")] = Field(
        default="up",
        description="up: the client sends; down: the server sends; flows may override it. path "
        "describes this direction; it is down if all flows are and path has no keys of reverse",
    )
    tcp: Key[Tcp, Tcp | Table] = Field(default=Tcp.default())
    hosts: Key[Hosts, Hosts | Table] = Field(default=Hosts.default())
    duration: Key[RunTime, str] = Field(
        default=30.0, description="simulated time, including the warm-up"
    )
    until: Key[Annotated[float, PRECISION] | None, float | str | None] = Field(
        default=None,
        description="end the run before its duration, once its goodput is known to ± this part of "
        "it (settled: 5%); default: the run ends at duration",
    )
    warmup: Key[Moment, str] = Field(default=0.0, description="time before measurements start")
    probe_interval: Key[Annotated[float, time(1e-4, 3600)], str] = Field(
        default=0.1, description="interval between samples of the series"
    )
    probe_congestion: Annotated[bool, SWITCH] = Field(
        default=False,
        description="also sample each congestion control's slow start threshold, phase, and "
        "estimates of bandwidth and minimum RTT",
    )
    start_jitter: Key[Annotated[float, time(1e-6, 60, at_zero=True)], str] = Field(
        default=0.005, description="each flow starts up to this much later; drawn from the seed"
    )
    seed: Annotated[int, whole(0, 2**63 - 1)] = Field(
        default=1, description="seed of all random draws; the same seed gives the same results"
    )

    @model_validator(mode="before")
    @classmethod
    def _follow_the_flows(cls, data: Any) -> Any:
        """Take the direction of the flows, if all go down: ``path`` describes that of the data.

        Not if the path's other direction is described, too.
        """
        if not isinstance(data, dict) or "direction" in data:
            return data
        flows, path = data.get("flows"), data.get("path", {})
        flows = [flows] if isinstance(flows, (Flow, dict)) else flows
        keys = path if isinstance(path, dict) else getattr(path, "model_fields_set", ())
        if not flows or not isinstance(flows, (list, tuple)):
            return data
        if any(str(key).startswith("reverse") for key in keys):
            return data
        directions = [
            flow.get("direction") if isinstance(flow, dict) else getattr(flow, "direction", None)
            for flow in flows
        ]
        return {**data, "direction": "down"} if all(it == "down" for it in directions) else data

    @field_validator("flows", mode="before")
    @classmethod
    def _one_or_more(cls, flows: Any) -> Any:
        flows = [flows] if isinstance(flows, (Flow, dict)) else flows
        if not isinstance(flows, (list, tuple)) or not flows:
            raise ConfigError(Problem("", flows, "a list of at least one flow"))
        return tuple(flows)

    @field_validator("cross_traffic", mode="before")
    @classmethod
    def _any_number(cls, sources: Any) -> Any:
        return (sources,) if isinstance(sources, (CrossTraffic, dict)) else sources

    @field_validator("pings", mode="before")
    @classmethod
    def _any_number_of_pings(cls, pings: Any) -> Any:
        return (pings,) if isinstance(pings, (Ping, dict)) else pings

    @field_validator("tunnel", mode="before")
    @classmethod
    def _no_tunnel(cls, tunnel: Any) -> Any:
        return _none_of(tunnel)

    @field_validator("tunnels", mode="before")
    @classmethod
    def _by_name(cls, tunnels: Any) -> Any:
        read = {}
        for name, tunnel in by_name(tunnels).items():
            if name == "none":
                raise ConfigError(Problem("", name, "another name, because none means no tunnel"))
            try:
                read[name] = _none_of(tunnel)
            except ConfigError as error:
                raise error.below(name) from None
        return read

    @field_serializer("tunnels", mode="wrap")
    def _write_tunnels(self, tunnels: dict[str, Tunnel | None], write: Any) -> Any:
        written = write({name: it for name, it in tunnels.items() if it is not None})
        return {name: written.get(name, "none") for name in tunnels}

    @model_serializer(mode="wrap")
    def _write(self, write: Any) -> Any:
        """Leave out what there is none of: tunnels by name, and pings."""
        kept = write(self).items()
        return {key: value for key, value in kept if value or key not in ("tunnels", "pings")}

    def direction_of(self, ends: Ends) -> str:
        """Return the direction of a flow or of cross traffic."""
        return ends.direction or self.direction

    @property
    def tunnel_of_all(self) -> Tunnel | None:
        """The experiment's tunnel, if no flow names another."""
        return None if any(flow.tunnel for flow in self.flows) else self.tunnel

    def flow_labels(self) -> list[str]:
        """Name each entry of ``flows``, such as ``8 × cubic`` and ``1 × bbr in wireguard down``.

        Tunnels and directions are named if the entries have different ones.
        """
        of_all = self.tunnel.name if self.tunnel else "none"
        tunnels = [flow.tunnel or of_all for flow in self.flows]
        directions = [self.direction_of(flow) for flow in self.flows]
        names_tunnels = any(flow.tunnel for flow in self.flows)
        return [
            f"{flow.count} × {flow.label}"
            + (f" in {tunnel}" if names_tunnels and tunnel != "none" else "")
            + (" down" if direction == "down" and "up" in directions else "")
            for flow, tunnel, direction in zip(self.flows, tunnels, directions, strict=True)
        ]

    def tunnel_of(self, flow: Flow) -> Tunnel | None:
        """Return the tunnel of ``flow``. Raises ConfigError if no tunnel has that name.

        Flows that name the same tunnel share it.
        """
        return self.tunnel_named(flow.tunnel)

    def tunnel_named(self, name: str | None) -> Tunnel | None:
        """Return the tunnel of this name; None: the experiment's. Raises ConfigError.

        Where it goes through another one of ``tunnels``, it knows that one.
        """
        tunnel = self._declared(name)
        return tunnel and self._over(tunnel, [] if name is None else [name])

    def _over(self, tunnel: Tunnel, above: list[str]) -> Tunnel:
        """Return ``tunnel`` with those that it goes through. ``above``: names of those of tunnels
        that go through it, and its own. Raises ConfigError for a circle.
        """
        name = "" if tunnel.under is None else tunnel.under.name
        below = self.tunnels.get(name)
        if below is None:
            return tunnel
        if name in above:
            raise ConfigError(self._circle(above[above.index(name) :]))
        return tunnel.above(self._over(below, [*above, name]), name)

    def entries(self) -> Iterator[tuple[str, Flow | CrossTraffic | Ping, str | None]]:
        """Yield the key of each entry of flows, cross_traffic and pings, it, and its tunnel's name.

        A name of None is the experiment's tunnel.
        """
        for table in ("flows", "cross_traffic", "pings"):
            for index, it in enumerate(getattr(self, table)):
                name = it.tunnel or ("none" if table == "cross_traffic" else None)
                yield f"{table}.{index}", it, name

    def declared_tunnels(self) -> Iterator[tuple[str, Tunnel]]:
        """Yield the key of each tunnel that has one, and the tunnel."""
        named = ((f"tunnels.{name}", it) for name, it in self.tunnels.items())
        yield from ((key, it) for key, it in (("tunnel", self.tunnel), *named) if it is not None)

    def problems_of_under(self) -> Iterator[Problem]:
        """Yield problems of names of tunnels in ``under``."""
        for key, tunnel in self.declared_tunnels():
            under = tunnel.under
            if under is None or under.is_none:
                continue
            is_named, key = under.name in self.tunnels, f"{key}.under.name"
            if not is_named and not under.is_in_catalogue:
                yield self._unknown(under.name, "or a tunnel of the catalogue").below(key)
            elif is_named and under != Under.parse(under.name):
                expected = f"a name alone: its keys are those of tunnels.{under.name}"
                yield Problem(key, MISSING, expected)
            elif is_named and self.tunnels[under.name] is None:
                yield Problem(key, under.name, "a tunnel, which this one is not: it is none")
        circles: dict[Problem, None] = {}
        for name in self.tunnels:
            try:
                self.tunnel_named(name)
            except ConfigError as error:
                circles |= dict.fromkeys(error.problems)
        yield from circles

    def _circle(self, names: list[str]) -> Problem:
        """Tell of a circle, the same wherever it is entered."""
        first = names.index(next(name for name in self.tunnels if name in names))
        names = [*names[first:], *names[:first]]
        key, way = f"tunnels.{names[0]}.under.name", " → ".join([*names, names[0]])
        expected = "a tunnel that does not go through this one"
        return Problem(key, [*names, names[0]][1], expected, f"a circle: {way}")

    def _unknown(self, name: str, last: str = "a tunnel of the catalogue, or none") -> Problem:
        named = f" ({', '.join(self.tunnels)})" if self.tunnels else ""
        own = (*self.tunnels, "none") if last.endswith("none") else (*self.tunnels,)
        hint = catalog.suggestion(name, own)
        return Problem("", name, f"a name from tunnels{named}, {last}", hint)

    def _declared(self, name: str | None) -> Tunnel | None:
        if name is None:
            return self.tunnel
        if name in self.tunnels:
            return self.tunnels[name]
        is_known = name in (*self.tunnels, "none") or catalog.is_known(name)
        if not is_known and not name.endswith(".toml"):
            raise ConfigError(self._unknown(name))
        tunnel: Tunnel | None = None if name == "none" else Tunnel.parse(name)
        return tunnel


@cache
def _infos() -> dict[str, KeyInfo]:
    return {info.key: info for info in keys_of(ExperimentKeys)}


def key_info(key: str) -> KeyInfo | None:
    """Return the description of a key (``flows.0.rtt``, ``tunnels.fast.mtu``, ``cc``), if any."""
    return _infos().get(listed_as(ExperimentKeys, "flows.cc" if key == "cc" else key))


def _none_of(tunnel: Any) -> Any:
    """Return ``tunnel``, or None if its name is none. Raises ConfigError if none has keys."""
    if not isinstance(tunnel, dict):
        return None if tunnel == "none" else tunnel
    if tunnel.get("name") != "none":
        return tunnel
    expected = "no value, because tunnel none has no keys"
    problems = [
        Problem(key, value, expected)
        for key, value in tunnel.items()
        if key != "name" and value is not None
    ]
    if problems:
        raise ConfigError(*problems)
    return None
