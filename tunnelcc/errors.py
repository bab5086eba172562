# SPDX-License-Identifier: GPL-2.0-only
"""Errors that are a user's to mend, each told in one message."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path


class TunnelccError(Exception):
    """Anything that tunnelcc tells its user instead of showing a traceback."""

    exit_code = 1


@dataclass(frozen=True)
class Problem:
    """One wrong value: the key's path (``path.rate``), the value, and what was expected there."""

    key: str
    value: object
    expected: str
    hint: str = ""

    def __str__(self) -> str:
        got = "" if self.value is MISSING else f" = {_show(self.value)}"
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.key}{got}: expected {self.expected}{hint}"

    def below(self, prefix: str) -> Problem:
        """Return the same problem seen from the object that holds this one at ``prefix``."""
        key = ".".join(part for part in (prefix, self.key) if part)
        return replace(self, key=key)

    def located_in(self, file: Path) -> Problem:
        """Return the same problem with the name of the file that has it."""
        where = f"in {file}"
        if where in self.hint:
            return self
        return replace(self, hint=f"{self.hint}; {where}" if self.hint else where)


class _Missing:
    def __repr__(self) -> str:
        return "(missing)"

    def __reduce__(self) -> str:
        return "MISSING"


MISSING = _Missing()


class ConfigError(TunnelccError, ValueError):
    """An experiment that cannot be: unknown key, wrong unit, impossible value."""

    exit_code = 2

    def __init__(self, *problems: Problem) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)

    def below(self, prefix: str) -> ConfigError:
        """Return the same problems seen from the object that holds these at ``prefix``."""
        return ConfigError(*(problem.below(prefix) for problem in self.problems))

    def located_in(self, file: Path) -> ConfigError:
        """Return the same problems with the name of the file that has them."""
        return ConfigError(*(problem.located_in(file) for problem in self.problems))


class RunError(TunnelccError):
    """A run that did not finish."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``did you mean …?`` for the known name most like ``name``, or an empty string.

    A dotted name is like its end, too: ``rtt`` and ``path.rtt``.
    """
    choices: dict[str, str] = {}
    for choice in known:
        choices.setdefault(choice.lower(), choice)
    wanted = str(name).lower()
    match = difflib.get_close_matches(wanted, choices, n=1, cutoff=0.6) or [
        choice for choice in choices if wanted and choice.endswith(f".{wanted}")
    ]
    return f"did you mean {choices[match[0]]!r}?" if match else ""


def _show(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python writes
        return "(a number that is too long)"
    return text if len(text) <= 200 else f"{text[:197]}..."
