# SPDX-License-Identifier: GPL-2.0-only
"""Queue disciplines: one class for each, with its parameters and their defaults."""

from collections.abc import Callable, Iterator
from math import ceil
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, model_serializer

from tunnelcc.config.values import LinkRate
from tunnelcc.errors import Problem, nearest
from tunnelcc.schema import (
    BUFFER,
    POSITIVE_SHARE,
    SWITCH,
    Field,
    Key,
    Kind,
    Model,
    choice,
    number,
    size,
    time,
    whole,
)
from tunnelcc.schema.units import Buffer, UnitError

Interval = Annotated[float, time(1e-4, 60)]
Target = Annotated[float, time(1e-6, 60)]
Threshold = Annotated[Buffer, BUFFER]
Weight = Annotated[float, number(0, 100)]

_ECN = "whether packets of tcp.ecn are marked instead of dropped"
_TARGET = "target of the waiting time"


class Discipline(Model):
    """A queue discipline: it accepts or drops packets, and selects the next one to send."""

    name: str

    @model_serializer(mode="wrap")
    def _write(self, write: Any) -> Any:
        """Return the name, or a table with the parameters that differ from their defaults."""
        fields = type(self).model_fields
        changed = {
            key: value
            for key, value in write(self).items()
            if key != "name" and getattr(self, key) != fields[key].default
        }
        return {"name": self.name, **changed} if changed else self.name

    def problems(self, bytes_of: Callable[[Buffer], int]) -> Iterator[Problem]:
        """Yield problems of parameters that disagree. ``bytes_of``: queue length to bytes."""
        yield from ()


class DropTail(Discipline):
    """First in, first out. A full queue drops arriving packets."""

    name: Literal["drop-tail"] = Field(
        default="drop-tail",
        description="drop-tail, or an active queue management that keeps the queue short "
        "within path.buffer",
    )


class Codel(Discipline):
    """CoDel; defaults of RFC 8289, section 4.4."""

    name: Literal["codel"] = "codel"
    target: Key[Target, str] = Field(default=0.005, description=_TARGET)
    interval: Key[Interval, str] = Field(
        default=0.1, description="time for which the delay may exceed target before drops start"
    )
    ecn: Annotated[bool, SWITCH] = Field(default=True, description=_ECN)


class FqCodel(Discipline):
    """FQ-CoDel; defaults of RFC 8290, section 5.2."""

    name: Literal["fq-codel"] = "fq-codel"
    target: Key[Target, str] = Field(default=0.005, description=_TARGET)
    interval: Key[Interval, str] = Field(
        default=0.1, description="time for which the delay may exceed target before drops start"
    )
    quantum: Key[Annotated[int, size(64, 2**20)], int | str] = Field(
        default=1514, description="bytes that a queue sends in each round"
    )
    queues: Annotated[int, whole(1, 65536)] = Field(
        default=1024, description="number of queues; flows are hashed to them"
    )
    ecn: Annotated[bool, SWITCH] = Field(default=True, description=_ECN)


class Pie(Discipline):
    """PIE; RFC 8033, as Linux has it, and its defaults: 15 ms in ticks of 4 ms are 16."""

    name: Literal["pie"] = "pie"
    target: Key[Target, str] = Field(default=0.015, description=_TARGET)
    interval: Key[Interval, str] = Field(
        default=0.016, description="interval between updates of the drop probability"
    )
    alpha: Weight = Field(
        default=0.125, description="weight of the distance from target, per second"
    )
    beta: Weight = Field(default=1.25, description="weight of the change of the delay, per second")
    burst: Key[Annotated[float, time(1e-6, 60, at_zero=True)], str] = Field(
        default=0.15, description="length of a burst after an idle time that passes without drops"
    )
    ecn: Annotated[bool, SWITCH] = Field(default=True, description=_ECN)


class DualPi2(Discipline):
    """DualPI2, two coupled queues for L4S; RFC 9332, defaults of Linux 6.17."""

    name: Literal["dualpi2"] = "dualpi2"
    target: Key[Target, str] = Field(default=0.015, description=_TARGET)
    interval: Key[Interval, str] = Field(
        default=0.016, description="interval between updates of the drop probability"
    )
    alpha: Weight = Field(
        default=0.16, description="weight of the distance from target, per second"
    )
    beta: Weight = Field(default=3.2, description="weight of the change of the delay, per second")
    step: Key[Annotated[float, time(1e-6, 60)], str] = Field(
        default=0.001,
        description="waiting time in the low-latency queue above which packets are marked",
    )
    coupling: Annotated[float, number(0.1, 100)] = Field(
        default=2,
        description="marks in the low-latency queue / root of the drops in the classic one",
    )
    classic_share: Key[Annotated[float, POSITIVE_SHARE], float | str] = Field(
        default=0.1, description="share of the link that the classic queue has at least"
    )


class Red(Discipline):
    """RED; defaults of Floyd, "RED: Discussions of Setting Parameters" (1997).

    ``gentle`` is from Floyd, "Recommendation on using the gentle_ variant of RED" (2000).
    """

    name: Literal["red"] = "red"
    min_threshold: Key[Threshold, Buffer | int | str] = Field(
        default=Buffer(packets=5), description="average queue length at which drops start"
    )
    max_threshold: Key[Threshold, Buffer | int | str] = Field(
        default=Buffer(packets=15),
        description="average queue length at which the drop probability is max_probability",
    )
    max_probability: Key[Annotated[float, POSITIVE_SHARE], float | str] = Field(
        default=0.1, description="drop probability at max_threshold"
    )
    weight: Annotated[float, number(0, 1, above=True)] = Field(
        default=0.002, description="weight of each arrival in the average queue length"
    )
    gentle: Annotated[bool, SWITCH] = Field(
        default=True,
        description="true: the drop probability rises to 1 between max_threshold and "
        "twice max_threshold; false: it is 1 above max_threshold",
    )
    ecn: Annotated[bool, SWITCH] = Field(default=True, description=_ECN)

    def problems(self, bytes_of: Callable[[Buffer], int]) -> Iterator[Problem]:
        """Yield a problem if the thresholds are in the wrong order."""
        if not 0 < bytes_of(self.min_threshold) < bytes_of(self.max_threshold):
            expected = f"less than max_threshold ({self.max_threshold})"
            yield Problem("min_threshold", str(self.min_threshold), expected)


#: Keyword of tc-cake(8) → bytes that the link adds to an IP packet, the least size, and its cells.
OVERHEADS = {
    # The kernel counts packets with Ethernet's header. sch_cake.c cake_calc_overhead() takes it off
    # for a stated overhead alone.
    "raw": (14, 0, "none"),
    "conservative": (48, 0, "atm"),
    "ethernet": (38, 84, "none"),
    "docsis": (18, 64, "none"),
    "pppoe-ptm": (30, 0, "ptm"),
    "bridged-ptm": (22, 0, "ptm"),
    "pppoa-vcmux": (10, 0, "atm"),
    "pppoa-llc": (14, 0, "atm"),
    "pppoe-vcmux": (32, 0, "atm"),
    "pppoe-llcsnap": (40, 0, "atm"),
    "bridged-vcmux": (24, 0, "atm"),
    "bridged-llcsnap": (32, 0, "atm"),
    "ipoa-vcmux": (8, 0, "atm"),
    "ipoa-llcsnap": (16, 0, "atm"),
}

_OVERHEAD_BYTES = size(0, 256)
_OVERHEAD_EXPECTED = f"one of {', '.join(OVERHEADS)}, or {_OVERHEAD_BYTES.expected}"


def _parse_overhead(value: object) -> str | int:
    if isinstance(value, str) and value in OVERHEADS:
        return value
    try:
        return int(_OVERHEAD_BYTES.parse(value))
    except UnitError as error:
        near = nearest(value, OVERHEADS) if isinstance(value, str) else ""
        raise UnitError(_OVERHEAD_EXPECTED, near or error.hint) from None


_OVERHEAD = Kind(
    _parse_overhead,
    lambda value: value if isinstance(value, str) else _OVERHEAD_BYTES.format(value),
    _OVERHEAD_EXPECTED,
    "byte",
)


class Cake(Discipline):
    """CAKE with one tin, as ``besteffort``; defaults of tc-cake(8)."""

    name: Literal["cake"] = "cake"
    bandwidth: Key[LinkRate | None, str | None] = Field(
        default=None,
        description="rate of the shaper: a little less than that of the slowest link behind it, so "
        "that packets wait here; default: no shaper, so that the link's own rate counts",
    )
    overhead: Annotated[str | int, _OVERHEAD] = Field(
        default="raw",
        description="what the shaper adds to each IP packet, as the slowest link does: a keyword "
        "of tc-cake(8), or bytes",
    )
    mpu: Key[Annotated[int, size(0, 256, at_zero=True)] | None, int | str | None] = Field(
        default=None,
        description="least size of a packet in the shaper, with the overhead; default: that of the "
        "keyword, 84 bytes of ethernet, 64 of docsis",
    )
    cells: Annotated[str, choice("none", "atm", "ptm")] | None = Field(
        default=None,
        description="how the slowest link divides packets; atm: cells of 53 bytes with 48 bytes of "
        "a packet; ptm: one byte more for each 64; default: that of the overhead's keyword",
    )
    rtt: Key[Annotated[float, time(1e-6, 60)], str] = Field(
        default=0.1,
        description="RTT of usual flows: for so long the delay may exceed the target, which is a "
        "twentieth of it or 1.5 packets at bandwidth, before drops start",
    )
    isolation: Annotated[
        str,
        choice(
            "flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost",
            "triple-isolate",
        ),
    ] = Field(
        default="triple-isolate",
        description="between whom the link is shared; flows: flows; srchost, dsthost, hosts: "
        "hosts that send, hosts that receive, pairs of them; dual-srchost, dual-dsthost, "
        "triple-isolate (both): first hosts, then their flows; flowblind: nobody. Without a "
        "network all flows are between the same two hosts",
    )  # fmt: skip
    ack_filter: Annotated[str, choice("none", "normal", "aggressive")] = Field(
        default="none",
        description="whether waiting ACKs of TCP are dropped where later ones say as much; normal: "
        "all but one; aggressive: all",
    )
    ingress: Annotated[bool, SWITCH] = Field(
        default=False,
        description="whether the shaper counts dropped packets, too, because they have crossed the "
        "slowest link already",
    )

    @property
    def counted(self) -> tuple[int, int, str]:
        """Bytes that the shaper adds to a packet, the least size, and the cells."""
        known = isinstance(self.overhead, str)
        overhead, least, cells = OVERHEADS[str(self.overhead)] if known else (0, 0, "none")
        return (
            overhead if known else int(self.overhead),
            least if self.mpu is None else self.mpu,
            cells if self.cells is None else self.cells,
        )

    def shaped_bytes(self, packet: float) -> float:
        """Return what the shaper counts for a packet of so many bytes of IP."""
        overhead, least, cells = self.counted
        total = max(packet + overhead, least)
        if cells == "atm":
            return 53 * ceil(total / 48)
        return total + ceil(total / 64) if cells == "ptm" else total


def _named(data: Any) -> Any:
    return {"name": data} if isinstance(data, str) else data


#: A discipline by name, or a table of its name and the parameters that differ.
Queue = Annotated[
    Annotated[DropTail | Codel | FqCodel | Pie | DualPi2 | Red | Cake, Field(discriminator="name")],
    BeforeValidator(_named),
]
