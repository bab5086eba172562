# SPDX-License-Identifier: GPL-2.0-only
"""Formulas for throughput and shares, each with its source. Windows are in segments."""

from __future__ import annotations

import math

# CUBIC's constants (RFC 9438, sections 5.1 and 4.6).
_C = 0.4
_BETA = 0.7


def reno_window(loss: float) -> float:
    """Return Reno's average window √(3 / 2p) (RFC 9438, section 5.1, for β 0.5).

    In segments, with one loss per 1/``loss`` segments and a growth of one segment per round trip.
    It equals Mathis et al., The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm, CCR
    1997, for one ACK per segment. Linux counts acknowledged bytes, which has the same effect.
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
    """Return the share of the bottleneck's payload rate that one BBRv1 flow delivers.

    BBR paces at its measured delivery rate (Cardwell et al., BBR: Congestion-Based Congestion
    Control, 2016). If the loss is before the bottleneck, BBR measures the full capacity and 1 − p
    of its packets reach the bottleneck. If the loss is after it, BBR measures (1 − p) of the
    capacity, paces at 0.99 of it (Linux bbr_pacing_margin_percent), and 1 − p of that arrives. The
    cost of ProbeRTT is left out: about (0.2 s + RTT) / 10 s.
    """
    return 1 - loss if before_bottleneck else 0.99 * (1 - loss) ** 2


def ware_share(buffer_bdp: float, rate: float, rtt: float, bbr_flows: int = 1) -> float:
    """Return BBRv1's share against loss-based flows in a deep drop-tail buffer.

    Ware et al., Modeling BBR's Interactions with Loss-Based Congestion Control, IMC 2019, equations
    3 to 5: the loss-based flows get 1/2 − 1/(2X) − 4N/q of the link. BBR gets the rest, except for
    ProbeRTT: the queue is never empty, and BBR's limit of 2 BDP in flight applies. ``rate``: bit/s,
    ``rtt``: s, ``buffer_bdp``: X.
    """
    packets = buffer_bdp * rate * rtt / 8 / 1500
    others = 0.5 - 1 / (2 * buffer_bdp) - 4 * bbr_flows / packets
    probing = (buffer_bdp * rtt + 0.2 + rtt) / 10
    return (1 - others) * (1 - probing)


def pftk_window(loss: float, rtt: float, rto: float) -> float:
    """Return the window, rate · RTT, of Padhye et al.'s model of Reno, in segments.

    Padhye et al., Modeling TCP Throughput: A Simple Model and its Empirical Validation, SIGCOMM
    1998, its approximation (also RFC 5348, section 3.1) for b = 1: RTT / (RTT √(2p/3) + T₀ min(1, 3
    √(3p/8)) p (1 + 32 p²)). ``rtt``, ``rto`` (T₀, the first time-out): s. The model assumes that a
    loss also loses the rest of its round, and that there is no SACK.
    """
    recovery = rto * min(1, 3 * math.sqrt(3 * loss / 8)) * loss * (1 + 32 * loss**2)
    return rtt / (rtt * math.sqrt(2 * loss / 3) + recovery)
