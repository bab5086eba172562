# SPDX-License-Identifier: GPL-2.0-only
"""How a call sounds: the E-model of ITU-T G.107, from one-way delay and loss."""

from __future__ import annotations

import math

# With all other values at their defaults (G.107, table 2): Ro - Is = 93.2.
_DEFAULT_RATING = 93.2
# Of a codec with loss concealment, for random loss (G.113, appendix I, G.711): Ie and Bpl. Opus has
# no value there.
_EQUIPMENT, _ROBUSTNESS = 0.0, 25.1
_LEAST_DELAY = 0.1  # s; up to it, delay does not impair


def rating(delay: float, loss: float) -> float:
    """Return the transmission rating R (0 to 100) of G.107.

    ``delay``: s from mouth to ear, Ta; ``loss``: part of the frames that is not played. Echo is
    taken as cancelled and loss as random (BurstR = 1).
    """
    impairment = 0.0
    if delay > _LEAST_DELAY:
        x = math.log2(delay / _LEAST_DELAY)
        # Idd, G.107, equations 7-27 and 7-28
        impairment = 25 * ((1 + x**6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2)
    percent = 100 * loss
    # Ie,eff, G.107, equation 7-29
    equipment = _EQUIPMENT + (95 - _EQUIPMENT) * percent / (percent + _ROBUSTNESS)
    return min(100.0, max(0.0, _DEFAULT_RATING - impairment - equipment))


def mean_opinion_score(delay: float, loss: float) -> float:
    """Return the estimated MOS, from 1 (bad) to 4.5 (G.107, equation B-4). See ``rating``."""
    r = rating(delay, loss)
    return max(1.0, 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6)
