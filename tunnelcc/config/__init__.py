# SPDX-License-Identifier: GPL-2.0-only
"""The keys of experiments as users write them, the same in Python and in TOML.

Values have units. They are stored in SI units (bit/s, seconds, bytes, probabilities). What follows
from them is in ``tunnelcc.network``, a whole experiment in ``tunnelcc.scenario``. Every error is a
ConfigError that names the key.
"""

from tunnelcc.config.congestion import CongestionControl
from tunnelcc.config.flow import Flow
from tunnelcc.config.hosts import HostOverrides, Hosts
from tunnelcc.config.network import Link, Network
from tunnelcc.config.path import GilbertElliott, LinkDirection, Path, Policer
from tunnelcc.config.tcp import Tcp
from tunnelcc.config.traffic import CrossTraffic, Ping
from tunnelcc.config.tunnel import Hop, Tunnel

__all__ = [
    "CongestionControl",
    "CrossTraffic",
    "Flow",
    "GilbertElliott",
    "Hop",
    "HostOverrides",
    "Hosts",
    "Link",
    "LinkDirection",
    "Network",
    "Path",
    "Ping",
    "Policer",
    "Tcp",
    "Tunnel",
]
