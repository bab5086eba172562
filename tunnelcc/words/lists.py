# SPDX-License-Identifier: GPL-2.0-only
"""Lists of things in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def joined(parts: Iterable[str], last: str = " and ") -> str:
    """Return ``a, b and c``."""
    *first, end = parts
    return last.join(filter(None, (", ".join(first), end)))


def numbers(of: Sequence[int]) -> str:
    """Return ``0 to 2, 5 and 6``: three or more in a row are folded."""
    runs: list[list[int]] = []
    for it in of:
        if runs and it == runs[-1][-1] + 1:
            runs[-1].append(it)
        else:
            runs.append([it])
    return joined(
        text for it in runs for text in ([f"{it[0]} to {it[-1]}"] if len(it) > 2 else map(str, it))
    )


def flows(of: Sequence[int]) -> str:
    """Return ``Flow 3``, ``Flows 0 to 7``."""
    return f"Flow{'s' * (len(of) > 1)} {numbers(of)}"
