# SPDX-License-Identifier: GPL-2.0-only
"""The base of congestion controls that are classes of Python."""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import random
import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any, ClassVar, Protocol

from tunnelcc.errors import ConfigError
from tunnelcc.modules.source import DIGEST_BYTES, LOADED, read

#: Attributes that are no parameters, whatever their values are.
_SETTINGS = ("owns_window", "needs_ecn")
#: ``interval`` as models/modules/tunnelcc.h has it.
_EVERY_RTT = -1.0


class State(Protocol):
    """A sender: what the algorithm sets, and what it reads.

    Windows and counts are in segments, times in seconds, rates in bit/s of payload. What is not
    known is NaN.
    """

    cwnd: float  # set: congestion window; the sender uses its whole part, 1 or more
    ssthresh: float  # set: slow start threshold; infinite before the first loss
    pacing_rate: float  # set: 0: segments are not paced

    now: float  # since the experiment began
    mss: float  # payload of a full segment, bytes
    in_flight: float  # sent, and neither delivered nor marked lost
    delivered: float  # since the connection began
    lost: float  # the same
    srtt: float  # smoothed RTT (RFC 6298)
    min_rtt: float  # least RTT of the connection
    is_cwnd_limited: bool  # the window, not the application, limits the sender
    is_recovering: bool  # losses or marks are being answered
    in_slow_start: bool  # cwnd is less than ssthresh

    def slow_start(self, acked: float) -> float:
        """Grow by the segments delivered, up to ssthresh; return those that are left."""
        ...


class Ack(Protocol):
    """What one ACK tells the sender. Each call gets the same object: copy what you keep."""

    acked: float  # segments newly delivered, by cumulative or selective ACK
    lost: float  # segments newly marked lost
    rtt: float  # of the latest segment delivered
    delivery_rate: float  # rate at which data were delivered, over about a round trip
    prior_in_flight: float  # in flight before the ACK
    is_app_limited: bool  # the application, not the network, limited delivery_rate
    is_marked: bool  # the receiver tells of an ECN mark
    is_new_round: bool  # the first ACK of a round trip


class Interval(Protocol):
    """What happened in a monitor interval."""

    duration: float
    acked: float  # segments delivered
    lost: float  # segments marked lost
    marked: float  # ACKs that tell of an ECN mark
    rate: float  # of what was delivered
    mean_rtt: float  # of the ACKs with an RTT
    min_rtt: float  # of the same


class CongestionControl:
    """A congestion control of your own. Derive from it, and give the class to a flow.

    The sender calls the methods; each connection has an object of its own. Attributes of the class
    that are numbers or switches are parameters, with these values as defaults:
    ``tc.Flow(cc=Mine)``, ``tc.Flow(cc=Mine(step=2))``, or
    ``cc = { name = "./mine.py", step = 2 }`` in a scenario.

    ``interval``: with None, ``on_ack()`` is called; with ``"rtt"`` or a time in seconds,
    ``on_interval()`` is.
    ``owns_window``: the sender leaves the window alone in recovery, and calls with every ACK.
    ``needs_ecn``: marks are asked for. ``self.random`` draws from the experiment's seed.

        >>> class Aimd(tc.CongestionControl):
        ...     step = 1.0
        ...     kept = 0.5
        ...
        ...     def on_ack(self, state, ack):
        ...         left = state.slow_start(ack.acked)
        ...         state.cwnd += self.step * left / state.cwnd
        ...
        ...     def on_loss(self, state):
        ...         state.cwnd *= self.kept
        >>> path = tc.Path(rate="10Mbps", rtt="20ms")
        >>> result = tc.run(tc.Experiment(path=path, flows=[tc.Flow(cc=Aimd(kept=0.8))]))
        >>> f"{result.goodput / 1e6:.1f} Mbit/s"
        '9.6 Mbit/s'
    """

    interval: float | str | None = None
    owns_window: bool = False
    needs_ecn: bool = False
    random: random.Random

    #: Hash of the file when the class was defined; "": it is in none.
    _code: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._code = code_of(cls)

    def __new__(cls, *_: Any, **__: Any) -> CongestionControl:
        """Refuse an object of the base itself."""
        if cls is CongestionControl:
            raise TypeError(
                "tc.CongestionControl is the base of classes of your own; an algorithm of tunnelcc "
                "is a name or a table: cc={'name': 'cubic', 'beta': 0.8}"
            )
        return super().__new__(cls)

    def __init__(self, **parameters: Any) -> None:
        for name, value in parameters.items():
            setattr(self, name, value)

    def on_start(self, state: State) -> None:
        """Begin: the connection is there, and has measured its first RTT."""

    def on_ack(self, state: State, ack: Ack) -> None:
        """Grow the window, or lower it: an ACK outside of recovery, or any with owns_window."""

    def on_interval(self, state: State, interval: Interval) -> None:
        """Do the same once an interval, at the first ACK after its end."""

    def on_loss(self, state: State) -> None:
        """Set the window to fall to: an episode of losses or ECN marks begins.

        The sender takes a round trip for that (RFC 9937); with owns_window it falls at once. The
        default is half of the window, and with owns_window nothing.
        """
        if not self.owns_window:
            state.cwnd /= 2

    def on_timeout(self, state: State) -> None:
        """Begin anew: all in flight counts as lost, and the window is 1. Comes after on_loss()."""

    @classmethod
    def _parameters(cls) -> list[tuple[str, bool | int | float]]:
        """Return names and defaults of the parameters, in the order of their definition."""
        return list(_plain_attributes(cls))

    def _configure(self, seed: int) -> tuple[float, bool, bool]:
        """Begin, once the parameters are set. Return interval, owns_window and needs_ecn."""
        values = dict(vars(self))
        self.random = random.Random(seed)
        self.__init__()  # type: ignore[misc]  # where it computes with parameters, it has them
        vars(self).update(values)
        interval = self.interval
        is_time = not isinstance(interval, str) and float(interval or 0) >= 0
        if interval != "rtt" and not is_time:
            raise ValueError(f"interval is {interval!r}; expected: 'rtt', seconds, or None")
        length = _EVERY_RTT if interval == "rtt" else float(interval or 0)
        if length == 0 and type(self).on_ack is CongestionControl.on_ack:
            raise TypeError("it has no on_ack(), and no interval with an on_interval()")
        if length != 0 and type(self).on_interval is CongestionControl.on_interval:
            raise TypeError("it has an interval, and no on_interval()")
        return length, bool(self.owns_window), bool(self.needs_ecn)


def _plain_attributes(cls: type) -> Iterator[tuple[str, bool | int | float]]:
    values: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base not in (object, CongestionControl):
            values.update(vars(base))
    for name, value in values.items():
        is_number = isinstance(value, (bool, int, float))
        if is_number and not name.startswith("_") and name not in _SETTINGS:
            if isinstance(value, int) and not -(2**63) <= value < 2**63:
                raise ValueError(f"{name} does not fit into 64 bits; a float is a larger number")
            yield name, value


def is_own(value: object) -> bool:
    """Whether ``value`` is a congestion control class of a user, or an object of one."""
    # Who derives from the base has imported this module.
    cls = value if isinstance(value, type) else type(value)
    return issubclass(cls, CongestionControl) and cls is not CongestionControl


def module_file(cls: type) -> str | None:
    """Return the file that a class is defined in; None: an interactive session, or a string."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return file if isinstance(file, str) and file.endswith(".py") else None


def code_of(cls: type) -> str:
    """Return the hash that stands for a class, as its file is now; as it was read, if it was."""
    if cls.__module__.startswith(LOADED):
        return cls.__module__.partition(".")[0].removeprefix(LOADED)
    if file := module_file(cls):
        with contextlib.suppress(ConfigError):
            return read(f"{file}:{cls.__qualname__}").code
    total = hashlib.blake2b(cls.__qualname__.encode(), digest_size=DIGEST_BYTES)
    for base in cls.__mro__:
        for name, value in vars(base).items():
            total.update(name.encode())
            if isinstance(value, FunctionType):
                total.update(marshal.dumps(value.__code__))
    return total.hexdigest()
