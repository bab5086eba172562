# SPDX-License-Identifier: GPL-2.0-only
"""UDP traffic that shares links with the flows, and pings."""

from typing import Annotated

from pydantic import model_validator

from tunnelcc.config.ends import Ends
from tunnelcc.config.values import LinkRate, Moment, Timer
from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.schema import (
    TEXT,
    Field,
    Key,
    time,
)
from tunnelcc.schema import size as size_of
from tunnelcc.schema.units import format_time

LEAST_INTERVAL = 10e-9  # s between two datagrams: a second of more would take minutes to simulate


class CrossTraffic(Ends):
    """UDP traffic at a constant rate while it is on.

    It goes in the direction of a flow's data: to the server if its direction is up. If it is down,
    it passes the hosts of ``route`` in reverse order.

        >>> tc.CrossTraffic(rate="5Mbps", on="1s", off="2s").rate
        5000000.0
    """

    rate: Key[LinkRate, str] = Field(description="rate while it sends, in IP bytes")
    packet: Key[Annotated[int, size_of(28, 65535)], int | str] = Field(
        default=1500, description="size of a datagram in IP bytes, at most path.mtu"
    )
    start: Key[Moment, str] = Field(
        default=0.0,
        description="time when it starts; a second source and later ones wait for a random part "
        "of the time between two datagrams, too",
    )
    stop: Key[Moment | None, str | None] = Field(
        default=None, description="time when it stops; default: the end of the run"
    )
    on: Key[Timer | None, str | None] = Field(
        default=None, description="how long it sends before each pause; default: all the time"
    )
    off: Key[Timer | None, str | None] = Field(
        default=None, description="length of each pause; give it together with on"
    )
    tunnel: Annotated[str, TEXT] | None = Field(
        default=None,
        description="tunnel that it goes through: a name as of flows.tunnel; default: none",
    )

    @model_validator(mode="after")
    def _check(self) -> "CrossTraffic":
        if self.packet * 8 < self.rate * LEAST_INTERVAL:
            expected = "datagrams at intervals of 10ns or more (cross_traffic.packet / rate)"
            raise ConfigError(Problem("packet", self.packet, expected))
        if (self.on is None) != (self.off is None):
            given, missing = ("on", "off") if self.off is None else ("off", "on")
            raise ConfigError(Problem(missing, MISSING, f"a time, because {given} is given"))
        if self.stop is not None and self.stop <= self.start:
            raise ConfigError(
                Problem(
                    "stop",
                    format_time(self.stop),
                    f"a time after start ({format_time(self.start)})",
                )
            )
        return self


class Ping(Ends):
    """Echo requests of a client to a server, as of ping(8). The time until the answer is the RTT.

    >>> tc.Ping(interval="1s", tunnel="none").size
    56
    """

    interval: Key[Annotated[float, time(1e-4, 3600)], str] = Field(
        default=0.2, description="time between requests (flent: 200 ms)"
    )
    size: Key[Annotated[int, size_of(0, 65507)], int | str] = Field(
        default=56, description="bytes of a request behind its headers (ping(8): 56)"
    )
    start: Key[Moment, str] = Field(
        default=0.0, description="time of the first request, and up to start_jitter more"
    )
    stop: Key[Moment | None, str | None] = Field(
        default=None, description="time when it stops; default: the end of the run"
    )
    tunnel: Annotated[str, TEXT] | None = Field(
        default=None,
        description="tunnel of requests and answers: a name as of flows.tunnel, none: beside it; "
        "default: the experiment's tunnel. In a relay they are datagrams of UDP",
    )

    @model_validator(mode="after")
    def _check(self) -> "Ping":
        if self.stop is not None and self.stop <= self.start:
            expected = f"a time after start ({format_time(self.start)})"
            raise ConfigError(Problem("stop", format_time(self.stop), expected))
        return self
