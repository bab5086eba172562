# SPDX-License-Identifier: GPL-2.0-only
"""What a flow of datagrams sends: sizes and times that follow from its keys."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tunnelcc.catalog import traffic
from tunnelcc.config.flow import MOST_DATAGRAM, Flow
from tunnelcc.config.traffic import CrossTraffic


@dataclass(frozen=True)
class Datagrams:
    """What is sent at once, and how often. Sizes are payload of UDP, bytes; times are in s.

    ``full`` datagrams of ``size`` come before one of ``last``. ``talk`` and ``pause`` are lengths
    of periods, means if ``draws_periods``; None: it sends all the time. ``playout``: of the
    receiver's buffer; None: it has none.
    """

    interval: float
    last: int
    size: int = 0
    full: int = 0
    draws_gaps: bool = False
    talk: float | None = None
    pause: float | None = None
    draws_periods: bool = False
    answer: int | None = None
    timeout: float | None = None
    attempts: int = 1
    playout: float | None = None

    @property
    def largest(self) -> int:
        """The payload of the largest datagram, answers included."""
        return max(self.size if self.full else 0, self.last, self.answer or 0)

    @property
    def at_once(self) -> int:
        """The payload that is sent at once."""
        return self.full * self.size + self.last

    @property
    def mean_rate(self) -> float:
        """The mean rate of the payload, bit/s."""
        duty = 1.0 if self.talk is None else self.talk / (self.talk + (self.pause or 0.0))
        return 8 * self.at_once / self.interval * duty

    def ip_rate(self, header: int) -> float:
        """The rate while it sends, with the ``header`` bytes of each datagram, bit/s."""
        return 8 * (self.at_once + (self.full + 1) * header) / self.interval


def datagrams_of_source(source: CrossTraffic, header: int) -> Datagrams:
    """Return what a source of cross traffic sends. ``header``: of IP and UDP, bytes."""
    interval = 8 * source.packet / source.rate
    return Datagrams(interval, source.packet - header, talk=source.on, pause=source.off)


def datagrams_of(flow: Flow, mss: int) -> Datagrams:
    """Return what ``flow`` sends, whose transport is udp.

    ``mss``: the payload of full segments of TCP on its way, as long as iperf3's datagrams.
    """
    kind = traffic.load(flow.traffic)
    if kind.interval is None:
        assert flow.rate is not None
        size = flow.write_size if "write_size" in flow.model_fields_set else mss
        return Datagrams(
            8 * size / flow.rate, size, draws_gaps=flow.gaps == "exponential", playout=flow.playout
        )
    rate = flow.rate or kind.rate
    media = kind.bytes or 0
    if rate is not None:
        media = max(1, round(rate * kind.interval / 8))
    most = kind.most or MOST_DATAGRAM
    full = math.ceil(media / most) - 1
    return Datagrams(
        kind.interval,
        media - full * most + kind.header,
        most + kind.header,
        full,
        draws_gaps=kind.gaps == "exponential",
        talk=kind.talk,
        pause=kind.pause,
        draws_periods=kind.talk is not None,
        answer=kind.answer,
        timeout=kind.timeout,
        attempts=kind.attempts,
        playout=flow.playout or kind.playout,
    )
