# SPDX-License-Identifier: GPL-2.0-only
"""Captures (pcap, pcapng) at the sending host: its TCP connections over time.

The library dpkt reads files and headers. RTTs are those of segments that were sent once, until
the ACK or SACK block that covers them (Karn's rule), smoothed as in RFC 6298. The first one is the
handshake's, and where several segments are covered it is that of the oldest (Linux,
tcp_clean_rtx_queue(), tcp_sacktag_one()). Time begins with the first SYN. The window is the data in
flight. The handshake tells whether the capture was made at the sender. Elsewhere, the sender's
answer to the other end arrives later.
"""

from __future__ import annotations

import io
import struct
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tunnelcc.errors import ConfigError, Problem, install
from tunnelcc.formats.measurement import (
    ClockError,
    Measurement,
    Stream,
    check_clock,
    segment_size,
)

_MAGIC = (
    b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d",
    b"\x0a\x0d\x0d\x0a",
)  # fmt: skip
# dpkt reads about 50,000 packets a second.
_MOST_PACKETS = 5_000_000
_MOST_CONNECTIONS = 10_000
# Connections with less payload are of control.
_LEAST_BYTES = 100_000
_STEP = 0.1  # s, between samples
# Segments of a connection whose times are kept.
_MOST_WAITING = 100_000
# A host answers a SYN or SYN-ACK sooner than this: part of the RTT; s.
_ANSWERS, _ANSWERS_IN = 0.1, 2e-3
# A handshake with less than this part of the least RTT of data was not answered by the other end.
_MIDDLEBOX = 0.3
# A handshake that takes less (s) is one whose packets have no times of their own.
_CLOCK = 1e-6
# Packets of several interfaces are written up to so late (s), after others of a connection.
_LATE = 1.0
_HALF = 2**31


def is_capture(data: bytes) -> bool:
    """Whether data begin as a pcap or pcapng file does."""
    return data[:4] in _MAGIC


@dataclass
class _Way:
    """One direction of a connection: what was sent, and the ACKs that came back."""

    began: float
    first: int
    highest: int = 0
    acked: int = 0
    retransmits: int = 0
    payload: int = 0
    largest: int = 0
    scale: int = 0
    window: int = 0
    srtt: float = float("nan")
    least: float = float("nan")
    greeting: float = float("nan")
    # Of segments that were sent once and not acknowledged: first byte, end, time.
    waiting: deque[tuple[int, int, float]] = field(default_factory=deque)
    sacked_bytes: int = 0
    sacked_to: int = 0
    samples: list[tuple[float, float, float, float, float, float]] = field(default_factory=list)

    def sent(self, time: float, sequence: int, size: int) -> None:
        at = _signed(sequence - self.first)
        self.payload += size
        self.largest = max(self.largest, size)
        if at < self.highest:
            self.retransmits += 1
            # Without SACK, what an ACK covers may have arrived long before it.
            while self.waiting and (self.waiting[0][0] <= at or not self.sacked_to):
                self.waiting.popleft()
        elif len(self.waiting) < _MOST_WAITING:
            self.waiting.append((at, at + size, time))
        self.highest = max(self.highest, at + size)

    def greeted(self, rtt: float, time: float) -> None:
        """Take the RTT of the handshake, which ended at ``time``."""
        self.greeting = self.srtt = rtt
        nothing = float("nan")
        self.samples.append((time, 0.0, self.srtt, nothing, 0.0, nothing))

    def measured(self, rtt: float, least: float) -> None:
        self.least = least if np.isnan(self.least) else min(self.least, least)
        self.srtt = rtt if np.isnan(self.srtt) else self.srtt + (rtt - self.srtt) / 8

    def answered(self, time: float, ack: int, window: int) -> None:
        at = _signed(ack - self.first)
        self.window = window << self.scale
        if not self.acked < at <= self.highest:
            return
        self.acked = at
        self.sacked_bytes = max(min(self.sacked_bytes, self.sacked_to - at), 0)
        self._arrived(time, at)
        self._sample(time)

    def sacked(self, time: float, left: int, right: int) -> None:
        """Take what a SACK block tells of first."""
        left, right = (_signed(edge - self.first) for edge in (left, right))
        if not max(self.acked, self.sacked_to) < right <= self.highest:
            return
        while self.waiting and self.waiting[0][0] < left:
            self.waiting.popleft()  # lost, or late
        self.sacked_bytes += right - max(left, self.sacked_to)
        self.sacked_to = right
        self._arrived(time, right)
        self._sample(time)

    def _arrived(self, time: float, end: int) -> None:
        """Take the RTT of the oldest segment up to ``end``, and the least of all of them."""
        oldest = latest = float("nan")
        while self.waiting and self.waiting[0][1] <= end:
            latest = self.waiting.popleft()[2]
            oldest = latest if np.isnan(oldest) else oldest
        if time > latest:
            self.measured(time - oldest, time - latest)

    def _sample(self, time: float) -> None:
        in_flight = float(self.highest - self.acked - self.sacked_bytes)
        self.samples.append(
            (time, float(self.acked), self.srtt, in_flight, float(self.retransmits),
             float(self.window))
        )  # fmt: skip


def _signed(difference: int) -> int:
    """Return a difference of sequence numbers, which count modulo 2^32."""
    return (difference + _HALF) % (2 * _HALF) - _HALF


def read(source: str, data: bytes, option: str) -> Measurement:
    """Return the connections of a capture that carry data, by their larger direction.

    Raises ConfigError, ClockError.
    """
    try:
        import dpkt
    except ImportError:
        expected = f"another file, or the library dpkt: {install('capture')}"
        raise ConfigError(Problem(option, source, expected)) from None
    try:
        is_new = data[:4] == _MAGIC[-1]
        reader = (dpkt.pcapng.Reader if is_new else dpkt.pcap.Reader)(io.BytesIO(data))
    except Exception as error:  # whatever dpkt meets in a damaged file
        expected = "a capture that dpkt reads"
        raise ConfigError(Problem(option, source, expected, str(error)[:80])) from None
    ways: dict[Any, _Way] = {}
    scales: dict[Any, int] = {}
    handshakes: dict[Any, list[float]] = {}
    latest: dict[Any, float] = {}
    count = 0
    packets = iter(reader)
    while count < _MOST_PACKETS:
        try:
            time, packet = next(packets)
            count += 1
        except Exception:  # the end, or a damaged packet: what follows has no known beginning
            break
        try:
            _packet(dpkt, reader.datalink(), float(time), packet, ways, scales, handshakes, latest,
                    count)  # fmt: skip
        except ClockError:
            raise
        except Exception:  # a packet that is cut off, or of another protocol
            continue
    sending = {
        key: it for key, it in ways.items() if it.acked >= _LEAST_BYTES and len(it.samples) > 2
    }
    begin = min((it.began for it in sending.values()), default=0.0)
    streams = []
    for number, (key, way) in enumerate(sending.items(), 1):
        is_client, times = _handshake(key, handshakes)
        streams.append(
            _stream(
                str(number), way, begin, _ahead(key, handshakes),
                is_down=bool(times) and not is_client,
                whole=times[2] - times[0] if len(times) == 3 else float("nan"),
            )
        )  # fmt: skip
    # Of both directions, that which has more.
    totals = {way: sum(it.payload for key, it in sending.items()
                       if (bool(handshakes.get(_back(key))) and key not in handshakes) is way)
              for way in (False, True)}  # fmt: skip
    is_down = totals[True] > totals[False]
    return Measurement(
        source, [it for it in streams if it.is_down is is_down], is_down=is_down, epoch=begin,
        knows_way=bool(handshakes), reverse=[it for it in streams if it.is_down is not is_down],
    )  # fmt: skip


def _back(key: Any) -> Any:
    address, port, other, other_port = key
    return other, other_port, address, port


def _packet(
    dpkt: Any, link: int, time: float, data: bytes, ways: dict[Any, _Way], scales: dict[Any, int],
    handshakes: dict[Any, list[float]], latest: dict[Any, float], count: int,
) -> None:  # fmt: skip
    kind = {1: dpkt.ethernet.Ethernet, 113: dpkt.sll.SLL}.get(link)
    if kind is not None:
        ip = kind(data).data
    else:
        ip = dpkt.ip6.IP6(data) if data[0] >> 4 == 6 else dpkt.ip.IP(data)
    tcp = ip.data
    if not isinstance(tcp, dpkt.tcp.TCP):
        return
    # Of what was sent, not of what was kept.
    whole = ip.len - 4 * ip.hl if isinstance(ip, dpkt.ip.IP) else ip.plen
    size = whole - 4 * tcp.off
    there = (ip.src, tcp.sport, ip.dst, tcp.dport)
    back = (ip.dst, tcp.dport, ip.src, tcp.sport)
    both = max(there, back)
    if both in latest or len(latest) < _MOST_CONNECTIONS:
        before = latest.get(both, time)
        check_clock(f"packet {count}", before, time, early=_LATE)
        latest[both] = max(before, time)
    if tcp.flags & dpkt.tcp.TH_SYN:
        options = dict(dpkt.tcp.parse_opts(tcp.opts))
        wanted = options.get(dpkt.tcp.TCP_OPT_WSCALE)
        if len(scales) < _MOST_CONNECTIONS:
            scales[there] = min(wanted[0], 14) if wanted else 0
            if not tcp.flags & dpkt.tcp.TH_ACK:
                handshakes[there] = [time]
        if tcp.flags & dpkt.tcp.TH_ACK and len(handshakes.get(back, ())) == 1:
            handshakes[back].append(time)
        return
    if size == 0 and len(handshakes.get(there, ())) == 2:
        handshakes[there].append(time)
    if size > 0:
        if there not in ways and len(ways) < _MOST_CONNECTIONS:
            ways[there] = way = _Way(time, tcp.seq)
            is_client, times = _handshake(there, handshakes)
            if len(times) == 3 and times[2] - times[0] > _CLOCK:
                way.began = times[0]
                way.greeted(times[1] - times[0] if is_client else times[2] - times[1], times[2])
        if there in ways:
            ways[there].sent(time, tcp.seq, size)
    if tcp.flags & dpkt.tcp.TH_ACK and back in ways:
        way = ways[back]
        way.scale = scales.get(there, way.scale)
        way.answered(time, tcp.ack, tcp.win)
        if dpkt.tcp.TCP_OPT_SACK in tcp.opts:  # most have none, and need not be taken apart
            blocks = dict(dpkt.tcp.parse_opts(tcp.opts)).get(dpkt.tcp.TCP_OPT_SACK, b"")
            if len(blocks) >= 8:  # the first one is of the segment that has just arrived
                way.sacked(time, *struct.unpack("!II", blocks[:8]))


def _ahead(way: Any, handshakes: dict[Any, list[float]]) -> float:
    """Return the part of the RTT (s) between a sender and the capture; 0 at the sender."""
    is_client, times = _handshake(way, handshakes)
    if len(times) < 3 or times[2] - times[0] <= _CLOCK:
        return 0.0
    syn, answer, ack = times
    found = ack - answer if is_client else answer - syn
    return found if found > max(_ANSWERS * (ack - syn), _ANSWERS_IN) else 0.0


def _handshake(way: Any, handshakes: dict[Any, list[float]]) -> tuple[bool, list[float]]:
    """Return whether a sender is the client, and the known times of SYN, SYN-ACK and ACK."""
    address, port, other, other_port = way
    if way in handshakes:
        return True, handshakes[way]
    return False, handshakes.get((other, other_port, address, port), [])


def _stream(
    name: str, way: _Way, begin: float, ahead: float, *, is_down: bool, whole: float
) -> Stream:
    """Return a connection. ``whole``: its handshake's RTT (s), which every place sees."""
    moment, acked, srtt, in_flight, retransmits, window = np.array(way.samples).T
    moment = moment - begin
    time = np.arange(_STEP, moment[-1], _STEP)
    time = time if len(time) > 1 else moment
    last = np.searchsorted(moment, time, side="right") - 1
    bytes_ = np.where(last >= 0, acked[last], 0.0)
    rates = 8 * np.diff(bytes_, prepend=0.0) / np.diff(time, prepend=0.0)
    # Segmentation offload shows several segments as one.
    mss = segment_size(way.largest, most=9000)
    known = last >= 0

    def at(values: Any) -> Any:
        return np.where(known, values[last], np.nan)

    least = way.least
    # A middlebox may answer the handshake, or its packets have no times of their own.
    if not way.greeting < _MIDDLEBOX * least:
        least = float(np.fmin(least, way.greeting))
    else:
        srtt = np.where(srtt < least, np.nan, srtt)
    if ahead > 0:  # these are of a part of the path
        srtt = in_flight = np.full(len(moment), np.nan)
        least = whole
    # Without the handshake, the scale of the window is not known.
    windows = at(window) if way.scale else np.full(len(time), np.nan)
    return Stream(
        name, time, rates, at(srtt), at(in_flight) / mss, np.where(known, retransmits[last], 0.0),
        windows, least, {}, "", mss, ahead, is_down=is_down,
        counted="received" if ahead > 0 else "acked",
    )  # fmt: skip
