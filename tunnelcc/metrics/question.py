# SPDX-License-Identifier: GPL-2.0-only
"""The pairs of conditions of a sweep that are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tunnelcc.errors import ConfigError, Problem, nearest


@dataclass(frozen=True)
class Question:
    """Which conditions are compared: ``fixed`` is dimension → place of the reference.

    A condition is compared with the one that is the same but for these dimensions.
    """

    fixed: Mapping[str, int]
    name: str

    def pairs(
        self, dims: Sequence[str], shape: Sequence[int]
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Yield (condition, its reference) of all conditions but the references."""
        for point in np.ndindex(*shape):
            other = tuple(self.fixed.get(dim, at) for dim, at in zip(dims, point, strict=True))
            if other != point:
                yield point, other


#: Key of an axis → its dimension, its values as a scenario writes them, and whether they are names.
Axes = Mapping[str, tuple[str, Sequence[str], bool]]


def question(axes: Axes, to: str | None) -> Question | None:
    """Return what is compared with what. ``to``: ``none``, ``cc=bbr`` or several with commas.

    Default: the first value of the first axis of names, tunnels before congestion controls, or else
    of the first axis. None if there is no axis with several values. Raises ConfigError.
    """
    if to is None:
        several = [key for key, (_, values, _) in axes.items() if len(set(values)) > 1]
        order = sorted(several, key=lambda key: (not axes[key][2], key.endswith("cc")))
        if not order:
            return None
        dim, values, _ = axes[order[0]]
        return Question({dim: 0}, f"{order[0]}={values[0]}")
    fixed: dict[str, int] = {}
    names = []
    for text in (part.strip() for part in to.split(",")):
        dim, place, name = _find(axes, text)
        fixed[dim] = place
        names.append(name)
    return Question(fixed, ", ".join(names))


def _find(axes: Axes, text: str) -> tuple[str, int, str]:
    # A value may have keys of its own, as a tunnel has: ``tunnel=hysteria2 rate=90Mbps``.
    found = [
        (dim, list(values).index(value), f"{name}={value}")
        for name, (dim, values, _) in axes.items()
        for value in dict.fromkeys(values)
        if text in (value, f"{name}={value}")
    ]
    if len(found) == 1:
        return found[0]
    known = [f"{name}={value}" for name, (_, values, _) in axes.items() for value in values]
    if found:
        expected = "one of " + " or ".join(name for _, _, name in found)
        raise ConfigError(Problem("--to", text, expected))
    expected = "a value of an axis, such as " + ", ".join(known[:6])
    short = [it.partition("=")[2] for it in known]
    raise ConfigError(Problem("--to", text, expected, nearest(text, [*known, *short])))
