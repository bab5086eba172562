# SPDX-License-Identifier: GPL-2.0-only
"""One exchange of a handshake."""

from typing import Annotated

from tunnelcc.catalog.cited import Cited
from tunnelcc.schema import Kind
from tunnelcc.schema.units import UnitError


def _parse_counts(expected: str, least: int) -> Kind:
    def parse(value: object) -> tuple[int, ...]:
        if not isinstance(value, (list, tuple)):
            raise UnitError(expected)
        for count in value:
            if isinstance(count, bool) or not isinstance(count, int) or not least <= count <= 2**20:
                raise UnitError(expected)
        return tuple(value)

    return Kind(parse, list, expected)


Writes = Annotated[tuple[int, ...], _parse_counts("a list of sizes in bytes, each at least 1", 1)]
Counts = Annotated[tuple[int, ...], _parse_counts("a list of numbers of streams", 1)]


class Turn(Cited):
    """One exchange of the handshake: writes of the client, then of the server, in bytes."""

    client: Writes
    server: Writes = ()
