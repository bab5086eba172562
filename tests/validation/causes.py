# SPDX-License-Identifier: GPL-2.0-only
"""Known causes of misses: causes.toml next to the data of the checks.

A measured cause may name checks and their known deviation (``known_off``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from tunnelcc.schema.toml import read_toml
from validation.check import Check
from validation.reference import DATA


@dataclass(frozen=True)
class Causes:
    """The notes on the checks in a folder of the data.

    ``texts``: pattern of check names → cause. ``known_off``: name → its known deviation.
    """

    texts: dict[str, str]
    known_off: dict[str, float]

    def attach(self, checks: Iterable[Check]) -> tuple[Check, ...]:
        """Return the checks with their causes. The first matching pattern counts."""
        return tuple(
            replace(check, cause=self._text(check.name), known_off=self.known_off.get(check.name))
            for check in checks
        )

    def _text(self, name: str) -> str:
        fits = (text for pattern, text in self.texts.items() if fnmatchcase(name, pattern))
        return next(fits, "")


def read(folder: str) -> Causes:
    """Return the causes in a folder of the data."""
    table = read_toml(DATA / folder / "causes.toml")["causes"]
    return Causes(
        {name: it["text"] for it in table for name in (*it.get("known_off", ()), *it["checks"])},
        {name: off for it in table for name, off in it.get("known_off", {}).items()},
    )
