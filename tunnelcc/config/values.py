# SPDX-License-Identifier: GPL-2.0-only
"""Kinds of values that several tables use: units, range and stored type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from tunnelcc.schema import BUFFER, GONE, MORE, PROBABILITY, SWITCH, rate, time
from tunnelcc.schema.units import Buffer

LinkRate = Annotated[float, rate(1e3, 400e9), MORE]
Rtt = Annotated[float, time(1e-6, 60)]
Moment = Annotated[float, time(0, 100_000)]
Timer = Annotated[float, time(1e-6, 60)]
Probability = Annotated[float, PROBABILITY, GONE]
QueueRoom = Annotated[Buffer, BUFFER, MORE]
Switch = Annotated[bool, SWITCH]

#: Values over time as they are given: times and values, both text with units or numbers.
GivenSteps = Sequence[Sequence[str | int | float]]
