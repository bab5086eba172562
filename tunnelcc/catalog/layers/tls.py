# SPDX-License-Identifier: GPL-2.0-only
"""TLS."""

from typing import Annotated, ClassVar, Literal

from pydantic import model_validator

from tunnelcc.catalog.layers.stream import (
    LEAST_PAYLOAD,
    MOST_PAYLOAD,
    Bytes,
    FrameSize,
    StreamLayer,
)
from tunnelcc.errors import ConfigError, Problem
from tunnelcc.schema import whole


class Tls(StreamLayer):
    """Records of TLS 1.3 (RFC 8446, section 5): ``overhead`` bytes around ``max_payload`` at most.

    Some libraries start with small records: record k has at most k times ``ramp_bytes``, until
    ``ramp_until`` bytes were sent. ``records_before``: records that the handshake has already sent.
    """

    title: ClassVar[str] = "TLS 1.3"

    layer: Literal["tls"]
    max_payload: Annotated[int, whole(LEAST_PAYLOAD, MOST_PAYLOAD)]
    overhead: Bytes
    ramp_bytes: FrameSize = 0
    ramp_until: Bytes = 0
    records_before: Bytes = 0

    @model_validator(mode="after")
    def _check(self) -> "Tls":
        if (self.ramp_bytes > 0) != (self.ramp_until > 0):
            expected = "a value if ramp_until has one, otherwise none"
            raise ConfigError(Problem("ramp_bytes", self.ramp_bytes, expected))
        return self

    def adds(self) -> str:
        """Return the bytes of a full record outside its payload."""
        return f"{self.overhead} B per record of ≤ {self.max_payload} B"
