# SPDX-License-Identifier: GPL-2.0-only
"""What an analysis returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Quantity:
    """An amount in SI units: s, bit/s, byte, packet, segment, speed, or 1 for a part.

    ``most``: the largest amount of one that changes; ``amount`` is then the least.
    """

    amount: float
    unit: str
    most: float | None = None


@dataclass(frozen=True)
class Key:
    """A number that changes what limits a flow.

    ``path``: its key. ``relaxed``: a value of the key with which a paired run would tell whether it
    is the limit, in the form that a scenario has; None: no such value is known. ``place``:
    experiment; entry, if only the tunnel's file has it; or model, if none has.
    """

    path: str
    relaxed: Any = None
    place: str = "experiment"


@dataclass(frozen=True)
class Where:
    """Where a limit is; "": it is of no such thing.

    ``leg``: the connection; ``hop``: the same, if it is one of a chain's hops; ``host``;
    ``kernel``: its version, if that is the reason; ``program``: the name of the tunnel, of what its
    carriers multiplex with, or none for the application; ``cc``: the congestion control, and
    ``is_inside``: of a connection in a tunnel.
    """

    leg: str = ""
    hop: str = ""
    host: str = ""
    kernel: str = ""
    program: str = ""
    cc: str = ""
    is_inside: bool = False


@dataclass(frozen=True)
class Evidence:
    """``held``: what the sender waited for, of ``metrics.limits.LIMITS``; ``share``: for which part
    of the flow's time.
    """

    held: str
    share: float


@dataclass(frozen=True)
class Cause:
    """What limited a flow.

    ``limit``: a name of ``metrics.limits.LIMITS``, or ``link``, ``queue``, ``policer``,
    ``device_queue``, ``socket_queue``, ``random_loss``. ``thing``: which of the things with this
    limit, a name of ``words.causes.THINGS``. ``value``: its amount, or what it is set to; None: it
    has none. ``keys``: those that change it, all together.
    """

    limit: str
    thing: str
    evidence: Evidence
    value: Quantity | str | None
    keys: tuple[Key, ...]
    where: Where


class Reason(NamedTuple):
    """Why an estimate is as it is, or what would tell more: a name of ``words.fits.REASONS``.

    ``limit``: what limited the flows, if that is why; ``queue``: what dropped packets.
    """

    name: str
    limit: str = ""
    queue: str = ""


@dataclass(frozen=True)
class Estimate:
    """A number that a measurement has told, or not.

    ``interval``: its least and its largest amount. ``is_told``: the measurement tells it; otherwise
    the ``reason`` has what would.
    """

    quantity: Quantity
    interval: tuple[float, float]
    is_told: bool
    reason: Reason

    @property
    def value(self) -> float:
        """Its amount."""
        return self.quantity.amount
