# SPDX-License-Identifier: GPL-2.0-only
"""RUDP of FinalSpeed: a carrier over UDP that repairs loss itself, at a rate that the user sets."""

from typing import Annotated

from tunnelcc.catalog.cited import Cited
from tunnelcc.schema import Model, number, rate, size, time, whole

_Bytes = Annotated[int, whole(1, 9000)]


class Packets(Cited):
    """How data are cut into packets."""

    data: _Bytes  # bytes at most
    header: Annotated[int, whole(0, 1000)]  # bytes beside the data, without UDP and IP
    window: Annotated[int, whole(1, 2**20)]  # packets that the peer's reader has not taken
    doubled: Annotated[int, whole(0, 2**20)]  # first packets that are sent twice
    close: _Bytes  # bytes of what ends a connection


class Acks(Cited):
    """Lists of received packets."""

    interval: Annotated[float, time(1e-3, 60)]
    most: Annotated[int, whole(1, 2**16)]  # numbers in a list
    header: _Bytes  # bytes beside the numbers
    number: _Bytes  # bytes of each


class Resends(Cited):
    """When a packet without an ACK is sent again."""

    extra: Annotated[float, number(0, 100)]  # so much longer than the latest ping, as a part of it
    least: Annotated[float, time(1e-3, 60)]  # but at least so long
    most: Annotated[int, whole(0, 1000)]  # times that a packet is sent again


class Pacing(Cited):
    """How the rate is kept."""

    burst: Annotated[int, size(1, 2**20)]  # bytes of data between sleeps
    first: Annotated[float, rate(10e3, 400e9)]  # rate of the server before the client's first ping
    unit: Annotated[int, size(1, 2**20)]  # bytes/s, of which the client tells a whole number


class Pings(Cited):
    """How each end notices that the other is alive."""

    bytes: _Bytes
    reply: _Bytes  # bytes
    interval: Annotated[float, time(1e-3, 3600)]
    limit: Annotated[float, time(1e-3, 3600)]  # without a reply, after which all is closed
    first: Annotated[float, time(1e-3, 60)]  # what one takes, before there was a reply


class Threads(Cited):
    """How the hosts' threads sleep."""

    wake_delay: Annotated[float, time(1e-6, 1)]


class Rudp(Model):
    """Connections of RUDP, one for each flow, and what a client's connections share."""

    packets: Packets
    acks: Acks
    resends: Resends
    pacing: Pacing
    pings: Pings
    threads: Threads

    @property
    def largest(self) -> int:
        """The bytes of its largest datagram, without UDP and IP."""
        lists = self.acks.header + self.acks.most * self.acks.number
        return max(self.packets.header + self.packets.data, lists)

    def server_rate(self, rate: float) -> float:
        """Return the rate (bit/s) of the server; the client tells it ``rate``."""
        return rate // (8 * self.pacing.unit) * 8 * self.pacing.unit
