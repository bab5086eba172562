# SPDX-License-Identifier: GPL-2.0-only
"""Several paths at once: the keys of MPTCP and of Multipath QUIC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import model_validator

from tunnelcc.errors import ConfigError, Problem
from tunnelcc.schema import NAME, ROUTE, Field, Key, Kind, Model, choice
from tunnelcc.schema.units import UnitError

#: A path as a user names it: a link, or all hosts on the way.
Way = str | tuple[str, ...]

_PATH = "the name of a link, or a list of hosts such as ['client', 'lte', 'server']"


def _parse_path(value: object) -> Way:
    try:
        path: Way = NAME.parse(value) if isinstance(value, str) else ROUTE.parse(value)
    except UnitError:
        raise UnitError(_PATHS) from None
    return path


def _parse_paths(value: object) -> tuple[Way, ...]:
    if not isinstance(value, (list, tuple)):
        raise UnitError(_PATHS)
    return tuple(map(_parse_path, value))


def as_given(path: Way) -> str | list[str]:
    """Return a path as scenarios write it."""
    return path if isinstance(path, str) else list(path)


_PATHS = f"a list of paths, each {_PATH}"
_PATHS_KIND = Kind(_parse_paths, lambda paths: [as_given(it) for it in paths], _PATHS)
_MOST_PATHS = 8  # subflows of a connection (Linux MPTCP_PM_ADDR_MAX)


class Multipath(Model):
    """A connection over several paths."""

    #: The key whose table it is.
    KEY: ClassVar[str]

    paths: Key[Annotated[tuple[Way, ...], _PATHS_KIND], Sequence[str | Sequence[str]]] = Field(
        description="two to eight paths between the hosts of the connection's ends: each the name "
        "of a link, over which the fastest route is taken, or all hosts on the way; the connection "
        "begins on the first one"
    )
    backup: Key[Annotated[tuple[Way, ...], _PATHS_KIND], Sequence[str | Sequence[str]]] = Field(
        default=(), description="those of the paths that are used only while no other works"
    )
    scheduler: str

    @model_validator(mode="after")
    def _check(self) -> Multipath:
        shown = [as_given(it) for it in self.paths]
        if not 2 <= len(self.paths) <= _MOST_PATHS:
            raise ConfigError(Problem("paths", shown, f"two to {_MOST_PATHS} paths"))
        for path in self.backup:
            if path not in self.paths:
                expected = f"some of {self.KEY}.paths ({', '.join(map(str, shown))})"
                raise ConfigError(Problem("backup", as_given(path), expected))
        if set(self.paths) <= set(self.backup):
            expected = f"not all of {self.KEY}.paths: one has to be used while all work"
            raise ConfigError(Problem("backup", [as_given(it) for it in self.backup], expected))
        return self


class Mptcp(Multipath):
    """A connection of MPTCP (RFC 8684), as Linux's: one subflow over each of several paths.

    >>> tc.Flow(mptcp={"paths": ["wifi", "lte"], "backup": ["lte"]}).mptcp.scheduler
    'default'
    """

    KEY: ClassVar[str] = "mptcp"

    scheduler: Annotated[
        str, choice("default", "lowest-rtt", "round-robin", "redundant", "blest")
    ] = Field(
        default="default",
        description="which subflow sends the next bytes; default: as Linux, the one that will have "
        "sent what waits in it first; lowest-rtt: of those with room in their windows; "
        "round-robin: these in turn, a segment each; redundant: each of them sends all; blest: as "
        "lowest-rtt, but a slower one waits if it would block the faster one",
    )


class Mpquic(Multipath):
    """A connection of Multipath QUIC (draft-ietf-quic-multipath-21).

    >>> tc.Tunnel(name="gost-quic", mpquic={"paths": ["dsl", "lte"]}).mpquic.scheduler
    'lowest-rtt'
    """

    KEY: ClassVar[str] = "mpquic"

    scheduler: Annotated[str, choice("lowest-rtt", "round-robin", "redundant", "blest")] = Field(
        default="lowest-rtt",
        description="which path sends the next packet, of those that congestion control lets send: "
        "lowest-rtt; round-robin: these in turn; redundant: each of them sends all of streams; "
        "blest: as lowest-rtt, but a slower one waits if it would block the faster one",
    )
