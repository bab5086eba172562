# SPDX-License-Identifier: GPL-2.0-only
"""What is known of the causes of misses: causes.toml beside the data that checks compare with.

A cause that was measured may name checks with how far off they are known to be (``known_off``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from tunnelcc.schema.toml import read_toml
from tunnelcc.validation.check import Check
from tunnelcc.validation.reference import DATA


@dataclass(frozen=True)
class Causes:
    """What a folder of the data tells of its checks.

    ``texts``: pattern of names of checks → cause; ``known_off``: name → how far off it may be.
    """

    texts: dict[str, str]
    known_off: dict[str, float]

    def attach(self, checks: Iterable[Check]) -> tuple[Check, ...]:
        """Return the checks with their causes, each that of the first pattern that it fits."""
        return tuple(
            replace(check, cause=self._text(check.name), known_off=self.known_off.get(check.name))
            for check in checks
        )

    def _text(self, name: str) -> str:
        fits = (text for pattern, text in self.texts.items() if fnmatchcase(name, pattern))
        return next(fits, "")


def read(folder: str) -> Causes:
    """Return the causes told in a folder of the data."""
    table = read_toml(DATA / folder / "causes.toml")["causes"]
    return Causes(
        {name: it["text"] for it in table for name in (*it.get("known_off", ()), *it["checks"])},
        {name: off for it in table for name, off in it.get("known_off", {}).items()},
    )
