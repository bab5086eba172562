# SPDX-License-Identifier: GPL-2.0-only
"""Packets in SSH channels."""

from __future__ import annotations

from tunnelcc.catalog.layers.layer import FixedHeader, Place


class SshTun(FixedHeader):
    """An IP packet in a channel of OpenSSH's tun@openssh.com (its PROTOCOL, section 2.3).

    SSH_MSG_CHANNEL_DATA 1, channel 4 and length 4 (RFC 4254, section 5.2), address family 4, and
    the length 4 of what follows. What SSH puts around the message is a layer of the stream.
    """

    name = "ssh-tun"
    place = Place.STREAM
    header = 13
