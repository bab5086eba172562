# SPDX-License-Identifier: GPL-2.0-only
"""Applications' byte streams."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from tunnelcc import payloads
from tunnelcc.config.congestion import CongestionControl
from tunnelcc.config.ends import Ends, Route
from tunnelcc.config.values import LinkRate, Moment, Rtt
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.schema import TEXT, choice, size, whole
from tunnelcc.schema.units import format_time

MAX_FLOWS = 4096

# Each write is an event of the simulation; cheaper ones would be without number.
LEAST_WRITE_COST = 1000  # ns


class Flow(Ends):
    """One application's byte stream, or ``count`` equal ones."""

    cc: CongestionControl = Field(
        default_factory=lambda: CongestionControl(name="cubic"),
        description="congestion control of the applications' sockets",
    )
    count: Annotated[int, whole(1, MAX_FLOWS)] = Field(1, description="number of such flows")
    start: Moment = Field(0.0, description="when the flow connects; start_jitter comes on top")
    stop: Moment | None = Field(
        None,
        description="when the application writes no more and closes; start_jitter comes on top; "
        "not given: at the end of the run",
    )
    rtt: Rtt | None = Field(None, description="base round-trip time of the flow, else path.rtt")
    bytes: Annotated[int, size(1, 2**50)] | None = Field(
        None, description="bytes to send, then the connection closes; not given: until the end"
    )
    rate: LinkRate | None = Field(
        None,
        description="rate at which the application writes, write_size at a time; not given: as "
        "fast as its socket takes",
    )
    preamble: Annotated[int, size(0, 2**20)] | None = Field(
        None,
        description="bytes that the client writes on connecting; else 0, and 37 (iperf3's cookie) "
        "where direction is down: the server sends when it has read some",
    )
    data_start: Moment | None = Field(
        None,
        description="when the data begin, if later than the connection; start_jitter comes on top",
    )
    payload: Annotated[str, choice(*payloads.CORPORA)] = Field(
        "random",
        description="what the data are, for tunnels that compress: a payload of `tunnelcc list`, "
        "the same for all flows",
    )
    write_size: Annotated[int, size(1, 2**24)] = Field(
        131072,
        description="bytes per application write (iperf3: 128 KiB); with rate, each write is a "
        "message whose latency is measured",
    )
    user: Annotated[str, TEXT] | None = Field(
        None, description="to whom the flow belongs; not given: to a user of its own"
    )

    tunnel: Annotated[str, TEXT] | None = Field(
        None,
        description="tunnel of the flow: a name below tunnels, or one of the catalogue, which all "
        "flows that say so share; none: no tunnel; not given: as tunnel",
    )
    ack_route: Route | None = Field(
        None,
        description="hosts that packets to the client pass, from the server's to the client's; "
        "not given: those of the way to the server",
    )

    @model_validator(mode="after")
    def _check(self) -> Flow:
        if self.data_start is not None and self.data_start < self.start:
            raise ConfigError(Problem("data_start", self.data_start, "a time not before start"))
        begin = self.start if self.data_start is None else self.data_start
        if self.stop is not None and self.stop <= begin:
            expected = f"a time after the data begin, {format_time(begin)}"
            raise ConfigError(Problem("stop", format_time(self.stop), expected))
        if self.rate is not None and self.write_size * 8e9 < self.rate * LEAST_WRITE_COST:
            expected = "writes that are 1us or more apart at flows.rate"
            raise ConfigError(Problem("write_size", self.write_size, expected))
        return self
