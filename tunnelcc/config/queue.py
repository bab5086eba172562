# SPDX-License-Identifier: GPL-2.0-only
"""Queue disciplines: one class for each, with its parameters and their defaults."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_serializer

from tunnelcc.errors import Problem
from tunnelcc.schema import BUFFER, POSITIVE_SHARE, SWITCH, Model, number, size, time, whole
from tunnelcc.schema.units import Buffer

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
        "drop-tail",
        description="drop-tail, or an active queue management that keeps the queue short "
        "within path.buffer",
    )


class Codel(Discipline):
    """CoDel; defaults of RFC 8289, section 4.4."""

    name: Literal["codel"] = "codel"
    target: Target = Field(0.005, description=_TARGET)
    interval: Interval = Field(
        0.1, description="time for which the delay may exceed target before drops start"
    )
    ecn: Annotated[bool, SWITCH] = Field(True, description=_ECN)


class FqCodel(Discipline):
    """FQ-CoDel; defaults of RFC 8290, section 5.2."""

    name: Literal["fq-codel"] = "fq-codel"
    target: Target = Field(0.005, description=_TARGET)
    interval: Interval = Field(
        0.1, description="time for which the delay may exceed target before drops start"
    )
    quantum: Annotated[int, size(64, 2**20)] = Field(
        1514, description="bytes that a queue sends in each round"
    )
    queues: Annotated[int, whole(1, 65536)] = Field(
        1024, description="number of queues; flows are hashed to them"
    )
    ecn: Annotated[bool, SWITCH] = Field(True, description=_ECN)


class Pie(Discipline):
    """PIE; defaults of RFC 8033, section 4."""

    name: Literal["pie"] = "pie"
    target: Target = Field(0.015, description=_TARGET)
    interval: Interval = Field(
        0.015, description="interval between updates of the drop probability"
    )
    alpha: Weight = Field(0.125, description="weight of the distance from target, per second")
    beta: Weight = Field(1.25, description="weight of the change of the delay, per second")
    burst: Annotated[float, time(1e-6, 60, at_zero=True)] = Field(
        0.15, description="length of a burst after an idle time that passes without drops"
    )
    ecn: Annotated[bool, SWITCH] = Field(True, description=_ECN)


class DualPi2(Discipline):
    """DualPI2, two coupled queues for L4S; RFC 9332, defaults of Linux 6.17."""

    name: Literal["dualpi2"] = "dualpi2"
    target: Target = Field(0.015, description=_TARGET)
    interval: Interval = Field(
        0.016, description="interval between updates of the drop probability"
    )
    alpha: Weight = Field(0.16, description="weight of the distance from target, per second")
    beta: Weight = Field(3.2, description="weight of the change of the delay, per second")
    step: Annotated[float, time(1e-6, 60)] = Field(
        0.001, description="waiting time in the low-latency queue above which packets are marked"
    )
    coupling: Annotated[float, number(0.1, 100)] = Field(
        2, description="marks in the low-latency queue / root of the drops in the classic one"
    )
    classic_share: Annotated[float, POSITIVE_SHARE] = Field(
        0.1, description="share of the link that the classic queue has at least"
    )


class Red(Discipline):
    """RED; defaults of Floyd, "RED: Discussions of Setting Parameters" (1997).

    ``gentle`` is from Floyd, "Recommendation on using the gentle_ variant of RED" (2000).
    """

    name: Literal["red"] = "red"
    min_threshold: Threshold = Field(
        Buffer(packets=5), description="average queue length at which drops start"
    )
    max_threshold: Threshold = Field(
        Buffer(packets=15),
        description="average queue length at which the drop probability is max_probability",
    )
    max_probability: Annotated[float, POSITIVE_SHARE] = Field(
        0.1, description="drop probability at max_threshold"
    )
    weight: Annotated[float, number(0, 1, above=True)] = Field(
        0.002, description="weight of each arrival in the average queue length"
    )
    gentle: Annotated[bool, SWITCH] = Field(
        True,
        description="true: the drop probability rises to 1 between max_threshold and "
        "twice max_threshold; false: it is 1 above max_threshold",
    )
    ecn: Annotated[bool, SWITCH] = Field(True, description=_ECN)

    def problems(self, bytes_of: Callable[[Buffer], int]) -> Iterator[Problem]:
        """Yield a problem if the thresholds are in the wrong order."""
        if not 0 < bytes_of(self.min_threshold) < bytes_of(self.max_threshold):
            expected = f"less than max_threshold ({self.max_threshold})"
            yield Problem("min_threshold", str(self.min_threshold), expected)


def _named(data: Any) -> Any:
    return {"name": data} if isinstance(data, str) else data


#: A discipline by name, or a table of its name and the parameters that differ.
Queue = Annotated[
    Annotated[DropTail | Codel | FqCodel | Pie | DualPi2 | Red, Field(discriminator="name")],
    BeforeValidator(_named),
]
