# SPDX-License-Identifier: GPL-2.0-only
"""What an experiment states: keys that a measurement has to heed, or to refuse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tunnelcc.scenario import Experiment


def given(experiment: Experiment) -> Iterator[tuple[str, Any]]:
    """Yield keys and values that differ from their defaults, without the numbers of flows."""

    def keys(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
        for name, value in table.items():
            if isinstance(value, Mapping) and f"{prefix}{name}" in ("path", "tcp", "hosts"):
                yield from keys(value, f"{prefix}{name}.")
            elif name in ("flows", "tunnel"):
                for it in value if isinstance(value, list) else [value]:
                    yield from keys({"name": it} if isinstance(it, str) else it, f"{name}.")
            else:
                yield f"{prefix}{name}", value

    table = experiment.model_dump(
        mode="json", exclude_unset=True, exclude_defaults=True, exclude_none=True, by_alias=True
    )
    return keys(table, "")
