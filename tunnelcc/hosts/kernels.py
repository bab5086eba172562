# SPDX-License-Identifier: GPL-2.0-only
"""How each Linux version uses ``tcp_rmem``, ``tcp_wmem`` and memory.

``kernels.toml`` has the numbers and the source of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tunnelcc.schema.toml import read_toml
from tunnelcc.schema.units import parse_size, parse_time

# RFC 7323, section 2.3.
_MOST_SCALE = 14
_LARGEST_WINDOW = 65535 << _MOST_SCALE
# sizeof(struct sk_buff) in whole cache lines, include/linux/skbuff.h.
_SK_BUFF = 256


#: net.core.rmem_default, bytes, in all of them.
RMEM_DEFAULT = 212992


@dataclass(frozen=True)
class Kernel:
    """TCP properties of a kernel. ``kernels.toml`` has a source for every number."""

    version: str
    summary: str
    sources: dict[str, tuple[object, str, str]]  # setting → (value as written, label, source)
    tcp_rmem: int  # bytes, the maximum unless somebody sets it
    receive_fraction: float | None  # of the buffer that is the window; None: by tcp_adv_win_scale
    receive_growth: str  # by which law receive buffers grow: "cushion" or "out-of-order"
    rmem_max: int  # net.core.rmem_max, bytes
    send_overhead: int  # bytes beside a segment's payload, by which send buffers are sized
    buffer_overhead: int  # bytes of a struct sk_buff to send, beside its payload
    tso_rtt_step: float  # seconds of the least RTT that halve what it adds to a burst; 0: nothing
    tso_deferral_limit: float  # seconds within which an ACK must be due for new data to wait for it
    tcp_memory_fraction: float  # of the host's memory, for all sockets
    tcp_reserve: int  # bytes that a socket keeps of what it released, still counted
    syn_linear_timeouts: int  # time-outs of a SYN before they double
    jiffy: float  # seconds; timers count in it
    ping_pong_answers: int  # data in answer to data, after which ACKs wait for answers
    pushed_acks: bool  # at once, when full segments with PSH were read
    prr_slow_start: str  # what lets PRR slow-start: ACKs that show "repair" or "progress"

    @property
    def has_adv_win_scale(self) -> bool:
        """Whether ``tcp_adv_win_scale`` sets the window."""
        return self.receive_fraction is None

    def receive_buffer(self, tcp_rmem: int | None, memory: int | None) -> int:
        """Return the largest receive buffer (bytes) of a host with ``memory`` (bytes).

        As Linux's tcp_init(): unless ``tcp_rmem`` is set, at most 1/128 of the memory, but at least
        128 KiB.
        """
        if tcp_rmem is not None:
            return tcp_rmem
        return min(self.tcp_rmem, max(memory // 128, 2**17)) if memory else self.tcp_rmem

    def receive_window(self, tcp_rmem: int, adv_win_scale: int | None) -> int:
        """Return the window (bytes) that a receiver offers with a buffer of ``tcp_rmem`` bytes."""
        if self.receive_fraction is not None:
            return int(tcp_rmem * self.receive_fraction)
        scale = 1 if adv_win_scale is None else adv_win_scale
        return tcp_rmem - (tcp_rmem >> scale) if scale > 0 else tcp_rmem >> -scale

    def window_scale(self, tcp_rmem: int) -> int:
        """Return the shift (bits) with which a window fits into the 16 bits of a header."""
        largest = min(max(tcp_rmem, self.rmem_max), _LARGEST_WINDOW)
        return min(max(largest.bit_length() - 16, 0), _MOST_SCALE)

    def asked_buffer(self, size: int) -> int:
        """Return the bytes of the buffer that a socket gets that asks for ``size``.

        As sk_setsockopt() of SO_SNDBUF and SO_RCVBUF: twice as many, at most twice
        net.core.wmem_max or rmem_max. Both have the same default.
        """
        return 2 * min(size, self.rmem_max)

    def udp_buffer(self, asked: int | None) -> int:
        """Return the receive buffer of a UDP socket whose program asks for ``asked`` bytes.

        None: it does not, and has net.core.rmem_default, which sysctl_net_core.c takes from
        SK_RMEM_DEFAULT in net/core/sock.c: 256 buffers of 512 bytes and 320 more.
        """
        return RMEM_DEFAULT if asked is None else self.asked_buffer(asked)

    def send_buffer_per_segment(self, payload: int) -> int:
        """Return the bytes that the send buffer gains with each segment of the window.

        ``payload``: of a segment without options, bytes. tcp_sndbuf_expand(): two segments for most
        algorithms, three for BBR.
        """
        head = 1 << (payload + self.send_overhead - 1).bit_length()
        return head + _SK_BUFF


@cache
def kernels() -> dict[str, Kernel]:
    """Return the known kernels by version."""
    table = read_toml(Path(__file__).with_name("kernels.toml"))
    return {version: _kernel(version, _settings(table, entry)) for version, entry in table.items()}


def _settings(table: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    """Return the values of the entry; missing ones come from its base."""
    base = table[entry["base"]] if "base" in entry else {}
    return base | {name: value for name, value in entry.items() if name != "base"}


_PARSERS: dict[str, Callable[[Any], Any]] = {
    "tcp_rmem": parse_size,
    "rmem_max": parse_size,
    "tcp_reserve": parse_size,
    "send_overhead": parse_size,
    "buffer_overhead": parse_size,
    "tso_rtt_step": parse_time,
    "tso_deferral_limit": parse_time,
    "jiffy": parse_time,
    "receive_fraction": lambda value: None if value == "by tcp_adv_win_scale" else float(value),
}


def _kernel(version: str, entry: dict[str, Any]) -> Kernel:
    settings = {name: value for name, value in entry.items() if name != "summary"}
    values = {
        name: _PARSERS.get(name, lambda value: value)(setting["value"])
        for name, setting in settings.items()
    }
    sources = {
        name: (setting["value"], setting["label"], setting["source"])
        for name, setting in settings.items()
    }
    return Kernel(version, entry["summary"], sources, **values)
