# SPDX-License-Identifier: GPL-2.0-only
"""OpenVPN's data channel."""

from typing import Literal

from tunnelcc.catalog.layers.layer import FixedHeader


class OpenVpn(FixedHeader):
    """P_DATA_V2 of OpenVPN's wire protocol (openvpn-rfc draft): opcode and key 1, peer id 3.

    The packet id after it is the AEAD's nonce, or comes before the encrypted packet.
    """

    layer: Literal["openvpn"]
    header = 4
