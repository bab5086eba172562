# SPDX-License-Identifier: GPL-2.0-only
"""A tunnel of the catalogue, and the keys that differ from its entry."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import PrivateAttr, field_validator, model_serializer, model_validator

from tunnelcc import catalog, modules
from tunnelcc.catalog.values import (
    IP_VERSION,
    LEAST_MTU,
    MOST_DEVICE_MTU,
    MOST_MTU,
    NO_FEC,
    PARITY,
    PROBE_COUNT,
    PROBE_INTERVAL,
    Interval,
    Rate,
    Resend,
    WindowSize,
)
from tunnelcc.config.congestion import CongestionControl, GivenAlgorithm
from tunnelcc.config.flow_control import FlowControl
from tunnelcc.config.multipath import Mpquic, Mptcp, Multipath, as_given
from tunnelcc.config.network import BETWEEN
from tunnelcc.config.path import Path
from tunnelcc.config.shapes import Pair
from tunnelcc.config.values import LinkRate, Probability, QueueRoom, Rtt
from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.schema import (
    CARRIERS,
    EITHER,
    MORE,
    NAME,
    ROUTE,
    SWITCH,
    TEXT,
    Field,
    Key,
    Kind,
    Model,
    Relaxed,
    Table,
    choice,
    number,
    rate,
    size,
    time,
    whole,
)
from tunnelcc.schema.units import Buffer, UnitError, format_rate, format_time

if TYPE_CHECKING:
    from typing_extensions import Self


FEC = Kind(
    lambda value: value if value == NO_FEC else PARITY.parse(value),
    str,
    f"{PARITY.expected}, or {NO_FEC} with KCP",
)


def _parse_version(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"\d{1,4}(\.\d{1,4}){2}", value):
        raise UnitError(VERSION.expected)
    return value


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


VERSION = Kind(_parse_version, str, "a version of tunnelcc such as '0.2.0'")


class Hop(Model):
    """One more relay in a chain, and the path after it.

    The relay is a host like the server. Path keys that are not given have the values of ``path``.
    In a network, the relay is a ``host`` of it instead.
    """

    host: Annotated[str, NAME] | None = Field(
        default=None, description="host of the network that runs the relay; needs network"
    )

    rate: Key[LinkRate | None, str | None] = Field(
        default=None,
        description="constant bottleneck rate after the relay; default: as in path, with its "
        "rate_steps or the rates of its trace",
    )
    rtt: Key[Rtt | None, str | None] = Field(
        default=None, description="base round-trip time after the relay"
    )
    loss: Key[Probability | None, float | str | None] = Field(
        default=None,
        description="random loss after the relay; default: as in path, with its gilbert_elliott",
    )
    buffer: Key[QueueRoom | None, Buffer | int | str | None] = Field(
        default=None, description="queue after the relay"
    )
    cc: Key[CongestionControl | None, GivenAlgorithm | None] = Field(
        default=None,
        description="congestion control of the carriers after the relay; default: the "
        "first carrier's",
    )

    def path(self, first: Path) -> Path:
        """Return the path after the relay."""
        changes = {name: getattr(self, name) for name in ("rate", "rtt", "loss", "buffer")}
        return first.with_keys({key: it for key, it in changes.items() if it is not None})


class PacketTunnel(Model):
    """A catalogue entry by name or as a TOML file, and the keys that differ from it."""

    name: str = Field(
        description="a name of `tunnelcc list`, none (no tunnel), or the path of a .toml file"
    )
    version: Annotated[str, VERSION] | None = Field(
        default=None,
        description="version of tunnelcc for whose entry the scenario is: `run` tells what changed "
        "in the entry since; results name its version in entries; default: tell all changes",
    )
    mode: Annotated[str, TEXT] | None = Field(
        default=None,
        description="mode of a packet tunnel, such as its cipher; default: the entry's",
    )
    mtu: Annotated[int, whole(LEAST_MTU, MOST_DEVICE_MTU)] | None = Field(
        default=None,
        description="MTU of the tunnel's device in IP bytes; default: the entry's",
    )
    mss: Annotated[int, whole(128, MOST_MTU)] | None = Field(
        default=None,
        description="MSS to which the tunnel clamps connections, in bytes with TCP options; "
        "default: the entry's",
    )
    queue: Annotated[int, whole(1, 2**20), MORE] | None = Field(
        default=None,
        description="most packets that wait at the tunnel's device; default: the entry's",
    )
    datagram_queue: Annotated[int, whole(1, 2**20), EITHER] | None = Field(
        default=None,
        description="most datagrams that wait in the QUIC connection of a tunnel that carries "
        "packets in its DATAGRAM frames; default: the entry's",
    )
    fec: Annotated[str, FEC] | None = Field(
        default=None,
        description="FEC group: data and parity shards, such as 20:10, or a list for several "
        "group sizes, such as 2:4,20:10; none: no FEC (KCP only); default: the "
        "entry's",
    )
    fec_timeout: Key[Annotated[float, time(1e-6, 3600)] | None, str | None] = Field(
        default=None,
        description="FEC time-out: an incomplete group is closed this long after its first "
        "packet; default: the entry's",
    )
    ip: Annotated[int, IP_VERSION] | None = Field(
        default=None,
        description="version of IP inside the tunnel: of the packets that it carries, or of the "
        "connections between applications and relays on a host; default: path.ip, which is that of "
        "the packets that the tunnel sends",
    )

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        if isinstance(data, str):
            if not cls._may_be_named(data):
                _check_tunnel("", data)
            return {"name": data}
        if isinstance(data, dict):
            if "name" not in data:
                given = ", ".join(map(str, data))
                expected = f"the name of a tunnel, because other keys of it are given: {given}"
                raise ConfigError(Problem("name", MISSING, expected))
            _check_tunnel("name", data["name"])
        return data

    @classmethod
    def _may_be_named(cls, name: str) -> bool:
        """Whether a name that the catalogue does not have may be another tunnel's."""
        return False

    @model_validator(mode="after")
    def _check_entry(self) -> "Self":
        if self._may_be_named(self.name):
            return self
        changes = self._changes()
        for key in ("between", "version"):  # of any tunnel
            changes.pop(key, None)
        self.entry.check(changes)
        return self

    @cached_property
    def entry(self) -> catalog.Entry:
        """The entry of the catalogue, as it was when it was first wanted."""
        return catalog.load(self.name)

    def changes_since(self) -> Iterator[tuple[str, str]]:
        """Yield the versions since the scenario's in which the entry changed, and how."""
        for version, change in self.entry.changes.items():
            if self.version is None or _numbers(version) > _numbers(self.version):
                yield version, change

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
    """The tunnel that another tunnel's packets, or a relay's carriers, go through.

    A name alone may be one of ``tunnels``, which an experiment knows.
    """

    @property
    def is_none(self) -> bool:
        """Whether it is none, in place of the tunnel that the upper one's entry names."""
        return self.name == "none"

    @property
    def is_in_catalogue(self) -> bool:
        """Whether the name is one of the catalogue, or a file."""
        return not self._may_be_named(self.name)

    @classmethod
    def _may_be_named(cls, name: str) -> bool:
        return not catalog.is_known(name) and not name.endswith(".toml")


class KcpKeys(Model):
    """Keys that differ from the KCP of a catalogue entry."""

    # kcp-go, sess.go: SetMtu() takes no more than mtuLimit. The least leaves room for headers.
    mtu: Annotated[int, whole(128, 1500)] | None = Field(
        default=None,
        description="most bytes of a datagram without headers of UDP and IP, as kcptun's -mtu and "
        "kcp.mtu of GOST; default: the entry's",
    )

    nodelay: Annotated[bool, SWITCH] | None = Field(
        default=None,
        description="true: the time-out is at least 30 ms and grows by half; needs mode manual",
    )
    interval: Key[Interval | None, str | None] = Field(
        default=None, description="interval between flushes; needs mode manual"
    )
    resend: Resend | None = Field(
        default=None,
        description="number of later ACKs that trigger a retransmission; 0: never; needs mode "
        "manual",
    )
    congestion: Annotated[bool, SWITCH, Relaxed(to=False)] | None = Field(
        default=None, description="true: also use a congestion window (nc = 0); needs mode manual"
    )
    client_send_window: WindowSize | None = Field(
        default=None,
        description="segments that the client sends without an ACK; default: the entry's",
    )
    client_receive_window: WindowSize | None = Field(
        default=None,
        description="segments that wait for the client's application; default: the entry's",
    )
    server_send_window: WindowSize | None = Field(
        default=None,
        description="segments that the server sends without an ACK; default: the entry's",
    )
    server_receive_window: WindowSize | None = Field(
        default=None,
        description="segments that wait for the server's application; default: the entry's",
    )


def _parse_routes(value: object) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, (list, tuple)) or not value or isinstance(value[0], str):
        raise UnitError(_ROUTES)
    return tuple(ROUTE.parse(route) for route in value)


_ROUTES = "a list of routes, such as [['edge-a', 'isp-2', 'edge-b']]"
_ROUTES_KIND = Kind(_parse_routes, lambda routes: [list(it) for it in routes], _ROUTES)


def _for_each_route(kind: Kind, expected: str) -> Callable[[object], tuple[float, ...]]:
    """Return what reads a list of values of a kind, one for each route."""

    def parse(value: object) -> tuple[float, ...]:
        if not isinstance(value, (list, tuple)) or not value:
            raise UnitError(expected)
        try:
            return tuple(kind.parse(it) for it in value)
        except UnitError as error:
            raise UnitError(expected, error.hint) from None

    return parse


_RATE = rate(1e3, 400e9)
_RATES = "a list of rates from 1kbps to 400Gbps, one for each route, such as ['20Mbps', '5Mbps']"
_RATES_KIND = Kind(
    _for_each_route(_RATE, _RATES), lambda rates: [format_rate(it) for it in rates], _RATES
)

_WEIGHT = number(1e-3, 1e6)
_WEIGHTS = "a list of numbers from 0.001 to 1e+06, one for each route, such as [4, 1]"
_WEIGHTS_KIND = Kind(_for_each_route(_WEIGHT, _WEIGHTS), list, _WEIGHTS)

#: Programs' reorder buffers count packets by numbers of so many bits at most.
_MOST_REORDERED = 2**16

#: So many turns tell the shares of routes that count down from weights.
_TURNS = 10_000

#: Probes that measure rates, as glorytun's mud c426cef: messages of 147 bytes (mud_msg, and 22
#: around it), one each 100 ms (conf.beat); five without an answer are too many (MUD_MSG_SENT_MAX).
_MEASURING = 147, 0.1, 5, 2

#: UDP payload of a control packet of BFD (RFC 5880, section 4.1), by which routers find cut routes.
_PROBE = 24


class Probes(NamedTuple):
    """Probes over several routes: UDP payload (bytes), time (s) between them, numbers of such."""

    probe: int
    probe_interval: float
    fail_after: int
    return_after: int


class Uplinks(Model):
    """More routes between a tunnel's gateways, beside the one on the way of its flows."""

    routes: Key[Annotated[tuple[tuple[str, ...], ...], _ROUTES_KIND], Sequence[Sequence[str]]] = (
        Field(description="these routes, each as its hosts from the first gateway to the second")
    )
    use: Annotated[str, choice("fail-over", "flows", "packets", "weights", "measured")] = Field(
        default="fail-over",
        description="fail-over: the first route over which probes are answered; flows: a route for "
        "each flow, or for each tunnel that goes through this one, in turn; packets: a route for "
        "each packet, in turn; weights: a route for each packet, by weights; measured: a route for "
        "each packet, at random by rates that follow what arrives, as glorytun",
    )
    weights: Key[Annotated[tuple[float, ...], _WEIGHTS_KIND] | None, Sequence[float] | None] = (
        Field(
            default=None,
            description="which share of the packets each route has, that on the way of the flows "
            "first, then routes; with use = 'weights'; default: the rates of the slowest links on "
            "the routes, in the direction of the packets",
        )
    )
    rates: Key[Annotated[tuple[float, ...], _RATES_KIND] | None, Sequence[str] | None] = Field(
        default=None,
        description="most of each route, that on the way of the flows first, with which measured "
        "rates also begin; with use = 'measured'; default: the rates of the slowest links on the "
        "routes, in the direction of the packets",
    )
    reorder_size: Annotated[int, whole(0, _MOST_REORDERED)] = Field(
        default=0,
        description="packets that the buffer holds in which each end puts packets of several "
        "routes into order; with use = 'packets', 'weights' or 'measured'; 0: there is none",
    )
    reorder_time: Key[Annotated[float, time(1e-4, 60)] | None, str | None] = Field(
        default=None,
        description="how long packets wait there, at most, for one that is missing; default: the "
        "entry's",
    )
    probe_interval: Key[Annotated[float, PROBE_INTERVAL] | None, str | None] = Field(
        default=None,
        description="time between the probes that each end sends over each route, of which those "
        "that fail have no turn; default: the entry's, with fail-over and for programs that bond; "
        "with measured 100ms",
    )
    fail_after: Annotated[int, PROBE_COUNT] | None = Field(
        default=None,
        description="a route fails when its last answer is more than so many intervals old; "
        "default: the entry's",
    )
    return_after: Annotated[int, PROBE_COUNT] | None = Field(
        default=None,
        description="a route works again when its last answer is less than so many intervals old; "
        "default: the entry's",
    )

    def probes(self, entry: catalog.Entry) -> Probes:
        """Return the probes of a fail-over over a tunnel of ``entry``.

        Raises ConfigError for an entry without any, unless all keys of probes are given.
        """
        own = getattr(entry, "fail_over", None)

        def value(key: str) -> Any:
            given = getattr(self, key)
            return getattr(own, key, None) if given is None else given

        keys = "probe_interval", "fail_after", "return_after"
        values = [value(key) for key in keys]
        size = getattr(own, "probe", _PROBE)
        if self.use == "measured":
            size, *usual = _MEASURING
            given = [getattr(self, key) for key in keys]
            values = [a if b is None else b for a, b in zip(usual, given, strict=True)]
        if None in values:
            expected = (
                f"flows, packets or weights, because {entry.name} has no probes that tell when a "
                "route is cut, as ethudp has; for others, such as a routing daemon's, give "
                "probe_interval, fail_after and return_after"
            )
            raise ConfigError(Problem("use", self.use, expected))
        probes = Probes(size, *values)
        most = probes.fail_after + 1
        if probes.return_after > most:  # it would fail and return in turn
            expected = f"at most {most}, which is fail_after + 1"
            raise ConfigError(Problem("return_after", probes.return_after, expected))
        return probes

    @property
    def takes_turns(self) -> bool:
        """Whether the packets of a flow take several routes."""
        return self.use in ("packets", "weights", "measured")

    def has_probes(self, entry: catalog.Entry) -> bool:
        """Whether ends of a tunnel of ``entry`` watch the routes."""
        given = (self.probe_interval, self.fail_after, self.return_after)
        own = getattr(entry, "bonding", None) is not None and entry.fail_over is not None  # type: ignore[attr-defined]
        is_watched = self.takes_turns and (own or any(it is not None for it in given))
        return self.use in ("fail-over", "measured") or is_watched

    def check(self, entry: catalog.Entry, has_fec: bool) -> None:
        """Raise ConfigError for what does not fit together, or not to ``entry``."""
        count = 1 + len(self.routes)
        for key, use, what in (("weights", "weights", "numbers"), ("rates", "measured", "rates")):
            if (given := getattr(self, key)) is not None:
                shown = self.table()[key]
                if self.use != use:
                    raise ConfigError(Problem(key, shown, f"no value without use = {use!r}"))
                if len(given) != count:
                    raise ConfigError(Problem(key, shown, f"{count} {what}, one for each route"))
        if self.reorder_size:
            bonding = getattr(entry, "bonding", None)
            expected = ""
            if not self.takes_turns:
                expected = f"0 with use = {self.use!r}, which keeps packets of a flow in order"
            elif has_fec:
                expected = "0 with FEC, whose groups need no order"
            elif bonding is not None and self.reorder_size & (self.reorder_size - 1):
                expected = f"a power of two, as {entry.name} needs it"
            if expected:
                raise ConfigError(Problem("reorder_size", self.reorder_size, expected))
            if self.reorder_time is None and bonding is None:
                expected = (
                    f"a time such as '50ms', because {entry.name} has no reorder buffer of its "
                    "own, as mlvpn has"
                )
                raise ConfigError(Problem("reorder_time", MISSING, expected))
        elif self.reorder_time is not None:
            given = format_time(self.reorder_time)
            raise ConfigError(Problem("reorder_time", given, "no value without reorder_size"))
        if self.has_probes(entry):
            self.probes(entry)

    def shares(self, weights: Sequence[float], entry: catalog.Entry) -> list[float]:
        """Return which share of the datagrams each route has, by its weight."""
        bonding, total = getattr(entry, "bonding", None), sum(weights)
        if self.use != "weights" or bonding is None or bonding.turns != "countdown":
            return [it / total for it in weights]
        counts, turns = [0.0] * len(weights), [0] * len(weights)
        for _ in range(_TURNS):  # as models/tunnel/turns.h
            best = counts.index(min(counts))
            counts = [it - 1 if it > 0 else it for it in counts]
            counts[best] = total / weights[best]
            turns[best] += 1
        return [it / _TURNS for it in turns]

    def taken_by(self, flow: int) -> int:
        """Return the number of the route that a flow takes, of all, if flows take them in turn."""
        return flow % (1 + len(self.routes)) if self.use == "flows" else 0


#: What the carriers of relays can go through.
BELOW_RELAYS = "a datagram tunnel below relays, such as wireguard"


class Tunnel(FlowControl, PacketTunnel):
    """A tunnel: its catalogue entry, and the keys that differ from it.

    >>> tc.Tunnel(name="gost-relay-wss", cc="bbr").copy_buffer is None
    True
    """

    between: Key[Annotated[Pair, BETWEEN] | None, Sequence[str] | None] = Field(
        default=None,
        description="the two gateways that run the tunnel, hosts on the way of its flows; the "
        "first one dials; default: the flows' own hosts",
    )
    uplinks: Key[Uplinks | None, Uplinks | Table | None] = Field(
        default=None,
        description="more routes between the gateways of a datagram tunnel; needs between",
    )
    mptcp: Key[Mptcp | None, Mptcp | Table | None] = Field(
        default=None,
        description="several paths at once for each carrier over TCP, between the hosts that run "
        "the tunnel; default: one path, TCP",
    )
    mpquic: Key[Mpquic | None, Mpquic | Table | None] = Field(
        default=None,
        description="several paths at once for each carrier over QUIC, likewise; default: one path",
    )
    cc: Key[CongestionControl | None, GivenAlgorithm | None] = Field(
        default=None,
        description="congestion control of the carrier; default: the flow's, or over QUIC the "
        "entry's",
    )
    nodelay: Annotated[bool, SWITCH] | None = Field(
        default=None,
        description="true: both ends of the carrier's TCP connection set TCP_NODELAY; false: "
        "neither does, so that Nagle's rule holds small writes back until all data before them are "
        "acknowledged; default: the entry's",
    )
    copy_buffer: Key[Annotated[int, size(1024, 2**24), MORE] | None, int | str | None] = Field(
        default=None,
        description="bytes that a relay reads and forwards at once; default: the entry's",
    )
    send_buffer: Key[Annotated[int, size(4096, 2**30), MORE] | None, int | str | None] = Field(
        default=None,
        description="send buffer that the program asks for on its carrier over TCP, as OpenVPN's "
        "--sndbuf; Linux gives twice as much; default: the kernel's, which grows",
    )
    receive_buffer: Key[Annotated[int, size(4096, 2**30), MORE] | None, int | str | None] = Field(
        default=None,
        description="receive buffer likewise, as OpenVPN's --rcvbuf, also on a UDP socket, which "
        "drops packets that it has no room for",
    )
    vlan_tags: Annotated[int, whole(1, 2)] | None = Field(
        default=None,
        description="tags of VLANs in each frame that the tunnel carries, of 4 bytes (IEEE "
        "802.1Q), as on a trunk: 1, or 2 of VLANs in VLANs; for tunnels of Ethernet frames, such "
        "as ethudp; default: none",
    )
    under: Key[Under | None, Under | str | Table | None] = Field(
        default=None,
        description="tunnel that this tunnel's packets or carriers go through: a name from "
        "tunnels, a tunnel as in tunnel, or none; below relays a datagram tunnel, such as "
        "wireguard; default: the entry's",
    )
    carriers: Annotated[str | int, CARRIERS] | None = Field(
        default=None,
        description="flows that share a carrier; all; user: flows of one user; flow: none; a "
        "number: flows take so many carriers in turn; default: all if the tunnel "
        "multiplexes, otherwise flow",
    )
    session_buffer: Key[Annotated[int, size(4096, 2**30), MORE] | None, int | str | None] = Field(
        default=None,
        description="unread bytes of all streams at which the receiver stops reading the carrier, "
        "as kcptun's --smuxbuf; default: the entry's",
    )
    kcp: Key[KcpKeys | None, KcpKeys | Table | None] = Field(
        default=None, description="keys that differ from the entry's KCP"
    )
    rate: Key[Rate | None, str | None] = Field(
        default=None,
        description="fixed rate at which each end of the tunnel sends; finalspeed needs it and "
        "counts data, retransmissions included, headers not; hysteria2 counts packets of QUIC; "
        "default: the congestion control of the entry",
    )
    chain: Key[tuple[Hop, ...], Sequence[Hop | Table]] = Field(
        default=(), description="more relays, in order from the client, each with the path after it"
    )
    relays: Annotated[int, whole(0, 64)] | None = Field(
        default=None,
        description="number of more relays that divide path into equal parts; each part has "
        "its share of the RTT and of the random loss, and a queue like path's; "
        "alternative to chain",
    )

    @model_validator(mode="before")
    @classmethod
    def _without_under(cls, data: Any) -> Any:
        """Leave out ``under`` = none where it is the entry's default: both are one experiment."""
        under = data.get("under") if isinstance(data, dict) else None
        if under != "none" and not (isinstance(under, dict) and under.get("name") == "none"):
            return data
        if under != "none" and (beside := {key: it for key, it in under.items() if key != "name"}):
            problem = Problem(*next(iter(beside.items())), "no value, because none has no keys")
            raise ConfigError(problem.below("under"))
        name = data.get("name")
        try:
            is_default = isinstance(name, str) and catalog.load(name).under is None
        except ConfigError:
            is_default = False  # told of the name elsewhere
        others = {key: it for key, it in data.items() if key != "under"}
        return others if is_default else {**others, "under": "none"}

    @field_validator("chain", mode="before")
    @classmethod
    def _any_number_of_hops(cls, chain: Any) -> Any:
        return (chain,) if isinstance(chain, (Hop, dict)) else chain

    @model_validator(mode="after")
    def _check_relays(self) -> "Tunnel":
        if self.uplinks is not None:
            routes = [list(route) for route in self.uplinks.routes]
            if self.between is None:
                raise ConfigError(Problem("uplinks.routes", routes, "no value: it needs between"))
            if self.under is not None and not self.under.is_none:
                expected = "no value with under: the tunnel below has the routes"
                raise ConfigError(Problem("uplinks.routes", routes, expected))
            try:
                self.uplinks.check(self.entry, self._has_fec)
            except ConfigError as error:
                raise error.below("uplinks") from None
        if self.relays and self.chain:
            raise ConfigError(Problem("relays", self.relays, "no value, because chain is given"))
        if self.multipath is not None:
            self._check_paths(self.multipath)
        ccs = {"cc": self.cc, **{f"chain.{i}.cc": hop.cc for i, hop in enumerate(self.chain)}}
        for key, given in ccs.items():
            if given is not None and not self.entry.has_ecn and given.needs_ecn:
                expected = f"an algorithm that does without ECN, which {self.name} does not have"
                raise ConfigError(Problem(key, given.name, expected))
        under, cc = self.entry.under, self.entry.carrier_cc(self.rate)
        if cc is not None and modules.is_file(cc["name"]):
            expected = "the name of an algorithm: files of code are for the key cc of a tunnel"
            raise ConfigError(Problem("carrier.cc", cc["name"], expected))
        for key, name, model in (("under", under, Under), ("cc", cc, CongestionControl)):
            try:
                given = None if name is None else model.parse(name)
                if isinstance(given, Under) and given.entry.HAS_CARRIERS:
                    raise ConfigError(Problem("name", given.name, BELOW_RELAYS))
            except ConfigError as error:
                where = catalog.path_of(self.name)
                raise error.below(f"carrier.{key}").located_in(where) from None
        return self

    def _check_paths(self, keys: Multipath) -> None:
        """Raise ConfigError for what carriers with several paths cannot have."""
        has_under = self.entry.under is not None if self.under is None else not self.under.is_none
        for key, given, why in (
            ("chain", self.chain, "which has other hosts on the way"),
            ("relays", self.relays, "which are other hosts on the way"),
            ("under", has_under, "the tunnel below has one path"),
        ):
            if given:
                paths = [as_given(it) for it in keys.paths]
                expected = f"no value with {key}, {why}"
                raise ConfigError(Problem(f"{keys.KEY}.paths", paths, expected))
        if self.entry.kind == "quic-datagram" and keys.scheduler == "redundant":
            expected = f"another scheduler with {self.name}, which sends datagrams once"
            raise ConfigError(Problem(f"{keys.KEY}.scheduler", keys.scheduler, expected))

    @property
    def multipath(self) -> Multipath | None:
        """The several paths of each of its carriers; None: they have one."""
        return self.mptcp if self.mpquic is None else self.mpquic

    @property
    def _has_fec(self) -> bool:
        fec = getattr(self.entry, "fec", None)
        return fec is not None and fec(self.mode, self.fec) is not None

    @cached_property
    def entry(self) -> catalog.Entry:
        """The entry of the catalogue with what other keys change in it.

        These are windows of QUIC, ``vlan_tags`` and ``kcp.mtu``.
        """
        entry = catalog.load(self.name)
        if self.vlan_tags and entry.CARRIES_PACKETS:
            return entry.tagged(self.vlan_tags, self.mode)  # type: ignore[attr-defined, no-any-return]
        if self.windows and (quic := getattr(entry, "quic", None)) is not None:
            return entry.model_copy(update={"quic": quic.with_windows(self.windows)})
        kcp, mtu = getattr(entry, "kcp", None), self.kcp.mtu if self.kcp else None
        if kcp is None or mtu is None:
            return entry
        session = kcp.session.model_copy(update={"mtu": mtu})
        return entry.model_copy(update={"kcp": kcp.model_copy(update={"session": session})})

    _below: "Tunnel | None" = PrivateAttr(None)
    _title: str = PrivateAttr("")

    @property
    def below(self) -> "Tunnel | None":
        """The tunnel that its packets, or the relays' connections, go through, if any."""
        if self._below is not None:
            return self._below
        if self.under is not None and self.under.is_none:
            return None
        under = self.under.model_dump() if self.under else self.entry.under
        found: Tunnel | None = None if under is None else Tunnel.parse(under)
        return found

    @property
    def title(self) -> str:
        """Its name in ``tunnels``, if it is below another tunnel by that name; otherwise ""."""
        return self._title

    def above(self, below: "Tunnel", title: str) -> "Tunnel":
        """Return this tunnel over ``below``, the one of ``tunnels`` with the name ``title``."""
        copy, lower = self.model_copy(), below.model_copy()
        lower._title, copy._below = title, lower
        return copy

    @property
    def has_one_path(self) -> bool:
        """Whether flows cannot have their own RTT: see Entry.has_one_path()."""
        return self.entry.has_one_path(self.mode)

    @property
    def carrier_cc(self) -> CongestionControl | None:
        """The congestion control of the carriers; None: the flow's."""
        given = self.entry.carrier_cc(self.rate)
        if self.cc is None and given is not None:
            found: CongestionControl = CongestionControl.parse(given)
            return found
        if self.cc is None:
            return None
        own = self.entry.parameters_of(self.cc.name)
        return CongestionControl.model_construct(
            name=self.cc.name, parameters=own | self.cc.parameters, code=self.cc.code
        )

    def paths(self, path: Path) -> tuple[Path, ...]:
        """Return the path of each carrier, in order from the client."""
        if self.relays:
            parts = 1 + self.relays
            return (path.part(parts),) * parts
        return (path, *(hop.path(path) for hop in self.chain))

    def _changes(self) -> dict[str, Any]:
        changes = super()._changes()
        if self.between is not None:
            changes["between"] = list(self.between)
        if self.uplinks is not None:
            changes["uplinks"] = self.uplinks.table()
        if self.multipath is not None:
            changes[self.multipath.KEY] = self.multipath.table()
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
