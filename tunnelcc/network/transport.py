# SPDX-License-Identifier: GPL-2.0-only
"""A connection of two hosts: the windows and buffers of its sockets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tunnelcc.config.hosts import Hosts
from tunnelcc.config.tcp import Tcp
from tunnelcc.hosts.kernels import kernels
from tunnelcc.network.layers import Layer
from tunnelcc.network.topology import Route

# The largest window that fits into a header unless it is scaled (RFC 9293).
UNSCALED_WINDOW = 65535


@dataclass(frozen=True, eq=False)
class Transport:
    """A connection between the ends of ``route``, whose packets enter the layer ``below``.

    ``sender``: the end that sends the data, client or server.
    """

    below: Layer
    route: Route
    sender: str

    @property
    def tcp(self) -> Tcp:
        """The settings of TCP."""
        return self.below.links.on.tcp

    @property
    def shared(self) -> Hosts:
        """The keys that all hosts share."""
        return self.below.links.on.shared

    @property
    def receiver(self) -> str:
        """The end that receives the data."""
        return "server" if self.sender == "client" else "client"

    def host(self, end: str) -> Hosts:
        """Return the host of one end."""
        return self.below.links.on.hosts[getattr(self.route, end)]

    @cached_property
    def sending(self) -> Hosts:
        """The host that sends the data."""
        return self.host(self.sender)

    @cached_property
    def receiving(self) -> Hosts:
        """The host that receives the data."""
        return self.host(self.receiver)

    @cached_property
    def mss(self) -> int:
        """The payload (bytes) of a full segment. Raises ConfigError if nothing is left."""
        return self.below.segment

    @property
    def window_scale(self) -> int:
        """The shift (bits) of the receiver's window in TCP headers (RFC 7323)."""
        host = self.receiving
        if not self.tcp.window_scaling:
            return 0
        return kernels()[host.kernel].window_scale(host.receive_buffer)

    @property
    def receive_window(self) -> int:
        """The largest window (bytes) that the receiver's sockets advertise."""
        window = self.receiving.receive_window
        if self.tcp.window_scaling:
            return min(window, UNSCALED_WINDOW << self.window_scale)
        return self._unscaled(window)

    def window_of(self, size: int) -> int:
        """Return the window (bytes) of a receiver that asks for a buffer of ``size`` bytes."""
        host, kernel = self.receiving, kernels()[self.receiving.kernel]
        window = kernel.receive_window(kernel.asked_buffer(size), host.tcp_adv_win_scale)
        return window if self.tcp.window_scaling else self._unscaled(window)

    def _unscaled(self, window: int) -> int:
        """As Linux's __tcp_select_window(): a multiple of the segment size."""
        return full_segments(min(window, UNSCALED_WINDOW), self.mss)

    def send_buffer_of(self, size: int) -> int:
        """Return the bytes of the buffer that a sender gets that asks for ``size``."""
        return kernels()[self.sending.kernel].asked_buffer(size)


def full_segments(window: int, segment: int) -> int:
    """Return the bytes of the full segments that fit into ``window``; ``window`` if none fits."""
    return window - window % segment if window > segment else window
