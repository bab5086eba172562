# SPDX-License-Identifier: GPL-2.0-only
"""Properties of all entries."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from tunnelcc.catalog.cited import Prose
from tunnelcc.catalog.values import Use
from tunnelcc.errors import ConfigError, Problem, as_written
from tunnelcc.schema import (
    Field,
    Model,
)

if TYPE_CHECKING:
    from tunnelcc.catalog.layers import StreamLayers


#: Of entries that have not changed since.
FIRST_VERSION = "0.1.0"


class Entry(Model):
    """A tunnel of the catalogue."""

    #: Keys of an experiment's tunnel that override entries of the kind.
    OVERRIDES: ClassVar[tuple[str, ...]] = ()
    #: Whether connections of its own, the carriers, cross the path instead of the flows'.
    HAS_CARRIERS: ClassVar[bool] = True
    #: Whether packets go into it, so that it has a device; else streams.
    CARRIES_PACKETS: ClassVar[bool] = False
    #: Whether what it costs the CPU was measured as a whole, switches between threads included.
    IS_COST_WHOLE: ClassVar[bool] = False

    name: Prose
    kind: Prose
    summary: Prose
    software: Prose
    #: Version of this package → what changed then in answers with the entry, the oldest first.
    changes: dict[str, Prose] = Field(default_factory=dict)
    #: What a shell runs at each end to start the program; programs.toml has it for the package's.
    start: Prose | None = None

    @property
    def version(self) -> str:
        """The version of this package in which the entry last changed."""
        return [FIRST_VERSION, *self.changes][-1]

    @property
    def overrides(self) -> tuple[str, ...]:
        """Keys of an experiment's tunnel that override this entry."""
        return self.OVERRIDES

    def carrier_cc(self, rate: float | None) -> dict[str, Any] | None:
        """Return the congestion control of the carriers, as a table. None: that of the flows.

        ``rate``: what the user sets, bit/s; None: nothing.
        """
        return None

    def parameters_of(self, cc: str) -> dict[str, Any]:
        """Return the program's own parameters of a congestion control of the carriers."""
        return {}

    @property
    def has_ecn(self) -> bool:
        """Whether connections across the path can use ECN."""
        return True

    @property
    def under(self) -> str | None:
        """The datagram tunnel that the carriers go through, if any."""
        return None

    @property
    def refuses_datagrams(self) -> str:
        """Why the tunnel does not carry the datagrams of applications; "": it does."""
        return ""

    @property
    def refuses_streams(self) -> str:
        """Why the tunnel does not carry TCP connections; "": it does."""
        return ""

    def answers(self, receiver: str) -> bool:
        """Return whether the end that receives a flow's data sends some over its carrier, too."""
        return True  # the ACKs of connections inside

    def check(self, changes: Mapping[str, Any]) -> None:
        """Raise ConfigError for a key of an experiment's tunnel that the entry does not have."""
        for key, value in changes.items():
            if key not in self.overrides:
                expected = f"no value with {self.name}, which accepts only " + ", ".join(
                    self.overrides
                )
                raise ConfigError(Problem(*as_written(key, value), expected))

    def mtu(self, use: Use) -> int:
        """Return the largest packet (IP bytes) of the flows."""
        return use.path_mtu

    def clamped_mss(self, use: Use) -> int | None:
        """Return the MSS (bytes, without TCP options) of connections through the tunnel.

        None: the path's MSS. Raises ConfigError if no segment fits.
        """
        return None

    def told_mss(self, use: Use) -> int | None:
        """Return the MSS of which the tunnel tells TCP on its own host; None: of none."""
        return None

    def across_path(self, size: int, payload: str, use: Use) -> list[int]:
        """Return the IP bytes on the path for a packet (IP bytes) of a carrier, or else of a flow.

        ``payload``: its contents (``tunnelcc.payloads.CORPORA``).
        """
        return [size]

    def check_packet(self, size: int, parity: str | None, use: Use) -> None:
        """Raise ConfigError if the tunnel cannot carry a packet of ``size`` IP bytes."""

    def stream_layers(self, is_up: bool) -> "StreamLayers":
        """Return the layers around what the carriers send to the server, or to the client."""
        return ()

    def host_mss(self, mss: int, ip: int) -> int:
        """Return the payload (bytes) of the applications' full segments.

        ``mss``: of the flows. ``ip``: version of the applications' packets.
        """
        return mss

    def has_one_path(self, mode: str | None) -> bool:
        """Whether flows share more than a device, so that they all have the RTT of the path."""
        return False

    def sharing(self, carriers: str | int | None) -> str | int:
        """Return which flows share a carrier (``tunnel.carriers`` or its default)."""
        return "all"

    def all_operations(self, mode: str | None) -> tuple[str, ...]:
        """Return the operations that a profile must have (``tunnelcc.hosts.costs.OPERATIONS``)."""
        return ()

    def round_trips(self) -> dict[str, int]:
        """Return cause → round trips before the first byte leaves the client.

        Also how many of the tunnel's own are simulated, if not all are.
        """
        return {}
