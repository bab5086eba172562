# SPDX-License-Identifier: GPL-2.0-only
"""Windows of streams that share a connection: those of QUIC, and of carriers of tunnels."""

from typing import Annotated

from tunnelcc.schema import (
    MORE,
    Field,
    Key,
    Model,
    size,
)

StreamWindow = Annotated[int, size(1024, 2**30), MORE]
ConnectionWindow = Annotated[int, size(1024, 2**31), MORE]


class FlowControl(Model):
    """What a sender may have sent that its receiver has not read."""

    stream_window: Key[StreamWindow | None, int | str | None] = Field(
        default=None,
        description="bytes that a stream may have sent but unread: of a flow over QUIC, or of a "
        "stream on a shared carrier, as in SSH, smux version 2, HTTP/2 and QUIC; QUIC's does not "
        "grow then, unless first_stream_window is given; default: the program's",
    )
    first_stream_window: Key[StreamWindow | None, int | str | None] = Field(
        default=None,
        description="its size at first, in QUIC; it grows from there to stream_window; default: "
        "the program's",
    )
    connection_window: Key[ConnectionWindow | None, int | str | None] = Field(
        default=None,
        description="bytes that all streams of a connection of QUIC or HTTP/2 together may have "
        "sent but unread; QUIC's does not grow then, unless first_connection_window is given; "
        "default: the program's, in QUIC at least 1.5 times stream_window",
    )
    first_connection_window: Key[ConnectionWindow | None, int | str | None] = Field(
        default=None,
        description="its size at first, in QUIC; it grows from there to connection_window; "
        "default: the program's",
    )

    @property
    def windows(self) -> dict[str, int]:
        """Those that are given, bytes."""
        given = {key: getattr(self, key) for key in FlowControl.model_fields}
        return {key: size for key, size in given.items() if size is not None}
