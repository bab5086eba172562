# SPDX-License-Identifier: GPL-2.0-only
"""Between which hosts traffic goes, in which direction, and through which others."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.schema import NAME, ROUTE, Model, choice

HostName = Annotated[str, NAME]
Route = Annotated[tuple[str, ...], ROUTE]


class Ends(Model):
    """Where a client and its server are, and how packets go from one to the other."""

    from_: HostName | None = Field(
        None,
        alias="from",
        description="host where the client is; not given: client, and in a network what network "
        "says of its shape. In Python: from_",
    )
    to: HostName | None = Field(None, description="host where the server is; goes with from")
    direction: Annotated[str, choice("up", "down")] | None = Field(
        None, description="up: the client sends; down: the server does; not given: as direction"
    )
    route: Route | None = Field(
        None,
        description="hosts that packets to the server pass, from the client's to the server's; "
        "not given: the route of least delay",
    )

    @model_validator(mode="after")
    def _check_ends(self) -> Ends:
        if (self.from_ is None) != (self.to is None):
            given, missing = ("from", "to") if self.to is None else ("to", "from")
            raise ConfigError(Problem(missing, MISSING, f"a host, as {given} is given"))
        if self.from_ is not None and self.from_ == self.to:
            raise ConfigError(Problem("to", self.to, "another host than from"))
        return self
