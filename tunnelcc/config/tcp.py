# SPDX-License-Identifier: GPL-2.0-only
"""TCP connections on the path."""

from typing import Annotated, Any

from pydantic import model_validator

from tunnelcc.catalog.values import plain_headers
from tunnelcc.config.values import Switch, Timer
from tunnelcc.schema import (
    Field,
    Key,
    Model,
    Relaxed,
    time,
    whole,
)

# Options of a TCP segment with timestamps: 12 bytes (RFC 7323, with padding).
TIMESTAMP_BYTES = 12
_ETHERNET_MSS = 1460


class Tcp(Model):
    """TCP connections on the path. The tunnel defines those on a host's loopback.

    >>> tc.Tcp(ecn=True).mss
    1448
    """

    mss: Annotated[int, whole(88, 65483)] = Field(
        default=_ETHERNET_MSS - TIMESTAMP_BYTES,
        description="payload of a full segment in bytes; 1460 without timestamps",
    )
    timestamps: Switch = Field(
        default=True, description="RFC 7323 timestamps: 12 bytes in each segment"
    )
    window_scaling: Annotated[Switch, Relaxed(to=True)] = Field(
        default=True, description="RFC 7323 window scaling; false: windows are at most 65535 bytes"
    )
    initial_window: Annotated[int, whole(1, 1000)] = Field(
        default=10, description="initial congestion window in segments (RFC 6928)"
    )
    min_rto: Key[Timer, str] = Field(
        default=0.2, description="minimum retransmission time-out (Linux TCP_RTO_MIN)"
    )
    delayed_ack: Key[Timer, str] = Field(
        default=0.04,
        description="delay of an ACK (Linux TCP_DELACK_MIN, TCP_ATO_MIN); it grows to the "
        "RTT, up to 200 ms, if segments arrive less often",
    )
    ack_every: Annotated[int, whole(1, 64)] = Field(default=2, description="segments per ACK")
    pacing_quantum: Key[Annotated[float, time(1e-6, 1, at_zero=True)], str] = Field(
        default=0.001, description="length of one burst in time (Linux TSO); 0: single packets"
    )
    ecn: Switch = Field(
        default=False,
        description="explicit congestion notification (RFC 3168); ns3::TcpDctcp always uses "
        "its own (RFC 8257)",
    )
    mtu_probing: Annotated[int, whole(0, 2)] = Field(
        default=0,
        description="search for the path's MTU without messages of routers (RFC 4821; Linux "
        "tcp_mtu_probing): 0: none; 1: after a black hole, 3 s of time-outs; 2: always",
    )
    base_mss: Annotated[int, whole(88, 65483)] = Field(
        default=1024,
        description="payload in bytes from which this search begins (Linux tcp_base_mss)",
    )
    nodelay: Switch = Field(default=False, description="disable Nagle's algorithm (TCP_NODELAY)")

    @model_validator(mode="before")
    @classmethod
    def _default_mss(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("timestamps") is False and "mss" not in data:
            return {**data, "mss": _ETHERNET_MSS}
        return data

    @property
    def option_bytes(self) -> int:
        """Return the bytes of a segment's options."""
        return TIMESTAMP_BYTES if self.timestamps else 0

    def header_bytes(self, ip: int) -> int:
        """Return the bytes of a segment's headers of IP, of version ``ip``, and TCP."""
        return plain_headers(ip) + self.option_bytes

    def syn_bytes(self, ip: int) -> int:
        """Return the bytes of a SYN: MSS, SACK permitted, timestamps and window scale if on."""
        options = (16 if self.timestamps else 8) + (4 if self.window_scaling else 0)
        return plain_headers(ip) + options

    def packet_bytes(self, ip: int, mtu: int) -> int:
        """Return the IP bytes of a full segment on links with this MTU."""
        return min(self.mss + self.header_bytes(ip), mtu)
