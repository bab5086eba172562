# SPDX-License-Identifier: GPL-2.0-only
"""Queue disciplines by name, with the parameters that each has."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_serializer, model_validator

from tunnelcc.errors import ConfigError, Problem
from tunnelcc.schema import (
    BUFFER,
    POSITIVE_SHARE,
    SWITCH,
    Model,
    choice,
    number,
    size,
    time,
    whole,
)
from tunnelcc.schema.units import Buffer

#: Discipline → its parameters and their defaults, in SI units.
DISCIPLINES: dict[str, dict[str, Any]] = {
    "drop-tail": {},
    # RFC 8289, section 4.4
    "codel": {"target": 0.005, "interval": 0.1, "ecn": True},
    # RFC 8290, section 5.2
    "fq-codel": {
        "target": 0.005,
        "interval": 0.1,
        "quantum": 1514,
        "queues": 1024,
        "ecn": True,
    },
    # RFC 8033, section 4
    "pie": {
        "target": 0.015,
        "interval": 0.015,
        "alpha": 0.125,
        "beta": 1.25,
        "burst": 0.15,
        "ecn": True,
    },
    # Floyd, "RED: Discussions of Setting Parameters" (1997) and "Recommendation on using the
    # gentle_ variant of RED" (2000)
    "red": {
        "min_threshold": Buffer(packets=5),
        "max_threshold": Buffer(packets=15),
        "max_probability": 0.1,
        "weight": 0.002,
        "gentle": True,
        "ecn": True,
    },
}


class Queue(Model):
    """A discipline by name, or a table of its name and the parameters that differ."""

    name: Annotated[str, choice(*DISCIPLINES)] = Field(
        description="drop-tail, or a discipline that keeps the queue short within path.buffer"
    )
    target: Annotated[float, time(1e-6, 60)] | None = Field(
        None, description="waiting time to aim at; codel and fq-codel: 5ms; pie: 15ms"
    )
    interval: Annotated[float, time(1e-4, 60)] | None = Field(
        None,
        description="codel, fq-codel: how long target may be exceeded, 100ms; pie: time between "
        "updates of its probability, 15ms",
    )
    quantum: Annotated[int, size(64, 2**20)] | None = Field(
        None, description="fq-codel: bytes that each queue sends in its turn, 1514B"
    )
    queues: Annotated[int, whole(1, 65536)] | None = Field(
        None, description="fq-codel: queues, onto which flows are hashed, 1024"
    )
    alpha: Annotated[float, number(0, 100)] | None = Field(
        None, description="pie: weight of the distance from target, per second, 0.125"
    )
    beta: Annotated[float, number(0, 100)] | None = Field(
        None, description="pie: weight of the change of the waiting time, per second, 1.25"
    )
    burst: Annotated[float, time(1e-6, 60, at_zero=True)] | None = Field(
        None, description="pie: how long a burst after calm goes without drops, 150ms"
    )
    min_threshold: Annotated[Buffer, BUFFER] | None = Field(
        None, description="red: average queue from which packets are dropped, 5p"
    )
    max_threshold: Annotated[Buffer, BUFFER] | None = Field(
        None, description="red: average queue at which max_probability is reached, 15p"
    )
    max_probability: Annotated[float, POSITIVE_SHARE] | None = Field(
        None, description="red: probability of a drop at max_threshold, 10%"
    )
    weight: Annotated[float, number(0, 1, above=True)] | None = Field(
        None, description="red: weight of each arrival in the average queue, 0.002"
    )
    gentle: Annotated[bool, SWITCH] | None = Field(
        None,
        description="red: drops become certain at twice max_threshold, not at it; true",
    )
    ecn: Annotated[bool, SWITCH] | None = Field(
        None,
        description="all but drop-tail: packets of tcp.ecn are marked instead of dropped, true",
    )

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        return {"name": data} if isinstance(data, str) else data

    @model_validator(mode="after")
    def _check(self) -> Queue:
        problems = [
            Problem(key, value, f"no value with {self.name}, {_parameters(self.name)}")
            for key, value in self
            if key != "name" and value is not None and key not in DISCIPLINES[self.name]
        ]
        if problems:
            raise ConfigError(*problems)
        return self

    @model_serializer(mode="wrap")
    def _write(self, write: Any) -> Any:
        table = {key: value for key, value in write(self).items() if value is not None}
        return table if len(table) > 1 else self.name

    def value(self, parameter: str) -> Any:
        """Return what ``parameter`` is, given or by default; None if the discipline lacks it."""
        given = getattr(self, parameter)
        return DISCIPLINES[self.name].get(parameter) if given is None else given


def _parameters(name: str) -> str:
    names = ", ".join(DISCIPLINES[name])
    return f"whose parameters are {names}" if names else "which has no parameters"
