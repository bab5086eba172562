# SPDX-License-Identifier: GPL-2.0-only
"""What lies between the two hosts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field, model_validator

from tunnelcc.catalog.packets import LEAST_MTU, MOST_MTU
from tunnelcc.config.queue import DropTail, Queue
from tunnelcc.config.traces import TRACE, RateTrace, parse_trace
from tunnelcc.config.values import LinkRate, Probability, QueueRoom, Rtt, Switch, Timer
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.schema import POSITIVE_SHARE, RATE_STEPS, SHARE, Model, choice, size, time, whole
from tunnelcc.schema.units import Buffer, UnitError, format_probability, format_rate

# Preamble 8, header 14, FCS 4, gap 12 (IEEE 802.3).
_ETHERNET_FRAMING = 38


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
    """A token bucket in the direction of the data: it drops what exceeds it and delays nothing."""

    rate: LinkRate = Field(description="rate at which tokens come, in bytes as path.rate counts")
    burst: Annotated[int, size(64, 2**30)] = Field(
        65536, description="bytes that pass at once when nothing did before"
    )
    position: Annotated[str, choice("before", "after")] = Field(
        "before", description="in front of the bottleneck's queue, or behind the bottleneck"
    )


class Path(Model):
    """What lies between the two hosts, seen from the sender of the data."""

    rate: LinkRate = Field(
        100e6,
        description="bottleneck rate in the direction of the data; with rate_trace, what 1bdp is "
        "measured with, else the trace's mean",
    )
    rate_steps: Annotated[tuple[tuple[float, float], ...], RATE_STEPS] = Field(
        (), description="later rates in that direction: when, and what"
    )
    rate_trace: Annotated[RateTrace, TRACE] | None = Field(
        None,
        description="rates in that direction from a file: .csv, or a mahimahi trace, which repeats",
    )
    rtt: Rtt = Field(0.04, description="base round-trip time, half of it in each direction")
    loss: Probability = Field(
        0.0, description="random loss of packets in the direction of the data, independent"
    )
    buffer: QueueRoom = Field(
        Buffer(bdp=1.0),
        description="most that waits before the bottleneck, packet in service not counted; "
        "1bdp = rate * rtt",
    )
    queue: Queue = Field(
        default_factory=DropTail, description="queue discipline before the bottleneck"
    )
    reverse_rate: LinkRate | None = Field(
        None, description="rate in the direction of the ACKs; not given: not limited"
    )
    reverse_buffer: QueueRoom = Field(
        Buffer(bdp=1.0),
        description="queue before reverse_rate, 1bdp = reverse_rate * rtt; not used without it",
    )
    reverse_loss: Probability = Field(
        0.0, description="random loss of packets in the direction of the ACKs, independent"
    )
    ecn_threshold: QueueRoom | None = Field(
        None,
        description="drop-tail queue above which packets of tcp.ecn and of ns3::TcpDctcp are "
        "marked; not given: never",
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
    loss_pattern: Annotated[str, choice("random", "periodic")] = Field(
        "random",
        description="random: packets are lost independently of each other; periodic: one in every "
        "1/loss is, as response functions assume",
    )
    loss_position: Annotated[str, choice("after", "before")] = Field(
        "after", description="whether random loss acts after the bottleneck or before its queue"
    )
    gilbert_elliott: GilbertElliott | None = Field(
        None, description="loss in bursts in the direction of the data, in place of loss"
    )
    policer: Policer | None = Field(None, description="token bucket in the direction of the data")
    reorder: Probability = Field(
        0.0, description="packets in the direction of the data that come reorder_delay late"
    )
    reorder_delay: Timer = Field(
        0.01, description="how late they are; packets sent within that time overtake them"
    )
    jitter: Annotated[float, time(1e-6, 10, at_zero=True)] = Field(
        0.0,
        description="mean of a random delay of each packet in the direction of the data, on top of "
        "the constant one",
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
    def _check(self) -> Path:
        problems = list(self._conflicts())
        if problems:
            raise ConfigError(*problems)
        return self

    @property
    def framing_bytes(self) -> int:
        """Bytes of a packet beyond IP that the rate and the queue count."""
        return _ETHERNET_FRAMING if self.framing == "ethernet" else 0

    def part(self, count: int) -> Path:
        """Return one of ``count`` equal parts in a row that lose as much together."""
        losses = {
            name: 1 - (1 - getattr(self, name)) ** (1 / count) for name in ("loss", "reverse_loss")
        }
        return self.model_copy(update={"rtt": self.rtt / count, **losses})

    def _conflicts(self) -> Iterator[Problem]:
        if self.rate_trace is not None and self.rate_steps:
            yield Problem("rate_steps", len(self.rate_steps), "no steps with rate_trace")
        if self.gilbert_elliott is not None and self.loss > 0:
            loss = format_probability(self.loss)
            yield Problem("loss", loss, "no independent loss with gilbert_elliott")
        if self.ecn_threshold is not None and not isinstance(self.queue, DropTail):
            expected = f"no threshold with {self.queue.name}, which marks by itself"
            yield Problem("ecn_threshold", str(self.ecn_threshold), expected)
