# SPDX-License-Identifier: GPL-2.0-only
"""Snappy."""

from typing import Annotated, ClassVar, Literal

from tunnelcc.catalog.layers.stream import LEAST_PAYLOAD, MOST_PAYLOAD, Bytes, StreamLayer
from tunnelcc.schema import number, whole


class Snappy(StreamLayer):
    """Snappy's framing format (google/snappy, framing_format.txt), as golang/snappy writes it.

    A chunk has at most ``max_payload`` bytes, after ``header`` bytes. If compression saves less
    than an eighth, the header is a separate write, and the data follow unchanged.
    ``stream_header``: bytes before the first chunk. ``ratio``: share of a payload that remains; 1:
    incompressible.
    """

    title: ClassVar[str] = "snappy"

    layer: Literal["snappy"]
    max_payload: Annotated[int, whole(LEAST_PAYLOAD, MOST_PAYLOAD)] = 65536
    header: Bytes = 8
    stream_header: Bytes = 10
    ratio: Annotated[float, number(0, 1, above=True)] = 1.0

    def adds(self) -> str:
        """Return the header of a chunk, and how it is written."""
        kind = "a separate write" if self.ratio == 1 else f"{self.ratio:g} of the data remain"
        return f"{self.header} B per chunk of ≤ {self.max_payload} B, {kind}"
