# SPDX-License-Identifier: GPL-2.0-only
"""TCP connections across the path."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from tunnelcc.config.values import Switch, Timer
from tunnelcc.schema import Model, time, whole

# Options of a TCP segment with timestamps: 12 bytes (RFC 7323, with padding).
TIMESTAMP_BYTES = 12
_ETHERNET_MSS = 1460


class Tcp(Model):
    """Connections across the path. Those on a host's loopback are the tunnel's affair."""

    mss: Annotated[int, whole(88, 65483)] = Field(
        _ETHERNET_MSS - TIMESTAMP_BYTES,
        description="payload bytes of a full segment; 1460 without timestamps",
    )
    timestamps: Switch = Field(True, description="RFC 7323 timestamps: 12 bytes in each segment")
    window_scaling: Switch = Field(
        True, description="RFC 7323 window scale; without, windows are of 65535 bytes at most"
    )
    initial_window: Annotated[int, whole(1, 1000)] = Field(10, description="segments (RFC 6928)")
    min_rto: Timer = Field(0.2, description="least retransmission time-out (Linux TCP_RTO_MIN)")
    delayed_ack: Timer = Field(
        0.04,
        description="delay of an ACK (Linux TCP_DELACK_MIN, TCP_ATO_MIN); where segments come "
        "further apart, up to the RTT, but no more than 200 ms",
    )
    ack_every: Annotated[int, whole(1, 64)] = Field(2, description="segments per ACK")
    pacing_quantum: Annotated[float, time(1e-6, 1, at_zero=True)] = Field(
        0.001, description="time's worth of data in one burst (Linux TSO); 0: packet by packet"
    )
    ecn: Switch = Field(
        False,
        description="explicit congestion notification (RFC 3168); ns3::TcpDctcp has its own "
        "(RFC 8257), whatever this says",
    )
    nodelay: Switch = Field(False, description="no Nagle algorithm (TCP_NODELAY)")

    @model_validator(mode="before")
    @classmethod
    def _default_mss(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("timestamps") is False and "mss" not in data:
            return {**data, "mss": _ETHERNET_MSS}
        return data

    @property
    def header_bytes(self) -> int:
        """IPv4 and TCP headers of a segment."""
        return 40 + (TIMESTAMP_BYTES if self.timestamps else 0)

    @property
    def syn_bytes(self) -> int:
        """A SYN with MSS, SACK permitted and, if on, timestamps and window scale."""
        return (56 if self.timestamps else 48) + (4 if self.window_scaling else 0)
