# SPDX-License-Identifier: GPL-2.0-only
"""Environments in which a congestion control is learned (the extra ``learn``)."""

from tunnelcc.learning.environment import CongestionEnv

__all__ = ["CongestionEnv"]
