# SPDX-License-Identifier: GPL-2.0-only
"""Sizes that a calculation by hand starts from."""

from __future__ import annotations

from dataclasses import dataclass

from tunnelcc.scenario.experiment import Experiment


@dataclass(frozen=True)
class Sizes:
    """Bytes of a full segment of the first flow, and of its window.

    ``mss``: its payload. ``packet``: its IP packet. ``outer``: the IP packets that carry it across
    the path, in its datagram tunnel if it has one. ``window``: the largest receive window.
    """

    mss: int
    packet: int
    outer: tuple[int, ...]
    window: int


def sizes(experiment: Experiment) -> Sizes:
    """Return the sizes of an experiment's segments and window. Raises ConfigError.

    >>> tc.sizes(tc.Experiment()).packet
    1500
    """
    first = experiment.resolved.first
    packet = first.mss + experiment.tcp.header_bytes(first.below.versions.inner)
    return Sizes(first.mss, packet, tuple(first.full_packets), first.transport.receive_window)
