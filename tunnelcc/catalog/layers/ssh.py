# SPDX-License-Identifier: GPL-2.0-only
"""SSH's packets, and packets in its channels."""

from typing import Annotated, ClassVar, Literal

from tunnelcc.catalog.layers.layer import FixedHeader, Place
from tunnelcc.catalog.layers.stream import MOST_PAYLOAD, Bytes, StreamLayer
from tunnelcc.schema import whole


class SshTun(FixedHeader):
    """An IP packet in a channel of OpenSSH's tun@openssh.com (its PROTOCOL, section 2.3).

    SSH_MSG_CHANNEL_DATA 1, channel 4 and length 4 (RFC 4254, section 5.2), address family 4, and
    the length 4 of the rest. SSH's bytes around the message are a layer of the stream.
    """

    layer: Literal["ssh-tun"]
    place = Place.STREAM
    header = 13


class SshPackets(StreamLayer):
    """Binary packets (RFC 4253, section 6): padded to ``block`` bytes, with a tag of ``overhead``.

    The padding has at least 4 bytes, so a block has at least 8.
    """

    title: ClassVar[str] = "SSH packets"

    layer: Literal["ssh"]
    block: Annotated[int, whole(8, MOST_PAYLOAD)]
    overhead: Bytes

    def adds(self) -> str:
        """Return length, padding and tag."""
        return f"4 B, padding to {self.block} B and a tag of {self.overhead} B per packet"
