# SPDX-License-Identifier: GPL-2.0-only
"""Values that an experiment's tunnel may set, too.

They stand apart from the entries, whose classes are imported with the first tunnel.
"""

import re
from itertools import pairwise
from typing import Annotated, NamedTuple

from tunnelcc.schema import EITHER, MORE, Kind, choice_of, rate, time, whole
from tunnelcc.schema.units import UnitError

#: Bytes of a header without options, by the version of IP (RFC 791, RFC 8200).
IP_HEADERS = {4: 20, 6: 40}
_UDP_HEADER = 8
_TCP_HEADER = 20
#: Which IP carries something.
IP_VERSION = choice_of(*IP_HEADERS)
#: RFC 791: what every host takes whole.
LEAST_MTU = 576
#: RFC 8200, section 5: less has no link that carries IPv6.
LEAST_IPV6_MTU = 1280
MOST_MTU = 65535
#: Jumbo frames of Ethernet: more is a slip of the pen, though Linux takes up to 65535.
MOST_DEVICE_MTU = 9000

#: Of KCP: segments; the window field of a header has 16 bits.
WindowSize = Annotated[int, whole(1, 65535), MORE]
#: kcp-go's SetNoDelay() takes no other.
Interval = Annotated[float, time(10e-3, 5)]
Resend = Annotated[int, whole(0, 255)]

#: What a user sets, bit/s: of RUDP, or of a congestion control over QUIC.
Rate = Annotated[float, rate(10e3, 400e9), EITHER]
#: Of RUDP. The client tells it as a number of KiB/s that has 15 bits.
RUDP_RATE = rate(10e3, 268.4e6)

#: Of probes over several routes: time between them, and numbers of such times.
PROBE_INTERVAL = time(1e-3, 3600)
PROBE_COUNT = whole(1, 1000)

#: Shards of a group that a Reed–Solomon code over GF(2^8) can tell apart.
MOST_SHARDS = 255
#: What leaves FEC out, in place of shards.
NO_FEC = "none"
_PAIR = re.compile(r"(\d{1,3}):(\d{1,3})")


class IpVersions(NamedTuple):
    """Versions of IP: of the packets inside a tunnel, and of those that it sends."""

    inner: int = 4
    outer: int = 4


#: IPv4 inside and outside.
IPV4 = IpVersions()


class Use(NamedTuple):
    """How a tunnel is used, as far as sizes of packets depend on it.

    ``path_mtu``: of what is below it, bytes; ``mode``, ``mtu`` of the device and ``mss`` of the
    clamp: what the user sets, None: the entry's. ``versions``: of IP, here and below.
    """

    path_mtu: int
    mode: str | None = None
    mtu: int | None = None
    mss: int | None = None
    versions: IpVersions = IPV4


def plain_headers(ip: int) -> int:
    """Return the bytes of IP and TCP without options, which an MSS leaves room for (RFC 6691)."""
    return IP_HEADERS[ip] + _TCP_HEADER


def datagram_headers(ip: int) -> int:
    """Return the bytes of IP and UDP."""
    return IP_HEADERS[ip] + _UDP_HEADER


def parity_counts(text: str) -> list[int]:
    """Return the parity shards of groups of 1, 2, … data shards.

    ``text``: ``x:y`` pairs with rising x, such as ``20:10`` or ``2:4,20:10``. Between two pairs the
    number is interpolated and rounded up. Up to the first x it is the first y. UDPspeeder's ``-f``
    does the same. Raises UnitError.
    """
    pairs = [_PAIR.fullmatch(part.strip()) for part in text.split(",")]
    numbers = [(int(pair[1]), int(pair[2])) for pair in pairs if pair]
    sizes = [data for data, _ in numbers]
    if len(numbers) != len(pairs) or sizes[0] == 0:
        is_none = bool(numbers) and not any(map(sum, numbers))
        raise UnitError(PARITY.expected, f"{NO_FEC!r} leaves FEC out" * is_none)
    if sizes != sorted(set(sizes)):
        raise UnitError("pairs with rising numbers of data shards, such as 2:4,20:10")
    if any(data + parity > MOST_SHARDS for data, parity in numbers):
        raise UnitError(f"at most {MOST_SHARDS} shards in total")
    counts = [numbers[0][1]] * sizes[0]
    for (low, at_low), (high, at_high) in pairwise(numbers):
        for data in range(low + 1, high + 1):
            share = at_low * (high - data) + at_high * (data - low)
            counts.append(-(-share // (high - low)))
    return counts


def _parse_parity(value: object) -> str:
    if not isinstance(value, str):
        raise UnitError(PARITY.expected)
    parity_counts(value)
    return value.replace(" ", "")


PARITY = Kind(
    _parse_parity, str, "data and parity shards of a group, such as 20:10 or a list 2:4,20:10"
)
