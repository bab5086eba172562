# SPDX-License-Identifier: GPL-2.0-only
"""Block ciphers in CBC and similar modes."""

from typing import Annotated, Literal

from tunnelcc.catalog.layers.layer import Frame, FramedLayer
from tunnelcc.schema import SWITCH, choice, whole

_BLOCK = 16


class Cbc(FramedLayer):
    """AES-CBC (FIPS 197, NIST SP 800-38A) with the padding of RFC 5652, section 6.3.

    1 to 16 bytes of padding fill the last block; programs pad in the same way in ECB and CFB.
    ``iv``: bytes of the initialization vector in each packet; 0 if it is fixed or implied.
    ``context_per_packet``: the program makes a new cipher context for each packet.
    """

    layer: Literal["cbc"]
    cipher: Annotated[str, choice("aes-128", "aes-256")] = "aes-128"
    iv: Annotated[int, whole(0, 255)] = 0
    context_per_packet: Annotated[bool, SWITCH] = False

    def operations(self, encapsulates: bool) -> tuple[str, ...]:
        """Return the cipher's operations."""
        init = ("cipher-init",) if self.context_per_packet else ()
        return (*init, f"{self.cipher}-cbc-{'encrypt' if encapsulates else 'decrypt'}")

    def frame(self) -> Frame:
        """Return the vector, and the padding to whole blocks."""
        return Frame(header=self.iv, padding=1, block=_BLOCK)
