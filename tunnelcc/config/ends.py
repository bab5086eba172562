# SPDX-License-Identifier: GPL-2.0-only
"""The hosts between which traffic goes, its direction and its route."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import model_validator

from tunnelcc.errors import MISSING, ConfigError, Problem
from tunnelcc.schema import (
    NAME,
    ROUTE,
    Field,
    Key,
    Model,
    choice,
)

HostName = Annotated[str, NAME]
Route = Annotated[tuple[str, ...], ROUTE]


class Ends(Model):
    """The hosts of a client and its server, and the route between them."""

    from_: HostName | None = Field(
        default=None,
        validation_alias="from",
        serialization_alias="from",
        description="client's host; default: client, as the shape defines, or the first host of a "
        "network's only link; a network with more links of its own needs it (in Python: from_)",
    )
    to: HostName | None = Field(
        default=None, description="server's host; give it together with from"
    )
    direction: Annotated[str, choice("up", "down")] | None = Field(
        default=None,
        description="up: the client sends; down: the server sends; default: the experiment's "
        "direction",
    )
    route: Key[Route | None, Sequence[str] | None] = Field(
        default=None,
        description="hosts that packets to the server pass, listed from the client's host to the "
        "server's; default: the route of least delay",
    )

    @model_validator(mode="after")
    def _check_ends(self) -> "Ends":
        if (self.from_ is None) != (self.to is None):
            given, missing = ("from", "to") if self.to is None else ("to", "from")
            raise ConfigError(Problem(missing, MISSING, f"a host, because {given} is given"))
        if self.from_ is not None and self.from_ == self.to:
            raise ConfigError(Problem("to", self.to, "another host than the one in from"))
        return self
