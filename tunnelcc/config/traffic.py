# SPDX-License-Identifier: GPL-2.0-only
"""Traffic that shares links with the flows."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from tunnelcc.config.ends import Ends
from tunnelcc.config.values import LinkRate, Moment, Timer
from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.schema import size
from tunnelcc.schema.units import format_time


class CrossTraffic(Ends):
    """UDP traffic at a constant rate while it sends.

    It goes the way of a flow's data: to the server where its direction is up. Where it is down,
    it passes the hosts of ``route`` in the opposite order.
    """

    rate: LinkRate = Field(description="rate in IP bytes while it sends")
    packet: Annotated[int, size(28, 65535)] = Field(1500, description="IP bytes of a datagram")
    start: Moment = Field(0.0, description="when it begins")
    stop: Moment | None = Field(None, description="when it ends; not given: with the run")
    on: Timer | None = Field(
        None, description="how long it sends before each silence; not given: all the time"
    )
    off: Timer | None = Field(None, description="how long each silence is; goes with on")

    @model_validator(mode="after")
    def _check(self) -> CrossTraffic:
        if (self.on is None) != (self.off is None):
            given, missing = ("on", "off") if self.off is None else ("off", "on")
            raise ConfigError(Problem(missing, MISSING, f"a time, as {given} is given"))
        if self.stop is not None and self.stop <= self.start:
            raise ConfigError(
                Problem("stop", format_time(self.stop), f"after start = {format_time(self.start)}")
            )
        return self
