# SPDX-License-Identifier: GPL-2.0-only
"""What an analysis returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple


class Quantity(NamedTuple):
    """An amount in SI units: s, bit/s, byte, packet, segment, speed, or 1 for a part.

    ``most``: the largest amount of one that changes; ``amount`` is then the least.
    """

    amount: float
    unit: str
    most: float | None = None


class Key(NamedTuple):
    """What changes a limit. ``relaxed``: a value with which a paired run would tell whether it is
    the limit, in a scenario's form; None: none is known. ``place``: experiment; entry, if only the
    tunnel's file has it; or model.
    """

    path: str
    relaxed: Any = None
    place: str = "experiment"


class Where(NamedTuple):
    """Where a limit is. ``leg``: the connection; ``hop``: the same, if it is one of a chain;
    ``host``; ``kernel``: its version, if that is why; ``program``: the tunnel, or what its carriers
    multiplex with, "" for the application; ``cc``: the congestion control, and ``is_inside``: of a
    connection in a tunnel.
    """

    leg: str = ""
    hop: str = ""
    host: str = ""
    kernel: str = ""
    program: str = ""
    cc: str = ""
    is_inside: bool = False


class Evidence(NamedTuple):
    """``held``: what the sender waited for, of ``metrics.limits.LIMITS``, for a ``share`` of the
    flow's time.
    """

    held: str
    share: float


class Cause(NamedTuple):
    """What limited a flow.

    ``limit``: a name of ``metrics.limits.LIMITS``, or ``link``, ``queue``, ``policer``,
    ``device_queue``, ``socket_queue``, ``random_loss``. ``thing``: which one, of
    ``words.causes.THINGS``. ``value``: its amount, or what it is set to; None: it has none.
    ``keys``: those that change it, all together.
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


class Estimate(NamedTuple):
    """A number that a measurement has told, with its least and largest amount.

    ``is_told``: by the measurement; otherwise the ``reason`` has what would.
    """

    quantity: Quantity
    interval: tuple[float, float]
    is_told: bool
    reason: Reason

    @property
    def value(self) -> float:
        """Its amount."""
        return self.quantity.amount


class Worth(NamedTuple):
    """What counts for the flows of an entry: ``metric``, whose ``value`` is better if it is larger.

    ``goodput`` (bit/s) of flows that go on; ``completion`` of those that end, 1 / mean time (1/s);
    of datagrams ``mos`` of a call, ``loss``, 1 / (share + 0.5 %), or ``delay``, 1 / p95 (1/s).
    ``shown``: what tables show of it, in SI units. ``resent``: share of packets sent again.
    """

    metric: str
    value: float
    shown: float
    resent: float = 0.0


class Confirmed(NamedTuple):
    """Keys whose relaxed values give more: ``changes``, a scenario.relax.Change for each, together.

    ``gain``: 0.2 is 20 % more, the median of so many ``seeds``. ``before`` and ``after``: the worth
    without and with them, in the run's own seed.
    """

    changes: tuple[Any, ...]
    gain: float
    seeds: int
    before: Worth
    after: Worth


class Finding(NamedTuple):
    """What limits the flows of an entry of ``flows``: ``found``, what gains most first.

    ``lower``: a rate that is set, whose lower value loses fewer packets and costs no goodput.
    ``gains``: what each change gained alone, by its name, with the run's seed; ``known``: the
    changes by these names. ``is_slow_start``: flows end before anything else limits them.
    """

    entry: int
    worth: Worth
    found: tuple[Confirmed, ...]
    lower: Confirmed | None
    gains: Mapping[str, float]
    known: Mapping[str, Any]
    is_slow_start: bool

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record for JSON of each limit. ``gain``: a part, in the metric's own sense."""
        lower = [self.lower] if self.lower else []
        same = {"entry": self.entry, "metric": self.worth.metric}
        for it in (*self.found, *lower):
            yield {
                **same, "keys": [change.key for change in it.changes],
                "from": [str(change.before) for change in it.changes],
                "to": [str(change.after) for change in it.changes], "gain": it.gain,
                "seeds": it.seeds, "slow_start": False,
            }  # fmt: skip
        if self.is_slow_start:
            yield {**same, "keys": [], "slow_start": True}
