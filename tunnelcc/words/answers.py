# SPDX-License-Identifier: GPL-2.0-only
"""The sentence with which a report answers: what differs, by how much, and where that holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tunnelcc.words import say


class Told(NamedTuple):
    """A condition, its difference to the reference with the interval, and if that is decided."""

    condition: str
    difference: str
    is_decided: bool


def sentence(
    metric: str, reference: str, ordered: Sequence[Told], confidence: float, condition: str
) -> str:
    """Return the answer. ``ordered``: the conditions, what has most of the metric first.

    ``condition``: what all runs have in common.
    """
    first, *_, last = [*ordered, ordered[-1]]
    ends = [first] if len(ordered) == 1 else [first, last]
    decided = sum(it.is_decided for it in ordered)
    open_ = len(ordered) - decided
    return say(
        "{metric}, compared with {reference}: {ends}. {decided}, with {confidence} confidence for "
        "all intervals together; on {condition}.",
        metric=metric,
        reference=reference,
        ends="from " * (len(ends) > 1)
        + " to ".join(
            f"{it.difference} with {it.condition}" + ("" if it.is_decided else " (not decided)")
            for it in ends
        ),
        decided=(
            f"All {len(ordered)} differences are decided"
            if not open_
            else f"{decided} of {len(ordered)} differences are decided"
        ),
        confidence=f"{confidence:.0%}",
        condition=condition or "the paths of the scenario",
    )
