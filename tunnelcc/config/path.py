# SPDX-License-Identifier: GPL-2.0-only
"""What lies between the two hosts, and what a link does to packets in either direction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, model_validator

from tunnelcc.catalog.packets import LEAST_MTU, MOST_MTU
from tunnelcc.config.queue import DropTail, Queue
from tunnelcc.config.traces import TRACE, RateTrace, parse_trace
from tunnelcc.config.values import LinkRate, Probability, QueueRoom, Rtt, Switch, Timer
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.schema import POSITIVE_SHARE, RATE_STEPS, SHARE, Model, choice, size, time, whole
from tunnelcc.schema.units import Buffer, UnitError, format_probability, format_rate

if TYPE_CHECKING:
    from typing_extensions import Self

# Preamble 8, header 14, FCS 4, gap 12 (IEEE 802.3).
_ETHERNET_FRAMING = 38

_WHOLE_BDP = Buffer(bdp=1.0)

#: Keys of a link that mean the same as those of its reverse.
SHORT_FORMS = ("reverse_rate", "reverse_buffer", "reverse_loss")


class GilbertElliott(Model):
    """Loss in bursts, by two states: good and bad. The letters are those of netem's gemodel."""

    p: Annotated[float, POSITIVE_SHARE] = Field(
        description="probability that a packet in the good state is the last before the bad one"
    )
    r: Annotated[float, POSITIVE_SHARE] = Field(
        description="probability that a packet in the bad state is the last before the good one: "
        "bad states last 1/r packets in the mean"
    )
    h: Annotated[float, SHARE] = Field(
        0.0, description="share of the packets in the bad state that arrive"
    )
    k: Annotated[float, SHARE] = Field(
        1.0, description="share of the packets in the good state that arrive"
    )

    @model_validator(mode="after")
    def _check(self) -> GilbertElliott:
        if self.h == self.k == 1:
            raise ConfigError(
                Problem("h", "100%", "less than 100% where k is 100%: nothing is lost")
            )
        return self


class Policer(Model):
    """A token bucket in one direction: it drops what exceeds it and delays nothing."""

    rate: LinkRate = Field(description="rate at which tokens come, in bytes as path.rate counts")
    burst: Annotated[int, size(64, 2**30)] = Field(
        65536, description="bytes that pass at once when nothing did before"
    )
    position: Annotated[str, choice("before", "after")] = Field(
        "before", description="in front of the bottleneck's queue, or behind the bottleneck"
    )


class LinkDirection(Model):
    """What a link does to the packets of one direction."""

    rate: LinkRate | None = Field(
        None,
        description="rate of the link; not given: not limited, and nothing waits; with rate_trace, "
        "what 1bdp is measured with, else the trace's mean",
    )
    rate_steps: Annotated[tuple[tuple[float, float], ...], RATE_STEPS] = Field(
        (), description="later rates: when, and what"
    )
    rate_trace: Annotated[RateTrace, TRACE] | None = Field(
        None, description="rates from a file: .csv, or a mahimahi trace, which repeats"
    )
    loss: Probability = Field(0.0, description="random loss of packets, independent")
    buffer: QueueRoom = Field(
        Buffer(bdp=1.0),
        description="most that waits before the bottleneck, packet in service not counted; "
        "1bdp = rate * rtt",
    )
    queue: Queue = Field(
        default_factory=DropTail, description="queue discipline before the bottleneck"
    )
    ecn_threshold: QueueRoom | None = Field(
        None,
        description="drop-tail queue above which packets of tcp.ecn and of ns3::TcpDctcp are "
        "marked; not given: never",
    )
    loss_pattern: Annotated[str, choice("random", "periodic")] = Field(
        "random",
        description="random: packets are lost independently of each other; periodic: one in every "
        "1/loss is, as response functions assume",
    )
    loss_position: Annotated[str, choice("after", "before")] = Field(
        "after", description="whether random loss acts after the bottleneck or before its queue"
    )
    gilbert_elliott: GilbertElliott | None = Field(
        None, description="loss in bursts, in place of loss"
    )
    policer: Policer | None = Field(None, description="token bucket")
    reorder: Probability = Field(0.0, description="packets that come reorder_delay late")
    reorder_delay: Timer = Field(
        0.01, description="how late they are; packets sent within that time overtake them"
    )
    jitter: Annotated[float, time(1e-6, 10, at_zero=True)] = Field(
        0.0, description="mean of a random delay of each packet, on top of the constant one"
    )
    jitter_distribution: Annotated[str, choice("uniform", "exponential", "half-normal")] = Field(
        "uniform", description="of that delay; uniform: from 0 to twice the mean"
    )
    jitter_reorders: Switch = Field(
        False,
        description="whether packets overtake each other; false: they wait for those before them",
    )

    @model_validator(mode="before")
    @classmethod
    def _mean_rate(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("rate_trace") is not None and "rate" not in data:
            try:
                mean = parse_trace(data["rate_trace"]).mean_rate
            except UnitError:
                return data  # told of where the key is read
            return {**data, "rate": format_rate(mean)}
        return data

    @model_validator(mode="after")
    def _check(self) -> LinkDirection:
        problems = list(self._conflicts())
        if problems:
            raise ConfigError(*problems)
        return self

    def with_keys(self, given: Mapping[str, Any]) -> Self:
        """Return the same with ``given`` keys, and without those that they exclude."""
        changes: dict[str, Any] = {}
        if "rate" in given or "rate_trace" in given:
            changes |= {"rate_steps": (), "rate_trace": None}
        if "rate_steps" in given:
            changes["rate_trace"] = None
        if "loss" in given or "gilbert_elliott" in given:
            changes |= {"loss": 0.0, "gilbert_elliott": None}
        if not isinstance(given.get("queue", self.queue), DropTail):
            changes["ecn_threshold"] = None
        return self.model_copy(update={**changes, **given})

    def _conflicts(self) -> Iterator[Problem]:
        """Tell of keys that exclude each other, whatever the rate."""
        if self.rate_trace is not None and self.rate_steps:
            yield Problem("rate_steps", len(self.rate_steps), "no steps with rate_trace")
        if self.gilbert_elliott is not None and self.loss > 0:
            loss = format_probability(self.loss)
            yield Problem("loss", loss, "no independent loss with gilbert_elliott")
        if self.ecn_threshold is not None and not isinstance(self.queue, DropTail):
            expected = f"no threshold with {self.queue.name}, which marks by itself"
            yield Problem("ecn_threshold", str(self.ecn_threshold), expected)

    def problems(self) -> Iterator[Problem]:
        """Tell of keys that exclude each other, or that need a rate where there is none."""
        yield from self._conflicts()
        if self.rate is not None:
            return
        expected = "no value without a rate, as nothing waits there"
        if self.rate_steps:
            yield Problem("rate_steps", len(self.rate_steps), "a rate, which they change")
        if not isinstance(self.queue, DropTail):
            yield Problem("queue", self.queue.name, expected)
        if self.ecn_threshold is not None:
            yield Problem("ecn_threshold", str(self.ecn_threshold), expected)


class DuplexLink(LinkDirection):
    """A link: its keys are those of its first direction, ``reverse`` has those of the other.

    ``reverse_rate``, ``reverse_buffer`` and ``reverse_loss`` mean what reverse.rate, .buffer and
    .loss do. The loss that ``reverse_loss`` sets is in the pattern and at the position of ``loss``.
    """

    rtt: Annotated[float, time(1e-6, 60, at_zero=True)] = Field(
        0.0, description="base round-trip time, half of it in each direction"
    )
    reverse: LinkDirection | None = Field(None, description="the other direction")
    reverse_rate: LinkRate | None = Field(
        None, description="rate in the other direction, short for reverse.rate"
    )
    reverse_buffer: QueueRoom = Field(
        _WHOLE_BDP,
        description="queue before reverse_rate, 1bdp = reverse_rate * rtt; not used without it; "
        "short for reverse.buffer",
    )
    reverse_loss: Probability = Field(
        0.0,
        description="random loss of packets in the other direction, independent; short for "
        "reverse.loss",
    )
    mtu: Annotated[int, whole(LEAST_MTU, MOST_MTU)] = Field(
        1500,
        description="most IP bytes of a packet: those of datagram tunnels are fragmented above it, "
        "those of TCP have no more than tcp.mss that fits",
    )
    framing: Annotated[str, choice("ip", "ethernet")] = Field(
        "ip",
        description="bytes the rate counts: ip packets, or ethernet frames with preamble and gap "
        "(38 bytes more each)",
    )

    @property
    def framing_bytes(self) -> int:
        """Bytes of a packet beyond IP that the rate and the queue count."""
        return _ETHERNET_FRAMING if self.framing == "ethernet" else 0

    @property
    def backward(self) -> LinkDirection:
        """What happens in the other direction, whether ``reverse`` says it or its short forms."""
        default = LinkDirection()
        direction = default if self.reverse is None else self.reverse
        changes = self._short_forms()
        if self.reverse is None or self.reverse_loss:
            changes |= {
                key: getattr(self, key)
                for key in ("loss_pattern", "loss_position")
                if getattr(direction, key) == getattr(default, key)
            }
        return direction.model_copy(update=changes)

    def symmetric(self) -> Self:
        """Return the same with its rate in the other direction, too, unless that has its own."""
        back = self.backward
        if back.rate is not None or self.rate is None:
            return self
        rates = {name: getattr(self, name) for name in ("rate", "rate_steps", "rate_trace")}
        default = DuplexLink.model_fields
        return self.model_copy(
            update={name: default[name].default for name in SHORT_FORMS}
            | {"reverse": back.model_copy(update=rates)}
        )

    def problems(self) -> Iterator[Problem]:
        """Tell of keys that exclude each other in one direction or the other."""
        yield from super().problems()
        for problem in self.backward.problems():
            yield problem.below("reverse")

    def _conflicts(self) -> Iterator[Problem]:
        yield from super()._conflicts()
        yield from self._conflicts_in_reverse()

    def _conflicts_in_reverse(self) -> Iterator[Problem]:
        """Tell of what both ``reverse`` and a short form give."""
        if self.reverse is None:
            return
        table, default = self.table(), LinkDirection()
        for key in self._short_forms():
            if getattr(self.reverse, key) != getattr(default, key):
                short = f"reverse_{key}"
                yield Problem(short, table[short], f"no value beside reverse.{key}")

    def _short_forms(self) -> dict[str, Any]:
        """Return what reverse_rate, reverse_buffer and reverse_loss say, if anything."""
        given = {
            "rate": self.reverse_rate,
            "buffer": None if self.reverse_buffer == _WHOLE_BDP else self.reverse_buffer,
            "loss": self.reverse_loss or None,
        }
        return {key: value for key, value in given.items() if value is not None}


class Path(DuplexLink):
    """What lies between the two hosts, seen from the sender of the data.

    The keys of ``path`` itself are those of the direction of the data.
    """

    rate: LinkRate = Field(
        100e6,
        description="bottleneck rate in the direction of the data; with rate_trace, what 1bdp is "
        "measured with, else the trace's mean",
    )
    rtt: Rtt = Field(0.04, description="base round-trip time, half of it in each direction")

    @model_validator(mode="after")
    def _check_both(self) -> Path:
        problems = list(self.problems())
        if problems:
            raise ConfigError(*problems)
        return self

    def part(self, count: int) -> Path:
        """Return one of ``count`` equal parts in a row that lose as much together."""
        changes: dict[str, Any] = {"rtt": self.rtt / count}
        for key in ("loss", "reverse_loss"):
            changes[key] = _part_of_loss(getattr(self, key), count)
        if self.reverse is not None:
            loss = _part_of_loss(self.reverse.loss, count)
            changes["reverse"] = self.reverse.model_copy(update={"loss": loss})
        return self.model_copy(update=changes)


def _part_of_loss(loss: float, count: int) -> float:
    """Return the loss of each of ``count`` parts in a row that lose ``loss`` together."""
    return 1.0 - float((1 - loss) ** (1 / count))
