# SPDX-License-Identifier: GPL-2.0-only
"""Tunnels that write packets into one TCP connection."""

from typing import Annotated, ClassVar

from tunnelcc.catalog.cited import Cited
from tunnelcc.catalog.layers import Place, StreamLayers
from tunnelcc.catalog.packets import PacketEntry
from tunnelcc.catalog.relay import WriteMode
from tunnelcc.catalog.turn import Turn
from tunnelcc.schema import SWITCH


class StreamCarrier(Cited):
    """The connection across the path, which carries all flows."""

    nodelay: Annotated[bool, SWITCH]
    server_nodelay: Annotated[bool, SWITCH] = True  # of the end that listens, if nodelay
    writes: WriteMode = "nonblocking"


class StreamEntry(PacketEntry):
    """A tunnel that carries packets in a TCP connection: TCP over TCP."""

    OVERRIDES: ClassVar[tuple[str, ...]] = (
        "cc", "nodelay", "send_buffer", "receive_buffer", "mode", "mtu", "mss", "queue", "ip",
        "mptcp", "under", "vlan_tags",
    )  # fmt: skip
    PLACES: ClassVar[tuple[Place, ...]] = (Place.PACKET, Place.STREAM)

    carrier: StreamCarrier
    handshake: tuple[Turn, ...] = ()
    to_server: StreamLayers = ()
    to_client: StreamLayers = ()

    def stream_layers(self, is_up: bool) -> StreamLayers:
        """Return the layers around what the carrier sends to the server, or to the client."""
        return self.to_server if is_up else self.to_client

    def has_one_path(self, mode: str | None) -> bool:
        """Return true: all flows are in one connection."""
        return True

    def round_trips(self) -> dict[str, int]:
        """Return those of the carrier's set-up, and of the flow through it."""
        simulated = 1 + sum(1 for turn in self.handshake if turn.server)
        before = simulated if self.setup is None else self.setup.round_trips
        told = {"the tunnel, before any flow": before} if before else {}
        if before != simulated:
            told["of these simulated"] = simulated
        # Nagle's rule: the first data wait for the ACK of what carries the flow's own ACK.
        return {**told, "each flow": 1 if self.carrier.nodelay else 2}
