# SPDX-License-Identifier: GPL-2.0-only
"""The path between the two hosts: what a link does to packets in each direction."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import model_validator

from tunnelcc.catalog.values import IP_VERSION, LEAST_MTU, MOST_MTU, plain_headers
from tunnelcc.config.queue import Cake, DropTail, Queue
from tunnelcc.config.traces import TRACE, Steps, Trace, parse_trace
from tunnelcc.config.values import GivenSteps, LinkRate, Probability, QueueRoom, Rtt, Switch, Timer
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.schema import (
    BUFFER,
    GONE,
    MORE,
    POSITIVE_SHARE,
    SHARE,
    SPANS,
    Field,
    Key,
    Kind,
    Model,
    Relaxed,
    Table,
    choice,
    rate,
    size,
    steps,
    time,
    whole,
)
from tunnelcc.schema.units import Buffer, UnitError, format_probability, format_rate, format_time

if TYPE_CHECKING:
    from typing_extensions import Self

# Bytes of a packet outside IP that rate and queue count. "tc" is the header of Ethernet, which is a
# part of the length that disciplines of Linux see (tc-stab(8)). "ethernet" is that with preamble 8,
# FCS 4 and gap 12 (IEEE 802.3).
_FRAMINGS = {"ip": 0, "tc": 14, "ethernet": 38}

_WHOLE_BDP = Buffer(bdp=1.0)

#: Of the interfaces of hosts that do not know a link's MTU: Ethernet.
HOST_MTU = 1500

_CLAMPED = whole(88, MOST_MTU - plain_headers(4))


def _parse_clamp(value: object) -> int | str:
    return "pmtu" if value == "pmtu" else _CLAMPED.parse(value)


CLAMP = Kind(_parse_clamp, lambda value: value, f"pmtu, or {_CLAMPED.expected}", "byte")


def _parse_phase(value: object) -> str:
    text: str = choice("drawn", "0").parse(str(value) if type(value) is int else value)
    return text


PHASE = Kind(_parse_phase, str, "'drawn', or 0")

RateSteps = Annotated[
    tuple[tuple[float, float], ...],
    steps(rate(1e3, 400e9), "[['10s', '20Mbps'], ['20s', '5Mbps']]"),
]
LossSteps = Annotated[
    tuple[tuple[float, float], ...], steps(SHARE, "[['10s', '1%'], ['20s', '0%']]")
]
BufferSteps = Annotated[
    tuple[tuple[float, Buffer], ...], steps(BUFFER, "[['10s', '50kB'], ['20s', '100p']]")
]
RttSteps = Annotated[
    tuple[tuple[float, float], ...], steps(time(1e-6, 60), "[['10s', '60ms'], ['20s', '40ms']]")
]
Outages = Annotated[tuple[tuple[float, float], ...], SPANS]

#: Keys of a direction that change over time, and what those of a whole link are.
_OVER_TIME = ("rate", "loss", "buffer")

#: Keys of a link that mean the same as those of its reverse.
SHORT_FORMS = ("reverse_rate", "reverse_buffer", "reverse_loss")


class GilbertElliott(Model):
    """Loss in bursts: a good and a bad state. The letters are those of netem's ``gemodel``."""

    p: Key[Annotated[float, POSITIVE_SHARE], float | str] = Field(
        description="probability per packet of a change from the good state to the bad state"
    )
    r: Key[Annotated[float, POSITIVE_SHARE], float | str] = Field(
        description="probability per packet of a change from the bad state to the good state; the "
        "mean bad state lasts 1/r packets"
    )
    h: Key[Annotated[float, SHARE], float | str] = Field(
        default=0.0, description="share of packets that arrive in the bad state"
    )
    k: Key[Annotated[float, SHARE], float | str] = Field(
        default=1.0, description="share of packets that arrive in the good state"
    )

    @model_validator(mode="after")
    def _check(self) -> "GilbertElliott":
        if self.h == self.k == 1:
            raise ConfigError(
                Problem(
                    "h", "100%", "less than 100% if k is 100%, because otherwise nothing is lost"
                )
            )
        return self


class Policer(Model):
    """A token bucket in one direction. It drops packets that exceed it, and delays none."""

    rate: Key[LinkRate, str] = Field(
        description="rate of the tokens, in the same bytes as path.rate"
    )
    burst: Key[Annotated[int, size(64, 2**30), MORE], int | str] = Field(
        default=65536, description="bytes that may pass at once after an idle time"
    )
    position: Annotated[str, choice("before", "after")] = Field(
        default="before", description="before the bottleneck's queue, or after the bottleneck"
    )


class LinkDirection(Model):
    """What a link does to the packets of one direction."""

    rate: Key[LinkRate | None, str | None] = Field(
        default=None,
        description="rate of the link; default: no limit and no queue; with the rates of a trace: "
        "used only to size 1bdp (default: their mean)",
    )
    rate_steps: Key[RateSteps, GivenSteps] = Field(
        default=(), description="later rates: a list of times and rates"
    )
    trace: Key[Annotated[Trace, TRACE] | None, Trace | str | None] = Field(
        default=None,
        description="file of what the link does over time: .csv with columns such as "
        "time_s,rate_Mbps,rtt_ms,loss_percent,buffer_kB, of which one may be enough, or a mahimahi "
        "trace, which has rates and repeats; in place of the keys of the same names and their "
        "steps",
    )
    loss: Key[Probability, float | str] = Field(
        default=0.0, description="random loss: independent probability for each packet"
    )
    loss_steps: Key[LossSteps, GivenSteps] = Field(
        default=(), description="later loss: a list of times and probabilities, up to 100%"
    )
    buffer: Key[QueueRoom, Buffer | int | str] = Field(
        default=Buffer(bdp=1.0),
        description="most data that wait at the bottleneck, without the packet in service; 1bdp = "
        "rate * rtt; 50ms = rate * 50 ms",
    )
    buffer_steps: Key[BufferSteps, GivenSteps] = Field(
        default=(),
        description="later buffers: a list of times and sizes; 1bdp and 50ms are those of the rate "
        "and RTT at the start; what waits in a buffer that becomes smaller stays, and packets that "
        "arrive are dropped until there is room",
    )
    queue: Key[Annotated[Queue, Relaxed(to="drop-tail")], Queue | str | Table] = Field(
        default=DropTail.default(), description="queue discipline at the bottleneck"
    )
    ecn_threshold: Key[QueueRoom | None, Buffer | int | str | None] = Field(
        default=None,
        description="ECN threshold of a drop-tail queue: above it, packets of tcp.ecn and of "
        "ns3::TcpDctcp are marked; default: never",
    )
    loss_pattern: Annotated[str, choice("random", "periodic")] = Field(
        default="random",
        description="random: each packet is lost independently; periodic: one packet in every "
        "1/loss is lost, as response functions assume",
    )
    loss_position: Annotated[str, choice("after", "before")] = Field(
        default="after",
        description="where random loss happens: after the bottleneck, or before its queue",
    )
    gilbert_elliott: Key[GilbertElliott | None, GilbertElliott | Table | None] = Field(
        default=None, description="loss in bursts, instead of loss"
    )
    policer: Key[Policer | None, Policer | Table | None] = Field(
        default=None, description="token bucket that drops what exceeds its rate"
    )
    reorder: Key[Probability, float | str] = Field(
        default=0.0, description="share of packets that arrive reorder_delay late"
    )
    reorder_delay: Key[Timer, str] = Field(
        default=0.01,
        description="extra delay of these packets; packets sent within this time overtake them",
    )
    jitter: Key[Annotated[float, time(1e-6, 10, at_zero=True), GONE], str] = Field(
        default=0.0, description="mean of a random extra delay of each packet"
    )
    jitter_distribution: Annotated[
        str, choice("uniform", "exponential", "half-normal", "normal", "lognormal")
    ] = Field(
        default="uniform",
        description="distribution of this delay; uniform: from 0 to twice the mean; normal: draws "
        "below 0 count as 0",
    )
    jitter_deviation: Key[Annotated[float, time(1e-6, 100)] | None, str | None] = Field(
        default=None,
        description="standard deviation of this delay, if it is normal (at most half the mean; "
        "default: a third of it) or lognormal (default: the mean)",
    )
    jitter_reorders: Switch = Field(
        default=False,
        description="whether packets may overtake each other; false: they wait for earlier packets",
    )

    @model_validator(mode="before")
    @classmethod
    def _means(cls, data: Any) -> Any:
        if not isinstance(data, dict) or data.get("trace") is None:
            return data
        try:
            trace = parse_trace(data["trace"])
        except UnitError:
            return data  # told of where the key is read
        means = {}
        for key, write in (("rate", format_rate), ("rtt", format_time)):
            if key not in data and key in cls.model_fields and key in trace.given:
                means[key] = write(trace.mean(key))
        return {**data, **means}

    @model_validator(mode="after")
    def _check(self) -> "Self":
        problems = list(self._conflicts())
        if problems:
            raise ConfigError(*problems)
        return self

    def with_keys(self, given: Mapping[str, Any]) -> "Self":
        """Return a copy with the ``given`` keys, and without keys that they exclude."""
        changes: dict[str, Any] = {}
        if "trace" in given:
            changes |= {f"{key}_steps": () for key in self._over_time()}
        stays = list(self._over_time())
        for key in self._over_time():
            replaced = key == "loss" and "gilbert_elliott" in given
            if replaced or key in given or f"{key}_steps" in given:
                changes[f"{key}_steps"] = ()
                stays.remove(key)
        if self.trace is not None:
            changes["trace"] = self.trace.only(*stays)
        if "loss" in given or "gilbert_elliott" in given:
            changes |= {"loss": 0.0, "gilbert_elliott": None}
        if not isinstance(given.get("queue", self.queue), DropTail):
            changes["ecn_threshold"] = None
        return self.model_copy(update={**changes, **given})

    def _conflicts(self) -> Iterator[Problem]:
        """Yield problems of keys that exclude each other, with or without a rate."""
        traced = self.trace.given if self.trace is not None else ()
        for key in traced:
            steps = getattr(self, f"{key}_steps", ())
            if steps:
                yield Problem(
                    f"{key}_steps", len(steps), f"no steps, because trace gives the {key}"
                )
        if "rtt" in traced and "rtt" not in self._over_time():
            expected = "no column of RTTs: those of both directions are in the link's own trace"
            yield Problem("trace", str(self.trace), expected)
        if self.loss > 0 and (self.gilbert_elliott is not None or "loss" in traced):
            other = "gilbert_elliott is given" if "loss" not in traced else "trace gives the loss"
            yield Problem("loss", format_probability(self.loss), f"0, because {other}")
        if self.gilbert_elliott is not None and self.loss_steps:
            expected = "no steps, because gilbert_elliott is given"
            yield Problem("loss_steps", len(self.loss_steps), expected)
        if self.gilbert_elliott is not None and "loss" in traced:
            expected = "no column of losses, because gilbert_elliott is given"
            yield Problem("trace", str(self.trace), expected)
        yield from self._of_deviation()
        if self.ecn_threshold is not None and not isinstance(self.queue, DropTail):
            expected = f"no threshold with {self.queue.name}, which marks packets itself"
            yield Problem("ecn_threshold", str(self.ecn_threshold), expected)

    def _of_deviation(self) -> Iterator[Problem]:
        given, shape = self.jitter_deviation, self.jitter_distribution
        if given is None:
            return
        if shape not in ("normal", "lognormal"):
            expected = f"no value with {shape}, which follows from its mean"
            yield Problem("jitter_deviation", format_time(given), expected)
        elif given > self.jitter * (0.5 if shape == "normal" else 10):
            most = "half of" if shape == "normal" else "10 times"
            expected = f"at most {most} jitter, {format_time(self.jitter)}"
            yield Problem("jitter_deviation", format_time(given), expected)

    @property
    def deviation(self) -> float:
        """The standard deviation of jitter (s); 0 where it follows from the mean."""
        shares = {"normal": 1 / 3, "lognormal": 1.0}
        default = self.jitter * shares.get(self.jitter_distribution, 0.0)
        return default if self.jitter_deviation is None else self.jitter_deviation

    @property
    def caps(self) -> list[float]:
        """Constant rates (bit/s) that packets cannot exceed, besides the link's."""
        caps = [] if self.policer is None else [self.policer.rate]
        if isinstance(self.queue, Cake) and self.queue.bandwidth is not None:
            caps.append(self.queue.bandwidth)
        return caps

    def _over_time(self) -> tuple[str, ...]:
        """Return the keys that can change over time."""
        return _OVER_TIME

    def over_time(self, key: str) -> Steps:
        """Return the values of ``rate``, ``loss``, ``buffer`` or ``rtt`` over time.

        They are (time in s, value from then on) in SI, the first at 0. Those of a trace repeat
        after its period.
        """
        if self.trace is not None and key in self.trace.given:
            traced: Steps = getattr(self.trace, key)
            return traced
        return ((0.0, getattr(self, key)), *getattr(self, f"{key}_steps"))

    def varies(self, key: str) -> bool:
        """Whether ``rate``, ``loss``, ``buffer`` or ``rtt`` changes."""
        return len(self.over_time(key)) > 1

    def problems(self) -> Iterator[Problem]:
        """Yield problems of keys that exclude each other, or that need a rate."""
        yield from self._conflicts()
        if self.rate is not None:
            return
        expected = "no value without a rate, because nothing waits there"
        if self.rate_steps:
            yield Problem(
                "rate_steps", len(self.rate_steps), "a rate, because rate_steps change it"
            )
        if self.buffer_steps:
            yield Problem("buffer_steps", len(self.buffer_steps), expected)
        if self.trace is not None and "buffer" in self.trace.given:
            yield Problem("trace", str(self.trace), f"no column of buffers: {expected}")
        if not isinstance(self.queue, DropTail):
            yield Problem("queue", self.queue.name, expected)
        if self.ecn_threshold is not None:
            yield Problem("ecn_threshold", str(self.ecn_threshold), expected)


_DEFAULT_DIRECTION = LinkDirection.default()


class DuplexLink(LinkDirection):
    """A link. Its keys describe its first direction; ``reverse`` describes the other.

    ``reverse_rate``, ``reverse_buffer`` and ``reverse_loss`` are short for the keys of ``reverse``.
    The loss of ``reverse_loss`` has the pattern and the position of ``loss``.
    """

    rtt: Key[Annotated[float, time(1e-6, 60, at_zero=True)], str] = Field(
        default=0.0,
        description="base round-trip time; each direction has half of it; with RTTs of a trace: "
        "used only to size 1bdp, and as the least flows.rtt (default: their mean)",
    )
    rtt_steps: Key[RttSteps, GivenSteps] = Field(
        default=(),
        description="later RTTs: a list of times and RTTs, of which each direction has half; a "
        "packet has the delay of the time at which it leaves the bottleneck",
    )
    phase: Key[Annotated[str, PHASE], int | str] = Field(
        default="drawn",
        description="by how much the RTT is longer than rtt; drawn: the seed draws a part of the "
        "time that a full packet takes on the slowest link, less than 1 % of the RTT; 0: not at "
        "all, so that most round numbers are a whole number of these times",
    )
    outages: Key[Outages, Sequence[Sequence[str]]] = Field(
        default=(),
        description="times in which the link is cut, in both directions: a list of begins and ends "
        "([['10s', '25s']]), or of a begin alone ([['10s']]); packets that would leave the "
        "bottleneck then are lost",
    )
    handover: Annotated[str, choice("overtake", "in-order", "lost")] = Field(
        default="overtake",
        description="what becomes of packets in flight when the RTT changes; overtake: they keep "
        "their delay, and where the new one is shorter, later packets overtake them; in-order: "
        "later packets wait for them; lost",
    )
    reverse: Key[LinkDirection | None, LinkDirection | Table | None] = Field(
        default=None, description="keys of the other direction"
    )
    reverse_rate: Key[LinkRate | None, str | None] = Field(
        default=None, description="rate of the other direction; short for reverse.rate"
    )
    reverse_buffer: Key[QueueRoom, Buffer | int | str] = Field(
        default=_WHOLE_BDP,
        description="queue of the other direction, if reverse_rate is given; 1bdp = reverse_rate * "
        "rtt; short for reverse.buffer",
    )
    reverse_loss: Key[Probability, float | str] = Field(
        default=0.0,
        description="random loss in the other direction; short for reverse.loss",
    )
    mtu: Annotated[int, whole(LEAST_MTU, MOST_MTU), Relaxed(to=HOST_MTU)] = Field(
        default=1500,
        description="largest IP packet in bytes; datagram tunnels fragment larger ones, and TCP "
        "reduces tcp.mss to fit, but does not increase it: for 9000 also set tcp.mss to 8948; for "
        "hosts that do not know it, see too_big",
    )
    too_big: Annotated[str, choice("known", "tell", "silent", "fragment")] = Field(
        default="known",
        description="what the router in front of the link does with packets larger than mtu; "
        "known: there are none, because hosts know the mtu; otherwise the MTU of hosts is 1500 "
        "bytes, and the router fragments packets of IPv4 that may be fragmented (DF not set); it "
        "drops the others and tells their sender (tell: ICMP), or drops them in silence (silent: a "
        "black hole), or fragments them all the same (fragment)",
    )
    fragments: Annotated[str, choice("pass", "drop")] = Field(
        default="pass", description="whether a firewall in front of the link drops fragments"
    )
    reassembly_delay: Key[Annotated[float, time(1e-6, 10, at_zero=True), GONE], str] = Field(
        default=0.0,
        description="delay, at its receiver, of a packet that the router in front of the link has "
        "fragmented",
    )
    clamp_mss: Annotated[int | str, CLAMP] | None = Field(
        default=None,
        description="MSS that the router in front of the link writes into the SYNs of both "
        "directions that have a larger one: pmtu (of the link, less 40 bytes, or 60 of IPv6), or "
        "bytes without TCP options (iptables TCPMSS); a router cannot see into tunnels, for which "
        "see tunnel.mss; default: none",
    )
    framing: Annotated[str, choice(*_FRAMINGS)] = Field(
        default="ip",
        description="bytes that the rate and the buffer count; ip: IP packets; tc: as disciplines "
        "of Linux (tbf, netem, htb) on an Ethernet interface, whose header is 14 bytes more for "
        "each packet; ethernet: frames with preamble and gap, 38 bytes more",
    )

    @property
    def host_mtu(self) -> int:
        """The IP bytes of the largest packet that hosts send if they know of no smaller MTU."""
        return self.mtu if self.too_big == "known" else HOST_MTU

    def mss_clamp(self, ip: int) -> int | None:
        """Return the MSS (bytes, without options) that the router writes into SYNs, if it does."""
        clamp = self.clamp_mss
        return self.mtu - plain_headers(ip) if isinstance(clamp, str) else clamp

    @property
    def framing_bytes(self) -> int:
        """Bytes of a packet outside IP that the rate and the queue count."""
        return _FRAMINGS[self.framing]

    def queue_bytes(self, length: Buffer, rate: float, packet: int) -> int:
        """Return the bytes of a queue before ``rate`` (bit/s), whose packets have that size."""
        if length.packets is not None:
            return length.packets * min(packet, self.mtu)
        return length.at(rate, self.rtt)

    @property
    def backward(self) -> LinkDirection:
        """The keys of the other direction, from ``reverse`` or from its short forms."""
        default = _DEFAULT_DIRECTION
        direction = default if self.reverse is None else self.reverse
        changes = self._short_forms()
        if self.reverse is None or self.reverse_loss:
            for key in ("loss_pattern", "loss_position"):
                value = getattr(self, key)
                if getattr(direction, key) == getattr(default, key) != value:
                    changes[key] = value
        return direction.model_copy(update=changes) if changes else direction

    def symmetric(self) -> "Self":
        """Return a copy with the same rate in the other direction, unless that has its own."""
        back = self.backward
        if back.rate is not None or self.rate is None:
            return self
        rates: dict[str, Any] = {"rate": self.rate, "rate_steps": self.rate_steps}
        if self.trace is not None and self.trace.rate:
            own = back.trace or replace(self.trace, rtt=(), loss=(), buffer=())
            rates["trace"] = replace(own, rate=self.trace.rate, period=self.trace.period)
        default = DuplexLink.model_fields
        return self.model_copy(
            update={name: default[name].default for name in SHORT_FORMS}
            | {"reverse": back.model_copy(update=rates)}
        )

    def _over_time(self) -> tuple[str, ...]:
        return (*_OVER_TIME, "rtt")

    def problems(self) -> Iterator[Problem]:
        """Yield problems of keys that exclude each other in one of the directions."""
        yield from super().problems()
        for problem in self.backward.problems():
            yield problem.below("reverse")

    def _conflicts(self) -> Iterator[Problem]:
        yield from super()._conflicts()
        yield from self._conflicts_in_reverse()

    def _conflicts_in_reverse(self) -> Iterator[Problem]:
        """Yield problems of keys that both ``reverse`` and a short form give."""
        if self.reverse is None:
            return
        table, default = self.table(), _DEFAULT_DIRECTION
        for key in self._short_forms():
            if getattr(self.reverse, key) != getattr(default, key):
                short = f"reverse_{key}"
                yield Problem(short, table[short], f"no value, because reverse.{key} is given")

    def _short_forms(self) -> dict[str, Any]:
        """Return the values of reverse_rate, reverse_buffer and reverse_loss, if any."""
        given = {
            "rate": self.reverse_rate,
            "buffer": None if self.reverse_buffer == _WHOLE_BDP else self.reverse_buffer,
            "loss": self.reverse_loss or None,
        }
        return {key: value for key, value in given.items() if value is not None}


class Path(DuplexLink):
    """The path between the two hosts, seen from the sender of the data.

    The keys of ``path`` describe the direction of the data; ``reverse`` describes the other.

        >>> path = tc.Path(rate="100Mbps", rtt="40ms", loss="0.1%", buffer="1bdp", queue="codel")
        >>> path.rtt
        0.04
    """

    rate: Key[LinkRate, str] = Field(
        default=100e6,
        description="bottleneck rate in the direction of the data; with the rates of a trace: used "
        "only to size 1bdp (default: their mean)",
    )
    rtt: Key[Rtt, str] = Field(
        default=0.04,
        description="base round-trip time; each direction has half of it; with RTTs of a trace: "
        "used only to size 1bdp, and as the least flows.rtt (default: their mean)",
    )
    ip: Annotated[int, IP_VERSION] = Field(
        default=4,
        description="version of IP of all packets on the path, or on all links of a network: 4, or "
        "6, whose header has 20 bytes more; for packets inside tunnels, see tunnel.ip",
    )

    @model_validator(mode="after")
    def _check(self) -> "Self":
        # Whether the other direction has the same rate depends on the flows: see checks.problems().
        problems = list(self.symmetric().problems())
        if problems:
            raise ConfigError(*problems)
        return self

    def part(self, count: int) -> "Path":
        """Return one of ``count`` equal parts in a row that together lose as much."""
        changes: dict[str, Any] = {"rtt": self.rtt / count}
        for key in ("loss", "reverse_loss"):
            changes[key] = _part_of_loss(getattr(self, key), count)
        if self.reverse is not None:
            loss = _part_of_loss(self.reverse.loss, count)
            changes["reverse"] = self.reverse.model_copy(update={"loss": loss})
        return self.model_copy(update=changes)


def _part_of_loss(loss: float, count: int) -> float:
    """Return the loss of each of ``count`` parts in a row that together lose ``loss``."""
    return 1.0 - float((1 - loss) ** (1 / count))
