# SPDX-License-Identifier: GPL-2.0-only
"""Closed forms of throughput and shares, each with its source. Windows are in segments."""

from __future__ import annotations

import math

# CUBIC's constants (RFC 9438, sections 4.1 and 4.6).
_C = 0.4
_BETA = 0.7


def reno_window(loss: float) -> float:
    """Return Reno's average window √(3 / 2p) (RFC 9438, section 5.1, for β 0.5).

    Segments; one loss in every 1/``loss`` of them, one segment of growth per round trip. The same
    as Mathis et al., The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm, CCR 1997,
    for an ACK per segment; Linux counts the bytes that are acknowledged, which has that effect.
    """
    return math.sqrt(1.5 / loss)


def cubic_window(loss: float, rtt: float) -> float:
    """Return CUBIC's average window: its own response function, or Reno's if that is larger.

    RFC 9438, section 5.1: (C (3 + β) / (4 (1 − β)))^¼ · (RTT / p)^¾; section 4.3 for the
    Reno-friendly region. ``rtt``: s.
    """
    own = (_C * (3 + _BETA) / (4 * (1 - _BETA))) ** 0.25 * (rtt / loss) ** 0.75
    return float(max(own, reno_window(loss)))


def bbr_share_of_capacity(loss: float, before_bottleneck: bool) -> float:
    """Return what part of the bottleneck's payload rate one BBRv1 flow delivers.

    BBR paces at the delivered rate it has measured (Cardwell et al., BBR: Congestion-Based
    Congestion Control, 2016). Behind a loss it probes the capacity back: 1 − p reaches the
    bottleneck. Before a loss it measures (1 − p) of the capacity, sends that, and of it 1 − p
    arrives; 0.99 is what ProbeRTT, 0.2 s of every 10 s at 4 segments, costs beside.
    """
    return 1 - loss if before_bottleneck else 0.99 * (1 - loss) ** 2


def ware_share(buffer_bdp: float, rate: float, rtt: float, bbr_flows: int = 1) -> float:
    """Return BBRv1's share beside loss-based flows in a deep drop-tail buffer.

    Ware et al., Modeling BBR's Interactions with Loss-Based Congestion Control, IMC 2019,
    equations 3 to 5: the loss-based flows hold 1/2 − 1/(2X) − 4N/q of the link while BBR's cap of
    2 BDP in flight, taken while the queue is never empty, holds the rest, but for ProbeRTT.
    ``rate``: bit/s, ``rtt``: s, ``buffer_bdp``: X.
    """
    packets = buffer_bdp * rate * rtt / 8 / 1500
    others = 0.5 - 1 / (2 * buffer_bdp) - 4 * bbr_flows / packets
    probing = (buffer_bdp * rtt + 0.2 + rtt) / 10
    return (1 - others) * (1 - probing)


def pftk_window(loss: float, rtt: float, rto: float) -> float:
    """Return the window, rate · RTT, of Padhye et al.'s model of Reno, in segments.

    Padhye et al., Modeling TCP Throughput: A Simple Model and its Empirical Validation, SIGCOMM
    1998, its approximation (RFC 5348, section 3.1, has it too) for b = 1:
    RTT / (RTT √(2p/3) + T₀ min(1, 3 √(3p/8)) p (1 + 32 p²)). ``rtt``, ``rto`` (T₀, the first
    time-out): s. All that follows a loss in a round is lost there, too, and there is no SACK.
    """
    recovery = rto * min(1, 3 * math.sqrt(3 * loss / 8)) * loss * (1 + 32 * loss**2)
    return rtt / (rtt * math.sqrt(2 * loss / 3) + recovery)
