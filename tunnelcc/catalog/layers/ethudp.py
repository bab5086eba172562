# SPDX-License-Identifier: GPL-2.0-only
"""EthUDP's fragments."""

from typing import Annotated, Literal

from tunnelcc.catalog.layers.layer import PacketLayer, Place, Surroundings
from tunnelcc.schema import whole

# send_frag_udp() in EthUDP.c: 1000 bytes go into the first datagram; "UDPFRG" 6, number 2. It takes
# off 28 bytes over IPv6, too.
_FIRST = 1000
_HEADER = 8
_IP_AND_UDP = 28


class EthUdpFragments(PacketLayer):
    """EthUDP's ``-mtu``: it splits a larger payload into two datagrams."""

    layer: Literal["ethudp-fragments"]
    place = Place.DATAGRAM
    mtu: Annotated[int, whole(1036, 1500)]  # EthUDP's option

    def wrap(self, inner: int, around: Surroundings) -> list[int]:
        """Return one payload, or two with a header each."""
        if inner <= self.mtu - _IP_AND_UDP:
            return [inner]
        return [_HEADER + _FIRST, _HEADER + inner - _FIRST]
