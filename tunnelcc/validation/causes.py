# SPDX-License-Identifier: GPL-2.0-only
"""What is known of the causes of misses: causes.toml beside the data that checks compare with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase

from tunnelcc.schema.toml import read_toml
from tunnelcc.validation.check import Check
from tunnelcc.validation.reference import DATA


def read(folder: str) -> dict[str, str]:
    """Return the causes told in a folder of the data: pattern of names of checks → cause."""
    table = read_toml(DATA / folder / "causes.toml")
    return {pattern: it["text"] for it in table["causes"] for pattern in it["checks"]}


def attach(checks: Iterable[Check], causes: dict[str, str]) -> tuple[Check, ...]:
    """Return the checks with their causes, each that of the first pattern that its name fits."""
    return tuple(replace(check, cause=_known(check.name, causes)) for check in checks)


def _known(name: str, causes: dict[str, str]) -> str:
    return next((text for pattern, text in causes.items() if fnmatchcase(name, pattern)), "")
