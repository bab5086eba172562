# SPDX-License-Identifier: GPL-2.0-only
"""``tunnelcc run --capture``: the options of a capture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tunnelcc.errors import ConfigError, Problem
from tunnelcc.running.capture import Capture


def capture_of(
    file: Path | None,
    places: Sequence[str],
    snap: str | None,
    limit: str | None,
    qlog: Path | None,
) -> Capture | None:
    """Return the capture that the options ask for. Raises ConfigError if they need another."""
    needed = {"--at": places[0] if places else None, "--snap": snap}
    needed |= {"--capture-limit": limit} if qlog is None else {}
    for option, value in needed.items():
        if value is not None and file is None:
            raise ConfigError(Problem(option, value, "--capture FILE as well"))
    if file is None and qlog is None:
        return None
    return Capture(file, places, snap or "headers", limit or "1GiB", qlog)
